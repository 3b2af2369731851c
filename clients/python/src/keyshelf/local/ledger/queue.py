"""Calls that wait for a refill, in their order."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Callable, Collection, Mapping, NamedTuple

from ...checks import CheckResult
from ...offline.values import exact_sum
from .requests import Demand
from .spender import Amounts, Attempt, Lack, Wish
from .tally import decimal_in


class Denial(NamedTuple):
    """What the service did not grant: as much of an entitlement, or more, is denied."""

    need: Decimal
    reason: str


class Answering(NamedTuple):
    """How calls are answered."""

    attempt: Callable[[Wish], Attempt]
    #: Answers a call whose time is over.
    late: Callable[[Wish, Amounts], CheckResult]
    deny: Callable[[Wish, str, str], CheckResult]


class Call:
    def __init__(self, wish: Wish, lack: Lack) -> None:
        self.wish = wish
        self.lack = lack
        self.result: CheckResult | None = None
        self.error: Exception | None = None

    @property
    def is_served(self) -> bool:
        return self.result is not None or self.error is not None


class Queue:
    """Each thread waits for its own call. All functions need the lock of `changed`."""

    def __init__(self, changed: threading.Condition, now: Callable[[], float], answering: Answering) -> None:
        self._changed = changed
        self._now = now
        self._answering = answering
        self._calls: list[Call] = []
        #: How many calls a request is for: the first, and twice as many after each one that was granted. Where the limit is
        #: near, units come by needs alone, so a long line would otherwise wait for a request a call.
        self._batch = 1

    def __len__(self) -> int:
        return len(self._calls)

    def wait(self, wish: Wish, lack: Lack, seconds: float) -> CheckResult:
        """Waits until a call is served, or until its time is over."""
        call = Call(wish, lack)
        ends = self._now() + seconds
        self._calls.append(call)
        try:
            while not call.is_served:
                left = ends - self._now()
                if left > 0:
                    self._changed.wait(left)
                else:
                    self._settle(call, lambda one: self._answering.late(one.wish, one.lack.lacks))
        finally:
            # An interrupted thread waits for nothing.
            self._remove(call)
        if call.error is not None:
            raise call.error.with_traceback(None)
        assert call.result is not None
        return call.result

    def demands(self) -> dict[str, Demand]:
        """What the first calls need, and all of them want."""
        demands: dict[str, Demand] = {}
        for place, call in enumerate(self._calls):
            for one in call.lack.needs:
                need, want = demands.get(one["entitlement"], Demand())
                amount = decimal_in(one["need"])
                more = exact_sum(need, amount) if place < self._batch else need
                demands[one["entitlement"]] = Demand(more, exact_sum(want, amount))
        return demands

    def present(self) -> Collection[Call]:
        """The calls of now: later ones were not part of a request."""
        return set(self._calls)

    def serve(self, present: Collection[Call], denials: Mapping[str, Denial]) -> None:
        """Serves the calls that can be served; denies those of `present` that need what was denied."""
        self._batch = 1 if denials else 2 * self._batch
        for call in list(self._calls):
            self._settle(call, lambda one: self._served(one, present, denials))
        if not self._calls:
            self._batch = 1

    def end(self, answer: Callable[[Wish, Amounts], CheckResult]) -> None:
        """Ends all calls by an answer."""
        for call in list(self._calls):
            self._settle(call, lambda one: answer(one.wish, one.lack.lacks))

    def _served(self, call: Call, present: Collection[Call], denials: Mapping[str, Denial]) -> CheckResult | None:
        result = self._answering.attempt(call.wish)
        if not isinstance(result, Lack):
            return result
        call.lack = result
        for one in result.needs:
            denial = denials.get(one["entitlement"])
            if denial is not None and decimal_in(one["need"]) >= denial.need and call in present:
                return self._answering.deny(call.wish, one["entitlement"], denial.reason)
        return None

    def _settle(self, call: Call, answer: Callable[[Call], CheckResult | None]) -> None:
        try:
            call.result = answer(call)
        except Exception as error:
            call.error = error
        if call.is_served:
            self._remove(call)
            self._changed.notify_all()

    def _remove(self, call: Call) -> None:
        if call in self._calls:
            self._calls.remove(call)
