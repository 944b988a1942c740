"""Language of the worker pages, and of the campaign's own texts on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import template
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import translation
from django.utils.html import conditional_escape, format_html

from capeval_server.annotation.campaigns.definition import CampaignDefinition
from capeval_server.annotation.core.languages import BUILT_IN, find_page_language
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign

__all__ = ["in_campaign_language", "in_language_of", "language_attributes", "register"]

register = template.Library()


def in_campaign_language(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Pass a view its campaign, with the campaign's language as the active one.

    Pages of organizers and error pages outside of the view are in English.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, **named: Any) -> HttpResponseBase:
        campaign = get_object_or_404(Campaign, slug=slug)
        with translation.override(find_page_language(get_options(campaign).language)):
            return view(request, campaign, **named)

    return wrapper


@register.filter
def language_attributes(campaign: Campaign | CampaignDefinition) -> str:
    """Return the attributes of an element with a text of the campaign, such as its instructions.

    The direction is that of the text. English texts have the default language and direction, so they need no
    attributes.
    """
    options = campaign.options if isinstance(campaign, CampaignDefinition) else get_options(campaign)
    code = options.language
    return "" if code == BUILT_IN else format_html(' lang="{}" dir="auto"', code)


@register.filter
def in_language_of(text: str, campaign: Campaign | CampaignDefinition) -> str:
    """Return a text of a campaign within a sentence of the page, in an element with these attributes."""
    attributes = language_attributes(campaign)
    return (
        format_html("<span{}>{}</span>", attributes, text)
        if attributes and text
        else conditional_escape(text)
    )
