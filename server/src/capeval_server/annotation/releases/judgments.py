"""What the counted answers of a campaign of judgements are, and what they say of systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.formats.judgments.human_scores import HumanScore
from capeval.formats.judgments.plans import PAIR_CHOICES, Pair, Plan, Triplet
from capeval.formats.judgments.ratings import Ratings
from capeval.studies.judging import HumanColumn, human_scores, judge, thumb_score
from capeval.studies.judging.wins import judge_wins, row_of
from capeval.studies.votes import PlanVotes, count_pair_votes, count_votes
from capeval_server.annotation.campaigns.lifecycle import unfinished
from capeval_server.annotation.core.options import options_of
from capeval_server.annotation.models import Campaign, Item, Response
from capeval_server.core.errors import CampaignError

__all__ = ["JUDGED", "RATED", "CountedJudgments"]

RATED = ("m1", "m2", "m3", "m4", "m5", "rating")
"""The kinds of task whose answers are values of systems."""

JUDGED = ("triplet", "pairwise", *RATED)
"""The kinds of task whose answers are choices."""

_NUMBERS: Mapping[str, Mapping[str, float]] = {
    "m1": {"better": 1.0, "equal": 0.0, "worse": -1.0},
    "m2": {"person": 1.0, "machine": 0.0},
    "m5": {"yes": 1.0, "no": 0.0},
}
_PENALTIES = ("fluency", "conciseness", "inclusive")
_NO_SYSTEM = "unknown"


class CountedJudgments:
    """The answers of a campaign of judgements that count: those that fill a slot.

    Args:
        campaign: The campaign.
        complete_only: Whether items that lack answers are left out.

    Attributes:
        items: The items that are no checks, by number where their keys are numbers.
        counted: The answers, by item and in the order of their slots.

    Raises:
        CampaignError: The campaign is of another kind, or no answer counts.
    """

    def __init__(self, campaign: Campaign, *, complete_only: bool = False) -> None:
        if campaign.kind not in JUDGED:
            raise CampaignError(f"results must be of {', '.join(JUDGED)} (got {campaign.kind!r})")
        self._campaign = campaign
        items = campaign.items.filter(is_check=False).select_related("image")
        self.items = sorted(items, key=lambda item: _by_number(item.key))
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
            raise CampaignError(f"no answer of {campaign.slug} counts yet")

    @cached_property
    def _pair_numbers(self) -> dict[str, int]:
        """The number of each pair in the plan, by what its items have in common."""
        groups = sorted({_group(item) for item in self.items}, key=_by_number)
        return {group: number for number, group in enumerate(groups)}

    @cached_property
    def plan(self) -> Plan:
        """What a campaign of triplets or of pairs asks, as `capeval study plan` writes it."""
        pairs: dict[int, Pair] = {}
        for item in self.items:
            pairs.setdefault(self.pair_of(item), _pair(item))
        triplets: tuple[Triplet, ...] = ()
        if self._campaign.kind == "triplet":
            answers = options_of(self._campaign).answers
            triplets = tuple(_triplet(item, self.pair_of(item), answers) for item in self.items)
        return Plan(pairs=tuple(pairs[number] for number in range(len(pairs))), triplets=triplets)

    def pair_of(self, item: Item) -> int:
        """The number in the plan of the pair that an item is about."""
        return self._pair_numbers[_group(item)]

    def ratings(self) -> dict[str, Ratings]:
        """The answers of a campaign of M1 to M5 or of ratings, by the library's name of the question."""
        items = [item for item in self.items if item.pk in self.counted]
        return {
            name: Ratings(
                image_ids=tuple(item.image.name if item.image else _group(item) for item in items),
                captions=tuple(item.payload.get("caption") or item.payload["first"] for item in items),
                values=_rows([[number(one.answer) for one in self.counted[item.pk]] for item in items]),
                systems=tuple(item.payload["system"] for item in items),
            )
            for name, number in _numbers_of(self._campaign.kind).items()
        }

    def columns(self, *, samples: int = 1000) -> tuple[HumanColumn, ...]:
        """What they say of systems; nothing where triplets or pairs say nothing of several systems.

        Args:
            samples: The number of resamples of the images.

        Raises:
            CampaignError: There are too few images for intervals of ratings.
        """
        if self._campaign.kind not in RATED:
            try:
                return judge_wins(self._votes(), samples=samples)
            except MismatchError:
                return ()
        try:
            return tuple(
                judge(ratings, question, samples=samples) for question, ratings in self.ratings().items()
            )
        except MismatchError as error:
            raise CampaignError(f"{self._campaign.slug}: {error}") from None

    def _votes(self) -> PlanVotes:
        """The votes on what has answers."""
        answers = [
            [PAIR_CHOICES[one.answer["choice"]] for one in self.counted.get(item.pk, [])]
            for item in self.items
        ]
        if self._campaign.kind == "triplet":
            # Where pairs end by the votes of complete triplets, these alone say who wins.
            whole = bool(options_of(self._campaign).confidence)
            triplets = self.plan.triplets
            asked = Plan(
                pairs=self.plan.pairs,
                triplets=triplets if whole else tuple(replace(each, judgements=1) for each in triplets),
            )
            return count_votes(asked, answers, complete_only=True)
        of_pairs: list[list[int]] = [[] for _ in self.plan.pairs]
        for item, given in zip(self.items, answers, strict=True):
            of_pairs[self.pair_of(item)] += given
        return count_pair_votes(self.plan.pairs, of_pairs, complete_only=True)

    def scores(self, columns: Sequence[HumanColumn], *, release: str = "") -> tuple[HumanScore, ...]:
        """The rows of human.csv, with how many people answered about each system."""
        workers: dict[str, set[int]] = {}
        for item in self.items:
            people = {one.participation_id for one in self.counted.get(item.pk, [])}
            for system in _systems(item):
                workers.setdefault(system, set()).update(people)
        return tuple(
            replace(score, workers=len(workers[score.system]))
            for score in human_scores(columns, release=release)
        )


def _by_number(name: str) -> tuple[int, int, str]:
    """Sorts numbers as numbers, and before other names."""
    return (0, int(name), "") if name.isdecimal() else (1, 0, name)


def _group(item: Item) -> str:
    return item.group or item.key


def _systems(item: Item) -> tuple[str, ...]:
    """The rows of columns that an item is about."""
    if "system" in item.payload:
        return (item.payload["system"],)
    pair = _pair(item)
    return tuple(row_of(name or "") for name in (pair.first_by, pair.second_by))


def _pair(item: Item) -> Pair:
    payload = item.payload
    return Pair(
        image=payload.get("image_id") or (item.image.name if item.image else _group(item)),
        kind=item.category or "unknown",
        first=payload["first"],
        second=payload["second"],
        first_by=payload.get("first_by", _NO_SYSTEM),
        second_by=payload.get("second_by", _NO_SYSTEM),
    )


def _triplet(item: Item, pair: int, judgements: int) -> Triplet:
    first_left = item.payload.get("on_the_left", "first") == "first"
    texts = (item.payload["first"], item.payload["second"])
    return Triplet(
        pair=pair,
        reference=item.payload["reference"],
        left=texts[not first_left],
        right=texts[first_left],
        on_the_left="first" if first_left else "second",
        judgements=judgements,
    )


def _numbers_of(kind: str) -> dict[str, Callable[[Mapping[str, str]], float]]:
    """How an answer becomes a number, by the question's name."""
    if kind == "rating":
        return {
            "P": lambda answer: float(answer["precision"]),
            "R": lambda answer: float(answer["recall"]),
            "THumB": _thumb,
        }
    if kind in _NUMBERS:
        return {kind.upper(): lambda answer: _NUMBERS[kind][answer["choice"]]}
    return {kind.upper(): lambda answer: float(answer["choice"])}


def _thumb(answer: Mapping[str, str]) -> float:
    precision, recall = (np.array([float(answer[name])]) for name in ("precision", "recall"))
    penalties = (-np.array([float(answer[name])]) for name in _PENALTIES)
    return float(thumb_score(precision, recall, *penalties)[0])


def _rows(rows: Sequence[Sequence[float]]) -> FloatArray:
    """Rows of equal length, with NaN where an item has fewer answers."""
    most = max(map(len, rows))
    return np.array([[*row, *[np.nan] * (most - len(row))] for row in rows])
