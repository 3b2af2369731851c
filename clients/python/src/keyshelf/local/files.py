"""Where snapshots and ledgers survive a restart: a folder with a slot for each process that uses it at the same time."""

from __future__ import annotations

import hashlib
import os
import re
from typing import BinaryIO

from ..journal import BufferLocked, locked, put_in_place, written_beside
from ..problems import ConfigurationError
from .ledger.files import Flusher, LedgerFile
from .ledger.stored import LedgerStore
from .stored import Stored, stored_in, text_of_stored

SLOTS = 64

_SNAPSHOT = re.compile(r"snapshot-[0-9A-Za-z-]{1,64}\.json")
_ID = re.compile(r"[0-9A-Za-z-]{1,64}")


class MemoryStore:
    """Stores nothing: after a restart, nothing is known."""

    def read(self) -> tuple[list[Stored], list[Stored]]:
        return [], []

    def write(self, instance_id: str, stored: Stored) -> None:
        pass

    def set_aside(self, stored: Stored) -> None:
        pass

    def open_ledger(self, instance_id: str) -> None:
        return None

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class FileStore:
    """The snapshots and ledgers of one process, in the first slot whose lock is free. The system frees it with the process."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock: BinaryIO | None = None
        self._found: tuple[list[Stored], list[Stored]] | None = None
        self._written: set[str] = set()
        self._flusher = Flusher()
        for number in range(SLOTS):
            slot = os.path.join(directory, f"slot-{number}")
            os.makedirs(slot, mode=0o700, exist_ok=True)
            try:
                self._lock = locked(os.path.join(slot, "slot"))
            except BufferLocked:
                continue
            self.slot = slot
            return
        raise BufferLocked(f"{SLOTS} processes use {directory}")

    def read(self) -> tuple[list[Stored], list[Stored]]:
        """What is stored in this slot, and by other processes: a product that is started with more of them finds a snapshot, too.

        It is read once. A file of this slot that cannot be read is kept as `.bad`.
        """
        if self._found is None:
            self._found = self._read_all()
        return self._found

    def _read_all(self) -> tuple[list[Stored], list[Stored]]:
        mine: list[Stored] = []
        others: list[Stored] = []
        for slot in sorted(os.listdir(self._directory)):
            folder = os.path.join(self._directory, slot)
            for name in os.listdir(folder) if slot.startswith("slot-") and os.path.isdir(folder) else []:
                if not _SNAPSHOT.fullmatch(name):
                    continue
                path = os.path.join(folder, name)
                stored = _read(path)
                if stored is not None:
                    (mine if folder == self.slot else others).append(stored)
                elif folder == self.slot:
                    os.replace(path, f"{path}.bad")
        return mine, others

    def write(self, instance_id: str, stored: Stored) -> None:
        """Replaces what is stored of an instance. It is complete at any time, and on the disk when this returns."""
        path = self._path("snapshot", instance_id, "json")
        put_in_place(written_beside(path, text_of_stored(stored).encode()), path)
        if path not in self._written:
            self._written.add(path)
            self._remove_others(path, stored.instance)

    def set_aside(self, stored: Stored) -> None:
        """Keeps the file of a record that cannot be trusted, under another name."""
        for name in os.listdir(self.slot):
            path = os.path.join(self.slot, name)
            if _SNAPSHOT.fullmatch(name) and _read(path) == stored:
                os.replace(path, f"{path}.bad")

    def open_ledger(self, instance_id: str) -> LedgerStore:
        return LedgerStore(LedgerFile(self._path("ledger", instance_id, "jsonl"), self._flusher))

    def _remove_others(self, path: str, slug: str) -> None:
        """An instance that was created again with the same slug has another id, and its old file says nothing any more."""
        for name in os.listdir(self.slot):
            other = os.path.join(self.slot, name)
            if _SNAPSHOT.fullmatch(name) and other != path and getattr(_read(other), "instance", None) == slug:
                os.remove(other)

    def close(self) -> None:
        """Frees the slot, so that another process may use it."""
        self._flusher.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def abandon(self) -> None:
        """This process has forked: the slot is the other one's. No lock: a thread of the other one may hold it."""
        if self._lock is not None:
            self._lock.close()

    def _path(self, kind: str, instance_id: str, ending: str) -> str:
        id = instance_id if _ID.fullmatch(instance_id) else hashlib.sha256(instance_id.encode("utf-8", "replace")).hexdigest()
        return os.path.join(self.slot, f"{kind}-{id}.{ending}")


def _read(path: str) -> Stored | None:
    try:
        with open(path, "rb") as file:
            return stored_in(file.read())
    except OSError:
        return None


def directory_of(value: object) -> str | None:
    """The folder of a setting, which is made if it does not exist. Raises `ConfigurationError`."""
    if value is None:
        return None
    try:
        directory = os.path.abspath(os.fsdecode(value))  # type: ignore[arg-type]
        if not value:
            raise ValueError("empty")
        os.makedirs(directory, mode=0o700, exist_ok=True)
    except (TypeError, ValueError, OSError) as error:
        raise ConfigurationError("directory", "must be a folder that exists or can be made, and be written to") from error
    return directory
