"""Looking at what people did: reviews, blocking, and taking both back. Nothing here changes an answer."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from capeval_server.annotation.core.locks import lock_items, lock_participation, lock_voted
from capeval_server.annotation.core.options import options_of
from capeval_server.annotation.core.slots import countable, empty, fill, settle
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
from capeval_server.annotation.responses.assignment import pull
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.trust import judge_again
from capeval_server.audit.models import COMMAND_LINE, record
from capeval_server.core.errors import CampaignError
from capeval_server.jobs.leases import database_time

__all__ = [
    "BlockEffect",
    "block",
    "effect_of_blocking",
    "hold",
    "lift",
    "link_account",
    "queue",
    "redact",
    "releases_of",
    "review",
    "take_out",
]

_HELD = Assignment.State.HELD


@dataclass(frozen=True, kw_only=True)
class BlockEffect:
    """What blocking a worker does, or would do.

    Attributes:
        answers: How many of their answers no longer count.
        items: How many items need another answer then.
        releases: The names of the releases that have answers of theirs, which stay as they are.
    """

    answers: int
    items: int
    releases: tuple[str, ...]


def _who(user: User | None) -> str:
    return COMMAND_LINE if user is None else user.username


def _checked_note(name: str, text: str, *, needed: bool = True) -> str:
    text = text.strip()
    if (needed and not text) or len(text) > LONGEST_NOTE or "\0" in text:
        raise CampaignError(f"'{name}' must be a text of at most {LONGEST_NOTE} characters, and not empty")
    return text


def queue(campaign: Campaign) -> QuerySet[Response]:
    """The answers that wait for a review, in the order in which they came."""
    later = Response.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    # From the requests, which are few: answers may be half a million.
    asked = ReviewRequest.objects.filter(response__item__campaign=campaign).values("response")
    waiting = Response.objects.filter(pk__in=asked, reviews=None, redacted="").filter(~Exists(later))
    return waiting.exclude(participation__stage=Participation.Stage.WITHDREW).order_by("pk")


def review(user: User, response: Response, verdict: str, *, reason: str = "", note: str = "") -> Review:
    """Says that an answer is fine, or rejects it: then its slot is free again. The latest review counts.

    Raises:
        CampaignError: The reviewer wrote the answer; or it is rejected without a reason.
    """
    if verdict not in Review.Verdict.values or reason not in Review.Reason.values:
        raise CampaignError(
            f"'verdict' must be fine or rejected, and 'reason' one of"
            f" {', '.join(Review.Reason.values[1:])} (got {verdict!r} and {reason!r})"
        )
    if (verdict == Review.Verdict.REJECTED) != bool(reason):
        raise CampaignError("'reason' must be given where an answer is rejected, and nowhere else")
    note = _checked_note("note", note, needed=False)
    author = response.participation.worker
    if user.pk in (author.user_id, author.account_id):
        raise CampaignError("nobody reviews an answer of their own")
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
        _settle(participation, response)
        judge_again(participation)
    return made


def _settle(participation: Participation, response: Response) -> None:
    """Empties the slot of an answer that no longer counts, or has one that counts again fill a free slot."""
    filled = Slot.objects.filter(filled_by=response).exists()
    counts = countable().filter(pk=response.pk).exists()
    options = options_of(participation.campaign)
    if filled and not counts:
        only = options.reopened_for == "trusted"
        empty(Response.objects.filter(pk=response.pk), trusted_only=only)
    elif counts and not filled:
        fill([response])
    settle([response.item_id], participation.campaign, voted=True)


def effect_of_blocking(participation: Participation) -> BlockEffect:
    """What blocking a worker would do."""
    slots = Slot.objects.filter(filled_by__participation=participation)
    items = slots.values("item").distinct().count()
    return BlockEffect(answers=slots.count(), items=items, releases=_releases_of(participation))


def _releases_of(participation: Participation) -> tuple[str, ...]:
    found = Release.objects.filter(responses__response__participation=participation)
    return tuple(found.distinct().order_by("time", "pk").values_list("name", flat=True))


def block(user: User | None, participation: Participation, reason: str) -> tuple[Exclusion, BlockEffect]:
    """Blocks a worker: no answer of theirs counts, and their slots are free again, in one transaction.

    Returns:
        The record of it, and what it did.

    Raises:
        CampaignError: They are blocked already or have left, or no reason is given.
    """
    reason = _checked_note("reason", reason)
    with transaction.atomic():
        now = lock_participation(participation)
        if now.stage == Participation.Stage.WITHDREW:
            raise CampaignError("this worker has left the campaign")
        if Exclusion.objects.filter(participation=now, lifted=None).exists():
            raise CampaignError("this worker is blocked already")
        made = Exclusion.objects.create(
            campaign=now.campaign,
            participation=now,
            reason=reason,
            person=user,
            who=_who(user),
            time=database_time(),
        )
        now.stage = Participation.Stage.BLOCKED
        now.save(update_fields=["stage"])
        effect = take_out(now)
        what = f"blocked the worker {now.worker} in the campaign {now.campaign.slug}: {reason}"
        record(user, now.campaign.challenge, f"{what} ({effect.answers} answers no longer count)")
    return made, effect


def take_out(participation: Participation) -> BlockEffect:
    """Empties the slots of a worker, who is excluded and whose participation is locked."""
    slots = Slot.objects.filter(filled_by__participation=participation)
    held = participation.assignments.filter(state=Assignment.State.HELD)
    keys = {*slots.values_list("item_id", flat=True), *held.values_list("item_id", flat=True)}
    lock_voted(keys, participation.campaign)
    options = options_of(participation.campaign)
    answers = slots.count()
    of_worker = Response.objects.filter(participation=participation)
    items = empty(of_worker, trusted_only=options.reopened_for == "trusted")
    settle(items, participation.campaign, voted=True)
    pull(participation.campaign, participation.assignments.all())
    return BlockEffect(answers=answers, items=len(items), releases=_releases_of(participation))


def lift(user: User | None, exclusion: Exclusion, reason: str) -> int:
    """Lifts a block: the worker's answers fill what is still free.

    Returns:
        How many of them count again.

    Raises:
        CampaignError: It is lifted already, the worker has left, or no reason is given.
    """
    reason = _checked_note("reason", reason)
    if exclusion.participation is None:
        raise CampaignError("only a block of a worker is lifted")
    with transaction.atomic():
        now = lock_participation(exclusion.participation)
        if now.stage == Participation.Stage.WITHDREW:
            raise CampaignError("this worker has left the campaign, and can't come back")
        found = Exclusion.objects.filter(pk=exclusion.pk, lifted=None)
        if not found.update(
            lifted=database_time(), lifted_person=user, lifted_who=_who(user), lifted_reason=reason
        ):
            raise CampaignError("this block is lifted already")
        # Who was blocked before they agreed has still to agree.
        agreed = now.consented_to_id is not None
        now.stage = _stage_before(now) if agreed else Participation.Stage.INVITED
        now.save(update_fields=["stage"])
        mine = countable().filter(participation=now, filled_slot=None, item__held=False)
        responses = list(mine.select_related("assignment__slot").order_by("item_id"))
        lock_voted((response.item_id for response in responses), now.campaign)
        filled = fill(responses)
        settle(filled, now.campaign, voted=True)
        what = f"lifted the block of the worker {now.worker} in the campaign {now.campaign.slug}: {reason}"
        record(user, now.campaign.challenge, f"{what} ({len(filled)} answers count again)")
    return len(filled)


def _stage_before(participation: Participation) -> str:
    """Where a worker goes on who was blocked: in the training, if they had no work yet."""
    worked = participation.assignments.filter(item__is_training=False).exists()
    return Participation.Stage.WORKING if worked else enrollment.first_stage(participation.campaign)


def link_account(user: User | None, participation: Participation, account: User) -> BlockEffect | None:
    """Records which account a worker has, and blocks the worker if it competes with what is judged.

    Returns:
        What the block did; none if nothing had to be blocked.

    Raises:
        CampaignError: The worker came as a user, or has left.
    """
    campaign = participation.campaign
    with transaction.atomic():
        now = lock_participation(participation)
        if now.worker.user_id is not None or now.stage == Participation.Stage.WITHDREW:
            raise CampaignError(
                "only a worker who came by a link or from a panel, and has not left, is linked"
            )
        enrollment.link(now, account)
        what = f"linked the worker {now.worker} in the campaign {campaign.slug} with an account"
        record(user, campaign.challenge, what)
        blocked = Exclusion.objects.filter(participation=now, lifted=None).exists()
        if blocked or not enrollment.competes(campaign, account.pk):
            return None
        return block(user, now, "takes part in the challenge whose captions are judged")[1]


def redact(user: User | None, response: Response, reason: str) -> None:
    """Removes the text of an answer for good: its hash and the reason stay. It no longer counts.

    Raises:
        CampaignError: Its text is removed already, or no reason is given.
    """
    reason = _checked_note("reason", reason)
    with transaction.atomic():
        participation = lock_participation(response.participation)
        lock_voted([response.item_id], participation.campaign)
        nothing: dict[str, object] = {}
        emptied = {"answer": nothing, "rules": nothing, "events": nothing, "redacted": reason}
        if not Response.objects.filter(pk=response.pk, redacted="").update(**emptied):
            raise CampaignError("the text of this answer is removed already")
        _settle(participation, response)
        campaign = participation.campaign
        what = f"removed the text of an answer ({response.digest[:12]}) in the campaign {campaign.slug}"
        record(user, campaign.challenge, f"{what}: {reason}")


def hold(user: User | None, item: Item, *, held: bool, reason: str = "") -> tuple[str, ...]:
    """Takes an item out of work, or gives it out again; answers that it has stay as they are.

    Args:
        user: Who does it; none for the command line.
        item: The item. What is shown again of it, mirrored, goes with it.
        held: Whether it shall be out of work.
        reason: Why it is taken out.

    Returns:
        The names of the releases that have answers of it, which stay as they are.

    Raises:
        CampaignError: The reason is too long.
    """
    reason = _checked_note("reason", reason, needed=False)
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
            what = "took an item out of work" if held else "gave an item out again"
            why = f": {reason}" if held and reason else ""
            record(user, campaign.challenge, f"{what} ({item.key}) in the campaign {campaign.slug}{why}")
    return releases_of(item)


def _hold(campaign: Campaign, item: Item, *, held: bool, reason: str) -> None:
    item.held, item.held_reason = held, reason if held else ""
    if item.is_check and not held:
        # What somebody has looked at doesn't take the check out again.
        item.checks_looked_at = CheckResult.objects.filter(response__item=item).count()
    item.save(update_fields=["held", "held_reason", "checks_looked_at"])
    if held:
        pull(campaign, Assignment.objects.filter(item=item))
    settle([item.pk], campaign)


def releases_of(item: Item) -> tuple[str, ...]:
    """The names of the releases that have answers of an item, in the order in which they were frozen."""
    found = Release.objects.filter(responses__response__item=item)
    return tuple(found.distinct().order_by("time", "pk").values_list("name", flat=True))
