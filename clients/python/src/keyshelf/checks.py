"""Checks of a request, and the answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Union

from .amounts import Amount, amount_of
from .away import FAIL, OPEN, Answer, WhenAway, answer_of
from .problems import ConnectionFailed, KeyshelfError
from .settings import name_of
from .transport import Response

MAX_CHECKS = 100

#: One check: the slug of an entitlement, or that and how much is requested.
Check = Union[str, "tuple[str, Amount]"]


@dataclass(frozen=True)
class CheckResult:
    """The answers to the checks of one call, in their order."""

    instance: str
    checks: tuple[Answer, ...]
    #: Slug of the license version; `None` if a policy answers, or access was ended.
    license: str | None = None
    at: str | None = None
    #: When access ends, if the license has ended and is in its grace period.
    grace_ends_at: str | None = None
    #: Whether the service answered, or a snapshot that it issued. If not, it is not known whether usage was consumed.
    confirmed: bool = True

    @property
    def allowed(self) -> bool:
        """Whether each check is allowed."""
        return all(answer.allowed for answer in self.checks)


def check_of(entitlement: str, requested: Amount | None) -> Check:
    return entitlement if requested is None else (entitlement, requested)


def items_of(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The checks of a request. Raises `ValueError` for what the service always rejects."""
    items = []
    for check in checks:
        entitlement, requested = (check, None) if isinstance(check, str) else check
        item: dict[str, Any] = {"entitlement": name_of("An entitlement", entitlement)}
        if requested is not None:
            item["requested"] = amount_of(requested)
            # A policy must not answer for an amount that the service always rejects.
            if item["requested"] < 0:
                raise ValueError("The amount of a check is 0 or more")
        items.append(item)
    if not 1 <= len(items) <= MAX_CHECKS:
        raise ValueError(f"A request has 1 to {MAX_CHECKS} checks")
    return items


def result_of(response: Response, count: int) -> CheckResult:
    """The result of a response. Raises `ConnectionFailed` for another form."""
    members = response.json()
    try:
        checks = tuple(answer_of(one) for one in members["checks"])
        texts = [members.get(name) for name in ("license", "at", "graceEndsAt")]
        if len(checks) != count or not isinstance(members["instance"], str):
            raise ValueError("not the answers to these checks")
        if not all(text is None or isinstance(text, str) for text in texts):
            raise TypeError("not a text")
        return CheckResult(members["instance"], checks, *texts)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Something other than the service responded, such as the sign-in page of a network.
        raise ConnectionFailed("The response is not an answer to a check") from error


def same_for(
    instance: str, items: list[dict[str, Any]], allowed: bool, reason: str, source: str, age: float | None = None
) -> CheckResult:
    """The same answer to each check, without figures: a policy answers, or the service ended the access."""
    answers = (Answer(item["entitlement"], allowed, reason, source=source, age=age) for item in items)
    return CheckResult(instance, tuple(answers), confirmed=source == "service")


def by_policy(instance: str, items: list[dict[str, Any]], policy: WhenAway, error: KeyshelfError) -> CheckResult:
    """The answer of a policy to a request that failed. Raises what is no outage."""
    if not error.is_away or policy == FAIL:
        raise error
    return same_for(instance, items, policy == OPEN, "SERVICE_AWAY", "policy")
