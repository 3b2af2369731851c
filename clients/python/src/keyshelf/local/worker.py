"""The thread of a local client: it follows all instances of a process."""

from __future__ import annotations

import math
import selectors
import socket
import threading
from typing import Any, Callable, Generator

from .clock import monotonic
from .instance import Instance
from .service import Ask, Reply, Service
from .stored import Stored


#: The system cannot wait without an end.
_MAX_SLEEP = 3_600.0


class Worker:
    """Starts with the first instance, and keeps no process alive."""

    def __init__(self, service: Service, make: Callable[[str], Instance]) -> None:
        self._service = service
        self._make = make
        self._lock = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wakes: socket.socket | None = None
        self._woken: socket.socket | None = None
        #: Until when the thread sleeps, in monotonic seconds; endless while it is awake, so it looks again.
        self._sleeps_until = math.inf
        self.instances: dict[str, Instance] = {}

    def instance(self, slug: str) -> Instance:
        """The instance of a slug, which is followed from now on."""
        found = self.instances.get(slug)
        if found is not None:
            return found
        with self._lock:
            found = self.instances.get(slug)
            if found is None:
                found = self._make(slug)
                if self._closed:
                    found.close()
                # Replaced as a whole: the thread goes through them.
                self.instances = {**self.instances, slug: found}
            if self._thread is None and not self._closed:
                self._wakes, self._woken = socket.socketpair()
                self._woken.setblocking(False)
                self._wakes.setblocking(False)
                self._thread = threading.Thread(target=self._run, name="keyshelf-local", daemon=True)
                self._thread.start()
        self.wake()
        return found

    def wake(self) -> None:
        try:
            if self._wakes is not None:
                self._wakes.send(b".")
        except OSError:
            # It is awake already, or it has ended.
            pass

    def wake_at(self, at: float) -> None:
        """There is something to do at a monotonic time."""
        if at < self._sleeps_until:
            self.wake()

    def close(self, timeout: float) -> None:
        """Ends the thread when all is settled, or after a time."""
        with self._lock:
            self._closed = True
            thread = self._thread
        for instance in self.instances.values():
            instance.ledger.end()
        self.wake()
        if thread is threading.current_thread():
            # A handler of the product closes the client.
            self._settle()
        elif thread is not None:
            thread.join(timeout)
        for instance in self.instances.values():
            instance.close()
        if thread is None or not thread.is_alive():
            self._close_sockets()

    def abandon(self) -> None:
        """This process has forked: its thread is in the other one, whose connections stay open."""
        self._closed = True
        for instance in self.instances.values():
            instance.ledger.abandon()
            if instance.stream is not None:
                instance.stream.close()
        self._close_sockets()

    def records(self) -> list[Stored]:
        """What is held of each instance."""
        return [record for instance in self.instances.values() if (record := instance.record()) is not None]

    def _close_sockets(self) -> None:
        for end in (self._wakes, self._woken):
            if end is not None:
                end.close()

    def _run(self) -> None:
        self._follow()
        self._settle()
        # Who closed the client may not have waited so long: a stream that opened meanwhile would stay open.
        for instance in self.instances.values():
            instance.close_stream()
        self._close_sockets()

    def _follow(self) -> None:
        while not self._closed:
            instances = list(self.instances.values())
            for instance in instances:
                try:
                    self._drive(instance.act())
                except Exception as error:
                    instance.failed(error)
                if self._closed:
                    return
            self._wait(instances)

    def _settle(self) -> None:
        """Settles what was consumed, unless who closed the client waits no longer."""
        for instance in self.instances.values():
            if not instance.view[0].is_closed:
                self._drive(instance.ledger.settle_all())

    def _drive(self, work: Generator[Ask, Reply, Any]) -> None:
        """Does what is due, and the requests for it."""
        try:
            ask = next(work)
            while True:
                ask = work.send(self._service.answer(ask))
        except StopIteration:
            pass

    def _wait(self, instances: list[Instance]) -> None:
        """Waits until a stream has news, something is due, or another thread wakes this one."""
        assert self._woken is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            for instance in instances:
                if instance.stream is not None:
                    selector.register(instance.stream, selectors.EVENT_READ, instance)
            due = min((instance.due() for instance in instances), default=math.inf)
            self._sleeps_until = due
            ready = selector.select(min(_MAX_SLEEP, max(0.0, due - monotonic())))
            self._sleeps_until = math.inf
        for key, _ in ready:
            if key.data is not None:
                try:
                    key.data.read_stream()
                except Exception as error:
                    key.data.failed(error)
            else:
                try:
                    self._woken.recv(4_096)
                except OSError:
                    pass
