"""Warnings about the settings of a campaign."""

from __future__ import annotations

from capeval_server.annotation.core.languages import BUILT_IN, describe_language
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.task_types.base import template_consent, template_text
from capeval_server.annotation.workers.enrollment import latest_texts
from capeval_server.annotation.workers.trust import trust_warnings

__all__ = ["list_warnings"]


def list_warnings(campaign: Campaign) -> list[str]:
    """Return warnings about settings that contradict the items or each other."""
    return [*trust_warnings(campaign), *_warn_of_english(campaign)]


def _warn_of_english(campaign: Campaign) -> list[str]:
    """Return a warning if built-in texts are in English, and the campaign is not."""
    language = get_options(campaign).language
    if language.lower().split("-")[0] == BUILT_IN:
        return []
    task, texts = task_named(campaign.kind), latest_texts(campaign)
    english = []
    if texts.instructions in map(template_text, task.texts):
        english.append("instructions")
    if texts.consent == template_consent(task):
        english.append("consent text")
    if not english:
        return []
    name = describe_language(language).split(" (")[0]
    return [
        f"The built-in {' and '.join(english)} {'are' if 'instructions' in english else 'is'} in English, but"
        f" the language of the campaign is {name}: use texts in that language instead."
    ]
