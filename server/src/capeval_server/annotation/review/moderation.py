"""Moderation: reviews, blocks and their reversal, holds. No answer is edited."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from capeval_server.annotation.core.locks import lock_items, lock_participation, lock_voted
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.core.slots import empty, fill_slots, select_countable, update_slots
from capeval_server.annotation.models import (
    LONGEST_NOTE,
    Assignment,
    Campaign,
    CheckResult,
    Exclusion,
    Item,
    Participation,
    Release,
    Response,
    Review,
    ReviewRequest,
    Slot,
)
from capeval_server.annotation.responses.assignment import take_back
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.trust import judge_again
from capeval_server.audit.models import COMMAND_LINE, record
from capeval_server.core.errors import CampaignError
from capeval_server.jobs.leases import database_time

__all__ = [
    "BlockEffect",
    "block",
    "effect_of_blocking",
    "exclude_answers",
    "get_block",
    "link_account",
    "list_review_queue",
    "redact",
    "releases_of",
    "review",
    "set_hold",
    "unblock",
    "undo_review",
]

_HELD = Assignment.State.HELD
_VERDICTS = (Review.Verdict.FINE, Review.Verdict.REJECTED)


@dataclass(frozen=True, kw_only=True)
class BlockEffect:
    """Effect, or expected effect, of blocking a worker.

    Attributes:
        answers: Number of the worker's answers that no longer count.
        items: Number of items that need another answer.
        releases: Names of the releases that contain the worker's answers; the releases don't change.
    """

    answers: int
    items: int
    releases: tuple[str, ...]


def _get_name(user: User | None) -> str:
    return COMMAND_LINE if user is None else user.username


def _validate_note(name: str, text: str, *, needed: bool = True) -> str:
    text = text.strip()
    if (needed and not text) or len(text) > LONGEST_NOTE or "\0" in text:
        raise CampaignError(f"'{name}' must be a text of at most {LONGEST_NOTE} characters, and not empty")
    return text


def list_review_queue(campaign: Campaign) -> QuerySet[Response]:
    """Return the answers that wait for a review, in order of arrival."""
    later = Response.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    # The query starts from the requests: there are few, while there may be half a million answers.
    asked = ReviewRequest.objects.filter(response__item__campaign=campaign).values("response")
    verdicts = Review.objects.filter(response=OuterRef("pk")).order_by("-pk").values("verdict")[:1]
    waiting = (
        Response.objects.filter(pk__in=asked, redacted="")
        .annotate(latest=Subquery(verdicts))
        .filter(Q(latest=None) | Q(latest=Review.Verdict.UNDONE))
        .filter(~Exists(later))
    )
    # Answers of blocked workers wait again if the block is lifted.
    gone = (Participation.Stage.WITHDREW, Participation.Stage.BLOCKED)
    return waiting.exclude(participation__stage__in=gone).order_by("pk")


def review(user: User, response: Response, verdict: str, *, reason: str = "", note: str = "") -> Review:
    """Accept or reject an answer. A rejection frees its slot.

    The latest review of an answer counts.

    Raises:
        CampaignError: The reviewer wrote the answer, or it is rejected without a reason.
    """
    if verdict not in _VERDICTS or reason not in Review.Reason.values:
        raise CampaignError(
            f"'verdict' must be fine or rejected, and 'reason' one of"
            f" {', '.join(Review.Reason.values[1:])} (got {verdict!r} and {reason!r})"
        )
    if (verdict == Review.Verdict.REJECTED) != bool(reason):
        raise CampaignError("'reason' is required to reject an answer, and not allowed otherwise")
    note = _validate_note("note", note, needed=False)
    _check_author(user, response)
    return _store_review(user, response, verdict, reason, note)


def undo_review(user: User, response: Response) -> Review:
    """Undo the latest review of an answer, which has no verdict then.

    An answer that waited for its review waits again. An answer that was rejected fills a slot that is still
    free, if any.

    Raises:
        CampaignError: The answer has no verdict, or the user wrote it.
    """
    _check_author(user, response)
    with transaction.atomic():
        lock_participation(response.participation)
        latest = response.reviews.order_by("-pk").first()
        if latest is None or latest.verdict == Review.Verdict.UNDONE:
            raise CampaignError("this answer has no review to undo")
        return _store_review(user, response, Review.Verdict.UNDONE, "", "")


def _check_author(user: User, response: Response) -> None:
    author = response.participation.worker
    if user.pk in (author.user_id, author.account_id):
        raise CampaignError("you cannot review your own answers")


def _store_review(user: User, response: Response, verdict: str, reason: str, note: str) -> Review:
    with transaction.atomic():
        participation = lock_participation(response.participation)
        lock_voted([response.item_id], participation.campaign)
        made = Review.objects.create(
            response=response,
            reviewer=user,
            who=user.username,
            verdict=verdict,
            reason=reason,
            note=note,
            time=database_time(),
        )
        _update_slot(participation, response)
        judge_again(participation)
    return made


def _update_slot(participation: Participation, response: Response) -> None:
    """Update the slots after a change of whether an answer counts.

    An answer that no longer counts is removed from its slot; one that counts again fills a free slot, if any.
    """
    filled = Slot.objects.filter(filled_by=response).exists()
    counts = select_countable().filter(pk=response.pk).exists()
    options = get_options(participation.campaign)
    if filled and not counts:
        only = options.reopened_for == "trusted"
        empty(Response.objects.filter(pk=response.pk), trusted_only=only)
    elif counts and not filled:
        fill_slots([response])
    update_slots([response.item_id], participation.campaign, voted=True)


def effect_of_blocking(participation: Participation) -> BlockEffect:
    """Return the expected effect of blocking a worker."""
    slots = Slot.objects.filter(filled_by__participation=participation)
    items = slots.values("item").distinct().count()
    return BlockEffect(answers=slots.count(), items=items, releases=_list_releases(participation))


def _list_releases(participation: Participation) -> tuple[str, ...]:
    found = Release.objects.filter(responses__response__participation=participation)
    return tuple(found.distinct().order_by("time", "pk").values_list("name", flat=True))


def block(user: User | None, participation: Participation, reason: str) -> tuple[Exclusion, BlockEffect]:
    """Block a worker: none of their answers counts, and their slots are freed.

    Returns:
        The record of the block, and its effect.

    Raises:
        CampaignError: The worker is already blocked or has withdrawn, or the reason is empty.
    """
    reason = _validate_note("reason", reason)
    with transaction.atomic():
        now = lock_participation(participation)
        if now.stage == Participation.Stage.WITHDREW:
            raise CampaignError("this worker has withdrawn from the campaign")
        if Exclusion.objects.filter(participation=now, lifted=None).exists():
            raise CampaignError("this worker is already blocked")
        made = Exclusion.objects.create(
            campaign=now.campaign,
            participation=now,
            reason=reason,
            person=user,
            who=_get_name(user),
            time=database_time(),
        )
        now.stage = Participation.Stage.BLOCKED
        now.save(update_fields=["stage"])
        effect = exclude_answers(now)
        what = f"blocked the worker {now.worker} in the campaign {now.campaign.slug}: {reason}"
        record(user, now.campaign.challenge, f"{what} ({effect.answers} answers no longer count)")
    return made, effect


def exclude_answers(participation: Participation) -> BlockEffect:
    """Free the slots of an excluded worker. The participation is locked."""
    slots = Slot.objects.filter(filled_by__participation=participation)
    held = participation.assignments.filter(state=Assignment.State.HELD)
    keys = {*slots.values_list("item_id", flat=True), *held.values_list("item_id", flat=True)}
    lock_voted(keys, participation.campaign)
    options = get_options(participation.campaign)
    answers = slots.count()
    of_worker = Response.objects.filter(participation=participation)
    items = empty(of_worker, trusted_only=options.reopened_for == "trusted")
    update_slots(items, participation.campaign, voted=True)
    take_back(participation.campaign, participation.assignments.all())
    return BlockEffect(answers=answers, items=len(items), releases=_list_releases(participation))


def get_block(participation: Participation) -> Exclusion:
    """Return the block of a worker.

    Raises:
        CampaignError: The worker is not blocked.
    """
    found = participation.exclusions.filter(lifted=None).first()
    if found is None:
        raise CampaignError("this worker is not blocked")
    return found


def unblock(user: User | None, exclusion: Exclusion, reason: str) -> int:
    """Unblock a worker: their answers fill slots that are still free.

    Returns:
        The number of answers that count again.

    Raises:
        CampaignError: The block is already lifted, the worker has withdrawn, or the reason is empty.
    """
    reason = _validate_note("reason", reason)
    if exclusion.participation is None:
        raise CampaignError("only the block of a worker can be lifted")
    with transaction.atomic():
        now = lock_participation(exclusion.participation)
        if now.stage == Participation.Stage.WITHDREW:
            raise CampaignError("this worker has withdrawn from the campaign and can't come back")
        found = Exclusion.objects.filter(pk=exclusion.pk, lifted=None)
        if not found.update(
            lifted=database_time(), lifted_person=user, lifted_who=_get_name(user), lifted_reason=reason
        ):
            raise CampaignError("this block has already been lifted")
        # A worker who was blocked before consent has yet to agree.
        agreed = now.consented_to_id is not None
        now.stage = _get_former_stage(now) if agreed else Participation.Stage.INVITED
        now.save(update_fields=["stage"])
        mine = select_countable().filter(participation=now, filled_slot=None, item__held=False)
        responses = list(mine.select_related("assignment__slot").order_by("item_id"))
        lock_voted((response.item_id for response in responses), now.campaign)
        filled = fill_slots(responses)
        update_slots(filled, now.campaign, voted=True)
        what = f"lifted the block of the worker {now.worker} in the campaign {now.campaign.slug}: {reason}"
        record(user, now.campaign.challenge, f"{what} ({len(filled)} answers count again)")
    return len(filled)


def _get_former_stage(participation: Participation) -> str:
    """Return the stage of an unblocked worker: the training, if they had no work yet."""
    worked = participation.assignments.filter(item__is_training=False).exists()
    return Participation.Stage.WORKING if worked else enrollment.first_stage(participation.campaign)


def link_account(user: User | None, participation: Participation, account: User) -> BlockEffect | None:
    """Link a worker to an account, and block the worker in a conflict of interest.

    Returns:
        The effect of the block; None if nothing had to be blocked.

    Raises:
        CampaignError: The worker came as a user, or has withdrawn.
    """
    campaign = participation.campaign
    with transaction.atomic():
        now = lock_participation(participation)
        if now.worker.user_id is not None or now.stage == Participation.Stage.WITHDREW:
            raise CampaignError("only workers from a link or a panel who have not withdrawn can be linked")
        enrollment.link(now, account)
        what = f"linked the worker {now.worker} in the campaign {campaign.slug} to an account"
        record(user, campaign.challenge, what)
        blocked = Exclusion.objects.filter(participation=now, lifted=None).exists()
        if blocked or not enrollment.competes(campaign, account.pk):
            return None
        return block(user, now, "takes part in the challenge whose captions are judged")[1]


def redact(user: User | None, response: Response, reason: str) -> None:
    """Remove the text of an answer permanently, but keep its hash and the reason.

    The answer no longer counts.

    Raises:
        CampaignError: The text is already removed, or the reason is empty.
    """
    reason = _validate_note("reason", reason)
    with transaction.atomic():
        participation = lock_participation(response.participation)
        lock_voted([response.item_id], participation.campaign)
        nothing: dict[str, object] = {}
        emptied = {"answer": nothing, "rules": nothing, "events": nothing, "redacted": reason}
        if not Response.objects.filter(pk=response.pk, redacted="").update(**emptied):
            raise CampaignError("the text of this answer has already been removed")
        _update_slot(participation, response)
        campaign = participation.campaign
        what = f"removed the text of an answer ({response.digest[:12]}) in the campaign {campaign.slug}"
        record(user, campaign.challenge, f"{what}: {reason}")


def set_hold(user: User | None, item: Item, *, held: bool, reason: str = "") -> tuple[str, ...]:
    """Put an item on hold, or release it; existing answers are kept.

    Args:
        user: The user who does it; None for the command line.
        item: The item. Its repetition is put on hold or released with it.
        held: Whether the item will be on hold.
        reason: The reason for the hold.

    Returns:
        The names of the releases that contain answers to the item; the releases don't change.

    Raises:
        CampaignError: The reason is too long.
    """
    reason = _validate_note("reason", reason, needed=False)
    with transaction.atomic():
        campaign = Campaign.objects.get(pk=item.campaign_id)
        both = campaign.items.filter(Q(pk=item.pk) | Q(repeats=item.pk))
        keys = list(both.values_list("pk", flat=True))
        holders = Participation.objects.filter(assignments__item__in=keys, assignments__state=_HELD)
        for participation in holders.order_by("pk").distinct():
            lock_participation(participation)
        locked = lock_items(keys)
        said = reason if held and reason else None
        changed = [one for one in locked if one.held != held or said not in (None, one.held_reason)]
        for one in changed:
            _hold(campaign, one, held=held, reason=reason)
        if changed:
            what = "put an item on hold" if held else "released an item"
            why = f": {reason}" if held and reason else ""
            record(user, campaign.challenge, f"{what} ({item.key}) in the campaign {campaign.slug}{why}")
    return releases_of(item)


def _hold(campaign: Campaign, item: Item, *, held: bool, reason: str) -> None:
    item.held, item.held_reason = held, reason if held else ""
    if item.is_check and not held:
        # Reviewed results no longer count towards putting the check on hold.
        item.checks_looked_at = CheckResult.objects.filter(response__item=item).count()
    item.save(update_fields=["held", "held_reason", "checks_looked_at"])
    if held:
        take_back(campaign, Assignment.objects.filter(item=item))
    update_slots([item.pk], campaign)


def releases_of(item: Item) -> tuple[str, ...]:
    """Return the names of the releases with answers to an item, in order of freezing."""
    found = Release.objects.filter(responses__response__item=item)
    return tuple(found.distinct().order_by("time", "pk").values_list("name", flat=True))
