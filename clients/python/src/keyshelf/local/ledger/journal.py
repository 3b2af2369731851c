"""The journal of a ledger: what a product spent, and what it sent. A line is a record of JSON; the first one names the format.

| Record | Meaning |
|---|---|
| `{"spend":[["exports","3","<period>"]],"at":n,"key":"job-1"}` | Spent before the product went on; `key` is the caller's |
| `{"given":[["exports","<period>","5"]]}` | Not spendable any more: the next request gives it back |
| `{"line":"<CloudEvent>","head":"<hash>","period":"<period>"}` | The sum of spends before it, as it is sent |
| `{"settled":9,"head":"<hash>","token":"<snapshot>"}` | The service has counted lines up to here; what may be spent from here on |
| `{"key":"job-1","at":n,"spent":[...]}` | A key whose spends are settled |
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Mapping, NamedTuple, Sequence

from ...amounts import parse_json
from ...offline.ledger import LedgerPosition
from ...offline.values import hash_of, own
from .tally import Tally, add_to, decimal_in, portions_of

#: A key is charged once in this time, in milliseconds.
KEY_LIFE = 86_400_000
MAX_KEYS = 100_000

#: A record of the file. Its first property says what it is.
Record = Mapping[str, Any]

#: Entitlement, amount, start of the period.
Spent = Sequence[str]


class Line(NamedTuple):
    """Usage that is sent, and not settled yet."""

    number: int
    head: str
    text: str
    entitlement: str
    period: str
    amount: Decimal


class Key(NamedTuple):
    """What a key spent, and when, in milliseconds since 1970."""

    at: int
    spent: Sequence[Spent]


@dataclass
class Journal:
    """What a journal says."""

    source: str
    #: What is settled.
    base: LedgerPosition
    #: The snapshot that came when it was.
    token: str | None = None
    lines: list[Line] = field(default_factory=list)
    #: Spent, and in no line yet.
    open: Tally = field(default_factory=dict)
    #: Spent, and not settled.
    spent: Tally = field(default_factory=dict)
    given: Tally = field(default_factory=dict)
    #: When something of an entitlement and a period was last spent, in milliseconds since 1970.
    last_at: dict[tuple[str, str], int] = field(default_factory=dict)
    keys: OrderedDict[str, Key] = field(default_factory=OrderedDict)

    @property
    def is_settled(self) -> bool:
        return not portions_of(self.spent)

    def copy(self) -> Journal:
        """The journal as it is now, for another thread."""
        tallies = {name: _copied(getattr(self, name)) for name in ("open", "spent", "given")}
        return replace(self, lines=list(self.lines), last_at=dict(self.last_at), keys=self.keys.copy(), **tallies)


def _copied(tally: Tally) -> Tally:
    return {entitlement: dict(periods) for entitlement, periods in tally.items()}


def new_journal(source: str) -> Journal:
    """A ledger without lines."""
    return Journal(source, LedgerPosition(0, hash_of(source)))


def spent_by(journal: Journal, key: str, now: float) -> Sequence[Spent] | None:
    """What a key spent within a day. `now` is in milliseconds since 1970."""
    known = journal.keys.get(key)
    return known.spent if known is not None and known.at > now - KEY_LIFE else None


def apply_record(journal: Journal, record: Record) -> None:
    """Applies a record, as it is written and as it is read again."""
    if "spend" in record:
        for entitlement, amount, period in record["spend"]:
            add_to(entitlement, period, decimal_in(amount), journal.open, journal.spent)
            journal.last_at[entitlement, period] = int(record["at"])
        if "key" in record:
            _keep(journal, record["key"], record["at"], record["spend"])
    elif "given" in record:
        for entitlement, period, amount in record["given"]:
            add_to(entitlement, period, decimal_in(amount), journal.given)
    elif "line" in record:
        line = _line_in(record)
        journal.lines.append(line)
        add_to(line.entitlement, line.period, line.amount.copy_negate(), journal.open)
    elif "settled" in record:
        _settle(journal, record)
    else:
        _keep(journal, record["key"], record["at"], record["spent"])


def _line_in(record: Record) -> Line:
    text = record["line"]
    event = parse_json(text)
    number, amount = decimal_in(own(event, "id")), decimal_in(own(own(event, "data"), "value"))
    return Line(int(number), record["head"], text, str(own(event, "type")), record["period"], amount)


def _settle(journal: Journal, record: Record) -> None:
    settled = int(record["settled"])
    for line in journal.lines:
        if line.number <= settled:
            add_to(line.entitlement, line.period, line.amount.copy_negate(), journal.spent)
    journal.lines = [line for line in journal.lines if line.number > settled]
    if journal.is_settled:
        journal.last_at.clear()
    journal.base = LedgerPosition(settled, record["head"])
    journal.token = record["token"]
    journal.given.clear()


def _keep(journal: Journal, key: str, at: Any, spent: Sequence[Spent]) -> None:
    keys = journal.keys
    keys[key] = Key(int(at), spent)
    keys.move_to_end(key)
    while len(keys) > MAX_KEYS:
        keys.popitem(last=False)


def renewed(journal: Journal, fresh: Journal) -> Journal:
    """Goes on with a new ledger, which begins with what is not settled. Nothing can be spent from it."""
    for entitlement, period, amount in portions_of(journal.spent):
        add_to(entitlement, period, decimal_in(amount), fresh.open, fresh.spent)
    return replace(fresh, keys=journal.keys, last_at=journal.last_at)
