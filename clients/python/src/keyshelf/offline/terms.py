"""What the claims of a snapshot, and what this product spent, say of one entitlement at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..amounts import MAX_DIGITS, digits_of
from .decision import Period, period_at
from .values import amount_of, exact_sum, is_number, millis_of, own

_ZERO = Decimal(0)


@dataclass(frozen=True)
class Figures:
    """The figures of a `NUMBER`."""

    aggregation: Any
    #: `None`: not granted.
    limit: Decimal | None
    #: How far usage may exceed the limit, in percent of it.
    overage_percent: Decimal
    usage: Decimal
    #: What others hold of the period.
    others: Decimal
    #: What the tranche still pays.
    unspent: Decimal
    period: Period | None


def requested_in(check: Any) -> Decimal | None:
    """The requested amount, `None` if the service would reject it."""
    requested = own(check, "requested")
    amount = amount_of("1" if requested is None else requested)
    return None if amount is None or amount < 0 or digits_of(amount) > MAX_DIGITS else amount


def difference(one: Decimal, other: Decimal) -> Decimal:
    return exact_sum(one, other.copy_negate())


def terms_at(claims: Any, slug: Any, at: float | None, local: Any) -> tuple[str | None, Figures | None]:
    """What is known of an entitlement at an instant: why nothing is allowed, and the figures of a `NUMBER`."""
    listed = own(claims, "entitlements")
    entitlements = listed if isinstance(listed, list) and isinstance(slug, str) else []
    entitlement = next((one for one in entitlements if own(one, "slug") == slug), None)
    if entitlement is None:
        return ("ENTITLEMENT_NOT_FOUND" if own(claims, "complete") is True else "NOT_GRANTED"), None
    is_number_type = own(entitlement, "type") == "NUMBER"
    figures = _figures_at(claims, slug, entitlement, at, local) if is_number_type and at is not None else None
    is_granted = figures is not None and figures.limit is not None if is_number_type else _is_granted(entitlement, at)
    return _denial_at(claims, is_granted, at), figures


def _denial_at(claims: Any, is_granted: bool, at: float | None) -> str | None:
    license = own(claims, "license")
    start, end = millis_of(own(license, "start")), own(license, "end")
    if at is None or start is None or at < start:
        return "LICENSE_NOT_STARTED"
    if end is not None or "end" not in license:
        until = millis_of(end)
        if until is None or at >= until:
            return "LICENSE_EXPIRED"
    return None if is_granted else "NOT_GRANTED"


def _grant_at(entitlement: Any, at: float | None) -> Any:
    """The last grant that has begun, else the entry itself."""
    grants = own(entitlement, "grants")
    for grant in reversed(grants if isinstance(grants, list) else []):
        begun = millis_of(own(grant, "from"))
        if at is not None and begun is not None and begun <= at:
            return grant
    return entitlement


def _is_granted(entitlement: Any, at: float | None) -> bool:
    kind, value = own(entitlement, "type"), own(_grant_at(entitlement, at), "value")
    return value is True if kind == "BOOLEAN" else kind == "CONFIG" and isinstance(value, dict)


def _tranche_of(claims: Any, local: Any) -> Any:
    """The tranche of the claims, if this ledger was at its position."""
    tranche, positions = own(claims, "tranche"), own(local, "positions")
    source = own(tranche, "source")
    here = [own(tranche, "lines"), own(tranche, "head")]
    is_here = isinstance(source, str) and own(local, "source") == source and isinstance(positions, (list, tuple))
    return tranche if is_here and any(_is_position(one) and list(one) == here for one in positions) else None


def _is_position(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2


def _figures_at(claims: Any, slug: str, entitlement: Any, at: float, local: Any) -> Figures | None:
    name = own(entitlement, "period")
    period = period_at(claims, name, at / 1000) if isinstance(name, str) else None
    start = None if period is None else period.start
    begun, used_from = millis_of(start), millis_of(own(entitlement, "usedFrom"))
    # Usage and holds of another period are none of this one. In doubt they count.
    is_other = begun is not None and used_from is not None and begun != used_from
    used = _ZERO if is_other else amount_of(own(entitlement, "used"))
    if used is None:
        return None
    held = _ZERO if is_other else amount_of(own(entitlement, "held")) or _ZERO
    aggregation = own(entitlement, "aggregation")
    is_spent = aggregation in ("SUM", "COUNT")

    def total(amounts: Any) -> Decimal:
        amount = amount_of(own(own(amounts, slug), start)) if is_spent else None
        return _ZERO if amount is None else max(_ZERO, amount)

    tranche = _tranche_of(claims, local)
    spent, mine, until = total(own(local, "spent")), total(own(tranche, "of")), own(tranche, "until")
    is_open = is_number(until) and at < until * 1000
    unspent = max(_ZERO, difference(mine, exact_sum(spent, total(own(local, "reserved"))))) if is_open else _ZERO
    grant = _grant_at(entitlement, at)
    # What this product spent of its own hold is usage. No other client can spend what is left of it.
    others = max(_ZERO, difference(max(_ZERO, difference(held, min(mine, spent))), unspent))
    return Figures(
        aggregation,
        amount_of(own(grant, "limit")),
        amount_of(own(grant, "overagePercent")) or _ZERO,
        exact_sum(used, held.copy_negate(), spent),
        others,
        unspent,
        period,
    )
