"""Decides what a response is. Pure: all clients decide by the same vectors.

A proxy, a gateway or the sign-in page of a network can answer before the service does, with any status. Such a response
says nothing about the request.
"""

from __future__ import annotations

import re
from typing import Any

JSON_BODY = "application/json"
#: The response of an operation that returns nothing: 204.
NO_BODY = "none"

_PROBLEM = "application/problem+json"
_PROBLEM_TYPE = "urn:keyshelf:problem:"
_CODE = re.compile(r"[A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*")
_OFREP = "/api/ofrep/"
_OFREP_CODE = re.compile(r"[A-Z][A-Z_]*")


def is_result(status: int, content_type: str | None, promised: tuple[str, ...]) -> bool:
    """Whether a response is a result that an operation promises: a body of one of these media types, or `NO_BODY`.

    A body that names no media type is read as JSON: its form decides then.
    """
    if status == 204:
        return NO_BODY in promised
    return status in (200, 201, 202) and (_media_type(content_type) or JSON_BODY) in promised


def code_of(status: int, content_type: str | None, path: str, body: Any) -> str:
    """The code of a problem of the service; `HTTP.<status>` if something else responded, such as a proxy."""
    members = body if isinstance(body, dict) else {}
    media_type = _media_type(content_type)
    if status >= 400 and media_type == _PROBLEM and _is_problem(status, members):
        return members["code"]
    # OpenFeature defines the bodies of 400 and 404 for the evaluation of flags.
    if status in (400, 404) and path.startswith(_OFREP) and media_type in ("", JSON_BODY):
        code = members.get("errorCode")
        if isinstance(code, str) and _OFREP_CODE.fullmatch(code):
            return code
    return f"HTTP.{status}"


def is_foreign(code: str) -> bool:
    """Whether a code is that of a response of something other than the service."""
    return code.startswith("HTTP.")


def _media_type(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip().lower()


def _is_problem(status: int, members: dict[str, Any]) -> bool:
    """Whether these are a problem. Its status is the response's, unless something changed one of them on the way."""
    code, problem_type = members.get("code"), members.get("type", _PROBLEM_TYPE)
    return (
        members.get("status", status) == status
        and isinstance(problem_type, str)
        and problem_type.startswith(_PROBLEM_TYPE)
        and isinstance(code, str)
        and _CODE.fullmatch(code) is not None
    )
