"""Enrollment in campaigns, as a user of the server or by an invite link."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from capeval_server.annotation.core.departures import check_may_enroll
from capeval_server.annotation.core.locks import lock_participation
from capeval_server.annotation.models import (
    EXCLUDED,
    Campaign,
    Item,
    Participation,
    Response,
    TextVersion,
    Worker,
)
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers import panels
from capeval_server.annotation.workers.admission import admits, check_admission
from capeval_server.audit.models import record
from capeval_server.core.errors import AssignmentError, CampaignError, NotFoundError
from capeval_server.jobs.leases import database_time
from capeval_server.teams.models import Membership

__all__ = [
    "MOST_INVITES",
    "PREFIX",
    "agree",
    "check_conflicts",
    "competes",
    "digest_of_token",
    "enter_as_user",
    "first_stage",
    "get_invited",
    "has_agreed",
    "invite",
    "invite_to_all",
    "judges_challenge",
    "latest_texts",
    "link",
    "link_visitor",
    "list_competing",
    "list_invited",
    "list_other_campaigns",
    "revoke",
]

# Prefix of all invite tokens.
PREFIX = "work_"
# Maximum number of invite links per request.
MOST_INVITES = 10_000


def digest_of_token(text: str) -> str:
    """Return the hash of an invite token, the only part of it that is stored."""
    # The token has 256 random bits and cannot be guessed, so a slow hash would gain nothing.
    return hashlib.sha256(text.encode()).hexdigest()


def invite(user: User | None, campaign: Campaign, number: int) -> list[str]:
    """Create invite tokens, one per person. Only their hashes are stored.

    Raises:
        CampaignError: The number is less than 1 or more than `MOST_INVITES`, or the campaign is only open to
            its panel.
    """
    return invite_to_all(user, [campaign], number)


def invite_to_all(user: User | None, campaigns: Sequence[Campaign], number: int) -> list[str]:
    """Create invite tokens, one per person, each of them for several campaigns.

    Raises:
        CampaignError: The number is less than 1 or more than `MOST_INVITES`, or a campaign is only open to
            its panel.
        NotFoundError: A campaign was deleted.
    """
    for campaign in campaigns:
        if not admits(campaign, "invited"):
            raise CampaignError(
                f"the campaign {campaign.slug} is only open to its panel, so nobody could use invite links:"
                " change 'open_to' first"
            )
    if not 1 <= number <= MOST_INVITES:
        raise CampaignError(f"'number' must be from 1 to {MOST_INVITES:,} (got {number:,})")
    tokens = [PREFIX + secrets.token_urlsafe(32) for _ in range(number)]
    with transaction.atomic():
        # The lock keeps new workers out while another transaction has locked the whole campaign.
        rows = Campaign.objects.filter(pk__in=[campaign.pk for campaign in campaigns]).order_by("pk")
        if len(rows.select_for_update(no_key=True)) != len(campaigns):
            raise NotFoundError
        workers = Worker.objects.bulk_create(Worker(digest=digest_of_token(token)) for token in tokens)
        for campaign in campaigns:
            Participation.objects.bulk_create(
                Participation(worker=worker, campaign=campaign) for worker in workers
            )
            links = f"{number} invite link{'' if number == 1 else 's'}"
            what = f"created {links} for the campaign {campaign.slug}"
            record(user, campaign.challenge, what)
    return tokens


def get_invited(campaign: Campaign, token: str) -> Participation:
    """Return the participation that an invite token or a panel's token identifies.

    Raises:
        NotFoundError: The token is not a valid token of this campaign.
        AssignmentError: Its owner has withdrawn, or the campaign is only open to others.
    """
    if token.startswith(panels.PREFIX):
        return panels.get_entered(campaign, token)
    digest = digest_of_token(token)
    rows = Participation.objects.filter(campaign=campaign, worker__digest=digest)
    found = rows.select_related("worker", "campaign").first()
    if found is None:
        check_may_enroll(campaign, f"link {digest}")
        raise NotFoundError
    check_admission(campaign, "invited", found)
    return found


def list_invited(token: str) -> list[Campaign]:
    """Return the campaigns that an invite token is for."""
    rows = Participation.objects.filter(worker__digest=digest_of_token(token))
    return [row.campaign for row in rows.select_related("campaign").order_by("campaign")]


def list_other_campaigns(participation: Participation) -> list[Campaign]:
    """Return the other open campaigns of a worker's invite link that still need answers of this worker."""
    if participation.worker.digest is None:
        return []
    others = participation.worker.participations.exclude(pk=participation.pk).exclude(stage__in=EXCLUDED)
    rows = others.filter(campaign__state=Campaign.State.OPEN).select_related("campaign").order_by("campaign")
    own = Response.objects.filter(item=OuterRef("pk"), participation=OuterRef(OuterRef("pk")))
    lacking = Item.objects.filter(campaign=OuterRef("campaign"), free__gt=0).filter(~Exists(own))
    return [row.campaign for row in rows.filter(Exists(lacking))]


def revoke(user: User | None, participation: Participation) -> None:
    """Revoke a worker's invite link; their answers are kept."""
    with transaction.atomic():
        Worker.objects.filter(pk=participation.worker_id).update(digest=None)
        campaign = participation.campaign
        what = f"revoked the invite link of the worker {participation.worker} in the campaign {campaign.slug}"
        record(user, campaign.challenge, what)


def enter_as_user(user: User, campaign: Campaign) -> Participation:
    """Return the participation of a user of the server; create it if needed.

    Raises:
        NotFoundError: The campaign is not open yet.
        AssignmentError: The user has withdrawn from it, or it is only open to others.
    """
    check_may_enroll(campaign, f"user {user.pk}")
    found = Participation.objects.filter(worker__user=user, campaign=campaign).first()
    if found is None and campaign.state == Campaign.State.DRAFT:
        raise NotFoundError
    check_admission(campaign, "account", found)
    worker, _ = Worker.objects.get_or_create(user=user)
    if found is None:
        with transaction.atomic():
            Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
            found, _ = Participation.objects.get_or_create(worker=worker, campaign=campaign)
    found.worker, found.campaign = worker, campaign
    return found


def link(participation: Participation, account: User) -> None:
    """Link a worker from an invite link or a panel to the account of the same person."""
    worker = participation.worker
    if worker.user_id is None and worker.account_id != account.pk:
        Worker.objects.filter(pk=worker.pk).update(account=account)
        worker.account = account


def link_visitor(participation: Participation, account: User) -> None:
    """Link a worker to the account that is signed in.

    An unused invite link remains valid for somebody else if its visitor may not take part.
    """
    unused = participation.worker.digest is not None and participation.stage == Participation.Stage.INVITED
    if not (
        unused and _find_conflict(participation, account.pk, participation.campaign.participations.all())
    ):
        link(participation, account)


def check_conflicts(participation: Participation, account: User | None = None) -> None:
    """Reject conflicts of interest and duplicate participations of a person.

    Args:
        participation: The participation.
        account: The signed-in user of a link.

    Raises:
        AssignmentError: The person is in the challenge whose captions are judged, or already takes part in
            the campaign by another link or as a user.
    """
    worker, known = participation.worker, participation.campaign.participations.all()
    person = worker.user_id or worker.account_id
    conflict = ""
    if person is not None:
        # Of several participations of a person, the first is valid.
        conflict = _find_conflict(participation, person, known.filter(pk__lt=participation.pk))
    if account is not None and worker.user_id is None and account.pk != person and not conflict:
        conflict = _find_conflict(participation, account.pk, known)
        if conflict and participation.stage == Participation.Stage.INVITED:
            conflict = gettext(
                "{reason}; the link was not used, and is still valid for somebody else"
            ).format(reason=conflict)
    if conflict:
        raise AssignmentError(conflict)


def _find_conflict(participation: Participation, person: int, known: QuerySet[Participation]) -> str:
    """Return the reason why a user may not take part, or an empty text.

    Args:
        participation: A participation of the user.
        person: The user.
        known: The participations that come before it.
    """
    same = Q(worker__user=person) | Q(worker__account=person)
    if not admits(participation.campaign, "account"):
        # A visit that did not become work doesn't keep an invited person out.
        known = known.exclude(worker__user=person, stage=Participation.Stage.INVITED)
    if known.filter(same).exclude(pk=participation.pk).exists():
        return gettext("you already take part in this campaign, by another link or as a user")
    if competes(participation.campaign, person):
        return gettext("participants of the challenge can't judge its captions")
    return ""


def judges_challenge(campaign: Campaign) -> bool:
    """Return whether a campaign judges the captions of a challenge's participants."""
    return campaign.challenge_id is not None and task_named(campaign.kind).result.judges_systems


def competes(campaign: Campaign, person: int) -> bool:
    """Return whether a user takes part in the challenge that a campaign judges."""
    if not judges_challenge(campaign):
        return False
    return Membership.objects.filter(user=person, team__challenge=campaign.challenge_id).exists()


def list_competing(campaign: Campaign) -> set[int]:
    """Return the participations of workers with the account of a participant of the judged challenge."""
    if not judges_challenge(campaign):
        return set()
    users = Membership.objects.filter(team__challenge=campaign.challenge_id).values("user")
    rows = campaign.participations.exclude(stage=Participation.Stage.INVITED)
    own = Q(worker__user__in=users) | Q(worker__account__in=users)
    return set(rows.filter(own).values_list("pk", flat=True))


def latest_texts(campaign: Campaign) -> TextVersion:
    """Return the version of the texts that is in force.

    Raises:
        NotFoundError: The campaign has no texts.
    """
    later = TextVersion.objects.filter(campaign=OuterRef("campaign"), number__gt=OuterRef("number"))
    found = TextVersion.objects.filter(campaign=campaign).filter(~Exists(later)).first()
    if found is None:
        raise NotFoundError
    return found


def has_agreed(participation: Participation) -> bool:
    """Return whether a worker has agreed to the texts that are in force.

    A change of only the caption rules needs no new agreement.
    """
    agreed, latest = participation.consented_to_id, latest_texts(participation.campaign)
    if agreed is None or agreed == latest.pk:
        return agreed is not None
    before = TextVersion.objects.get(pk=agreed)
    return (before.instructions, before.consent) == (latest.instructions, latest.consent)


def first_stage(campaign: Campaign) -> str:
    """Return the stage after consent: the training, if the campaign has one."""
    trains = campaign.items.filter(is_training=True).exists()
    return Participation.Stage.TRAINING if trains else Participation.Stage.WORKING


def agree(participation: Participation, number: int) -> Participation:
    """Record a worker's consent to a version of the texts, which must be the latest.

    Raises:
        AssignmentError: There are newer texts, or the worker is blocked or has withdrawn.
    """
    with transaction.atomic():
        now = lock_participation(participation)
        texts = latest_texts(now.campaign)
        if texts.number != number:
            raise AssignmentError(gettext("the instructions have changed: please read them again"))
        if now.stage in EXCLUDED:
            raise AssignmentError(gettext("you can no longer take part in this study"))
        if now.stage == Participation.Stage.INVITED:
            now.stage = first_stage(now.campaign)
        now.consented_to, now.consented = texts, database_time()
        now.save(update_fields=["stage", "consented_to", "consented"])
    return now
