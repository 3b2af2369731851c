"""What a local client answers in each of its states."""

from __future__ import annotations

from typing import Any, Mapping

from ..amounts import instant_text
from ..away import FAIL, WhenAway
from ..checks import CheckResult
from ..flags import FlagSet
from ..offline import evaluate_rule
from ..offline.entitlement_flags import entitlement_flags
from ..offline.values import own
from .answers import answers_of, away_of, decides_after_exp
from .instance import Instance
from .mode import Status
from .states import EXPIRED, age_at, state_at


def decide_by(instance: Instance, items: list[dict[str, Any]], policy: WhenAway) -> CheckResult:
    """Answers checks without a request. Raises what the service failed with, if there is nothing and the policy is to fail."""
    if not instance.ledger.is_open:
        return answers_of(instance.look(), items, policy)
    with instance.changed:
        return instance.ledger.check(items, policy)


def flags_by(instance: Instance, context: Mapping[str, Any], policy: WhenAway) -> FlagSet | None:
    """Evaluates all flags without a request. `None` if the snapshot has none: they are too large, or may not be read."""
    (facts, snapshot), clock = instance.view, instance.clock
    now = clock.monotonic()
    if facts.is_revoked:
        return FlagSet({}, None, "service")
    if snapshot is None:
        if policy == FAIL:
            raise away_of(instance.look())
        return FlagSet({}, None, "policy")
    age = age_at(facts, now)
    if state_at(facts, now, clock.now()) == EXPIRED and not decides_after_exp(snapshot):
        return FlagSet({}, age, "policy")
    rules = own(snapshot.claims, "rules")
    if not isinstance(rules, list):
        return None
    # The service does the same for a license key.
    named = context if context.get("targetingKey", "") != "" else {**context, "targetingKey": snapshot.claims["instance"]["slug"]}
    evaluations = {rule["key"]: evaluate_rule(rule, named) for rule in rules if isinstance(own(rule, "key"), str)}
    return FlagSet({**evaluations, **entitlement_flags(snapshot.claims, clock.now())}, age, "snapshot")


def status_of(instance: Instance) -> Status:
    """What is known of an instance now."""
    facts, snapshot = instance.view
    age = age_at(facts, instance.clock.monotonic())
    expires_at = None if facts.exp is None else instant_text(int(facts.exp * 1000))
    etag, ledger = None if snapshot is None else snapshot.etag, instance.ledger
    return Status(instance.state(), age, etag, expires_at, ledger.tranches(), ledger.unsettled())
