"""Routes of the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["routes"]


def routes(resolver: Any = None, before: str = "", namespace: str = "") -> Iterator[tuple[str, str]]:
    """Yield the pattern and the name of each route."""
    from django.urls import get_resolver

    found: Any
    for found in (resolver or get_resolver()).url_patterns:
        pattern = before + str(found.pattern).removeprefix("^").removesuffix("$")
        if hasattr(found, "url_patterns"):
            yield from routes(
                found, pattern, f"{namespace}{found.namespace}:" if found.namespace else namespace
            )
        else:
            yield pattern, f"{namespace}{found.name or ''}"
