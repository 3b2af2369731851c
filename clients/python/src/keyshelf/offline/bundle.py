"""Verifies bundles and revocation lists. The steps and their order are those of `docs/offline-verifier.md`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from .claims import bundle_of, revocations_of
from .tokens import Keyring, Opened, is_key, make_keyring, open_token
from .values import Fault, Instant, check, is_number, millis_of, millis_or_now, own

MAX_LENGTH = 262_144
#: An organization can have many revoked instances, so a list may be larger than a bundle.
MAX_LIST_LENGTH = 1 << 24
#: How far a clock may be behind the latest time seen.
MAX_BEHIND_SECONDS = 86_400

#: `kid` to `x`, or a key set as the service publishes it (RFC 7517).
Keys = Mapping[str, Any]


@dataclass(frozen=True)
class BundleAnswer:
    """The answer about a bundle. Store `state` as JSON whenever it differs from what you passed."""

    #: `VALID`, or the first step that failed.
    status: str
    #: Whether a new bundle is due.
    renew_due: bool
    #: What the bundle grants, only if it is valid.
    claims: dict[str, Any] | None
    #: What a bundle with a good signature says that is not valid, to show it. It grants nothing.
    rejected: dict[str, Any] | None
    state: dict[str, Any] | None


@dataclass(frozen=True)
class RevocationAnswer:
    """The answer about a revocation list."""

    status: str
    #: Whether the list has expired. It still voids what it names.
    stale: bool
    claims: dict[str, Any] | None


def verify_bundle(
    token: str,
    *,
    keys: Keys,
    issuer: str,
    state: Mapping[str, Any] | None = None,
    now: Instant | None = None,
    instance: str | None = None,
    families: Iterable[str] | None = None,
    fingerprints: Iterable[str] | None = None,
    revocations: str | None = None,
    require_revocations: bool = False,
) -> BundleAnswer:
    """Verifies a bundle. Never raises: for any arguments, the answer says what is wrong.

    `keys` are the vendor's keys, part of the product. `issuer` is `urn:keyshelf:organization:<id>`. `state` is what the
    last verification returned. `instance` is the id or slug of this installation, `families` the license families of
    this product, `fingerprints` those of this machine, `revocations` the text of a revocation list.
    """
    rejected: dict[str, Any] | None = None
    kept: Any = state
    try:
        keyring = make_keyring(keys, own(state, "keys"))
        opened = open_token(token, "keyshelf-bundle+jwt", MAX_LENGTH, keyring)
        claims = rejected = bundle_of(opened.claims)
        sub, seq, license = claims["sub"], claims["seq"], claims["license"]

        check(claims["iss"] == issuer, "WRONG_ISSUER")
        check(instance is None or instance in (sub, claims["instance"]["slug"]), "WRONG_INSTANCE")
        check(families is None or license["family"] in _texts(families), "WRONG_LICENSE")

        counts = own(state, "sub") == sub and keyring(own(state, "kid")) is not None
        memory = _memory(state, counts, sub, opened)
        listed = None if revocations is None else _listed(revocations, keyring, issuer)
        check(listed is None or listed["number"] >= memory["revocations"], "REVOCATIONS_INVALID")
        voids = [entry["seq"] for entry in (listed["revoked"] if listed else []) if entry["sub"] == sub]
        voided = max([memory["voided"], *voids])
        seen = {**memory, "revocations": listed["number"] if listed else memory["revocations"], "voided": voided}
        if seq <= voided:
            kept = seen
        check(seq > voided, "REVOKED")

        check(seq >= memory["seq"], "SUPERSEDED")
        check(_is_bound(claims["binding"], fingerprints), "NOT_BOUND")

        clock = _clock(now)
        at = max(clock, claims["iat"], memory["latest"] if seq == memory["seq"] else 0)
        check(at - clock <= MAX_BEHIND_SECONDS, "CLOCK_BEHIND")
        check(at >= claims["nbf"] and at * 1000 >= _millis(license["start"]), "LICENSE_NOT_STARTED")
        check(license["end"] is None or at * 1000 < _millis(license["end"]), "LICENSE_EXPIRED")
        check(at < claims["exp"], "BUNDLE_EXPIRED")
        check(not require_revocations or (listed is not None and at < listed["exp"]), "REVOCATIONS_STALE")

        learned, following = memory["keys"], claims.get("next")
        if is_key(following) and keyring(following["kid"]) is None:
            learned = {**learned, following["kid"]: {"x": following["x"], "by": opened.kid}}
        state_after = {**seen, "kid": opened.kid, "seq": seq, "latest": at, "keys": learned}
        return BundleAnswer("VALID", at >= claims["renew"], claims, None, state_after)
    except Fault as fault:
        return BundleAnswer(fault.status, False, None, rejected, kept)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return BundleAnswer("MALFORMED", False, None, rejected, kept)


def verify_revocations(
    text: str, *, keys: Keys, issuer: str, state: Mapping[str, Any] | None = None, now: Instant | None = None
) -> RevocationAnswer:
    """Verifies a revocation list by itself, such as one that a product has just received. Never raises."""
    try:
        listed = _open_list(text, make_keyring(keys, own(state, "keys")), issuer)
        check(listed["number"] >= _number(own(state, "revocations")), "SUPERSEDED")
        clock = millis_or_now(now)
        return RevocationAnswer("VALID", clock is None or clock >= listed["exp"] * 1000, listed)
    except Fault as fault:
        return RevocationAnswer(fault.status, True, None)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return RevocationAnswer("MALFORMED", True, None)


def _open_list(text: Any, keyring: Keyring, issuer: Any) -> dict[str, Any]:
    listed = revocations_of(open_token(text, "keyshelf-revocations+jwt", MAX_LIST_LENGTH, keyring).claims)
    check(listed["iss"] == issuer, "WRONG_ISSUER")
    return listed


def _listed(text: Any, keyring: Keyring, issuer: Any) -> dict[str, Any]:
    try:
        return _open_list(text, keyring, issuer)
    except (Fault, ValueError, RecursionError):
        raise Fault("REVOCATIONS_INVALID") from None


def _memory(state: Any, counts: bool, sub: str, opened: Opened) -> dict[str, Any]:
    """What a state says. It counts only if it is of this instance, and its key is still trusted.

    Its learned keys stay if the bundle's own key is one of them.
    """
    of_this = state if counts else None
    keys = own(state, "keys") if counts or not opened.key.is_pinned else None
    kid = own(of_this, "kid")
    return {
        "sub": sub,
        "kid": opened.kid if kid is None else kid,
        "seq": _number(own(of_this, "seq")),
        "latest": _number(own(of_this, "latest")),
        "revocations": _number(own(of_this, "revocations")),
        "voided": _number(own(of_this, "voided")),
        "keys": keys if isinstance(keys, dict) else {},
    }


def _number(value: Any) -> Any:
    return value if is_number(value) and value > 0 else 0


def _texts(value: Iterable[str]) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


def _is_bound(binding: Mapping[str, Any] | None, fingerprints: Iterable[str] | None) -> bool:
    """Whether enough components of the machine are those that the bundle is bound to. A component counts once."""
    if binding is None:
        return True
    found = set(_texts(fingerprints)) if fingerprints is not None else set()
    return sum(one != "" and one in found for one in set(binding["of"])) >= binding["match"]


def _clock(now: Instant | None) -> float:
    """Seconds since 1970. A clock that shows no time is behind any."""
    millis = millis_or_now(now)
    return -math.inf if millis is None or math.isnan(millis) else math.floor(millis / 1000)


def _millis(value: str) -> float:
    millis = millis_of(value)
    check(millis is not None)
    return millis if millis is not None else math.nan
