"""Reads a stream of changes from the bytes of a connection: the response, its chunks, and the frames in them. Pure."""

from __future__ import annotations

import codecs
import http.client
import io
import json
import re
from dataclasses import dataclass
from typing import Any

from ..offline.values import own

_FIELD = re.compile(r"(data|retry): ?(.*)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")
_STREAM = re.compile(r"text/event-stream\s*(;|\Z)", re.IGNORECASE)
#: A line that is longer is not of the service.
_MAX_LINE = 65_536


class NotOfTheService(Exception):
    """The bytes are not those of a stream."""


@dataclass(frozen=True)
class Frames:
    """What a text of a stream says."""

    #: How long to wait after the end of the stream, in seconds.
    retry: float | None
    #: Whether something changed, for this instance or for all.
    has_change: bool


class FrameReader:
    """Reads the frames for an instance. An event ends with an empty line; texts may break anywhere."""

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._rest = ""
        self._data: list[str] = []

    def read(self, text: str) -> Frames:
        *lines, self._rest = _LINE_END.split(self._rest + text)
        if len(self._rest) > _MAX_LINE:
            raise NotOfTheService("A line of the stream is too long")
        retry, has_change = None, False
        for line in lines:
            field = _FIELD.fullmatch(line)
            if line == "":
                has_change = has_change or self._is_change("\n".join(self._data))
                self._data = []
            elif field is not None and field[1] == "data":
                self._data.append(field[2])
            elif field is not None and re.fullmatch("[0-9]{1,9}", field[2]):
                retry = int(field[2]) / 1000
        return Frames(retry, has_change)

    def _is_change(self, data: str) -> bool:
        try:
            frame: Any = json.loads(data) if data else None
        except (ValueError, RecursionError):
            return False
        return own(frame, "type") == "refetchEvaluation" and own(frame, "instance") in (None, self._instance)


class ResponseReader:
    """Reads the response to a request for a stream. Bytes may break anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        #: What is left of a chunk, with its end; `None` without chunks.
        self._left: int | None = 0
        self._length: int | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.status: int | None = None
        self.headers: http.client.HTTPMessage | None = None
        self.has_ended = False

    @property
    def is_stream(self) -> bool:
        return self.status == 200 and self.headers is not None and is_stream(self.headers.get("content-type"))

    def read(self, data: bytes) -> str:
        """The text that bytes of the connection complete. Raises `NotOfTheService`."""
        self._rest += data
        if self.status is None and not self._read_head():
            return ""
        if self._left is None:
            piece, self._rest = self._rest, b""
            if self._length is not None:
                self._length -= len(piece)
                self.has_ended = self._length <= 0
            return self._decoder.decode(piece)
        return self._decoder.decode(b"".join(self._chunks()))

    def _read_head(self) -> bool:
        while True:
            head, end, rest = self._rest.partition(b"\r\n\r\n")
            if not end:
                if len(head) > _MAX_LINE:
                    raise NotOfTheService("The head of the response is too long")
                return False
            line, _, fields = head.partition(b"\r\n")
            found = re.fullmatch(rb"HTTP/1\.[01] ([0-9]{3})(?: .*)?", line)
            if found is None:
                raise NotOfTheService("The response is not HTTP")
            self._rest = rest
            status = int(found[1])
            # 100 and 103 come before the response.
            if status >= 200:
                break
        try:
            self.headers = http.client.parse_headers(io.BytesIO(fields + b"\r\n\r\n"))
        except http.client.HTTPException as error:
            raise NotOfTheService("The response is not HTTP") from error
        self.status = status
        is_chunked = (self.headers.get("transfer-encoding") or "").strip().lower() == "chunked"
        self._left = 0 if is_chunked else None
        length = (self.headers.get("content-length") or "").strip()
        self._length = int(length) if re.fullmatch("[0-9]{1,9}", length) and not is_chunked else None
        return True

    def _chunks(self) -> list[bytes]:
        """Takes the chunks apart that are complete so far, and parts of one (RFC 9112, section 7.1)."""
        pieces: list[bytes] = []
        while not self.has_ended:
            assert self._left is not None
            if self._left > 2:
                piece = self._rest[: self._left - 2]
                pieces.append(piece)
                self._rest, self._left = self._rest[len(piece) :], self._left - len(piece)
                if self._left > 2:
                    return pieces
            if self._left:
                # The line feed after a chunk.
                if len(self._rest) < 2:
                    return pieces
                if self._rest[:2] != b"\r\n":
                    raise NotOfTheService("A chunk has another length")
                self._rest, self._left = self._rest[2:], 0
            line, end, rest = self._rest.partition(b"\r\n")
            if not end:
                if len(line) > _MAX_LINE:
                    raise NotOfTheService("A chunk has no length")
                return pieces
            size = line.partition(b";")[0].strip()
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size):
                raise NotOfTheService("A chunk has no length")
            self._rest, length = rest, int(size, 16)
            self.has_ended = length == 0
            self._left = length + 2
        return pieces


def is_stream(content_type: str | None) -> bool:
    """Whether a media type is that of a stream of changes."""
    return content_type is not None and _STREAM.match(content_type) is not None
