"""Comparison of two recordings, as unified diffs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from scripts.goldens.registry import Golden

__all__ = ["differences"]


def differences(golden: Golden, recorded: Path, made: Path) -> Iterator[str]:
    """Compare the files of a golden.

    Args:
        golden: The golden.
        recorded: The folder `goldens/`.
        made: A folder with a new recording.

    Yields:
        Lines of unified diffs, in which `-` is recorded and `+` is new.
    """
    renames = _renames(golden, recorded)
    before = _files(recorded / golden.name, renames)
    after = _files(made / golden.name, {})
    for name in sorted({*before, *after}):
        place = f"{golden.name}/{name}"
        if name not in before or name not in after:
            yield f"{place}: {'not recorded' if name not in before else 'recorded, and missing now'}"
            continue
        old, new = (_lines(found[name]) for found in (before, after))
        if golden.renames:
            # The order of lines follows from names.
            old, new = sorted(_renamed(line, renames) for line in old), sorted(new)
        yield from unified_diff(old, new, f"recorded/{place}", f"now/{place}", lineterm="")


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, with carriage returns and a missing last line end made visible."""
    text = path.read_bytes().decode("utf-8")
    lines = text.replace("\r", "\\r").split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]} (no line end)"]


def _renames(golden: Golden, recorded: Path) -> dict[str, str]:
    if not golden.renames:
        return {}
    with (recorded / golden.renames).open("rb") as file:
        found: dict[str, str] = tomllib.load(file).get("names", {})
    return found


def _renamed(text: str, renames: Mapping[str, str]) -> str:
    if not renames:
        return text
    names = "|".join(map(re.escape, sorted(renames, key=len, reverse=True)))
    # Names that begin with one, such as those of triggers and of tables between two models, change with it.
    return re.sub(rf"(?<!\w)(?:{names})(?![^\W_])", lambda match: renames[match[0]], text)


def _files(folder: Path, renames: Mapping[str, str]) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found[_renamed(name, renames)] = path
    return found
