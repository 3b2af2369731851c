"""Feature flags, and their evaluation by OFREP, the OpenFeature Remote Evaluation Protocol, with `ETag`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Mapping, TypeVar

from .amounts import json_text
from .away import FAIL, WhenAway
from .problems import ConnectionFailed, KeyshelfError
from .transport import Transport

#: The number of contexts whose values a client caches.
MAX_CONTEXTS = 100

_PATH = "/api/ofrep/v1/evaluate/flags"

T = TypeVar("T")


@dataclass(frozen=True)
class FlagSet:
    """The values of all flags for one context."""

    _flags: Mapping[str, Mapping[str, Any]]
    #: Seconds since the service confirmed the snapshot; 0 for a request, `None` if there is no snapshot.
    age: float | None = 0.0
    #: What answered: `snapshot`, `service` for a request, or `policy` because nothing was known.
    source: str = "service"

    def boolean(self, key: str, default: bool) -> bool:
        """The value of a flag, or the default if it has none or one of another type."""
        return self._value(key, bool, default)

    def string(self, key: str, default: str) -> str:
        return self._value(key, str, default)

    def number(self, key: str, default: int | float | Decimal) -> int | float | Decimal:
        value = self.details(key).get("value")
        if isinstance(value, float):
            return Decimal(repr(value))
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
    """Evaluates flags by requests, and caches the values of each context with their tag. May be used by several threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = OrderedDict()

    def evaluate(self, context: Mapping[str, Any], policy: WhenAway) -> FlagSet:
        key = json_text(dict(sorted(context.items())))
        with self._lock:
            known = self._known.get(key)
        try:
            # An evaluation changes nothing, so it may be sent twice.
            response = self._transport.send(
                "POST",
                _PATH,
                {"context": dict(context)},
                headers={} if known is None else {"if-none-match": known[0]},
                is_idempotent=True,
            )
            flags = known[1] if response.status == 304 and known is not None else _flags_of(response.json())
        except KeyshelfError as error:
            if not error.is_away or policy == FAIL:
                raise
            return FlagSet({}, None, "policy")
        etag = response.headers.get("etag")
        if etag is not None:
            with self._lock:
                self._known[key] = (etag, flags)
                self._known.move_to_end(key)
                if len(self._known) > MAX_CONTEXTS:
                    self._known.popitem(last=False)
        return FlagSet(flags)


def _flags_of(body: Any) -> dict[str, Mapping[str, Any]]:
    flags = body.get("flags") if isinstance(body, dict) else None
    if not isinstance(flags, list):
        raise ConnectionFailed("The response is not an evaluation of flags")
    return {one["key"]: one for one in flags if isinstance(one, dict) and isinstance(one.get("key"), str)}
