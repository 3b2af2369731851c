"""Builds the package (PEP 517) with the standard library alone, so that an installation needs no package index.

A wheel is a ZIP archive with three files of metadata (PEP 427). A source distribution is a tar archive (PEP 625).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A fixed time makes archives of equal sources equal, and so does storing files: what zlib writes differs between versions.
TIME = (2020, 1, 1, 0, 0, 0)


def _project() -> dict[str, str]:
    """The texts of `[project]`. `tomllib` is new in Python 3.11; these lines are `name = "value"`."""
    text = (HERE / "pyproject.toml").read_text("utf-8").split("[project]", 1)[1]
    return dict(re.findall(r'^([a-z-]+) = "(.*)"$', text, re.MULTILINE))


def _metadata() -> str:
    project = _project()
    return "\n".join(
        [
            "Metadata-Version: 2.1",
            f"Name: {project['name']}",
            f"Version: {project['version']}",
            f"Summary: {project['description']}",
            f"Requires-Python: {project['requires-python']}",
            "License: Apache-2.0",
            "Description-Content-Type: text/markdown",
            "",
            (HERE / "README.md").read_text("utf-8"),
        ]
    )


def _sources() -> list[Path]:
    package = HERE / "src"
    return sorted(path for path in package.rglob("*") if path.name == "py.typed" or path.suffix == ".py")


def _stem() -> str:
    project = _project()
    return f"{project['name']}-{project['version']}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its name."""
    info = f"{_stem()}.dist-info"
    files = {path.relative_to(HERE / "src").as_posix(): path.read_bytes() for path in _sources()}
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: keyshelf\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = f"{info}/RECORD"
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    files[record] = ("".join(lines) + f"{record},,\n").encode()
    name = f"{_stem()}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_STORED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_STORED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Writes the source distribution and returns its name."""
    name = f"{_stem()}.tar.gz"
    others = [HERE / "pyproject.toml", HERE / "README.md", HERE / "build_backend.py"]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        files = {path.relative_to(HERE).as_posix(): path.read_bytes() for path in [*others, *_sources()]}
        files["PKG-INFO"] = _metadata().encode()
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{_stem()}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    with (Path(sdist_directory) / name).open("wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=0, fileobj=file, mtime=0) as compressed:
            compressed.write(packed.getvalue())
    return name
