"""The ledger of a local client: it spends from tranches without a request, and settles in the background."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Callable, Generator, Mapping, Sequence

from ...amounts import instant_text
from ...away import FAIL, WhenAway
from ...checks import CheckResult
from ...offline.answers import answer, answer_in_order
from ...offline.values import own
from ...problems import ConnectionFailed
from ..answers import answers_of
from ..service import Ask, Reply
from .journal import Journal, new_journal, renewed
from .owner import Owner
from .queue import Answering, Queue
from .refiller import Refiller, new_source
from .reserving import Held, Reserving
from .settler import Settler
from .spender import Amounts, Attempt, Lack, Spender, Wish
from .stored import LedgerStore
from .tally import decimal_in, portions_of
from .uses import Uses

#: How long a consumption waits for a refill, in seconds.
REFILL_TIMEOUT = 2.0
#: How soon a file that cannot be opened is tried again in the background, in seconds.
_OPEN_AGAIN = 60.0

#: Opens what is stored of the instance of an id; `None` if a ledger is in memory.
OpenLedger = Callable[[str], "LedgerStore | None"]


@dataclass(frozen=True)
class HeldTranche:
    """What may be consumed without a request."""

    entitlement: str
    period_start: str
    unspent: Decimal
    #: Until when, in ISO 8601.
    spend_until: str


@dataclass(frozen=True)
class Unsettled:
    """What was consumed, and the service has not counted yet."""

    entitlement: str
    period_start: str
    amount: Decimal


class Ledger:
    """Any thread may consume. One thread sends requests: it calls `act`, and at the end `settle_all`."""

    def __init__(self, owner: Owner, open_ledger: OpenLedger, flush_always: bool = False) -> None:
        self._owner = owner
        self._open_ledger = open_ledger
        self._flush_always = flush_always
        self._is_closed = self._is_abandoned = False
        self._next_open = -math.inf
        clock = owner.clock
        self._uses = Uses(clock.monotonic())
        self._spender = Spender(self._uses, clock.monotonic)
        self._queue = Queue(owner.changed, clock.monotonic, Answering(self._attempt, self._go_on, self._deny))
        self._refiller = Refiller(owner, self._spender, self._queue, self._uses)
        self._settler = Settler(owner, self._spender, self._queue, self._uses, self._refiller, self._go_on)
        self._reserving = Reserving(self._spender)

    # For any thread

    @property
    def is_open(self) -> bool:
        return self._spender.journal is not None

    def check(self, items: Sequence[Mapping[str, Any]], policy: WhenAway) -> CheckResult:
        """Answers checks by the snapshot and what was spent."""
        return self._answers(items, policy, answer)

    def consume(self, wish: Wish, wait: float) -> CheckResult:
        """Spends from tranches, and waits for a refill at most for a time if they do not pay."""
        with self._owner.changed:
            if self._is_closed:
                raise RuntimeError("The client is closed")
            self._open()
            file = self._spender.file
            result = self._attempt(wish)
            if not isinstance(result, Lack):
                self._settler.spent()
            elif wait <= 0 or not self._refiller.is_reachable:
                result = self._go_on(wish, result.lacks)
                self._refiller.hurry()
                self._owner.wake_at(self._settler.due())
            else:
                self._owner.wake_at(-math.inf)
                result = self._queue.wait(wish, result, wait)
        if self._flush_always and file is not None and result.allowed:
            file.sync()
        return result

    def reserve(self, wish: Wish, ttl: float, wait: float) -> tuple[CheckResult, Held]:
        """Sets aside what a wish needs, for a time in seconds."""
        held = Held(self._owner.clock.monotonic() + ttl)

        def hold(amounts: Amounts, at: int) -> None:
            held.ends = self._owner.clock.monotonic() + ttl
            self._reserving.hold(held, amounts, at)

        result = self.consume(replace(wish, hold=hold), wait)
        if result.allowed and not held.is_held:
            # Allowed by a policy: there is nothing to set aside, and nothing that a commit could spend.
            with self._owner.changed:
                hold((), 0)
        return result, held

    def commit(self, held: Held, used: Decimal | None) -> bool:
        """Spends what was used. Returns whether the reservation was open."""
        # A process that has forked cannot wait for threads of the other one.
        if self._is_abandoned:
            return False
        with self._owner.changed:
            file = self._spender.file
            is_open = self._reserving.commit(held, used, self._owner.clock.monotonic())
            self._settler.spent()
        if self._flush_always and file is not None:
            file.sync()
        return is_open

    def release(self, held: Held) -> bool:
        """Frees what is reserved. Returns whether it was."""
        if self._is_abandoned:
            return False
        with self._owner.changed:
            is_open = self._reserving.is_open(held, self._owner.clock.monotonic())
            self._reserving.release(held)
            self._settler.spent()
            return is_open

    def tranches(self) -> tuple[HeldTranche, ...]:
        """What may be consumed without a request."""
        with self._owner.changed:
            tranche = own(self._spender.claims(self._owner.look()), "tranche")
            if not self.is_open or tranche is None:
                return ()
            until = instant_text(int(tranche["until"] * 1000))
            found = portions_of(own(tranche, "of"))
            return tuple(HeldTranche(name, start, self._spender.unspent(name, start), until) for name, start, _ in found)

    def unsettled(self) -> tuple[Unsettled, ...]:
        """What was consumed, and the service has not counted yet."""
        with self._owner.changed:
            journal = self._spender.journal
            found = () if journal is None else portions_of(journal.spent)
            return tuple(Unsettled(name, start, decimal_in(amount)) for name, start, amount in found)

    def end(self) -> None:
        """Answers the calls that wait, and ends reservations. Nothing is spent from now on."""
        with self._owner.changed:
            self._is_closed = True
            self._queue.end(self._go_on)
            self._reserving.end_until(math.inf)

    def close(self) -> None:
        """Closes the file. No thread sends requests any more, or it took too long."""
        self.end()
        with self._owner.changed:
            if self._spender.file is not None:
                self._spender.file.close()

    def abandon(self) -> None:
        """This process has forked: the ledger is the other one's."""
        self._is_closed = self._is_abandoned = True
        if self._spender.file is not None:
            self._spender.file.abandon()

    # For the thread that sends requests

    def due(self) -> float:
        """When there is something to do next, by the monotonic clock."""
        with self._owner.changed:
            if self._is_closed:
                return math.inf
            return min(self._settler.due(), self._reserving.due())

    def act(self) -> Generator[Ask, Reply, None]:
        """Does what is due."""
        now = self._owner.clock.monotonic()
        with self._owner.changed:
            if self._is_closed:
                return
            if now >= self._next_open:
                self._open_stored(now)
            self._reserving.end_until(now)
        yield from self._settler.act()

    def pause(self, until: float) -> None:
        """Something unexpected happened: nothing is sent before a monotonic time."""
        with self._owner.changed:
            self._settler.pause(until)

    def settle_all(self) -> Generator[Ask, Reply, None]:
        """Sends all that is not settled, and gives back what is left."""
        return self._settler.settle_all()

    # Answers

    def _answers(self, items: Sequence[Mapping[str, Any]], policy: WhenAway, decide: Any) -> CheckResult:
        view = self._owner.look()
        return answers_of(view, items, policy, self._spender.claims(view), self._spender.local, decide)

    def _attempt(self, wish: Wish) -> Attempt:
        return self._spender.attempt(wish, self._owner.look())

    def _go_on(self, wish: Wish, lacks: Amounts) -> CheckResult:
        """Answers a call that no refill can serve, or that one did not."""
        if wish.policy == FAIL:
            failure = self._refiller.failure
            raise ConnectionFailed("The service is away") if failure is None else failure.error.with_traceback(None)
        return self._spender.go_on(wish, self._owner.look(), lacks)

    def _deny(self, wish: Wish, entitlement: str, reason: str) -> CheckResult:
        """The service did not grant what a call needs."""
        known = self._answers(wish.items, wish.policy, answer_in_order)
        of_it = [one for one in known.checks if one.entitlement == entitlement]
        # Of several checks, those that fit are allowed. What is known may be older than the denial: then none is.
        is_old = all(one.allowed for one in of_it)
        checks = []
        for one in known.checks:
            is_denied = one.entitlement == entitlement and (is_old or not one.allowed)
            said = replace(one, allowed=False, reason=reason) if is_denied else one
            checks.append(replace(said, source="service"))
        return replace(known, checks=tuple(checks))

    # The file

    def _open_stored(self, now: float) -> None:
        """Opens what the process before has left: it is settled, also if this one consumes nothing."""
        if self._owner.look().snapshot is None:
            return
        try:
            self._open(is_needed=False)
            self._next_open = math.inf
        except OSError as error:
            self._next_open = now + _OPEN_AGAIN
            self._owner.emit("error", error=error)

    def _open(self, is_needed: bool = True) -> None:
        """Opens the ledger when the instance is known. A file that cannot be used fails the calls, each time."""
        id = self._owner.instance_id()
        if self._spender.journal is not None or id is None or self._owner.look().snapshot is None:
            return
        file = self._open_ledger(id)
        if not is_needed and (file is None or file.found is None):
            return
        try:
            journal, tranche = self._read(file)
        except BaseException:
            if file is not None:
                file.close()
            raise
        self._spender.set_tranche(tranche)
        self._spender.open(journal, file)

    def _read(self, file: LedgerStore | None) -> tuple[Journal, Mapping[str, Any] | None]:
        """What is stored, and what may be spent of it."""
        if file is None or file.found is None:
            return new_journal(new_source()), None
        stored, is_damaged = file.found
        journal = renewed(stored, new_journal(new_source())) if is_damaged else stored
        # Nothing is spent before: a crash loses a record after a line that was cut off, or in a file that is not renamed yet.
        file.replace(journal, self._owner.look().time)
        claims = None if journal.token is None else self._owner.verified(journal.token)
        tranche, base = own(claims, "tranche"), journal.base
        is_here = [own(tranche, name) for name in ("source", "lines", "head")] == [journal.source, base.lines, base.head]
        return journal, tranche if is_here else None
