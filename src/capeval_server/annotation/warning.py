"""Warnings of what a picture shows: it is hidden until the worker asks for it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from capeval_server.annotation.models import Campaign, Image
from capeval_server.annotation.tasks.base import is_storable
from capeval_server.errors import CampaignError, NotFoundError
from capeval_server.organising.models import record

__all__ = ["LONGEST_WARNING", "set_warning"]

LONGEST_WARNING = 200


def set_warning(user: User | None, campaign: Campaign, name: str, text: str) -> Image:
    """Sets what workers are told before they see a picture; an empty text takes the warning off.

    Raises:
        NotFoundError: The campaign has no such picture.
        CampaignError: The text is too long, or can't be stored.
    """
    text = text.strip()
    if len(text) > LONGEST_WARNING or not is_storable(text) or not text.isprintable():
        raise CampaignError(f"'warning' must be a line of at most {LONGEST_WARNING} characters")
    with transaction.atomic():
        found = Image.objects.select_for_update(no_key=True).filter(campaign=campaign, name=name).first()
        if found is None:
            raise NotFoundError
        found.warning = text
        found.save(update_fields=["warning"])
        what = f"set the warning of the picture {name} in the campaign {campaign.slug}: {text or 'none'}"
        record(user, campaign.challenge, what)
    return found
