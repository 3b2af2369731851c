"""The snapshot that a product holds of an instance: how it comes into force, and how it survives a restart."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from typing import Any, Callable, Generator, Mapping, Protocol

from .clock import ServiceClock
from .ledger.stored import LedgerStore
from .service import Ask, AskKeys, Failure, KeySet, Reply, Sent, Service, SnapshotRejected, failure_of
from .snapshots import Snapshot, Trust, has_key, organization_of, said_by, verify_kept, verify_sent
from .states import Facts, state_at
from .stored import Stored, newest_of

#: A snapshot that is older than the one in force by more than these seconds is not taken.
_MAX_OLDER = 300
_UNTRUSTED = ("MALFORMED", "BAD_SIGNATURE", "UNKNOWN_KEY")


#: Receives the claims of a snapshot.
Taken = Callable[[Mapping[str, Any]], None]


class Store(Protocol):
    """Where snapshots and ledgers survive a restart."""

    def read(self) -> tuple[list[Stored], list[Stored]]:
        """What this process stored, and what others did."""

    def write(self, instance_id: str, stored: Stored) -> None: ...

    def set_aside(self, stored: Stored) -> None: ...

    def open_ledger(self, instance_id: str) -> LedgerStore | None:
        """The ledger of an instance; `None` if it is in memory."""


@dataclass(frozen=True)
class Parts:
    """What an instance is made of. A test replaces time, network, disk and dice."""

    clock: ServiceClock
    service: Service
    store: Store
    #: From 0 to 1.
    random: Callable[[], float]
    #: Notifies the product: `emit(type, instance, **fields)`.
    emit: Callable[..., None]
    #: Keys that are part of the product. Without them, those that the service publishes at the first fetch.
    keys: Mapping[str, Any] | None = None
    issuer: str | None = None
    families: tuple[str, ...] | None = None
    #: A bundle that is shipped with the product, for a start without anything stored.
    bundle: str | None = None
    start_timeout: float = 2.0
    #: Whether a consumption waits for the disk.
    flush_always: bool = False
    #: Says when the thread that drives the instance has something to do, in monotonic seconds.
    wake_at: Callable[[float], None] = lambda at: None


class Holding:
    """Checks read `view` without a lock. One thread changes what is held."""

    def __init__(self, slug: str, parts: Parts, seed: Stored | None = None) -> None:
        self.slug = slug
        self._parts = parts
        self.changed = threading.Condition()
        #: Whether the snapshot is a bundle of the product, which is not stored.
        self._is_shipped = False
        self._trust = Trust(parts.issuer, parts.keys or {})
        #: Replaced as a whole.
        self.view: tuple[Facts, Snapshot | None] = (Facts(), None)
        self._restore(seed)

    def state(self) -> str:
        clock = self._parts.clock
        return state_at(self.view[0], clock.monotonic(), clock.now())

    def set(self, **facts: Any) -> None:
        """Changes facts."""
        with self.changed:
            self.view = (replace(self.view[0], **facts), self.view[1])
            self.changed.notify_all()

    def put(self, snapshot: Snapshot | None, **facts: Any) -> None:
        """Replaces the snapshot in force, and changes facts."""
        with self.changed:
            self.view = (replace(self.view[0], **facts), snapshot)
            self.changed.notify_all()

    def take(self, sent: Sent, sent_at: float, taken: Taken | None = None) -> Generator[Ask, Reply, Failure | None]:
        """Takes what the service sent, and asks for keys where it needs them. Returns why it was not taken, if so.

        `taken` is called with the claims that come into force, under the lock.
        """
        parts, current = self._parts, self.view[1]
        reading = parts.clock.reading(sent.date)
        if sent.token is None:
            if current is None:
                return Failure(SnapshotRejected(self.slug, "MALFORMED"))
            self._confirm(current, sent, sent_at, reading)
            return None
        trust = yield from self._trust_for(sent.token)
        if isinstance(trust, Failure):
            return trust
        verified = verify_sent(sent.token, self.slug, parts.families, trust, reading[0])
        status, claims = verified.status, verified.claims
        if claims is not None and current is not None and claims["iat"] < current.claims["iat"] - _MAX_OLDER:
            status, claims = "SUPERSEDED", None
        if claims is not None:
            with self.changed:
                self._trust, self._is_shipped = replace(trust, state=verified.state), False
                self._confirm(Snapshot.of(sent.token, sent.etag, claims), sent, sent_at, reading)
                if taken is not None:
                    taken(claims)
            self.store()
        parts.emit("snapshot", self.slug, status=status, taken=claims is not None)
        return None if claims is not None else failure_of(SnapshotRejected(self.slug, status))

    def revoke(self) -> None:
        """The service ended the access: no restart revives the snapshot."""
        self.put(None, is_revoked=True, is_starting=False, exp=None)
        self._is_shipped = False
        self.store()

    def store(self) -> None:
        """Stores what is held, with the latest time, so that a clock that is turned back is noticed after a restart."""
        state, trust = self._trust.state, self._trust
        if state is None or self._is_shipped:
            return
        self._trust = replace(trust, state={**state, "latest": max(state.get("latest", 0), math.floor(self._parts.clock.now()))})
        record = self.record()
        if record is not None:
            self._on_disk(lambda: self._parts.store.write(str(state["sub"]), record))

    def record(self) -> Stored | None:
        """What is stored of the instance now."""
        (facts, snapshot), clock, trust = self.view, self._parts.clock, self._trust
        keys, now = {} if self._parts.keys is not None else trust.keys, clock.now()
        if facts.is_revoked:
            return Stored(self.slug, None, None, now, trust.issuer, keys, trust.state, now)
        if snapshot is None:
            return None
        confirmed_at = now - max(0.0, clock.monotonic() - facts.confirmed_at)
        return Stored(self.slug, snapshot.token, snapshot.etag, confirmed_at, trust.issuer, keys, trust.state)

    # What a ledger needs

    def instance_id(self) -> str | None:
        """The id of the instance, once a snapshot named it."""
        state = self._trust.state
        return None if state is None else str(state["sub"])

    def verified(self, token: str) -> Mapping[str, Any] | None:
        """The claims of a stored snapshot, by which a tranche may pay."""
        return verify_kept(token, self.slug, self._parts.families, self._trust_in(token), self._parts.clock.now()).claims

    def _trust_in(self, token: str) -> Trust:
        """What verifies a token that was stored or shipped."""
        return self._trust if self._trust.issuer is not None else replace(self._trust, issuer=said_by(token)[1])

    def _confirm(self, snapshot: Snapshot, sent: Sent, sent_at: float, reading: tuple[float, float]) -> None:
        self._parts.clock.set(reading)
        self.put(
            snapshot,
            is_revoked=False,
            exp=snapshot.claims["exp"],
            confirmed_at=reading[1],
            requested_at=sent_at,
            max_age=sent.max_age or Facts.max_age,
        )

    def _trust_for(self, token: str) -> Generator[Ask, Reply, Trust | Failure]:
        """What verifies a token: keys of the product, else those that the service publishes, read when another key signs."""
        kid, issuer = said_by(token)
        current, trust = self.view[1], self._trust
        known = replace(trust, issuer=trust.issuer or issuer)
        is_same = current is not None and said_by(current.token)[0] == kid
        if self._parts.keys is not None or (is_same and has_key(trust.keys, kid)):
            return known
        organization = organization_of(known.issuer)
        if organization is None:
            return known
        reply = yield AskKeys(organization)
        if not isinstance(reply, KeySet):
            return reply if isinstance(reply, Failure) else Failure(SnapshotRejected(self.slug, "UNKNOWN_KEY"))
        # The key before may be revoked: what it introduced is forgotten.
        state = None if trust.state is None else {**trust.state, "keys": {}}
        return Trust(known.issuer, reply.keys, state)

    def _restore(self, seed: Stored | None) -> None:
        parts = self._parts
        own_records: list[Stored] = []
        others: list[Stored] = [] if seed is None else [seed]
        try:
            own_records, more = parts.store.read()
            others += more
        except OSError as error:
            parts.emit("error", self.slug, error=error)
        stored = newest_of([*own_records, *others], self.slug)
        if stored is not None:
            keys = stored.keys if parts.keys is None else parts.keys
            self._trust = Trust(parts.issuer or stored.issuer, keys, stored.state)
            if stored.revoked_at is not None:
                self.view = (Facts(is_revoked=True), None)
                return
            if stored.token is not None and self._keep(stored.token, stored.etag, stored.confirmed_at) in _UNTRUSTED:
                # Something changed it, so its keys and its state say nothing.
                self._trust = Trust(parts.issuer, parts.keys or {})
                self._on_disk(lambda: parts.store.set_aside(stored))
        if parts.bundle is not None:
            self._keep(parts.bundle, None, None)
        if stored is not None and stored not in own_records:
            # Another process stored it, or the one before a fork holds it.
            self.store()

    def _keep(self, token: str, etag: str | None, confirmed_at: float | None) -> str:
        """Brings what was stored or shipped into force, if it is usable and newer than what is. Returns its status."""
        clock, current = self._parts.clock, self.view[1]
        trust = self._trust_in(token)
        verified = verify_kept(token, self.slug, self._parts.families, trust, clock.wall())
        claims = verified.claims
        if claims is not None and (current is None or claims["iat"] > current.claims["iat"]):
            self._trust, self._is_shipped = replace(trust, state=verified.state), confirmed_at is None
            clock.at_least(max(claims["iat"], (verified.state or {}).get("latest", 0)))
            age = max(0.0, clock.now() - (claims["iat"] if confirmed_at is None else confirmed_at))
            facts = Facts(exp=claims["exp"], confirmed_at=clock.monotonic() - age)
            self.view = (facts, Snapshot.of(token, etag, claims))
        return verified.status

    def _on_disk(self, work: Callable[[], None]) -> None:
        """A disk that is full must not end what works in memory."""
        try:
            work()
        except OSError as error:
            self._parts.emit("error", self.slug, error=error)
