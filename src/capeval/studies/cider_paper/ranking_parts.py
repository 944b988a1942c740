"""Rankings of references: Figures 5 and 6 and section 8 of the CIDEr paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval.data.scores import FloatArray
from capeval.datasets.published.cider import load_cider_ranks
from capeval.scoring.grids import Cell, Grid
from capeval.studies.cider_paper.compute import AbstractResults, PascalResults
from capeval.studies.cider_paper.published_parts import build_value
from capeval.studies.ranking import Ranking, rank_correlation
from capeval.studies.shared.coefficients import coefficients, none_if_undefined
from capeval.studies.shared.papers import PaperClaim, PaperPart

__all__ = ["compare_ranks", "report_rank_correlation", "report_ranks"]

_IMAGE = "2008_006488.jpg"
_REASONS = {
    "Figure 5": "Equal scores are ranked in the order of the file. BLEU-1 and ROUGE-1 give many sentences the"
    " same score or nearly the same.",
    "Figure 6": "The printed order of CIDEr-D-1 only results if words are compared by their stems, although"
    " section 8 defines CIDEr-D without stems.",
}


def report_ranks(results: PascalResults | None, name: str, metrics: dict[str, str]) -> PaperPart:
    """Compare the ranks of the sentences of the paper's image in Figure 5 or 6.

    Args:
        results: The results on PASCAL-50S.
        name: `Figure 5` or `Figure 6`.
        metrics: The computed metric for each printed one.
    """
    title = f"Ranks of 48 sentences of image {_IMAGE}"
    printed = load_cider_ranks(name)
    texts = {metric: f"{metric}: most of the 48 ranks are the printed ones" for metric in metrics}
    if results is None or _IMAGE not in results.ranking.references:
        reason = "" if results is None else f"The image {_IMAGE} is not in the data."
        unknown = tuple(PaperClaim(text=text) for text in texts.values())
        return PaperPart(name=name, title=title, claims=unknown, reason=reason)
    rows: list[tuple[Cell, ...]] = []
    claims: list[PaperClaim] = []
    for metric, computed in metrics.items():
        same, rho = compare_ranks(results.ranking, computed, printed[metric])
        rows.append((Cell(value=metric), Cell(value=computed), Cell(value=same), Cell(value=rho)))
        evidence = f"{same} of {len(printed[metric])} ranks are equal"
        is_met = same > len(printed[metric]) / 2
        claims.append(PaperClaim(text=texts[metric], evidence=evidence, is_met=is_met))
    columns = ("Printed as", "Computed as", "Equal ranks", "Spearman's rho")
    return PaperPart(
        name=name,
        title=title,
        claims=tuple(claims),
        reason=_REASONS[name],
        tables={name.lower().replace(" ", "-"): Grid(columns=columns, rows=tuple(rows))},
    )


def compare_ranks(ranking: Ranking, metric: str, printed: Sequence[int]) -> tuple[int, float | None]:
    """Return the number of equal ranks of the paper's image, and Spearman's rho, if it is defined.

    Args:
        ranking: The ranking of all images.
        metric: The metric.
        printed: The positions of the sentences in the order of their printed ranks, counted from 1.
    """
    scores = ranking.scores[metric][ranking.references.image_ids.index(_IMAGE)]
    order = np.argsort(-scores, kind="stable")
    places = np.array(printed) - 1
    ranks = np.empty(len(places))
    ranks[places] = np.arange(len(places))
    rho = none_if_undefined(_compute_rho, -scores, ranks)
    return int((order == places).sum()), rho


def _compute_rho(a: FloatArray, b: FloatArray) -> float:
    return coefficients(a, b)["Spearman"]


def report_rank_correlation(pascal: PascalResults | None, abstract: AbstractResults | None) -> PaperPart:
    """Compare section 8: the rank correlation of CIDEr and CIDEr-D over all references."""
    name, quantity = "Section 8", "CIDEr-2015 and CIDEr-D"
    found = {}
    if pascal is not None:
        scores = pascal.ranking.scores
        found["PASCAL-50S"] = rank_correlation(scores["CIDEr-2015"], scores["CIDEr-D"])
    if abstract is not None and abstract.correlation is not None:
        found["ABSTRACT-50S"] = abstract.correlation
    columns = ("Dataset", "Rho, all references", "Rho, mean over images")
    rows = tuple(
        (Cell(value=dataset), Cell(value=rho.all_references), Cell(value=rho.mean))
        for dataset, rho in found.items()
    )
    first = next(iter(found.values()), None)
    return PaperPart(
        name=name,
        title="Spearman's rank correlation of CIDEr and CIDEr-D",
        values=(build_value(name, quantity, None if first is None else first.all_references),),
        reason="The paper does not state the dataset. The value is the one over all references of the first"
        " dataset in the table."
        if found
        else "",
        tables={"rank-correlation": Grid(columns=columns, rows=rows)} if rows else {},
    )
