"""Whether a request is repeated, and after how long. Pure."""

from __future__ import annotations

import re

INITIAL_DELAY_MS = 200
#: A longer `Retry-After` is left to the caller.
MAX_DELAY_MS = 30_000

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_GATEWAY = (502, 503, 504)
_IN_FLIGHT = "IdempotencyKey.InFlight"


def is_away(status: int | None, code: str | None) -> bool:
    """Whether the service is away: no response, or one that says nothing about the request. `status` `None`: none."""
    return status is None or status == 429 or status >= 500 or code == _IN_FLIGHT


def delay_before_retry(
    *,
    attempt: int,
    retries: int,
    is_idempotent: bool,
    status: int | None,
    code: str | None,
    retry_after: str | None,
    random: float,
) -> float | None:
    """Milliseconds to wait before the next attempt, `None` if the request is not repeated.

    A 429 is answered before any work is done. Without a response, and behind 502, 503 and 504, the request may have been
    executed: it is repeated only if that has the same effect. The same key still in flight is the request before.
    """
    safely = status is None or status in _GATEWAY or code == _IN_FLIGHT
    if attempt > retries or not (status == 429 or (safely and is_idempotent)):
        return None
    if retry_after is not None and _SECONDS.fullmatch(retry_after.strip()):
        delay = float(retry_after) * 1000
        return delay if delay <= MAX_DELAY_MS else None
    return min(INITIAL_DELAY_MS * 2 ** (attempt - 1) * (0.5 + random), MAX_DELAY_MS)
