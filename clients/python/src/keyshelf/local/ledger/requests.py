"""What a refill sends: the lines of what was spent, and what is to be kept, needed and wanted of each entitlement."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Mapping, NamedTuple

from ...amounts import instant_text
from ...offline.decision import Period
from ...offline.ledger import Ledger, LedgerError
from ...offline.terms import scene_at, terms_at
from ...offline.values import amount_text, difference, exact_sum, millis_of, own
from .journal import Journal, Record
from .tally import ZERO, Tally, amount_at, decimal_in, portions_of, withheld_at
from .uses import Uses

MAX_LINES = 1_000
_MAX_ENTRIES = 100
#: When a tranche of the next period is requested, in seconds before it begins.
EARLY = 30.0
#: A period that ends so soon, in seconds, may have ended at the service.
BOUNDARY = 10.0

_ONE = Decimal(1)
_UNLIMITED = Decimal(-1)


class Demand(NamedTuple):
    """What the calls in line need of an entitlement: the first of them, and all."""

    need: Decimal = ZERO
    want: Decimal = ZERO


@dataclass(frozen=True)
class Basis:
    """What a refill is planned by."""

    claims: Mapping[str, Any]
    local: Mapping[str, Any]
    journal: Journal
    reserved: Tally
    uses: Uses
    demands: Mapping[str, Demand]
    #: The time of the service, in seconds since 1970.
    time: float
    #: Monotonic, in seconds.
    now: float


class Planned(NamedTuple):
    """What of an entitlement can be planned."""

    period: Period
    unspent: Decimal


def lines_of(claims: Mapping[str, Any], journal: Journal, time: float) -> list[Record]:
    """The lines of all that is spent and in no line yet, up to the maximum of a request. A `COUNT` has a line for each use."""
    records: list[Record] = []
    try:
        ledger = Ledger(journal.source, stored=journal.base)
    except LedgerError:
        return records
    counts = {one["slug"] for one in claims["entitlements"] if own(one, "aggregation") == "COUNT"}
    for name, period, amount in portions_of(journal.open):
        left = decimal_in(amount)
        while left > 0 and len(records) < MAX_LINES:
            value = _ONE if name in counts else left
            text = ledger.append(
                subject=claims["instance"]["slug"],
                type=name,
                bundle_id=claims["jti"],
                value=value,
                time=instant_text(journal.last_at.get((name, period), int(time * 1000))),
            )
            records.append({"line": text, "head": ledger.position.head, "period": period})
            left = difference(left, value)
    return records


def planned_of(basis: Basis, slug: str) -> Planned | None:
    """What of an entitlement can be planned: it has a limit, and is counted in periods."""
    denial, figures = terms_at(scene_at(basis.claims, basis.time * 1000, basis.local), slug)
    if denial is not None or figures is None or figures.aggregation not in ("SUM", "COUNT"):
        return None
    if figures.limit is None or figures.limit == _UNLIMITED or figures.period is None:
        return None
    return Planned(figures.period, figures.unspent)


def names_of(basis: Basis) -> list[str]:
    """Entitlements that have recent uses, needs, reservations or unspent units."""
    reserved = [name for name, _, _ in portions_of(basis.reserved)]
    held = own(own(basis.claims, "tranche"), "of") or {}
    return list(dict.fromkeys([*basis.demands, *basis.uses.names(basis.now), *reserved, *held]))


def left_of(basis: Basis, name: str, period: str) -> Decimal:
    """What is left of the tranche of another period than the present one; below 0 if more was spent."""
    held = amount_at(own(own(basis.claims, "tranche"), "of"), name, period)
    taken = exact_sum(amount_at(basis.journal.spent, name, period), withheld_at(basis.local, name, period))
    return difference(held, taken)


def end_of(period: Period) -> float | None:
    """When a period ends, in seconds since 1970."""
    millis = millis_of(period.end)
    return None if millis is None else millis / 1000


def plan_refill(basis: Basis) -> tuple[list[dict[str, str]], list[list[str]]]:
    """What is sent of each entitlement, and the portions that are returned: they must be written down before that is sent."""
    planned: list[tuple[dict[str, str], Decimal]] = []
    for name in names_of(basis):
        found = planned_of(basis, name)
        if found is None:
            continue
        period, unspent = found
        planned.append(_entry_of(basis, name, period.start, unspent, basis.demands.get(name, Demand())))
        ends = end_of(period)
        if period.end is None or ends is None or ends - basis.time > EARLY:
            continue
        held = amount_at(own(own(basis.claims, "tranche"), "of"), name, period.end)
        if held or basis.uses.recent(name, basis.now):
            planned.append(_entry_of(basis, name, period.end, max(ZERO, left_of(basis, name, period.end)), Demand()))
    sent = planned[:_MAX_ENTRIES]
    given = [[one["entitlement"], one["periodStart"], amount_text(returned)] for one, returned in sent if returned > 0]
    return [entry for entry, _ in sent], given


def _entry_of(basis: Basis, name: str, period: str, unspent: Decimal, demand: Demand) -> tuple[dict[str, str], Decimal]:
    """What is sent of an entitlement in a period, and what of its units is returned."""
    want = exact_sum(demand.want, basis.uses.recent(name, basis.now))
    # Twice what is likely to be used, so that sizes do not swing.
    kept = min(unspent, exact_sum(want, want))
    # The service does not know yet what is spent and not sent: that comes out of what is kept, too.
    more = exact_sum(amount_at(basis.reserved, name, period), amount_at(basis.journal.open, name, period))
    entry = {
        "entitlement": name,
        "periodStart": period,
        "keep": amount_text(exact_sum(kept, more)),
        "need": amount_text(exact_sum(demand.need, more) if demand.need > 0 else ZERO),
        "want": amount_text(exact_sum(want, more) if want > 0 else ZERO),
    }
    return entry, difference(unspent, kept)
