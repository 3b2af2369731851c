"""Checks the settings of a client and what a request may contain.

A setting that can never work fails when the client is made, and a fault of a request before anything is sent: found
later, both would look like a service that is away. Clients in other languages have the same rules, and
`clients/vectors/configuration.json` holds them.
"""

from __future__ import annotations

import ipaddress
import math
import re
import unicodedata
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, Callable, Union

from .problems import ConfigurationError

#: A credential, or a function that reads it for each request.
Token = Union[str, Callable[[], str]]

#: ASCII only: a byte order mark and a no-break space are not white space of a setting.
_WHITESPACE = "\t\n\v\f\r "
_VISIBLE = re.compile(r"[!-~]+")
_KEY = re.compile(r"[!-~]{1,255}")
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ADDRESS = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[^:/\[\]]+)(?::([0-9]{1,5}))?(/.*)?", re.IGNORECASE | re.ASCII)
_PATH = re.compile(r"(?:/(?:[A-Za-z0-9_.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*")
#: Libraries resolve these segments, some of them also in their encoded form.
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
#: A host whose last part is a number is an IPv4 address. Libraries do not agree on other forms than four decimals.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")
#: The longest time that each language can wait: 24 days.
_MAX_SECONDS = 2_147_483.0


@dataclass(frozen=True)
class Settings:
    """How requests are sent. Printing it does not show the credential."""

    #: Without a slash and without `/api` at its end.
    base: str
    token: Token = field(repr=False)
    #: Seconds that one attempt may take.
    timeout: float
    #: Seconds that a call may take with all its attempts and the time between them.
    deadline: float
    #: How often a request is repeated at most.
    retries: int

    def credential(self) -> str:
        """The credential of the next attempt.

        If it cannot be read, that says nothing about the service, whatever the function fails with.
        """
        if isinstance(self.token, str):
            return self.token
        try:
            token = self.token()
        except Exception as error:
            raise ConfigurationError("token", "cannot be read: its function failed") from error
        return credential_of(token)


def settings_of(base_url: Any, token: Any, timeout: Any, deadline: Any, retries: Any) -> Settings:
    """Raises `ConfigurationError` for what can never work."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ConfigurationError("retries", "must be a whole number, 0 or more")
    return Settings(
        address_of(base_url),
        token if callable(token) else credential_of(token),
        min(seconds_of("timeout", timeout), _MAX_SECONDS),
        seconds_of("deadline", deadline),
        retries,
    )


def address_of(value: Any) -> str:
    """The address of a service: without a slash at its end, and without the `/api` that other settings name."""
    text = value.strip(_WHITESPACE) if isinstance(value, str) else ""
    found = _ADDRESS.fullmatch(text)
    if found is not None:
        scheme, host, port, path = found[1], found[2], int(found[3] or 1), found[4] or ""
        if _is_host(host) and 1 <= port <= 65_535 and _PATH.fullmatch(path) and not _DOT_SEGMENT.search(path):
            root = scheme.lower() + text[len(scheme) : len(text) - len(path)]
            return root + path.rstrip("/").removesuffix("/api").rstrip("/")
    raise ConfigurationError(
        "base_url",
        "must be an http or https URL such as https://keyshelf.example: with a host, without a user, a query or a fragment",
    )


def _is_host(host: str) -> bool:
    try:
        if host.startswith("["):
            ipaddress.IPv6Address(host[1:-1])
        elif _NUMERIC.fullmatch(host):
            ipaddress.IPv4Address(host)
        elif host.isascii():
            # The root at the end of a name is an empty part.
            labels = host.removesuffix(".").split(".")
            return len(host) <= 253 and all(re.fullmatch(r"[A-Za-z0-9_-]{1,63}", label) for label in labels)
        else:
            if not all(one in "._-" or unicodedata.category(one)[0] in "LMN" for one in host):
                return False
            host.encode("idna")
    except ValueError:
        return False
    return True


def credential_of(value: Any) -> str:
    """The credential that a header can carry. The error of the library would show all of it."""
    text = value.strip(_WHITESPACE) if isinstance(value, str) else ""
    if text == "" and (value is None or isinstance(value, str)):
        raise ConfigurationError("token", "is missing or empty")
    if not _VISIBLE.fullmatch(text):
        raise ConfigurationError("token", "must be a text of visible ASCII characters without blanks")
    return text


def trimmed(text: str) -> str:
    """The text without the white space around it, which files and editors add."""
    return text.strip(_WHITESPACE)


def seconds_of(name: str, value: Any, *, least: float = 0.0, may_be_least: bool = False) -> float:
    """A time in seconds, above 0 unless `may_be_least` says otherwise."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    if not is_number or value < least or (value == least and not may_be_least):
        raise ConfigurationError(name, f"must be a number of seconds{', 0 or more' if may_be_least else ' above 0'}")
    return value


def key_of(value: Any) -> str:
    """An idempotency key, in the form that the service accepts. Raises `ValueError`."""
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise ValueError("An idempotency_key is a text of 1 to 255 visible ASCII characters without blanks")
    return value


def name_of(what: str, value: Any) -> str:
    """A slug, or another name in a path or in a check. Raises `ValueError`."""
    if not isinstance(value, str) or not value or _CONTROL.search(value) or _SURROGATE.search(value):
        raise ValueError(f"{what} must be a text that is not empty, without control characters and lone surrogates")
    return value


def label_of(what: str, value: Any) -> str:
    """A text that the service stores, such as an id. Raises `ValueError`."""
    if not isinstance(value, str) or not 1 <= len(value) <= 255 or "\0" in value or _SURROGATE.search(value):
        raise ValueError(f"{what} must be a text of 1 to 255 characters")
    return value


def path_of(*segments: Any) -> str:
    """The path of an operation; each segment is encoded. Raises `ValueError` for one that cannot be a slug."""
    for segment in segments:
        # A proxy on the way resolves them, so that another operation would be called.
        if name_of("A slug", segment) in (".", ".."):
            raise ValueError(f"A slug must not be {segment!r}")
    return "/api/" + "/".join(urllib.parse.quote(segment, safe="") for segment in segments)


def target_of(method: Any, path: Any) -> str:
    """A path with its query, as a caller writes it. Raises `ValueError` for what a request line cannot contain."""
    plain = path.partition("?")[0] if isinstance(path, str) else ""
    is_path = plain.startswith("/") and _VISIBLE.fullmatch(path) and "#" not in path and "\\" not in path
    if not is_path or _DOT_SEGMENT.search(plain):
        raise ValueError("A path begins with / and is encoded: visible ASCII characters, no fragment, no dot segments")
    if not isinstance(method, str) or not re.fullmatch(r"[A-Z]+", method):
        raise ValueError("A method is a word in capitals, such as GET")
    return path
