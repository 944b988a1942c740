"""Tables and figure of word prediction agreement (Chen et al. 2015, Figure 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from capeval.errors import MismatchError
from capeval.report.study_report import StudyReport
from capeval.scoring.bootstrap import Interval
from capeval.scoring.grids import Cell, Grid, create_score_cell
from capeval.studies.words import WordStudy, class_means, system_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["report"]


def report(study: WordStudy, *, classes: str = "", labels: Sequence[str] = ()) -> StudyReport:
    """Return means by class, the systems' tables, each word's numbers, and the figure.

    Args:
        study: The study.
        classes: A footnote with the source of the word classes.
        labels: Words to label in the figure; by default, frequent words spread over recall.

    Raises:
        MismatchError: A word to label is not among the counted words.
    """
    words = study.people[-1].words
    unknown = [word for word in labels if word not in words]
    if unknown:
        raise MismatchError(
            f"words to label must be among the {len(words):,} counted words (got {unknown[0]!r})"
        )
    tables = {"agreement": _build_agreement_table(study, classes)}
    scored = [name for name, system in study.systems.items() if system.captions is None]
    if scored:
        tables["words-with-scores"] = _build_coverage_table(study, scored)
    if study.systems:
        tables["precision-at-human-recall"] = _build_system_table(study)
    return StudyReport(
        tables=tables,
        long_tables={"words": lambda: _build_word_table(study)},
        figures={
            "word-agreement": _figure(study, labels, wide=False),
            "word-agreement-wide": _figure(study, labels, wide=True),
        },
    )


def _figure(study: WordStudy, labels: Sequence[str], *, wide: bool) -> Callable[[], Figure]:
    def draw() -> Figure:
        from capeval.studies.words.figure import word_agreement

        return word_agreement(study, labels, wide=wide)

    return draw


def _build_agreement_table(study: WordStudy, classes: str) -> Grid:
    rows, note = [], ""
    for place, people in enumerate(study.people):
        for name, means in class_means(people, study.classes).items():
            chosen = [
                row for row, word in enumerate(people.words) if name in ("all", study.classes.get(word))
            ]
            cells = []
            for values, mean in (
                (study.resamples.recall, means.recall),
                (study.resamples.precision[place], means.precision),
            ):
                interval = (
                    None if mean is None else study.resamples.interval(values[chosen], mean, study.level)
                )
                note = note if interval is None else interval.note
                cells.append(_create_cell(mean, interval))
            rows.append(
                (
                    Cell(value=people.references),
                    Cell(value=name),
                    Cell(value=means.words, digits=0),
                    *cells,
                    Cell(value=means.model_precision),
                    Cell(value=means.distance),
                )
            )
    columns = ("References", "Class", "Words", "Recall", "Precision", "Model precision", "Distance")
    return Grid(columns=columns, rows=tuple(rows), notes=(note, *([classes] if classes else [])))


def _create_cell(mean: float | None, interval: Interval | None, *, digits: int = 3) -> Cell:
    if mean is None or interval is None:
        return Cell(value=None, digits=digits)
    return create_score_cell(mean, interval)


def _build_word_table(study: WordStudy) -> Grid:
    last, resamples = study.people[-1], study.resamples
    rows = []
    for row, word in enumerate(last.words):
        recall, precision = float(last.recall[row]), float(last.precision[row])
        ends = [
            resamples.interval(values[row : row + 1], score, study.level)
            for values, score in ((resamples.recall, recall), (resamples.precision[-1], precision))
        ]
        systems = (system.precision.get(word) for system in study.systems.values())
        rows.append(
            (
                Cell(value=word),
                Cell(value=study.classes.get(word, "")),
                Cell(value=recall, low=ends[0].low, high=ends[0].high, digits=4),
                *(Cell(value=float(people.precision[row]), digits=4) for people in study.people[:-1]),
                Cell(value=precision, low=ends[1].low, high=ends[1].high, digits=4),
                *(Cell(value=value, digits=4) for value in systems),
            )
        )
    precisions = (f"Precision (k={people.references})" for people in study.people)
    systems_at = (f"{name} (at human recall)" for name in study.systems)
    return Grid(columns=("Word", "Class", "Recall", *precisions, *systems_at), rows=tuple(rows))


def _build_coverage_table(study: WordStudy, names: Sequence[str]) -> Grid:
    """Return the number of compared words, and of the others by reason."""
    counted = len(study.people[-1].words)
    rows = []
    for name in names:
        system = study.systems[name]
        compared, ignored = len(system.precision), len(system.ignored)
        values = (name, compared + ignored, compared, ignored, counted - compared)
        rows.append(tuple(Cell(value=value) for value in values))
    columns = ("System", "Scored", "Compared", "Ignored (too rare)", "Counted, not scored")
    return Grid(columns=columns, rows=tuple(rows))


def _build_system_table(study: WordStudy) -> Grid:
    people, rows, notes = study.people[-1], [], []
    for name, system in study.systems.items():
        words = list(system.precision)
        for group, means in system_means(system, people, study.classes).items():
            chosen = [row for row, word in enumerate(words) if group in ("all", study.classes.get(word))]
            values = study.resamples.systems[name][chosen]
            interval = study.resamples.interval(values, means.system, study.level)
            notes.append(interval.note)
            rows.append(
                (
                    Cell(value=name),
                    Cell(value=group),
                    Cell(value=means.words, digits=0),
                    Cell(value=means.used, digits=0),
                    Cell(value=means.recall),
                    create_score_cell(means.system, interval),
                    Cell(value=means.people),
                )
            )
    columns = ("System", "Class", "Words", "Used", "Recall", "Precision at human recall", "Human precision")
    return Grid(columns=columns, rows=tuple(rows), notes=tuple(dict.fromkeys(notes)))
