"""Accuracies of metrics: Table 1, Figures 3, 11 and 12, and appendix I of the CIDEr paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from capeval.datasets.published.cider import load_cider_accuracy
from capeval.scoring.grids import Cell, Grid
from capeval.studies.cider_paper.compute import (
    COUNTS,
    PILOT_COUNTS,
    AbstractResults,
    Curves,
    PascalResults,
)
from capeval.studies.cider_paper.published_parts import (
    build_drawn_value,
    build_value,
    join_numbers,
)
from capeval.studies.cider_paper.version_figures import draw_versions
from capeval.studies.consensus import ConsensusStudy
from capeval.studies.consensus.figures import accuracy_curves
from capeval.studies.shared.accuracy import compute_accuracy_by_class
from capeval.studies.shared.papers import PaperClaim, PaperPart, PaperValue
from capeval.studies.shared.ties import TieRules, Ties

__all__ = ["list_curve_parts", "report_pairwise", "report_pilot", "report_table"]

_SHOWN = ("BLEU-1", "BLEU-4", "ROUGE-1", "ROUGE-L", "METEOR", "CIDEr-2015")
_TIES: tuple[Ties, ...] = ("wrong", "half", "first")
_VERSIONS = ("CIDEr-2015", "CIDEr-2015 max", "CIDEr-2015 exp", "CIDEr-2015 no idf")
_OTHER_TOOLS = (
    "The paper does not publish the code of its BLEU and ROUGE, nor how it treats ties and punctuation."
)


def report_table(pascal: ConsensusStudy | None, abstract: ConsensusStudy | None) -> PaperPart:
    """Compare Table 1."""
    values, claims = [], []
    for dataset, study in (("PASCAL-50S", pascal), ("ABSTRACT-50S", abstract)):
        published = load_cider_accuracy(dataset)
        for metric, classes in published.items():
            for kind, number in classes.items():
                computed = None if study is None else 100 * study.accuracy["consensus"][metric][kind].value
                name = f"{metric}, {dataset}, {kind}"
                values.append(PaperValue(name=name, published=number, computed=computed))
        claims += [_claim_best(dataset, study, kind) for kind in next(iter(published.values()))]
    reason = (
        f"{_OTHER_TOOLS} With ties counted as wrong, the differences are at most"
        f" {_find_largest(values):.1f} points."
    )
    return PaperPart(
        name="Table 1",
        title="Accuracy by class of pairs, 48 references (%)",
        values=tuple(values),
        claims=tuple(claim for claim in claims if claim is not None),
        reason=reason if pascal or abstract else "",
        tables={} if pascal is None else {"table-1-ties": _build_tie_rules(pascal)},
    )


def _build_tie_rules(study: ConsensusStudy) -> Grid:
    """Return the accuracies on PASCAL-50S by the rule for a metric's ties."""
    judged = study.judged
    rows: list[tuple[Cell, ...]] = []
    for metric in load_cider_accuracy("PASCAL-50S"):
        for ties in _TIES:
            found = compute_accuracy_by_class(
                judged.differences[metric], judged.truth, judged.kinds, TieRules(ties=ties)
            )
            numbers = (Cell(value=100 * each.value, digits=1) for each in found.values())
            rows.append((Cell(value=metric), Cell(value=ties), *numbers))
    kinds = next(iter(study.accuracy["consensus"].values()))
    classes = ("All pairs" if kind == "all" else kind for kind in kinds)
    return Grid(columns=("Metric on PASCAL-50S", "Ties count as", *classes), rows=tuple(rows))


def _claim_best(dataset: str, study: ConsensusStudy | None, kind: str) -> PaperClaim | None:
    """Return the claim on the best metric of a class."""
    published = load_cider_accuracy(dataset)
    best = max(published, key=lambda metric: published[metric][kind])
    text = f"{dataset}, {kind}: {best} is the best of the four metrics"
    if study is None:
        return PaperClaim(text=text)
    found = {metric: 100 * study.accuracy["consensus"][metric][kind].value for metric in published}
    return PaperClaim(
        text=text, evidence=join_numbers(found), is_met=max(found, key=found.__getitem__) == best
    )


def _find_largest(values: Sequence[PaperValue]) -> float:
    return max(
        (abs(each.computed - each.published) for each in values if each.computed is not None), default=0
    )


def report_pilot(results: PascalResults | None) -> PaperPart:
    """Compare Figure 3a, the pilot study."""
    name, title = "Figure 3a", "Pilot study: accuracy with up to 100 references"
    if results is None:
        quantities = ("Pairs", "ROUGE-1, 1 reference", "ROUGE-1, 5 references")
        return PaperPart(name=name, title=title, values=tuple(build_value(name, q, None) for q in quantities))
    rouge = dict(zip(PILOT_COUNTS, results.pilot["all"]["ROUGE-1"], strict=True))
    means = {
        metric: [point.mean for point in of_metric] for metric, of_metric in results.pilot["all"].items()
    }
    bleu = means["BLEU-1"]
    peak = int(np.argmax(bleu))
    ends = {metric: f"{numbers[0]:.3f} to {numbers[-1]:.3f}" for metric, numbers in means.items()}
    claims = (
        PaperClaim(
            text="ROUGE-1 and CIDEr-1 improve with more references",
            evidence=f"ROUGE-1 {ends['ROUGE-1']}, CIDEr-1 {ends['CIDEr-2015-1']}",
            is_met=all(means[metric][-1] > means[metric][0] for metric in ("ROUGE-1", "CIDEr-2015-1")),
        ),
        PaperClaim(
            text="BLEU-1 gets worse with many references",
            evidence=f"{bleu[peak]:.3f} with {PILOT_COUNTS[peak]}, {bleu[-1]:.3f} with {PILOT_COUNTS[-1]}",
            is_met=bleu[-1] < bleu[peak],
        ),
    )
    return PaperPart(
        name=name,
        title=title,
        values=(
            build_value(name, "Pairs", results.pilot_pairs),
            build_drawn_value(name, "ROUGE-1, 1 reference", rouge[1]),
            build_drawn_value(name, "ROUGE-1, 5 references", rouge[5]),
        ),
        claims=claims,
        reason="The references are drawn at random; the tolerance is the distance of the farthest draw.",
        tables={"figure-3a": _build_curve_grid(results.pilot, PILOT_COUNTS)},
        figures={"figure-3a": partial(accuracy_curves, {"all": results.pilot["all"]}, PILOT_COUNTS)},
    )


def list_curve_parts(
    pascal: PascalResults | None, abstract: AbstractResults | None
) -> tuple[PaperPart, PaperPart, PaperPart, PaperPart]:
    """Compare Figures 3b, 3c, 11 and 12: accuracy by number of references."""
    of_pascal = None if pascal is None else pascal.curves
    of_abstract = None if abstract is None else abstract.curves
    few = ("BLEU-1, 5 references", "ROUGE-1, 5 references")
    return (
        _report_curve("Figure 3b", "PASCAL-50S", of_pascal, few, better="METEOR"),
        _report_curve("Figure 3c", "ABSTRACT-50S", of_abstract, (), better="CIDEr-2015"),
        _report_versions("Figure 11", "PASCAL-50S", of_pascal),
        _report_versions("Figure 12", "ABSTRACT-50S", of_abstract),
    )


def _report_curve(
    name: str, dataset: str, curves: Curves | None, few: Sequence[str], *, better: str
) -> PaperPart:
    title = f"Accuracy by number of references on {dataset} (%)"
    best = "CIDEr-2015, 48 references"
    texts = (
        "With 48 references, CIDEr is best, followed by METEOR",
        f"With 5 references, {better} is better than {'CIDEr' if better == 'METEOR' else 'METEOR'}",
    )
    if curves is None:
        values = tuple(build_value(name, quantity, None) for quantity in (best, *few))
        return PaperPart(
            name=name, title=title, values=values, claims=tuple(PaperClaim(text=text) for text in texts)
        )
    five = {metric: points[COUNTS.index(5)] for metric, points in curves["all"].items()}
    last = {metric: 100 * curves["all"][metric][-1].mean for metric in _SHOWN}
    ranked = sorted(last, key=last.__getitem__, reverse=True)
    means = {metric: 100 * five[metric].mean for metric in ("CIDEr-2015", "METEOR")}
    drawn = (build_drawn_value(name, each, five[each.partition(",")[0]], scale=100) for each in few)
    claims = (
        PaperClaim(text=texts[0], evidence=join_numbers(last), is_met=ranked[:2] == ["CIDEr-2015", "METEOR"]),
        PaperClaim(
            text=texts[1],
            evidence=join_numbers(means),
            is_met=max(means, key=means.__getitem__) == better,
        ),
    )
    shown = {"all": {metric: curves["all"][metric] for metric in _SHOWN}}
    key = name.lower().replace(" ", "-")
    return PaperPart(
        name=name,
        title=title,
        values=(build_value(name, best, last["CIDEr-2015"]), *drawn),
        claims=claims,
        reason="A tie of a metric counts as wrong; Table 1 shows the effect of other rules. With fewer than"
        " 48, references are drawn at random; the tolerance is the distance of the farthest draw.",
        tables={key: _build_curve_grid(shown, COUNTS)},
        figures={key: partial(accuracy_curves, shown, COUNTS)},
    )


def _report_versions(name: str, dataset: str, curves: Curves | None) -> PaperPart:
    title = f"All versions of metrics on {dataset} (%)"
    texts = (
        "Without IDF weights, CIDEr is worse",
        "The maximum and the exponential combination are slightly worse than CIDEr",
    )
    if curves is None:
        return PaperPart(name=name, title=title, claims=tuple(PaperClaim(text=text) for text in texts))
    last = {metric: 100 * points[-1].mean for metric, points in curves["all"].items()}
    cider, largest, exponential, uniform = (last[version] for version in _VERSIONS)
    claims = (
        PaperClaim(
            text=texts[0],
            evidence=join_numbers({"CIDEr": cider, "without IDF": uniform}),
            is_met=uniform < cider,
        ),
        PaperClaim(
            text=texts[1],
            evidence=join_numbers({"CIDEr": cider, "max": largest, "exp": exponential}),
            is_met=max(largest, exponential) < cider,
        ),
    )
    key = name.lower().replace(" ", "-")
    return PaperPart(
        name=name,
        title=title,
        claims=claims,
        reason="The figure has no printed numbers. Differences below one point are within the intervals.",
        tables={key: _build_curve_grid(curves, COUNTS)},
        figures={key: partial(draw_versions, curves, COUNTS)},
    )


def _build_curve_grid(curves: Curves, counts: Sequence[int]) -> Grid:
    """Return the accuracies on all pairs, one row per metric."""
    rows = tuple(
        (Cell(value=metric), *(Cell(value=100 * point.mean, digits=1) for point in points))
        for metric, points in curves["all"].items()
    )
    return Grid(columns=("Metric", *(f"{count} reference{'s' * (count > 1)}" for count in counts)), rows=rows)


def report_pairwise(results: PascalResults | None) -> PaperPart:
    """Compare appendix I: metrics with five references against pairwise judgments."""
    name = "Appendix I"
    metrics = ("ROUGE-L", "BLEU-4", "ROUGE-1", "BLEU-1", "METEOR")
    title = "Accuracy on pairwise judgments, 5 references (%)"
    if results is None:
        return PaperPart(
            name=name, title=title, values=tuple(build_value(name, metric, None) for metric in metrics)
        )
    points = results.five["all"]
    return PaperPart(
        name=name,
        title=title,
        values=tuple(build_drawn_value(name, metric, points[metric][0], scale=100) for metric in metrics),
        reason="Five of the 48 references are drawn at random; the tolerance is the distance of the farthest"
        f" draw. A tie of a metric counts as wrong, and metrics compare words. {_OTHER_TOOLS}",
    )
