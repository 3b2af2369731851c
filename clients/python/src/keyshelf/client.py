"""The client of a product: it decides locally, consumes and reports usage, holds seats and reads flags."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Iterable, Mapping, Sequence

from .amounts import Amount, amount_of, time_text
from .away import CLOSED, FAIL, Answer, WhenAway, policy_of
from .buffer import DEFAULT_CAPACITY, UsageBuffer
from .checks import Check, CheckResult, by_policy, check_of, items_of, result_of
from .flags import Flags, FlagSet
from .local.deciding import decide_by, flags_by, status_of
from .local.ledger.ledger import REFILL_TIMEOUT
from .local.ledger.spender import Wish
from .local.mode import LocalMode, OnEvent, Status, local_options
from .problems import ConnectionFailed, KeyshelfError
from .reservations import LocalReservation, RemoteReservation, Reservation, time_to_live
from .responses import JSON_BODY, NO_BODY
from .seats import DEFAULT_TTL, Seat
from .settings import Token, key_of, label_of, path_of, seconds_of, settings_of, target_of
from .transport import Transport


class Client:
    """Calls the service with one credential, such as a license key, and decides by what it sent. May be used by several threads.

    `base_url` is the address of the service, such as `https://keyshelf.example`; an `/api` at its end is left out. `token`
    is the credential, or a function that reads it for each request; white space around it is left out.

    In `mode="local"`, checks, flags and most consumption need no request: one thread holds a snapshot of each instance that is
    used, and units to consume, in memory and in `directory`, from which a product starts while the service is away. `keys` and `issuer` are the vendor's, part of
    the product; without them, those that the service publishes at the first fetch count. `families` are the license families
    of this product, `bundle` a bundle that is shipped with it. `when_away` answers if nothing is known, by default `CLOSED`.
    The first call waits for the service, at most `start_timeout` seconds. `flush` is when a consumption is on the disk: `"100ms"`
    after it, or `"always"` before its answer; it survives the end of the process either way. `on_event` receives what happens.

    In `mode="remote"` each call is a request; then `when_away` is `FAIL` by default, and no thread is started.

    An attempt takes `timeout` seconds at most, a call `deadline` seconds with all its attempts; a request is repeated up to
    `retries` times where that is safe. Raises `ConfigurationError` for what can never work.
    """

    def __init__(
        self,
        base_url: str,
        token: Token,
        *,
        mode: str = "local",
        directory: Any = None,
        keys: Mapping[str, Any] | None = None,
        issuer: str | None = None,
        families: Sequence[str] | None = None,
        bundle: str | None = None,
        when_away: WhenAway | None = None,
        start_timeout: float = 2.0,
        flush: str = "100ms",
        on_event: OnEvent | None = None,
        timeout: float = 10.0,
        deadline: float = 30.0,
        retries: int = 2,
    ) -> None:
        self._transport = Transport(settings_of(base_url, token, timeout, deadline, retries))
        options = local_options(mode, directory, keys, issuer, families, bundle, start_timeout, flush, on_event)
        self._when_away = policy_of(when_away, CLOSED if mode == "local" else FAIL)
        self._local = LocalMode(self._transport, options) if mode == "local" else None
        self._flags = Flags(self._transport)

    def start(self, instance: str) -> Status:
        """Holds a snapshot of an instance from now on. The first use of an instance does the same.

        Waits for the service, at most `start_timeout`; not at all if a snapshot is stored.
        """
        return status_of(self._mode().start(instance))

    def status(self, instance: str) -> Status:
        """What is known of an instance now. Sends nothing, and waits for nothing."""
        return status_of(self._mode().follow(instance))

    def refresh(self, instance: str) -> Status:
        """Asks the service now, and waits for it. Raises what that fails with."""
        return status_of(self._mode().refresh(instance))

    def close(self) -> None:
        """Settles what was consumed, gives back what is left, and frees the folder. Takes at most 5 seconds."""
        if self._local is not None:
            self._local.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mode(self) -> LocalMode:
        if self._local is None:
            raise RuntimeError("The client is in remote mode: it holds no snapshots")
        return self._local

    def check(
        self,
        instance: str,
        entitlement: str,
        requested: Amount | None = None,
        *,
        at: datetime | str | None = None,
        when_away: WhenAway | None = None,
        remote: bool = False,
    ) -> Answer:
        """Says whether an instance may use an entitlement, by default one more. Changes nothing."""
        options: dict[str, Any] = {"at": at, "when_away": when_away, "remote": remote}
        return self.check_all(instance, [check_of(entitlement, requested)], **options).checks[0]

    def check_all(
        self,
        instance: str,
        checks: Iterable[Check],
        *,
        at: datetime | str | None = None,
        when_away: WhenAway | None = None,
        remote: bool = False,
    ) -> CheckResult:
        """Like `check`, for up to 100 entitlements at once. `remote`, or another time (`at`), makes a request."""
        policy, items = policy_of(when_away, self._when_away), items_of(checks)
        if self._local is not None and at is None and not remote:
            return decide_by(self._local.instance(instance), items, policy)
        body: dict[str, Any] = {"checks": items}
        if at is not None:
            body["at"] = time_text(at)
        try:
            # A check changes nothing, so it may be sent twice.
            return self._requested(instance, body, is_idempotent=True)
        except KeyshelfError as error:
            return by_policy(instance, items, policy, error)

    def consume(
        self,
        instance: str,
        entitlement: str,
        requested: Amount | None = None,
        *,
        idempotency_key: str | None = None,
        when_away: WhenAway | None = None,
        remote: bool = False,
        wait: float = REFILL_TIMEOUT,
    ) -> Answer:
        """Consumes if that is allowed: from a tranche that the client holds, without a request.

        If that does not pay, it waits for a refill, at most `wait` seconds. If the service is away, the license decides
        (`SERVICE_AWAY`, source `policy`).

        `idempotency_key` is the id of what you do, such as a job's. The same key and amount charges once within 24 hours, in this
        process and its `directory`. Remote mode and `remote` make a request, and require the key: the service compares it, also
        across processes. If it is away, it is not known whether usage was consumed: call again with the same key.
        """
        options: dict[str, Any] = {"idempotency_key": idempotency_key, "when_away": when_away, "remote": remote, "wait": wait}
        return self.consume_all(instance, [check_of(entitlement, requested)], **options).checks[0]

    def consume_all(
        self,
        instance: str,
        checks: Iterable[Check],
        *,
        idempotency_key: str | None = None,
        when_away: WhenAway | None = None,
        remote: bool = False,
        wait: float = REFILL_TIMEOUT,
    ) -> CheckResult:
        """Like `consume`, for several entitlements: all are consumed, or none."""
        policy, items = policy_of(when_away, self._when_away), items_of(checks)
        seconds = seconds_of("wait", wait, may_be_least=True)
        if self._local is not None and not remote:
            wish = Wish(items, policy, None if idempotency_key is None else key_of(idempotency_key))
            return self._local.instance(instance).ledger.consume(wish, seconds)
        try:
            return self._requested(instance, {"checks": items, "consume": True}, idempotency_key=key_of(idempotency_key))
        except KeyshelfError as error:
            return by_policy(instance, items, policy, error)

    def _requested(self, instance: str, body: dict[str, Any], **options: Any) -> CheckResult:
        response = self._transport.send("POST", path_of("instances", instance, "check"), body, **options)
        return result_of(response, len(body["checks"]))

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
        options = {"uniqueKey": unique_key, "behavior": behavior}
        times = {} if timestamp is None else {"timestamp": time_text(timestamp)}
        id = label_of("transaction_id", transaction_id or str(uuid.uuid4()))
        body = {"value": amount_of(value), "transactionId": id, **times}
        body.update({name: text for name, text in options.items() if text is not None})
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

    def reserve(
        self,
        instance: str,
        entitlement: str,
        quantity: Amount = 1,
        *,
        ttl: int = 300,
        metadata: Mapping[str, Any] | None = None,
        when_away: WhenAway | None = None,
        remote: bool = False,
        wait: float = REFILL_TIMEOUT,
    ) -> Reservation:
        """Sets a quantity aside for work whose cost is known only afterwards, for `ttl` seconds. Then `commit` what was used.

        `allowed` of the reservation says whether that much is set aside, and `answer` why it is not. In local mode it comes
        from a tranche, as in `consume`, and ends with the process. `metadata` is stored by the service: it needs `remote`.
        """
        policy, items = policy_of(when_away, self._when_away), items_of([(entitlement, quantity)])
        seconds, lasts = seconds_of("wait", wait, may_be_least=True), time_to_live(ttl)
        if self._local is None or remote:
            return RemoteReservation(self._transport, instance, items[0], lasts, metadata)
        if metadata is not None:
            raise ValueError("A reservation in local mode has no metadata: use remote=True")
        ledger = self._local.instance(instance).ledger
        result, held = ledger.reserve(Wish(items, policy), lasts, seconds)
        return LocalReservation(instance, items[0], result.checks[0], ledger, held)

    def flags(
        self,
        context: Mapping[str, Any],
        *,
        instance: str | None = None,
        when_away: WhenAway | None = None,
        remote: bool = False,
    ) -> FlagSet:
        """Evaluates all flags for a context, as OpenFeature describes it. `targetingKey` is what percentages are computed from.

        In local mode by the snapshot of `instance`; the only one in use may be left out. Otherwise by a request (OFREP), whose
        values are not sent again if they have not changed (`ETag`). If nothing is known, no flag has a value, so each has its
        default; `FAIL` raises an error.
        """
        policy = policy_of(when_away, self._when_away)
        if self._local is not None and not remote:
            followed = self._local.instance(self._local.only() if instance is None else instance)
            known = flags_by(followed, context, policy)
            if known is not None:
                return known
        return self._flags.evaluate(context, policy)

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
