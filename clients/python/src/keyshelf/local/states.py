"""The states of a local client, and how long it waits. Pure: they follow from facts and the time, and nothing has to set them.

| State | When |
|---|---|
| `STARTING` | The first fetch is in flight, and nothing was stored |
| `LIVE` | A stream is open, a snapshot was confirmed after it opened, and a frame came within 30 s |
| `POLLING` | Not `LIVE`; the service confirmed the snapshot within twice `max-age` |
| `STALE` | It did so longer ago, or the snapshot was restored |
| `EXPIRED` | From the `exp` of the snapshot on |
| `NONE` | There is no usable snapshot |
| `REVOKED` | The service ended the access |
| `CLOSED` | `close` was called |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

STARTING, LIVE, POLLING, STALE = "STARTING", "LIVE", "POLLING", "STALE"
EXPIRED, NONE, REVOKED, CLOSED = "EXPIRED", "NONE", "REVOKED", "CLOSED"

#: How long a stream may be silent, in seconds. The service sends a comment every 15 s.
MAX_SILENCE = 30.0
#: How soon to ask again without a stream, unless the service says it.
DEFAULT_MAX_AGE = 30.0
#: How soon to ask again beside a stream, by up to 10 % more or less.
CONFIRM_EVERY = 300.0
#: How often a product whose access was ended asks whether it is back.
REVOKED_EVERY = 60.0
#: A frame is followed by a request after this time at most, so that products do not ask all at once.
MAX_DELAY_AFTER_FRAME = 0.2

_MAX_DELAY = 60.0
#: A longer `Retry-After` would keep a product from news for too long.
_MAX_RETRY_AFTER = 300.0


@dataclass(frozen=True)
class Facts:
    """What a state follows from. Times are monotonic, in seconds."""

    is_closed: bool = False
    is_revoked: bool = False
    #: Whether the first fetch is in flight.
    is_starting: bool = True
    #: When the snapshot in force expires, in seconds since 1970; `None` if there is none.
    exp: float | None = None
    #: When the service last confirmed the snapshot by a response.
    confirmed_at: float = -math.inf
    #: When the request for that response was sent; `None` if the snapshot was restored.
    requested_at: float | None = None
    max_age: float = DEFAULT_MAX_AGE
    #: `None` if no stream is open.
    opened_at: float | None = None
    #: When the stream sent anything.
    frame_at: float = -math.inf


def is_live(facts: Facts, now: float) -> bool:
    opened_at, requested_at = facts.opened_at, facts.requested_at
    is_confirmed = opened_at is not None and requested_at is not None and requested_at >= opened_at
    return facts.exp is not None and is_confirmed and now - facts.frame_at <= MAX_SILENCE


def state_at(facts: Facts, now: float, time: float) -> str:
    """The state at a time by both clocks. `now` is monotonic, `time` the service's, in seconds since 1970."""
    if facts.is_closed:
        return CLOSED
    if facts.is_revoked:
        return REVOKED
    if facts.exp is None:
        return STARTING if facts.is_starting else NONE
    if time >= facts.exp:
        return EXPIRED
    if is_live(facts, now):
        return LIVE
    is_fresh = facts.requested_at is not None and now <= facts.confirmed_at + 2 * facts.max_age
    return POLLING if is_fresh else STALE


def age_at(facts: Facts, now: float) -> float | None:
    """Seconds since the service confirmed the snapshot: by a response, or by any frame while the client is live."""
    if facts.exp is None or facts.is_revoked:
        return None
    since = max(facts.confirmed_at, facts.frame_at) if is_live(facts, now) else facts.confirmed_at
    return max(0.0, now - since)


def retry_delay(failures: int, first: float, random: float) -> float:
    """After the first failure, the named time; then twice as long each time, up to a minute and by up to 25 % more or less."""
    if failures <= 1:
        return first
    return min(_MAX_DELAY, first * 2 ** min(failures - 1, 32)) * (0.75 + random / 2)


def polite_delay(delay: float, retry_after: float | None) -> float:
    """A delay that also leaves the service alone for as long as it wants."""
    return max(delay, min(retry_after or 0.0, _MAX_RETRY_AFTER))


def spread(seconds: float, random: float) -> float:
    """By up to 10 % more or less, so that clients that were started together do not stay together."""
    return seconds * (0.9 + random / 5)
