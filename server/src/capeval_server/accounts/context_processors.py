"""Context processors for all templates."""

from __future__ import annotations

from django.http import HttpRequest

from capeval import __version__

__all__ = ["version"]


def version(request: HttpRequest) -> dict[str, str]:
    """Return the server's version for the page footer."""
    return {"version": __version__}
