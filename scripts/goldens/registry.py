"""The registry of goldens: each kind is one module of `kinds` that registers itself."""

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
    """A kind of golden.

    Attributes:
        name: Its folder in `goldens/`.
        about: A noun phrase that the output names it with.
        write: Writes its files into a folder.
        process: Goldens with the same word are recorded in one process.
        missing: Returns the reason why it can't be recorded here; empty if it can.
        renames: The file in `goldens/` with old and new names, which are equal in a comparison.
    """

    name: str
    about: str
    write: Callable[[Path], None]
    process: str
    missing: Callable[[], str] = field(default=_never_missing)
    renames: str = ""


GOLDENS: dict[str, Golden] = {}
"""All goldens, by name."""


def register(golden: Golden) -> Golden:
    """Add a golden to the registry."""
    GOLDENS[golden.name] = golden
    return golden


def load_kinds() -> dict[str, Golden]:
    """Import all modules of `kinds`, and return the registry."""
    from scripts.goldens import kinds

    for module in sorted(found.name for found in iter_modules(kinds.__path__)):
        import_module(f"{kinds.__name__}.{module}")
    return GOLDENS
