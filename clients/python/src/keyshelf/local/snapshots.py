"""Verifies snapshots: those that the service has just sent, and those that were stored or shipped."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Mapping

from ..offline import BundleAnswer, verify_bundle
from ..offline.tokens import make_keyring
from ..offline.values import decoded, own

_ORGANIZATION = re.compile(r"urn:keyshelf:organization:([0-9A-Za-z-]{1,64})")
#: With these statuses the claims answer: they deny by themselves.
_TAKEN = ("VALID", "LICENSE_NOT_STARTED", "LICENSE_EXPIRED")


@dataclass(frozen=True)
class Trust:
    """By what snapshots are verified. A product may have all of it, else it comes from the service."""

    issuer: str | None
    keys: Mapping[str, Any]
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Verified:
    """The result of a verification. `claims` are those of a snapshot that can be taken."""

    status: str
    claims: dict[str, Any] | None
    state: Mapping[str, Any] | None


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that answers."""

    token: str
    etag: str | None
    claims: Mapping[str, Any]
    #: The entitlements by their slugs, so that a check need not search them.
    entitlements: Mapping[str, Any]

    @classmethod
    def of(cls, token: str, etag: str | None, claims: Mapping[str, Any]) -> Snapshot:
        by_slug: dict[str, Any] = {}
        for entitlement in claims["entitlements"]:
            by_slug.setdefault(entitlement["slug"], entitlement)
        return cls(token, etag, claims, by_slug)


def said_by(token: str) -> tuple[Any, str | None]:
    """The key and the issuer that a token names. Nothing of it is verified."""
    header, _, rest = token.partition(".")
    issuer = own(_json_in(rest.partition(".")[0]), "iss")
    return own(_json_in(header), "kid"), issuer if isinstance(issuer, str) else None


def _json_in(part: str) -> Any:
    try:
        return json.loads((decoded(part) or b"").decode())
    except (ValueError, RecursionError):
        return None


def organization_of(issuer: str | None) -> str | None:
    """The id of the organization whose keys the service publishes."""
    found = _ORGANIZATION.fullmatch(issuer or "")
    return None if found is None else found[1]


def has_key(keys: Mapping[str, Any], kid: Any) -> bool:
    """Whether a key set has the key of an id."""
    return make_keyring(keys, None)(kid) is not None


def verify_sent(token: str, instance: str, families: Any, trust: Trust, time: float) -> Verified:
    """Verifies what the service has just sent. The time is the service's, so a clock that once ran ahead locks no one out."""
    known = trust.state or {}
    state = None if trust.state is None else {**known, "latest": 0}
    answer = _answer(token, instance, families, Trust(trust.issuer, trust.keys, state), time)
    if answer.status not in _TAKEN or answer.rejected is None:
        return Verified(answer.status, answer.claims, answer.state)
    claims = answer.rejected
    memory = known if known.get("sub") == claims["sub"] else {}
    state = {"revocations": 0, "voided": 0, "keys": {}, **memory, "sub": claims["sub"], "kid": said_by(token)[0]}
    return Verified(answer.status, claims, {**state, "seq": claims["seq"], "latest": max(math.floor(time), claims["iat"])})


def verify_kept(token: str, instance: str, families: Any, trust: Trust, wall: float) -> Verified:
    """Verifies what was stored or shipped, by the rules of bundles.

    The clock of the machine counts, but never before the latest time that was seen. An expired snapshot is usable: its
    policy says what it answers. The state changes only if it is valid, so a clock that ran ahead leaves no trace.
    """
    answer = _answer(token, instance, families, trust, wall)
    is_usable = answer.status in (*_TAKEN, "BUNDLE_EXPIRED")
    return Verified(answer.status, answer.claims or (answer.rejected if is_usable else None), answer.state)


def _answer(token: str, instance: str, families: Any, trust: Trust, time: float) -> BundleAnswer:
    return verify_bundle(
        token,
        keys=trust.keys,
        issuer=trust.issuer or "",
        instance=instance,
        families=families,
        state=trust.state,
        now=time,
    )
