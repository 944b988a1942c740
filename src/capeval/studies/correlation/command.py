"""`capeval study correlation`: correlation of metrics with human ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import InputOptions, Metrics, SpiceLongest, metric_names
from capeval.cli.toolkit.output import Steps, examples, name_systems
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.errors import OptionError
from capeval.studies.correlation.options import CorrelationOptions

if TYPE_CHECKING:
    from capeval.metrics.base import Metric
    from capeval.studies.correlation.systems import SystemCorrelation

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 80
EXAMPLES = examples(
    "capeval study correlation references.json ratings.csv",
    "capeval study correlation Flickr8k.token.txt ExpertAnnotations.txt --flickr8k -o figures",
    "capeval study correlation Flickr8k.token.txt CrowdFlowerAnnotations.txt --flickr8k",
    "capeval study correlation references.json human.csv systems/a.json systems/b.json systems/c.json",
    "capeval study correlation references.json ratings.csv --metrics METEOR,CIDEr-D --against CIDEr-D",
)


def run(
    references: Annotated[Path, Argument(help="File of references.")],
    ratings: Annotated[
        Path,
        Argument(
            help="CSV with image_id, caption, rating... and optionally system; a release's judgments.csv;"
            " with RESULTS, human.csv."
        ),
    ],
    results: Annotated[
        list[Path] | None, Argument(help="Files of results, named after the systems in human.csv.")
    ] = None,
    flickr8k: Annotated[
        bool, Option(help="Read the files of Flickr8K, with ratings by experts or CrowdFlower.")
    ] = False,
    question: Annotated[
        str,
        Option(help="Question of a judgments.csv with several, such as P or R.", show_default="the only one"),
    ] = "",
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    *,
    reading: InputOptions,
    options: CorrelationOptions,
    output: Folder = None,
) -> None:
    """Correlate metrics with ratings by caption and, if systems are known, by system.

    With results of three or more systems, the command correlates their corpus scores with the values in
    human.csv, an output of 'study judging' and of servers, separately for each question and release.
    """
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.datasets.flickr8k import load_flickr8k
    from capeval.formats.judgments.ratings import load_ratings
    from capeval.studies.correlation import score_ratings, study_correlation
    from capeval.studies.correlation.report import report
    from capeval.studies.correlation.systems_report import report as report_of_systems

    names = metric_names(metrics)
    ready = prepare_metrics(names, spice_longest)
    if question and (flickr8k or results):
        raise OptionError("'--question' can't be combined with '--flickr8k' or RESULTS")
    if results:
        if flickr8k or options.against is not None:
            raise OptionError("'--flickr8k' and '--against' can't be combined with RESULTS")
        correlations = _correlate_results(references, ratings, results, ready, reading, options.level)
        write_study_report(report_of_systems(correlations), output)
        return
    with Steps(4) as steps:
        steps.next("Reading")
        if flickr8k:
            captions, rated = load_flickr8k(ratings, references)
        else:
            captions = CaptionReader(reading).references(references)
            rated = load_ratings(ratings, question=question)
        steps.next("Scoring")
        scored = score_ratings(captions, rated, ready, options)
        study = study_correlation(scored, options, progress=steps.next)
    write_study_report(report(study), output)


def _correlate_results(
    references: Path,
    human: Path,
    results: Sequence[Path],
    metrics: Sequence[Metric],
    reading: InputOptions,
    level: float,
) -> tuple[SystemCorrelation, ...]:
    """Return the correlations of corpus scores with the values in human.csv."""
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.cli.toolkit.scoring import load_captions
    from capeval.formats.judgments.human_scores import load_human_scores
    from capeval.scoring.evaluator import Evaluator
    from capeval.studies.correlation.systems import correlate_systems

    judged = load_human_scores(human)
    with Steps(1 + len(results)) as steps:
        steps.next("Reading")
        systems = name_systems(results)
        loaded = load_captions(references, list(systems.values()), CaptionReader(reading))
        evaluator = Evaluator(loaded.references, metrics)
        scores = {}
        for name, candidates in zip(systems, loaded.candidates, strict=True):
            steps.next(f"Scoring {name}")
            scores[name] = evaluator.evaluate(candidates).corpus
    return correlate_systems(scores, judged, level=level)
