"""Versions of instructions and consent texts. A version never changes."""

from __future__ import annotations

from django.contrib.auth.models import User

from capeval_server.annotation.campaigns.definition import LONGEST_MARKDOWN
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.models import Campaign, TextVersion
from capeval_server.annotation.task_types.base import is_storable
from capeval_server.annotation.workers.enrollment import latest_texts
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError

__all__ = ["change_texts"]


def change_texts(
    user: User | None, campaign: Campaign, *, instructions: str | None = None, consent: str | None = None
) -> TextVersion:
    """Create a new version of the texts; workers must agree again before further work.

    Args:
        user: The user who makes the change; None for the command line.
        campaign: The campaign.
        instructions: Markdown; None keeps the current instructions.
        consent: Markdown; None keeps the current consent text.

    Returns:
        The new version, or the latest one if the texts are the same.

    Raises:
        CampaignError: A text is empty, too long, or can't be stored.
    """
    for name, text in (("instructions", instructions), ("consent", consent)):
        if text is not None and (not text.strip() or len(text) > LONGEST_MARKDOWN or not is_storable(text)):
            raise CampaignError(f"{name!r} must be a text of 1 to {LONGEST_MARKDOWN:,} characters")
    with held(campaign) as now:
        latest = latest_texts(now)
        wanted = {
            "instructions": latest.instructions if instructions is None else instructions,
            "consent": latest.consent if consent is None else consent,
        }
        if wanted == {"instructions": latest.instructions, "consent": latest.consent}:
            return latest
        made = TextVersion.objects.create(
            campaign=now, number=latest.number + 1, rules=latest.rules, **wanted
        )
        record(user, now.challenge, f"created version {made.number} of the texts of the campaign {now.slug}")
    return made
