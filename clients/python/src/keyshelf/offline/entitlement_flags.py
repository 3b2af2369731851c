"""The entitlements of an instance as flags, as the service evaluates them."""

from __future__ import annotations

from typing import Any, Mapping

from .answers import answer
from .terms import configuration_at
from .values import amount_of, own

#: What the key of such a flag begins with; the slug follows. No other flag has it.
ENTITLEMENT_PREFIX = "entitlement."

#: Outside the license term, nothing remains of its grants.
_WITHOUT_ACCESS = ("NOT_GRANTED", "LICENSE_NOT_STARTED", "LICENSE_EXPIRED")


def entitlement_flags(claims: Mapping[str, Any], at: float) -> dict[str, dict[str, Any]]:
    """Evaluates all entitlements of a snapshot: access, the remaining amount or the configuration."""
    entitlements = [one for one in claims["entitlements"] if isinstance(own(one, "slug"), str)]
    checks = answer(claims, [{"entitlement": one["slug"]} for one in entitlements], at)["checks"]
    return {ENTITLEMENT_PREFIX + one["slug"]: _flag(one, checked, at) for one, checked in zip(entitlements, checks)}


def _flag(entitlement: Mapping[str, Any], checked: Mapping[str, Any], at: float) -> dict[str, Any]:
    metadata: dict[str, Any] = {"allowed": checked["allowed"], "checkReason": checked["reason"]}
    for name in ("limit", "usage", "overage"):
        if checked[name] is not None:
            metadata[name] = amount_of(checked[name])
    if checked["currentPeriodEnd"] is not None:
        metadata["currentPeriodEnd"] = checked["currentPeriodEnd"]
    key = ENTITLEMENT_PREFIX + entitlement["slug"]
    return {"key": key, **_value(entitlement, checked, at), "reason": "TARGETING_MATCH", "metadata": metadata}


def _value(entitlement: Mapping[str, Any], checked: Mapping[str, Any], at: float) -> dict[str, Any]:
    kind = own(entitlement, "type")
    if kind == "BOOLEAN":
        return {"value": checked["allowed"]}
    if kind == "NUMBER":
        remaining = None if checked["reason"] in _WITHOUT_ACCESS else amount_of(checked["remaining"])
        return {"value": 0 if remaining is None else remaining}
    # A configuration that is not granted has no value: the default in the code counts.
    configuration = configuration_at(entitlement, at) if checked["allowed"] else None
    return {} if configuration is None else {"value": configuration}
