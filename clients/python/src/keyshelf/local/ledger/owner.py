"""What a ledger needs of the instance that it is part of."""

from __future__ import annotations

import threading
from typing import Any, Callable, Generator, Mapping, Protocol

from ..clock import ServiceClock
from ..service import Ask, Failure, Reply, Sent
from ..view import View


class Owner(Protocol):
    """The instance. A test replaces it."""

    slug: str
    clock: ServiceClock
    #: Its lock is that of the ledger, too.
    changed: threading.Condition

    def look(self) -> View: ...

    def random(self) -> float: ...

    def emit(self, type: str, **fields: Any) -> None: ...

    def receive(
        self, sent: Sent, sent_at: float, taken: Callable[[Mapping[str, Any]], None]
    ) -> Generator[Ask, Reply, Failure | None]:
        """Takes a snapshot. `taken` is called with its claims, under the lock, when it is in force. Returns why it is not."""

    def refetch(self) -> Generator[Ask, Reply, None]:
        """Fetches the snapshot now."""

    def verified(self, token: str) -> Mapping[str, Any] | None:
        """The claims of a stored snapshot, by which a tranche may pay."""

    def instance_id(self) -> str | None:
        """The id of the instance, once a snapshot named it."""

    def wake_at(self, at: float) -> None:
        """The thread that drives the instance has something to do at a monotonic time."""
