"""What a local client knows at a time."""

from __future__ import annotations

from typing import NamedTuple

from .service import Failure
from .snapshots import Snapshot
from .states import Facts, age_at, state_at


class View(NamedTuple):
    instance: str
    facts: Facts
    snapshot: Snapshot | None
    #: Monotonic, in seconds.
    now: float
    #: The time of the service, in seconds since 1970.
    time: float
    #: Why there is no snapshot, as far as the last response says it.
    failure: Failure | None

    @property
    def state(self) -> str:
        return state_at(self.facts, self.now, self.time)

    @property
    def age(self) -> float | None:
        return age_at(self.facts, self.now)
