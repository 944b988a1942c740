"""Registry of goldens: each module of `kinds` registers its goldens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

__all__ = ["GOLDENS", "Golden", "load_kinds", "register"]


def _never_missing() -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Golden:
    """A golden.

    Attributes:
        name: Name, and folder in `goldens/`.
        about: Noun phrase for the output.
        write: Writes the files into a folder.
        process: Name of the recording process; goldens with the same name share one process.
        missing: Returns the reason why the golden can't be recorded here, or "".
        renames: File in `goldens/` with old and new names that compare as equal.
    """

    name: str
    about: str
    write: Callable[[Path], None]
    process: str
    missing: Callable[[], str] = field(default=_never_missing)
    renames: str = ""


GOLDENS: dict[str, Golden] = {}
"""Goldens by name."""


def register(golden: Golden) -> Golden:
    """Add a golden to the registry."""
    GOLDENS[golden.name] = golden
    return golden


def load_kinds() -> dict[str, Golden]:
    """Import all modules of `kinds` and return the registry."""
    from scripts.goldens import kinds

    for module in sorted(found.name for found in iter_modules(kinds.__path__)):
        import_module(f"{kinds.__name__}.{module}")
    return GOLDENS
