"""`capeval score`: scores one system or several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    Tokenized,
    TokenizerSpec,
    metric_names,
    tokenizer_of,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, render, system_names
from capeval.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval score references.json results.json",
    "capeval score references.json a.json b.json.gz --metrics BLEU,CIDEr-D --bootstrap",
    "capeval score references.json results.json --format json --per-image -o scores.json",
    "capeval score references.json a.json b.json --subset domains.json --report report.html",
    "capeval score captions_val2014.json a.json b.json --report report.html --images val2014",
    "capeval score references.json results.json -m CIDEr-D --frequencies captions_train2014.json",
    "capeval score dataset_coco.json results.json --split test",
    "capeval score shards/ shards/ --reference-caption-column references --caption-column caption",
    "capeval score captions.csv model.csv --id-column photo --caption-column output",
)


def run(
    references: ReferencesFile,
    results: Annotated[list[Path], Argument(help="Files of results, one a system; - is standard input.")],
    metrics: Metrics = None,
    id_column: IdColumn = None,
    caption_column: CaptionColumn = None,
    reference_id_column: ReferenceIdColumn = None,
    reference_caption_column: ReferenceCaptionColumn = None,
    split: Split = None,
    frequencies: Frequencies = None,
    frequencies_images: FrequenciesImages = None,
    spice_longest: SpiceLongest = None,
    subset: Annotated[Path | None, Option(help="JSON of subsets: names to image ids.")] = None,
    bootstrap: Annotated[bool, Option(help="Add bootstrap intervals of the corpus scores.")] = False,
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    each: Annotated[bool, Option("--per-image", help="Show the scores of each image.")] = False,
    form: FormatOption = "table",
    output: Output = None,
    report: Annotated[Path | None, Option(help="Write a report with plots as HTML too.")] = None,
    images: Annotated[
        str | None,
        Option(
            metavar="PATTERN|FOLDER",
            help="Where the report finds pictures: addresses or paths with {id} or {file_name}, or a folder.",
        ),
    ] = None,
    tokenized: Tokenized = False,
    tokenizer_spec: TokenizerSpec = None,
    context: ContextOption = None,
    processes: Annotated[
        int | None,
        Option(min=1, help="Processes that score folders of shards.", show_default="one for each processor"),
    ] = None,
    skip_bad_shards: Annotated[
        bool, Option(help="Leave out shards of folders that can't be scored.")
    ] = False,
) -> None:
    """Scores results against references, for one system or several."""
    from capeval.cli.toolkit import scoring
    from capeval.cli.toolkit.inputs import InputOptions, are_folders
    from capeval.cli.toolkit.resource_setup import check_report_packages
    from capeval.report import System, per_image, scores, to_json

    has_folders = are_folders(references, results)
    if has_folders and context is None and not tokenized and tokenizer_spec is None:
        # So that the scores don't depend on how captions are split into shards.
        context = "caption"
    tokenizer = tokenizer_of(tokenizer_spec, tokenized=tokenized, context=context)
    names = system_names(results)
    if each and (bootstrap or subset is not None) and form != "json" and report is None:
        raise OptionError(
            "a table of '--per-image' has neither intervals nor subsets: give --format json, or leave out "
            "--bootstrap and --subset"
        )
    if images is not None and report is None:
        raise OptionError("--images is for the HTML report: give --report FILE too")
    chosen = metric_names(metrics)
    counts = scoring.FrequencyFile.of_options(frequencies, frequencies_images)
    read = [references, *results, *(path for path in (subset, frequencies) if path is not None)]
    check_outputs(read, [output, report])
    if report is not None:
        check_report_packages()
    reading = InputOptions(
        id_column=id_column,
        caption_column=caption_column,
        reference_id_column=reference_id_column,
        reference_caption_column=reference_caption_column,
        split=split,
    )
    if has_folders:
        # Not above: it brings the processes that score shards.
        from capeval.cli.toolkit import shard_scoring

        _refuse_for_folders(subset=subset, bootstrap=bootstrap, per_image=each, report=report)
        folders = shard_scoring.ShardFolders(
            references=references,
            results=results,
            reading=reading,
            processes=processes,
            skip=skip_bad_shards,
        )
        shard_scoring.score_folders(
            folders, names, chosen, tokenizer, counts, form, output, spice_longest=spice_longest
        )
        return
    if processes is not None or skip_bad_shards:
        raise OptionError("--processes and --skip-bad-shards are for folders of shards (got files)")
    captions, candidates = scoring.loaded(references, results, reading)
    subsets = scoring.subsets_of(subset, captions) if subset is not None else None
    pictures = None
    if images is not None and report is not None:
        pictures = scoring.pictures_of(images, references, captions, report)
    evaluator = scoring.evaluator_of(captions, chosen, tokenizer, counts, spice_longest=spice_longest)
    with Steps(len(results) * (2 if bootstrap else 1) + (report is not None)) as steps:
        systems = []
        for name, results_of_system in zip(names, candidates, strict=True):
            steps.next(f"Scoring {name}")
            system = System(name=name, report=evaluator.evaluate(results_of_system, subsets=subsets))
            if bootstrap:
                steps.next(f"Resampling {name}")
                system = scoring.with_intervals(system, samples=samples, level=level, seed=seed)
            systems.append(system)
        if report is not None:
            steps.next("Writing the report")
            scoring.write_report(
                report, systems, captions, candidates, tokenizer, source=references.name, pictures=pictures
            )
    if form == "json":
        deliver(to_json(systems, per_image=each), output)
    else:
        grid = per_image(systems) if each else scores(systems, source=references.name)
        render(grid, form, output)


def _refuse_for_folders(**options: object) -> None:
    """Refuses options that need the scores of each image, or all captions, in one process."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise OptionError(f"{given[0]} is for files (got folders of shards)")
