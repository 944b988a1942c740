"""The `capeval score` command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    BenchmarkName,
    ContextOption,
    EvaluationOptions,
    FormatOption,
    Level,
    Output,
    Pictures,
    ReferencesOrBenchmark,
    Replayed,
    Samples,
    Scale,
    Seed,
    Tokenized,
    TokenizerSpec,
    check_scale,
    create_tokenizer,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, name_systems, render
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.cli.toolkit.scoring import LoadedCaptions
    from capeval.data.captions import ImageId
    from capeval.report import System
    from capeval.scoring.report import Report
    from capeval.tokenizers import Tokenizer

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval score references.json results.json",
    "capeval score -t coco-karpathy-test results.json",
    "capeval score -t coco-karpathy-test --cite",
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

    benchmark: BenchmarkName = None
    cite: Annotated[bool, Option(help="Print BibTeX of the benchmark's papers and exit.")] = False
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
    replay: Replayed = None
    processes: Annotated[
        int | None,
        Option(min=1, help="Number of processes for folders of shards.", show_default="one per processor"),
    ] = None
    skip_bad_shards: Annotated[bool, Option(help="Skip shards that can't be scored.")] = False

    def __post_init__(self) -> None:
        if self.cite and self.benchmark is None:
            raise OptionError("--cite requires -t, --benchmark NAME")
        if self.has_images_only and (self.bootstrap or self.subset is not None):
            raise OptionError(
                "tables of --per-image contain neither intervals nor subsets; use --format json, or omit"
                " --bootstrap and --subset"
            )
        check_scale(self.scale, self.form)
        if self.images is not None and self.report is None:
            raise OptionError("--images requires --report FILE")

    @property
    def has_images_only(self) -> bool:
        """Whether the output contains the scores of images but not of subsets."""
        return self.per_image and self.form != "json" and self.report is None

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
        require_files = ("subset", "bootstrap", "per_image", "report", "replay")
        given = {name: getattr(self, name) for name in require_files}
        for name, value in {**given, "scale": self.scale != "1"}.items():
            if value:
                raise OptionError(f"--{name.replace('_', '-')} requires files (got folders of shards)")


def run(
    references: ReferencesOrBenchmark,
    results: Annotated[
        list[Path] | None,
        Argument(
            help="Result files, one per system, each as FILE or NAME=FILE (- for standard input).",
            optional_with="cite",
        ),
    ],
    *,
    evaluation: EvaluationOptions,
    options: ScoreOptions,
) -> None:
    """Score the captions of one or more systems against references."""
    from capeval.cli.toolkit.inputs import are_folders, get_path
    from capeval.cli.toolkit.resource_setup import check_report_packages

    if options.cite or results is None:
        _print_citation(options)
        return
    systems = name_systems(results)
    names, results = list(systems), list(systems.values())
    has_folders = references is not None and are_folders(references, results)
    context = options.context
    if has_folders and context is None and not options.tokenized and options.tokenizer is None:
        # Scores must not depend on the distribution of captions over shards.
        context = "caption"
    tokenizer = create_tokenizer(options.tokenizer, tokenized=options.tokenized, context=context)
    inputs = [path for path in (references, options.subset) if path is not None]
    check_outputs([*inputs, *results, *evaluation.files], [options.output, options.report])
    if options.report is not None:
        check_report_packages()
    options.check_kind(has_folders=has_folders)
    if has_folders and "skip" in (evaluation.reading.missing, evaluation.reading.extra):
        raise OptionError("--missing skip and --extra skip require files (got folders of shards)")
    if has_folders:
        # Imported lazily, since it imports multiprocessing.
        from capeval.cli.toolkit import shard_scoring

        folders = shard_scoring.ShardFolders(
            references=get_path(references),
            results=results,
            processes=options.processes,
            skip=options.skip_bad_shards,
        )
        shard_scoring.score_folders(folders, names, evaluation, tokenizer, options.form, options.output)
    else:
        _score_files(references, systems, evaluation, options, tokenizer)


def _print_citation(options: ScoreOptions) -> None:
    from capeval.datasets.benchmarks import get_benchmark

    assert options.benchmark is not None  # noqa: S101 - the options were checked.
    deliver(get_benchmark(options.benchmark).bibtex, options.output)


def _get_subsets(
    options: ScoreOptions, reading: CaptionReader, loaded: LoadedCaptions
) -> dict[str, list[ImageId]]:
    """Return the subsets in the file of `--subset`, or those of the benchmark."""
    from capeval.cli.toolkit.scoring import subsets_of

    if options.subset is not None:
        return subsets_of(options.subset, loaded.references, loaded.skipped)
    return {} if options.has_images_only else reading.get_subsets(loaded.references)


def _score_files(
    references: Path | None,
    results: Mapping[str, Path],
    evaluation: EvaluationOptions,
    options: ScoreOptions,
    tokenizer: Tokenizer,
) -> None:
    """Score the result file of each system, and write the scores and the report."""
    from capeval.cli.toolkit import scoring

    page = options.report
    reading = scoring.create_reader(evaluation.reading, options.benchmark)
    loaded = scoring.load_captions(references, list(results.values()), reading, names=list(results))
    captions = loaded.references
    subsets = _get_subsets(options, reading, loaded)
    has_intervals = options.bootstrap or (bool(subsets) and options.subset is None)
    evaluation = reading.choose_metrics(evaluation)
    pictures = None
    if options.images is not None and page is not None:
        pictures = scoring.pictures_of(options.images, references, captions, page)
    evaluator = scoring.evaluator_of(captions, evaluation, tokenizer, replay=options.replay)
    with Steps(len(results) * (2 if has_intervals else 1) + (page is not None)) as steps:
        systems = []
        for place, name in enumerate(results):
            steps.next(f"Scoring {name}")
            report = loaded.evaluate(evaluator, place, subsets=subsets or None)
            if has_intervals:
                steps.next(f"Resampling {name}")
            systems.append(_create_system(name, report, options if has_intervals else None, subsets))
        if page is not None:
            steps.next("Writing the report")
            source = reading.get_title(references)
            scoring.write_report(
                page, systems, captions, loaded.candidates, tokenizer, source=source, pictures=pictures
            )
    _write_scores(systems, options, reading, reading.get_title(references))


def _create_system(
    name: str, report: Report, resampling: ScoreOptions | None, subsets: Mapping[str, Sequence[ImageId]]
) -> System:
    """Return a system, with intervals if there are options of resampling."""
    from capeval.cli.toolkit.scoring import with_intervals
    from capeval.report import System

    system = System(name=name, report=report)
    if resampling is None:
        return system
    samples, level, seed = resampling.samples, resampling.level, resampling.seed
    return with_intervals(system, samples=samples, level=level, seed=seed, subsets=subsets)


def _write_scores(
    systems: Sequence[System], options: ScoreOptions, reading: CaptionReader, source: str
) -> None:
    from capeval.report import create_image_table, create_score_table, scale_table, to_json

    if options.form == "json":
        text = to_json(systems, per_image=options.per_image, benchmark=options.benchmark or "")
        deliver(text, options.output)
        return
    if options.per_image:
        grid = create_image_table(systems)
    else:
        overall = "all" if reading.benchmark is None else "overall"
        grid = create_score_table(
            systems, source=source, overall=overall, about=reading.get_notes(systems[0].report.image_ids)
        )
    render(scale_table(grid) if options.scale == "100" else grid, options.form, options.output)
