"""Evaluates feature flags. The service reduces a flag to a rule for an instance; the rest depends on the caller."""

from __future__ import annotations

import hashlib
import math
import re
from datetime import date
from typing import Any, Callable, Mapping

from .values import is_number, own, utf8
from .versions import compare_precedence, parse_version

#: Attributes with this name, and below it, are facts of the service. Those that a caller sends are ignored.
_FACTS = "keyshelf"

#: No condition needs more: otherwise a value of a megabyte is searched once for each value of each condition.
_MAX_TEXT_LENGTH = 10_000
_MAX_ITEMS = 1_000

_BUCKETS = 100_000

_RFC_3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAY_MS = 86_400_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: The days of the years 1 to 9999, counted from 1970.
_FIRST_DAY, _LAST_DAY = 1 - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY


def evaluate_rule(rule: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluates a rule for a context, with a result as OFREP defines it.

    The first targeting decides whose conditions all match and whose percentage, if any, includes the targeting key. Without
    `value`, the default in the code counts. Never raises: what cannot be read is an error of the evaluation.
    """
    targeting_key = own(context, "targetingKey")
    if not isinstance(context, dict) or not (isinstance(targeting_key, str) or "targetingKey" not in context):
        return _failure(rule, "INVALID_CONTEXT", "The context must be an object, and its `targetingKey` a string.")
    try:
        return _evaluate(rule, context, targeting_key)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return _failure(rule, "PARSE_ERROR", "The rule is malformed.")


def _failure(rule: Any, code: str, details: str) -> dict[str, Any]:
    key = own(rule, "key")
    return {"key": key if isinstance(key, str) else "", "errorCode": code, "errorDetails": details}


def _evaluate(rule: Mapping[str, Any], context: dict[str, Any], targeting_key: str | None) -> dict[str, Any]:
    for targeting in rule["targetings"]:
        if not all(_matches(condition, context) for condition in targeting["conditions"]):
            continue
        percentage = targeting.get("percentage")
        if percentage is None:
            return _serve(rule, targeting, "TARGETING_MATCH")
        if not targeting_key:
            details = f'The flag "{rule["key"]}" needs a targeting key. Set `context.targetingKey`.'
            return _failure(rule, "TARGETING_KEY_MISSING", details)
        if _is_in_percentage(_bucket_of(rule["key"], targeting["name"], targeting_key), percentage):
            return _serve(rule, targeting, "SPLIT")
    return _serve(rule, rule["otherwise"], rule["otherwise"]["reason"])


def _serve(rule: Mapping[str, Any], served: Mapping[str, Any], reason: str) -> dict[str, Any]:
    shown = {name: served[name] for name in ("value", "variant") if name in served}
    return {"key": rule["key"], **shown, "reason": reason, "metadata": rule["metadata"]}


def _bucket_of(flag_key: str, targeting: str, targeting_key: str) -> int:
    """The bucket of a targeting key, which never changes (docs/feature-flags.md)."""
    digest = hashlib.sha256(utf8(f"{flag_key}/{targeting}/{targeting_key}")).digest()
    return int.from_bytes(digest[:4], "big") % _BUCKETS


def _is_in_percentage(bucket: int, percentage: Any) -> bool:
    return is_number(percentage) and bucket < math.floor(float(percentage) * 1000 + 0.5)


def _matches(condition: Mapping[str, Any], context: dict[str, Any]) -> bool:
    attribute, operator, values = condition["attribute"], condition["operator"], condition["values"]
    is_fact = attribute == _FACTS or attribute.startswith(f"{_FACTS}.")
    actual = None if is_fact else _read_path(context, attribute)
    if operator != "EXISTS" and _is_too_long(actual):
        actual = None
    test = _TESTS.get(operator)
    return test is not None and test(actual, values)


def _read_path(context: dict[str, Any], attribute: str) -> Any:
    """Reads a property by its exact name, or else by its path of names separated by dots."""
    if attribute in context:
        return context[attribute]
    value: Any = context
    for name in attribute.split("."):
        value = own(value, name)
    return value


def _is_too_long(actual: Any) -> bool:
    if isinstance(actual, str):
        # Characters beyond U+FFFF count twice, as in JavaScript.
        return len(actual) + sum(character > "\uffff" for character in actual) > _MAX_TEXT_LENGTH
    return isinstance(actual, (list, tuple)) and len(actual) > _MAX_ITEMS


def _number_of(value: Any) -> float | None:
    if not is_number(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _equals(one: Any, other: Any) -> bool:
    """Whether scalars are equal and of the same type. All numbers are of one type, and as precise as in JavaScript."""
    if is_number(one) and is_number(other):
        return one == other or _number_of(one) == _number_of(other) is not None
    return type(one) is type(other) and isinstance(one, (str, bool)) and one == other


def _is_one_of(actual: Any, values: list[Any]) -> bool:
    return any(_equals(actual, value) for value in values)


def _text_test(matches: Callable[[str, str], bool]) -> Callable[[Any, list[Any]], bool]:
    return lambda actual, values: isinstance(actual, str) and any(
        isinstance(value, str) and matches(actual, value) for value in values
    )


def _comparison(
    parse: Callable[[Any], Any], order: Callable[[Any, Any], int], holds: Callable[[int], bool]
) -> Callable[[Any, list[Any]], bool]:
    def test(actual: Any, values: list[Any]) -> bool:
        left, right = parse(actual), parse(values[0] if values else None)
        return left is not None and right is not None and holds(order(left, right))

    return test


def _contains(actual: Any, values: list[Any]) -> bool:
    if isinstance(actual, (list, tuple)):
        return any(_equals(item, value) for value in values for item in actual)
    return isinstance(actual, str) and any(isinstance(value, str) and value in actual for value in values)


def _exists(actual: Any, values: list[Any]) -> bool:
    return (actual is not None) is (values[0] if values else True)


def _sign(one: float, other: float) -> int:
    return (one > other) - (one < other)


def _date_time_ms(value: Any) -> int | None:
    """Milliseconds since 1970 of an RFC 3339 date-time in the years 1 to 9999, `None` if a value is none."""
    found = _RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    offset_hour, offset_minute = int(found[9] or 0), int(found[10] or 0)
    if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return None
    try:
        # The calendar repeats after 400 years, and `date` has no year 0.
        days = date(year or 400, month, day).toordinal() - _EPOCH_DAY - (0 if year else 146_097)
    except ValueError:
        return None
    offset = (offset_hour * 60 + offset_minute) * (-1 if found[8] == "-" else 1)
    millis = days * _DAY_MS + (hour * 60 + minute - offset) * 60_000 + second * 1000
    if second == 60:
        # A leap second is the last one of a month in UTC. It counts as the millisecond before it ends.
        day_after = millis // _DAY_MS + _EPOCH_DAY
        if millis % _DAY_MS or not 1 <= day_after <= date.max.toordinal() or date.fromordinal(day_after).day != 1:
            return None
        millis -= 1
    else:
        millis += int((found[7] or "").ljust(3, "0")[:3])
    return millis if _FIRST_DAY * _DAY_MS <= millis < (_LAST_DAY + 1) * _DAY_MS else None


def _greater(sign: int) -> bool:
    return sign > 0


def _at_least(sign: int) -> bool:
    return sign >= 0


def _less(sign: int) -> bool:
    return sign < 0


def _at_most(sign: int) -> bool:
    return sign <= 0


#: Missing attributes and wrong types never match. `NOT_EQUALS` and `NOT_IN` are exact opposites of `EQUALS` and `IN`.
_TESTS: dict[str, Callable[[Any, list[Any]], bool]] = {
    "EQUALS": _is_one_of,
    "NOT_EQUALS": lambda actual, values: not _is_one_of(actual, values),
    "IN": _is_one_of,
    "NOT_IN": lambda actual, values: not _is_one_of(actual, values),
    "CONTAINS": _contains,
    "STARTS_WITH": _text_test(str.startswith),
    "ENDS_WITH": _text_test(str.endswith),
    "GT": _comparison(_number_of, _sign, _greater),
    "GTE": _comparison(_number_of, _sign, _at_least),
    "LT": _comparison(_number_of, _sign, _less),
    "LTE": _comparison(_number_of, _sign, _at_most),
    "SEMVER_GT": _comparison(parse_version, compare_precedence, _greater),
    "SEMVER_GTE": _comparison(parse_version, compare_precedence, _at_least),
    "SEMVER_LT": _comparison(parse_version, compare_precedence, _less),
    "SEMVER_LTE": _comparison(parse_version, compare_precedence, _at_most),
    "BEFORE": _comparison(_date_time_ms, _sign, _less),
    "AFTER": _comparison(_date_time_ms, _sign, _greater),
    "EXISTS": _exists,
}
