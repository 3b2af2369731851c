"""What the claims of a snapshot, and what this product spent, say of one entitlement at an instant."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from ..amounts import MAX_DIGITS, digits_of
from .decision import Period, period_at
from .values import amount_of, difference, exact_sum, is_number, millis_of, own

_ZERO, _ONE = Decimal(0), Decimal(1)


class Figures(NamedTuple):
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
    if requested is None:
        return _ONE
    return _requested(requested) if isinstance(requested, (str, Decimal)) else _countable(requested)


@lru_cache(4_096)
def _requested(requested: str | Decimal) -> Decimal | None:
    return _countable(requested)


def _countable(requested: Any) -> Decimal | None:
    amount = amount_of(requested)
    return None if amount is None or amount < 0 or digits_of(amount) > MAX_DIGITS else amount


class Scene(NamedTuple):
    """What is the same for all entitlements of a snapshot at an instant."""

    claims: Any
    at: float | None
    #: Why nothing is allowed at all.
    denial: str | None
    local: Any
    tranche: Any
    #: The periods that were found, by their names, with their starts.
    periods: dict[str, tuple[Period | None, float | None]]


def scene_at(claims: Any, at: float | None, local: Any) -> Scene:
    tranche = None if local is None else _tranche_of(claims, local)
    return Scene(claims, at, _denial_at(claims, at), local, tranche, {})


def _period_of(scene: Scene, name: Any, at: float) -> tuple[Period | None, float | None]:
    if not isinstance(name, str):
        return None, None
    found = scene.periods.get(name)
    if found is None:
        # A lifetime begins with the license, and is its period before that too.
        begins = millis_of(own(own(scene.claims, "license"), "start")) if name == "LIFETIME" else None
        period = period_at(scene.claims, name, (at if begins is None else max(at, begins)) / 1000)
        found = scene.periods[name] = period, None if period is None else millis_of(period.start)
    return found


def terms_at(scene: Scene, slug: Any) -> tuple[str | None, Figures | None]:
    """What is known of an entitlement: why nothing is allowed, and the figures of a `NUMBER`."""
    claims, at = scene.claims, scene.at
    listed = own(claims, "entitlements")
    entitlements = listed if isinstance(listed, list) and isinstance(slug, str) else []
    entitlement = next((one for one in entitlements if own(one, "slug") == slug), None)
    if entitlement is None:
        return ("ENTITLEMENT_NOT_FOUND" if own(claims, "complete") is True else "NOT_GRANTED"), None
    is_number_type = own(entitlement, "type") == "NUMBER"
    figures = _figures_at(scene, slug, entitlement, at) if is_number_type and at is not None else None
    is_granted = figures is not None and figures.limit is not None if is_number_type else _is_granted(entitlement, at)
    return scene.denial or (None if is_granted else "NOT_GRANTED"), figures


def _denial_at(claims: Any, at: float | None) -> str | None:
    license = own(claims, "license")
    start, end = millis_of(own(license, "start")), own(license, "end")
    if at is None or start is None or at < start:
        return "LICENSE_NOT_STARTED"
    if end is not None or "end" not in license:
        until = millis_of(end)
        if until is None or at >= until:
            return "LICENSE_EXPIRED"
    return None


def _grant_at(entitlement: Any, at: float | None) -> Any:
    """The last grant that has begun, else the entry itself."""
    grants = own(entitlement, "grants")
    for grant in reversed(grants if isinstance(grants, list) else []):
        begun = millis_of(own(grant, "from"))
        if at is not None and begun is not None and begun <= at:
            return grant
    return entitlement


def configuration_at(entitlement: Any, at: float) -> dict[str, Any] | None:
    """The object that a `CONFIG` grants at an instant in seconds; `None` of other types, and where nothing is granted."""
    value = own(_grant_at(entitlement, millis_of(at)), "value")
    return value if own(entitlement, "type") == "CONFIG" and isinstance(value, dict) else None


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


def _figures_at(scene: Scene, slug: str, entitlement: Any, at: float) -> Figures | None:
    period, begun = _period_of(scene, own(entitlement, "period"), at)
    used_from = millis_of(own(entitlement, "usedFrom"))
    # Usage and holds of another period are none of this one. In doubt they count.
    is_other = begun is not None and used_from is not None and begun != used_from
    used = _ZERO if is_other else amount_of(own(entitlement, "used"))
    if used is None:
        return None
    held = _ZERO if is_other else amount_of(own(entitlement, "held")) or _ZERO
    grant, aggregation = _grant_at(entitlement, at), own(entitlement, "aggregation")
    limit, percent = amount_of(own(grant, "limit")), amount_of(own(grant, "overagePercent")) or _ZERO
    if scene.local is None:
        return Figures(aggregation, limit, percent, difference(used, held), max(_ZERO, held), _ZERO, period)
    is_spent, local, tranche = aggregation in ("SUM", "COUNT"), scene.local, scene.tranche
    start = None if period is None else period.start

    def total(amounts: Any) -> Decimal:
        amount = amount_of(own(own(amounts, slug), start)) if is_spent else None
        return _ZERO if amount is None else max(_ZERO, amount)

    spent, mine, until = total(own(local, "spent")), total(own(tranche, "of")), own(tranche, "until")
    is_open = is_number(until) and at < until * 1000
    # What is given back is held by no one, although the snapshot says so until the service has answered.
    returned = total(own(local, "returned"))
    taken = exact_sum(spent, total(own(local, "reserved")), returned)
    unspent = max(_ZERO, difference(mine, taken)) if is_open else _ZERO
    # What this product spent of its own hold is usage. No other client can spend what is left of it.
    others = max(_ZERO, difference(max(_ZERO, difference(held, min(mine, spent))), exact_sum(unspent, returned)))
    return Figures(aggregation, limit, percent, exact_sum(used, held.copy_negate(), spent), others, unspent, period)
