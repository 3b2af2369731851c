"""Refills when it is due: while calls wait, at once; otherwise in the background."""

from __future__ import annotations

import math
from typing import Callable, Generator

from ...checks import CheckResult
from ...offline.values import millis_of
from ..service import Ask, Failure, Reply
from ..states import LIVE, POLLING
from .due import due_at
from .owner import Owner
from .queue import Queue
from .refiller import NOTHING, REFILLED, RENEWED, Refiller
from .requests import BOUNDARY, planned_of
from .spender import Amounts, Lack, Spender, Wish
from .uses import Uses

#: After a refill that could not help, in seconds.
_PAUSE = 0.5
#: How often a product that consumes all the time looks whether little is left, in seconds.
_LOOK = 0.02

#: Answers a call that cannot be served.
GoOn = Callable[[Wish, Amounts], CheckResult]


class Settler:
    """The thread of a client calls `act` and `settle_all`, any thread the other functions, with the lock."""

    def __init__(self, owner: Owner, spender: Spender, queue: Queue, uses: Uses, refiller: Refiller, go_on: GoOn) -> None:
        self._owner = owner
        self._spender = spender
        self._queue = queue
        self._uses = uses
        self._refiller = refiller
        self._go_on = go_on
        self._requested_at = self._paused_until = self._looked_at = -math.inf
        #: When the first unit was spent that is not settled.
        self._unsettled_since = math.inf

    @property
    def is_settled(self) -> bool:
        journal = self._spender.journal
        return journal is None or journal.is_settled

    def due(self) -> float:
        """When the next request is due, by the monotonic clock."""
        basis = self._refiller.basis(self._uses, self._queue.demands())
        if basis is None:
            return math.inf
        if self._unsettled_since == math.inf and not self.is_settled:
            self._unsettled_since = basis.now
        is_waiting, refiller = len(self._queue) > 0, self._refiller
        retry_at = -math.inf if is_waiting and refiller.is_reachable else refiller.retry_at
        due = basis.now if is_waiting else due_at(basis, self._requested_at, self._unsettled_since, refiller.is_short)
        return max(due, self._paused_until, retry_at)

    def spent(self) -> None:
        """After something was spent: the thread may have something to do earlier than it knows."""
        now = self._owner.clock.monotonic()
        if self._unsettled_since == math.inf or now >= self._looked_at + _LOOK:
            self._looked_at = now
            self._owner.wake_at(self.due())

    def pause(self, until: float) -> None:
        self._paused_until = until

    def act(self) -> Generator[Ask, Reply, None]:
        """Refills if it is due."""
        with self._owner.changed:
            if self.due() > self._owner.clock.monotonic():
                return
        sent_at = self._requested_at = self._owner.clock.monotonic()
        has_helped = yield from self._refill()
        with self._owner.changed:
            if has_helped:
                # What was spent since the request is not settled.
                self._unsettled_since = math.inf if self.is_settled else sent_at
            elif has_helped is False:
                self.pause(self._owner.clock.monotonic() + _PAUSE)

    def settle_all(self) -> Generator[Ask, Reply, None]:
        """Sends all that is not settled, and gives back what is left."""
        journal = self._spender.journal
        if journal is None or (journal.token is None and self.is_settled):
            return
        result = yield from self._refiller.refill(True)
        while result in (REFILLED, RENEWED) and not self.is_settled:
            result = yield from self._refiller.refill(True)

    def _refill(self) -> Generator[Ask, Reply, bool | None]:
        """Refills, and answers the calls that it cannot help. Returns whether it did; `None` if the service is away."""
        owner, queue = self._owner, self._queue
        was_confirmed = self._is_confirmed
        result = yield from self._refiller.refill(False)
        problem = result if isinstance(result, Failure) and not result.is_away else None
        if problem is not None and (problem.is_ending or not was_confirmed):
            yield from owner.refetch()
        with owner.changed:
            is_away = isinstance(result, Failure) and result.is_away
            # After a start the clock may be wrong, and name a period that the service rejects.
            is_of_clock = problem is not None and not was_confirmed and not owner.look().facts.is_revoked
            if is_away or (is_of_clock and not self._is_confirmed):
                queue.end(self._go_on)
            elif problem is not None and not is_of_clock and not self._is_at_boundary():
                error = problem.error
                queue.end(lambda wish, _: self._rejected(wish, error))
            else:
                queue.serve((), {})
        if is_away:
            return None
        return problem is None and result != NOTHING

    def _rejected(self, wish: Wish, error: Exception) -> CheckResult:
        """Answers a call whose refill was rejected: that ended the access, or it is an error of the call."""
        view = self._owner.look()
        result = self._spender.attempt(wish, view) if view.facts.is_revoked else None
        if result is None or isinstance(result, Lack):
            raise error.with_traceback(None)
        return result

    @property
    def _is_confirmed(self) -> bool:
        """Whether the service has confirmed the time by which a request names its periods."""
        return self._owner.look().state in (LIVE, POLLING)

    def _is_at_boundary(self) -> bool:
        """Whether a request was rejected because a period ends: at the service it has ended, and here it ends, or just has."""
        basis = self._refiller.basis(self._uses, self._queue.demands())
        if basis is None:
            return False
        found = [planned_of(basis, name) for name in basis.demands]
        bounds = [bound for one in found if one is not None for bound in (one.period.start, one.period.end)]
        times = [millis / 1000 for bound in bounds if (millis := millis_of(bound)) is not None]
        return any(abs(time - basis.time) < BOUNDARY for time in times)
