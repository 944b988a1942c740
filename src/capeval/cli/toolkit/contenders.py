"""`--metrics` of studies that compare metrics, by default those of the CIDEr paper."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Option

if TYPE_CHECKING:
    from capeval.studies.shared.words import ComparedMetric

__all__ = ["PaperMetrics", "select_contenders"]

PaperMetrics = Annotated[
    Sequence[str] | None,
    Option(
        "--metrics",
        "-m",
        metavar="NAME,...",
        help="Metrics, comma-separated or repeated, also with options, as in CIDEr-D(stem=true).",
        show_default="metrics of the CIDEr paper",
    ),
]


def select_contenders(
    values: Sequence[str] | None, default: Sequence[ComparedMetric] | None = None
) -> tuple[ComparedMetric, ...]:
    """Return the metrics in `--metrics` as contenders, with their resources prepared.

    Args:
        values: The values of the option.
        default: The contenders without values; by default those of the paper's accuracies.

    Raises:
        OptionError: A metric is unknown, has an invalid option, occurs twice, or reads untokenized captions.
        ResourceError: The source of a resource is missing or damaged.
    """
    from capeval.cli.toolkit.imported_metrics import find_metric
    from capeval.cli.toolkit.resource_setup import build_resources, prepare_metrics
    from capeval.metrics.options import split_metrics
    from capeval.metrics.registry import list_alias_notes
    from capeval.studies.shared.pair_scores import PAPER_CONTENDERS, list_contenders
    from capeval.studies.shared.words import validate_contenders

    # One by one, since a study can compare variants of a metric, with scores of the same name.
    if not values:
        contenders = tuple(PAPER_CONTENDERS if default is None else default)
        for contender in contenders:
            build_resources([contender.metric])
        return contenders
    names = [name.strip() for value in values for name in split_metrics(value)]
    contenders = list_contenders(
        [metric for name in names for metric in prepare_metrics([find_metric(name)])]
    )
    validate_contenders(contenders)
    for note in list_alias_notes(names):
        print(f"capeval: note: {note}", file=sys.stderr)
    return contenders
