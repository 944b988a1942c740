"""Tables of the agreement of a metric with people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from capeval.datasets.published.human_agreement import PublishedAgreement, load_human_agreement
from capeval.report.study_report import StudyReport
from capeval.scoring.comparisons import format_exact_p_value
from capeval.scoring.grids import BOLD, Cell, Grid
from capeval.scoring.significance import Interval, format_p_value
from capeval.studies.consensus.judged_pairs import JudgedPairs
from capeval.studies.consensus.pair_tables import build_pair_table
from capeval.studies.metric import CaptionJudgments, MetricStudy, PairJudgments
from capeval.studies.metric.observations import average_ratings
from capeval.studies.metric.pairs import pair_captions
from capeval.studies.plan import winners
from capeval.studies.shared.ties import TieRules

__all__ = ["report", "to_judged_pairs"]

_UNVERIFIED = "not run on the published file"


def report(studies: Sequence[MetricStudy]) -> StudyReport:
    """Return the table of agreement, the tests, and a long table of all captions or pairs per benchmark.

    Args:
        studies: The studies of one metric on different benchmarks.
    """
    tables = {"agreement": _build_agreement_table(studies)}
    if any(study.tests for study in studies):
        tables["paired-tests"] = _build_test_table(studies)
    long_tables = {
        f"{study.benchmark.about.name}-{kind}": partial(build, study)
        for study in studies
        for kind, build in [
            ("captions", _build_caption_table)
            if isinstance(study.benchmark.judged, CaptionJudgments)
            else ("pairs", _build_pair_table)
        ]
    }
    return StudyReport(tables=tables, long_tables=long_tables)


def _build_agreement_table(studies: Sequence[MetricStudy]) -> Grid:
    """Return one row per metric: the evaluated one, capeval's, published ones, and people."""
    places = [(study, each) for study in studies for each in _list_measures(study)]
    rows: dict[tuple[str, str], dict[int, Cell]] = {}
    for column, (study, each) in enumerate(places):
        best = max(values[each].score for values in study.values.values())
        for name, values in study.values.items():
            source = "evaluated" if name in study.evaluated else "capeval"
            cell = _build_cell(values[each], is_best=values[each].score == best and len(study.values) > 1)
            rows.setdefault((name, source), {})[column] = cell
    for column, (study, each) in enumerate(places):
        for row in _list_published(study):
            if row.measure == each:
                rows.setdefault((row.metric, row.source), {})[column] = Cell(value=row.value, digits=1)
    for column, (study, each) in enumerate(places):
        if each in study.people:
            rows.setdefault(("People", "ceiling"), {})[column] = _build_cell(study.people[each])
    return Grid(
        columns=("Metric", "Source", *(f"{study.benchmark.about.title} {each}" for study, each in places)),
        rows=tuple(
            (
                Cell(value=name),
                Cell(value=source),
                *(cells.get(column, Cell(value=None)) for column in range(len(places))),
            )
            for (name, source), cells in rows.items()
        ),
        notes=tuple(_list_notes(studies)),
    )


def _list_measures(study: MetricStudy) -> tuple[str, ...]:
    return tuple(next(iter(study.values.values())))


def _list_published(study: MetricStudy) -> list[PublishedAgreement]:
    """Return the published numbers with the same number of references."""
    about, used = study.benchmark.about, study.options.references
    return [
        row
        for row in load_human_agreement(about.name)
        if used == (about.references if row.references is None else row.references)
    ]


def _build_cell(interval: Interval, *, is_best: bool = False) -> Cell:
    return Cell(
        value=100 * interval.score,
        low=100 * interval.low,
        high=100 * interval.high,
        digits=1,
        best=is_best,
    )


def _list_notes(studies: Sequence[MetricStudy]) -> Iterator[str]:
    """Yield footnotes: intervals, and for each benchmark its size, its protocol, ties and the ceiling."""
    first = next(iter(next(iter(studies[0].values.values())).values()))
    yield f"All numbers are times 100. {first.note} Published numbers have no intervals."
    for study in studies:
        about = study.benchmark.about
        is_pairs = isinstance(study.benchmark.judged, PairJudgments)
        size = f"{study.items:,} {'pairs' if is_pairs else 'captions'} of {study.images:,} images"
        parts = [size, *([] if about.is_verified else [_UNVERIFIED]), *about.protocol]
        if study.draws > 1:
            parts.append(
                f"mean of {study.draws} draws of {study.options.references} references (seed"
                f" {study.options.seed})"
            )
        if is_pairs:
            parts += [note.rstrip(".") for note in _get_rules(study).notes]
        if study.people:
            parts.append(f"people: {about.ceiling}")
        else:
            parts.append("people's agreement is unknown, as the files have one judgment each")
        yield f"{about.title}: {'; '.join(parts)}."
    yield f"{BOLD} the best of the evaluated metrics."


def _get_rules(study: MetricStudy) -> TieRules:
    return TieRules(ties=study.options.ties or study.benchmark.about.ties, seed=study.options.seed)


def _build_test_table(studies: Sequence[MetricStudy]) -> Grid:
    rows = []
    for study in studies:
        for test in study.tests:
            found = test.comparison
            difference = Cell(
                value=100 * found.difference, low=100 * found.low, high=100 * found.high, digits=1
            )
            rows.append(
                (
                    Cell(value=study.benchmark.about.title),
                    Cell(value=test.measure),
                    Cell(value=test.first),
                    Cell(value=test.second),
                    difference,
                    Cell(value=found.p_value, digits=4, text=format_p_value(found)),
                    Cell(
                        value=test.corrected_p_value,
                        digits=4,
                        text=format_exact_p_value(test.corrected_p_value),
                    ),
                )
            )
    note = (
        "Paired bootstrap of the images, corrected for their number. The last column is also corrected for"
        " the number of metrics that A is compared with on the measure (Holm)."
    )
    columns = ("Benchmark", "Measure", "A", "B", "A - B", "p-value", "p-value (Holm)")
    return Grid(columns=columns, rows=tuple(rows), notes=(note,))


def _build_caption_table(study: MetricStudy) -> Grid:
    """Return one row per caption: its mean rating by question, and its scores."""
    judged = study.benchmark.judged
    assert isinstance(judged, CaptionJudgments)  # noqa: S101 - for the type checker.
    titles = [f"Mean rating {name}".rstrip() for name in judged.ratings]
    means = [average_ratings(values)[:, 0] for values in judged.ratings.values()]
    rows = tuple(
        (
            Cell(value=image),
            Cell(value=caption),
            *(Cell(value=None if np.isnan(mean[row]) else float(mean[row])) for mean in means),
            *(Cell(value=float(values[row])) for values in study.scores.values()),
        )
        for row, (image, caption) in enumerate(zip(judged.image_ids, judged.captions, strict=True))
    )
    return Grid(columns=("Image", "Caption", *titles, *study.scores), rows=rows)


def _build_pair_table(study: MetricStudy) -> Grid:
    return build_pair_table(to_judged_pairs(study), _get_rules(study))


def to_judged_pairs(study: MetricStudy) -> JudgedPairs:
    """Return the pairs of a study with votes and scores, of the first draw of references.

    For captions with ratings, these are the pairs of captions of one image that people and a metric order
    differently: for each metric and image, the pair with the largest difference of scores.
    """
    judged = study.benchmark.judged
    if isinstance(judged, PairJudgments):
        votes = tuple(pair.votes for pair in judged.pairs)
        return JudgedPairs(
            pairs=judged.pairs,
            votes={"people": votes},
            winners={"people": winners(votes)},
            scores=study.scores,
            differences=study.differences,
        )
    return pair_captions(study, judged)
