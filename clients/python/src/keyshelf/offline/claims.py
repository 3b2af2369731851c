"""Whether the claims of a token are whole. Unknown properties are ignored."""

from __future__ import annotations

from typing import Any, Callable

from .tokens import is_key
from .values import check, is_count, is_instant

_Is = Callable[[Any], bool]


def _shape(**properties: _Is) -> _Is:
    """Objects with these properties at least."""
    return lambda value: isinstance(value, dict) and all(
        name in value and holds(value[name]) for name, holds in properties.items()
    )


def _list_of(holds: _Is) -> _Is:
    return lambda value: isinstance(value, list) and all(map(holds, value))


def _null_or(holds: _Is) -> _Is:
    return lambda value: value is None or holds(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_positive(value: Any) -> bool:
    return is_count(value) and value > 0


_is_named = _shape(slug=_is_text, name=_is_text)

_is_bundle = _shape(
    iss=_is_text,
    sub=_is_text,
    jti=_is_text,
    seq=_is_positive,
    iat=is_count,
    nbf=is_count,
    renew=is_count,
    exp=is_count,
    instance=_is_named,
    customer=_is_named,
    license=_shape(
        slug=_is_text,
        family=_is_text,
        version=_is_text,
        name=_is_text,
        type=_is_text,
        start=is_instant,
        end=_null_or(is_instant),
    ),
    entitlements=_list_of(_shape(slug=_is_text, type=_is_text)),
    periods=_is_object,
    flags=_is_object,
    zone=_null_or(_is_object),
    release=_null_or(_is_object),
    binding=_null_or(_shape(match=_is_positive, of=_list_of(_is_text))),
    usage=_shape(until=is_count),
)

_is_revocation_list = _shape(
    iss=_is_text,
    number=is_count,
    iat=is_count,
    exp=is_count,
    revoked=_list_of(_shape(sub=_is_text, seq=is_count)),
)


def bundle_of(claims: dict[str, Any]) -> dict[str, Any]:
    """The claims of a bundle. Ends with `MALFORMED` if one is missing or of another type."""
    following = claims.get("next")
    check(_is_bundle(claims) and (following is None or is_key(following)))
    check(claims["iat"] <= claims["renew"] <= claims["exp"])
    return claims


def revocations_of(claims: dict[str, Any]) -> dict[str, Any]:
    """The claims of a revocation list. Ends with `MALFORMED` if one is missing or of another type."""
    check(_is_revocation_list(claims))
    return claims
