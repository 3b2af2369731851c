"""What is stored of an instance: its snapshot, or that the service ended the access."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from ..amounts import instant_text
from ..offline.values import is_number, millis_of, own

_FORMAT = "keyshelf-snapshot"


@dataclass(frozen=True)
class Stored:
    #: The slug by which the product names the instance.
    instance: str
    #: `None` where access was ended.
    token: str | None
    etag: str | None
    #: When the service last confirmed the snapshot, in seconds since 1970.
    confirmed_at: float
    issuer: str | None
    #: The keys that the service published; none if the product has its own.
    keys: Mapping[str, Any]
    #: The state of the verifier.
    state: Mapping[str, Any] | None
    #: When the service ended the access: no restart revives the snapshot. `None`: it did not.
    revoked_at: float | None = None

    @property
    def seen_at(self) -> float:
        return max(self.confirmed_at, self.revoked_at or 0.0)


def text_of_stored(stored: Stored) -> str:
    record = {
        "format": _FORMAT,
        "v": 1,
        "instance": stored.instance,
        "token": stored.token,
        "etag": stored.etag,
        "confirmedAt": instant_text(int(stored.confirmed_at * 1000)),
        "issuer": stored.issuer,
        "keys": stored.keys,
        "state": stored.state,
        "revokedAt": None if stored.revoked_at is None else instant_text(int(stored.revoked_at * 1000)),
    }
    return json.dumps(record, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """Numbers of a state may be decimals. They are whole."""
    if is_number(value):
        return int(value)
    raise TypeError(f"{value!r} is not JSON")


def stored_in(data: bytes) -> Stored | None:
    """Reads a file. `None` if it is damaged, or of a version that this one does not know."""
    try:
        record = json.loads(data.decode())
    except (ValueError, RecursionError):
        return None
    instance, token, etag, issuer = (own(record, name) for name in ("instance", "token", "etag", "issuer"))
    confirmed_at, ended = (_time_in(own(record, name)) for name in ("confirmedAt", "revokedAt"))
    is_ended = own(record, "revokedAt") is not None
    is_ours = own(record, "format") == _FORMAT and own(record, "v") == 1
    if not is_ours or not isinstance(instance, str) or confirmed_at is None or (is_ended and ended is None):
        return None
    if not is_ended and not isinstance(token, str):
        return None
    keys, state = own(record, "keys"), own(record, "state")
    return Stored(
        instance,
        token if isinstance(token, str) else None,
        etag if isinstance(etag, str) else None,
        confirmed_at,
        issuer if isinstance(issuer, str) else None,
        keys if isinstance(keys, dict) else {},
        state if isinstance(state, dict) else None,
        ended,
    )


def _time_in(value: Any) -> float | None:
    millis = millis_of(value) if isinstance(value, str) else None
    return None if millis is None else millis / 1000


def newest_of(records: Iterable[Stored], instance: str) -> Stored | None:
    """The newest record of an instance. What the service said last counts, also if it ended the access."""
    of_this = [one for one in records if one.instance == instance]
    return max(of_this, key=lambda one: one.seen_at, default=None)
