"""Local mode: a product asks the service once, and then decides by itself."""

from __future__ import annotations

import os
import random
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping

from ..journal import BufferLocked
from ..problems import ConfigurationError
from ..settings import path_of, seconds_of
from ..transport import Transport
from .clock import ServiceClock
from .files import FileStore, MemoryStore, directory_of
from .holding import Parts, Store
from .instance import Instance
from .ledger.ledger import HeldTranche, Unsettled
from .service import HttpService
from .snapshots import organization_of
from .stored import Stored
from .worker import Worker

#: Receives what happens: `{"type": "state"|"snapshot"|"refill"|"settled"|"rejected"|"error", "instance": slug, ...}`.
OnEvent = Callable[[Mapping[str, Any]], None]

#: How long `close` waits for a request that is in flight.
_CLOSE_TIMEOUT = 5.0
#: How long `refresh` waits. The thread may be in another request, and both may take their time.
_REFRESH_TIMEOUT = 30.0


@dataclass(frozen=True)
class LocalOptions:
    """What local mode is made with, checked."""

    directory: str | None
    keys: Mapping[str, Any] | None
    issuer: str | None
    families: tuple[str, ...] | None
    bundle: str | None
    start_timeout: float
    #: Whether a consumption waits for the disk.
    flush_always: bool
    on_event: OnEvent | None


def local_options(
    mode: Any,
    directory: Any,
    keys: Any,
    issuer: Any,
    families: Any,
    bundle: Any,
    start_timeout: Any,
    flush: Any,
    on_event: Any,
) -> LocalOptions:
    """Raises `ConfigurationError` for what can never work."""
    for name, value, values in [("mode", mode, ("local", "remote")), ("flush", flush, ("100ms", "always"))]:
        if value not in values:
            raise ConfigurationError(name, f'must be "{values[0]}" or "{values[1]}"')
    if keys is not None and not (isinstance(keys, Mapping) and keys):
        raise ConfigurationError("keys", "must be the key set of the organization")
    if issuer is not None and (not isinstance(issuer, str) or organization_of(issuer) is None):
        raise ConfigurationError("issuer", "must be urn:keyshelf:organization:<id>")
    if bundle is not None and not isinstance(bundle, str):
        raise ConfigurationError("bundle", "must be the text of a bundle")
    if bundle is not None and keys is None:
        raise ConfigurationError("bundle", "needs keys: only they say that it is the vendor's")
    listed = None if families is None else _texts("families", families)
    if on_event is not None and not callable(on_event):
        raise ConfigurationError("on_event", "must be a function")
    wait = seconds_of("start_timeout", start_timeout, may_be_least=True)
    known_keys = None if keys is None else dict(keys)
    return LocalOptions(directory_of(directory), known_keys, issuer, listed, bundle, wait, flush == "always", on_event)


def _texts(name: str, values: Any) -> tuple[str, ...]:
    listed = () if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) else tuple(values)
    if not listed or not all(isinstance(one, str) for one in listed):
        raise ConfigurationError(name, "must be a list of texts")
    return listed


@dataclass(frozen=True)
class Status:
    """What is known of an instance."""

    #: `STARTING`, `LIVE`, `POLLING`, `STALE`, `EXPIRED`, `NONE`, `REVOKED` or `CLOSED`.
    state: str
    #: Seconds since the service confirmed the snapshot; `None` without one.
    age: float | None
    etag: str | None
    #: Until when the snapshot decides without the service, in ISO 8601; `None` without one.
    expires_at: str | None
    #: What can be consumed without a request.
    tranches: tuple[HeldTranche, ...] = ()
    #: What was consumed, and the service has not counted yet.
    unsettled: tuple[Unsettled, ...] = ()


class LocalMode:
    """The instances that a process uses. After a fork, the new process follows them by itself, in a slot of its own."""

    def __init__(self, transport: Transport, options: LocalOptions) -> None:
        self._transport = transport
        self._options = options
        self._begin([])
        _MODES.add(self)

    def _begin(self, seeds: list[Stored]) -> None:
        self._lock = threading.Lock()
        self._seeds = {seed.instance: seed for seed in seeds}
        self._store: FileStore | MemoryStore | None = None
        self._is_closed = False
        self._clock = ServiceClock()
        self._service = HttpService(self._transport)
        self._worker = Worker(self._service, self._make)

    def instance(self, slug: str) -> Instance:
        """An instance as it is now. What is used for the first time waits for the first fetch, unless it is stored."""
        found = self.follow(slug)
        if found.is_waiting and not _runs_in_a_loop():
            found.wait_for_first()
        return self._usable(found)

    def start(self, slug: str) -> Instance:
        """Follows an instance, and waits for its first snapshot, also in a loop of asyncio."""
        found = self.follow(slug)
        found.wait_for_first()
        return self._usable(found)

    def _usable(self, found: Instance) -> Instance:
        self._check_open()
        failure = found.failure
        facts, snapshot = found.view
        # Without a snapshot, what the service rejects fails the call: a wrong token must be seen.
        if failure is not None and not failure.is_away and snapshot is None and not facts.is_revoked:
            raise failure.error.with_traceback(None)
        return found

    def follow(self, slug: str) -> Instance:
        """An instance, which is followed from now on. Waits for nothing."""
        found = self._worker.instances.get(slug)
        if found is None:
            path_of("instances", slug)
            self._check_open()
            found = self._worker.instance(slug)
        return found

    def only(self) -> str:
        """The only instance in use. Raises `ValueError` if there is another number of them."""
        slugs = list(self._worker.instances)
        if len(slugs) != 1:
            raise ValueError("Name the instance: flags(context, instance=...). Only a single one in use may be left out")
        return slugs[0]

    def refresh(self, slug: str) -> Instance:
        """Asks the service now. Raises what that failed with."""
        self._check_open()
        found = self.follow(slug)
        number = found.request_fetch()
        self._worker.wake()
        found.wait_for_fetch(number, _REFRESH_TIMEOUT)
        return found

    def close(self) -> None:
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            self._worker.close(_CLOSE_TIMEOUT)
            if self._store is not None:
                self._store.close()

    def forked(self) -> None:
        """Begins anew in the new process, with the snapshots of the one before."""
        was_closed, seeds = self._is_closed, self._worker.records()
        self._worker.abandon()
        if self._store is not None:
            self._store.abandon()
        self._begin(seeds)
        self._is_closed = was_closed

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("The client is closed")

    def _make(self, slug: str) -> Instance:
        options = self._options
        parts = Parts(
            clock=self._clock,
            service=self._service,
            store=self._opened_store(slug),
            random=random.random,
            emit=self._emit,
            keys=options.keys,
            issuer=options.issuer,
            families=options.families,
            bundle=options.bundle,
            start_timeout=options.start_timeout,
            flush_always=options.flush_always,
            wake_at=self._worker.wake_at,
        )
        return Instance(slug, parts, self._seeds.get(slug))

    def _opened_store(self, slug: str) -> Store:
        """The store of this process. A folder that cannot be used must not end what works in memory."""
        if self._store is None:
            self._store = MemoryStore()
            if self._options.directory is not None:
                try:
                    self._store = FileStore(self._options.directory)
                except (OSError, BufferLocked) as error:
                    self._emit("error", slug, error=error)
        return self._store

    def _emit(self, type: str, instance: str, **fields: Any) -> None:
        if self._options.on_event is not None:
            try:
                self._options.on_event({"type": type, "instance": instance, **fields})
            except Exception:
                # What a product does with events must not end its decisions.
                pass


def _runs_in_a_loop() -> bool:
    """Whether this thread runs a loop of asyncio, which must not wait."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


_MODES: weakref.WeakSet[LocalMode] = weakref.WeakSet()


def _forked() -> None:
    for mode in list(_MODES):
        mode.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
