"""Amounts as exact decimals, and JSON that keeps all their digits."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, Union

#: What amounts are passed as. A float is read as it is printed.
Amount = Union[int, str, float, Decimal]

#: The digits of an amount before and after its point, as the service counts them.
MAX_DIGITS = 18

_DECIMAL = re.compile(r"-?[0-9]{1,64}(\.[0-9]{1,64})?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


def decimal_of(value: Amount) -> Decimal:
    """The decimal of an amount. Raises `ValueError` if there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, str, float, Decimal)):
        raise ValueError(f"{value!r} is not an amount")
    text = repr(value) if isinstance(value, float) else value
    if isinstance(text, str) and not isinstance(value, float) and not _DECIMAL.fullmatch(text):
        raise ValueError(f"{value!r} is not a decimal")
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a finite number")
    return number


def amount_of(value: Amount) -> Decimal:
    """The decimal of an amount that the service can count. Raises `ValueError` if it cannot."""
    number = decimal_of(value)
    # The exponent is looked at first: the text of a great one would fill the memory.
    if number and (abs(number.adjusted()) > MAX_DIGITS or digits_of(number) > MAX_DIGITS):
        raise ValueError(f"An amount has at most {MAX_DIGITS} digits")
    return number if number else Decimal(0)


def text_of(number: Decimal) -> str:
    """The digits of a decimal, without exponent and without zeros at the end of its fraction."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def digits_of(number: Decimal) -> int:
    """How many digits the decimal has before and after its point."""
    whole, _, fraction = text_of(number.copy_abs()).partition(".")
    return len(whole.lstrip("0")) + len(fraction)


def _reject(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def parse_json(text: str) -> Any:
    """Parses JSON. Numbers that are not whole become `Decimal`. Raises `ValueError`."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_reject)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def json_text(value: Any) -> str:
    """Writes JSON with all digits of decimals, which the module `json` cannot write. Raises `ValueError`."""
    try:
        return _json_text(value)
    except TypeError as error:
        raise ValueError(f"The body is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("The body is nested too deeply, or in itself") from None


def _json_text(value: Any) -> str:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not JSON")
        return text_of(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json_text(str(key))}:{_json_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_json_text, value)) + "]"
    if isinstance(value, str) and _SURROGATE.search(value):
        raise ValueError("A text of the body has a lone surrogate")
    return json.dumps(value, allow_nan=False)


def time_of(text: str | None) -> datetime | None:
    """The time of a text of the service, `None` if there is none."""
    return None if text is None else _EPOCH + timedelta(milliseconds=instant_ms(text))


def time_text(time: datetime | str) -> str:
    """An ISO 8601 text with an offset. Raises `ValueError` if a time has no offset."""
    if isinstance(time, str):
        instant_ms(time)
        return time
    if not isinstance(time, datetime):
        raise ValueError("A time is a datetime or an ISO 8601 text")
    if time.utcoffset() is None:
        raise ValueError("The time needs an offset, such as datetime.now(timezone.utc)")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_ms(text: Any) -> int:
    """Milliseconds since 1970 of an ISO 8601 text with an offset. Raises `ValueError` if the text is not an instant.

    A day up to 31 is taken in each month, and 24:00:00 as the next day's start, as in JavaScript: all verifiers agree.
    """
    found = _INSTANT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not an ISO 8601 date and time with an offset")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    millis = int((found[7] or "").ljust(3, "0")[:3])
    offset_hour, offset_minute = int(found[9] or 0), int(found[10] or 0)
    is_midnight = hour == 24 and minute == second == millis == 0
    is_time = (hour <= 23 or is_midnight) and minute <= 59 and second <= 59
    if not (1 <= month <= 12 and 1 <= day <= 31 and is_time and offset_hour <= 23 and offset_minute <= 59):
        raise ValueError(f"{text!r} is not a date and time")
    offset = (offset_hour * 60 + offset_minute) * (-1 if found[8] == "-" else 1)
    minutes = (_days_before(year, month) + day - 1) * 1440 + hour * 60 + minute - offset
    return (minutes * 60 + second) * 1000 + millis


def _days_before(year: int, month: int) -> int:
    """Days from 1970 to the first of a month, by counting months from March: so 29 February is the last day."""
    shifted = year - 1 if month <= 2 else year
    return 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + (153 * ((month + 9) % 12) + 2) // 5 - 719468


@lru_cache(4_096)
def instant_text(millis: int) -> str:
    """The ISO 8601 text in UTC of milliseconds since 1970. Raises `ValueError` outside the years 1 to 9999."""
    try:
        time = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        raise ValueError(f"{millis} is outside the years 1 to 9999") from None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
