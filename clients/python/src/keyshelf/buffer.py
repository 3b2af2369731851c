"""A local buffer of usage reports. They are sent in batches, and each counts once."""

from __future__ import annotations

import json
import re
import threading
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Callable

from .amounts import Amount, amount_of, text_of, time_text
from .journal import Journal, event_line
from .problems import ConfigurationError, ConnectionFailed, KeyshelfError, ProblemError
from .responses import is_foreign
from .settings import label_of, seconds_of
from .transport import Transport

DEFAULT_CAPACITY = 10_000
MAX_BATCH = 1_000
#: The service accepts bodies of up to 1 MiB.
MAX_BATCH_BYTES = 900_000

#: Rejections of a batch for its body.
_OF_THE_BODY = (400, 413, 422)


class BufferFull(Exception):
    """The buffer holds as many events as it may. The report was not accepted."""


@dataclass(frozen=True)
class RejectedEvent:
    """An event that the service does not count, such as usage above the limit. It has left the buffer."""

    event: dict[str, Any]
    code: str
    message: str


@dataclass
class FlushResult:
    """What a flush did."""

    accepted: int = 0
    #: Events that had been counted already: the response of an earlier flush was lost.
    duplicates: int = 0
    rejected: list[RejectedEvent] = field(default_factory=list)


class FlushFailed(KeyshelfError):
    """A flush ended early. What it had done is in `result`; other events are still in the buffer. `__cause__` says why."""

    def __init__(self, result: FlushResult, cause: Exception) -> None:
        super().__init__(str(cause))
        self.result = result
        self.is_away = isinstance(cause, KeyshelfError) and cause.is_away
        self.__cause__ = cause


class UsageBuffer:
    """Collects reports. May be used by several threads, and by one process at a time.

    An event leaves the buffer only when the service has answered about it. If a response is lost, the event is sent
    again with the same id, and counts once.
    """

    def __init__(self, transport: Transport, path: str | None, *, capacity: int, source: str | None) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            raise ConfigurationError("capacity", "must be a whole number, 1 or more")
        self._transport = transport
        self._capacity = capacity
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._journal = Journal(path, None if source is None else label_of("source", source))
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        """How many events wait to be sent."""
        with self._lock:
            return len(self._journal.lines)

    @property
    def source(self) -> str:
        """The CloudEvents source of the events. It stays with the file."""
        return self._journal.source

    def report(
        self,
        instance: str,
        entitlement: str,
        value: Amount = 1,
        *,
        time: datetime | str | None = None,
        unique_key: str | None = None,
        id: str | None = None,
    ) -> str:
        """Takes a report and returns its id. With a path, it is on the disk when this returns.

        Raises `BufferFull`, and `ValueError` for what the service could not count. `id` is an id of yours: the same id
        of one source counts once within 35 days.
        """
        data: dict[str, Any] = {"value": text_of(amount_of(value))}
        if unique_key is not None:
            data["uniqueKey"] = label_of("unique_key", unique_key)
        event = {
            "specversion": "1.0",
            "id": label_of("id", str(uuid.uuid4()) if id is None else id),
            "source": self._journal.source,
            "subject": label_of("instance", instance),
            "type": label_of("entitlement", entitlement),
            "time": time_text(datetime.now(timezone.utc) if time is None else time),
            "data": data,
        }
        with self._lock:
            if len(self._journal.lines) >= self._capacity:
                raise BufferFull(f"The buffer holds {self._capacity} events")
            self._journal.append(event_line(event))
        return event["id"]

    def flush(self) -> FlushResult:
        """Sends all events that wait. Raises `FlushFailed` if some could not be sent."""
        result = FlushResult()
        with self._flushing:
            waiting = len(self)
            while waiting > 0:
                with self._lock:
                    batch = _batch_of(self._journal.lines[:waiting])
                try:
                    self._send(0, batch, result)
                except KeyshelfError as error:
                    raise FlushFailed(result, error) from error
                waiting -= len(batch)
        return result

    def start(self, interval: float, on_flush: Callable[[FlushResult | FlushFailed], None] | None = None) -> None:
        """Flushes each `interval` seconds in a thread until `stop`. `on_flush` receives what each flush did."""
        if self._thread is not None:
            raise RuntimeError("The buffer is flushed in the background already")
        seconds_of("interval", interval)
        stop = threading.Event()

        def run() -> None:
            while not stop.wait(interval):
                if len(self) > 0:
                    outcome = self._outcome()
                    if on_flush is not None:
                        on_flush(outcome)

        self._stop = stop
        self._thread = threading.Thread(target=run, name="keyshelf-usage", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread of `start`, after the flush that it may be doing."""
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._stop = self._thread = None

    def close(self) -> None:
        """Stops and closes the file. Sends nothing: events of a file wait for the next process."""
        self.stop()
        with self._lock:
            self._journal.close()

    def __enter__(self) -> UsageBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _outcome(self) -> FlushResult | FlushFailed:
        try:
            return self.flush()
        except FlushFailed as failed:
            return failed
        except Exception as error:
            # A full disk must not end the thread silently.
            return FlushFailed(FlushResult(), error)

    def _send(self, skip: int, lines: list[str], result: FlushResult) -> None:
        """Sends the events of lines, which follow `skip` others, and removes those that have a result."""
        events = [json.loads(line) for line in lines]
        try:
            response = self._transport.send(
                "POST",
                "/api/usage-events",
                events,
                content_type="application/cloudevents-batch+json",
                # The service counts each event once, by its source and id.
                is_idempotent=True,
            )
        except ProblemError as problem:
            if not _is_of_an_event(problem):
                raise
            if len(lines) == 1:
                self._settle(skip, [({"status": "rejected", "code": problem.code, "message": problem.detail}, events[0])], result)
                return
            middle = len(lines) // 2
            # The second half first: removing its events does not move those of the first.
            self._send(skip + middle, lines[middle:], result)
            self._send(skip, lines[:middle], result)
            return
        verdicts = _verdicts_of(response.json(), len(events))
        left = len(events) - self._settle(skip, list(zip(verdicts, events)), result)
        if left > 0:
            raise ConnectionFailed(f"The response has no result for {left} events")

    def _settle(self, skip: int, verdicts: list[tuple[dict[str, Any], dict[str, Any]]], result: FlushResult) -> int:
        """Counts results and removes their events. Returns how many there were."""
        settled = []
        for index, (verdict, event) in enumerate(verdicts):
            status, code = verdict.get("status"), verdict.get("code")
            if status == "accepted":
                result.accepted += 1
            elif status == "duplicate":
                result.duplicates += 1
            elif status == "rejected" and isinstance(code, str) and code:
                result.rejected.append(RejectedEvent(event, code, str(verdict.get("message", ""))))
            else:
                continue
            settled.append(skip + index)
        with self._lock:
            self._journal.remove(settled)
        return len(settled)


def _is_of_an_event(problem: ProblemError) -> bool:
    """Whether the service rejected a batch for what one of its events is.

    Other problems, such as a revoked token or a header that a proxy added, are none of the events: these stay in the
    buffer. The batch is divided until that event is alone.
    """
    if is_foreign(problem.code) or problem.status not in _OF_THE_BODY:
        return False
    return not problem.errors or any(re.match(r"body\b", error.location) for error in problem.errors)


def _batch_of(lines: list[str]) -> list[str]:
    size = 0
    for count, line in enumerate(lines[:MAX_BATCH]):
        size += len(line) + 1
        if size > MAX_BATCH_BYTES and count > 0:
            return lines[:count]
    return lines[:MAX_BATCH]


def _verdicts_of(body: Any, count: int) -> list[dict[str, Any]]:
    """The results of a response, in the order of the events. Results of other events say nothing about any of these."""
    results = body.get("results") if isinstance(body, dict) else None
    verdicts = [one if isinstance(one, dict) else {} for one in results] if isinstance(results, list) else []
    is_of_these = len(verdicts) <= count and all(one.get("index", place) == place for place, one in enumerate(verdicts))
    return verdicts if is_of_these else []
