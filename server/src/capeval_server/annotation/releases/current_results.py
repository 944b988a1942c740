"""Results of a campaign from the answers that count now."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from capeval.data.captions import ImageId
from capeval.errors import CapevalError, MismatchError
from capeval.studies.judging import JudgingOptions
from capeval.studies.judging.intervals import create_share_interval
from capeval.studies.judging.wins import STRENGTH, WINS, get_row_name
from capeval.studies.votes import PlanVotes
from capeval.tokenizers import tokenize
from capeval_server.annotation.core.agreement import measure_caption_agreement, measure_question_agreement
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.core.slots import find_ended_items
from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.releases.human_columns import describe_stopping, explain_adaptive
from capeval_server.annotation.releases.item_winners import (
    MODELS,
    ItemWinner,
    JudgedWinners,
)
from capeval_server.annotation.releases.judgments import CountedJudgments, get_image_id
from capeval_server.annotation.releases.metric_accuracy import measure_accuracy
from capeval_server.annotation.releases.result_files import render_csv
from capeval_server.annotation.review.worker_summaries import MOST_MODELED
from capeval_server.annotation.task_types import PairVotes, RatingResult, task_named
from capeval_server.challenges.models import ReferenceSet
from capeval_server.leaderboards.bounded_cache import BoundedCache

__all__ = ["ALL", "MOST_DISPUTED", "CampaignNumber", "CampaignResults", "get_results", "render_results"]

ALL = "all"
"""Name of the class of all items."""
MOST_DISPUTED = 20
"""Maximum number of items that the results list, because a model names a different winner."""

_Ends = tuple[float | None, float | None, float | None]
_LEVEL = 0.95
# Wins and strengths have intervals without resamples. These only find out if there are enough images.
_PAIRS = JudgingOptions(samples=100)


class CampaignNumber(NamedTuple):
    """A number of the results.

    Attributes:
        table: `systems` (human scores of systems), `models` (the same by a model of the workers), `wins` (of
            a system against another), `winners` (share of items with a winner, and on which a model agrees),
            `choices` (shares of the answers), `agreement` (Krippendorff's alpha), `metrics` (share of pairs
            on which a metric prefers the same caption as people) or `captions` (statistics of written
            captions).
        question: Name of the question; empty for captions.
        category: Class of the items; `all` for all items.
        name: The system, choice, metric or statistic.
        other: The system that `name` is compared with, or the model; empty for other tables.
        value: The number; None if it is not defined.
        low: Lower end of its 95 % interval; None without one.
        high: Upper end of the interval.
        units: Number of images, pairs, items or captions from which it is computed.
        answers: Number of answers from which it is computed; None if it is computed from winners.
    """

    table: str
    question: str
    category: str
    name: str
    other: str
    value: float | None
    low: float | None
    high: float | None
    units: int
    answers: int | None


@dataclass(frozen=True, kw_only=True)
class CampaignResults:
    """Results of a campaign, from the answers that count now.

    Attributes:
        answers: Number of counted answers.
        items: Number of items with a counted answer.
        workers: Number of workers with a counted answer.
        rows: The numbers, by table.
        notes: Methods and limits of the numbers.
        lengths: Number of words of each written caption; empty for judgments.
        disputed: Items and pairs for which a model names a different winner than the counts, at most
            20.
    """

    answers: int
    items: int
    workers: int
    rows: tuple[CampaignNumber, ...]
    notes: tuple[str, ...]
    lengths: tuple[int, ...] = ()
    disputed: tuple[ItemWinner, ...] = ()

    def select(self, table: str) -> list[CampaignNumber]:
        """Return the rows of a table."""
        return [row for row in self.rows if row.table == table]


# Results by campaign and a digest of its counted answers, each of which never changes.
_computed: BoundedCache[str, CampaignResults] = BoundedCache(most=50)


def get_results(campaign: Campaign) -> CampaignResults:
    """Return the results of a campaign, computed again only after a change of its counted answers."""
    counted = Response.objects.filter(
        item__campaign=campaign, item__is_check=False, filled_slot__isnull=False
    ).order_by("pk")
    keys = list(counted.values_list("pk", "item_id", "participation_id"))
    sets = ReferenceSet.objects.filter(split__challenge=campaign.challenge).order_by("pk")
    state = repr((campaign.settings, campaign.systems, list(sets.values_list("pk", "version")), keys))
    digest = hashlib.sha256(state.encode()).hexdigest()
    known = _computed.known(campaign.slug, [digest])
    if digest not in known:
        computed = _compute(campaign) if keys else _Computed()
        known[digest] = CampaignResults(
            answers=len(keys),
            items=len({item for _, item, _ in keys}),
            workers=len({worker for *_, worker in keys}),
            rows=tuple(computed.rows),
            notes=tuple(dict.fromkeys(note for note in computed.notes if note)),
            lengths=tuple(computed.lengths),
            disputed=tuple(computed.disputed),
        )
        _computed.add(campaign.slug, known)
    return known[digest]


def render_results(results: CampaignResults) -> str:
    """Return the numbers as CSV, with one row per number."""
    return render_csv(CampaignNumber._fields, results.rows)


@dataclass(frozen=True, kw_only=True)
class _Computed:
    rows: Sequence[CampaignNumber] = ()
    notes: Sequence[str] = ()
    lengths: Sequence[int] = ()
    disputed: Sequence[ItemWinner] = ()


def _compute(campaign: Campaign) -> _Computed:
    task = task_named(campaign.kind)
    if not task.result.judges_systems:
        rows, notes, lengths = _describe_captions(campaign, task.written)
        return _Computed(rows=rows, notes=notes, lengths=lengths)
    judged = CountedJudgments(campaign)
    rows, notes = _score_systems(campaign, judged)
    winners = JudgedWinners(campaign, judged)
    rows += _score_by_models(winners)
    if isinstance(judged.result, PairVotes):
        compared, more = _compare_winners(campaign, judged)
        rows, notes = rows + compared, notes + more
    listed = winners.list_winners()
    rows += [*_count_winners(listed), *_count_choices(campaign, judged)]
    agreement, alphas = _measure_agreement(campaign)
    notes += [*alphas, _describe_stopping(campaign), _describe_models(winners)]
    disputed = [each for each in listed if winners.modeled and each.is_disputed]
    return _Computed(rows=rows + agreement, notes=notes, disputed=disputed[:MOST_DISPUTED])


def _describe_stopping(campaign: Campaign) -> str:
    over = find_ended_items(campaign)
    ended = {"items_decided": over.decided, "pairs_confident": over.pairs}
    return describe_stopping({**get_options(campaign).model_dump(), "ended": ended})


def _describe_models(winners: JudgedWinners) -> str:
    if not winners.modeled:
        return f"Models of the workers are not fitted to more than {MOST_MODELED:,} answers."
    return (
        "Dawid-Skene (one-coin) and MACE estimate the most probable choice for each item from the answers and"
        " the quality of each worker. Their scores use it in the place of the answers. The counted results do"
        " not depend on the models."
    )


def _score_by_models(winners: JudgedWinners) -> Iterator[CampaignNumber]:
    """Yield the scores of systems by the most probable choices of each model."""
    for model, judged in winners.modeled.items():
        rated = isinstance(judged.result, RatingResult)
        try:
            columns = judged.columns(JudgingOptions(samples=100) if rated else _PAIRS)
        except CapevalError:
            continue
        for score in judged.scores(columns):
            yield CampaignNumber(
                "models",
                score.question,
                ALL,
                score.system,
                model,
                score.value,
                None,
                None,
                score.images,
                None,
            )


def _count_winners(listed: Sequence[ItemWinner]) -> Iterator[CampaignNumber]:
    """Yield the shares of items with a winner, and of these on which each model names the same one."""
    groups: dict[tuple[str, str], list[ItemWinner]] = {}
    several = len({each.category for each in listed}) > 1
    pairs = any(not each.item for each in listed)
    for each in listed:
        # The winner of a triplet is one vote on its pair.
        if not (pairs and each.item):
            for category in (each.category, ALL) if several else (ALL,):
                groups.setdefault((each.question, category), []).append(each)
    for (question, category), rows in sorted(groups.items(), key=lambda each: (each[0][1] == ALL, each[0])):
        won = [each for each in rows if each.winner]
        shares = {"with a winner": (len(won), len(rows))}
        if any(each.mace_probability is not None or each.mace for each in rows):
            same = (
                sum(each.dawid_skene == each.winner for each in won),
                sum(each.mace == each.winner for each in won),
            )
            shares |= {
                f"same by {model}": (number, len(won)) for model, number in zip(MODELS, same, strict=True)
            }
        for name, (number, of) in shares.items():
            if of:
                yield CampaignNumber(
                    "winners", question, category, name, "", number / of, None, None, of, None
                )


def _compare_winners(campaign: Campaign, judged: CountedJudgments) -> tuple[list[CampaignNumber], list[str]]:
    """Return the wins of systems against each other, and the accuracy of metrics on the winners."""
    try:
        votes = judged.count_votes()
    except MismatchError as error:
        return [], [f"Winners need more answers: {error}."]
    rows = list(_list_wins(votes))
    measured = measure_accuracy(campaign, votes)
    for metric, by_class in measured.accuracies.items():
        for category, each in by_class.items():
            if category != ALL and len(by_class) == 2:
                continue
            # Without a pair that has a winner, an accuracy is not defined.
            ends: _Ends = (each.value, each.low, each.high) if each.pairs else (None, None, None)
            rows.append(
                CampaignNumber("metrics", campaign.kind, category, metric, "", *ends, each.pairs, None)
            )
    return rows, [measured.note]


def _score_systems(campaign: Campaign, judged: CountedJudgments) -> tuple[list[CampaignNumber], list[str]]:
    if not isinstance(judged.result, PairVotes | RatingResult):
        return [], []
    try:
        columns = judged.columns(_PAIRS if isinstance(judged.result, PairVotes) else JudgingOptions())
    except CapevalError as error:
        return [], [f"Systems have no scores yet: {error}."]
    if not columns:
        return [], [
            "Systems have no scores: these need pairs of two systems, on enough images for intervals."
        ]
    scores = judged.scores(columns)
    rows = [
        CampaignNumber(
            "systems", score.question, ALL, score.system, "", score.value, score.low, score.high,
            score.images, score.votes,
        )
        for score in scores
    ]  # fmt: skip
    notes = [f"{column.question.name}: {column.question.measures}." for column in columns]
    notes += [f"{score.question}: {score.interval}." for score in scores]
    if campaign.next_pairs.exists():
        notes += [explain_adaptive(question.name) for question in (WINS, STRENGTH)]
    return rows, notes


def _list_wins(votes: PlanVotes) -> Iterator[CampaignNumber]:
    """Yield the share of pairs that a system wins against another; a tie is half a win.

    The interval is over images, like that of the system's share of all its pairs.
    """
    counts: dict[tuple[str, str, str], dict[ImageId, list[float]]] = {}
    for pair, winner in zip(votes.pairs, votes.winners.tolist(), strict=True):
        first, second = (get_row_name(name or "unknown") for name in (pair.first_by, pair.second_by))
        if first != second:
            # The order of the two captions is random, so both orders are counted together.
            a, b = sorted((first, second))
            points = (1 + (winner if a == first else -winner)) / 2
            counts.setdefault((pair.kind or "", a, b), {}).setdefault(pair.image, []).append(points)
    for (category, a, b), images in counts.items():
        won = np.array([sum(points) for points in images.values()], dtype=np.float64)
        most = np.array([len(points) for points in images.values()], dtype=np.float64)
        share = create_share_interval(won, most, _LEVEL)
        ends = (share.score, share.low, share.high)
        yield CampaignNumber("wins", WINS.name, category, a, b, *ends, int(most.sum()), None)


def _count_choices(campaign: Campaign, judged: CountedJudgments) -> Iterator[CampaignNumber]:
    """Yield the share of answers for each choice, with an interval over images."""
    counts: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    several = len({item.category for item in judged.items}) > 1
    for item in judged.items:
        image = get_image_id(item)
        for response in judged.counted.get(item.pk, []):
            for part in judged.result.split_answer(campaign.kind, response.answer):
                if part.choice is None:
                    continue
                for category in (item.category, ALL) if several else (ALL,):
                    units = counts.setdefault((part.question, category), {})
                    units.setdefault(image, Counter())[part.choice] += 1
    for question, category in sorted(counts, key=lambda key: (key[0], key[1] == ALL, key[1])):
        units = counts[question, category]
        most = np.array([each.total() for each in units.values()], dtype=np.float64)
        for choice in sorted({choice for each in units.values() for choice in each}):
            points = np.array([each[choice] for each in units.values()], dtype=np.float64)
            share = create_share_interval(points, most, _LEVEL)
            ends = (share.score, share.low, share.high)
            number = int(points.sum())
            yield CampaignNumber("choices", question, category, choice, "", *ends, len(units), number)


def _measure_agreement(campaign: Campaign) -> tuple[list[CampaignNumber], list[str]]:
    rows, notes = [], []
    for each in measure_question_agreement(campaign):
        if not each.items:
            continue
        alpha = each.alpha
        ends: _Ends = (None, None, None)
        if alpha:
            ends = (alpha.value, alpha.interval.low, alpha.interval.high)
        question = each.question or campaign.kind
        name = f"alpha ({alpha.scale})" if alpha else "alpha"
        rows.append(
            CampaignNumber("agreement", question, each.category, name, "", *ends, each.items, each.answers)
        )
        notes += [alpha.note] if alpha else []
    return rows, notes


def _describe_captions(campaign: Campaign, part: str) -> tuple[list[CampaignNumber], list[str], list[int]]:
    """Return statistics of the written captions by class and of all, notes, and the captions' lengths."""
    found = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False).order_by("pk")
    values = list(found.values_list("item_id", "item__category", "answer"))
    tokens = tokenize([answer[part] for *_, answer in values])
    by_class: dict[str, list[tuple[int, Sequence[str]]]] = {}
    several = len({category for _, category, _ in values}) > 1
    for (item, category, _), words in zip(values, tokens, strict=True):
        for name in (category, ALL) if several else (ALL,):
            by_class.setdefault(name, []).append((item, words))
    names = sorted(by_class, key=lambda name: (name == ALL, name))
    rows = [row for category in names for row in _describe_class(category, by_class[category])]
    agreement = measure_caption_agreement(campaign)
    if agreement.scores:
        mean = fmean(agreement.scores.values())
        name = "mean CIDEr-D against the other captions of the image"
        number = len(agreement.scores)
        rows.append(CampaignNumber("captions", "", ALL, name, "", mean, None, None, number, number))
    return rows, ["Words are capeval's tokens, without punctuation."], list(map(len, tokens))


def _describe_class(category: str, captions: Sequence[tuple[int, Sequence[str]]]) -> Iterator[CampaignNumber]:
    lengths = [len(words) for _, words in captions]
    numbers: Mapping[str, float] = {
        "captions": len(captions),
        "images with captions": len({item for item, _ in captions}),
        "different captions": len({tuple(words) for _, words in captions}),
        "words": sum(lengths),
        "different words": len({word for _, words in captions for word in words}),
        "mean words per caption": fmean(lengths),
        "median words per caption": median(lengths),
        "fewest words": min(lengths),
        "most words": max(lengths),
    }
    for name, value in numbers.items():
        count = len(captions)
        yield CampaignNumber("captions", "", category, name, "", float(value), None, None, count, count)
