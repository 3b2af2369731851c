"""Reservations in memory, for work whose cost is known afterwards. A crash ends them."""

from __future__ import annotations

import math
from decimal import Decimal

from ...offline.values import amount_text
from .spender import Amounts, Holdings
from .tally import decimal_in


class Held:
    """What is set aside until a time."""

    def __init__(self, ends: float) -> None:
        self.ends = ends
        self.is_held = False
        self.amounts: Amounts = ()
        #: When it was set aside, in milliseconds since 1970: it counts in the period of that time.
        self.at = 0


class Reserving:
    """Times are monotonic. All functions need the lock of the ledger."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._open: list[Held] = []

    def hold(self, held: Held, amounts: Amounts, at: int) -> None:
        held.amounts, held.at, held.is_held = amounts, at, True
        self._holdings.reserve(amounts)
        self._open.append(held)

    def commit(self, held: Held, used: Decimal | None, now: float) -> bool:
        """Spends what was used, by default all, and frees the rest. Returns whether the reservation was open."""
        for one in held.amounts:
            if used is not None and not 0 <= used <= decimal_in(one["amount"]):
                raise ValueError("A commit is 0 or more, and at most what is reserved")
        if not self.is_open(held, now):
            return False
        amounts = [(one, one["amount"] if used is None else amount_text(used)) for one in held.amounts]
        spend = [[one["entitlement"], amount, one["period"]] for one, amount in amounts if decimal_in(amount)]
        # Written before the units are free, and counted in the period in which they were reserved.
        if spend:
            self._holdings.write([{"spend": spend, "at": held.at}])
        return self.release(held)

    def release(self, held: Held) -> bool:
        """Frees what is set aside. Returns whether it was."""
        if held not in self._open:
            return False
        self._open.remove(held)
        self._holdings.reserve(held.amounts, is_freed=True)
        return True

    def is_open(self, held: Held, now: float) -> bool:
        return held in self._open and now < held.ends

    def due(self) -> float:
        """When the next one ends."""
        return min((held.ends for held in self._open), default=math.inf)

    def end_until(self, now: float) -> None:
        """Ends those whose time is over."""
        for held in [one for one in self._open if one.ends <= now]:
            self.release(held)
