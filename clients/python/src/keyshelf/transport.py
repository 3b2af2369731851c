"""Sends requests over HTTP, and repeats them where that is safe."""

from __future__ import annotations

import http.client
import random
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Mapping

from .amounts import json_text, parse_json
from .problems import ConfigurationError, ConnectionFailed, ProblemError
from .responses import JSON_BODY, is_result
from .retry import delay_before_retry, http_date
from .settings import Settings, key_of

VERSION = "0.1.0"
_PIECE = 65_536
#: The maximum size of a response, in bytes. A page without an end must not fill the memory.
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Response:
    """A result of the service, or 304."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        """The parsed body. A success that is not JSON is not of the service: it counts as no response."""
        try:
            return parse_json(self.text)
        except ValueError:
            raise ConnectionFailed("The response is not JSON") from None


class _EachStatus(urllib.request.HTTPErrorProcessor):
    """Returns each response as it is. So a credential never follows a redirect; the service sends none."""

    def http_response(self, request, response):
        return response

    https_response = http_response


class Transport:
    """Sends requests of one credential. May be used by several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._base = settings.base
        self._opener = urllib.request.build_opener(_EachStatus)

    @property
    def base(self) -> str:
        """The address of the service, without a slash at its end."""
        return self._base

    @property
    def timeout(self) -> float:
        return self._settings.timeout

    def credential(self) -> str:
        """The credential of the next request. Raises `ConfigurationError` if it cannot be read."""
        return self._settings.credential()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        is_idempotent: bool | None = None,
        content_type: str = "application/json",
        promised: tuple[str, ...] = (JSON_BODY,),
        retries: int | None = None,
    ) -> Response:
        """Sends a request. Raises `ProblemError` or `ConnectionFailed`, and `ValueError` before anything is sent.

        `promised` are the results that the operation promises: media types, or `NO_BODY`.

        `retries`: how often the request is repeated at most; by default as the settings say.
        `is_idempotent`: whether the request has the same effect if it is sent twice. By default that is each method but
        POST, and a POST with an idempotency key.
        """
        settings = self._settings
        url = self._base + path + ("?" + urllib.parse.urlencode(query) if query else "")
        data = None if body is None else json_text(body).encode()
        sent = {"accept": "application/json", "user-agent": f"keyshelf-python/{VERSION}", **(headers or {})}
        if data is not None:
            sent["content-type"] = content_type
        if idempotency_key is not None:
            sent["idempotency-key"] = key_of(idempotency_key)
        safe = (method != "POST" or idempotency_key is not None) if is_idempotent is None else is_idempotent
        ends = time.monotonic() + settings.deadline
        attempt = 0
        while True:
            attempt += 1
            credential = self.credential()
            request = urllib.request.Request(url, data, {**sent, "authorization": f"Bearer {credential}"}, method=method)
            error: ProblemError | ConnectionFailed
            status, code, retry_after, now = None, None, None, time.time()
            try:
                response = self._exchange(request, min(settings.timeout, ends - time.monotonic()))
                status, media_type = response.status, response.headers.get("content-type")
                if is_result(status, media_type, promised) or (status == 304 and "if-none-match" in sent):
                    return response
                if status < 300 or status == 304:
                    error = ConnectionFailed(
                        f"{self._base} responded with status {status}, but not with a result of the service"
                    )
                else:
                    retry_after = response.headers.get("retry-after")
                    error = ProblemError(status, response.text, media_type, path, retry_after)
                    code = error.code
                    # The clocks of both machines may differ.
                    now = http_date(response.headers.get("date", "")) or time.time()
            except http.client.InvalidURL:
                # The address is checked, so it is that of a proxy. It may have a password.
                raise ConfigurationError("HTTP_PROXY", "or HTTPS_PROXY is not the address of a proxy") from None
            except (OSError, http.client.HTTPException) as thrown:
                error = ConnectionFailed(f"{self._base} did not respond: {thrown or type(thrown).__name__}")
                error.__cause__ = thrown
            delay = delay_before_retry(
                attempt=attempt,
                retries=settings.retries if retries is None else retries,
                is_idempotent=safe,
                status=status,
                code=code,
                retry_after=retry_after,
                random=random.random(),
                now=now,
            )
            if delay is None or time.monotonic() + delay / 1000 >= ends:
                raise error
            time.sleep(delay / 1000)

    def _exchange(self, request: urllib.request.Request, timeout: float) -> Response:
        ends = time.monotonic() + timeout
        if timeout <= 0:
            raise TimeoutError("The time is up")
        # The timeout of a socket limits each operation; the loop limits all of them.
        with self._opener.open(request, timeout=timeout) as response:
            pieces: list[bytes] = []
            size = 0
            while piece := response.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > _MAX_BYTES:
                    raise OSError(f"The response has more than {_MAX_BYTES} bytes")
                if time.monotonic() > ends:
                    raise TimeoutError("The time is up")
            body = b"".join(pieces)
            if response.length:
                raise http.client.IncompleteRead(body, response.length)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Response(response.status, headers, body.decode("utf-8", "replace"))
