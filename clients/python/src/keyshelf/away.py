"""What a product does while the service is away. The caller decides for each check."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from .amounts import decimal_of, instant_ms, time_of
from .clocks import Reading, age, read_clocks
from .settings import seconds_of

#: The number of last answers that a client caches. It evicts the oldest ones first.
MAX_KNOWN = 10_000


@dataclass(frozen=True)
class WhenAway:
    """What a check answers while the service is away: `FAIL`, `OPEN`, `CLOSED`, or `last_known(...)`."""

    kind: str
    max_age: float = 0.0
    otherwise: WhenAway | None = None


#: The call fails. The default.
FAIL = WhenAway("fail")
#: Allowed.
OPEN = WhenAway("open")
#: Denied.
CLOSED = WhenAway("closed")


def last_known(max_age: float, otherwise: WhenAway = FAIL) -> WhenAway:
    """What the service answered last, if that was at most `max_age` seconds ago; else what `otherwise` says.

    Raises `ValueError` for an age below 0 and for what is not a policy.
    """
    seconds_of("max_age", max_age, may_be_least=True)
    check_policy(otherwise)
    return WhenAway("lastKnown", max_age, otherwise)


def check_policy(policy: Any) -> None:
    """Raises `ValueError` for what is not a policy: so the call fails at once, not only when the service is away."""
    if not isinstance(policy, WhenAway) or policy.kind not in ("fail", "open", "closed", "lastKnown"):
        raise ValueError("when_away is FAIL, OPEN, CLOSED or last_known(...)")


@dataclass(frozen=True)
class Answer:
    """The answer about one entitlement."""

    entitlement: str
    allowed: bool
    #: Why. `SERVICE_AWAY` if `OPEN` or `CLOSED` answered. Later versions of the service may have further reasons.
    reason: str
    limit: Decimal | None = None
    usage: Decimal | None = None
    remaining: Decimal | None = None
    overage: Decimal | None = None
    current_period_start: str | None = None
    current_period_end: str | None = None
    #: Who answered: `service`, `lastKnown`, or `policy` for `OPEN` and `CLOSED`.
    source: str = "service"
    #: Seconds since the service gave this answer; `None` for `policy`.
    age: float | None = 0.0


def answer_of(members: dict[str, Any]) -> Answer:
    """The answer of a response. Raises `KeyError`, `TypeError` or `ValueError` for another form."""

    def amount(name: str) -> Decimal | None:
        value = members.get(name)
        return None if value is None else decimal_of(value)

    start, end = members.get("currentPeriodStart"), members.get("currentPeriodEnd")
    time_of(start), time_of(end)
    entitlement, allowed, reason = members["entitlement"], members["allowed"], members["reason"]
    if not isinstance(entitlement, str) or not isinstance(allowed, bool) or not isinstance(reason, str):
        raise TypeError("no answer")
    return Answer(
        entitlement=entitlement,
        allowed=allowed,
        reason=reason,
        limit=amount("limit"),
        usage=amount("usage"),
        remaining=amount("remaining"),
        overage=amount("overage"),
        current_period_start=start,
        current_period_end=end,
    )


class KnownAnswers:
    """The last answer of the service for each entitlement of each instance. May be used by several threads."""

    def __init__(self, maximum: int = MAX_KNOWN) -> None:
        self._maximum = maximum
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[str, str], tuple[Decimal, Reading, Answer]] = OrderedDict()

    def remember(self, instance: str, requested: Decimal, answer: Answer, at: Reading | None = None) -> None:
        key = (instance, answer.entitlement)
        with self._lock:
            self._answers[key] = (requested, read_clocks() if at is None else at, answer)
            self._answers.move_to_end(key)
            if len(self._answers) > self._maximum:
                self._answers.popitem(last=False)

    def recall(
        self, instance: str, entitlement: str, requested: Decimal, policy: WhenAway, now: Reading | None = None
    ) -> Answer | None:
        """The answer of a policy, `None` if the call fails."""
        if policy.kind == "open" or policy.kind == "closed":
            is_open = policy.kind == "open"
            return Answer(entitlement, is_open, "SERVICE_AWAY", source="policy", age=None)
        if policy.kind != "lastKnown":
            return None
        with self._lock:
            known = self._answers.get((instance, entitlement))
        clocks = read_clocks() if now is None else now
        if known is not None and _still_holds(known[2], known[0], requested, clocks.wall):
            known_for = age(known[1], clocks)
            if known_for <= policy.max_age:
                return replace(known[2], source="lastKnown", age=known_for)
        return self.recall(instance, entitlement, requested, policy.otherwise or FAIL, now)


def _still_holds(answer: Answer, asked: Decimal, requested: Decimal, now: float) -> bool:
    """Whether an answer also answers another amount. What was allowed holds for less, what was denied for more."""
    if answer.allowed:
        return requested <= asked
    # A reached limit ends with its period.
    end = answer.current_period_end
    is_over = answer.reason == "LIMIT_REACHED" and end is not None and instant_ms(end) <= now * 1000
    return requested >= asked and not is_over
