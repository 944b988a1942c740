"""Distributions: the files and the metadata of each wheel and source distribution in `dist/`."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from scripts.goldens import names
from scripts.goldens.registry import Golden, register

_DIST = names.PROJECT / "dist"
_KINDS = ("*.whl", "*.tar.gz")
_METADATA = ("METADATA", "WHEEL", "entry_points.txt", "PKG-INFO")


def distributions() -> list[Path]:
    """Return the built distributions."""
    return sorted(path for kind in _KINDS for path in _DIST.glob(kind))


def _missing() -> str:
    return "" if distributions() else "dist/ has no wheel and no source distribution; --dist builds them"


def _write(folder: Path) -> None:
    for path in distributions():
        (folder / f"{_without_version(path.name, path)}.txt").write_text(described(path))


def described(path: Path) -> str:
    """Return the files of a distribution, and its metadata without the description."""
    files = _of_wheel(path) if path.suffix == ".whl" else _of_source(path)
    parts = ["".join(f"{name}\n" for name in sorted(files))]
    for name, content in sorted(files.items()):
        if name.rpartition("/")[2] in _METADATA and name.count("/") == 1:
            # A blank line ends the headers.
            parts.append(f"--- {name}\n{content.decode().partition(chr(10) * 2)[0].strip()}\n")
    return _without_version("".join(parts), path)


def _of_wheel(path: Path) -> Mapping[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _of_source(path: Path) -> Mapping[str, bytes]:
    found = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            if file is not None:
                found[member.name] = file.read()
    return found


def _without_version(text: str, path: Path) -> str:
    version = path.name.removesuffix(".tar.gz").split("-")[1]
    return re.sub(rf"(?<![\w.]){re.escape(version)}(?![\w]|\.\d)", "VERSION", text)


register(
    Golden(
        name="distributions",
        about="files and metadata of wheels and source distributions",
        write=_write,
        process="library",
        missing=_missing,
        partial=True,
    )
)
