"""Verifies deliveries of webhooks (Standard Webhooks)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from typing import Any, Mapping

from .amounts import parse_json
from .problems import ConfigurationError
from .settings import trimmed

#: Seconds that a delivery may be old or ahead. An older one may be a replay.
TOLERANCE = 300

#: The least length of Standard Webhooks. A shorter key can be guessed, and everyone knows the empty one.
MIN_KEY_BYTES = 24

_TIMESTAMP = re.compile(r"[0-9]{1,15}")


class WebhookRejected(Exception):
    """The request is not a genuine delivery: answer 401. `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        #: `MISSING_HEADER`, `MALFORMED_TIMESTAMP`, `TOO_OLD`, `TOO_NEW`, `BAD_SIGNATURE` or `MALFORMED_BODY`.
        self.reason = reason


def verify_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None
) -> dict[str, Any]:
    """Returns the event of a delivery, or raises `WebhookRejected`.

    A secret that cannot be right raises `ConfigurationError`: no delivery is the cause.
    `body` are the bytes as they were received: JSON that was parsed and written again is another text. Events may come
    more than once; the header `webhook-id` is the same each time.
    """
    key = _key_of(secret)
    named = {name.lower(): value for name, value in headers.items()}
    id, timestamp, signatures = (named.get(f"webhook-{name}") or "" for name in ("id", "timestamp", "signature"))
    if not (id and timestamp and signatures):
        raise WebhookRejected("MISSING_HEADER")
    if not _TIMESTAMP.fullmatch(timestamp):
        raise WebhookRejected("MALFORMED_TIMESTAMP")
    age = (time.time() if now is None else now) - int(timestamp)
    if age > TOLERANCE:
        raise WebhookRejected("TOO_OLD")
    if age < -TOLERANCE:
        raise WebhookRejected("TOO_NEW")
    signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(signed)
    # Each is compared in full, so that the time says nothing about them.
    if not any([hmac.compare_digest(expected, one.encode("utf-8", "replace")) for one in signatures.split(" ")]):
        raise WebhookRejected("BAD_SIGNATURE")
    try:
        event = parse_json(body.decode())
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise WebhookRejected("MALFORMED_BODY")
    return event


def _key_of(secret: Any) -> bytes:
    text = trimmed(secret).removeprefix("whsec_") if isinstance(secret, str) else ""
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    # Bits that count for nothing are the mark of a text that was changed.
    if len(key) < MIN_KEY_BYTES or base64.b64encode(key).decode() != text:
        raise ConfigurationError("secret", f"must be whsec_ and at least {MIN_KEY_BYTES} bytes in base64")
    return key
