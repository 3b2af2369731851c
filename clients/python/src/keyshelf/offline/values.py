"""Reads values of unknown type."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from datetime import datetime
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any, Union

from ..amounts import instant_ms, text_of

#: A time: seconds since 1970, an ISO 8601 text with an offset, or a `datetime` with an offset.
Instant = Union[int, float, str, datetime]

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_DECIMAL = re.compile(r"-?[0-9]{1,64}(\.[0-9]{1,64})?")
#: A caller who passes milliseconds instead of seconds is beyond this.
_MAX_SECONDS = 10**11
_MAX_SAFE = 2**53 - 1


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


def amount_of(value: Any) -> Decimal | None:
    """The decimal of a text or a number, `None` if there is none."""
    if is_number(value):
        if isinstance(value, float):
            value = Decimal(repr(value))
        value = text_of(Decimal(value)) if Decimal(value).is_finite() else ""
    return Decimal(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else None


def amount_text(amount: Decimal) -> str:
    return text_of(amount)


def cap_of(limit: Decimal, percent: Decimal) -> Decimal:
    """`limit * (100 + percent) / 100`, exact: it only moves the point."""
    with localcontext() as context:
        context.prec, context.rounding = 300, ROUND_DOWN
        return limit * (100 + percent) / 100


def exact_sum(*amounts: Decimal) -> Decimal:
    with localcontext() as context:
        context.prec = 300
        return sum(amounts, Decimal(0))


def millis_of(value: Any) -> float | None:
    """Milliseconds since 1970 of an `Instant`, `None` if the value is not a time."""
    if is_number(value):
        return float(value) * 1000 if abs(value) < _MAX_SECONDS else None
    if isinstance(value, datetime):
        return None if value.utcoffset() is None else round(value.timestamp() * 1000)
    try:
        return instant_ms(value)
    except ValueError:
        return None


def millis_or_now(value: Any) -> float | None:
    return time.time() * 1000 if value is None else millis_of(value)


def is_instant(value: Any) -> bool:
    return isinstance(value, str) and millis_of(value) is not None
