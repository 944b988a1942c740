"""The `capeval compare` command."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    BenchmarkName,
    ContextOption,
    EvaluationOptions,
    FormatOption,
    Level,
    Output,
    ReferencesOrBenchmark,
    Samples,
    Scale,
    Seed,
    TokenizerSpec,
    check_scale,
    create_tokenizer,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, render, system_names
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.data.captions import ImageId
    from capeval.report import Grid, System
    from capeval.report.comparison_tables import Pairs
    from capeval.scoring.report import Report

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval compare references.json a.json b.json",
    "capeval compare -t coco-karpathy-test a.json b.json",
    "capeval compare references.json ours.json baseline.json other.json --all-pairs",
    "capeval compare references.json a.json b.json --subset domains.json --samples 10000",
    "capeval compare references.json a.json b.json c.json --layout systems --format latex --scale 100",
)


PairedTest = Literal["randomization", "bootstrap"]
Layout = Literal["pairs", "systems"]


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """Options of `capeval compare`, except those of the evaluator."""

    all_pairs: Annotated[
        bool, Option(help="Compare all pairs of systems, not only the first with the others.")
    ] = False
    subset: Annotated[
        Path | None, Option(help="JSON file of subsets (names to image ids) to compare separately.")
    ] = None
    method: Annotated[PairedTest, Option(help="Paired test.")] = "randomization"
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0
    layout: Annotated[
        Layout, Option(help="One row per pair and score, or a table for papers with one row per system.")
    ] = "pairs"
    form: FormatOption = "table"
    scale: Scale = "1"
    output: Output = None

    def __post_init__(self) -> None:
        check_scale(self.scale, self.form)
        if self.layout == "systems" and self.subset is not None:
            raise OptionError("--layout systems and --subset can't be combined")


def run(
    references: ReferencesOrBenchmark,
    results: Annotated[list[Path], Argument(help="Result files of two or more systems.")],
    *,
    evaluation: EvaluationOptions,
    benchmark: BenchmarkName = None,
    options: ComparisonOptions,
    tokenizer_spec: TokenizerSpec = None,
    context: ContextOption = None,
) -> None:
    """Compare systems: differences with intervals and p-values for each score.

    The first system is compared with each of the others. The better score is bold if the difference is
    significant. With several pairs, p-values are corrected for their number (Holm).
    """
    from capeval.cli.toolkit import scoring
    from capeval.scoring.multiple_comparisons import compare_systems

    if len(results) < 2:
        raise OptionError(f"a comparison needs two or more result files (got {len(results)})")
    tokenizer = create_tokenizer(tokenizer_spec, context=context)
    names = system_names(results)
    read = [path for path in (references, options.subset) if path is not None]
    check_outputs([*read, *results, *evaluation.files], [options.output])
    reading = scoring.create_reader(evaluation.reading, benchmark)
    loaded = scoring.load_captions(references, results, reading)
    subsets: dict[str, list[ImageId] | None] = {"all": None}
    if options.subset is not None:
        found = scoring.subsets_of(options.subset, loaded.references)
        if "all" in found:
            raise OptionError(f"{options.subset}: a subset can't have the name 'all', which means all images")
        subsets.update(found)
    evaluator = scoring.evaluator_of(loaded.references, reading.choose_metrics(evaluation), tokenizer)
    pairs = len(names) * (len(names) - 1) // 2 if options.all_pairs else len(names) - 1
    with Steps(len(names) + pairs * len(subsets)) as steps:
        reports = {}
        for place, name in enumerate(names):
            steps.next(f"Scoring {name}")
            reports[name] = loaded.evaluate(evaluator, place)
        compared: dict[str, Pairs] = {
            subset: compare_systems(
                reports,
                all_pairs=options.all_pairs,
                method=options.method,
                samples=options.samples,
                level=options.level,
                seed=options.seed,
                images=images,
                progress=steps.next,
            )
            for subset, images in subsets.items()
        }
    if options.form == "csv":
        # The other formats contain these notes.
        for note in _list_test_notes(compared):
            print(f"capeval: warning: {note}", file=sys.stderr)
    if options.form == "json":
        from capeval.report.exporters import comparison_to_json

        deliver(comparison_to_json(compared, benchmark=benchmark or ""), options.output)
        return
    grid = _create_table(reports, compared, options, reading.get_title(references))
    if options.scale == "100":
        from capeval.report import scale_table

        grid = scale_table(grid)
    render(grid, options.form, options.output)


def _list_test_notes(compared: Mapping[str, Pairs]) -> list[str]:
    """Return the notes on excluded images and on too few images."""
    notes = (note for pairs in compared.values() for each in pairs.values() for note in each.notes)
    return list(dict.fromkeys(notes))


def _create_table(
    reports: Mapping[str, Report], compared: Mapping[str, Pairs], options: ComparisonOptions, source: str
) -> Grid:
    from capeval.report import System, create_comparison_table, create_pair_table, create_system_table
    from capeval.scoring.significance import bootstrap

    pairs = compared["all"]
    notes = reports[next(iter(reports))].notes(source, unscored=False)
    if options.layout == "systems":
        systems = []
        for name, report in reports.items():
            intervals = bootstrap(report, samples=options.samples, level=options.level, seed=options.seed)
            systems.append(System(name=name, report=report, intervals=intervals))
        grid = create_system_table(systems, pairs, notes=notes)
        about = _describe_systems(grid, systems[0], compared, options)
    else:
        if len(compared) == 1 and len(pairs) == 1:
            ((a, b),) = pairs
            grid = create_comparison_table(pairs[a, b], a, b, notes=notes)
        else:
            a, b = "A", "B"
            grid = create_pair_table(compared, notes=notes)
        about = _describe_differences(grid, a, b, compared, options)
    return replace(grid, notes=(*grid.notes, *about, *_list_test_notes(compared)))


def _describe_systems(
    grid: Grid, first: System, compared: Mapping[str, Pairs], options: ComparisonOptions
) -> list[str]:
    """Return the footnotes on intervals, daggers, bold scores and the test."""
    from capeval.report.comparison_tables import DAGGER

    level = _describe_level(compared, options)
    notes = [next(iter(first.intervals.values())).note]
    cells = [cell for row in grid.rows for cell in row]
    if any(cell.mark for cell in cells):
        notes.append(f"{DAGGER}: differs from {first.name} at {level}.")
    if any(cell.best for cell in cells):
        notes.append(f"Bold: better than all other systems at {level}.")
    return [*notes, _describe_first_test(compared)]


def _describe_differences(
    grid: Grid, a: str, b: str, compared: Mapping[str, Pairs], options: ComparisonOptions
) -> list[str]:
    """Return the footnotes on differences, the test and bold scores."""
    level = _describe_level(compared, options)
    before = ", before correction" if _count_tests(compared) > 1 else ""
    has_bold = any(cell.best for row in grid.rows for cell in row)
    return [
        f"Difference: {a} - {b}, with {100 * options.level:g}% bootstrap intervals over images.",
        f"Detectable: only larger differences are significant at {100 * (1 - options.level):g}% with these"
        f" images{before}.",
        _describe_first_test(compared),
        f"Bold: the better score, if the difference is significant at {level}."
        if has_bold
        else f"No difference is significant at {level}.",
    ]


def _describe_first_test(compared: Mapping[str, Pairs]) -> str:
    """Return the sentence on the test, which is the same for all scores."""
    from capeval.scoring.significance import describe_test

    return describe_test(next(iter(next(iter(compared["all"].values())).values())))


def _count_tests(compared: Mapping[str, Pairs]) -> int:
    """Return the number of pairs for which p-values are corrected."""
    return len(compared["all"])


def _describe_level(compared: Mapping[str, Pairs], options: ComparisonOptions) -> str:
    tests = _count_tests(compared)
    corrected = f", corrected for {tests:,} pairs of systems (Holm)" if tests > 1 else ""
    return f"{100 * (1 - options.level):g}%{corrected}"
