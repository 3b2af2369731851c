"""Follows one instance: when to open its stream, when to ask for a snapshot, and when to leave the service alone.

`act` does what is due, and `read_stream` what a stream said. Requests are answered by who drives it: it yields them.
"""

from __future__ import annotations

import http.client
import math
from dataclasses import replace
from typing import Any, Generator

from ..problems import ConnectionFailed, KeyshelfError
from .holding import Holding, Parts, Taken
from .ledger.ledger import Ledger
from .service import Ask, AskSnapshot, Failure, Reply, Sent
from .states import CONFIRM_EVERY, MAX_DELAY_AFTER_FRAME, MAX_SILENCE, REVOKED_EVERY
from .states import polite_delay, retry_delay, spread
from .stored import Stored
from .streams import News, Stream
from .view import View

#: How long the first fetch waits for the stream. A proxy may hold it back.
_OPEN_WAIT = 0.5
_FIRST_RETRY = 1.0
_STORE_EVERY = 60.0
#: States end just after their last instant.
_AFTER = 0.001


class Instance(Holding):
    """One thread drives it. Any thread may wait for it, and request a fetch."""

    def __init__(self, slug: str, parts: Parts, seed: Stored | None = None) -> None:
        super().__init__(slug, parts, seed)
        self.clock = parts.clock
        self.ledger = Ledger(self, parts.store.open_ledger, parts.flush_always)
        #: Why there is no snapshot, as far as the last response says it.
        self.failure: Failure | None = None
        self.stream: Stream | None = None
        self._is_fetching = self._has_change = False
        self._retry = _FIRST_RETRY
        self._stream_failures = self._fetch_failures = 0
        #: How many fetches began, and the last one that ended.
        self._begun = self._ended = 0
        now = self._began = parts.clock.monotonic()
        # Whose access was ended has no stream either.
        self._next_stream = math.inf if self.view[0].is_revoked else now
        self._next_fetch = now if self.view[0].is_revoked else now + _OPEN_WAIT
        self._next_store = now + _STORE_EVERY
        self._shown = "STARTING"

    # For any thread

    def wait_for_first(self) -> None:
        """Waits for the first fetch, at most for the time that a start may take."""
        ends = self._began + self._parts.start_timeout
        with self.changed:
            while self.is_waiting:
                left = ends - self._parts.clock.monotonic()
                if left <= 0:
                    self.set(is_starting=False)
                else:
                    self.changed.wait(left)

    @property
    def is_waiting(self) -> bool:
        """Whether a first call waits: nothing was stored, and the first fetch is in flight."""
        facts = self.view[0]
        return facts.is_starting and facts.exp is None and not facts.is_revoked and not facts.is_closed

    def request_fetch(self) -> int:
        """Requests a fetch now, without a tag. Returns its number."""
        with self.changed:
            self._has_change = True
            self._next_fetch = self._parts.clock.monotonic()
            return self._begun + 1

    def wait_for_fetch(self, number: int, timeout: float) -> None:
        """Waits until a fetch has ended. Raises what it failed with."""
        ends = self._parts.clock.monotonic() + timeout
        with self.changed:
            while self._ended < number and not self.view[0].is_closed:
                left = ends - self._parts.clock.monotonic()
                if left <= 0:
                    raise ConnectionFailed("The service did not respond in time")
                self.changed.wait(left)
        if self.failure is not None:
            raise self.failure.error.with_traceback(None)

    # For the thread that drives it

    def due(self) -> float:
        """When there is something to do next, in monotonic seconds."""
        facts, clock = self.view[0], self._parts.clock
        now = clock.monotonic()
        times = [math.inf if self._is_fetching else self._next_fetch, self._next_store]
        times.append(self._next_stream if self.stream is None else self._silent_at(self.stream) + _AFTER)
        if self.is_waiting:
            times.append(self._began + self._parts.start_timeout)
        # Some states begin by time alone.
        begins = [facts.confirmed_at + 2 * facts.max_age + _AFTER]
        if facts.exp is not None:
            begins.append(now + facts.exp - clock.now())
        return min(self.ledger.due(), *times, *(time for time in begins if time > now))

    def act(self) -> Generator[Ask, Reply, None]:
        """Does what is due."""
        # A call may wait for it.
        yield from self.ledger.act()
        now = self._parts.clock.monotonic()
        if self.stream is not None and now > self._silent_at(self.stream):
            self._end_stream(News(ended="The stream was silent"))
        if now >= self._next_store:
            self._next_store = now + _STORE_EVERY
            self.store()
        if self.is_waiting and now >= self._began + self._parts.start_timeout:
            self.set(is_starting=False)
        if self.stream is None and now >= self._next_stream:
            self._open_stream()
        if not self._is_fetching and self._parts.clock.monotonic() >= self._next_fetch:
            yield from self._fetch()
        self.show_state()

    def read_stream(self) -> None:
        """The stream has news."""
        if self.stream is None:
            return
        news, now = self.stream.read(), self._parts.clock.monotonic()
        if news.is_open and self.view[0].opened_at is None:
            self.set(opened_at=now, frame_at=now)
            self._stream_failures = 0
            # What changed before the stream was open is in the snapshot that is fetched now.
            self._next_fetch = now
        elif news.is_alive:
            self.set(frame_at=now)
        if news.retry is not None:
            self._retry = news.retry
        if news.has_change:
            with self.changed:
                self._has_change = True
                self._next_fetch = min(self._next_fetch, now + MAX_DELAY_AFTER_FRAME * self._parts.random())
        if news.ended is not None:
            self._end_stream(news)
        self.show_state()

    def close(self) -> None:
        """No thread drives it any more."""
        self._on_disk(self.ledger.close)
        self.close_stream()
        self.store()
        self.set(is_closed=True)
        self.show_state()

    def failed(self, error: Exception) -> None:
        """Something unexpected happened. It must not end the thread, and not happen again at once."""
        self.close_stream()
        self._is_fetching = False
        self._next_stream = self._next_fetch = self._parts.clock.monotonic() + _STORE_EVERY
        self.ledger.pause(self._next_fetch)
        self._parts.emit("error", self.slug, error=error)

    def show_state(self) -> None:
        """Reports a new state."""
        state, previous = self.state(), self._shown
        if state != previous:
            self._shown = state
            self._parts.emit("state", self.slug, state=state, previous=previous)

    # What its ledger needs

    def look(self) -> View:
        """What is known now."""
        facts, snapshot = self.view
        return View(self.slug, facts, snapshot, self.clock.monotonic(), self.clock.now(), self.failure)

    def random(self) -> float:
        return self._parts.random()

    def emit(self, type: str, **fields: Any) -> None:
        self._parts.emit(type, self.slug, **fields)

    def wake_at(self, at: float) -> None:
        self._parts.wake_at(at)

    def receive(self, sent: Sent, sent_at: float, taken: Taken) -> Generator[Ask, Reply, Failure | None]:
        """Takes the snapshot of a refill. Returns why it was not taken, if so."""
        facts = self.view[0]
        if facts.is_closed:
            # The folder may be another client's by now.
            return Failure(ConnectionFailed("The client is closed"))
        failure = yield from self.take(sent, sent_at, taken)
        if failure is not None and failure.is_ending and (self.view[1] is not None or facts.is_revoked):
            self.revoke()
            self._plan(failure, True, had_tag=True)
            # Nothing was refilled; calls are answered by the state.
            return replace(failure, is_away=True)
        return failure

    def refetch(self) -> Generator[Ask, Reply, None]:
        """Fetches now, without a tag."""
        with self.changed:
            self._has_change = True
        yield from self._fetch()

    # Fetches

    def _fetch(self) -> Generator[Ask, Reply, None]:
        facts, snapshot = self.view
        with self.changed:
            etag = None if snapshot is None or self._has_change else snapshot.etag
            self._is_fetching, self._has_change = True, False
            self._next_fetch = math.inf
            self._begun += 1
        sent_at = self._parts.clock.monotonic()
        reply = yield AskSnapshot(self.slug, etag)
        if self.view[0].is_closed:
            # The folder may be another client's by now.
            return
        failure: Failure | None
        if isinstance(reply, Sent):
            failure = yield from self.take(reply, sent_at)
        else:
            failure = reply if isinstance(reply, Failure) else Failure(ConnectionFailed("The response is not a snapshot"))
        is_end = failure is not None and failure.is_ending and (self.view[1] is not None or facts.is_revoked)
        if is_end:
            self.revoke()
        self._plan(failure, is_end, had_tag=etag is not None)
        with self.changed:
            self._is_fetching = False
            self._ended = self._begun
            self.failure = failure
            self.set(is_starting=False)
        if failure is not None:
            self._parts.emit("error", self.slug, error=failure.error)

    def _plan(self, failure: Failure | None, is_end: bool, had_tag: bool) -> None:
        """When to ask again after a fetch."""
        now, random, facts = self._parts.clock.monotonic(), self._parts.random(), self.view[0]
        if is_end:
            self.close_stream()
            self._has_change = False
            self._next_stream = math.inf
            self._next_fetch = now + spread(REVOKED_EVERY, random)
        elif failure is None:
            self._fetch_failures = 0
            is_behind = self._has_change or (facts.opened_at is not None and (facts.requested_at or 0) < facts.opened_at)
            every = facts.max_age if facts.opened_at is None else CONFIRM_EVERY
            self._next_fetch = now if is_behind else now + spread(every, random)
            # After the end of an access there was no stream.
            if self.stream is None and self._next_stream == math.inf:
                self._next_stream = now
        else:
            self._has_change = self._has_change or not had_tag
            self._fetch_failures += 1
            delay = retry_delay(self._fetch_failures, _FIRST_RETRY, random)
            self._next_fetch = now + polite_delay(delay, failure.retry_after)

    # The stream

    def _silent_at(self, stream: Stream) -> float:
        """From when on a stream is lost, if it says nothing."""
        facts = self.view[0]
        return stream.opens_until if facts.opened_at is None else facts.frame_at + MAX_SILENCE

    def _open_stream(self) -> None:
        try:
            self.stream = self._parts.service.changes(self.slug)
        except (OSError, http.client.HTTPException, KeyshelfError) as error:
            self._end_stream(News(ended=str(error) or type(error).__name__))

    def close_stream(self) -> None:
        """Closes the stream, if there is one."""
        stream, self.stream = self.stream, None
        if stream is not None:
            stream.close()
        self.set(opened_at=None)

    def _end_stream(self, news: News) -> None:
        """Plans the next stream, and the next fetch."""
        now, facts = self._parts.clock.monotonic(), self.view[0]
        self.close_stream()
        self._stream_failures += 1
        delay = polite_delay(retry_delay(self._stream_failures, self._retry, self._parts.random()), news.retry_after)
        self._next_stream = now + delay
        if news.is_rejected or facts.is_starting:
            # A snapshot says why a stream was rejected, and the first one need not wait for a stream.
            self._next_fetch = now
        elif facts.opened_at is not None:
            # Without a stream the service is asked more often.
            self._next_fetch = min(self._next_fetch, max(now + delay + _OPEN_WAIT, facts.confirmed_at + facts.max_age))
