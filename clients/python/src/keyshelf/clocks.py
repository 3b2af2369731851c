"""How old something is, by both clocks of a machine.

The monotonic one may stop while the machine sleeps, the other one may be set: neither is enough alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """What both clocks show, in seconds."""

    #: Since 1970.
    wall: float
    monotonic: float


def read_clocks() -> Reading:
    return Reading(time.time(), time.monotonic())


def elapsed(since: Reading, now: Reading) -> float:
    """The time since a reading, by the clock that shows more."""
    return max(0.0, now.wall - since.wall, now.monotonic - since.monotonic)

