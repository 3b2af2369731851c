"""A connection on which the service names changes. Reading never waits, so one thread serves many of them."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Protocol

from ..problems import ProblemError
from ..retry import http_date, requested_delay
from ..transport import VERSION, Transport
from .clock import monotonic
from .frames import FrameReader, NotOfTheService, ResponseReader
from .states import MAX_SILENCE

#: Seconds to connect. Meanwhile the thread does nothing else.
_CONNECT_TIMEOUT = 5.0
_PIECE = 65_536
_MAX_PIECES = 1_024
_PATH = "/api/changes"
#: With these problems the service ends the access of a product.
ENDINGS = {401: "Auth.InvalidCredential", 403: "Auth.MissingScope", 404: "Instance.NotFound"}


@dataclass(frozen=True)
class News:
    """What a stream said since it was read last."""

    #: Whether the service follows changes now: later ones are named.
    is_open: bool = False
    #: Whether anything came, such as a comment.
    is_alive: bool = False
    has_change: bool = False
    #: How long to wait after the end of the stream, in seconds.
    retry: float | None = None
    #: Why the stream ended, or was not opened; `None` while it goes on.
    ended: str | None = None
    #: Whether the service rejected the request: then a snapshot says why.
    is_rejected: bool = False
    #: Seconds for which the service wants to be left alone.
    retry_after: float | None = None


class Stream(Protocol):
    #: Until when it may open, in monotonic seconds.
    opens_until: float

    def fileno(self) -> int:
        """Becomes readable when there is news."""

    def read(self) -> News:
        """What came. Never waits."""

    def close(self) -> None: ...


class Connection:
    """A stream of the service. Raises `OSError` and `HTTPException` if nothing responds."""

    def __init__(self, transport: Transport, instance: str) -> None:
        self._frames = FrameReader(instance)
        self._response = ResponseReader()
        self._body = ""
        self._socket = _requested(transport, f"{_PATH}?instance={urllib.parse.quote(instance, safe='')}")
        self._socket.setblocking(False)
        self.opens_until = monotonic() + MAX_SILENCE

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def read(self) -> News:
        data, ended = self._received()
        response = self._response
        try:
            text = response.read(data)
            if response.status is None:
                return News(ended=ended)
            if not response.is_stream:
                self._body += text
                return News(ended=ended) if ended is None and not response.has_ended else self._rejection()
            frames = self._frames.read(text)
        except NotOfTheService as fault:
            return News(ended=str(fault))
        if response.has_ended and ended is None:
            ended = "The service ended the stream"
        return News(True, bool(data), frames.has_change, frames.retry, ended)

    def _rejection(self) -> News:
        status, headers = self._response.status, self._response.headers
        assert status is not None and headers is not None
        after = headers.get("retry-after")
        problem = ProblemError(status, self._body, headers.get("content-type"), _PATH, after)
        retry_after = None if after is None else requested_delay(after.strip(), http_date(headers.get("date") or ""))
        seconds = None if retry_after is None else retry_after / 1000
        return News(ended=str(problem), is_rejected=ENDINGS.get(status) == problem.code, retry_after=seconds)

    def _received(self) -> tuple[bytes, str | None]:
        pieces: list[bytes] = []
        try:
            # A TLS connection that has more is not readable for the system, so all of it is taken.
            while len(pieces) < _MAX_PIECES:
                piece = self._socket.recv(_PIECE)
                if not piece:
                    return b"".join(pieces), "The connection was closed"
                pieces.append(piece)
            return b"", "The stream sends too much"
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            return b"".join(pieces), str(error) or type(error).__name__
        return b"".join(pieces), None


def _requested(transport: Transport, target: str) -> socket.socket:
    """Connects as other requests do, through a proxy too, and sends the request. The response is not waited for."""
    url = urllib.parse.urlsplit(transport.base + target)
    host, is_secure = url.hostname or "", url.scheme == "https"
    headers = {
        "Accept": "text/event-stream",
        "Authorization": f"Bearer {transport.credential()}",
        "Cache-Control": "no-cache",
        "User-Agent": f"keyshelf-python/{VERSION}",
    }
    timeout = min(transport.timeout, _CONNECT_TIMEOUT)
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    proxy = None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(url.scheme)
    path = target if url.path == "" else f"{url.path}?{url.query}"
    if proxy is None:
        connection = kind(host, url.port, timeout=timeout)
    else:
        through = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
        connection = kind(through.hostname or "", through.port, timeout=timeout)
        sign_in = _proxy_sign_in(through)
        if is_secure:
            connection.set_tunnel(host, url.port, sign_in)
        else:
            path = urllib.parse.urlunsplit(url)
            headers.update(sign_in)
    try:
        connection.request("GET", path, headers=headers)
        return connection.sock
    except BaseException:
        connection.close()
        raise


def _proxy_sign_in(proxy: urllib.parse.SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    import base64

    user = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
