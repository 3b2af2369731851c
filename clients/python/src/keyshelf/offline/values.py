"""Reads values of unknown type."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from datetime import datetime
from decimal import ROUND_DOWN, Context, Decimal
from functools import lru_cache
from typing import Any, Union

from ..amounts import instant_ms, text_of

#: A time: seconds since 1970, an ISO 8601 text with an offset, or a `datetime` with an offset.
Instant = Union[int, float, str, datetime]

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_DECIMAL = re.compile(r"-?[0-9]{1,64}(\.[0-9]{1,64})?")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: A caller who passes milliseconds instead of seconds is beyond this.
_MAX_SECONDS = 10**11
_MAX_SAFE = 2**53 - 1
#: No sum of amounts needs more digits, so none is rounded.
_EXACT = Context(prec=300, rounding=ROUND_DOWN)
#: The texts of a snapshot are read at each check. These are a few hundred.
_REMEMBERED = 4_096


class Fault(Exception):
    """Ends a verification with a status. It is raised and caught in this package; callers see the status."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def check(holds: Any, status: str = "MALFORMED") -> None:
    if not holds:
        raise Fault(status)


def own(record: Any, name: Any) -> Any:
    return record.get(name) if isinstance(record, dict) and isinstance(name, str) else None


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Whether a value is a whole number that each language can hold, 0 or more. `7.0` is one too."""
    return is_number(value) and 0 <= value <= _MAX_SAFE and value == int(value)


def decoded(text: Any) -> bytes | None:
    """The bytes of base64url, `None` if it is not canonical: other characters, padding, or spare bits that are not zero."""
    if not isinstance(text, str) or not _BASE64URL.fullmatch(text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return data if encoded(data) == text else None


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def hash_of(text: str) -> str:
    """The SHA-256 of a text's UTF-8 bytes, in base64url. A lone surrogate counts as U+FFFD, as in JavaScript."""
    return encoded(hashlib.sha256(utf8(text)).digest())


def utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return paired.encode()


def json_line(value: Any) -> str:
    """JSON in UTF-8 without spaces, as other languages write it. A lone surrogate is escaped: UTF-8 has none."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def amount_of(value: Any) -> Decimal | None:
    """The decimal of a text or a number, `None` if there is none."""
    if isinstance(value, str):
        return _decimal_in(value)
    if is_number(value):
        if isinstance(value, float):
            value = Decimal(repr(value))
        return _decimal_in(text_of(Decimal(value))) if Decimal(value).is_finite() else None
    return None


@lru_cache(_REMEMBERED)
def _decimal_in(text: str) -> Decimal | None:
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


@lru_cache(_REMEMBERED)
def amount_text(amount: Decimal) -> str:
    return text_of(amount)


def cap_of(limit: Decimal, percent: Decimal) -> Decimal:
    """`limit * (100 + percent) / 100`, exact: it only moves the point."""
    return _EXACT.divide(_EXACT.multiply(limit, _EXACT.add(100, percent)), 100)


def exact_sum(*amounts: Decimal) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def difference(one: Decimal, other: Decimal) -> Decimal:
    return _EXACT.subtract(one, other)


def millis_of(value: Any) -> float | None:
    """Milliseconds since 1970 of an `Instant`, `None` if the value is not a time."""
    if isinstance(value, str):
        return _millis_in(value)
    if is_number(value):
        return float(value) * 1000 if abs(value) < _MAX_SECONDS else None
    if isinstance(value, datetime):
        return None if value.utcoffset() is None else round(value.timestamp() * 1000)
    return None


@lru_cache(_REMEMBERED)
def _millis_in(text: str) -> int | None:
    try:
        return instant_ms(text)
    except ValueError:
        return None


def millis_or_now(value: Any) -> float | None:
    return time.time() * 1000 if value is None else millis_of(value)


def is_instant(value: Any) -> bool:
    return isinstance(value, str) and millis_of(value) is not None
