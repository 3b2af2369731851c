"""A ledger of usage without a service: one CloudEvent per line, each with the hash of the line before.

The caller stores the lines and uploads them when it can.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from ..amounts import instant_text
from .tokens import is_bounded
from .values import Instant, amount_of, amount_text, hash_of, is_count, json_line, millis_or_now, own

_SOURCE = re.compile(r"urn:keyshelf:ledger:[0-9a-f-]{36}")


@dataclass(frozen=True)
class LedgerPosition:
    """How many lines a ledger has, and the hash of the last one: of its source if there is none."""

    lines: int
    head: str


class LedgerError(Exception):
    """A ledger cannot be opened. `status` is `MALFORMED`, `GAP` or `FORKED`.

    `GAP`: lines from `next` on are missing. `FORKED`: the line `at` does not follow from the one before, or is another
    one than the position has.
    """

    def __init__(self, status: str, *, at: int | None = None, next: int | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.at = at
        self.next = next


class Ledger:
    """A new ledger, or one that is stored. May be used by several threads.

    `source` is `urn:keyshelf:ledger:<uuid>`, a new uuid for each ledger. `stored` is a position that is known to be
    right, such as the service's; lines before it may be left out. Raises `LedgerError`.
    """

    def __init__(self, source: str, *, stored: LedgerPosition | None = None, lines: Iterable[str] = ()) -> None:
        if not isinstance(source, str) or not _SOURCE.fullmatch(source):
            raise LedgerError("MALFORMED")
        start = LedgerPosition(0, hash_of(source))
        position = start if stored is None else stored
        if not is_count(position.lines) or not isinstance(position.head, str):
            raise LedgerError("MALFORMED")
        if position.lines == 0 and position.head != start.head:
            raise LedgerError("MALFORMED")
        self.source = source
        #: How many of the lines that were passed the stored position already had.
        self.duplicates = 0
        self._lock = threading.Lock()
        self._position = position
        for line in lines:
            self._follow(line)

    @property
    def position(self) -> LedgerPosition:
        return self._position

    def append(
        self,
        *,
        subject: str,
        type: str,
        bundle_id: str,
        value: Any,
        time: Instant | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> str:
        """Makes the next line and returns it. Store it: if that fails, open the ledger again from what is stored.

        `subject` is the slug of the instance, `type` of the entitlement, `bundle_id` the `jti` of the bundle. Add up first:
        a line an hour is enough. Raises `ValueError`, and changes nothing, if an argument is of another form.
        """
        amount, millis = amount_of(value), millis_or_now(time)
        texts = (subject, type, bundle_id)
        if amount is None or millis is None or not all(isinstance(text, str) for text in texts):
            raise ValueError("subject, type and bundle_id are texts, value is a decimal, time an instant")
        if data is not None and "value" in data:
            raise ValueError("data must not have a value")
        with self._lock:
            attributes = {
                "specversion": "1.0",
                "id": str(self._position.lines + 1),
                "source": self.source,
                "subject": subject,
                "type": type,
                "time": instant_text(int(millis)),
                "bundleid": bundle_id,
                "prevhash": self._position.head,
            }
            # The amount is written digit by digit: a floating point number would round it.
            rest = json_line(dict(data or {}))[1:-1]
            members = f'"value":{amount_text(amount)}' + (f",{rest}" if rest else "")
            line = f'{json_line(attributes)[:-1]},"data":{{{members}}}}}'
            self._position = LedgerPosition(self._position.lines + 1, hash_of(line))
            return line

    def _follow(self, line: str) -> None:
        try:
            event = json.loads(line) if is_bounded(line) else None
        except (TypeError, ValueError, RecursionError):
            raise LedgerError("MALFORMED") from None
        id, position = own(event, "id"), self._position
        if own(event, "source") != self.source or not isinstance(id, str) or not re.fullmatch("[1-9][0-9]{0,15}", id):
            raise LedgerError("MALFORMED")
        number = int(id)
        if number > position.lines + 1:
            raise LedgerError("GAP", next=position.lines + 1)
        is_new, head = number > position.lines, hash_of(line)
        follows = own(event, "prevhash") == position.head if is_new else number < position.lines or head == position.head
        if not follows:
            raise LedgerError("FORKED", at=number)
        if is_new:
            self._position = LedgerPosition(number, head)
        else:
            self.duplicates += 1
