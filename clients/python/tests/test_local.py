"""Local mode: a product asks once, and then decides by itself, also while the service is away."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import unittest
from decimal import Decimal
from typing import Any
from unittest import mock

import keyshelf
from keyshelf import FAIL, OPEN

from .local_case import DENIED, Local, until
from .origin import Signer


class Connected(Local):
    def test_a_check_needs_no_request(self) -> None:
        client = self.client()
        answer = client.check("globex-prod", "exports", 60)
        self.assertEqual((answer.allowed, answer.reason, answer.source), (True, "GRANTED", "snapshot"))
        self.assertEqual((answer.limit, answer.usage, answer.remaining), (Decimal(100), Decimal(40), Decimal(60)))
        until(lambda: self.state(client) == "LIVE")
        sent = len(self.origin.requests)
        result = client.check_all("globex-prod", ["sso", ("exports", 61), "unknown"])
        self.assertEqual([one.reason for one in result.checks], ["GRANTED", "LIMIT_REACHED", "ENTITLEMENT_NOT_FOUND"])
        self.assertEqual((result.allowed, result.confirmed, result.license), (False, True, "pro-v2"))
        self.assertEqual(len(self.origin.requests), sent)
        self.assertEqual([path for _, path, _ in self.origin.requests if "check" in path], [])

    def test_a_change_decides_the_next_check_within_a_second(self) -> None:
        client = self.live()
        self.assertTrue(client.check("globex-prod", "sso").allowed)
        began = time.monotonic()
        self.origin.change(entitlements=DENIED)
        until(lambda: not client.check("globex-prod", "sso").allowed)
        self.assertLess(time.monotonic() - began, 1.0)

    def test_flags_are_evaluated_by_the_rules_of_the_snapshot(self) -> None:
        client = self.live()
        sent = len(self.origin.requests)
        flags = client.flags({"targetingKey": "anna", "country": "de"})
        self.assertEqual((flags.number("new-search", 0), flags.source), (Decimal("2.5"), "snapshot"))
        self.assertEqual(client.flags({"country": "fr"}, instance="globex-prod").number("new-search", 0), 1)
        self.assertEqual(len(self.origin.requests), sent)
        with self.assertRaises(ValueError):
            self.client().flags({"targetingKey": "anna"})

    def test_entitlements_are_flags_too(self) -> None:
        flags = self.live().flags({})
        self.assertEqual((flags.boolean("entitlement.sso", False), flags.number("entitlement.exports", 0)), (True, Decimal(60)))
        self.assertEqual(
            flags.details("entitlement.exports")["metadata"],
            {**flags.details("entitlement.exports")["metadata"], "allowed": True, "checkReason": "GRANTED", "limit": Decimal(100)},
        )
        self.assertEqual(flags.number("entitlement.unknown", 7), 7)
        self.assertIn("entitlement.sso", flags.keys())

    def test_flags_of_a_snapshot_without_rules_are_requested(self) -> None:
        self.origin.over = {"rules": None}
        client = self.live()
        with self.assertRaises(keyshelf.ProblemError):
            client.flags({"targetingKey": "globex-prod"})
        self.assertEqual(self.origin.count("ofrep"), 1)

    def test_a_request_is_made_where_the_caller_wants_one(self) -> None:
        client = self.live()
        self.assertEqual(client.check("globex-prod", "exports", remote=True).source, "service")
        self.assertEqual(client.check("globex-prod", "exports", at="2026-01-31T09:00:00Z").source, "service")
        self.assertEqual(self.origin.count("/check"), 2)

    def test_without_streams_it_polls(self) -> None:
        self.origin.has_streams = False
        client = self.client()
        self.assertTrue(client.check("globex-prod", "sso").allowed)
        self.assertEqual(self.state(client), "POLLING")

    def test_all_requests_go_through_the_proxy_of_the_environment(self) -> None:
        proxy = {"http_proxy": self.origin.url, "HTTP_PROXY": self.origin.url, "no_proxy": "", "NO_PROXY": ""}
        with mock.patch.dict(os.environ, proxy):
            client = self.live(url="http://keyshelf.invalid/prefix")
            self.assertTrue(client.check("globex-prod", "sso").allowed)
        paths = {path for _, path, _ in self.origin.requests}
        wanted = ("/api/changes", "/api/instances/globex-prod/snapshot")
        self.assertEqual(paths, {f"http://keyshelf.invalid/prefix{path}" for path in wanted})

    def test_refresh_asks_now(self) -> None:
        self.origin.has_streams = False
        client = self.client()
        client.start("globex-prod")
        self.origin.change(entitlements=DENIED)
        self.assertTrue(client.check("globex-prod", "sso").allowed)
        self.assertEqual(client.refresh("globex-prod").etag, '"1"')
        self.assertFalse(client.check("globex-prod", "sso").allowed)
        self.origin.problem = (503, "Service.Unavailable")
        with self.assertRaises(keyshelf.ProblemError):
            client.refresh("globex-prod")

    def test_a_wrong_token_is_an_error_of_each_call(self) -> None:
        self.origin.problem = (401, "Auth.InvalidCredential")
        client = self.client(when_away=OPEN)
        for _ in range(2):
            with self.assertRaises(keyshelf.ProblemError) as failed:
                client.check("globex-prod", "sso")
            self.assertEqual(failed.exception.code, "Auth.InvalidCredential")
        with self.assertRaises(keyshelf.ProblemError):
            client.start("globex-prod")

    def test_keys_that_the_service_publishes_verify_and_another_key_makes_it_read_them_again(self) -> None:
        client = self.live(keys=None, issuer=None, directory=self.directory)
        self.assertTrue(client.check("globex-prod", "sso").allowed)
        self.origin.signer = Signer(b"another!" * 4)
        self.origin.change(entitlements=DENIED)
        until(lambda: not client.check("globex-prod", "sso").allowed)
        self.assertEqual(self.origin.count("/offline/"), 2)
        client.close()
        self.origin.stop()
        self.assertEqual(self.client(keys=None, issuer=None, directory=self.directory).check("globex-prod", "sso").source, "snapshot")

    def test_a_snapshot_of_another_key_is_not_taken(self) -> None:
        client = self.live()
        self.origin.signer = Signer(b"another!" * 4)
        self.origin.change(entitlements=DENIED)
        until(lambda: [one for one in self.events if one["type"] == "snapshot" and one["status"] == "UNKNOWN_KEY"])
        self.assertTrue(client.check("globex-prod", "sso").allowed)

    def test_one_thread_follows_and_ends_with_the_client(self) -> None:
        before = threading.active_count()
        with self.client() as client:
            client.check("globex-prod", "sso")
            self.assertEqual([one.name for one in threading.enumerate()].count("keyshelf-local"), 1)
        with self.assertRaises(RuntimeError):
            client.check("globex-prod", "sso")
        self.assertEqual(self.state(client), "CLOSED")
        until(lambda: self.origin.streams == 0 or self.origin.end_streams() or True)
        until(lambda: threading.active_count() <= before)

    def test_events_say_what_happened_and_an_error_in_the_handler_is_ignored(self) -> None:
        def handler(event: Any) -> None:
            self.events.append(event)
            raise RuntimeError("a fault of the product")

        client = self.live(on_event=handler)
        # Another thread reports a state after it began.
        until(lambda: [event["state"] for event in self.events if event["type"] == "state"][-1:] == ["LIVE"])
        self.assertIn({"type": "snapshot", "instance": "globex-prod", "status": "VALID", "taken": True}, self.events)
        self.assertNotIn("ksh_secret", repr(self.events))
        self.assertTrue(client.check("globex-prod", "sso").allowed)

    def test_a_loop_of_asyncio_is_not_blocked(self) -> None:
        self.origin.problem = (503, "Service.Unavailable")
        client = self.client(start_timeout=5.0)

        async def first() -> float:
            began = time.monotonic()
            self.assertEqual(client.check("globex-prod", "sso").reason, "NO_SNAPSHOT")
            client.flags({}, instance="globex-prod")
            return time.monotonic() - began

        self.assertLess(asyncio.run(first()), 1.0)


class Away(Local):
    def test_without_anything_the_caller_decides_after_the_time_of_a_start(self) -> None:
        self.origin.stop()
        client = self.client(start_timeout=0.2)
        began = time.monotonic()
        answer = client.check("globex-prod", "sso")
        self.assertLess(time.monotonic() - began, 2.0)
        self.assertEqual((answer.allowed, answer.reason, answer.source, answer.age), (False, "NO_SNAPSHOT", "policy", None))
        self.assertTrue(client.check("globex-prod", "sso", when_away=OPEN).allowed)
        with self.assertRaises(keyshelf.ConnectionFailed):
            client.check("globex-prod", "sso", when_away=FAIL)
        self.assertEqual(client.flags({}, instance="globex-prod").source, "policy")
        self.assertEqual(client.consume("globex-prod", "exports", idempotency_key="a").reason, "NO_SNAPSHOT")
        self.assertTrue(client.consume("globex-prod", "exports", when_away=OPEN).allowed)
        with self.assertRaises(keyshelf.ConnectionFailed):
            client.consume("globex-prod", "exports", when_away=FAIL)

    def test_an_outage_changes_no_answer_and_its_age_shows_it(self) -> None:
        client = self.live()
        self.origin.stop()
        until(lambda: self.state(client) == "POLLING")
        answer = client.check("globex-prod", "sso")
        self.assertEqual((answer.allowed, answer.source), (True, "snapshot"))
        assert answer.age is not None
        until(lambda: (client.check("globex-prod", "sso").age or 0) > answer.age)
        self.origin.start()
        until(lambda: self.state(client) == "LIVE")

    def test_pages_of_a_proxy_and_overload_say_nothing(self) -> None:
        client = self.live()
        for problem in ((401, ""), (404, ""), (200, ""), (429, "Request.RateLimited"), (500, "Internal.Error")):
            self.origin.problem = problem
            with self.assertRaises(keyshelf.KeyshelfError):
                client.refresh("globex-prod")
            self.assertTrue(client.check("globex-prod", "sso").allowed, problem)

    def test_a_revoked_key_ends_access_at_once_and_for_all_restarts_until_the_next_snapshot(self) -> None:
        client = self.live(directory=self.directory)
        self.origin.problem = (401, "Auth.InvalidCredential")
        self.origin.end_streams()
        until(lambda: client.check("globex-prod", "sso").reason == "ACCESS_REVOKED")
        answer = client.check("globex-prod", "sso", when_away=OPEN)
        self.assertEqual((answer.allowed, answer.source, answer.age), (False, "service", None))
        self.assertEqual(client.consume("globex-prod", "exports", idempotency_key="a").reason, "ACCESS_REVOKED")
        client.close()
        self.origin.stop()
        restarted = self.client(directory=self.directory, when_away=OPEN)
        self.assertEqual(restarted.check("globex-prod", "sso").reason, "ACCESS_REVOKED")
        restarted.close()
        self.origin.problem = None
        self.origin.start()
        again = self.client(directory=self.directory)
        until(lambda: again.check("globex-prod", "sso").allowed)
        self.origin.stop()
        again.close()
        self.assertTrue(self.client(directory=self.directory).check("globex-prod", "sso").allowed)

    def test_a_consumption_that_is_rejected_ends_access_if_a_snapshot_is_too(self) -> None:
        for problem in ((404, "Instance.NotFound"), (401, "Auth.InvalidCredential")):
            self.origin.problem = None
            client = self.live()
            self.origin.problem = problem
            answer = client.consume("globex-prod", "exports", idempotency_key="a")
            self.assertEqual((answer.allowed, answer.reason, answer.source), (False, "ACCESS_REVOKED", "service"))
            self.assertEqual(self.state(client), "REVOKED")
        # Before any snapshot was held, a wrong token must be seen.
        with self.assertRaises(keyshelf.ProblemError):
            self.client().consume("globex-prod", "exports", idempotency_key="a")


if __name__ == "__main__":
    unittest.main()
