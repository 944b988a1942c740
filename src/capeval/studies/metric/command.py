"""`capeval study metric`: agreement of a metric with people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import SpiceLongest
from capeval.cli.toolkit.output import Steps, deliver, examples
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.errors import OptionError
from capeval.studies.metric.options import MetricOptions

if TYPE_CHECKING:
    from capeval.metrics.base import Metric
    from capeval.report.study_report import StudyReport
    from capeval.studies.metric import MetricStudy

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 85
EXAMPLES = examples(
    "capeval study metric CIDEr-2015 flickr8k-expert=data/flickr8k",
    "capeval study metric my_metrics:Overlap pascal-50s=data/pascal50s --output study",
    "capeval study metric clip.csv flickr8k-expert=data/flickr8k flickr8k-cf=data/flickr8k -o study",
    'capeval study metric "errors.csv(lower=true)" thumb=data/thumb --metrics METEOR,SPICE',
)


def run(
    metric: Annotated[
        str, Argument(help="Registered name, MODULE:CLASS of your own metric, or FILE.csv of scores.")
    ],
    benchmarks: Annotated[
        list[str],
        Argument(
            metavar="BENCHMARK=FOLDER...",
            help="Benchmarks, each with the folder of the files that its authors publish.",
        ),
    ],
    metrics: Annotated[
        Sequence[str] | None,
        Option(
            "--metrics",
            "-m",
            metavar="NAME,...",
            help="Metrics to compare with, comma-separated or repeated.",
            show_default="BLEU-1, BLEU-4, METEOR, ROUGE-L, CIDEr-D",
        ),
    ] = None,
    spice_longest: SpiceLongest = None,
    *,
    options: MetricOptions,
    output: Folder = None,
) -> None:
    """Measure how well a metric agrees with people, on published human judgments.

    The benchmarks are flickr8k-expert, flickr8k-cf, composite, polaris, nebula, pascal-50s, abstract-50s,
    thumb, foil and caparena. A file of scores has the columns image_id, caption and one or more scores.

    --output also writes the table as LaTeX, all scores as CSV, and pages to browse disagreements.
    """
    from capeval.cli.toolkit.imported_metrics import find_metric
    from capeval.cli.toolkit.options import metric_names
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.studies.metric import COMPARED, evaluate_metric, load_benchmark
    from capeval.studies.metric.draws import count_draws
    from capeval.studies.metric.report import report

    folders = _parse_benchmarks(benchmarks)
    (evaluated,) = prepare_metrics([find_metric(metric)])
    compared: tuple[Metric, ...] = prepare_metrics(metric_names(metrics) if metrics else COMPARED.available)
    if spice_longest is not None:
        compared = prepare_metrics(compared, spice_longest)
    read = []
    with Steps(len(folders)) as steps:
        for name, folder in folders.items():
            steps.next(f"Reading {name}")
            read.append(load_benchmark(name, folder))
    # One more step per benchmark for resampling.
    with Steps(sum(count_draws(each, options) + 1 for each in read)) as steps:
        studies = [
            evaluate_metric(evaluated, each, options, compared=compared, progress=steps.next) for each in read
        ]
    made = report(studies)
    write_study_report(made, output, write=lambda place: _write_files(studies, made, place))


def _parse_benchmarks(texts: Sequence[str]) -> dict[str, Path]:
    from capeval.studies.metric import list_descriptions

    folders: dict[str, Path] = {}
    for text in texts:
        name, _, folder = text.partition("=")
        if name not in list_descriptions() or not folder or name in folders:
            raise OptionError(
                "arguments must be BENCHMARK=FOLDER, with each benchmark once"
                f" from {', '.join(list_descriptions())} (got {text!r})"
            )
        folders[name] = Path(folder)
    return folders


def _write_files(studies: Sequence[MetricStudy], made: StudyReport, folder: Path) -> list[Path]:
    """Write the table as LaTeX, and a page of disagreements for each benchmark."""
    from capeval.report import to_latex
    from capeval.studies.consensus.pair_tables import render_pairs
    from capeval.studies.metric.report import to_judged_pairs

    written = [folder / "agreement.tex"]
    deliver(to_latex(made.tables["agreement"]), written[0])
    for study in studies:
        about = study.benchmark.about
        page = render_pairs(
            to_judged_pairs(study), title=f"Disagreements of metrics and people: {about.title}"
        )
        written.append(folder / f"{about.name}-disagreements.html")
        deliver(page, written[-1])
    return written
