"""The `capeval compare` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval compare references.json a.json b.json",
    "capeval compare -t coco-karpathy-test a.json b.json",
    "capeval compare references.json a.json b.json --method randomization --samples 10000",
)


PairedTest = Literal["bootstrap", "randomization"]
_TESTS = {"bootstrap": "bootstrap", "randomization": "approximate randomization"}


def run(
    references: ReferencesOrBenchmark,
    a: Annotated[Path, Argument(help="Results of the first system.")],
    b: Annotated[Path, Argument(help="Results of the second system.")],
    *,
    options: EvaluationOptions,
    benchmark: BenchmarkName = None,
    method: Annotated[PairedTest, Option(help="Paired test.")] = "bootstrap",
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    tokenizer_spec: TokenizerSpec = None,
    context: ContextOption = None,
    form: FormatOption = "table",
    scale: Scale = "1",
    output: Output = None,
) -> None:
    """Compare two systems: difference A - B, interval and p-value for each score."""
    from capeval.cli.toolkit import scoring
    from capeval.report import create_comparison_table, scale_table
    from capeval.report.exporters import comparison_to_json
    from capeval.scoring.significance import compare

    check_scale(scale, form)
    tokenizer = create_tokenizer(tokenizer_spec, context=context)
    names = system_names([a, b])
    check_outputs([*([] if references is None else [references]), a, b, *options.files], [output])
    reading = scoring.create_reader(options.reading, benchmark)
    loaded = scoring.load_captions(references, [a, b], reading)
    evaluator = scoring.evaluator_of(loaded.references, reading.choose_metrics(options), tokenizer)
    with Steps(3) as steps:
        reports = []
        for place, name in enumerate(names):
            steps.next(f"Scoring {name}")
            reports.append(loaded.evaluate(evaluator, place))
        steps.next("Resampling")
        compared = compare(*reports, method=method, samples=samples, level=level, seed=seed)
    if form == "json":
        deliver(comparison_to_json(compared, *names, benchmark=benchmark or ""), output)
    else:
        notes = (
            *reports[0].notes(reading.get_title(references), unscored=False),
            f"Difference: {names[0]} - {names[1]}, with {100 * level:g}% bootstrap intervals over images.",
            f"p-value: paired {_TESTS[method]} ({samples:,} samples, seed {seed}).",
            *compared.notes,
        )
        grid = create_comparison_table(compared, *names, notes=notes)
        render(scale_table(grid) if scale == "100" else grid, form, output)
