"""Coverage check of routes and templates by the golden "pages"."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from scripts.goldens.names import PROJECT
from scripts.goldens.routes import routes

__all__ = ["check_templates", "rendered", "visited_routes"]

_UNVISITED = PROJECT / "goldens" / "unvisited.toml"


def visited_routes() -> list[str]:
    """Return the patterns of all routes not excluded in `goldens/unvisited.toml`."""
    return _list_included("routes", [pattern for pattern, _ in routes()])


@contextmanager
def rendered() -> Iterator[set[str]]:
    """Provide a set that collects the names of rendered templates."""
    from django.test.signals import template_rendered

    found: set[str] = set()

    def add(template: Any, **_: Any) -> None:
        found.add(str(template.name))

    template_rendered.connect(add)
    try:
        yield found
    finally:
        template_rendered.disconnect(add)


def check_templates(used: Collection[str]) -> None:
    """Check that each template was either rendered or excluded.

    Raises:
        RuntimeError: A template was neither rendered nor excluded, or both.
    """
    expected = _list_included("templates", sorted(_list_templates()))
    if missing := sorted(set(expected) - set(used)):
        raise RuntimeError(
            f"templates without a page: {missing}; add a visit to scripts/goldens/visits.py, or list them in"
            f" {_UNVISITED}"
        )
    if covered := sorted((set(_list_templates()) - set(expected)) & set(used)):
        raise RuntimeError(f"{_UNVISITED}: remove these templates, which are rendered: {covered}")


def _list_templates() -> Iterator[str]:
    from django.template import engines
    from django.template.backends.base import BaseEngine

    engine: BaseEngine
    for engine in engines.all():
        for folder in map(Path, engine.template_dirs):
            if folder.is_relative_to(PROJECT / "server" / "src"):
                found = (path for path in folder.rglob("*") if path.is_file())
                yield from (path.relative_to(folder).as_posix() for path in found)


def _list_included(kind: str, names: Collection[str]) -> list[str]:
    """Return the names that match no excluding pattern of their kind."""
    with _UNVISITED.open("rb") as file:
        patterns: dict[str, str] = tomllib.load(file)[kind]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise RuntimeError(f"{_UNVISITED}: {pattern!r} matches none of the {kind}: remove it")
    return [
        name for name in dict.fromkeys(names) if not any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
