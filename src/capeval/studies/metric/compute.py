"""Agreement of a metric with people on a benchmark of human judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.metrics.base import Metric
from capeval.metrics.registry import DefaultMetrics, resolve
from capeval.scoring.multiple_comparisons import correct_holm
from capeval.scoring.significance import BootstrapScore, Comparison, Interval, difference
from capeval.studies.metric.draws import draw_references
from capeval.studies.metric.given_metrics import CaptionItem, ScoreFunction, resolve_metric
from capeval.studies.metric.judgments import (
    CaptionJudgments,
    Description,
    HumanBenchmark,
    PairJudgments,
)
from capeval.studies.metric.observations import (
    PairMeasures,
    RatingMeasures,
    measure,
    measure_people,
    number_units,
)
from capeval.studies.metric.options import MetricOptions
from capeval.studies.metric.registry import list_descriptions, load_benchmark
from capeval.studies.metric.scoring import get_signs, score_judged
from capeval.studies.plan import winners
from capeval.studies.shared.ties import TieRules

__all__ = [
    "COMPARED",
    "CaptionItem",
    "CaptionJudgments",
    "Description",
    "HumanBenchmark",
    "MeasureTest",
    "MetricOptions",
    "MetricStudy",
    "PairJudgments",
    "evaluate_metric",
    "list_descriptions",
    "load_benchmark",
    "resolve_metric",
]

COMPARED = DefaultMetrics(("BLEU-1", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D"))
"""The metrics of capeval that a metric is compared with by default."""

_Progress = Callable[[str], object]
_Measured = Mapping[str, Mapping[str, BootstrapScore]]


@dataclass(frozen=True, kw_only=True)
class MeasureTest:
    """Paired test of the agreement of two metrics with people.

    Attributes:
        first: The score of the evaluated metric.
        second: The score of another metric.
        measure: The measure of agreement.
        comparison: The first value minus the second, with interval and p-value, by the paired bootstrap of
            the images.
        corrected_p_value: The p-value corrected for the number of tests of the measure (Holm).
    """

    first: str
    second: str
    measure: str
    comparison: Comparison
    corrected_p_value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class MetricStudy:
    """Agreement of a metric, and of others, with people.

    Attributes:
        benchmark: The benchmark.
        options: The options of the study, with the benchmark's own instead of None.
        evaluated: The names of the scores of the evaluated metric.
        values: The agreement with its interval over images, by score and measure.
        people: The agreement of people with each other, by measure; empty if the benchmark has no separate
            judgments.
        tests: The tests of the evaluated metric against each of the others.
        scores: The scores by name: one per caption, or pairs by 2. With several draws of references, those of
            the first draw.
        signs: 1 for scores that are better if higher, and -1 for the others, by name.
        differences: The first candidate's score minus the second's, by name; the sign is reversed for metrics
            with lower scores for better captions. Empty for captions with ratings.
        credits: The credit of each pair, from 0 to 1, as a mean over draws; NaN for pairs without a human
            winner. Empty for captions with ratings.
        items: The number of captions or pairs.
        images: The number of images.
        draws: The number of draws of references.
    """

    benchmark: HumanBenchmark
    options: MetricOptions
    evaluated: tuple[str, ...]
    values: Mapping[str, Mapping[str, Interval]]
    people: Mapping[str, Interval]
    tests: tuple[MeasureTest, ...]
    scores: Mapping[str, FloatArray] = field(repr=False)
    signs: Mapping[str, int]
    differences: Mapping[str, FloatArray] = field(repr=False)
    credits: Mapping[str, FloatArray] = field(repr=False)
    items: int
    images: int
    draws: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scored:
    """Scores with the measures that they allow."""

    measures: RatingMeasures | PairMeasures
    images: NDArray[np.int64]
    scores: Mapping[str, FloatArray]
    differences: Mapping[str, FloatArray] = field(default_factory=dict)
    credits: Mapping[str, FloatArray] = field(default_factory=dict)
    draws: int = 1


def evaluate_metric(
    metric: str | Metric | ScoreFunction,
    benchmark: HumanBenchmark,
    options: MetricOptions = MetricOptions(),  # noqa: B008 - it is immutable.
    *,
    compared: Sequence[str | Metric] = COMPARED,
    progress: _Progress = lambda _: None,
) -> MetricStudy:
    """Compare a metric with human judgments, and with other metrics.

    Args:
        metric: A registered name, the path of a CSV file of scores (`load_given_scores`), a metric object, or
            a function from a list of captions (`CaptionItem`) to their scores, in the same order.
        benchmark: The benchmark, from `load_benchmark`.
        options: The options.
        compared: The other metrics; scores that the evaluated metric has, too, are left out.
        progress: Called with a description of the next step: once for each draw of references, and once
            before resampling.

    Raises:
        OptionError: A metric is unknown or returns a wrong number of scores, or an option has an invalid
            value.
        FormatError: The file of scores is invalid.
        MismatchError: A caption has no score, all scores are equal, or there are too few references.

    Example:
        >>> import numpy as np
        >>> from capeval.studies.metric import CaptionJudgments, HumanBenchmark, MetricOptions
        >>> from capeval.studies.metric import evaluate_metric, list_descriptions
        >>> captions = ("a dog runs", "a cat", "two cats on a bed", "a dog", "a red bus", "cats")
        >>> judged = CaptionJudgments(
        ...     image_ids=(1, 1, 2, 2, 3, 3),
        ...     captions=captions,
        ...     references=(("a dog runs on grass",),) * 2 + (("two cats sleep on a bed",),) * 2
        ...     + (("a red bus on a street",),) * 2,
        ...     ratings={"": np.array([[4.0], [1.0], [4.0], [1.0], [3.0], [1.0]])},
        ... )
        >>> benchmark = HumanBenchmark(about=list_descriptions()["flickr8k-expert"], judged=judged)
        >>> def length(items):
        ...     return [len(item.caption.split()) for item in items]
        >>> study = evaluate_metric(length, benchmark, MetricOptions(samples=100), compared=["ROUGE-L"])
        >>> {name: round(each["tau-b"].score, 3) for name, each in study.values.items()}
        {'length': 0.836, 'ROUGE-L': 0.856}
    """
    evaluated = resolve_metric(metric)
    others = tuple(each for each in resolve(compared) if not set(each.names) & set(evaluated.names))
    metrics = (evaluated, *others)
    resolve(metrics)
    about, judged = benchmark.about, benchmark.judged
    options = replace(
        options,
        references=options.references if options.references is not None else about.references,
        ties=options.ties or about.ties,
    )
    if isinstance(judged, CaptionJudgments):
        scored = _score_ratings(judged, about, metrics, progress)
    else:
        scored = _score_pairs(judged, about, metrics, options, progress)
    progress("Resampling")
    measured = measure(scored.measures, scored.images, options.samples, options.seed)
    _check_defined(measured)
    return MetricStudy(
        benchmark=benchmark,
        options=options,
        evaluated=evaluated.names,
        values=_list_intervals(measured, options.level),
        people=_measure_people(benchmark, scored, options),
        tests=_test(measured, evaluated.names, options.level),
        scores=scored.scores,
        signs=get_signs(metrics),
        differences=scored.differences,
        credits=scored.credits,
        items=len(scored.images),
        images=int(scored.images.max()) + 1,
        draws=scored.draws,
    )


def _score_ratings(
    judged: CaptionJudgments, about: Description, metrics: Sequence[Metric], progress: _Progress
) -> _Scored:
    progress(f"Scoring {about.title}")
    scores = score_judged(judged.image_ids, judged.captions, judged.references, metrics, about.frequencies)
    signs = get_signs(metrics)
    signed = {name: signs[name] * values for name, values in scores.items()}
    return _Scored(
        measures=RatingMeasures(signed, judged.ratings, about.measures, about.raters),
        images=number_units(judged.image_ids),
        scores=scores,
    )


def _score_pairs(
    judged: PairJudgments,
    about: Description,
    metrics: Sequence[Metric],
    options: MetricOptions,
    progress: _Progress,
) -> _Scored:
    """Score pairs with each draw of references, and average the credits of each pair."""
    pairs, truth = judged.pairs, winners([pair.votes for pair in judged.pairs])
    draws = draw_references(pairs, options)
    signs, found = get_signs(metrics), []
    for number, references in enumerate(draws):
        progress(f"Scoring {about.title}, draw {number + 1} of {len(draws)}")
        found.append(
            score_judged(
                [pair.image for pair in pairs for _ in range(2)],
                [text for pair in pairs for text in (pair.first, pair.second)],
                [texts for texts in references for _ in range(2)],
                metrics,
                about.frequencies,
            )
        )
    rules = [
        TieRules(ties=options.ties or about.ties, seed=options.seed + number) for number in range(len(draws))
    ]
    both = [{name: values.reshape(-1, 2) for name, values in scores.items()} for scores in found]
    differences = [
        {name: signs[name] * (values[:, 0] - values[:, 1]) for name, values in scores.items()}
        for scores in both
    ]
    mean_credits = {
        name: np.mean(
            [rule.credits(each[name], truth) for rule, each in zip(rules, differences, strict=True)], axis=0
        )
        for name in signs
    }
    return _Scored(
        measures=PairMeasures(mean_credits, [pair.kind for pair in pairs], about.measures),
        images=number_units([pair.image for pair in pairs]),
        scores=both[0],
        differences=differences[0],
        credits=mean_credits,
        draws=len(draws),
    )


def _check_defined(measured: _Measured) -> None:
    for name, measures in measured.items():
        for each, value in measures.items():
            if np.isnan(value.score):
                raise MismatchError(f"{name} has no {each}: all scores or all judgments are equal")
            empty = int(np.isnan(value.values).sum())
            if empty:
                raise MismatchError(
                    f"{value.units} images are too few for intervals of {each}: in {empty} of"
                    f" {len(value.values)} resamples all judgments or all scores are equal"
                )


def _list_intervals(measured: _Measured, level: float) -> dict[str, dict[str, Interval]]:
    return {
        name: {each: value.interval(level=level) for each, value in measures.items()}
        for name, measures in measured.items()
    }


def _measure_people(
    benchmark: HumanBenchmark, scored: _Scored, options: MetricOptions
) -> Mapping[str, Interval]:
    """Return people's agreement with each other; empty if it is unknown."""
    about, judged = benchmark.about, benchmark.judged
    compute: RatingMeasures | PairMeasures
    if isinstance(judged, CaptionJudgments):
        if judged.votes is None:
            return {}
        compute, images = measure_people(judged.votes, about.raters, about.measures, scored.images)
    else:
        if judged.people is None:
            return {}
        wanted = winners([p.votes for p in judged.pairs]) if judged.wanted is None else judged.wanted
        # Both sides are people, so a tie of the predicting side is half correct.
        credit = TieRules(ties="half").credits(judged.people, wanted)
        kinds = [pair.kind for pair in judged.pairs]
        compute, images = PairMeasures({"People": credit}, kinds, about.measures), scored.images
    measured = measure(compute, images, options.samples, options.seed)
    return _list_intervals(measured, options.level)["People"]


def _test(measured: _Measured, evaluated: Sequence[str], level: float) -> tuple[MeasureTest, ...]:
    """Test each evaluated score against each of the others."""
    others = [name for name in measured if name not in evaluated]
    tests: list[MeasureTest] = []
    for name in evaluated:
        for each, value in measured[name].items():
            found = [difference(value, measured[other][each], level=level) for other in others]
            corrected = correct_holm([one.p_value for one in found])
            tests += [
                MeasureTest(first=name, second=other, measure=each, comparison=one, corrected_p_value=p_value)
                for other, one, p_value in zip(others, found, corrected, strict=True)
            ]
    return tuple(tests)
