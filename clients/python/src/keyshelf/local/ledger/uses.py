"""How much of each entitlement was used lately."""

from __future__ import annotations

from decimal import Decimal

from ...offline.values import exact_sum
from .tally import ZERO

#: How far back use is an estimate of what comes, in seconds.
USE = 10.0

_BUCKET = 1.0


class _Use:
    def __init__(self, at: float) -> None:
        self.last_at = at
        #: When each begins, and what was used in it.
        self.buckets: list[tuple[float, Decimal]] = []


class Uses:
    """Times are monotonic, in seconds."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._uses: dict[str, _Use] = {}

    def add(self, entitlement: str, amount: Decimal, now: float) -> None:
        use = self._uses.get(entitlement)
        if use is None:
            use = self._uses[entitlement] = _Use(now)
        use.last_at = now
        buckets = use.buckets
        if buckets and now < buckets[-1][0] + _BUCKET:
            buckets[-1] = buckets[-1][0], exact_sum(buckets[-1][1], amount)
        else:
            use.buckets = [*(one for one in buckets if one[0] > now - USE), (now, amount)]

    def recent(self, entitlement: str, now: float) -> Decimal:
        """What was used in the last 10 seconds."""
        use = self._uses.get(entitlement)
        return ZERO if use is None else exact_sum(*(amount for since, amount in use.buckets if since > now - USE))

    def last_at(self, entitlement: str) -> float:
        """When an entitlement was last used; of one that was not, when the client began."""
        use = self._uses.get(entitlement)
        return self._began if use is None else use.last_at

    def names(self, now: float) -> list[str]:
        """Entitlements that were used in the last 10 seconds."""
        return [name for name, use in self._uses.items() if use.last_at > now - USE]
