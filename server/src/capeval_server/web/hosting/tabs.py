"""Template tag with the tabs of the organizer pages."""

from __future__ import annotations

from django.template import Library
from django.urls import reverse

from capeval_server.challenges.models import Challenge
from capeval_server.web.hosting import TABS

__all__ = ["organizer_tabs", "register"]

register = Library()


@register.simple_tag
def organizer_tabs(challenge: Challenge) -> list[tuple[str, str, str]]:
    """Return the name, label and URL of each tab."""
    return [(name, text, reverse(f"organizer_{name}", args=(challenge.slug,))) for name, text in TABS.items()]
