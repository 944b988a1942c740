"""Tables and figures of the consensus study.

They correspond to Table 1 and Figures 3 and 4 of the CIDEr paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from capeval.datasets.published.cider import load_cider_accuracy
from capeval.report.study_report import StudyReport
from capeval.scoring.grids import Cell, Grid
from capeval.studies.consensus import ClassAgreement, ConsensusStudy, SystemWins
from capeval.studies.consensus.figures import accuracy_curves, accuracy_dots, list_systems, win_bars
from capeval.studies.consensus.pair_tables import build_pair_table, build_test_table
from capeval.studies.judging.report import create_alpha_cell
from capeval.studies.shared.accuracy import Accuracy, AccuracyOverDraws
from capeval.studies.shared.system_intervals import build_interval_cell, list_interval_notes
from capeval.studies.shared.ties import TieRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]

_NO_VOTES = (
    "Consensus: the file has one preferred caption per pair, and its publishers decided ties by coin tosses,"
    " so ties of people are unknown."
)
_BALANCED = "Mean of a system's fractions of wins against each other system."
_RULES = ("Ties", "Human ties")
_INTERVALS = "Accuracy in percent. In brackets: 95% Wilson intervals over pairs."
PAPER_REFERENCES = 48
"""The number of references in the paper's Table 1."""

_DRAWS = "Accuracy in percent. In brackets: the lowest and the highest draw of the references."


def report(study: ConsensusStudy) -> StudyReport:
    """Return the tables of a study, and its figures of accuracies, wins and curves."""
    one, rules, published = len(study.accuracy) == 1, study.options.tie_rules, _get_published(study)
    notes = _list_reference_notes(study)
    tables = {
        "accuracy" if one else f"accuracy-{judgment}": _build_accuracy_table(
            metrics, rules, published if judgment == "consensus" else {}, notes
        )
        for judgment, metrics in study.accuracy.items()
    }
    if study.tests:
        tables["paired-tests"] = build_test_table(study.tests, rules)
    tables["pairs-without-a-winner"] = _build_tie_table(study)
    if study.human:
        tables["human-performance"] = _build_human_table(study.human, rules)
    if study.agreement:
        tables["agreement"] = _build_agreement_table(study.agreement, rules)
    if study.wins:
        judgment = next(iter(study.accuracy))
        tables["wins"] = _build_win_table(study.wins, judgment)
        tables["balanced-wins"] = _build_win_table(study.balanced_wins, judgment, _BALANCED)
    if study.by_references:
        curves, counts = study.by_references, study.options.counts
        of_pairs = _build_curve_table(curves, counts, rules, lambda one: (one.low, one.high))
        of_draws = _build_curve_table(curves, counts, rules, lambda one: (one.lowest, one.highest))
        tables["accuracy-by-references"] = replace(of_pairs, notes=(_INTERVALS, *rules.notes))
        tables["lowest-and-highest-draw"] = replace(of_draws, notes=(_DRAWS, *rules.notes))
    return StudyReport(
        tables=tables,
        long_tables={"pairs": lambda: build_pair_table(study.judged, rules)},
        figures=_list_figures(study),
    )


def _list_figures(study: ConsensusStudy) -> dict[str, Callable[[], Figure]]:
    """Return the figures of accuracies by judgment, and those of wins and curves, if any."""
    one = len(study.accuracy) == 1
    figures: dict[str, Callable[[], Figure]] = {
        "accuracy" if one else f"accuracy-{judgment}": partial(accuracy_dots, metrics, judgment)
        for judgment, metrics in study.accuracy.items()
    }
    if study.wins:
        figures["wins"] = partial(win_bars, study.wins)
        figures["balanced-wins"] = partial(win_bars, study.balanced_wins)
    if study.by_references:
        figures["accuracy-by-references"] = partial(
            accuracy_curves, study.by_references, study.options.counts
        )
    return figures


def _get_published(study: ConsensusStudy) -> Mapping[str, Mapping[str, float]]:
    """Return the paper's accuracies if the study has the same words and numbers of references."""
    counts = {len(pair.references) for pair in study.judged.pairs}
    if study.dataset is None or study.options.words != "paper" or counts != {PAPER_REFERENCES}:
        return {}
    return load_cider_accuracy(study.dataset)


def _list_reference_notes(study: ConsensusStudy) -> tuple[str, ...]:
    """Return a footnote with the number of references of each pair."""
    counts = sorted({len(pair.references) for pair in study.judged.pairs})
    count = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    note = f"References of each pair: {count}"
    if study.dataset == "PASCAL-50S" and counts == [PAPER_REFERENCES]:
        note += ", the first 48 sentences of pascal50S.mat, as in the paper"
    elif study.dataset == "PASCAL-50S":
        note += "; for the 48 of the paper, add pascal50S.mat to the folder"
    return (f"{note}.",)


def _build_accuracy_table(
    metrics: Mapping[str, Mapping[str, Accuracy]],
    rules: TieRules,
    published: Mapping[str, Mapping[str, float]],
    reference_notes: tuple[str, ...],
) -> Grid:
    classes = tuple(next(iter(metrics.values())))
    rows = [
        (
            Cell(value=name),
            *(_format_percent(of_class[kind]) for kind in classes),
            Cell(value=100 * of_class["all"].from_ties, digits=1),
            *_build_rule_cells(rules),
        )
        for name, of_class in metrics.items()
    ]
    for name, values in published.items():
        cells = (Cell(value=values.get(kind), digits=1) for kind in classes)
        rows.append((Cell(value=f"{name} (paper)"), *cells, *[Cell(value=None)] * 3))
    notes = (_INTERVALS, "From ties: points of the accuracy on all pairs that are due to a metric's ties.")
    return Grid(
        columns=("Metric", *classes, "From ties", *_RULES),
        rows=tuple(rows),
        notes=(*notes, *reference_notes, *rules.notes),
    )


def _build_rule_cells(rules: TieRules) -> tuple[Cell, Cell]:
    return Cell(value=rules.ties), Cell(value=rules.human_ties)


def _format_percent(accuracy: Accuracy) -> Cell:
    return Cell(value=100 * accuracy.value, low=100 * accuracy.low, high=100 * accuracy.high, digits=1)


def _build_tie_table(study: ConsensusStudy) -> Grid:
    """Return the number of pairs without a winner, by people and by each metric."""
    metrics = next(iter(study.accuracy.values()))
    classes = next(iter(metrics.values()))
    counts = {"counted pairs": [accuracy.pairs for accuracy in classes.values()]}
    for judgment, judged in study.accuracy.items():
        people = "people" if len(study.accuracy) == 1 else f"people ({judgment})"
        of_class = next(iter(judged.values()))
        counts[f"ties by {people}"] = [accuracy.truth_tied for accuracy in of_class.values()]
    for metric, of_class in metrics.items():
        counts[f"ties by {metric}"] = [accuracy.tied for accuracy in of_class.values()]
    rows = tuple((Cell(value=name), *(Cell(value=count) for count in row)) for name, row in counts.items())
    notes: tuple[str, ...] = study.options.tie_rules.notes[1:]
    if study.dataset == "PASCAL-50S":
        notes = (_NO_VOTES, *notes)
    return Grid(columns=("Number of", *classes), rows=rows, notes=notes)


def _build_human_table(predictors: Mapping[str, AccuracyOverDraws], rules: TieRules) -> Grid:
    """Return the accuracy of people and metrics with half of the references."""
    rows = []
    for name, one in predictors.items():
        mean = Cell(value=100 * one.mean, low=100 * one.low, high=100 * one.high, digits=1)
        draws = (Cell(value=100 * end, digits=1) for end in (one.lowest, one.highest))
        rows.append((Cell(value=name), mean, *draws, Cell(value=one.pairs), *_build_rule_cells(rules)))
    columns = ("Predictor", "Mean", "Lowest draw", "Highest draw", "Pairs", *_RULES)
    return Grid(columns=columns, rows=tuple(rows), notes=(_INTERVALS, *rules.notes))


def _build_agreement_table(classes: Mapping[str, ClassAgreement], rules: TieRules) -> Grid:
    """Return the agreement between judgments, and between people, by class."""
    rows = tuple(
        (
            Cell(value=kind),
            _format_percent(agreement.same),
            create_alpha_cell(agreement.alpha),
            Cell(value=rules.human_ties),
        )
        for kind, agreement in classes.items()
    )
    alphas = {agreement.alpha.note for agreement in classes.values() if agreement.alpha is not None}
    columns = ("Class", "Consensus = pairwise", "Alpha of pairwise votes (nominal)", "Human ties")
    return Grid(columns=columns, rows=rows, notes=(_INTERVALS, *sorted(alphas), rules.notes[1]))


def _build_win_table(wins: Mapping[str, SystemWins], judgment: str, *notes: str) -> Grid:
    rows = tuple(
        (
            Cell(value=name),
            *(Cell(value=fraction) for fraction in won.fractions.values()),
            *([Cell(value=None)] if won.correlation is None else [build_interval_cell(won.correlation)]),
        )
        for name, won in wins.items()
    )
    systems = list_systems(wins)
    found = [won.correlation for won in wins.values() if won.correlation is not None]
    return Grid(
        columns=("Chosen by", *systems, f"Pearson with {judgment}"),
        rows=rows,
        notes=(*notes, "A tie, of a metric or of people, is half a win.", *list_interval_notes(found)),
    )


def _build_curve_table(
    curves: Mapping[str, Mapping[str, Sequence[AccuracyOverDraws]]],
    counts: Sequence[int],
    rules: TieRules,
    ends: Callable[[AccuracyOverDraws], tuple[float, float]],
) -> Grid:
    """Return the means, with the ends of their intervals or draws."""
    rows = []
    for kind, metrics in curves.items():
        for place, count in enumerate(counts):
            points = [points[place] for points in metrics.values()]
            cells = [
                Cell(value=100 * one.mean, low=100 * ends(one)[0], high=100 * ends(one)[1], digits=1)
                for one in points
            ]
            start = (Cell(value=kind), Cell(value=points[0].pairs), Cell(value=count))
            rows.append((*start, *cells, *_build_rule_cells(rules)))
    names = next(iter(curves.values()))
    return Grid(columns=("Class", "Pairs", "References", *names, *_RULES), rows=tuple(rows))
