"""`capeval study ranking`: references ranked by metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.contenders import PaperMetrics
from capeval.cli.toolkit.options import ReferencesFile
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import Folder, write_study_report

if TYPE_CHECKING:
    from capeval.data.captions import ImageId, References

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 60
EXAMPLES = examples(
    "capeval study ranking references.json",
    'capeval study ranking references.json --metrics "CIDEr-D,CIDEr-D(stem=true),METEOR"',
    "capeval study ranking data/abstract50s/abstract48S.json.gz --image US_41_2.png --output study",
)


def run(
    references: ReferencesFile,
    image: Annotated[
        str | None, Option(help="Image of the table of ranked references.", show_default="the first")
    ] = None,
    top: Annotated[int, Option(min=1, help="Number of references in that table.")] = 10,
    metrics: PaperMetrics = None,
    output: Folder = None,
) -> None:
    """Rank each reference against the others of its image (CIDEr paper, section 8).

    The tables show the rank correlation of metrics (mean of Spearman's rho over images), and the ranked
    references of one image. With --metrics, all metrics are correlated with the first.
    """
    from capeval.cli.toolkit.contenders import select_contenders
    from capeval.cli.toolkit.inputs import references_from
    from capeval.studies.ranking import (
        BATCH,
        PAPER_RANKERS,
        first_correlations,
        paper_correlations,
        rank_references,
    )
    from capeval.studies.ranking.report import report

    captions = references_from(references)
    shown = _find_image(captions, image)
    contenders = select_contenders(metrics, PAPER_RANKERS)
    with Steps(1 + int(captions.counts.sum()) // BATCH) as steps:
        steps.next("Tokenizing")
        ranking = rank_references(captions, contenders, progress=steps.next)
    correlations = first_correlations(ranking) if metrics else paper_correlations(ranking)
    write_study_report(report(ranking, correlations, shown, top), output)


def _find_image(references: References, wanted: str | None) -> ImageId:
    from capeval.errors import MismatchError

    if wanted is None:
        return references.image_ids[0]
    for image in references.image_ids:
        if str(image) == wanted:
            return image
    raise MismatchError(f"image {wanted!r} is not among the {len(references):,} images with references")
