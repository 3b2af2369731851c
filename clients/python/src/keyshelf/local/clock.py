"""The time of the service, as a product that runs knows it."""

from __future__ import annotations

import time
from typing import Callable

#: A smaller difference is that of the network, and of a header that has whole seconds.
_MAX_DIFFERENCE = 5.0


def monotonic() -> float:
    """Seconds that never go back. They include the sleep of the machine where the system counts it."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def wall_clock() -> float:
    """What the clock of the machine shows, in seconds since 1970."""
    return time.time()


class ServiceClock:
    """The clock at the last response plus monotonic time, so that setting the clock of the machine changes nothing."""

    def __init__(self, wall: Callable[[], float] | None = None, steady: Callable[[], float] | None = None) -> None:
        self.wall = wall or wall_clock
        self.monotonic = steady or monotonic
        self._has_heard = False
        #: Replaced as a whole: threads read it without a lock.
        self._known = (self.wall(), self.monotonic())

    def now(self) -> float:
        """Seconds since 1970."""
        time, at = self._known
        return time + (self.monotonic() - at)

    def reading(self, date: float | None) -> tuple[float, float]:
        """The time that a response shows, with the monotonic one. `date` is when the service sent it, by its own clock."""
        wall = self.wall()
        is_other = date is not None and abs(date - wall) > _MAX_DIFFERENCE
        return date if date is not None and is_other else wall, self.monotonic()

    def set(self, reading: tuple[float, float]) -> None:
        self._has_heard = True
        self._known = reading

    def at_least(self, time: float) -> None:
        """Until the service responds, it is no earlier than this: the latest time that was seen."""
        if not self._has_heard and time > self.now():
            self._known = (time, self.monotonic())
