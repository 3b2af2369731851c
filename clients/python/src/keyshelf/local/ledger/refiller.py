"""Sends what was spent, and keeps tranches filled: one request at a time.

What is given back is written down before the request, what came is stored before settled lines are dropped. A request whose
response is lost is sent again with the same lines.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from typing import Any, Collection, Generator, Mapping, Union

from ...offline.values import own
from ...problems import ConnectionFailed
from ..service import Ask, AskRefill, Failure, Refilled, Reply, Sent
from ..states import polite_delay, retry_delay
from .journal import new_journal, renewed
from .owner import Owner
from .queue import Call, Denial, Queue
from .requests import MAX_LINES, Basis, Demand, lines_of, plan_refill
from .spender import Spender
from .tally import ZERO, decimal_in
from .uses import Uses

_FIRST_RETRY = 1.0
#: After a refill that brought little of an entitlement, that is not wanted again for this time, in seconds.
_SHORT = 5.0
_OF_A_LEDGER = "RefillTranches.Ledger"
_CLOSED = "RefillTranches.LedgerClosed"
_FORKED = "RefillTranches.LedgerForked"


def new_source() -> str:
    return f"urn:keyshelf:ledger:{uuid.uuid4()}"


#: What came of a request: why it failed, or a word.
REFILLED, RENEWED, NOTHING = "refilled", "renewed", "nothing"
Result = Union[Failure, str]


@dataclass(frozen=True)
class _Request:
    """What is sent."""

    body: Mapping[str, Any]
    entries: list[dict[str, str]]
    demands: Mapping[str, Demand]
    present: Collection[Call]
    #: The position of the ledger when its lines are counted.
    lines: int
    head: str


def _list_in(body: Any, name: str) -> list[Any]:
    found = own(body, name)
    return found if isinstance(found, list) else []


def _text_in(body: Any, name: str) -> str | None:
    found = own(body, name)
    return found if isinstance(found, str) else None


class Refiller:
    """The thread of a client calls `refill`, any thread the other functions."""

    def __init__(self, owner: Owner, spender: Spender, queue: Queue, uses: Uses) -> None:
        self._owner = owner
        self._spender = spender
        self._queue = queue
        self._uses = uses
        self._short_until: dict[str, float] = {}
        #: Why the service could not be reached.
        self.failure: Failure | None = None
        self._failed_at = self._retry_at = -math.inf
        self._failures = 0

    def refill(self, is_last: bool) -> Generator[Ask, Reply, Result]:
        """Sends a request, unless there is nothing to send. The last one gives back all. Raises nothing."""
        try:
            result = yield from self._send(is_last)
        except Exception as error:
            result = Failure(error)
        self._note(result)
        return result

    @property
    def is_reachable(self) -> bool:
        """Whether the service responded to the last request, or to another one after it."""
        return self.failure is None or self._owner.look().facts.confirmed_at > self._failed_at

    @property
    def retry_at(self) -> float:
        """When the next request may be sent."""
        return -math.inf if self.failure is not None and self.is_reachable else self._retry_at

    def hurry(self) -> None:
        """A call could not be served: the service is tried soon."""
        after = None if self.failure is None else self.failure.retry_after
        self._retry_at = min(self._retry_at, self._failed_at + polite_delay(_FIRST_RETRY, after))

    def is_short(self, entitlement: str) -> bool:
        """Whether a refill of a wanted entitlement brought little: asking again at once would bring the same."""
        return self._owner.clock.monotonic() < self._short_until.get(entitlement, -math.inf)

    def basis(self, uses: Uses, demands: Mapping[str, Demand]) -> Basis | None:
        """What a refill is planned by now; `None` if nothing is known."""
        view, spender = self._owner.look(), self._spender
        claims = spender.claims(view)
        if claims is None or spender.journal is None:
            return None
        return Basis(claims, spender.local, spender.journal, spender.reserved, uses, demands, view.time, view.now)

    def _note(self, result: Result) -> None:
        if not isinstance(result, Failure):
            if result == REFILLED:
                self.failure, self._failures, self._retry_at = None, 0, -math.inf
            return
        now = self._owner.clock.monotonic()
        self._failures += 1
        delay = retry_delay(self._failures, _FIRST_RETRY, self._owner.random())
        self._retry_at = now + polite_delay(delay, result.retry_after)
        # A problem is of the request: the next call asks again, and fails with it.
        if result.is_away:
            self.failure, self._failed_at = result, now
        self._owner.emit("error", error=result.error)

    def _send(self, is_last: bool) -> Generator[Ask, Reply, Result]:
        owner = self._owner
        with owner.changed:
            request = self._planned(is_last)
            file = self._spender.file
        if request is None:
            return NOTHING
        if file is not None:
            file.sync()
        sent_at = owner.clock.monotonic()
        reply = yield AskRefill(owner.slug, request.body)
        # A closed ledger still says which lines it has counted: those must not count again in the next one.
        if isinstance(reply, Failure) and reply.code == _CLOSED and request.body["lines"] and request.entries:
            reply = yield AskRefill(owner.slug, {**request.body, "tranches": []})
        if isinstance(reply, Failure):
            return self._fork(reply.code) if reply.code.startswith(_OF_A_LEDGER) else reply
        if not isinstance(reply, Refilled):
            return Failure(ConnectionFailed("The response is not that to a refill"))
        return (yield from self._take(request, reply, sent_at))

    def _planned(self, is_last: bool) -> _Request | None:
        """Plans a request, and writes down what it gives back."""
        owner, spender = self._owner, self._spender
        now = owner.clock.monotonic()
        demands = {} if is_last else self._queue.demands()
        basis = self.basis(Uses(now) if is_last else self._uses, demands)
        if basis is None:
            return None
        journal = basis.journal
        # A retry sends the same lines: what the service may have counted is not mixed with what it has not.
        if not journal.lines:
            spender.write(lines_of(basis.claims, journal, basis.time))
        entries, given = plan_refill(basis)
        lines = journal.lines[:MAX_LINES]
        is_end = is_last and not any(journal.open.values()) and len(lines) == len(journal.lines)
        if not lines and not entries and not is_end:
            return None
        if given:
            spender.write([{"given": given}])
        body = {"source": journal.source, "lines": [line.text for line in lines], "close": is_end, "tranches": entries}
        number, head = (lines[-1].number, lines[-1].head) if lines else (journal.base.lines, journal.base.head)
        return _Request(body, entries, demands, self._queue.present(), number, head)

    def _take(self, request: _Request, reply: Refilled, sent_at: float) -> Generator[Ask, Reply, Result]:
        """Takes a response. What was spent is settled when its snapshot comes into force: no answer counts it twice."""
        owner, spender, body = self._owner, self._spender, reply.body
        token = _text_in(body, "snapshot") or ""
        results: list[Result] = []

        def taken(claims: Mapping[str, Any]) -> None:
            results.append(self._settle(request, own(claims, "tranche"), token))

        sent = Sent(token, _text_in(body, "etag"), owner.look().facts.max_age, reply.date)
        failure = yield from owner.receive(sent, sent_at, taken)
        if failure is not None:
            return failure
        result = results[0]
        if result == RENEWED:
            return self._fork(_FORKED)
        if isinstance(result, Failure):
            return result
        self._report(body, len(request.body["lines"]))
        if own(body, "closed") is True:
            self._renew()
        elif spender.file is not None and spender.file.is_large:
            self._rewrite()
        with owner.changed:
            self._note_short(body, request.entries)
            self._queue.serve(request.present, _denials_in(body, request.demands))
        return REFILLED

    def _settle(self, request: _Request, tranche: Any, token: str) -> Result:
        spender = self._spender
        if own(tranche, "source") != request.body["source"]:
            return Failure(ConnectionFailed("The snapshot has no tranche of the ledger"))
        # A copy of the ledger went on, and nothing was sent that shows it.
        if own(tranche, "lines") != request.lines or own(tranche, "head") != request.head:
            return RENEWED
        spender.write([{"settled": request.lines, "head": request.head, "token": token}])
        spender.set_tranche(tranche)
        return REFILLED

    def _report(self, body: Any, lines: int) -> None:
        """Reports what came, without amounts."""
        emit, entries = self._owner.emit, _list_in(body, "tranches")
        if entries:
            emit("refill", satisfied=all(own(entry, "satisfied") is True for entry in entries))
        if lines:
            emit("settled", lines=lines)
        for result in _list_in(body, "results"):
            if own(result, "status") == "rejected":
                emit("rejected", code=str(own(result, "code")))

    def _note_short(self, body: Any, entries: list[dict[str, str]]) -> None:
        now = self._owner.clock.monotonic()
        granted = _list_in(body, "tranches")
        for place, entry in enumerate(entries):
            unspent = decimal_in(own(granted[place], "unspent")) if place < len(granted) else ZERO
            if 2 * unspent < decimal_in(entry["want"]):
                self._short_until[entry["entitlement"]] = now + _SHORT

    def _rewrite(self) -> None:
        """Makes the file smaller, while other threads go on. A full disk must not end what works."""
        owner, spender = self._owner, self._spender
        file, journal = spender.file, spender.journal
        assert file is not None and journal is not None
        try:
            with owner.changed:
                kept = file.begin_rewrite(journal)
            file.rewrite(kept, owner.look().time)
        except OSError as error:
            owner.emit("error", error=error)

    def _fork(self, code: str) -> Result:
        """The ledger was continued elsewhere, or ended."""
        self._owner.emit("rejected", code=code)
        self._renew()
        return RENEWED

    def _renew(self) -> None:
        """A new ledger takes what is not settled."""
        spender = self._spender
        with self._owner.changed:
            # Nothing is spent of a ledger that ends.
            spender.set_tranche(None)
            if spender.journal is None:
                return
            spender.open(renewed(spender.journal, new_journal(new_source())), spender.file)
            if spender.file is not None:
                spender.file.replace(spender.journal, self._owner.look().time)


def _denials_in(body: Any, demands: Mapping[str, Demand]) -> dict[str, Denial]:
    """What the service did not grant of what the first call needs."""
    found: dict[str, Denial] = {}
    for entry in _list_in(body, "tranches"):
        name = str(own(entry, "entitlement"))
        need = demands.get(name, Demand()).need
        if own(entry, "satisfied") is False and need > 0:
            found[name] = Denial(need, str(own(entry, "reason")))
    return found
