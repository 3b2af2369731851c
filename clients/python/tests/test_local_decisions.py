"""The vectors of local decisions, and what must hold for any arguments."""

from __future__ import annotations

import unittest
from decimal import Decimal
from typing import Any

from keyshelf.offline import answer, cover, evaluate_rule

from .local_decisions import run
from .vectors import read

RULE = {"key": "f", "metadata": {}, "targetings": [], "otherwise": {"value": 1, "reason": "STATIC"}}


def matches(attribute: str, operator: str, values: list[Any], context: dict[str, Any]) -> bool:
    conditions = [{"attribute": attribute, "operator": operator, "values": values}]
    rule = {**RULE, "targetings": [{"name": "t", "conditions": conditions, "value": 2}]}
    return evaluate_rule(rule, context)["value"] == 2


class Vectors(unittest.TestCase):
    def test_each_case(self) -> None:
        compared, skipped = run(read("local-decisions"))
        self.assertEqual((len(compared), len(skipped)), (30, 3))
        for one in compared:
            with self.subTest(one["id"]):
                self.assertEqual(one["actual"], one["expected"])

    def test_a_wrong_figure_fails(self) -> None:
        file = read("local-decisions")
        for case in file["cases"]:
            if case["kind"] == "answers":
                case["expected"]["checks"][0]["usage"] = "1234"
        self.assertTrue(all(not one["matches"] for one in run(file)[0] if "checks" in one["actual"]))


class Answers(unittest.TestCase):
    def test_any_argument_is_answered(self) -> None:
        base = read("local-decisions")["base"]
        broken: list[Any] = [None, 7, "x", [], {}, [7], float("nan"), object()]
        for value in broken:
            for claims in [value, *({**base, name: value} for name in base)]:
                checks = [{"entitlement": "nowhere"}]
                self.assertFalse(any(one["allowed"] for one in answer(claims, checks, "2026-01-10T12:00:00Z", value)["checks"]))
                answer(claims, [{"entitlement": "exports"}, {"entitlement": "sso"}], value, value)
                cover(claims, [{"entitlement": "exports"}, {"entitlement": "sso"}], value, value)
            if value is not None:
                self.assertFalse(any(one["allowed"] for one in answer(base, [value], value)["checks"]))
            evaluate_rule(value, {})
            self.assertEqual(evaluate_rule(RULE, {"targetingKey": value}).get("errorCode", ""), "" if value == "x" else "INVALID_CONTEXT")

    def test_amounts_that_the_service_rejects_are_denied(self) -> None:
        base = read("local-decisions")["base"]
        for requested in ["-1", "x", "", "1e3", "1234567890123456789", "0.1234567890123456789", True, float("nan")]:
            checks = [{"entitlement": "exports", "requested": requested}]
            self.assertEqual(answer(base, checks, "2026-01-10T12:00:00Z")["checks"][0]["reason"], "INVALID_REQUEST")
            denied = {"denied": "INVALID_REQUEST", "entitlement": "exports"}
            self.assertEqual(cover(base, checks, "2026-01-10T12:00:00Z"), denied)


class Rules(unittest.TestCase):
    def test_operators(self) -> None:
        context = {"n": 5, "d": Decimal("0.1"), "b": True, "s": "pro", "l": ["a", 1], "v": "1.10.0", "t": "2026-01-31T10:00:00+01:00"}
        for attribute, operator, values, expected in [
            ("n", "EQUALS", [5.0], True), ("n", "EQUALS", ["5"], False), ("b", "EQUALS", [1], False), ("d", "EQUALS", [0.1], True),
            ("n", "NOT_IN", [4, 5], False), ("x", "NOT_EQUALS", ["y"], True), ("s", "CONTAINS", ["ro"], True),
            ("l", "CONTAINS", [1], True), ("l", "CONTAINS", [True], False), ("s", "STARTS_WITH", ["p"], True),
            ("s", "ENDS_WITH", ["p"], False), ("n", "GT", [4], True), ("b", "GTE", [0], False), ("n", "LTE", [5], True),
            ("v", "SEMVER_GT", ["1.9.0"], True), ("v", "SEMVER_LT", ["1.10.0-rc.1"], False), ("v", "SEMVER_GTE", ["1.10.0+b"], True),
            ("t", "BEFORE", ["2026-01-31T09:00:01Z"], True), ("t", "AFTER", ["2026-01-31t08:59:59.9999z"], True),
            ("t", "AFTER", ["2026-01-30T00:00:00Z"], True), ("t", "AFTER", ["2026-01-00T00:00:00Z"], False),
            ("t", "BEFORE", ["2026-02-01T00:59:60Z"], False), ("t", "BEFORE", ["2026-02-01T00:59:60+01:00"], True),
            ("t", "BEFORE", ["2026-01-31T23:59:60Z"], True), ("s", "EXISTS", [], True), ("x", "EXISTS", [False], True),
            ("s", "MATCHES", ["pro"], False), ("keyshelf.license", "EXISTS", [], False),
        ]:
            with self.subTest(f"{attribute} {operator} {values}"):
                self.assertEqual(matches(attribute, operator, values, {**context, "keyshelf": {"license": 1}}), expected)
        self.assertFalse(matches("long", "CONTAINS", ["a"], {"long": "a" * 9_999 + "\U0001f600"}))
        self.assertTrue(matches("long", "CONTAINS", ["a"], {"long": "a" * 10_000}))

    def test_percentages(self) -> None:
        # The bucket of the documentation: 38728.
        for percentage, expected in [(38.729, "SPLIT"), (38.728, "STATIC"), (0, "STATIC"), (100, "SPLIT")]:
            targeting = {"name": "beta", "conditions": [], "percentage": percentage, "value": 2}
            rule = {**RULE, "key": "new-search", "targetings": [targeting]}
            self.assertEqual(evaluate_rule(rule, {"targetingKey": "anna"})["reason"], expected)
            self.assertEqual(evaluate_rule(rule, {})["errorCode"], "TARGETING_KEY_MISSING")
