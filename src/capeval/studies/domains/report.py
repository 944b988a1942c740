"""Tables in the layout of the nocaps paper, and figure of scores by domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from capeval._internal.atomic_write import atomic_write
from capeval._internal.validation import validate_choice
from capeval.datasets.nocaps_partitions import count_domains, describe_partition
from capeval.errors import MismatchError
from capeval.report.comparison_notes import describe_differences, describe_marks, describe_tests
from capeval.report.comparison_tables import Pairs, create_pair_table, mark_cell
from capeval.report.study_report import StudyReport
from capeval.scoring.comparisons import FEW_IMAGES
from capeval.scoring.grid_formats import to_latex
from capeval.scoring.grids import Cell, Grid, create_score_cell
from capeval.studies.domains import COCO, OVERALL, DomainScores, DomainStudy
from capeval.studies.domains.options import Frequencies, Layout, LayoutOptions
from capeval.studies.domains.published_rows import PublishedRows, select_published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["all_scores", "bars", "comparison_table", "paper_table", "report", "write_latex"]

# The images of document frequencies.
_FREQUENCIES: Mapping[Frequencies | None, str] = {"all": "all images", "domain": "each domain"}

# Columns of tables with published rows.
_ORIGIN = ("Training data", "Document frequencies", "Source")

# Scores in the paper's tables for each domain, for all images, and for COCO.
_DOMAIN_SCORES = ("CIDEr-D", "SPICE")
_OVERALL_SCORES = {
    "table2": _DOMAIN_SCORES,
    "table3": ("BLEU-1", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D", "SPICE"),
}
# With more bars, their labels are vertical.
_MAX_LABELS = 8
_COCO_SCORES = ("BLEU-1", "BLEU-4", "METEOR", "CIDEr-D", "SPICE")


def report(
    study: DomainStudy,
    options: LayoutOptions = LayoutOptions(),  # noqa: B008 - it is immutable.
) -> StudyReport:
    """Return the table of the paper, all scores, and a bar chart.

    With several systems, there is also a table of comparisons. The bars show the first of the paper's scores
    by domain, or the first score if there is none.

    Args:
        study: The scores of systems.
        options: The table of the paper, and the split of the published rows.
    """
    first = next(iter(study.systems.values()))
    published = select_published(first, options.published)
    names = first.corpus[OVERALL]
    metric = next(name for name in (*_DOMAIN_SCORES, *names) if name in names)
    tables = {
        "paper-layout": paper_table(
            study.systems,
            layout=options.layout,
            published=published,
            coco=study.coco,
            comparisons=study.comparisons,
        ),
        "domains": all_scores(study.systems),
    }
    if study.comparisons:
        tables["comparisons"] = comparison_table(study)
    return StudyReport(
        tables=tables, figures={"domains": lambda: bars(study.systems, metric, published.people)}
    )


def write_latex(found: StudyReport, folder: Path) -> list[Path]:
    """Write the table of the paper as LaTeX, for papers.

    Args:
        found: The tables of the study.
        folder: The folder.
    """
    name = "paper-layout"
    path = folder / f"{name}.tex"
    with atomic_write(path) as file:
        file.write(to_latex(found.tables[name]).encode())
    return [path]


def paper_table(
    systems: Mapping[str, DomainScores],
    *,
    layout: Layout,
    published: PublishedRows = PublishedRows(),  # noqa: B008 - it is immutable.
    coco: Mapping[str, Mapping[str, float]] | None = None,
    comparisons: Mapping[str, Pairs] | None = None,
) -> Grid:
    """Return scores times 100, with one row per system, as in Tables 2 and 3.

    Table 2 has CIDEr and SPICE by domain and overall, and the scores on COCO. Table 3 has CIDEr and SPICE by
    domain, and all metrics overall. Scores that no system has are omitted. Published rows follow the systems,
    with their training data, document frequencies and source in additional columns.

    A dagger marks scores that differ significantly from the first system's. A score is bold if it is
    significantly better than those of all other systems.

    Args:
        systems: The scores of each system.
        layout: The table.
        published: The published rows (`select_published`).
        coco: The corpus scores on COCO of some systems, by their names, for Table 2.
        comparisons: The comparisons of systems in each domain and on COCO
            (`DomainStudy.comparisons`); None to mark no scores.

    Raises:
        MismatchError: There is no system, or systems have different domains, metrics or document frequencies.
        OptionError: The layout is unknown.
    """
    validate_choice("layout", layout, get_args(Layout))
    domains = _list_domains(systems)
    rows = {name: _flatten(scores.corpus) for name, scores in systems.items()}
    for name, scores in (coco or {}).items():
        rows[name] |= {(COCO, metric): score for metric, score in scores.items()}
    wanted = [(COCO, metric) for metric in (_COCO_SCORES if layout == "table2" else ())]
    for domain in domains:
        of_domain = _DOMAIN_SCORES if domain != domains[-1] else _OVERALL_SCORES[layout]
        wanted += [(domain, metric) for metric in of_domain]
    shown = [key for key in wanted if any(key in values for values in rows.values())]
    if not shown:
        raise MismatchError(
            f"systems must have at least one score of {', '.join(_OVERALL_SCORES['table3'])} (got none)"
        )
    cells = [
        _build_row(name, values, shown, tuple(systems), comparisons or {}) for name, values in rows.items()
    ]
    origin = _ORIGIN if published.rows else ()
    if origin:
        used = (_FREQUENCIES.get(each.frequencies) for each in systems.values())
        cells = [
            (*row, *(Cell(value=text) for text in (None, each, None)))
            for row, each in zip(cells, used, strict=True)
        ]
        cells += _build_published_rows(published, shown)
    columns = ("System", *(f"{domain} {metric}" for domain, metric in shown))
    grid = Grid(columns=(*columns, *origin), rows=tuple(cells))
    notes = [_describe_images(systems), "Scores are times 100."]
    if comparisons:
        notes += _describe_few(systems)
        notes += describe_marks(grid, next(iter(systems)), comparisons[domains[-1]])
        notes += describe_tests(comparisons)
    return replace(grid, notes=(*notes, *published.notes, *_list_notes(systems)))


def _build_row(
    name: str,
    scores: Mapping[tuple[str, str], float],
    shown: Sequence[tuple[str, str]],
    labels: Sequence[str],
    comparisons: Mapping[str, Pairs],
) -> tuple[Cell, ...]:
    """Return the name and the scores of a system, with the marks of tests."""
    row = [Cell(value=name)]
    for domain, metric in shown:
        score = scores.get((domain, metric))
        cell = Cell(value=None if score is None else 100 * score, digits=1)
        pairs = comparisons.get(domain, {})
        row.append(mark_cell(cell, pairs, labels, name, metric) if pairs else cell)
    return tuple(row)


def _build_published_rows(
    published: PublishedRows, shown: Sequence[tuple[str, str]]
) -> list[tuple[Cell, ...]]:
    """Return the rows of published scores, with the data that make them comparable."""
    rows = []
    for row in published.rows:
        scores = (row.scores.get(domain, {}).get(metric) for domain, metric in shown)
        origin = (row.training, _FREQUENCIES["all"], row.source)
        rows.append(
            (
                Cell(value=row.system),
                *(Cell(value=score, digits=1) for score in scores),
                *(Cell(value=text) for text in origin),
            )
        )
    return rows


def all_scores(systems: Mapping[str, DomainScores]) -> Grid:
    """Return every score in every domain with its interval, one row per system and domain.

    Raises:
        MismatchError: There is no system, or systems have different domains, metrics or document frequencies.
    """
    domains = _list_domains(systems)
    names = tuple(next(iter(systems.values())).corpus[domains[0]])
    rows = []
    for name, scores in systems.items():
        for domain in domains:
            intervals = scores.intervals.get(domain, {})
            cells = (
                create_score_cell(scores.corpus[domain][metric], intervals.get(metric)) for metric in names
            )
            rows.append((Cell(value=name), Cell(value=domain), Cell(value=scores.images[domain]), *cells))
    known = (
        each for scores in systems.values() for part in scores.intervals.values() for each in part.values()
    )
    notes = [_describe_images(systems), *[interval.note for interval in known][:1]]
    few = _describe_few(systems) if len(notes) > 1 else ()
    return Grid(
        columns=("System", "Domain", "Images", *names),
        rows=tuple(rows),
        notes=(*notes, *few, *_list_notes(systems)),
    )


def comparison_table(study: DomainStudy) -> Grid:
    """Return the comparisons of systems, with one row per domain, score and pair, like `capeval compare`.

    Raises:
        MismatchError: There is no system, or systems have different domains, metrics or document frequencies.
    """
    grid = create_pair_table(study.comparisons)
    grid = replace(grid, columns=("Domain", *grid.columns[1:]))
    notes = (
        _describe_images(study.systems),
        *_describe_few(study.systems),
        *describe_differences(grid, study.comparisons),
        "P-values are not corrected for the number of domains.",
    )
    return replace(grid, notes=(*notes, *_list_notes(study.systems)))


def bars(
    systems: Mapping[str, DomainScores], metric: str, human: Mapping[str, Mapping[str, float]] | None = None
) -> Figure:
    """Plot a score by domain: one bar per system, and lines for human scores in percent.

    Raises:
        MismatchError: There is no system, or systems have different domains, metrics or document frequencies.
    """
    from capeval.report.figures import get_color, get_theme, paper_figure, set_title

    domains = _list_domains(systems)
    width = 0.8 / len(systems)
    # Horizontal labels of many bars would overlap.
    rotation = 0 if len(systems) * len(domains) <= _MAX_LABELS else 90
    with paper_figure(2.6) as figure:
        panel = figure.subplots()
        for place, (name, scores) in enumerate(systems.items()):
            x = [group - 0.4 + width * (place + 0.5) for group in range(len(domains))]
            y = [100 * scores.corpus[domain][metric] for domain in domains]
            drawn = panel.bar(x, y, width * 0.95, color=get_color(place), label=name)
            panel.bar_label(drawn, fmt="%.1f", padding=2, fontsize=6, rotation=rotation)
        people = [(human or {}).get(domain, {}).get(metric) for domain in domains]
        for group, score in enumerate(people):
            if score is not None:
                ends = (group - 0.42, group + 0.42)
                # All lines share one legend entry.
                label = None if panel.lines else "people (published)"
                panel.plot(ends, (score, score), color=get_theme().soft, linestyle="--", label=label)
        names = [f"{domain}\n{next(iter(systems.values())).images[domain]:,} images" for domain in domains]
        panel.set_xticks(range(len(domains)), names)
        set_title(figure, f"{metric} by domain{_describe_weights(systems, metric)}")
        panel.set_ylabel(f"{metric} x 100")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return figure


def _list_domains(systems: Mapping[str, DomainScores]) -> tuple[str, ...]:
    if not systems:
        raise MismatchError("a table must have at least one system (got none)")
    kinds = {
        (tuple(each.corpus), tuple(next(iter(each.corpus.values()))), each.frequencies)
        for each in systems.values()
    }
    if len(kinds) > 1:
        raise MismatchError(
            "systems in one table must have the same domains and metrics, and document frequencies of the"
            " same images"
        )
    return tuple(next(iter(systems.values())).corpus)


def _describe_images(systems: Mapping[str, DomainScores]) -> str:
    """Return the footnote with the number of images of each domain, and the partition."""
    images = next(iter(systems.values())).images
    counts = ", ".join(f"{domain} {count:,}" for domain, count in images.items())
    return f"Images: {counts} ({describe_partition(count_domains(images))})."


def _describe_few(systems: Mapping[str, DomainScores]) -> tuple[str, ...]:
    """Return the footnote on domains with too few images, if any."""
    images = next(iter(systems.values())).images
    few = [domain for domain, count in images.items() if count < FEW_IMAGES]
    if not few:
        return ()
    return (
        f"Fewer than {FEW_IMAGES} images in {', '.join(few)}: intervals are unreliable, and tests find only"
        " large differences.",
    )


def _list_notes(systems: Mapping[str, DomainScores]) -> tuple[str, ...]:
    """Return footnotes: the images of document frequencies, and missing scores."""
    unscored = (
        f"{name}: {note}" if len(systems) > 1 else note
        for name, scores in systems.items()
        for note in scores.notes
    )
    return (*_describe_frequencies(next(iter(systems.values()))), *unscored)


def _describe_frequencies(scores: DomainScores) -> tuple[str, ...]:
    """Return the footnote with the images of document frequencies, if any are used."""
    names = ", ".join(scores.weighted)
    if scores.frequencies == "all":
        return (f"Document frequencies of {names}: all images, as in the published nocaps tables.",)
    if scores.frequencies == "domain":
        return (
            f"Document frequencies of {names}: only the images of each domain; published nocaps tables use"
            " all images.",
        )
    return ()


def _describe_weights(systems: Mapping[str, DomainScores], metric: str) -> str:
    """Return the title's suffix with the images of document frequencies, if any."""
    scores = next(iter(systems.values()))
    if metric not in scores.weighted:
        return ""
    images = "all images" if scores.frequencies == "all" else "each domain"
    return f" (document frequencies of {images})"


def _flatten(scores: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], float]:
    return {
        (domain, metric): score for domain, of_domain in scores.items() for metric, score in of_domain.items()
    }
