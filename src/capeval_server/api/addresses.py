"""The parts of addresses, and what they name."""

from __future__ import annotations

from typing import Annotated

from django.shortcuts import get_object_or_404
from ninja import Path

from capeval_server.challenges.models import Phase

__all__ = ["Number", "Slug", "found_phase"]

Slug = Annotated[str, Path(max_length=50, pattern="^[A-Za-z0-9_-]+$")]
# What every database can hold as the number of a row.
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


def found_phase(slug: str, name: str) -> Phase:
    """The phase of a challenge with a name; a 404 where there is none."""
    return get_object_or_404(Phase.objects.select_related("challenge"), challenge__slug=slug, name=name)
