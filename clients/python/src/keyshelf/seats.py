"""Seats of a `CONCURRENT` entitlement: a holder has one for a time, and renews it."""

from __future__ import annotations

import threading
import uuid
from typing import Any, Mapping

from .clocks import elapsed, read_clocks
from .problems import ConnectionFailed, KeyshelfError, ProblemError
from .responses import NO_BODY
from .settings import label_of, path_of, seconds_of
from .transport import Transport

DEFAULT_TTL = 300


class Seat:
    """A seat that is held. It ends by itself after its time, and is free at once after `release`.

    `with client.acquire_seat(...) as seat:` releases it at the end. Nothing renews a seat unless you call `renew`, or ask
    for a thread by `keep`.
    """

    def __init__(
        self,
        transport: Transport,
        instance: str,
        entitlement: str,
        holder: str,
        ttl: int,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        self._transport = transport
        self._path = path_of("instances", instance, "entitlements", entitlement, "leases")
        self._ttl = seconds_of("ttl", ttl)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._since = read_clocks()
        self._is_released = False
        self.instance = instance
        self.entitlement = entitlement
        self.holder = label_of("holder", holder)
        self.id = ""
        #: When the service frees the seat, as it describes it.
        self.expires_at = ""
        self._acquire({} if metadata is None else {"metadata": dict(metadata)})

    @property
    def remaining(self) -> float:
        """Seconds for which the seat is surely held, by the clocks of this machine."""
        return 0.0 if self._is_released else max(0.0, self._ttl - elapsed(self._since, read_clocks()))

    @property
    def is_held(self) -> bool:
        """Whether the seat is surely held now."""
        return self.remaining > 0

    def renew(self) -> None:
        """Holds the seat for its whole time from now on.

        Raises `ProblemError` with the code `AcquireLease.LimitReached` if it had ended and others took it. While the
        service is away, the seat stays held until its time is up.
        """
        with self._lock:
            if self._is_released:
                raise RuntimeError("The seat was released")
            self._acquire({})

    def keep(self) -> None:
        """Renews the seat in a thread, three times in its time, until `release`, or until others took it."""
        if self._thread is not None:
            raise RuntimeError("The seat is kept already")

        def run() -> None:
            while not self._stop.wait(self._ttl / 3):
                try:
                    self.renew()
                except KeyshelfError as error:
                    # Another attempt follows while the service is away.
                    if not error.is_away:
                        return
                except RuntimeError:
                    return

        self._thread = threading.Thread(target=run, name="keyshelf-seat", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Frees the seat. If that fails, it ends by its time."""
        self._stop.set()
        with self._lock:
            if self._is_released:
                return
            self._is_released = True
            try:
                self._transport.send("DELETE", f"{self._path}/{self.id}", promised=(NO_BODY,))
            except ProblemError as problem:
                # It has ended, or the response to the first attempt was lost.
                if problem.code != "Lease.NotFound":
                    raise

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _acquire(self, more: dict[str, Any]) -> None:
        since = read_clocks()
        body = {"holder": self.holder, "ttlSeconds": self._ttl, **more}
        # A holder has one lease: a repeated request renews it. The key distinguishes a repetition from the next renewal.
        lease = self._transport.send("POST", self._path, body, idempotency_key=str(uuid.uuid4())).json()
        id, expires_at = (lease.get(name) if isinstance(lease, dict) else None for name in ("id", "expiresAt"))
        if not isinstance(id, str) or not id or not isinstance(expires_at, str):
            raise ConnectionFailed("The response is not a lease")
        self.id, self.expires_at = id, expires_at
        # The time counts from before the request: the seat is never taken for held longer than by the service.
        self._since = since
