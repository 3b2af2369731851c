"""Settings and requests that can never work fail before anything is sent, whatever a policy says."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import os
import tempfile
import traceback
import unittest
import urllib.request
from datetime import datetime
from decimal import Decimal
from typing import Any, Callable
from unittest import mock

import keyshelf
from keyshelf import FAIL, OPEN, ConfigurationError, WhenAway

from .vectors import read

TOKEN = "ksh_0123456789"
ADDRESS = "https://keyshelf.example"
VECTORS = read("configuration")


class Unreachable(unittest.TestCase):
    """A network in which no service responds. It records what is sent."""

    def setUp(self) -> None:
        self.sent: list[urllib.request.Request] = []

        def record(_opener: Any, request: urllib.request.Request, **_: Any) -> None:
            self.sent.append(request)
            raise OSError("unreachable")

        patch = mock.patch.object(urllib.request.OpenerDirector, "open", record)
        patch.start()
        self.addCleanup(patch.stop)

    def client(self, base_url: Any = ADDRESS, token: Any = TOKEN, **options: Any) -> keyshelf.Client:
        return keyshelf.Client(base_url, token, **{"mode": "remote", "retries": 0, **options})

    def assert_configuration(self, call: Callable[[], Any], setting: str, value: Any = None) -> None:
        with self.assertRaises(ConfigurationError) as raised:
            call()
        self.assertEqual(raised.exception.setting, setting)
        self.assertIn(setting, str(raised.exception))
        self.assertFalse(raised.exception.is_away)
        self.assertEqual(self.sent, [])
        if isinstance(value, str) and len(value) > 8:
            printed = "".join(traceback.format_exception(raised.exception)) + repr(raised.exception)
            self.assertNotIn(value, printed)
            self.assertNotIn(repr(value)[1:-1], printed)

    def assert_fault(self, call: Callable[[], Any]) -> None:
        with self.assertRaises(ValueError) as raised:
            call()
        self.assertFalse(getattr(raised.exception, "is_away", False))
        self.assertEqual(self.sent, [])


class Vectors(Unreachable):
    def test_an_address_is_absolute_and_normalized_and_any_other_fails_when_the_client_is_made(self) -> None:
        for case in VECTORS["addresses"]:
            with self.subTest(case["id"]):
                self.sent.clear()
                if case["expected"] == "INVALID":
                    self.assert_configuration(lambda: self.client(case["address"]), "base_url", case["address"])
                    continue
                answer = self.client(case["address"]).check("globex-prod", "sso", when_away=OPEN)
                self.assertEqual(answer.source, "policy")
                expected = f"{case['expected']}/api/instances/globex-prod/check"
                self.assertEqual([request.full_url for request in self.sent], [expected])

    def test_a_token_that_a_header_cannot_carry_fails_when_the_client_is_made_or_each_call(self) -> None:
        for case in VECTORS["tokens"]:
            token = case["token"]
            read = self.client(token=lambda: token)

            def check(client: keyshelf.Client) -> Any:
                return client.check("globex-prod", "sso", when_away=OPEN)

            with self.subTest(case["id"]):
                self.sent.clear()
                if case["expected"] == "INVALID":
                    self.assert_configuration(lambda: self.client(token=token), "token", token)
                    for _ in range(2):
                        self.assert_configuration(lambda: check(read), "token", token)
                    continue
                client = self.client(token=token)
                for one in (client, read):
                    self.assertEqual(check(one).source, "policy")
                    self.assertEqual(self.sent[-1].get_header("Authorization"), f"Bearer {case['expected']}")
                self.assertNotIn(case["expected"], f"{client!r} {vars(client)} {client._transport._settings!r}")

    def test_an_idempotency_key_that_the_service_cannot_take_fails_the_call(self) -> None:
        for case in VECTORS["idempotencyKeys"]:
            client, key = self.client(), case["key"]
            calls = [
                lambda: client.consume("globex-prod", "exports", idempotency_key=key, when_away=OPEN),
                lambda: client.consume_all("globex-prod", ["exports"], idempotency_key=key, when_away=OPEN),
            ]
            with self.subTest(case["id"]):
                self.sent.clear()
                if case["expected"] == "INVALID":
                    for call in calls:
                        self.assert_fault(call)
                    if key is not None:
                        self.assert_fault(lambda: client.call("POST", "/customers", {}, idempotency_key=key))
                    continue
                for call in calls:
                    call()
                    self.assertEqual(self.sent[-1].get_header("Idempotency-key"), case["expected"])

    def test_a_slug_that_cannot_be_in_a_path_fails_the_call(self) -> None:
        for case in VECTORS["segments"]:
            client, slug = self.client(), case["segment"]
            calls: list[Callable[[], Any]] = [
                lambda: client.check(slug, "sso", when_away=OPEN),
                lambda: client.consume(slug, "sso", idempotency_key="job-1", when_away=OPEN),
                lambda: client.report(slug, "sso"),
                lambda: client.report("globex-prod", slug),
                lambda: client.acquire_seat(slug, "editors", "anna"),
                lambda: client.acquire_seat("globex-prod", slug, "anna"),
            ]
            with self.subTest(case["id"]):
                self.sent.clear()
                for call in calls:
                    if case["expected"] == "INVALID":
                        self.assert_fault(call)
                        continue
                    try:
                        call()
                    except keyshelf.ConnectionFailed:
                        pass
                if case["expected"] != "INVALID":
                    self.assertEqual(self.sent[0].full_url, f"{ADDRESS}/api/instances/{case['expected']}/check")
                    self.assertEqual(len(self.sent), len(calls))

    def test_an_amount_of_a_check_that_the_service_cannot_count_fails_the_call(self) -> None:
        for case in VECTORS["requested"]:

            def check() -> Any:
                return self.client().check("globex-prod", "exports", case["requested"], when_away=OPEN)

            with self.subTest(case["id"]):
                self.sent.clear()
                if case["expected"] == "INVALID":
                    self.assert_fault(check)
                    continue
                self.assertEqual(check().source, "policy")
                self.assertIn(f'"requested":{case["expected"]}}}', str(self.sent[0].data))

    def test_a_secret_of_a_webhook_that_can_be_guessed_is_an_error_of_configuration(self) -> None:
        now, body = 1_769_850_000, b'{"type":"CUSTOMER_CREATION"}'

        def verify(secret: Any, key: bytes) -> Any:
            signed = hmac.new(key, f"1.{now}.".encode() + body, hashlib.sha256).digest()
            signature = "v1," + base64.b64encode(signed).decode()
            headers = {"webhook-id": "1", "webhook-timestamp": str(now), "webhook-signature": signature}
            return keyshelf.verify_webhook(secret, headers, body, now=now)

        for case in VECTORS["secrets"]:
            secret = case["secret"]
            with self.subTest(case["id"]):
                if case["expected"] == "INVALID":
                    text = str(secret).removeprefix("whsec_").encode()
                    for key in (b"", text):
                        self.assert_configuration(lambda: verify(secret, key), "secret", secret)
                    continue
                event = verify(secret, bytes.fromhex(case["expected"]))
                self.assertEqual(event["type"], "CUSTOMER_CREATION")


class Faults(Unreachable):
    def test_a_function_that_cannot_read_the_token_fails_the_call_also_with_an_error_of_the_service(self) -> None:
        def away() -> str:
            raise keyshelf.ConnectionFailed("The vault is away")

        client = self.client(token=away)
        for call in (
            lambda: client.check("globex-prod", "sso", when_away=OPEN),
            lambda: client.flags({"targetingKey": "globex-prod"}, when_away=OPEN),
            lambda: client.acquire_seat("globex-prod", "editors", "anna"),
            lambda: client.call("GET", "/me"),
        ):
            self.assert_configuration(call, "token")
        buffer = client.usage_buffer()
        buffer.report("globex-prod", "api-calls")
        with self.assertRaises(keyshelf.FlushFailed) as failed:
            buffer.flush()
        self.assertEqual((failed.exception.is_away, len(buffer), self.sent), (False, 1, []))

    def test_other_faults_of_a_request_fail_the_call_whatever_a_policy_says(self) -> None:
        client = self.client()
        cyclic: dict[str, Any] = {}
        cyclic["self"] = cyclic
        for amount in (math.nan, math.inf, -1, -0.5, 10**18, Decimal("NaN"), Decimal("1E+999999999"), 1e-30, True, "x"):
            self.assert_fault(lambda: client.check("globex-prod", "exports", amount, when_away=OPEN))
        for slug in ("", "a\ud800", "a\n", 7):
            self.assert_fault(lambda: client.check_all("globex-prod", [(slug, 1)], when_away=OPEN))  # type: ignore
        policies = ("open", "Open", True, WhenAway("allow"), WhenAway(OPEN))  # type: ignore[arg-type]
        for policy in policies:
            self.assert_fault(lambda: client.check("globex-prod", "sso", when_away=policy))  # type: ignore[arg-type]
        for at in ("2026-01-31", "soon", datetime(2026, 1, 31), 7):
            self.assert_fault(lambda: client.check("globex-prod", "sso", at=at, when_away=OPEN))  # type: ignore
        for checks in ([], ["sso"] * 101):
            self.assert_fault(lambda: client.check_all("globex-prod", checks, when_away=OPEN))  # type: ignore
        for value in ({"n": math.nan}, {"n": -math.inf}, {"t": "\ud800"}, {"\udfff": 1}, {"s": {1}}, cyclic):
            self.assert_fault(lambda: client.flags(value, when_away=OPEN))
            self.assert_fault(lambda: client.acquire_seat("globex-prod", "editors", "anna", metadata=value))
        for ttl in (math.nan, 0, -1, math.inf):
            self.assert_fault(lambda: client.acquire_seat("globex-prod", "editors", "anna", ttl=ttl))  # type: ignore
        for holder in ("", "\ud800", None):
            self.assert_fault(lambda: client.acquire_seat("globex-prod", "editors", holder))  # type: ignore[arg-type]
        self.assert_fault(lambda: client.report("globex-prod", "rows", "1234567890123456789"))
        self.assert_fault(lambda: client.report("globex-prod", "rows", unique_key="\ud800"))
        for capacity in (0, -1, math.nan):
            self.assert_fault(lambda: client.usage_buffer(capacity=capacity))  # type: ignore[arg-type]
        for interval in (0, -1, math.nan):
            self.assert_fault(lambda: client.usage_buffer().start(interval))

    def test_a_path_or_a_method_that_a_request_cannot_have_fails_the_call(self) -> None:
        client = self.client()
        for path in ("", "me", "/a b", "/a\nb", "/ä", "/a#b", "/../platform", "/a/%2e%2e/b", "/a\\b", "/\ud800", None):
            self.assert_fault(lambda: client.call("GET", path))  # type: ignore[arg-type]
        for method in ("", "GE T", "GET\r\nx: y", "get", None):
            self.assert_fault(lambda: client.call(method, "/me"))  # type: ignore[arg-type]
        self.assert_fault(lambda: client.call("GET", "/customers", query={"q": "\ud800"}))
        with self.assertRaises(keyshelf.ConnectionFailed):
            client.call("GET", "/events?since=2026-01-31T09:00:00Z", query=None)

    def test_times_and_retries_that_cannot_be_fail_when_the_client_is_made(self) -> None:
        for name in ("timeout", "deadline"):
            for value in (0, -1, math.nan, "10", None, True):
                self.assert_configuration(lambda: self.client(**{name: value}), name)
        for value in (-1, 0.5, math.nan, "2", None, True):
            self.assert_configuration(lambda: self.client(retries=value), "retries")
        endless = self.client(timeout=math.inf, deadline=math.inf)
        self.assertEqual(endless.check("globex-prod", "sso", when_away=OPEN).source, "policy")

    def test_the_file_of_a_buffer_needs_a_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for path in ("", os.path.join(folder, "missing", "usage.jsonl")):
                self.assert_configuration(lambda: self.client().usage_buffer(path), "path")

    def test_an_error_of_the_address_is_one_of_the_library_too(self) -> None:
        self.assertTrue(issubclass(ConfigurationError, keyshelf.KeyshelfError))
        self.assertTrue(issubclass(ConfigurationError, ValueError))
        with self.assertRaises(keyshelf.ConnectionFailed):
            self.client().check("globex-prod", "sso", when_away=FAIL)
        self.assertEqual(json.loads(self.sent[0].data or b""), {"checks": [{"entitlement": "sso"}]})


if __name__ == "__main__":
    unittest.main()
