"""Counted answers of judgment campaigns, and their scores of systems."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from capeval.errors import MismatchError
from capeval.formats.judgments.human_scores import HumanScore
from capeval.formats.judgments.plans import PAIR_CHOICES, Pair, Plan
from capeval.formats.judgments.ratings import Ratings, pad_ratings
from capeval.studies.judging import HumanColumn, JudgingOptions, human_scores, judge
from capeval.studies.judging.wins import get_row_name, judge_wins
from capeval.studies.votes import PlanVotes
from capeval_server.annotation.campaigns.lifecycle import unfinished
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Item, Response
from capeval_server.annotation.task_types import TASKS, PairVotes, RatingResult, task_named
from capeval_server.core.errors import CampaignError

__all__ = [
    "CountedJudgments",
    "get_image_id",
    "judgment_kinds",
    "list_judged_items",
    "number_pairs",
]

_NO_SYSTEM = "unknown"


def judgment_kinds() -> list[str]:
    """Return the names of the task types with answers that judge captions."""
    return [name for name, task in TASKS.items() if task.result.judges_systems]


def list_judged_items(campaign: Campaign) -> list[Item]:
    """Return the items other than checks, in numeric order if their keys are numbers."""
    items = campaign.items.filter(is_check=False).select_related("image")
    return sorted(items, key=lambda item: _sort_key(item.key))


def number_pairs(items: Iterable[Item]) -> dict[int, int]:
    """Return the number in the plan of each item's pair, by the primary key of the item."""
    groups = {item.pk: _get_group(item) for item in items}
    numbers = {group: number for number, group in enumerate(sorted(set(groups.values()), key=_sort_key))}
    return {item: numbers[group] for item, group in groups.items()}


class CountedJudgments:
    """The counted answers of a judgment campaign: those that fill a slot.

    Args:
        campaign: The campaign.
        complete_only: Whether to omit items that lack answers.

    Attributes:
        result: Result of the campaign's task type.
        items: The items other than checks, in numeric order if their keys are numbers.
        counted: The answers by item, in the order of their slots.

    Raises:
        CampaignError: The task type does not judge captions, or no answer counts.
    """

    def __init__(self, campaign: Campaign, *, complete_only: bool = False) -> None:
        self.result = task_named(campaign.kind).result
        if not self.result.judges_systems:
            kinds = ", ".join(judgment_kinds())
            raise CampaignError(f"the task type must be one of {kinds} (got {campaign.kind!r})")
        self._campaign = campaign
        self.items = list_judged_items(campaign)
        rows = Response.objects.filter(
            item__campaign=campaign, item__is_check=False, filled_slot__isnull=False
        )
        self.counted: dict[int, list[Response]] = {}
        for row in rows.select_related("participation__worker", "assignment").order_by("filled_slot__number"):
            self.counted.setdefault(row.item_id, []).append(row)
        if complete_only:
            lacking = set(unfinished(campaign).values_list("pk", flat=True))
            self.counted = {item: rows for item, rows in self.counted.items() if item not in lacking}
        if not self.counted:
            raise CampaignError(f"the campaign {campaign.slug} has no counted answers yet")
        # If pairs end by the votes of complete triplets, only these decide the winner.
        self._needs_complete = bool(get_options(campaign).confidence)

    def replace_answers(self, answers: Mapping[int, Sequence[Response]]) -> CountedJudgments:
        """Return the judgments with other answers, such as one estimated answer per item.

        Args:
            answers: The answers by item.
        """
        made = copy.copy(self)
        made.counted = {item: list(rows) for item, rows in answers.items()}
        made._needs_complete = False
        return made

    @cached_property
    def _pair_numbers(self) -> dict[int, int]:
        return number_pairs(self.items)

    @cached_property
    def plan(self) -> Plan:
        """The plan of a vote campaign, as written by `capeval study plan`."""
        pairs: dict[int, Pair] = {}
        for item in self.items:
            pairs.setdefault(self.pair_of(item), _build_pair(item))
        answers = get_options(self._campaign).answers
        asked = (self.votes.triplet(item.payload, self.pair_of(item), answers) for item in self.items)
        return Plan(
            pairs=tuple(pairs[number] for number in range(len(pairs))),
            triplets=tuple(triplet for triplet in asked if triplet),
        )

    @property
    def votes(self) -> PairVotes:
        """The result type of a vote campaign.

        Raises:
            CampaignError: The campaign does not collect votes.
        """
        if not isinstance(self.result, PairVotes):
            raise CampaignError(f"a plan requires a task type with votes (got {self._campaign.kind!r})")
        return self.result

    def pair_of(self, item: Item) -> int:
        """Return the number in the plan of an item's pair."""
        return self._pair_numbers[item.pk]

    def ratings(self) -> dict[str, Ratings]:
        """Return the answers of a rating campaign by question; empty for other campaigns."""
        if not isinstance(self.result, RatingResult):
            return {}
        caption = self.result.caption
        items = [item for item in self.items if item.pk in self.counted]
        return {
            rated.question.name: Ratings(
                image_ids=tuple(get_image_id(item) for item in items),
                captions=tuple(item.payload[caption] for item in items),
                values=pad_ratings(
                    [[rated.number(one.answer) for one in self.counted[item.pk]] for item in items]
                ),
                systems=tuple(item.payload["system"] for item in items),
            )
            for rated in self.result.rated
        }

    def columns(
        self,
        options: JudgingOptions = JudgingOptions(),  # noqa: B008 - it is immutable.
    ) -> tuple[HumanColumn, ...]:
        """Return the scores of the systems, one column per question.

        The result is empty if triplets or pairs don't compare several systems.

        Args:
            options: Resamples of the images, and level of the intervals.

        Raises:
            CampaignError: There are too few images for intervals of ratings.
        """
        if not isinstance(self.result, RatingResult):
            try:
                return judge_wins(self.count_votes(), options)
            except MismatchError:
                return ()
        try:
            return tuple(
                judge(ratings, question, options)
                for question, ratings in zip(self.result.questions, self.ratings().values(), strict=True)
            )
        except MismatchError as error:
            raise CampaignError(f"{self._campaign.slug}: {error}") from None

    def count_votes(self) -> PlanVotes:
        """Return the counts of the votes, without questions that have none.

        Raises:
            CampaignError: The campaign does not collect votes.
            MismatchError: No question is complete.
        """
        answers = [
            [PAIR_CHOICES[one.answer["choice"]] for one in self.counted.get(item.pk, [])]
            for item in self.items
        ]
        pairs = [self.pair_of(item) for item in self.items]
        return self.votes.count(self.plan, pairs, answers, complete=self._needs_complete)

    def scores(self, columns: Sequence[HumanColumn], *, release: str = "") -> tuple[HumanScore, ...]:
        """Return the rows of human.csv, with the number of workers for each system."""
        workers: dict[str, set[int]] = {}
        for item in self.items:
            people = {one.participation_id for one in self.counted.get(item.pk, [])}
            for system in _get_systems(item):
                workers.setdefault(system, set()).update(people)
        return tuple(
            replace(
                score,
                workers=len(workers[score.system]),
                submission=self._campaign.systems.get(score.system, ""),
            )
            for score in human_scores(columns, release=release)
        )


def _sort_key(name: str) -> tuple[int, int, str]:
    """Return a sort key that sorts numbers numerically, before other names."""
    return (0, int(name), "") if name.isdecimal() else (1, 0, name)


def _get_group(item: Item) -> str:
    return item.group or item.key


def get_image_id(item: Item) -> str:
    """Return the id of the judged image; without one in the item, the name of the campaign's image."""
    return item.payload.get("image_id") or (item.image.name if item.image else _get_group(item))


def _get_systems(item: Item) -> tuple[str, ...]:
    """Return the row names of the systems that an item judges."""
    if "system" in item.payload:
        return (item.payload["system"],)
    pair = _build_pair(item)
    return tuple(get_row_name(name or "") for name in (pair.first_by, pair.second_by))


def _build_pair(item: Item) -> Pair:
    payload = item.payload
    return Pair(
        image=get_image_id(item),
        kind=item.category or "unknown",
        first=payload["first"],
        second=payload["second"],
        first_by=payload.get("first_by", _NO_SYSTEM),
        second_by=payload.get("second_by", _NO_SYSTEM),
    )
