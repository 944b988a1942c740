"""Tables of the scores of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import TYPE_CHECKING

from capeval.errors import MismatchError
from capeval.scoring.comparisons import FEW_IMAGES
from capeval.scoring.grids import Cell, Grid, create_score_cell
from capeval.scoring.report_contents import count_images

if TYPE_CHECKING:
    from capeval.scoring.report import Replay, Report
    from capeval.scoring.significance import Interval

__all__ = [
    "System",
    "create_image_table",
    "create_score_table",
    "iter_matching_notes",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A captioning system and its scores.

    Attributes:
        name: The name of the system.
        report: Its scores.
        intervals: The interval of each corpus score; by default the report's, if it has any.
        subset_intervals: The intervals of each subset's scores, by subset and name.
    """

    name: str
    report: Report
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    subset_intervals: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.intervals:
            object.__setattr__(self, "intervals", self.report.intervals)


def create_score_table(
    systems: Sequence[System],
    published: Mapping[str, Mapping[str, float]] | None = None,
    *,
    source: str = "",
    overall: str = "all",
    about: Sequence[str] = (),
) -> Grid:
    """Create a table of corpus scores, with one row per system.

    Scores of subsets follow, with one row per subset and system. A replay of the reference implementation
    has a row below its system.

    Args:
        systems: The systems, all scored with the same metrics and subsets.
        published: Additional rows for comparison, as a mapping of names to scores; scores may be missing.
        source: A name for the references in the notes, such as the name of their file.
        overall: The name of the set of all images, next to subsets.
        about: Further notes about the references, in full sentences.

    Raises:
        MismatchError: The systems have different metrics or subsets.

    Example:
        >>> from capeval import Evaluator
        >>> from capeval.report import System, create_score_table
        >>> evaluator = Evaluator({1: ["A big red bus."]}, ["ROUGE-1"])
        >>> candidates = {"Transformer": {1: "A red bus."}, "Baseline": {1: "A bus."}}
        >>> systems = [System(name=name, report=evaluator.evaluate(candidates[name])) for name in candidates]
        >>> grid = create_score_table(systems, {"Published": {"ROUGE-1": 0.6}})
        >>> grid.columns
        ('System', 'ROUGE-1')
        >>> [(row[0].value, row[1].value, row[1].best) for row in grid.rows]
        [('Transformer', 0.75, True), ('Baseline', 0.5, False), ('Published', 0.6, False)]
    """
    names = _get_names(systems)
    subsets = tuple(systems[0].report.subsets)
    if any(tuple(system.report.subsets) != subsets for system in systems):
        raise MismatchError("systems in a table must have the same subsets")
    first = systems[0].report
    directions = {
        name: min if name in first.lower_is_better else max
        for name in names
        if name not in first.without_direction
    }
    whole = [(system.name, system.report.corpus, system.intervals) for system in systems]
    rows = _add_replays(_rank_systems(names, directions, whole), systems, names)
    for name, values in (published or {}).items():
        rows.append((Cell(value=name), *(Cell(value=values.get(metric)) for metric in names)))
    images, *others = systems[0].report.notes(source, unscored=False, replay=False)
    notes = (
        images,
        *about,
        *others,
        *iter_matching_notes(systems),
        *_iter_replay_notes(systems),
        *_iter_interval_notes(systems),
        *_iter_unscored_notes(systems),
    )
    if not subsets:
        return Grid(columns=("System", *names), rows=tuple(rows), notes=notes)
    rows = [(row[0], Cell(value=overall), *row[1:]) for row in rows]
    for subset in subsets:
        scored = [
            (each.name, each.report.subsets[subset], each.subset_intervals.get(subset, {}))
            for each in systems
        ]
        part = _rank_systems(names, directions, scored)
        part = _add_replays(part, systems, names, subset)
        rows += [(row[0], Cell(value=subset), *row[1:]) for row in part]
    return Grid(columns=("System", "Images", *names), rows=tuple(rows), notes=notes)


def _iter_interval_notes(systems: Sequence[System]) -> Iterator[str]:
    """Yield a note that explains intervals in brackets, if the table has any."""
    for system in systems:
        for interval in system.intervals.values():
            yield interval.note
            images = count_images(system.report.signatures, system.report.image_ids)
            if images < FEW_IMAGES:
                yield f"With fewer than {FEW_IMAGES} images, intervals are unreliable."
            return


def iter_matching_notes(systems: Sequence[System]) -> Iterator[str]:
    """Yield the notes on image ids and skipped images that differ from those of the first system."""
    first, *others = [system.report.matching for system in systems]
    known = () if first is None else first.notes
    for system, matching in zip(systems[1:], others, strict=True):
        if matching is not None:
            yield from (f"{system.name}: {note}" for note in matching.notes if note not in known)


def _iter_replay_notes(systems: Sequence[System]) -> Iterator[str]:
    """Yield the note on each system's replay, or a single note if it is the same for all systems."""
    notes = {system.name: replay.note for system in systems if (replay := system.report.replay) is not None}
    if len(notes) == len(systems) and len(set(notes.values())) == 1:
        yield from set(notes.values())
    else:
        yield from (f"{name}: {note}" for name, note in notes.items())
    if notes and any(system.intervals for system in systems):
        yield "Scores of a replay have no intervals."


def _iter_unscored_notes(systems: Sequence[System]) -> Iterator[str]:
    """Yield notes on each system's unscored images."""
    for system in systems:
        named = f"{system.name}: " if len(systems) > 1 else ""
        yield from (f"{named}{note}" for note in system.report.unscored_notes())


def create_image_table(systems: Sequence[System]) -> Grid:
    """Create a table of scores per image, with one row per system and image.

    Raises:
        MismatchError: The systems have different metrics.

    Example:
        >>> from capeval import evaluate
        >>> from capeval.report import System, create_image_table
        >>> references = {1: ["A big red bus."], 2: ["Two cats."]}
        >>> report = evaluate(references, {1: "A red bus.", 2: "Two dogs."}, ["ROUGE-1"])
        >>> grid = create_image_table([System(name="Transformer", report=report)])
        >>> grid.columns
        ('System', 'image_id', 'ROUGE-1')
        >>> [[cell.value for cell in row] for row in grid.rows]
        [['Transformer', 1, 0.75], ['Transformer', 2, 0.5]]
    """
    names = _get_names(systems)
    rows = []
    for label, report in _iter_reports(systems):
        columns = [report.per_image[name].tolist() for name in names]
        for image, *values in zip(report.image_ids, *columns, strict=True):
            rows.append(tuple(Cell(value=value) for value in (label, image, *values)))
    notes = tuple(_iter_unscored_notes(systems))
    return Grid(columns=("System", "image_id", *names), rows=tuple(rows), notes=notes)


def _iter_reports(systems: Sequence[System]) -> Iterator[tuple[str, Report]]:
    """Yield the label and the report of each system, and of its replay, if it has one."""
    for system in systems:
        yield system.name, system.report
        if system.report.replay is not None:
            yield _get_replay_label(system.name, system.report.replay), system.report.replay.report


def _get_replay_label(name: str, replay: Replay) -> str:
    return f"{name} ({replay.program})"


def _add_replays(
    rows: Sequence[tuple[Cell, ...]], systems: Sequence[System], names: Sequence[str], subset: str = ""
) -> list[tuple[Cell, ...]]:
    """Add the scores of each system's replay below its row; no number of a replay is marked as the best."""
    found = []
    for row, system in zip(rows, systems, strict=True):
        found.append(row)
        replay = system.report.replay
        if replay is not None:
            scores = replay.report.subsets[subset] if subset else replay.report.corpus
            label = Cell(value=_get_replay_label(system.name, replay))
            found.append((label, *(Cell(value=scores[name]) for name in names)))
    return found


def _get_names(systems: Sequence[System]) -> tuple[str, ...]:
    if not systems:
        raise MismatchError("a table must have at least one system (got none)")
    names = tuple(systems[0].report.corpus)
    if any(tuple(system.report.corpus) != names for system in systems):
        raise MismatchError("systems in a table must have the same metrics")
    return names


def _rank_systems(
    names: Sequence[str],
    directions: Mapping[str, Callable[..., float]],
    systems: Sequence[tuple[str, Mapping[str, float], Mapping[str, Interval]]],
) -> list[tuple[Cell, ...]]:
    """Create one row per system; with several, mark the best of each column with a direction."""
    best = dict.fromkeys(names, nan)
    for name, choose in directions.items():
        known = [score for _, values, _ in systems if not isnan(score := values[name])]
        # NaN, which equals nothing, if no system has a score.
        best[name] = choose(known, default=nan)
    rows = []
    for label, values, intervals in systems:
        cells = (
            create_score_cell(
                values[name], intervals.get(name), best=len(systems) > 1 and values[name] == best[name]
            )
            for name in names
        )
        rows.append((Cell(value=label), *cells))
    return rows
