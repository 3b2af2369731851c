"""The file of a ledger on the disk."""

from __future__ import annotations

import os
import threading
import time
from typing import BinaryIO

from ...journal import flush_folder, put_in_place, written_beside

#: How long a record may be in the memory of the machine alone, in seconds: less than 100 ms, with the time to flush it.
_FLUSH_AFTER = 0.08


class Flusher:
    """Brings what files took to the disk within 100 ms. Its thread is another one than that of requests, which wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._files: list[LedgerFile] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def plan(self, file: LedgerFile) -> None:
        with self._changed:
            self._files.append(file)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="keyshelf-flush", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Ends the thread. Files that are closed are on the disk already."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while not self._closed:
            with self._changed:
                while not self._files and not self._closed:
                    self._changed.wait()
            time.sleep(_FLUSH_AFTER)
            with self._changed:
                files, self._files = self._files, []
            for file in files:
                try:
                    file.sync()
                except OSError:
                    # The next record fails too, if the disk does.
                    pass


class LedgerFile:
    """A text that survives a restart. One process uses it, and its threads may flush it at the same time."""

    def __init__(self, path: str, flusher: Flusher) -> None:
        self._path = path
        self._flusher = flusher
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._is_new = False
        self._is_planned = self._is_closed = False
        #: What is added while the file is replaced.
        self._tail: list[bytes] | None = None
        self.size = 0

    def read(self) -> str:
        """What is stored; empty if nothing is."""
        try:
            with open(self._path, "rb") as file:
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def append(self, text: str) -> None:
        """Adds a text. It has reached the operating system when this returns; if it raises, nothing was added."""
        data = text.encode()
        with self._lock:
            file = self._opened()
            try:
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
            except BaseException:
                # The part that a full disk took must not precede the next record.
                file.truncate(self.size)
                raise
            self.size += len(data)
            if self._tail is not None:
                self._tail.append(data)
            is_planned, self._is_planned = self._is_planned, True
        if not is_planned:
            self._flusher.plan(self)

    def sync(self) -> None:
        """Returns when all that was added is on the disk."""
        with self._lock:
            self._is_planned = False
            if self._file is None:
                return
            is_new, self._is_new = self._is_new, False
            # Another thread may replace the file meanwhile.
            descriptor = os.dup(self._file.fileno())
        try:
            os.fsync(descriptor)
            if is_new:
                flush_folder(self._path)
        finally:
            os.close(descriptor)

    def begin_rewrite(self) -> None:
        """What is added from now on is kept by `rewrite`."""
        with self._lock:
            self._tail = []

    def rewrite(self, text: str) -> int:
        """Replaces what was stored at `begin_rewrite`, and returns the new size. It is on the disk when this returns."""
        data = text.encode()
        try:
            fresh = written_beside(self._path, data)
            with self._lock:
                self._check_open()
                tail = b"".join(self._tail or ())
                if tail:
                    with open(fresh, "ab") as file:
                        file.write(tail)
                        file.flush()
                        os.fsync(file.fileno())
                if self._file is not None:
                    # Windows replaces no file that is open.
                    self._file.close()
                    self._file = None
                put_in_place(fresh, self._path)
                self._is_new = False
                self.size = len(data) + len(tail)
                self._opened()
                return self.size
        finally:
            self._tail = None

    def set_aside(self) -> None:
        """Keeps what is stored under another name."""
        os.replace(self._path, f"{self._path}.bad")

    def close(self) -> None:
        try:
            self.sync()
        finally:
            with self._lock:
                self._is_closed = True
                if self._file is not None:
                    self._file.close()
                    self._file = None

    def abandon(self) -> None:
        """This process has forked, and the file is the other one's. No lock: a thread of the other one may hold it."""
        self._is_closed = True
        if self._file is not None:
            self._file.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("The client is closed")

    def _opened(self) -> BinaryIO:
        self._check_open()
        if self._file is None:
            self._is_new = not os.path.exists(self._path)
            self._file = open(self._path, "ab", buffering=0, opener=lambda path, flags: os.open(path, flags, 0o600))
            self.size = self._file.seek(0, os.SEEK_END)
        return self._file
