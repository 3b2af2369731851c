"""A product in local mode that consumes, beside a small service that sets units aside."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any
from unittest import mock

import keyshelf

from .local_case import Local, until
from .origin import INSTANCE_ID, Origin
from .tranches import Tranches

SLUG = "globex-prod"


class Consuming(Local):
    #: How soon what was consumed is settled, in seconds, where a test waits for that; `None`: as soon as usual.
    settles_after: float | None = None

    def setUp(self) -> None:
        super().setUp()
        if self.settles_after is not None:
            settle = mock.patch("keyshelf.local.ledger.due.SETTLE", self.settles_after)
            settle.start()
            self.addCleanup(settle.stop)

    def new_origin(self) -> Origin:
        self.model = Tranches({"small": 10, "medium": 1_000, "large": 1_000_000})
        return Origin(model=self.model)

    def consume(self, client: keyshelf.Client, amount: Any = 1, entitlement: str = "large", **options: Any) -> keyshelf.Answer:
        return client.consume(SLUG, entitlement, amount, **options)

    def unspent(self, client: keyshelf.Client, entitlement: str = "large") -> Decimal:
        """What a client may consume without a request."""
        tranches = client.status(SLUG).tranches
        return sum((one.unspent for one in tranches if one.entitlement == entitlement), Decimal(0))

    def holding(self, amount: int, **options: Any) -> keyshelf.Client:
        """A client that has a tranche, and has consumed 100."""
        client = self.client(**options)
        assert self.consume(client, 100).allowed
        until(lambda: self.unspent(client) >= amount)
        return client

    def ledger(self, slot: int = 0) -> str:
        return os.path.join(self.directory, f"slot-{slot}", f"ledger-{INSTANCE_ID}.jsonl")

    def settled(self, amount: int, entitlement: str = "large") -> None:
        """Waits until the service has counted so much."""
        until(lambda: self.model.used[entitlement] >= amount)
        self.assertEqual(self.model.used[entitlement], amount)
