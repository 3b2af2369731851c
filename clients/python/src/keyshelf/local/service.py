"""What a local client requests of the service."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping, Protocol, Union

from ..problems import KeyshelfError, ProblemError
from ..retry import http_date, requested_delay
from ..settings import path_of
from ..transport import Transport
from .streams import ENDINGS, Connection, Stream

_TOKEN = "application/jwt"
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=([0-9]{1,9})(?:$|[,\s])")


@dataclass(frozen=True)
class Failure:
    """A request failed."""

    error: Exception
    #: Whether that says nothing about the request: the service is away.
    is_away: bool = True
    #: Whether the service says that this credential or instance is no longer one.
    is_ending: bool = False
    #: Seconds for which the service wants to be left alone.
    retry_after: float | None = None

    @property
    def code(self) -> str:
        """The code of a problem of the request; empty if it is none."""
        return self.error.code if isinstance(self.error, ProblemError) and not self.is_away else ""


@dataclass(frozen=True)
class Sent:
    """A response to a request for a snapshot. Without a token, the one with the `etag` of the request is still right."""

    token: str | None
    etag: str | None = None
    max_age: float | None = None
    #: When the service sent it, by its own clock.
    date: float | None = None


@dataclass(frozen=True)
class AskSnapshot:
    """`GET /instances/{slug}/snapshot`, once. With the tag of a snapshot, unless a new one is needed."""

    instance: str
    etag: str | None


@dataclass(frozen=True)
class AskKeys:
    """`GET /offline/{organization}/keys`, once."""

    organization: str


@dataclass(frozen=True)
class AskRefill:
    """`POST /instances/{slug}/tranches`, once."""

    instance: str
    body: Mapping[str, Any]


Ask = Union[AskSnapshot, AskKeys, AskRefill]


@dataclass(frozen=True)
class KeySet:
    keys: Mapping[str, Any]


@dataclass(frozen=True)
class Refilled:
    """The response to a refill: a value of JSON, which is not trusted. Its snapshot is signed."""

    body: Any
    #: When the service sent it, by its own clock.
    date: float | None = None


Reply = Union[Sent, KeySet, Refilled, Failure]


class SnapshotRejected(KeyshelfError):
    """What the service sent cannot be taken. `status` is that of the verification.

    One of another license family was chosen by the vendor, so that must be seen. After all others, a product may go on as
    if the service were away.
    """

    def __init__(self, instance: str, status: str) -> None:
        super().__init__(f"The snapshot of {instance} cannot be taken: {status}")
        self.status = status
        self.is_away = status != "WRONG_LICENSE"


class Service(Protocol):
    def answer(self, ask: Ask) -> Reply: ...

    def changes(self, instance: str) -> Stream:
        """`GET /changes?instance=`."""


class HttpService:
    """The service by HTTP. It sends each request once: a local client repeats them itself."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def answer(self, ask: Ask) -> Reply:
        try:
            if isinstance(ask, AskRefill):
                return self._refill(ask)
            return self._snapshot(ask) if isinstance(ask, AskSnapshot) else self._keys(ask)
        except KeyshelfError as error:
            return failure_of(error)

    def _snapshot(self, ask: AskSnapshot) -> Sent:
        headers = {"accept": _TOKEN, **({} if ask.etag is None else {"if-none-match": ask.etag})}
        path = path_of("instances", ask.instance, "snapshot")
        response = self._transport.send("GET", path, headers=headers, retries=0, promised=(_TOKEN,))
        named = _MAX_AGE.search(response.headers.get("cache-control", ""))
        max_age = float(named[1]) if named else None
        date = http_date(response.headers.get("date", ""))
        if response.status == 304:
            return Sent(None, ask.etag, max_age, date)
        return Sent(response.text, response.headers.get("etag"), max_age, date)

    def _keys(self, ask: AskKeys) -> KeySet:
        keys = self._transport.send("GET", path_of("offline", ask.organization, "keys"), retries=0).json()
        return KeySet(keys if isinstance(keys, dict) else {})

    def _refill(self, ask: AskRefill) -> Refilled:
        path = path_of("instances", ask.instance, "tranches")
        # The service counts each line once.
        response = self._transport.send("POST", path, ask.body, is_idempotent=True, retries=0)
        return Refilled(response.json(), http_date(response.headers.get("date", "")))

    def changes(self, instance: str) -> Stream:
        return Connection(self._transport, instance)


def failure_of(error: KeyshelfError) -> Failure:
    if isinstance(error, ProblemError):
        retry_after = None if error.retry_after is None else requested_delay(error.retry_after.strip())
        seconds = None if retry_after is None else retry_after / 1000
        return Failure(error, error.is_away, is_ending(error.status, error.code), seconds)
    is_other_family = isinstance(error, SnapshotRejected) and not error.is_away
    return Failure(error, error.is_away, is_other_family)


def is_ending(status: int, code: str) -> bool:
    """Whether a problem of the service ends the access. The page of a proxy does not."""
    return ENDINGS.get(status) == code
