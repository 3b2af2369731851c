"""What a product does while the service is away and nothing is known, and the answers that it gets."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .amounts import decimal_of, time_of


@dataclass(frozen=True)
class WhenAway:
    """What a call answers while the service is away, and no snapshot does: `FAIL`, `OPEN` or `CLOSED`."""

    kind: str


#: The call fails. The default of remote mode.
FAIL = WhenAway("fail")
#: Allowed.
OPEN = WhenAway("open")
#: Denied. The default of local mode.
CLOSED = WhenAway("closed")


def policy_of(policy: Any, usual: WhenAway) -> WhenAway:
    """The policy of a call; `None` is the usual one. Raises `ValueError` for what is none: at once, not only in an outage."""
    if policy is None:
        return usual
    if policy not in (FAIL, OPEN, CLOSED):
        raise ValueError("when_away is FAIL, OPEN or CLOSED")
    return policy


@dataclass(frozen=True)
class Answer:
    """The answer about one entitlement."""

    entitlement: str
    allowed: bool
    #: Why. Beside the reasons of the service: `NO_SNAPSHOT`, `SNAPSHOT_EXPIRED`, `SERVICE_AWAY`, `ACCESS_REVOKED`. Later versions of
    #: the service may have further ones.
    reason: str
    limit: Decimal | None = None
    usage: Decimal | None = None
    remaining: Decimal | None = None
    overage: Decimal | None = None
    current_period_start: str | None = None
    current_period_end: str | None = None
    #: What answered: `snapshot`, `service` for a request, or `policy` because nothing was known.
    source: str = "service"
    #: Seconds since the service confirmed the snapshot; 0 for a request, `None` without a snapshot.
    age: float | None = 0.0
    #: What is left of credits, which is in `remaining` too. Only of an answer of the service, if a credit is active.
    credits: Decimal | None = None


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
        credits=amount("credits"),
        current_period_start=start,
        current_period_end=end,
    )
