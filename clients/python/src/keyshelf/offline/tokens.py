"""Opens signed tokens: a compact JWS of Ed25519 (RFC 7515, RFC 8037), under keys that are trusted."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Callable

from . import ed25519
from .values import check, decoded, is_number, own

#: How many keys may lie between a learned key and a pinned one.
MAX_STEPS = 8

#: Objects and arrays within each other, the outermost included. The service issues fewer than 10.
MAX_DEPTH = 100

#: Texts, brackets, and numbers of more than 100 characters. The service writes longer numbers as texts.
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{\]}]|[0-9.eE+-]{101,}', re.DOTALL)

_WHITESPACE = "\t\n\v\f\r "


@dataclass(frozen=True)
class TrustedKey:
    """A trusted key: a pinned or a learned key."""

    data: bytes
    is_pinned: bool


#: The trusted key of an id, if there is one.
Keyring = Callable[[Any], "TrustedKey | None"]


@dataclass(frozen=True)
class Opened:
    """A token whose signature is good."""

    kid: str
    key: TrustedKey
    claims: dict[str, Any]


def _bytes_of(x: Any) -> bytes | None:
    data = decoded(x)
    return data if data is not None and len(data) == 32 else None


def is_key(key: Any) -> bool:
    """Whether a value is a public Ed25519 key with an id."""
    is_ours = own(key, "kty") == "OKP" and own(key, "crv") == "Ed25519"
    return is_ours and isinstance(own(key, "kid"), str) and _bytes_of(own(key, "x")) is not None


def make_keyring(keys: Any, learned: Any) -> Keyring:
    """The keyring of pinned and learned keys. A pinned key never counts as a learned key."""
    key_set = own(keys, "keys")
    pinned = {key["kid"]: key["x"] for key in key_set if is_key(key)} if isinstance(key_set, list) else keys

    def find(kid: Any) -> TrustedKey | None:
        last = kid
        for _ in range(MAX_STEPS):
            if own(pinned, last) is not None:
                break
            last = own(own(learned, last), "by")
        is_pinned = last == kid
        data = _bytes_of(own(pinned, kid) if is_pinned else own(own(learned, kid), "x"))
        is_trusted = data is not None and _bytes_of(own(pinned, last)) is not None
        return TrustedKey(data, is_pinned) if data is not None and is_trusted else None

    return find


def is_bounded(text: str) -> bool:
    """Whether JSON is within the bounds, by which all verifiers agree. It need not be JSON."""
    depth = 0
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        elif mark[0] != '"':
            return False
        if depth > MAX_DEPTH:
            return False
    return True


def _reject(constant: str) -> Any:
    raise ValueError(constant)


def object_in(data: bytes) -> dict[str, Any]:
    """The JSON object in UTF-8 bytes. Raises if there is none."""
    text = data.decode()
    check(is_bounded(text))
    value = json.loads(text, parse_constant=_reject)
    check(isinstance(value, dict))
    return value


def open_token(text: Any, typ: str, max_length: int, keyring: Keyring) -> Opened:
    """Opens a token of a type. Checks form, key, signature and version, in this order.

    The payload is parsed only if it is signed. Raises faults, and `ValueError` for what is malformed.
    """
    check(isinstance(text, str))
    token = text.strip(_WHITESPACE)
    parts = token.split(".", 3)
    check(len(token) <= max_length and len(parts) == 3)
    header, payload, signature = (decoded(part) for part in parts)
    check(header is not None and payload is not None and signature is not None)
    members = object_in(header)
    alg, kid = members.get("alg"), members.get("kid")
    is_ours = members.get("typ") == typ and alg in ("EdDSA", "Ed25519") and "crit" not in members
    check(is_ours and isinstance(kid, str))
    key = keyring(kid)
    check(key is not None, "UNKNOWN_KEY")
    signed = token[: token.rindex(".")].encode()
    check(ed25519.verify(key.data, signed, signature), "BAD_SIGNATURE")
    claims = object_in(payload)
    version = claims.get("v")
    check(is_number(version) and version == 1, "UNSUPPORTED")
    return Opened(kid, key, claims)
