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
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, name_systems, render
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.data.captions import ImageId
    from capeval.report import Grid
    from capeval.report.comparison_tables import Pairs
    from capeval.scoring.report import Report

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval compare references.json a.json b.json",
    "capeval compare -t coco-karpathy-test a.json b.json",
    "capeval compare references.json ours.json baseline.json other.json --all-pairs",
    "capeval compare references.json Ours=a.json Baseline=b.json --no-intervals",
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
    no_intervals: Annotated[bool, Option(help="Leave intervals out of tables, which makes them narrow.")] = (
        False
    )
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
    results: Annotated[
        list[Path], Argument(help="Result files of two or more systems, each as FILE or NAME=FILE.")
    ],
    *,
    evaluation: EvaluationOptions,
    benchmark: BenchmarkName = None,
    options: ComparisonOptions,
    tokenizer_spec: TokenizerSpec = None,
    context: ContextOption = None,
) -> None:
    """Compare systems: differences with intervals and p-values for each score.

    The first system is compared with each of the others. The better score is bold, or has an asterisk in
    plain text, if the difference is significant. With several pairs, p-values are corrected for their number
    (Holm).
    """
    from capeval.cli.toolkit import scoring
    from capeval.scoring.multiple_comparisons import compare_systems

    if len(results) < 2:
        raise OptionError(f"a comparison needs two or more result files (got {len(results)})")
    tokenizer = create_tokenizer(tokenizer_spec, context=context)
    systems = name_systems(results)
    names, results = list(systems), list(systems.values())
    read = [path for path in (references, options.subset) if path is not None]
    check_outputs([*read, *results, *evaluation.files], [options.output])
    reading = scoring.create_reader(evaluation.reading, benchmark)
    loaded = scoring.load_captions(references, results, reading, names=names)
    subsets: dict[str, list[ImageId] | None] = {"all": None}
    if options.subset is not None:
        found = scoring.subsets_of(options.subset, loaded.references, loaded.skipped)
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
        from capeval.report.comparison_notes import list_test_notes

        for note in list_test_notes(compared):
            print(f"capeval: warning: {note}", file=sys.stderr)
    if options.form == "json":
        from capeval.report.exporters import comparison_to_json

        deliver(comparison_to_json(compared, reports, benchmark=benchmark or ""), options.output)
        return
    grid = _create_table(reports, compared, options, reading.get_title(references))
    if options.scale == "100":
        from capeval.report import scale_table

        grid = scale_table(grid)
    render(grid, options.form, options.output)


def _create_table(
    reports: Mapping[str, Report], compared: Mapping[str, Pairs], options: ComparisonOptions, source: str
) -> Grid:
    from capeval.report import System, create_comparison_table, create_pair_table, create_system_table
    from capeval.report.comparison_notes import describe_differences, describe_systems, list_test_notes
    from capeval.report.tables import iter_matching_notes
    from capeval.scoring.grids import remove_intervals
    from capeval.scoring.significance import bootstrap

    pairs = compared["all"]
    named = [System(name=name, report=report) for name, report in reports.items()]
    notes = [*named[0].report.notes(source, unscored=False), *iter_matching_notes(named)]
    if options.layout == "systems":
        systems = []
        for name, report in reports.items():
            intervals = (
                {}
                if options.no_intervals
                else bootstrap(report, samples=options.samples, level=options.level, seed=options.seed)
            )
            systems.append(System(name=name, report=report, intervals=intervals))
        grid = create_system_table(systems, pairs, notes=notes)
        about = describe_systems(grid, systems, pairs)
    else:
        if len(compared) == 1 and len(pairs) == 1:
            ((a, b),) = pairs
            grid = create_comparison_table(pairs[a, b], a, b, notes=notes)
        else:
            a, b = "A", "B"
            grid = create_pair_table(compared, notes=notes)
        if options.no_intervals:
            grid = remove_intervals(grid)
        about = describe_differences(grid, compared, a, b)
    return replace(grid, notes=(*grid.notes, *about, *list_test_notes(compared)))
