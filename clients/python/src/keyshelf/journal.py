"""Stores the events of a buffer, in memory or in a file that survives a restart.

The file has a line for itself and a line for each event. An event is appended and flushed to the disk before it counts
as taken. Events leave by a new file that replaces the old one. A last line without an end was cut off by a crash: its
event was never taken. Clients in other languages read the same file.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any, BinaryIO, Sequence

from .problems import ConfigurationError

_FORMAT = "keyshelf-usage-buffer"


class BufferLocked(Exception):
    """Another process uses the file."""


class Journal:
    """Events in the order in which they were added. Calls must not overlap."""

    def __init__(self, path: str | None, source: str | None) -> None:
        self.path = path
        self.source = source or f"urn:keyshelf:sdk:{uuid.uuid4()}"
        #: The JSON text of each event.
        self.lines: list[str] = []
        self._file: BinaryIO | None = None
        self._lock: BinaryIO | None = None
        if path is not None:
            self._lock = locked(path)
            try:
                self._open(path)
            except BaseException:
                self._lock.close()
                raise

    def append(self, line: str) -> None:
        """Adds an event. It is stored when this returns; if it raises, nothing was added."""
        if self._file is not None:
            end = self._file.seek(0, os.SEEK_END)
            try:
                self._file.write(line.encode() + b"\n")
                _flush(self._file)
            except BaseException:
                # The part of the line that a full disk stored must not precede the next one.
                self._file.truncate(end)
                raise
        self.lines.append(line)

    def remove(self, indices: Sequence[int]) -> None:
        """Removes events by their places."""
        gone = set(indices)
        kept = [line for index, line in enumerate(self.lines) if index not in gone]
        if self.path is not None and gone:
            self._replace(self.path, kept)
        self.lines = kept

    def close(self) -> None:
        """Closes the file, so that another process may use it."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()
        self._file = self._lock = None

    def _open(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            content = b""
        # The text after the last line feed is incomplete.
        *lines, _torn = content.split(b"\n")
        if content and not lines:
            raise ValueError(f"{path} is not a usage buffer")
        if lines:
            header = json.loads(lines[0])
            if not isinstance(header, dict) or (header.get("format"), header.get("v")) != (_FORMAT, 1):
                raise ValueError(f"{path} is not a usage buffer of this version")
            self.source = str(header["source"])
            self.lines = [line.decode() for line in lines[1:]]
            for line in self.lines:
                json.loads(line)
        self._replace(path, self.lines)

    def _replace(self, path: str, lines: Sequence[str]) -> None:
        """Writes a new file and replaces the old one with it: one of them is complete at any time."""
        header = json.dumps({"format": _FORMAT, "v": 1, "source": self.source}, separators=(",", ":"))
        fresh = written_beside(path, "".join(f"{line}\n" for line in [header, *lines]).encode())
        if self._file is not None:
            self._file.close()
        put_in_place(fresh, path)
        self._file = open(path, "r+b", buffering=0)


def event_line(event: dict[str, Any]) -> str:
    """The line of an event."""
    return json.dumps(event, separators=(",", ":"))


def written_beside(path: str, data: bytes) -> str:
    """Writes a new file beside another, which only the user of the process may read."""
    fresh = f"{path}.new"
    with open(fresh, "wb") as file:
        os.chmod(fresh, 0o600)
        file.write(data)
        _flush(file)
    return fresh


def put_in_place(fresh: str, path: str) -> None:
    """Replaces a file with a new one: one of them is complete at any time."""
    os.replace(fresh, path)
    flush_folder(path)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def flush_folder(path: str) -> None:
    # A new name is safe once its folder is. Windows cannot open a folder.
    if os.name == "posix":
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def locked(path: str) -> BinaryIO:
    """Locks a file beside another. The system ends the lock with the process, however that ends."""
    if os.fspath(path) == "":
        raise ConfigurationError("path", "must be the name of a file")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ConfigurationError("path", f"must be in a folder that exists: {folder}")
    file = open(f"{path}.lock", "ab")
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        file.close()
        raise BufferLocked(f"Another process uses {path}") from None
    return file
