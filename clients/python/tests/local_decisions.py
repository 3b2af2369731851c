"""Runs the cases of a file of local decisions: `python -m tests.local_decisions FILE`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from keyshelf.amounts import json_text, parse_json
from keyshelf.local.states import EXPIRED, NONE, REVOKED, Facts, age_at, state_at
from keyshelf.offline import answer, cover, evaluate_rule

from .ledger_steps import play_steps
from .tranches import grant

_SKIPPED = {
    "sequence": "only the service numbers snapshots",
    "conditional": "only the service answers requests for snapshots",
    "reduce": "only the service reduces flags",
}


def written_over(base: Any, over: Any, name: str = "") -> Any:
    """Values written over others, property by property; entitlements by their slugs."""
    if name == "entitlements" and isinstance(base, list) and isinstance(over, list):
        merged = {one["slug"]: one for one in base}
        merged.update({one["slug"]: written_over(merged.get(one["slug"]), one) for one in over})
        return list(merged.values())
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return {**base, **{key: written_over(base[key], value, key) if key in base else value for key, value in over.items()}}


def comparable(result: Any) -> Any:
    """Of an error only its code is compared."""
    if isinstance(result, dict) and "errorCode" in result:
        result = {name: value for name, value in result.items() if name != "errorDetails"}
    return json.loads(json_text(result))


def state_after(given: dict[str, Any]) -> dict[str, Any]:
    """What a client is after events, at a time of one clock."""
    facts = Facts(is_starting=False)
    for event in given["events"]:
        at, name = float(event["at"]), event["event"]
        if name == "open":
            facts = replace(facts, opened_at=at, frame_at=at)
        elif name == "frame":
            facts = replace(facts, frame_at=at)
        elif name == "fetched":
            facts = replace(facts, exp=float(event["exp"]), confirmed_at=at, requested_at=at, is_revoked=False)
        elif name == "restored":
            facts = replace(facts, exp=float(event["exp"]), confirmed_at=at)
        elif name == "denied":
            facts = replace(facts, is_revoked=True, exp=None)
        else:
            raise ValueError(f"the event {name} is unknown")
    now = float(given["at"])
    state = state_at(facts, now, now)
    source = "service" if state == REVOKED else "policy" if state in (EXPIRED, NONE) else "snapshot"
    age = age_at(facts, now)
    return {"state": state, "source": source, "ageSeconds": age if age is None else int(age)}


def granted_by(given: dict[str, Any]) -> dict[str, Any]:
    """The arithmetic of the service that the tests consume from."""
    figures = [Decimal(given.get(name, "0")) for name in ("limit", "usage", "heldByOthers")]
    return grant(*figures, int(given["holders"]), Decimal(given["unspent"]), given)


def answer_to(base: Any, case: dict[str, Any]) -> Any:
    given = case["given"]
    if case["kind"] == "rule":
        return evaluate_rule(given["rule"], given["context"])
    if case["kind"] == "state":
        return state_after(given)
    if case["kind"] == "grant":
        return granted_by(given)
    if case["kind"] == "ledger":
        return play_steps(base, given)
    functions = {"answers": answer, "consume": cover}
    if case["kind"] not in functions:
        raise ValueError(f"the kind {case['kind']} is unknown")
    claims = written_over(base, given.get("claims", {}))
    return functions[case["kind"]](claims, given["checks"], given["at"], given.get("local"))


def run(file: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """The cases that were compared, and why others were not."""
    compared, skipped = [], []
    for case in file["cases"]:
        if case["kind"] in _SKIPPED:
            skipped.append(f"{case['id']}: kind {case['kind']}, {_SKIPPED[case['kind']]}")
        else:
            actual = comparable(answer_to(file["base"], case))
            expected = comparable(case["expected"])
            same = json.dumps(actual, sort_keys=True) == json.dumps(expected, sort_keys=True)
            compared.append({"id": case["id"], "actual": actual, "expected": expected, "matches": same})
    return compared, skipped


def main(path: str) -> int:
    compared, skipped = run(parse_json(Path(path).read_text("utf-8")))
    for reason in skipped:
        print(f"skipped {reason}")
    wrong = [one for one in compared if not one["matches"]]
    for one in wrong:
        print(f"wrong {one['id']}\n  actual   {json.dumps(one['actual'])}\n  expected {json.dumps(one['expected'])}")
    print(f"{len(compared) - len(wrong)} of {len(compared)} match")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
