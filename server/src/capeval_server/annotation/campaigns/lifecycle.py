"""The states of a campaign, and the settings that can change once it is open.

    draft -> pilot -> open <-> paused -> closing -> closed -> open again, with a reason
    draft -> open; open -> closing

Each change is recorded in the history of its challenge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from pydantic import ValidationError

from capeval.errors import CapevalError
from capeval_server.annotation.core.locks import held, lock_items
from capeval_server.annotation.core.options import (
    MOST_ANSWERS,
    QUALITY_SETTINGS,
    CampaignOptions,
    get_options,
)
from capeval_server.annotation.core.slots import open_slots, update_free_counts
from capeval_server.annotation.core.study_information import STUDY_SETTINGS, list_missing
from capeval_server.annotation.models import Assignment, Campaign, Item, Slot, TextVersion
from capeval_server.annotation.responses.assignment import take_back
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.text_rules.rules import RuleSettings, complete_rules
from capeval_server.annotation.workers.enrollment import latest_texts
from capeval_server.audit.models import Action, record
from capeval_server.challenges.selectors.access import list_organized_challenges
from capeval_server.core.errors import CampaignError, NotFoundError
from capeval_server.core.validation_problems import list_problems

__all__ = [
    "change_state",
    "describe_missing",
    "get_managed_campaign",
    "get_recent_information",
    "items_of",
    "list_managed_campaigns",
    "name_missing",
    "open_drafts",
    "quality_changes",
    "quality_settings",
    "set_answers",
    "set_quality",
    "set_rules",
    "unfinished",
]

_State = Campaign.State
_TRANSITIONS: dict[str, tuple[str, ...]] = {
    _State.DRAFT: (_State.PILOT, _State.OPEN),
    _State.PILOT: (_State.OPEN, _State.DRAFT),
    _State.OPEN: (_State.PAUSED, _State.CLOSING, _State.CLOSED),
    _State.PAUSED: (_State.OPEN, _State.CLOSING, _State.CLOSED),
    _State.CLOSING: (_State.OPEN, _State.CLOSED),
    _State.CLOSED: (_State.OPEN,),
}
_STUDY_TEXTS = {
    "run_by": "who runs the study (run_by)",
    "contact": "the contact (contact)",
    "license": "the license of the answers (license)",
    "pay_terms": "the pay (pay_terms or pay_per_answer)",
}
# Number of items that a change of all items locks at once.
_ITEMS_AT_ONCE = 5000


def list_managed_campaigns(user: User) -> QuerySet[Campaign]:
    """Return the campaigns that a user manages.

    These are their own, and the campaigns of the challenges that they organize. Staff manage all.
    """
    if user.is_staff and user.is_active:
        return Campaign.objects.all()
    of_challenges = Q(challenge__in=list_organized_challenges(user).values("pk"))
    own = Q(pk__in=Campaign.objects.filter(organizers=user.pk, organizers__is_active=True).values("pk"))
    return Campaign.objects.filter(of_challenges | own)


def get_managed_campaign(user: User, slug: str) -> Campaign:
    """Return the campaign with a name, if the user manages it.

    Raises:
        NotFoundError: There is no such campaign, or the user does not manage it.
    """
    found = list_managed_campaigns(user).filter(slug=slug).first()
    if found is None:
        raise NotFoundError(f"there is no campaign {slug!r} that you manage")
    return found


def get_recent_information(user: User) -> dict[str, str]:
    """Return the information about the study of a user's newest campaign that has it, by setting."""
    newest = Campaign.objects.filter(organizers=user, settings__run_by__gt="").order_by("-pk").first()
    return {name: newest.settings[name] for name in STUDY_SETTINGS} if newest else {}


def change_state(user: User | None, campaign: Campaign, state: str, *, reason: str = "") -> Campaign:
    """Change the state of a campaign: preview, open, pause or close it.

    Held work may be finished while a campaign is paused or closing. Closing a campaign takes back held work;
    later answers are stored, but don't count.

    Args:
        user: The manager; None for the command line.
        campaign: The campaign.
        state: The new state.
        reason: Reason for the change, required to reopen a closed campaign.

    Raises:
        CampaignError: The transition is not possible, the required reason is missing, or the campaign lacks
            information about the study that workers must read before they agree.
    """
    with held(campaign) as now:
        if state == now.state:
            return now
        if state not in _TRANSITIONS[now.state]:
            ways = " or ".join(repr(str(each)) for each in _TRANSITIONS[now.state])
            raise CampaignError(f"the state {now.state!r} can only change to {ways} (got {state!r})")
        if now.state == _State.CLOSED and not reason.strip():
            raise CampaignError("'reason' is required to reopen a closed campaign")
        opens = now.state in (_State.DRAFT, _State.PILOT) and state in (_State.PILOT, _State.OPEN)
        if opens and (missing := describe_missing(now)):
            raise CampaignError(missing)
        if now.state == _State.PILOT or state == _State.CLOSED:
            take_back(now, Assignment.objects.filter(item__campaign=now))
        now.state = state
        now.save(update_fields=["state"])
        why = f": {reason.strip()}" if reason.strip() else ""
        record(user, now.challenge, f"changed the state of the campaign {now.slug} to {state}{why}")
    return now


def open_drafts(user: User | None, campaigns: Iterable[Campaign]) -> int:
    """Open all drafts among some campaigns, or none, and return their number.

    Raises:
        CampaignError: A draft lacks information about the study.
    """
    with transaction.atomic():
        drafts = [campaign for campaign in campaigns if campaign.state == _State.DRAFT]
        for campaign in drafts:
            change_state(user, campaign, _State.OPEN)
    return len(drafts)


def name_missing(settings: Mapping[str, Any]) -> str:
    """Return the names of the information for workers that settings lack, as a text."""
    return ", ".join(_STUDY_TEXTS[name] for name in list_missing(settings))


def describe_missing(campaign: Campaign) -> str:
    """Return which information for workers a campaign needs to open; empty if it has all."""
    missing = name_missing(campaign.settings)
    if not missing:
        return ""
    return (
        f"the campaign {campaign.slug} cannot open without information for its workers: {missing}; add it to"
        " the quality settings"
    )


def set_answers(user: User | None, campaign: Campaign, answers: int) -> Campaign:
    """Set the number of answers that each item needs.

    If the number is lowered, an item keeps its filled slots first, then the held ones; surplus answers remain
    stored, but no longer count. If it is raised, slots are added.

    Raises:
        CampaignError: The number is out of range.
    """
    if not 1 <= answers <= MOST_ANSWERS:
        raise CampaignError(f"'answers' must be from 1 to {MOST_ANSWERS} (got {answers})")
    with held(campaign) as now:
        before = get_options(now)
        now.settings = before.model_copy(update={"answers": answers}).model_dump()
        now.save(update_fields=["settings"])
        # Pair by pair, because all items of a pair may end at once.
        keys = list(items_of(now).order_by("group", "pk").values_list("pk", flat=True))
        for start in range(0, len(keys), _ITEMS_AT_ONCE):
            some = keys[start : start + _ITEMS_AT_ONCE]
            lock_items(some)
            open_slots(some, now)
            update_free_counts(some)
        what = f"set the answers per item of the campaign {now.slug} to {answers}"
        what += f" (before: {before.answers})"
        record(user, now.challenge, what)
    return now


def quality_settings(campaign: Campaign) -> dict[str, Any]:
    """Return the quality settings of a campaign by name."""
    return get_options(campaign).model_dump(include=set(QUALITY_SETTINGS))


def set_quality(user: User | None, campaign: Campaign, changes: Mapping[str, Any]) -> Campaign:
    """Change quality settings of a campaign, in any state, for future work.

    Slots that are reserved for trusted workers are open to everybody while `reopened_for` is "everybody".

    Args:
        user: The manager; None for the command line.
        campaign: The campaign.
        changes: New values by setting.

    Raises:
        CampaignError: A name is not a quality setting, or a value is invalid.
    """
    for name in changes:
        if name not in QUALITY_SETTINGS:
            available = ", ".join(QUALITY_SETTINGS)
            raise CampaignError(f"{name!r} is not a quality setting that can change (available: {available})")
    with held(campaign) as now:
        before = get_options(now).model_dump()
        try:
            after = CampaignOptions.model_validate({**before, **changes}).model_dump()
        except ValidationError as error:
            raise CampaignError("; ".join(list_problems(error))) from None
        changed = [
            f"{name} from {before[name]} to {after[name]}"
            for name in QUALITY_SETTINGS
            if before[name] != after[name]
        ]
        if changed:
            now.settings = after
            now.save(update_fields=["settings"])
            record(user, now.challenge, f"{_quality_prefix(now)}{', '.join(changed)}")
    return now


def _quality_prefix(campaign: Campaign) -> str:
    return f"changed the quality settings of the campaign {campaign.slug}: "


def quality_changes(campaign: Campaign) -> list[Action]:
    """Return the changes of the quality settings, latest first.

    The `what` of each contains the old and the new values.
    """
    rows = Action.objects.filter(challenge=campaign.challenge, what__startswith=_quality_prefix(campaign))
    found = list(rows.order_by("-time", "-pk"))
    for one in found:
        one.what = one.what.removeprefix(_quality_prefix(campaign))
    return found


def set_rules(user: User | None, campaign: Campaign, rules: Mapping[str, Any]) -> TextVersion:
    """Set the caption rules, as a new version of the campaign's texts.

    Each answer refers to the version that judged it.

    Args:
        user: The manager; None for the command line.
        campaign: The campaign.
        rules: The level of each rule that differs from its default; `known_words` and `blocked_words`. In
            languages other than English, rules for English are off by default.

    Raises:
        CampaignError: The campaign does not collect captions; a rule or a level is unknown; or a list is not
            a list of texts.
    """
    if not task_named(campaign.kind).written:
        raise CampaignError("caption rules require a campaign that collects captions")
    try:
        RuleSettings.stored(rules)
    except CapevalError as error:
        raise CampaignError(str(error)) from None
    with held(campaign) as now:
        before, rules = latest_texts(now), complete_rules(rules, get_options(now).language)
        if before.rules == rules:
            return before
        made = TextVersion.objects.create(
            campaign=now,
            number=before.number + 1,
            instructions=before.instructions,
            consent=before.consent,
            rules=rules,
        )
        what = f"changed the caption rules of the campaign {now.slug} (version {made.number})"
        record(user, now.challenge, what)
    return made


def unfinished(campaign: Campaign) -> QuerySet[Item]:
    """Return the items of a campaign that lack answers."""
    empty = Slot.objects.filter(item=OuterRef("pk"), closed=False, filled_by=None)
    return items_of(campaign).filter(Exists(empty))


def items_of(campaign: Campaign) -> QuerySet[Item]:
    """Return the items of a campaign with counted answers: all except checks."""
    return Item.objects.filter(campaign=campaign, is_check=False)
