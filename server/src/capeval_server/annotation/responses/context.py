"""Context of an answer: the state for its outcome, read once under the locks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from capeval_server.annotation.core.departures import check_not_withdrawn
from capeval_server.annotation.core.locks import lock_for_answer, lock_pair
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    Draft,
    Item,
    Participation,
    Response,
    TextVersion,
)
from capeval_server.annotation.task_types import TaskType, task_of
from capeval_server.jobs.leases import DatabaseTime

__all__ = ["AnswerContext", "open_context"]


@dataclass(frozen=True, kw_only=True)
class AnswerContext:
    """State in which an answer arrives.

    All rows are current, and remain so until the transaction ends.

    Attributes:
        participation: The worker in the campaign. Its row is locked.
        campaign: The campaign.
        options: The options of the campaign.
        texts: The latest instructions and rules.
        item: The answered item. Its row is locked.
        voted_items: The keys of the items that the answer can end, including the answered one: all items of
            its pair if pairs end early. Their rows are locked.
        task: The task type of the item.
        assignment: The worker's assignment, with its slot.
        held_slot: Whether the worker held a slot of the item when the answer arrived.
        has_draft: Whether a draft of the answer is stored.
        may_be_known: Whether this assignment, or another one with the same idempotency key, has an answer.
        now: The database's time.
    """

    participation: Participation
    campaign: Campaign
    options: CampaignOptions
    texts: TextVersion
    item: Item
    voted_items: tuple[int, ...]
    task: TaskType
    assignment: Assignment
    held_slot: bool
    has_draft: bool
    may_be_known: bool
    now: datetime


def open_context(assignment: Assignment, key: str) -> AnswerContext:
    """Lock the rows that an answer can change, and read the state for its outcome.

    Args:
        assignment: The worker's assignment, as it was read before.
        key: The idempotency key of the answer.

    Raises:
        AssignmentError: The worker has withdrawn, or the campaign has no instructions.
        NotFoundError: The participation no longer exists.
    """
    participation, texts = lock_for_answer(assignment.participation)
    check_not_withdrawn(participation)
    campaign = participation.campaign
    options = get_options(campaign)
    items = lock_pair(assignment.item, options)
    item = items[assignment.item_id]
    item.campaign = campaign
    answers = Response.objects.filter(
        Q(assignment=OuterRef("pk")) | Q(participation=OuterRef("participation"), key=key)
    )
    drafts = Draft.objects.filter(assignment=OuterRef("pk"))
    rows = Assignment.objects.select_related("slot").annotate(
        may_be_known=Exists(answers), has_draft=Exists(drafts), now=DatabaseTime()
    )
    found = rows.get(pk=assignment.pk)
    return AnswerContext(
        participation=participation,
        campaign=campaign,
        options=options,
        texts=texts,
        item=item,
        voted_items=tuple(items),
        task=task_of(item, campaign),
        assignment=found,
        held_slot=found.state == Assignment.State.HELD and found.slot_id is not None,
        has_draft=found.has_draft,
        may_be_known=found.may_be_known,
        now=found.now,
    )
