"""The vectors of `clients/vectors`, but for those of offline bundles."""

from __future__ import annotations

import json
import unittest
from typing import Any

import keyshelf
from keyshelf.amounts import parse_json, text_of
from keyshelf.problems import ProblemError
from keyshelf.retry import delay_before_retry, is_away

from .server import Reply, Server
from .vectors import read

AMOUNTS = ("limit", "usage", "remaining", "overage")


def client_of(server: Server) -> keyshelf.Client:
    return keyshelf.Client(server.url, "ksh_0123456789", mode="remote", retries=0)


def answer_members(answer: keyshelf.Answer) -> dict[str, Any]:
    amounts = {name: getattr(answer, name) for name in AMOUNTS}
    return {
        "entitlement": answer.entitlement,
        "allowed": answer.allowed,
        "reason": answer.reason,
        **{name: None if amount is None else text_of(amount) for name, amount in amounts.items()},
        **({} if answer.credits is None else {"credits": text_of(answer.credits)}),
        "currentPeriodStart": answer.current_period_start,
        "currentPeriodEnd": answer.current_period_end,
    }


class Retries(unittest.TestCase):
    def test_each_case(self) -> None:
        for case in read("retries")["cases"]:
            with self.subTest(case["id"]):
                delay = delay_before_retry(
                    attempt=case["attempt"],
                    retries=case["retries"],
                    is_idempotent=case["isIdempotent"],
                    status=case["status"],
                    code=case["code"],
                    retry_after=case["retryAfter"],
                    random=float(case["random"]),
                    now=case.get("now", 0),
                )
                expected = case["expected"]
                self.assertEqual(delay is not None, expected["retry"])
                if delay is not None:
                    self.assertAlmostEqual(delay, float(expected["delayMs"]))
                self.assertEqual(is_away(case["status"], case["code"]), expected["isAway"])


class Problems(unittest.TestCase):
    def test_each_case(self) -> None:
        for case in read("problems")["cases"]:
            with self.subTest(case["id"]):
                problem = ProblemError(
                    case["status"], case["body"], case["contentType"], case.get("path", "/api/instances/globex-prod/check")
                )
                errors = [{"location": e.location, "message": e.message, "value": e.value} for e in problem.errors]
                actual = {
                    "code": problem.code,
                    "status": problem.status,
                    "detail": problem.detail,
                    "errorId": problem.error_id,
                    "errors": errors,
                }
                self.assertEqual(actual, case["expected"])


class Signatures(unittest.TestCase):
    def test_each_case(self) -> None:
        for case in read("signatures")["cases"]:
            with self.subTest(case["id"]):
                body = case["body"].encode()
                try:
                    event = keyshelf.verify_webhook(case["secret"], case["headers"], body, now=case["now"])
                    self.assertEqual(event, parse_json(case["body"]))
                    actual = "VALID"
                except keyshelf.WebhookRejected as rejected:
                    actual = rejected.reason
                self.assertEqual(actual, case["expected"])

    def test_a_secret_of_another_form_is_an_error_of_the_program(self) -> None:
        with self.assertRaises(ValueError):
            keyshelf.verify_webhook("whsec_?", {}, b"{}")


class Checks(unittest.TestCase):
    def test_each_case(self) -> None:
        for case in read("checks")["cases"]:
            with self.subTest(case["id"]), Server(lambda _request, _n: Reply(200, case["response"])) as server:
                checks = [(c["entitlement"], c["requested"]) if "requested" in c else c["entitlement"] for c in case["checks"]]
                client = client_of(server)
                if case["consume"]:
                    result = client.consume_all(case["instance"], checks, idempotency_key="key")
                    self.assertEqual(server.requests[0].headers["idempotency-key"], "key")
                else:
                    result = client.check_all(case["instance"], checks, at=case["at"])
                sent = server.requests[0]
                request = {"method": sent.method, "path": sent.path, "body": parse_json(sent.body)}
                self.assertEqual(request, case["request"])
                actual = {
                    "instance": result.instance,
                    "license": result.license,
                    "at": result.at,
                    "graceEndsAt": result.grace_ends_at,
                    "allowed": result.allowed,
                    "checks": [answer_members(answer) for answer in result.checks],
                }
                self.assertEqual(actual, case["expected"])


class Answers(unittest.TestCase):
    def test_each_response_that_is_no_result(self) -> None:
        for case in read("answers")["cases"]:
            headers = {"content-type": "", **case["headers"]}
            reply = Reply(case["status"], case["body"] + " " * ("cut" in case), headers, missing=int("cut" in case))
            expected = case["expected"]
            with self.subTest(case["id"]), Server(lambda _request, _n: reply) as server:
                buffer = client_of(server).usage_buffer()
                for id in "abcd":
                    buffer.report("globex-prod", "api-calls", 1, id=id)
                if expected["flush"] == "rejected":
                    codes = [one.code for one in buffer.flush().rejected]
                    self.assertEqual((codes, len(buffer)), ([expected["code"]] * 4, 0))
                else:
                    with self.assertRaises(keyshelf.FlushFailed) as failed:
                        buffer.flush()
                    code = getattr(failed.exception.__cause__, "code", None)
                    self.assertEqual((code, len(buffer)), (expected["code"], 4))
                    self.assertEqual(failed.exception.is_away, expected["isAway"])
                self.assertEqual(len(server.requests), expected["requests"])
                try:
                    source = client_of(server).check("globex-prod", "api-calls", when_away=keyshelf.OPEN).source
                except ProblemError as problem:
                    source = problem.code
                self.assertEqual(source, "policy" if expected["isAway"] else expected["code"])


class Reports(unittest.TestCase):
    def test_each_report(self) -> None:
        vectors = read("reports")
        with Server(lambda _request, _n: Reply(200, '{"results":[{"id":"r","status":"accepted"}]}')) as server:
            for case in vectors["reports"]:
                with self.subTest(case["id"]):
                    report = case["report"]
                    buffer = client_of(server).usage_buffer(source=vectors["source"])
                    options = {"unique_key": report["uniqueKey"]} if "uniqueKey" in report else {}
                    try:
                        buffer.report(
                            report["instance"],
                            report["entitlement"],
                            report["value"],
                            time=report["time"],
                            id=report["id"],
                            **options,
                        )
                    except ValueError:
                        self.assertEqual("INVALID", case["expected"])
                        self.assertEqual(len(buffer), 0)
                        continue
                    buffer.flush()
                    self.assertEqual(json.loads(server.requests[-1].body), [case["expected"]])

    def test_each_flush(self) -> None:
        for case in read("reports")["flushes"]:
            reply = Reply(case["status"], case["response"])
            with self.subTest(case["id"]), Server(lambda _request, _n: reply) as server:
                buffer = client_of(server).usage_buffer()
                for id in case["sent"]:
                    buffer.report("globex-prod", "api-calls", 1, id=id)
                failed = False
                try:
                    result = buffer.flush()
                except keyshelf.FlushFailed as error:
                    failed, result = True, error.result
                actual = {
                    "accepted": result.accepted,
                    "duplicates": result.duplicates,
                    "rejected": [{"id": one.event["id"], "code": one.code} for one in result.rejected],
                    "left": [json.loads(line)["id"] for line in buffer._journal.lines],
                    "failed": failed,
                }
                self.assertEqual(actual, case["expected"])


if __name__ == "__main__":
    unittest.main()
