"""Reads the vectors, which all clients run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from keyshelf.amounts import parse_json

_VECTORS = Path(os.environ.get("KEYSHELF_VECTORS", Path(__file__).resolve().parents[2] / "vectors"))


def read(name: str) -> Any:
    return parse_json((_VECTORS / f"{name}.json").read_text("utf-8"))
