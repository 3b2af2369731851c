"""Keyshelf for products: local decisions, usage, seats, flags, webhooks and offline bundles, with the standard library alone."""

from .away import CLOSED, FAIL, OPEN, Answer, WhenAway
from .buffer import BufferFull, FlushFailed, FlushResult, RejectedEvent, UsageBuffer
from .checks import CheckResult
from .client import Client
from .flags import FlagSet
from .journal import BufferLocked
from .local.ledger.ledger import HeldTranche, Unsettled
from .local.mode import Status
from .local.service import SnapshotRejected
from .problems import ConfigurationError, ConnectionFailed, KeyshelfError, ProblemError, ValidationError
from .reservations import Reservation
from .seats import Seat
from .transport import VERSION as __version__
from .webhooks import WebhookRejected, verify_webhook

__all__ = [
    "CLOSED",
    "FAIL",
    "OPEN",
    "Answer",
    "BufferFull",
    "BufferLocked",
    "CheckResult",
    "Client",
    "ConfigurationError",
    "ConnectionFailed",
    "FlagSet",
    "FlushFailed",
    "FlushResult",
    "HeldTranche",
    "KeyshelfError",
    "ProblemError",
    "RejectedEvent",
    "Reservation",
    "Seat",
    "SnapshotRejected",
    "Status",
    "Unsettled",
    "UsageBuffer",
    "ValidationError",
    "WebhookRejected",
    "WhenAway",
    "__version__",
    "verify_webhook",
]
