"""Votes on pairs of captions: plans, rows for `capeval study votes`, and counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from capeval.formats.judgments.plans import PAIR_CHOICES, Pair, Plan, Triplet
from capeval.studies.judging import Question
from capeval.studies.judging.wins import STRENGTH, WINS
from capeval.studies.votes import PlanVotes, count_pair_votes, count_votes
from capeval_server.annotation.task_types.base import ITEMS
from capeval_server.annotation.task_types.results import TaskResult

__all__ = ["PairVotes", "TripletVotes"]

_FIRST, _SECOND = ITEMS


class PairVotes(TaskResult):
    """Choices between an item's captions `first` and `second`: one vote per answer.

    Attributes:
        file: Name of the file of votes.
        numbered: Column of that file with the number of the question in the plan.
    """

    file: ClassVar[str] = "pair_votes.csv"
    numbered: ClassVar[str] = "pair"

    @property
    def questions(self) -> tuple[Question, ...]:
        """Wins, and the strengths derived from them."""
        return (WINS, STRENGTH)

    @property
    def yes(self) -> tuple[str, ...]:
        """The first caption of a pair."""
        return (_FIRST,)

    def parse_choice(self, choice: str) -> float:
        """Return 1 for the first caption, -1 for the second, and 0 for neither."""
        return float(PAIR_CHOICES[choice])

    def plan_items(self, plan: Plan, image: str) -> Iterator[dict[str, Any]]:
        """Yield the items that ask the questions of a plan, as lines of a campaign's file.

        Args:
            plan: The plan.
            image: Name of the part of a line that contains the image's name.
        """
        for number, pair in enumerate(plan.pairs):
            yield {"key": str(number), "group": str(number), image: str(pair.image), **_build_item(pair)}

    def triplet(self, payload: Mapping[str, Any], pair: int, judgments: int) -> Triplet | None:  # noqa: ARG002
        """Return the question of an item in the plan; None if the pair is the question.

        Args:
            payload: The payload of the item.
            pair: The number of its pair.
            judgments: Number of answers that it needs.
        """
        return None

    def row(self, plan: Plan, item: int, pair: int, choice: str) -> tuple[int, str]:  # noqa: ARG002
        """Return the number and the choice of a vote, as the file of votes has them.

        Args:
            plan: The plan.
            item: The position of the item.
            pair: The number of its pair.
            choice: The stored choice.
        """
        return pair, choice

    def count(
        self,
        plan: Plan,
        pairs: Sequence[int],
        answers: Sequence[Sequence[int]],
        *,
        complete: bool,  # noqa: ARG002
    ) -> PlanVotes:
        """Count votes, without questions that have none.

        Args:
            plan: The plan.
            pairs: The number of the pair of each item.
            answers: The votes on each item: 1 for the first caption, -1 for the second, 0 for neither.
            complete: Whether only triplets with all their answers count.
        """
        of_pairs: list[list[int]] = [[] for _ in plan.pairs]
        for pair, given in zip(pairs, answers, strict=True):
            of_pairs[pair] += given
        return count_pair_votes(plan.pairs, of_pairs, complete_only=True)


class TripletVotes(PairVotes):
    """Choices of the caption more similar to `reference`: one vote per majority."""

    file = "votes.csv"
    numbered = "triplet"

    def plan_items(self, plan: Plan, image: str) -> Iterator[dict[str, Any]]:
        """Yield one item per triplet, with its pair as the group."""
        for number, triplet in enumerate(plan.triplets):
            pair = plan.pairs[triplet.pair]
            yield {
                "key": str(number),
                "group": str(triplet.pair),
                "reference": triplet.reference,
                image: str(pair.image),
                "on_the_left": triplet.on_the_left,
                **_build_item(pair),
            }

    def triplet(self, payload: Mapping[str, Any], pair: int, judgments: int) -> Triplet:
        """Return the triplet with its captions on the sides of the plan."""
        left = payload.get("on_the_left", _FIRST)
        return Triplet(
            pair=pair,
            reference=payload["reference"],
            left=payload[left],
            right=payload[_SECOND if left == _FIRST else _FIRST],
            on_the_left=left,
            judgments=judgments,
        )

    def row(self, plan: Plan, item: int, pair: int, choice: str) -> tuple[int, str]:  # noqa: ARG002
        """Return the number of the triplet, and the side of the choice in triplets.csv.

        That side may differ from the side on which the worker saw the caption.
        """
        return item, "left" if choice == plan.triplets[item].on_the_left else "right"

    def count(
        self,
        plan: Plan,
        pairs: Sequence[int],  # noqa: ARG002
        answers: Sequence[Sequence[int]],
        *,
        complete: bool,
    ) -> PlanVotes:
        """Count the majority of each triplet as one vote."""
        if not complete:
            plan = replace(plan, triplets=tuple(replace(each, judgments=1) for each in plan.triplets))
        return count_votes(plan, answers, complete_only=True)


def _build_item(pair: Pair) -> dict[str, str]:
    found = {
        _FIRST: pair.first,
        _SECOND: pair.second,
        "category": pair.kind or "",
        "first_by": pair.first_by or "",
        "second_by": pair.second_by or "",
    }
    return {name: text for name, text in found.items() if text}
