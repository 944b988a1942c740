"""Winners of items: by the counts of answers, and by models of the workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from capeval.errors import MismatchError
from capeval.studies.judging.worker_models import fit_dawid_skene, fit_mace, gather_answers
from capeval_server.annotation.models import Campaign, Item, Response
from capeval_server.annotation.releases.judgments import CountedJudgments, get_image_id
from capeval_server.annotation.review.worker_summaries import MODEL_ITERATIONS, MOST_MODELED, SIDED_CHOICES
from capeval_server.annotation.task_types import PairVotes, task_named

__all__ = ["MODELS", "ItemWinner", "JudgedWinners"]

MODELS = ("Dawid-Skene", "MACE")
"""The models, in the order of their columns."""
# Choices with a smaller difference of their probabilities are tied.
_TIE = 1e-6
_OTHER_SIDE = dict(zip(SIDED_CHOICES, reversed(SIDED_CHOICES), strict=True))
_SIDES = {1: "first", -1: "second", 0: "equal"}

_Estimates = Mapping[int, Mapping[str, float]]


class ItemWinner(NamedTuple):
    """The winner of an item or of a pair, as a row of `winners.csv`.

    Attributes:
        question: Name of the question.
        pair: Number of the pair in `pairs.csv`; empty for ratings.
        item: Key of the item; empty if the row is the winner of a pair with several items.
        image_id: Image id of the item.
        category: Class of the item.
        system: System that wrote the judged caption, or the first one.
        second_system: System that wrote the second caption.
        answers: Number of counted answers; for a pair with several items, of its votes.
        counts: Number of answers for each choice, most frequent first.
        winner: The most frequent choice; empty if two are tied.
        dawid_skene: The most probable choice by Dawid and Skene's one-coin model; empty if two are tied.
        dawid_skene_probability: Its probability.
        mace: The most probable choice by MACE; empty if two are tied.
        mace_probability: Its probability.
    """

    question: str
    pair: int | None
    item: str
    image_id: str
    category: str
    system: str
    second_system: str
    answers: int
    counts: str
    winner: str
    dawid_skene: str
    dawid_skene_probability: float | None
    mace: str
    mace_probability: float | None

    @property
    def is_disputed(self) -> bool:
        """Whether a model names a different winner than the counts."""
        return {self.dawid_skene, self.mace} != {self.winner}


class JudgedWinners:
    """Winners of a judgment campaign, and the judgments as the models see them.

    Args:
        campaign: The campaign.
        judged: Its counted answers.

    Attributes:
        modeled: By model, the judgments with the most probable choices in the place of the answers; empty if
            there are too many answers.
    """

    def __init__(self, campaign: Campaign, judged: CountedJudgments) -> None:
        self._kind = campaign.kind
        self._judged = judged
        self._parts = tuple(task_named(campaign.kind).choices)
        number = sum(map(len, judged.counted.values()))
        self._estimates: dict[str, dict[str, _Estimates]] = {}
        if number <= MOST_MODELED:
            by_part = {part: self._estimate(part) for part in self._parts}
            self._estimates = {
                model: {part: each[place] for part, each in by_part.items()}
                for place, model in enumerate(MODELS)
            }
        self.modeled = {
            model: judged.replace_answers({item: self._build_answers(each, item) for item in judged.counted})
            for model, each in self._estimates.items()
        }

    def list_winners(self) -> list[ItemWinner]:
        """Return the winners of pairs with several items, and of all items."""
        items = [item for item in self._judged.items if item.pk in self._judged.counted]
        rows = [self._build_row(item, part) for part in self._parts for item in items]
        return [*self._list_pairs(items), *rows]

    def _estimate(self, part: str) -> list[_Estimates]:
        """Return the probability of each choice by model and item."""
        counted = self._judged.counted
        rows = gather_answers(
            (item, str(one.participation_id), one.answer[part])
            for item, given in counted.items()
            for one in given
        )
        if len(rows.choices) < 2:
            # Models need two different choices. Here, all answers are equal.
            return [{item: {str(rows.choices[0]): 1.0} for item in counted} for _ in MODELS]
        sided = isinstance(self._judged.result, PairVotes)
        if sided:
            rows = rows.swap_alternately(*SIDED_CHOICES)
        found = (
            fit_dawid_skene(rows, one_coin=True, most=MODEL_ITERATIONS),
            fit_mace(rows, most=MODEL_ITERATIONS),
        )
        names = [str(choice) for choice in rows.choices]
        swapped = [_OTHER_SIDE.get(name, name) for name in names] if sided else names
        return [
            {
                int(item): dict(zip((names, swapped)[place % 2], map(float, row), strict=True))  # type: ignore[call-overload]
                for place, (item, row) in enumerate(zip(rows.questions, each.truth, strict=True))
            }
            for each in found
        ]

    def _build_answers(self, estimates: Mapping[str, _Estimates], item: int) -> list[Response]:
        """Return an answer with the most probable choices; several if choices are tied."""
        best = [_find_best(estimates[part][item]) for part in self._parts]
        return [Response(answer=dict(zip(self._parts, choices, strict=True))) for choices in product(*best)]

    def _build_row(self, item: Item, part: str) -> ItemWinner:
        counts = Counter(one.answer[part] for one in self._judged.counted[item.pk])
        models: list[str | float | None] = []
        for model in MODELS:
            if model in self._estimates:
                probabilities = self._estimates[model][part][item.pk]
                models += [_name_best(probabilities), round(max(probabilities.values()), 4)]
            else:
                models += ["", None]
        payload = item.payload
        votes = isinstance(self._judged.result, PairVotes)
        return ItemWinner(
            self._judged.result.name_question(self._kind, part, self._parts),
            self._judged.pair_of(item) if votes else None,
            item.key,
            get_image_id(item),
            item.category,
            payload.get("system") or payload.get("first_by", ""),
            payload.get("second_by", ""),
            counts.total(),
            _format_counts(counts),
            _name_best(counts),
            *models,  # type: ignore[arg-type]
        )

    def _list_pairs(self, items: Sequence[Item]) -> Iterator[ItemWinner]:
        """Yield the winners of pairs, if a pair has several items."""
        if not isinstance(self._judged.result, PairVotes):
            return
        if len({self._judged.pair_of(item) for item in items}) == len(items):
            return
        try:
            votes = self._judged.count_votes()
        except MismatchError:
            return
        winners = {
            model: {
                number: int(winner)
                for counted in [each.count_votes()]
                for number, winner in zip(counted.numbers, counted.winners, strict=True)
            }
            for model, each in self.modeled.items()
        }
        for number, pair, winner in zip(votes.numbers, votes.pairs, votes.winners, strict=True):
            counts = Counter(_SIDES[vote] for vote in pair.votes)
            models: list[str | None] = []
            for model in MODELS:
                models += [_name_side(winners[model][number]) if model in winners else "", None]
            yield ItemWinner(
                self._kind,
                number,
                "",
                str(pair.image),
                pair.kind or "",
                pair.first_by or "",
                pair.second_by or "",
                counts.total(),
                _format_counts(counts),
                _name_side(int(winner)),
                *models,  # type: ignore[arg-type]
            )


def _find_best(values: Mapping[str, float]) -> list[str]:
    most = max(values.values())
    return [name for name, value in values.items() if most - value < _TIE]


def _name_best(values: Mapping[str, float]) -> str:
    """Return the name of the largest value; empty if two are tied."""
    best = _find_best(values)
    return best[0] if len(best) == 1 else ""


def _name_side(winner: int) -> str:
    return _SIDES[winner] if winner else ""


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(
        f"{name} {number}" for name, number in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )
