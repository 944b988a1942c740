"""Comparison of two recordings, as unified diffs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from scripts.goldens.registry import Golden

__all__ = ["list_differences"]


def list_differences(golden: Golden, recorded: Path, made: Path) -> Iterator[str]:
    """Compare the files of a golden.

    Args:
        golden: Golden to compare.
        recorded: Folder of the recording, `goldens/`.
        made: Folder of the new recording.

    Yields:
        Lines of unified diffs: `-` for the recording, `+` for the new one.
    """
    renames = _read_renames(golden, recorded)
    before = _list_files(recorded / golden.name, renames)
    after = _list_files(made / golden.name, {})
    for name in sorted({*before, *after}):
        place = f"{golden.name}/{name}"
        if name not in before or name not in after:
            yield f"{place}: {'not recorded' if name not in before else 'recorded, but missing now'}"
            continue
        old, new = (_read_lines(found[name]) for found in (before, after))
        if golden.renames:
            # Lines are sorted by name, so renames change their order.
            old, new = sorted(_apply_renames(line, renames) for line in old), sorted(new)
        yield from unified_diff(old, new, f"recorded/{place}", f"now/{place}", lineterm="")


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a file; marks carriage returns and a missing last line end."""
    text = path.read_bytes().decode("utf-8")
    lines = text.replace("\r", "\\r").split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]} (no line end)"]


def _read_renames(golden: Golden, recorded: Path) -> dict[str, str]:
    if not golden.renames:
        return {}
    with (recorded / golden.renames).open("rb") as file:
        found: dict[str, str] = tomllib.load(file).get("names", {})
    return found


def _apply_renames(text: str, renames: Mapping[str, str]) -> str:
    if not renames:
        return text
    names = "|".join(map(re.escape, sorted(renames, key=len, reverse=True)))
    # Also renames longer names with the same prefix, such as triggers and many-to-many tables.
    return re.sub(rf"(?<!\w)(?:{names})(?![^\W_])", lambda match: renames[match[0]], text)


def _list_files(folder: Path, renames: Mapping[str, str]) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found[_apply_renames(name, renames)] = path
    return found
