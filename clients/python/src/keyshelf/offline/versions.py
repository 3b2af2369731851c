"""Semantic versions (semver.org 2.0.0) of any size: numbers are compared as digits."""

from __future__ import annotations

import re
from typing import Any, Callable, Sequence

#: No released version is longer, and parsing takes time for each character.
_MAX_LENGTH = 256
_VERSION = re.compile(r"([^-+]*)(?:-([^+]*))?(?:\+(.*))?", re.DOTALL)
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_DIGITS = re.compile(r"[0-9]+")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")



def _is_prerelease_identifier(text: str) -> bool:
    is_number = _DIGITS.fullmatch(text) is not None
    return bool(_IDENTIFIER.fullmatch(text)) and (not is_number or bool(_NUMBER.fullmatch(text)))


def parse_version(value: Any) -> tuple[list[str], list[str]] | None:
    """Parses a semantic version of at most 256 characters; `None` if it is none. Its build does not count."""
    found = _VERSION.fullmatch(value) if isinstance(value, str) and len(value) <= _MAX_LENGTH else None
    if found is None:
        return None
    numbers, identifiers, build = found.groups()
    core = numbers.split(".")
    prerelease = [] if identifiers is None else identifiers.split(".")
    is_valid = (
        len(core) == 3
        and all(map(_NUMBER.fullmatch, core))
        and all(map(_is_prerelease_identifier, prerelease))
        and all(map(_IDENTIFIER.fullmatch, [] if build is None else build.split(".")))
    )
    return (core, prerelease) if is_valid else None


def _sign(one: Any, other: Any) -> int:
    return (one > other) - (one < other)


def _by_number(one: str, other: str) -> int:
    # Without leading zeros the longer number is the greater one.
    return _sign(len(one), len(other)) or _sign(one, other)


def _by_identifier(one: str, other: str) -> int:
    # Numbers come before other identifiers, which are in the order of ASCII.
    is_number, is_other_number = bool(_DIGITS.fullmatch(one)), bool(_DIGITS.fullmatch(other))
    if is_number and is_other_number:
        return _by_number(one, other)
    return -1 if is_number else 1 if is_other_number else _sign(one, other)


def _by_items(order: Callable[[str, str], int], items: Sequence[str], others: Sequence[str]) -> int:
    for one, other in zip(items, others):
        if found := order(one, other):
            return found
    return _sign(len(items), len(others))


def compare_precedence(one: tuple[list[str], list[str]], other: tuple[list[str], list[str]]) -> int:
    """The precedence of versions: negative if the first is lower, positive if it is higher."""
    if by_core := _by_items(_by_number, one[0], other[0]):
        return by_core
    # A release comes after its pre-releases.
    if not one[1] or not other[1]:
        return int(not one[1]) - int(not other[1])
    return _by_items(_by_identifier, one[1], other[1])
