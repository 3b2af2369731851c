"""The file of a ledger. All clients write the same form, but no two languages share a folder."""

from __future__ import annotations

from typing import Any, Iterable

from ...amounts import parse_json
from ...offline.ledger import LedgerPosition
from ...offline.values import amount_text, is_count, json_line, own
from .files import LedgerFile
from .journal import KEY_LIFE, Journal, Record, apply_record, new_journal
from .tally import portions_of

_FORMAT = "keyshelf-ledger"

#: A file that is larger is rewritten when it is settled.
_MAX_SIZE = 1_048_576


def _text_of(records: Iterable[Record]) -> str:
    return "".join(f"{json_line(record)}\n" for record in records)


def _header_of(journal: Journal) -> str:
    base = journal.base
    return _text_of([{"format": _FORMAT, "v": 1, "source": journal.source, "lines": base.lines, "head": base.head}])


def text_of_journal(journal: Journal, time: float) -> str:
    """All that a journal says, in as few records as possible. `time` is in seconds since 1970."""
    now = int(time * 1000)

    def spend(entitlement: str, period: str, amount: str) -> Record:
        return {"spend": [[entitlement, amount, period]], "at": journal.last_at.get((entitlement, period), now)}

    records: list[Record] = []
    if journal.token is not None:
        records.append({"settled": journal.base.lines, "head": journal.base.head, "token": journal.token})
    for key, (at, spent) in journal.keys.items():
        if at > now - KEY_LIFE:
            records.append({"key": key, "at": at, "spent": spent})
    for line in journal.lines:
        # A line is the sum of spends before it.
        records.append(spend(line.entitlement, line.period, amount_text(line.amount)))
        records.append({"line": line.text, "head": line.head, "period": line.period})
    records += [spend(entitlement, period, amount) for entitlement, period, amount in portions_of(journal.open)]
    given = portions_of(journal.given)
    if given:
        records.append({"given": given})
    return _header_of(journal) + _text_of(records)


def _parsed(line: str) -> Any:
    try:
        return parse_json(line)
    except ValueError:
        return None


def _is_list(value: Any) -> bool:
    """A list of lists of three texts: entitlement, period and amount."""
    return isinstance(value, list) and all(
        isinstance(part, list) and len(part) == 3 and all(isinstance(text, str) for text in part) for part in value
    )


def _is_record(value: Any) -> bool:
    def is_text(*names: str) -> bool:
        return all(isinstance(own(value, name), str) for name in names)

    if not isinstance(value, dict):
        return False
    is_timed = is_count(own(value, "at")) and ("key" not in value or is_text("key"))
    if "spend" in value:
        return is_timed and _is_list(value["spend"])
    if "given" in value:
        return _is_list(value["given"])
    if "line" in value:
        return is_text("line", "head", "period") and isinstance(_parsed(value["line"]), dict)
    if "settled" in value:
        return is_count(value["settled"]) and is_text("head", "token")
    return is_timed and is_text("key") and _is_list(own(value, "spent"))


def journal_in(text: str) -> tuple[Journal, bool] | None:
    """Reads a journal, and whether it is damaged. `None` if there is no journal of this version.

    A last line that was cut off was never acknowledged. Where another one is damaged, amounts may be missing, and nothing may
    be spent of its tranche.
    """
    first, *lines = text.split("\n")[:-1] or [""]
    header = _parsed(first)
    source, count, head = (own(header, name) for name in ("source", "lines", "head"))
    is_ours = own(header, "format") == _FORMAT and own(header, "v") == 1
    if not is_ours or not isinstance(source, str) or not is_count(count) or not isinstance(head, str):
        return None
    journal = new_journal(source)
    journal.base = LedgerPosition(int(count), head)
    is_damaged = False
    for line in lines:
        record = _parsed(line)
        if _is_record(record):
            apply_record(journal, record)
        else:
            is_damaged = True
    return journal, is_damaged


class LedgerStore:
    """Where a ledger survives a restart. Its calls must not overlap, but for `sync` and `rewrite`."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        text = file.read()
        #: What was stored, and whether it is damaged; `None` if nothing usable was.
        self.found = journal_in(text)
        if self.found is None and text:
            file.set_aside()
        # A product that consumes nothing has no file.
        self._has_header = self.found is not None
        self._rewritten_size = 0

    def append(self, records: Iterable[Record], journal: Journal) -> None:
        """Adds records. They have reached the operating system when this returns; if it raises, nothing was added."""
        self._file.append(("" if self._has_header else _header_of(journal)) + _text_of(records))
        self._has_header = True

    def replace(self, journal: Journal, time: float) -> None:
        """Replaces what is stored."""
        self.rewrite(self.begin_rewrite(journal), time)

    def begin_rewrite(self, journal: Journal) -> Journal:
        """What `rewrite` needs. What is added after this is kept."""
        self._file.begin_rewrite()
        return journal.copy()

    def rewrite(self, journal: Journal, time: float) -> None:
        """Replaces what was stored at `begin_rewrite`, while other threads go on."""
        self._rewritten_size = self._file.rewrite(text_of_journal(journal, time))
        self._has_header = True

    @property
    def is_large(self) -> bool:
        """Whether it should be replaced. Many keys stay large, and are not written again for each settlement."""
        return self._file.size > max(_MAX_SIZE, 2 * self._rewritten_size)

    def sync(self) -> None:
        """Returns when all that was added is on the disk."""
        self._file.sync()

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        """This process has forked, and the file is the other one's."""
        self._file.abandon()
