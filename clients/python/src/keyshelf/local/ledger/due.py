"""When a refill is due."""

from __future__ import annotations

import math
from typing import Callable

from ...offline.values import own
from .requests import EARLY, Basis, end_of, left_of, names_of, planned_of
from .tally import ZERO, decimal_in, portions_of
from .uses import USE

#: How long a unit that was spent is not settled, in seconds.
SETTLE = 5.0
#: Without a call that waits, requests are not more frequent.
_SPACING = 1.0
#: What is reserved is renewed before it can be spent no longer.
_RENEW = 600.0


def due_at(basis: Basis, requested_at: float, unsettled_since: float, is_short: Callable[[str], bool]) -> float:
    """When the next request is due if no call waits, by the monotonic clock.

    `unsettled_since` is when the first unit was spent that is not settled. `is_short`: asking for an entitlement again at once
    would bring little.
    """
    times = [unsettled_since + SETTLE, *(_due_of(basis, name, is_short(name)) for name in names_of(basis))]
    until = own(own(basis.claims, "tranche"), "until")
    if until is not None and any(decimal_in(amount) for _, _, amount in portions_of(basis.reserved)):
        times.append(basis.now + float(until) - basis.time - _RENEW)
    return max(requested_at + _SPACING, min(times))


def _due_of(basis: Basis, name: str, is_short: bool) -> float:
    """When what an entitlement holds must change."""
    found = planned_of(basis, name)
    if found is None:
        return math.inf
    period, unspent = found
    now, recent = basis.now, basis.uses.recent(name, basis.now)
    times = [math.inf]
    if not is_short and 2 * unspent < recent:
        times.append(now)
    ends = end_of(period)
    following = ZERO if period.end is None else left_of(basis, name, period.end)
    if unspent > 0 or following > 0:
        times.append(basis.uses.last_at(name) + USE)
    if ends is not None and recent > 0 and not is_short and 2 * following < recent:
        times.append(now + ends - basis.time - EARLY)
    return min(times)
