"""How old something is, by both clocks of a machine.

The monotonic one may stop while the machine sleeps, the other one may be set: neither is enough alone.
"""

from __future__ import annotations

import math
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


def age(since: Reading, now: Reading) -> float:
    """The age of an answer.

    It is unlimited if the clock was set back to before the answer: it is not known then how long the machine slept, and
    setting the clock must not keep an answer alive.
    """
    return math.inf if now.wall < since.wall else elapsed(since, now)
