"""What a local client answers in each of its states."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from ..away import FAIL, OPEN, Answer, WhenAway
from ..checks import CheckResult, same_for
from ..offline import answer
from ..offline.values import amount_of, own
from ..problems import ConnectionFailed
from .snapshots import Snapshot
from .states import EXPIRED
from .view import View


def answers_of(
    view: View,
    items: Sequence[Mapping[str, Any]],
    policy: WhenAway,
    claims: Mapping[str, Any] | None = None,
    local: Mapping[str, Any] | None = None,
    decide: Callable[..., dict[str, Any]] = answer,
) -> CheckResult:
    """Answers checks without a request. `claims` are those of the snapshot with the tranche that `local` spends from.

    `answer_in_order` decides the checks of a consumption.

    Raises what the service failed with, if there is nothing and the policy is to fail.
    """
    facts, snapshot = view.facts, view.snapshot
    if facts.is_revoked:
        return same_for(view.instance, items, False, "ACCESS_REVOKED", "service")
    if snapshot is None:
        if policy == FAIL:
            raise away_of(view)
        return same_for(view.instance, items, policy == OPEN, "NO_SNAPSHOT", "policy")
    age = view.age
    if view.state == EXPIRED and not decides_after_exp(snapshot):
        return same_for(view.instance, items, False, "SNAPSHOT_EXPIRED", "policy", age)
    result = decide(asked_of(snapshot, items, claims), items, view.time, local)
    checks = tuple(_answer_of(one, age) for one in result["checks"])
    return CheckResult(view.instance, checks, result["license"], result["at"], result["graceEndsAt"])


def asked_of(
    snapshot: Snapshot, items: Sequence[Mapping[str, Any]], claims: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Claims with the entitlements of checks alone, so that answers need not search them."""
    by_slug = snapshot.entitlements
    asked = [by_slug[item["entitlement"]] for item in items if item["entitlement"] in by_slug]
    return {**(snapshot.claims if claims is None else claims), "entitlements": asked}


def _answer_of(one: dict[str, Any], age: float | None) -> Answer:
    return Answer(
        one["entitlement"],
        one["allowed"],
        one["reason"],
        amount_of(one["limit"]),
        amount_of(one["usage"]),
        amount_of(one["remaining"]),
        amount_of(one["overage"]),
        one["currentPeriodStart"],
        one["currentPeriodEnd"],
        "snapshot",
        age,
    )


def decides_after_exp(snapshot: Snapshot) -> bool:
    """Whether the vendor lets the product decide on by its last snapshot. It is no blanket yes: what it denies stays denied."""
    return own(own(snapshot.claims, "away"), "then") == "ALLOW"


def away_of(view: View) -> Exception:
    """What a call fails with because nothing is known."""
    if view.failure is None:
        return ConnectionFailed("The service has not answered yet")
    return view.failure.error.with_traceback(None)
