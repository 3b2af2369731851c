"""What a call can fail with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .amounts import parse_json
from .responses import code_of, is_foreign
from .retry import is_away


class KeyshelfError(Exception):
    """A call failed. `is_away` says whether the service was away, so that a product may go on without it."""

    is_away: bool = False


class ConfigurationError(KeyshelfError, ValueError):
    """A setting of the client can never work, or its credential cannot be read.

    Nothing was sent, and no policy answers. The message names the setting and never its value.
    """

    def __init__(self, setting: str, fault: str) -> None:
        super().__init__(f"{setting} {fault}")
        #: The name of the setting, such as `token`.
        self.setting = setting


@dataclass(frozen=True)
class ValidationError:
    """What is wrong with a value of the request, and where: `body.items[3].name`."""

    location: str
    message: str
    value: Any = None


class ConnectionFailed(KeyshelfError):
    """There was no response: the service could not be reached, the time was up, or the response was not of the service.

    The request may have been executed. `__cause__` is the error of the connection.
    """

    is_away = True


class ProblemError(KeyshelfError):
    """The service rejected the request, or could not handle it (RFC 9457). Branch on `code`."""

    def __init__(
        self, status: int, text: str, content_type: str | None, path: str, retry_after: str | None = None
    ) -> None:
        try:
            body = parse_json(text)
        except ValueError:
            body = text
        code = code_of(status, content_type, path, body)
        # A proxy's text is not shown as the service's.
        members = body if isinstance(body, dict) and not is_foreign(code) else {}
        #: The kind of problem, such as `Customer.NotFound`; `HTTP.<status>` if something else responded, such as a proxy.
        self.code = code
        self.status = status
        #: What is wrong and what to do, for people.
        self.detail: str = _text(members, "detail", "errorDetails") or f"The response has status {status}."
        #: The id of this occurrence. Quote it to support.
        self.error_id: str = _text(members, "errorId") or ""
        self.errors: tuple[ValidationError, ...] = _errors(members.get("errors"))
        #: The body of the response: parsed JSON, or its text.
        self.body: Any = body
        #: The header `Retry-After` as it was sent.
        self.retry_after = retry_after
        self.is_away = is_away(status, self.code)
        super().__init__(f"{self.code}: {self.detail}")


def _text(members: dict[str, Any], *names: str) -> str | None:
    return next((members[name] for name in names if isinstance(members.get(name), str)), None)


def _errors(value: Any) -> tuple[ValidationError, ...]:
    found = []
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict) and isinstance(one.get("location"), str) and isinstance(one.get("message"), str):
            found.append(ValidationError(one["location"], one["message"], one.get("value")))
    return tuple(found)
