"""`capeval compare`: tests whether two systems differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    CaptionColumn,
    ContextOption,
    FormatOption,
    Frequencies,
    FrequenciesImages,
    IdColumn,
    Level,
    Metrics,
    Output,
    ReferenceCaptionColumn,
    ReferenceIdColumn,
    ReferencesFile,
    Samples,
    Seed,
    SpiceLongest,
    Split,
    TokenizerSpec,
    metric_names,
    tokenizer_of,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, render, system_names

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval compare references.json a.json b.json",
    "capeval compare references.json a.json b.json --method randomization --samples 10000",
)


PairedTest = Literal["bootstrap", "randomization"]


def run(
    references: ReferencesFile,
    a: Annotated[Path, Argument(help="Results of one system.")],
    b: Annotated[Path, Argument(help="Results of the other.")],
    metrics: Metrics = None,
    id_column: IdColumn = None,
    caption_column: CaptionColumn = None,
    reference_id_column: ReferenceIdColumn = None,
    reference_caption_column: ReferenceCaptionColumn = None,
    split: Split = None,
    frequencies: Frequencies = None,
    frequencies_images: FrequenciesImages = None,
    spice_longest: SpiceLongest = None,
    method: Annotated[PairedTest, Option(help="Paired test.")] = "bootstrap",
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    tokenizer_spec: TokenizerSpec = None,
    context: ContextOption = None,
    form: FormatOption = "table",
    output: Output = None,
) -> None:
    """Compares two systems: for each score the difference A - B, its interval and a p-value."""
    from capeval.cli.toolkit import scoring
    from capeval.cli.toolkit.inputs import InputOptions
    from capeval.report import comparison
    from capeval.report.exporters import comparison_to_json
    from capeval.scoring.significance import compare

    tokenizer = tokenizer_of(tokenizer_spec, context=context)
    names = system_names([a, b])
    chosen = metric_names(metrics)
    counts = scoring.FrequencyFile.of_options(frequencies, frequencies_images)
    check_outputs([references, a, b, *([frequencies] if frequencies is not None else [])], [output])
    reading = InputOptions(
        id_column=id_column,
        caption_column=caption_column,
        reference_id_column=reference_id_column,
        reference_caption_column=reference_caption_column,
        split=split,
    )
    evaluator, candidates = scoring.prepared(
        references, [a, b], chosen, tokenizer, reading, counts, spice_longest=spice_longest
    )
    with Steps(3) as steps:
        reports = []
        for name, captions in zip(names, candidates, strict=True):
            steps.next(f"Scoring {name}")
            reports.append(evaluator.evaluate(captions))
        steps.next("Resampling")
        compared = compare(*reports, method=method, samples=samples, level=level, seed=seed)
    if form == "json":
        deliver(comparison_to_json(compared, *names), output)
    else:
        notes = (*reports[0].notes(references.name, unscored=False), *compared.notes)
        render(comparison(compared, *names, notes=notes), form, output)
