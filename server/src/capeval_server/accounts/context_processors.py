"""Variables of all templates."""

from __future__ import annotations

from django.http import HttpRequest

from capeval import __version__

__all__ = ["version"]


def version(request: HttpRequest) -> dict[str, str]:
    """The server's version, for the foot of each page."""
    return {"version": __version__}
