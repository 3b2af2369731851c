"""A product in local mode, beside a small service."""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from typing import Any, Callable

import keyshelf

from .origin import INSTANCE_ID, ISSUER, SIGNER, Origin

DENIED = [{"slug": "sso", "type": "BOOLEAN", "value": False}]


def until(holds: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Waits until something holds."""
    ends = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > ends:
            raise AssertionError("it never held")
        time.sleep(0.005)
    return found


class Local(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = os.path.join(folder.name, "keyshelf")
        self.origin = self.new_origin()
        self.addCleanup(self.origin.stop)
        self.events: list[Any] = []

    def new_origin(self) -> Origin:
        return Origin()

    def client(self, url: str = "", **options: Any) -> keyshelf.Client:
        settings: dict[str, Any] = {"keys": SIGNER.keys, "issuer": ISSUER, "on_event": self.events.append, "retries": 0}
        client = keyshelf.Client(url or self.origin.url, "ksh_secret", **{**settings, **options})
        self.addCleanup(client.close)
        return client

    def state(self, client: keyshelf.Client) -> str:
        return client.status("globex-prod").state

    def live(self, **options: Any) -> keyshelf.Client:
        client = self.client(**options)
        until(lambda: self.state(client) == "LIVE")
        return client

    def stored(self, slot: int = 0) -> str:
        return os.path.join(self.directory, f"slot-{slot}", f"snapshot-{INSTANCE_ID}.json")
