"""Whether a request is repeated, and after how long."""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone

from .responses import is_foreign

INITIAL_DELAY_MS = 200
#: A longer `Retry-After` is left to the caller.
MAX_DELAY_MS = 30_000

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
#: The three forms of RFC 9110, section 5.6.7. A recipient must read all of them.
_DATES = (
    re.compile(rf"[A-Z][a-z]{{2}}, (?P<day>[0-9]{{2}}) (?P<month>[A-Z][a-z]{{2}}) (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(rf"[A-Z][a-z]{{5,8}}, (?P<day>[0-9]{{2}})-(?P<month>[A-Z][a-z]{{2}})-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(rf"[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
_GATEWAY = (502, 503, 504)
_IN_FLIGHT = "IdempotencyKey.InFlight"


def is_away(status: int | None, code: str | None) -> bool:
    """Whether the service is away: no response, or one that says nothing about the request. `status` `None`: none."""
    is_page = code is not None and is_foreign(code)
    return status is None or status == 429 or status >= 500 or code == _IN_FLIGHT or is_page


def delay_before_retry(
    *,
    attempt: int,
    retries: int,
    is_idempotent: bool,
    status: int | None,
    code: str | None,
    retry_after: str | None,
    random: float,
    now: float,
) -> float | None:
    """Milliseconds to wait before the next attempt, `None` if the request is not repeated.

    A 429 is answered before any work is done. Without a response, and behind 502, 503 and 504, the request may have been
    executed: it is repeated only if that has the same effect. The same key still in flight is the request before.
    `now`: when the response was sent, in seconds since 1970. A date in `retry_after` counts from then.
    """
    safely = status is None or status in _GATEWAY or code == _IN_FLIGHT
    if attempt > retries or not (status == 429 or (safely and is_idempotent)):
        return None
    requested = None if retry_after is None else requested_delay(retry_after.strip(), now)
    if requested is not None:
        return requested if requested <= MAX_DELAY_MS else None
    return min(INITIAL_DELAY_MS * 2 ** (attempt - 1) * (0.5 + random), MAX_DELAY_MS)


def http_date(text: str) -> float | None:
    """Seconds since 1970 of a date in a header, `None` if it is none."""
    found = next((match for form in _DATES if (match := form.fullmatch(text))), None)
    if found is None or found["month"] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(found[name]) for name in ("day", "year", "hour", "minute", "second"))
    # Two digits are a year from 1970 on, as other software reads them.
    if len(found["year"]) == 2:
        year += 2000 if year < 70 else 1900
    try:
        # The last second may be a leap second.
        date = datetime(year, _MONTHS.index(found["month"]) + 1, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
    except ValueError:
        return None
    return None if second > 60 else date.timestamp() + (second == 60)


def requested_delay(text: str, now: float | None = None) -> float | None:
    """Milliseconds that a `Retry-After` requests, `None` if it says nothing, or a date that has passed.

    `now`: when the response was sent. By default the clock of this machine.
    """
    if _SECONDS.fullmatch(text):
        return float(text) * 1000
    date = http_date(text)
    now = time.time() if now is None else now
    return None if date is None or date <= now else (date - now) * 1000
