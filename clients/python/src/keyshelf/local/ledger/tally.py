"""Amounts by entitlement and the start of a period, as the texts that an answer reads."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...offline.values import amount_of, amount_text, exact_sum, own

#: Entitlement, start of the period, amount.
Tally = dict[str, dict[str, str]]

ZERO = Decimal(0)


def decimal_in(value: Any) -> Decimal:
    """The decimal of an amount; 0 if it is none."""
    return amount_of(value) or ZERO


def amount_at(tally: Any, entitlement: str, period: str) -> Decimal:
    return decimal_in(own(own(tally, entitlement), period))


def withheld_at(local: Any, entitlement: str, period: str) -> Decimal:
    """What is neither spent nor can be: reserved, or given back."""
    parts = (amount_at(own(local, name), entitlement, period) for name in ("reserved", "returned"))
    return exact_sum(*parts)


def add_to(entitlement: str, period: str, amount: Decimal, *tallies: Tally) -> None:
    """Adds an amount, which may be negative, to each of the tallies."""
    for tally in tallies:
        periods = tally.setdefault(entitlement, {})
        total = exact_sum(amount_at(tally, entitlement, period), amount)
        if total:
            periods[period] = amount_text(total)
        else:
            periods.pop(period, None)


def portions_of(tally: Any) -> list[list[str]]:
    """Lists of entitlement, start of the period and amount."""
    found = []
    for entitlement, periods in (tally if isinstance(tally, dict) else {}).items():
        for period, amount in (periods if isinstance(periods, dict) else {}).items():
            found.append([entitlement, period, amount])
    return found
