"""The client of a product: it checks, consumes and reports usage, holds seats and reads flags."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Iterable, Mapping, Union

from .amounts import Amount, amount_of, time_text
from .away import FAIL, Answer, KnownAnswers, WhenAway, answer_of, check_policy
from .buffer import DEFAULT_CAPACITY, UsageBuffer
from .flags import Flags, FlagSet
from .problems import ConnectionFailed, KeyshelfError
from .responses import JSON_BODY, NO_BODY
from .seats import DEFAULT_TTL, Seat
from .settings import Token, key_of, label_of, name_of, path_of, settings_of, target_of
from .transport import Response, Transport

MAX_CHECKS = 100

#: One check: the slug of an entitlement, or that and how much is requested.
Check = Union[str, "tuple[str, Amount]"]


@dataclass(frozen=True)
class CheckResult:
    """The answers to the checks of one request, in their order."""

    instance: str
    checks: tuple[Answer, ...]
    #: Slug of the license version; `None` while the service is away.
    license: str | None = None
    at: str | None = None
    #: When access ends, if the license has ended and is in its grace period.
    grace_ends_at: str | None = None
    #: Whether the service answered. If not, it is not known whether usage was consumed.
    confirmed: bool = True

    @property
    def allowed(self) -> bool:
        """Whether each check is allowed."""
        return all(answer.allowed for answer in self.checks)


class Client:
    """Calls the service with one credential, such as a license key. May be used by several threads.

    `base_url` is the address of the service, such as `https://keyshelf.example`; an `/api` at its end is left out. `token`
    is the credential, or a function that reads it for each request; white space around it is left out. An attempt takes `timeout` seconds at most, a call `deadline` seconds with all its
    attempts; a request is repeated up to `retries` times where that is safe. A client starts no threads.
    Raises `ConfigurationError` for what can never work.
    """

    def __init__(
        self, base_url: str, token: Token, *, timeout: float = 10.0, deadline: float = 30.0, retries: int = 2
    ) -> None:
        self._transport = Transport(settings_of(base_url, token, timeout, deadline, retries))
        self._known = KnownAnswers()
        self._flags = Flags(self._transport)

    # Checks

    def check(
        self,
        instance: str,
        entitlement: str,
        requested: Amount | None = None,
        *,
        at: datetime | str | None = None,
        when_away: WhenAway = FAIL,
    ) -> Answer:
        """Asks whether an instance may use an entitlement, by default one more. Changes nothing."""
        check: Check = entitlement if requested is None else (entitlement, requested)
        return self.check_all(instance, [check], at=at, when_away=when_away).checks[0]

    def check_all(
        self,
        instance: str,
        checks: Iterable[Check],
        *,
        at: datetime | str | None = None,
        when_away: WhenAway = FAIL,
    ) -> CheckResult:
        """Like `check`, for up to 100 entitlements in one request."""
        body = _check_body(checks)
        if at is not None:
            body["at"] = time_text(at)
        # A check changes nothing, so it may be sent twice.
        return self._checked(instance, body, when_away, is_idempotent=True)

    def consume(
        self,
        instance: str,
        entitlement: str,
        requested: Amount | None = None,
        *,
        idempotency_key: str,
        when_away: WhenAway = FAIL,
    ) -> Answer:
        """Consumes if that is allowed. `idempotency_key` is the id of what you do, such as a job's.

        The same key and amount never charges twice within 24 hours, so an interrupted call can be repeated with it, by
        another process too. If the service is away, `when_away` answers: then it is not known whether usage was
        consumed, and the answer's `source` is not `service`. Call `consume` again with the same key to find out.
        """
        check: Check = entitlement if requested is None else (entitlement, requested)
        result = self.consume_all(instance, [check], idempotency_key=idempotency_key, when_away=when_away)
        return result.checks[0]

    def consume_all(
        self, instance: str, checks: Iterable[Check], *, idempotency_key: str, when_away: WhenAway = FAIL
    ) -> CheckResult:
        """Like `consume`, for several entitlements: all are consumed, or none."""
        key_of(idempotency_key)
        body = {**_check_body(checks), "consume": True}
        return self._checked(instance, body, when_away, idempotency_key=idempotency_key)

    def _checked(self, instance: str, body: dict[str, Any], when_away: WhenAway, **options: Any) -> CheckResult:
        check_policy(when_away)
        path = path_of("instances", instance, "check")
        try:
            response = self._transport.send("POST", path, body, **options)
            result = _result_of(response, len(body["checks"]))
        except KeyshelfError as error:
            recalled = self._recalled(instance, body, when_away) if error.is_away else None
            if recalled is None:
                raise
            return recalled
        if "at" not in body:
            for check, answer in zip(body["checks"], result.checks):
                self._known.remember(instance, check.get("requested", Decimal(1)), answer)
        return result

    def _recalled(self, instance: str, body: dict[str, Any], when_away: WhenAway) -> CheckResult | None:
        answers = []
        for check in body["checks"]:
            requested = check.get("requested", Decimal(1))
            answer = self._known.recall(instance, check["entitlement"], requested, when_away)
            if answer is None:
                return None
            answers.append(answer)
        return CheckResult(instance, tuple(answers), confirmed=False)

    # Usage

    def report(
        self,
        instance: str,
        entitlement: str,
        value: Amount = 1,
        *,
        transaction_id: str | None = None,
        unique_key: str | None = None,
        behavior: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> dict[str, Any]:
        """Reports usage that has happened, and returns the usage of the period as the service describes it.

        The same `transaction_id` counts once within 35 days; by default each call has its own. Amounts are `Decimal` or
        `int`. A `usage_buffer` collects reports and survives times without the service.
        """
        body: dict[str, Any] = {"value": amount_of(value), "transactionId": label_of("transaction_id", transaction_id or str(uuid.uuid4()))}
        if unique_key is not None:
            body["uniqueKey"] = unique_key
        if behavior is not None:
            body["behavior"] = behavior
        if timestamp is not None:
            body["timestamp"] = time_text(timestamp)
        path = path_of("instances", instance, "entitlements", entitlement, "usage")
        usage = self._transport.send("POST", path, body, is_idempotent=True).json()
        if not isinstance(usage, dict) or not isinstance(usage.get("usageValue"), dict):
            raise ConnectionFailed("The response is not the usage of a period")
        return usage

    def usage_buffer(
        self, path: str | None = None, *, capacity: int = DEFAULT_CAPACITY, source: str | None = None
    ) -> UsageBuffer:
        """A local buffer of reports. With a `path` they survive a restart."""
        return UsageBuffer(self._transport, path, capacity=capacity, source=source)

    # Seats and flags

    def acquire_seat(
        self,
        instance: str,
        entitlement: str,
        holder: str,
        *,
        ttl: int = DEFAULT_TTL,
        metadata: Mapping[str, Any] | None = None,
    ) -> Seat:
        """Takes a seat of a `CONCURRENT` entitlement for a holder, such as a user or a device, for `ttl` seconds.

        Raises `ProblemError` with the code `AcquireLease.LimitReached` if all are taken.
        """
        return Seat(self._transport, instance, entitlement, holder, ttl, metadata)

    def flags(self, context: Mapping[str, Any], *, max_age: float | None = None) -> FlagSet:
        """Evaluates all flags for a context (OFREP). Its `targetingKey` may be the slug of an instance.

        Values that have not changed are not sent again (`ETag`). If the service is away and `max_age` is given, the last
        values are returned if they are at most that many seconds old, else none: then each flag has its default.
        """
        return self._flags.evaluate(context, max_age)

    # Other operations

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Calls any other operation: `client.call("GET", "/instances/globex-prod")`. Returns the parsed body, or `None`."""
        target = f"/api{target_of(method, path)}"
        promised = (JSON_BODY,) if method == "GET" else (JSON_BODY, NO_BODY)
        sent = self._transport.send(
            method, target, body, query=query, idempotency_key=idempotency_key, promised=promised
        )
        return None if sent.status == 204 else sent.json()


def _check_body(checks: Iterable[Check]) -> dict[str, Any]:
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
    return {"checks": items}


def _result_of(response: Response, count: int) -> CheckResult:
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


