"""The `capeval score` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    ContextOption,
    EvaluationOptions,
    FormatOption,
    Level,
    Output,
    Pictures,
    ReferencesFile,
    Samples,
    Scale,
    Seed,
    Tokenized,
    TokenizerSpec,
    check_scale,
    create_tokenizer,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, render, system_names
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.tokenizers import Tokenizer

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


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Options of `capeval score`, except those of the evaluator."""

    subset: Annotated[
        Path | None, Option(help="JSON file of subsets (names to image ids) to score separately.")
    ] = None
    bootstrap: Annotated[bool, Option(help="Add bootstrap confidence intervals of corpus scores.")] = False
    samples: Samples = 1000
    level: Level = 0.95
    seed: Seed = 0
    per_image: Annotated[bool, Option(help="Show the scores of each image.")] = False
    form: FormatOption = "table"
    scale: Scale = "1"
    output: Output = None
    report: Annotated[Path | None, Option(help="Also write an HTML report with plots.")] = None
    images: Pictures = None
    tokenized: Tokenized = False
    tokenizer: TokenizerSpec = None
    context: ContextOption = None
    processes: Annotated[
        int | None,
        Option(min=1, help="Number of processes for folders of shards.", show_default="one per processor"),
    ] = None
    skip_bad_shards: Annotated[bool, Option(help="Skip shards that can't be scored.")] = False

    def __post_init__(self) -> None:
        single = self.per_image and self.form != "json" and self.report is None
        if single and (self.bootstrap or self.subset is not None):
            raise OptionError(
                "tables of --per-image contain neither intervals nor subsets; use --format json, or omit"
                " --bootstrap and --subset"
            )
        check_scale(self.scale, self.form)
        if self.images is not None and self.report is None:
            raise OptionError("--images requires --report FILE")

    def check_kind(self, *, has_folders: bool) -> None:
        """Check that the options apply to the kind of input, folders of shards or files.

        Raises:
            OptionError: An option requires folders; or an option requires the scores of each image, or all
                captions, in one process, which is not possible for folders.
        """
        if not has_folders:
            if self.processes is not None or self.skip_bad_shards:
                raise OptionError("--processes and --skip-bad-shards require folders of shards (got files)")
            return
        given = {name: getattr(self, name) for name in ("subset", "bootstrap", "per_image", "report")}
        for name, value in {**given, "scale": self.scale != "1"}.items():
            if value:
                raise OptionError(f"--{name.replace('_', '-')} requires files (got folders of shards)")


def run(
    references: ReferencesFile,
    results: Annotated[list[Path], Argument(help="Result files, one per system (- for standard input).")],
    *,
    evaluation: EvaluationOptions,
    options: ScoreOptions,
) -> None:
    """Score the captions of one or more systems against references."""
    from capeval.cli.toolkit.inputs import are_folders
    from capeval.cli.toolkit.resource_setup import check_report_packages

    has_folders = are_folders(references, results)
    context = options.context
    if has_folders and context is None and not options.tokenized and options.tokenizer is None:
        # Scores must not depend on the distribution of captions over shards.
        context = "caption"
    tokenizer = create_tokenizer(options.tokenizer, tokenized=options.tokenized, context=context)
    names = system_names(results)
    subset = [] if options.subset is None else [options.subset]
    check_outputs([references, *results, *subset, *evaluation.files], [options.output, options.report])
    if options.report is not None:
        check_report_packages()
    options.check_kind(has_folders=has_folders)
    if has_folders and "skip" in (evaluation.reading.missing, evaluation.reading.extra):
        raise OptionError("--missing skip and --extra skip require files (got folders of shards)")
    if has_folders:
        # Imported lazily, since it imports multiprocessing.
        from capeval.cli.toolkit import shard_scoring

        folders = shard_scoring.ShardFolders(
            references=references,
            results=results,
            processes=options.processes,
            skip=options.skip_bad_shards,
        )
        shard_scoring.score_folders(folders, names, evaluation, tokenizer, options.form, options.output)
    else:
        _score_files(references, dict(zip(names, results, strict=True)), evaluation, options, tokenizer)


def _score_files(
    references: Path,
    results: Mapping[str, Path],
    evaluation: EvaluationOptions,
    options: ScoreOptions,
    tokenizer: Tokenizer,
) -> None:
    """Score the result file of each system, and write the scores and the report."""
    from capeval.cli.toolkit import scoring
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.report import System, create_image_table, create_score_table, scale_table, to_json

    page = options.report
    loaded = scoring.load_captions(references, list(results.values()), CaptionReader(evaluation.reading))
    captions = loaded.references
    subsets = None if options.subset is None else scoring.subsets_of(options.subset, captions)
    pictures = None
    if options.images is not None and page is not None:
        pictures = scoring.pictures_of(options.images, references, captions, page)
    evaluator = scoring.evaluator_of(captions, evaluation, tokenizer)
    with Steps(len(results) * (2 if options.bootstrap else 1) + (page is not None)) as steps:
        systems = []
        for place, name in enumerate(results):
            steps.next(f"Scoring {name}")
            system = System(name=name, report=loaded.evaluate(evaluator, place, subsets=subsets))
            if options.bootstrap:
                steps.next(f"Resampling {name}")
                system = scoring.with_intervals(
                    system, samples=options.samples, level=options.level, seed=options.seed
                )
            systems.append(system)
        if page is not None:
            steps.next("Writing the report")
            source = references.name
            scoring.write_report(
                page, systems, captions, loaded.candidates, tokenizer, source=source, pictures=pictures
            )
    if options.form == "json":
        deliver(to_json(systems, per_image=options.per_image), options.output)
    else:
        grid = (
            create_image_table(systems)
            if options.per_image
            else create_score_table(systems, source=references.name)
        )
        render(scale_table(grid) if options.scale == "100" else grid, options.form, options.output)
