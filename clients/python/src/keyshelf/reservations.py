"""Reservations: a quantity that is set aside until it is committed, released, or its time is over."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any, Mapping

from .amounts import Amount, amount_of
from .away import Answer
from .local.ledger.ledger import Ledger
from .local.ledger.reserving import Held
from .problems import ConfigurationError, ConnectionFailed, ProblemError
from .responses import NO_BODY
from .settings import path_of
from .transport import Transport

_MAX_TTL = 86_400


def time_to_live(ttl: Any) -> int:
    """The time of a reservation. Raises `ConfigurationError`."""
    if isinstance(ttl, bool) or not isinstance(ttl, int) or not 1 <= ttl <= _MAX_TTL:
        raise ConfigurationError("ttl", f"must be a whole number of seconds from 1 to {_MAX_TTL}")
    return ttl


class Reservation:
    """A quantity that checks and other consumption leave room for.

    `with client.reserve(...) as reserved:` releases what was not committed. Without that it ends by its time.
    """

    def __init__(self, instance: str, item: Mapping[str, Any], answer: Answer) -> None:
        self.instance = instance
        self.entitlement: str = item["entitlement"]
        self.quantity: Decimal = item["requested"]
        #: Whether the quantity is set aside, and why it is not.
        self.answer = answer

    @property
    def allowed(self) -> bool:
        """Whether the quantity is set aside."""
        return self.answer.allowed

    def commit(self, used: Amount | None = None) -> None:
        """Consumes what was used, by default all of it, and frees the rest. Raises `RuntimeError` if it has ended."""
        raise NotImplementedError

    def release(self) -> None:
        """Frees what is set aside. After a commit, and after its time, there is nothing to free."""
        raise NotImplementedError

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class LocalReservation(Reservation):
    """Units of a tranche. They count in the period in which they were reserved, and end with the process."""

    def __init__(self, instance: str, item: Mapping[str, Any], answer: Answer, ledger: Ledger, held: Held) -> None:
        super().__init__(instance, item, answer)
        self._ledger = ledger
        self._held = held

    def commit(self, used: Amount | None = None) -> None:
        amount = None if used is None else amount_of(used)
        if not self._ledger.commit(self._held, amount):
            raise RuntimeError("The reservation has ended" if self.allowed else f"Nothing is reserved: {self.answer.reason}")

    def release(self) -> None:
        self._ledger.release(self._held)


class RemoteReservation(Reservation):
    """A reservation of the service, which it makes by a request."""

    def __init__(
        self, transport: Transport, instance: str, item: Mapping[str, Any], ttl: int, metadata: Mapping[str, Any] | None
    ) -> None:
        super().__init__(instance, item, Answer(item["entitlement"], True, "GRANTED"))
        self._transport = transport
        self._key = str(uuid.uuid4())
        self._is_over = False
        #: When the service ends it, as it describes it.
        self.expires_at = ""
        self.id = ""
        body: dict[str, Any] = {"quantity": self.quantity, "expiresInSeconds": ttl}
        if metadata is not None:
            body["metadata"] = dict(metadata)
        path = path_of("instances", instance, "entitlements", self.entitlement, "reservations")
        try:
            made = transport.send("POST", path, body, idempotency_key=self._key).json()
        except ProblemError as problem:
            if problem.code != "Reserve.LimitReached":
                raise
            self.answer = replace(self.answer, allowed=False, reason="LIMIT_REACHED")
            self._is_over = True
            return
        id, expires_at = (made.get(name) if isinstance(made, dict) else None for name in ("id", "expiresAt"))
        if not isinstance(id, str) or not id or not isinstance(expires_at, str):
            raise ConnectionFailed("The response is not a reservation")
        self.id, self.expires_at = id, expires_at

    def commit(self, used: Amount | None = None) -> None:
        """Counts what was used, and frees the rest. It can be repeated after an interruption."""
        if not self.allowed:
            raise RuntimeError(f"Nothing is reserved: {self.answer.reason}")
        body = {} if used is None else {"quantity": amount_of(used)}
        path = path_of("reservations", self.id, "commit")
        self._transport.send("POST", path, body, idempotency_key=f"{self._key}-commit")
        self._is_over = True

    def release(self) -> None:
        """Frees all of it. If that fails, it ends by its time."""
        if self._is_over:
            return
        self._is_over = True
        try:
            self._transport.send("DELETE", path_of("reservations", self.id), promised=(NO_BODY,))
        except ProblemError as problem:
            # It has ended, or the response to the first attempt was lost.
            if problem.code not in ("Reservation.NotFound", "Reservation.NotHeld"):
                raise
