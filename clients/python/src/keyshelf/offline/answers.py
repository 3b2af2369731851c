"""Answers checks by the claims of a snapshot, as the service answers them by its database, and spends tranches."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Mapping, Sequence

from ..amounts import instant_text
from .terms import Figures, Scene, requested_in, scene_at, terms_at
from .values import Instant, amount_text, cap_of, difference, exact_sum, millis_of, millis_or_now, own

_ZERO, _ONE = Decimal(0), Decimal(1)
_UNLIMITED = Decimal(-1)
_ALLOWED = ("GRANTED", "UNLIMITED", "SOFT_LIMIT")
_NO_FIGURES: dict[str, str | None] = {"limit": None, "usage": None, "remaining": None, "overage": None}


def answer(
    claims: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]],
    at: Instant | None = None,
    local: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Answers checks without a request, by a snapshot or bundle that was just verified as `VALID`.

    A check is `{"entitlement": ..., "requested": ...}`; `requested` is 1 by default. `at` is the clock of the machine by
    default. `local` is what this product spent and did not settle yet: `{"source", "positions", "spent"}`. The result has the
    form of a check's. Amounts are decimal texts. Never raises: what cannot be read is not allowed.
    """
    return _answers_to(claims, checks, at, local, None)


def answer_in_order(
    claims: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]],
    at: Instant | None = None,
    local: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Answers the checks of a consumption, each after what the allowed ones before it use.

    The figures are those before all of them.
    """
    return _answers_to(claims, checks, at, local, {})


def _answers_to(claims: Any, checks: Any, at: Instant | None, local: Any, uses: dict[str, Decimal] | None) -> dict[str, Any]:
    """`uses` is what the checks of a consumption use of each entitlement, as far as they are allowed."""
    millis = millis_or_now(at)
    license = own(claims, "license")
    term_end, end = millis_of(own(license, "termEnd")), millis_of(own(license, "end"))
    is_in_grace = millis is not None and term_end is not None and end is not None and term_end <= millis < end
    listed = checks if isinstance(checks, (list, tuple)) else []
    scene = scene_at(claims, millis, local)
    return {
        "instance": _text_in(own(claims, "instance"), "slug"),
        "license": _text_in(license, "slug"),
        "at": _text_at(millis),
        "graceEndsAt": _text_at(end) if is_in_grace else None,
        "checks": [_answer_one(scene, check, is_in_grace, uses) for check in listed],
    }


def _text_in(record: Any, name: str) -> str:
    text = own(record, name)
    return text if isinstance(text, str) else ""


def _text_at(millis: float | None) -> str | None:
    try:
        return None if millis is None else instant_text(int(millis))
    except (ValueError, OverflowError):
        return None


def _answer_one(scene: Scene, check: Any, is_in_grace: bool, uses: dict[str, Decimal] | None) -> dict[str, Any]:
    slug, requested = own(check, "entitlement"), requested_in(check)
    denial, figures = terms_at(scene, slug)
    if requested is None or not isinstance(slug, str) or scene.at is None:
        reason = "INVALID_REQUEST"
    else:
        used = requested if uses is None else exact_sum(uses.get(slug, _ZERO), _used_by(figures, requested))
        reason = denial or ("GRANTED" if figures is None else _reason_for_amount(figures, used))
        if uses is not None and reason in _ALLOWED:
            uses[slug] = used
    is_allowed = reason in _ALLOWED
    period = None if figures is None else figures.period
    return {
        "entitlement": slug if isinstance(slug, str) else "",
        "allowed": is_allowed,
        "reason": "IN_GRACE" if is_allowed and is_in_grace else reason,
        **(_NO_FIGURES if figures is None else _figure_texts(figures)),
        "currentPeriodStart": None if period is None else period.start,
        "currentPeriodEnd": None if period is None else period.end,
    }


def _reason_for_amount(figures: Figures, requested: Decimal) -> str:
    limit, percent, unspent = figures.limit, figures.overage_percent, figures.unspent
    if limit is None:
        return "NOT_GRANTED"
    if limit == _UNLIMITED:
        return "UNLIMITED"
    after = exact_sum(figures.usage, figures.others, requested)
    if after <= limit:
        return "GRANTED"
    if percent > 0 and after <= cap_of(limit, percent):
        return "SOFT_LIMIT"
    # A tranche is a guarantee: what it pays is allowed, whatever the limit is now.
    if unspent > 0 and requested <= unspent:
        return "SOFT_LIMIT" if percent > 0 else "GRANTED"
    return "LIMIT_REACHED"


def _figure_texts(figures: Figures) -> dict[str, str | None]:
    limit, usage = figures.limit, amount_text(figures.usage)
    if limit is None:
        return {**_NO_FIGURES, "usage": usage}
    if limit == _UNLIMITED:
        return {"limit": "-1", "usage": usage, "remaining": "-1", "overage": "0"}
    remaining = max(_ZERO, difference(limit, exact_sum(figures.usage, figures.others)))
    return {
        "limit": amount_text(limit),
        "usage": usage,
        "remaining": amount_text(remaining),
        "overage": amount_text(max(_ZERO, difference(figures.usage, limit))),
    }


def cover(
    claims: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]],
    at: Instant | None = None,
    local: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Whether checks can be consumed without a request: all of them, or none.

    Returns `{"spends": [...]}`, which you write down before you go on; `{"refill": [...]}`, what a refill must grant; or
    `{"denied": reason, "entitlement": slug}`. Never raises.
    """
    millis = millis_or_now(at)
    listed = checks if isinstance(checks, (list, tuple)) else []
    scene = scene_at(claims, millis, local)
    items = [_item_at(scene, check) for check in listed]
    faults = [(slug, fault) for slug, fault, _, _ in items if fault is not None]
    for slug, fault in sorted(faults, key=lambda one: one[1] != "INVALID_REQUEST")[:1]:
        return {"denied": fault, "entitlement": slug}
    needs: dict[str, Decimal] = {}
    for slug, _, _, amount in items:
        needs[slug] = exact_sum(needs.get(slug, _ZERO), amount)
    figures_of = {slug: figures for slug, _, figures, _ in items}
    refill = [
        {"entitlement": slug, "period": _start_of(figures_of[slug]), "need": amount_text(need)}
        for slug, need in needs.items()
        if not _is_paid(figures_of[slug], need)
    ]
    if refill:
        return {"refill": refill}
    return {
        "spends": [
            {"entitlement": slug, "period": _start_of(figures), "amount": amount_text(amount)}
            for slug, _, figures, amount in items
            if figures is not None and amount
        ]
    }


def _start_of(figures: Figures | None) -> str:
    return "" if figures is None or figures.period is None else figures.period.start


def _is_paid(figures: Figures | None, need: Decimal) -> bool:
    return figures is None or figures.limit == _UNLIMITED or need <= figures.unspent


def _item_at(scene: Scene, check: Any) -> tuple[str, str | None, Figures | None, Decimal]:
    """The slug of a check, why it cannot be consumed, its figures and its amount."""
    slug, requested = own(check, "entitlement"), requested_in(check)
    denial, figures = terms_at(scene, slug)
    # Seats, and what is measured in other ways, cannot be consumed.
    is_consumable = figures is None or (figures.aggregation in ("SUM", "COUNT") and figures.period is not None)
    is_valid = isinstance(slug, str) and requested is not None and scene.at is not None
    fault = denial if is_valid and (denial is not None or is_consumable) else "INVALID_REQUEST"
    return slug if isinstance(slug, str) else "", fault, figures, _used_by(figures, requested or _ZERO)


def _used_by(figures: Figures | None, requested: Decimal) -> Decimal:
    """What a use uses: a `COUNT` counts the use itself, whatever amount it has."""
    return _ONE if figures is not None and figures.aggregation == "COUNT" else requested
