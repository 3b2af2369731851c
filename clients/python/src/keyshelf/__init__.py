"""Keyshelf for products: checks, usage, seats, flags, webhooks and offline bundles, with the standard library alone."""

from .away import CLOSED, FAIL, OPEN, Answer, WhenAway, last_known
from .buffer import BufferFull, FlushFailed, FlushResult, RejectedEvent, UsageBuffer
from .client import CheckResult, Client
from .flags import FlagSet
from .journal import BufferLocked
from .problems import ConfigurationError, ConnectionFailed, KeyshelfError, ProblemError, ValidationError
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
    "KeyshelfError",
    "ProblemError",
    "RejectedEvent",
    "Seat",
    "UsageBuffer",
    "ValidationError",
    "WebhookRejected",
    "WhenAway",
    "__version__",
    "last_known",
    "verify_webhook",
]
