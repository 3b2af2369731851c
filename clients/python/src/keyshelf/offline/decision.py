"""Decides by the claims of a valid bundle whether a product may use an entitlement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Mapping

from ..amounts import instant_text
from .values import (
    Instant,
    amount_of,
    amount_text,
    cap_of,
    exact_sum,
    hash_of,
    is_number,
    millis_of,
    millis_or_now,
    own,
)


@dataclass(frozen=True)
class Decision:
    """Whether a product may use an entitlement."""

    allowed: bool
    #: `INVALID_REQUEST`: an amount of the request is negative or not a decimal.
    reason: str
    #: What is left before the request as a decimal text; `"-1"` if unlimited, `None` where nothing is counted.
    remaining: str | None = None


@dataclass(frozen=True)
class Period:
    """The time from `start` to before `end`. `end` is `None` where the bundle names none."""

    start: str
    end: str | None


_NOT_GRANTED = Decision(False, "NOT_GRANTED")
_INVALID = Decision(False, "INVALID_REQUEST")


def period_at(claims: Mapping[str, Any], period: str, at: Instant) -> Period | None:
    """The period of a name, such as `MONTH/CALENDAR`, that contains an instant. `None` if the bundle names none."""
    try:
        named, instant = own(own(claims, "periods"), period), millis_of(at)
        starts = own(named, "starts")
        if instant is None:
            return None
        if isinstance(starts, list):
            known = [millis_of(start) for start in starts]
        else:
            known = _around(millis_of(own(named, "from")), own(named, "every"), instant)
        before: float | None = None
        after: float | None = None
        for start in known:
            # A start that is not a time makes the order unknown.
            if start is None:
                return None
            if start <= instant:
                before = start if before is None or start > before else before
            else:
                after = start if after is None or start < after else after
        if before is None:
            return None
        return Period(instant_text(int(before)), None if after is None else instant_text(int(after)))
    except (ValueError, TypeError):
        return None


def _around(start: float | None, seconds: Any, at: float) -> list[float | None]:
    """The starts of periods of a fixed length around an instant."""
    if start is None or not is_number(seconds) or seconds <= 0 or at < start:
        return []
    length = seconds * 1000
    current = at - math.fmod(at - start, length)
    return [current, current + length]


def decide(
    claims: Mapping[str, Any],
    entitlement: str,
    *,
    used: Any = "0",
    requested: Any = "1",
    at: Instant | None = None,
) -> Decision:
    """Decides without a service, by the claims of a bundle that was just verified as `VALID`. Never raises.

    `used` is what this product used in the current period since the bundle was issued; with an allowance, in the whole
    period. The cap holds only as far as this product alone uses the instance, unless the entitlement has an allowance.
    """
    entitlements = own(claims, "entitlements")
    found = next(
        (one for one in entitlements if own(one, "slug") == entitlement) if isinstance(entitlements, list) else iter(()),
        None,
    )
    kind, value = own(found, "type"), own(found, "value")
    if kind == "NUMBER":
        return _decide_number(claims, found, amount_of(used), amount_of(requested), at)
    is_granted = value is True if kind == "BOOLEAN" else kind == "CONFIG" and isinstance(value, dict)
    return Decision(True, "GRANTED") if is_granted else _NOT_GRANTED


def _decide_number(
    claims: Mapping[str, Any], entitlement: Any, used: Decimal | None, requested: Decimal | None, at: Instant | None
) -> Decision:
    if used is None or requested is None or used < 0 or requested < 0:
        return _INVALID
    given = own(entitlement, "allowance")
    if given is not None:
        allowance = amount_of(given)
        return _NOT_GRANTED if allowance is None else _within(allowance, allowance, used, requested)
    limit = amount_of(own(entitlement, "limit"))
    if limit == -1:
        return Decision(True, "UNLIMITED", "-1")
    before = _used_at_issue(claims, entitlement, at)
    if limit is None or before is None:
        return _NOT_GRANTED
    percent = amount_of(own(entitlement, "overagePercent"))
    cap = cap_of(limit, percent) if percent is not None and percent > 0 else limit
    return _within(limit, cap, exact_sum(before, used), requested)


def _used_at_issue(claims: Mapping[str, Any], entitlement: Any, at: Instant | None) -> Decimal | None:
    """What counts of the usage at issue: all of it in its period, nothing in another one. In doubt it counts."""
    millis = millis_or_now(at)
    period = None if millis is None else period_at(claims, own(entitlement, "period"), millis / 1000)
    start = None if period is None else millis_of(period.start)
    used_from = millis_of(own(entitlement, "usedFrom"))
    is_other = start is not None and used_from is not None and start != used_from
    return Decimal(0) if is_other else amount_of(own(entitlement, "used"))


def _within(limit: Decimal, cap: Decimal, used: Decimal, requested: Decimal) -> Decision:
    after = exact_sum(used, requested)
    reason = "GRANTED" if after <= limit else "SOFT_LIMIT" if after <= cap else "LIMIT_REACHED"
    left = exact_sum(limit, used.copy_negate()) if used < limit else Decimal(0)
    return Decision(after <= cap, reason, amount_text(left))


def fingerprint_of(instance_id: str, component: str) -> str:
    """The fingerprint of a component of the machine, such as `mac:8c:2e:3f:1a:4b:77`, for an instance.

    The component cannot be read from it. It is `""`, which matches nothing, if an argument is not a text.
    """
    if not isinstance(instance_id, str) or not isinstance(component, str):
        return ""
    return hash_of(f"keyshelf-binding\n{instance_id}\n{component}")
