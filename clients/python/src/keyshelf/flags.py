"""Feature flags by OFREP, the OpenFeature Remote Evaluation Protocol, with `ETag`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Mapping, TypeVar

from .amounts import json_text
from .clocks import Reading, age, read_clocks
from .problems import ConnectionFailed, KeyshelfError
from .settings import seconds_of
from .transport import Transport

#: The number of contexts whose values a client caches.
MAX_CONTEXTS = 100

_PATH = "/api/ofrep/v1/evaluate/flags"

T = TypeVar("T")


@dataclass(frozen=True)
class FlagSet:
    """The values of all flags for one context."""

    _flags: Mapping[str, Mapping[str, Any]]
    #: Seconds since the service evaluated them, `None` if it never did.
    age: float | None = 0.0
    #: Who answered: `service`, `lastKnown`, or `default` if nothing is known.
    source: str = "service"

    def boolean(self, key: str, default: bool) -> bool:
        """The value of a flag, or the default if it has none or one of another type."""
        return self._value(key, bool, default)

    def string(self, key: str, default: str) -> str:
        return self._value(key, str, default)

    def number(self, key: str, default: int | float | Decimal) -> int | float | Decimal:
        value = self.details(key).get("value")
        return value if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else default

    def object(self, key: str, default: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._value(key, dict, default)

    def details(self, key: str) -> Mapping[str, Any]:
        """The evaluation as OFREP describes it: `value`, `reason`, `variant`, `metadata`, or `errorCode`."""
        return self._flags.get(key, {})

    def keys(self) -> list[str]:
        return list(self._flags)

    def _value(self, key: str, of_type: type, default: T) -> T:
        value = self.details(key).get("value")
        return value if isinstance(value, of_type) else default


class Flags:
    """Evaluates flags, and remembers the last values of each context. May be used by several threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[str | None, Reading, Mapping[str, Mapping[str, Any]]]] = OrderedDict()

    def evaluate(self, context: Mapping[str, Any], max_age: float | None) -> FlagSet:
        if max_age is not None:
            seconds_of("max_age", max_age, may_be_least=True)
        key = json_text(dict(sorted(context.items())))
        with self._lock:
            known = self._known.get(key)
        etag = known[0] if known is not None else None
        try:
            # An evaluation changes nothing, so it may be sent twice.
            response = self._transport.send(
                "POST",
                _PATH,
                {"context": dict(context)},
                headers={} if etag is None else {"if-none-match": etag},
                is_idempotent=True,
            )
            flags = known[2] if response.status == 304 and known is not None else _flags_of(response.json())
        except KeyshelfError as error:
            if not error.is_away or max_age is None:
                raise
            known_for = age(known[1], read_clocks()) if known is not None else None
            if known is None or known_for is None or known_for > max_age:
                return FlagSet({}, None, "default")
            return FlagSet(known[2], known_for, "lastKnown")
        with self._lock:
            self._known[key] = (response.headers.get("etag"), read_clocks(), flags)
            self._known.move_to_end(key)
            if len(self._known) > MAX_CONTEXTS:
                self._known.popitem(last=False)
        return FlagSet(flags)


def _flags_of(body: Any) -> dict[str, Mapping[str, Any]]:
    flags = body.get("flags") if isinstance(body, dict) else None
    if not isinstance(flags, list):
        raise ConnectionFailed("The response is not an evaluation of flags")
    return {one["key"]: one for one in flags if isinstance(one, dict) and isinstance(one.get("key"), str)}
