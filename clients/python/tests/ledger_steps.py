"""Plays the cases of kind `ledger`: a client that spends and settles, and a service, step by step."""

from __future__ import annotations

import os
import tempfile
import threading
from decimal import Decimal
from typing import Any, Callable, Collection, Generator, Mapping

from keyshelf.amounts import text_of
from keyshelf.away import CLOSED
from keyshelf.local.clock import ServiceClock
from keyshelf.local.ledger.files import Flusher, LedgerFile
from keyshelf.local.ledger.journal import new_journal
from keyshelf.local.ledger.refiller import Refiller, new_source
from keyshelf.local.ledger.requests import Demand
from keyshelf.local.ledger.reserving import Held, Reserving
from keyshelf.local.ledger.spender import Lack, Spender, Wish
from keyshelf.local.ledger.stored import LedgerStore
from keyshelf.local.ledger.tally import decimal_in, portions_of
from keyshelf.local.ledger.uses import Uses
from keyshelf.local.service import AskRefill, Failure, Refilled, Sent
from keyshelf.local.snapshots import Snapshot
from keyshelf.local.states import Facts
from keyshelf.local.view import View
from keyshelf.offline.values import own
from keyshelf.problems import ConnectionFailed, ProblemError

from .tranches import Tranches

SLUG = "units"
STEPS = ("refill", "resend", "consume", "reserve", "commit", "crash", "copy-settles", "others")


class Killed(Exception):
    """The process ends before it stores a snapshot."""


class Demands:
    """No call waits; a step says what is needed."""

    def __init__(self) -> None:
        self.demand = Demand()

    def demands(self) -> dict[str, Demand]:
        return {SLUG: self.demand} if self.demand.need + self.demand.want > 0 else {}

    def present(self) -> Collection[Any]:
        return ()

    def serve(self, present: Any, denials: Any) -> None:
        pass


class Process:
    """A process of the client. It has the ledger of a product, without its thread."""

    slug = "globex-prod"

    def __init__(self, directory: str, terms: Mapping[str, Any], model: Tranches, tokens: list[Any]) -> None:
        now = model.now
        self.path = os.path.join(directory, "ledger-1.jsonl")
        self.clock = ServiceClock(now, now)
        self.changed = threading.Condition()
        self._model, self._terms, self._tokens = model, terms, tokens
        self.satisfied: bool | None = None
        self.rejected: str | None = None
        self.is_stored = True
        self.spender = Spender(Uses(now()), now)
        self.queue = Demands()
        # A step says all that is wanted, so nothing was used lately.
        self.refiller = Refiller(self, self.spender, self.queue, Uses(now()))  # type: ignore[arg-type]
        self.reserving = Reserving(self.spender)
        self.flusher = Flusher()
        self.store = LedgerStore(LedgerFile(self.path, self.flusher))
        journal = new_journal(new_source()) if self.store.found is None else self.store.found[0]
        tranche = own(self.verified(journal.token or ""), "tranche")
        is_here = own(tranche, "source") == journal.source and own(tranche, "lines") == journal.base.lines
        self.spender.set_tranche(tranche if is_here else None)
        self.spender.open(journal, self.store)

    # What a ledger needs

    def look(self) -> View:
        time = self.clock.now()
        return View(self.slug, Facts(exp=time + 600), Snapshot.of("", None, self._terms), self.clock.monotonic(), time, None)

    def random(self) -> float:
        return 0.0

    def emit(self, type: str, **fields: Any) -> None:
        if type == "rejected":
            self.rejected = fields["code"].replace("RefillTranches.", "")

    def receive(self, sent: Sent, sent_at: float, taken: Callable[[Any], None]) -> Generator[Any, Any, Failure | None]:
        if not self.is_stored:
            raise Killed
        yield from ()
        claims = self.verified(sent.token or "")
        assert claims is not None
        taken(claims)
        return None

    def verified(self, token: str) -> Any:
        return self._tokens[int(token) - 1] if token else None

    # What a step does

    def refill(self, is_lost: bool, is_stored: bool, need: str | None, want: str | None) -> dict[str, Any]:
        """The figures of a step include what is spent, and in no line yet."""
        journal = self.spender.journal
        assert journal is not None
        more = _total(journal.open) if journal.lines else Decimal(0)
        self.queue.demand = Demand(*(max(Decimal(0), Decimal(amount or "0") - more) for amount in (need, want)))
        self.is_stored, self.satisfied, self.rejected = is_stored, None, None
        work = self.refiller.refill(False)
        try:
            ask = next(work)
            while True:
                ask = work.send(self._reply(ask, is_lost))
        except StopIteration:
            pass
        result = {"satisfied": self.satisfied, "rejected": self.rejected}
        return {name: value for name, value in result.items() if value is not None}

    def _reply(self, ask: AskRefill, is_lost: bool) -> Refilled | Failure:
        code, body, tranche = self._model.refill(dict(ask.body))
        if is_lost:
            return Failure(ConnectionFailed("The response was lost"))
        if code is not None:
            return Failure(ProblemError(409, f'{{"code":"{code}"}}', "application/problem+json", "/api"), is_away=False)
        self.satisfied = all(one["satisfied"] for one in body["tranches"])
        self._tokens.append({**self._terms, "tranche": tranche})
        return Refilled({**body, "snapshot": str(len(self._tokens))})

    def spend(self, amount: str, held: Held | None = None) -> bool:
        hold = None if held is None else lambda amounts, at: self.reserving.hold(held, amounts, at)
        result = self.spender.attempt(Wish([{"entitlement": SLUG, "requested": amount}], CLOSED, hold=hold), self.look())
        return not isinstance(result, Lack) and result.allowed

    def figures(self) -> dict[str, str]:
        tranche = own(self.spender.claims(self.look()), "tranche")
        unspent = [self.spender.unspent(name, period) for name, period, _ in portions_of(own(tranche, "of"))]
        is_open = tranche is not None and self.clock.now() < tranche["until"]
        assert self.spender.journal is not None
        total = sum(unspent, Decimal(0)) if is_open else Decimal(0)
        return {"unspent": text_of(total), "unsettled": text_of(_total(self.spender.journal.spent))}

    def end(self) -> None:
        self.store.close()
        self.flusher.close()


def _total(tally: Any) -> Decimal:
    return sum((decimal_in(amount) for _, _, amount in portions_of(tally)), Decimal(0))


class Play:
    """One case."""

    def __init__(self, base: Mapping[str, Any], limit: str, directory: str) -> None:
        self.at, self.directory = 0.0, directory
        begun = base["license"]["start"]
        self.model = Tranches({SLUG: limit}, lambda: float(base["iat"]) + self.at, begun)
        number = {"type": "NUMBER", "limit": limit, "overagePercent": "0", "aggregation": "SUM"}
        period = {"slug": SLUG, "used": "0", "usedFrom": begun, "period": "LIFETIME"}
        self.terms = {**base, "entitlements": [{**number, **period}]}
        self.tokens: list[Any] = []
        self.reservations: dict[str, Held] = {}
        self.spent = Decimal(0)
        self.last: dict[str, Any] = {}
        self.process = self._start()

    def _start(self) -> Process:
        return Process(self.directory, self.terms, self.model, self.tokens)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        self.at = float(step["at"])
        result = self._played(step)
        service = {"usage": text_of(self.model.used[SLUG]), "held": text_of(self.model.held(SLUG))}
        return {"do": step["do"], **result, **self.process.figures(), "service": service}

    def _played(self, step: dict[str, Any]) -> dict[str, Any]:
        process, do, amount = self.process, step["do"], step.get("amount", "0")
        is_lost, is_stored = step.get("response") == "lost", step.get("stored") is not False
        if do == "refill":
            # Lines without a response are sent again first.
            if process.spender.journal is not None and process.spender.journal.lines:
                process.refill(False, True, None, None)
            self.last = step
        if do in ("refill", "resend"):
            return process.refill(is_lost, is_stored, self.last.get("need"), self.last.get("want"))
        if do == "consume":
            allowed = process.spend(amount)
            self.spent += Decimal(amount) if allowed else 0
            return {"allowed": allowed}
        if do == "reserve":
            held = self.reservations[step["id"]] = Held(process.clock.monotonic() + 60)
            return {"allowed": process.spend(amount, held)}
        if do == "commit":
            is_open = process.reserving.commit(self.reservations[step["id"]], Decimal(amount), process.clock.monotonic())
            self.spent += Decimal(amount) if is_open else 0
            return {"committed": is_open}
        if do == "crash":
            process.end()
            if step.get("loses") == "ledger":
                os.remove(process.path)
            self.process = self._start()
            return {}
        if do == "copy-settles":
            assert process.spender.journal is not None
            self.model.settle_copy(process.spender.journal.source, SLUG, amount)
            self.spent += Decimal(amount)
            return {}
        if do == "others":
            used = min(Decimal(amount), self.model.free(SLUG))
            self.model.used[SLUG] += used
            return {"consumed": text_of(used)}
        raise ValueError(f"the step {do} is unknown")


def play_steps(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Plays the steps of a case. Returns what is expected of it."""
    with tempfile.TemporaryDirectory() as directory:
        play = Play(base, given["limit"], directory)
        try:
            steps = [play.step(step) for step in given["steps"]]
        finally:
            play.process.end()
        return {"steps": steps, "spentInAll": text_of(play.spent)}
