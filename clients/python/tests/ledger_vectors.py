"""Plays the cases of `ledger.json`: a journal in, what may be spent and the next request out."""

from __future__ import annotations

from typing import Any

from keyshelf.amounts import instant_ms
from keyshelf.away import CLOSED
from keyshelf.local.ledger.journal import new_journal, renewed
from keyshelf.local.ledger.queue import Answering, Call, Queue
from keyshelf.local.ledger.requests import Basis, lines_of, plan_refill
from keyshelf.local.ledger.spender import Lack, Spender, Wish
from keyshelf.local.ledger.stored import journal_in, text_of_journal
from keyshelf.local.ledger.tally import Tally, add_to, decimal_in, portions_of
from keyshelf.local.ledger.uses import Uses
from keyshelf.local.snapshots import Snapshot
from keyshelf.local.states import Facts
from keyshelf.local.view import View
from keyshelf.offline import cover

NOW = 1_000.0


def _unexpected(*_: Any) -> Any:
    raise AssertionError("no call is answered")


def play(file: dict[str, Any], case: dict[str, Any]) -> Any:
    """Plays a case. Returns what is expected of it."""
    given, terms = case["given"], file["claims"]
    time = instant_ms(given.get("at", file["clock"])) / 1000
    found = (new_journal(file["source"]), False) if given["journal"] == "" else journal_in(given["journal"])
    if found is None:
        return "INVALID"
    journal, is_damaged = found
    if is_damaged:
        return {"isDamaged": True}
    if "renewed" in given:
        journal = renewed(journal, new_journal(given["renewed"]))
    uses = Uses(NOW - 60)
    for entitlement, amount, seconds_ago in given.get("used", []):
        uses.add(entitlement, decimal_in(amount), NOW - float(seconds_ago))
    spender = Spender(uses, lambda: NOW)
    tranche, base = given["tranche"], journal.base
    is_here = tranche is not None and [tranche["source"], tranche["lines"], tranche["head"]] == [
        journal.source, base.lines, base.head
    ]
    spender.set_tranche(tranche if is_here else None)
    spender.open(journal, None)
    for entitlement, period, amount in portions_of(given.get("reserved", {})):
        spender.reserve([{"entitlement": entitlement, "period": period, "amount": amount}])
    view = View("globex-prod", Facts(exp=time + 600), Snapshot.of("", None, terms), NOW, time, None)
    claims = spender.claims(view)
    assert claims is not None
    queue = _queue_of(given.get("waiting", []), claims, time, spender)
    unspent: Tally = {}
    for entitlement, period, _ in portions_of((claims.get("tranche") or {}).get("of")):
        if time < claims["tranche"]["until"]:
            add_to(entitlement, period, spender.unspent(entitlement, period), unspent)
    seen = {"position": [base.lines, base.head], "spent": portions_of(journal.spent), "unspent": portions_of(unspent)}
    if not journal.lines:
        spender.write(lines_of(claims, journal, time))
    basis = Basis(claims, spender.local, journal, spender.reserved, uses, queue.demands(), time, NOW)
    entries, returned = plan_refill(basis)
    if returned:
        spender.write([{"given": returned}])
    lines = [line.text for line in journal.lines]
    request = {"source": journal.source, "lines": lines, "close": False, "tranches": entries} if lines or entries else None
    return {"isDamaged": False, **seen, "given": returned, "request": request, "journal": text_of_journal(journal, time)}


def _queue_of(waiting: Any, claims: Any, time: float, spender: Spender) -> Queue:
    """The calls in line: each one lacks something."""
    queue = Queue(None, lambda: NOW, Answering(_unexpected, _unexpected, _unexpected))  # type: ignore[arg-type]
    without = {name: value for name, value in claims.items() if name != "tranche"}
    for checks in waiting:
        covered, needed = (cover(terms, checks, time, spender.local) for terms in (claims, without))
        if "refill" in covered and "refill" in needed:
            queue._calls.append(Call(Wish(checks, CLOSED), Lack(needed["refill"], covered["refill"])))
    return queue
