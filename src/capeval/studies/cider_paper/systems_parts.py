"""Systems, people and ratings: Figure 4 and sections 5, 7.2 and 7.4 of the CIDEr paper."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from capeval.scoring.grids import Cell, Grid
from capeval.studies.cider_paper.compute import AbstractResults, PascalResults
from capeval.studies.cider_paper.crossed_wins import CrossedWins
from capeval.studies.cider_paper.published_parts import build_drawn_value, build_value, join_numbers
from capeval.studies.consensus import pearson
from capeval.studies.consensus.figures import win_bars
from capeval.studies.consensus.system_wins import SystemWins
from capeval.studies.shared.papers import PaperClaim, PaperPart
from capeval.studies.shared.system_intervals import build_interval_cell, compute_system_interval

__all__ = ["report_flickr8k", "report_humans", "report_sentences", "report_wins"]

# The systems by their numbers in the file: Figure 10 prints their outputs for image 2008_001461.jpg.
_NAMES = {"1": "Midge", "2": "Babytalk", "3": "Story", "4": "Video", "5": "Video+"}
_CLAIMS = (
    "People: Midge has the best consensus, then Babytalk; Story is the lowest",
    "CIDEr: Midge has the best consensus, then Babytalk; Story is the lowest",
    "People and CIDEr differ on the ranking of the two video approaches",
)


def report_sentences(pascal: PascalResults | None, abstract: AbstractResults | None) -> PaperPart:
    """Compare section 5: the length of the sentences."""
    words = {
        "PASCAL-50S": None if pascal is None else pascal.words,
        "ABSTRACT-50S": None if abstract is None else abstract.words,
    }
    values = tuple(
        build_value("Section 5", f"{dataset}, words per sentence", number)
        for dataset, number in words.items()
    )
    return PaperPart(name="Section 5", title="Length of the sentences", values=values)


def report_wins(results: PascalResults | None) -> PaperPart:
    """Compare Figure 4: the fraction of wins of five systems."""
    name, title = "Figure 4", "Fraction of wins of five systems, by people and by CIDEr"
    quantity = "Pearson's correlation"
    if results is None:
        claims = tuple(PaperClaim(text=text) for text in _CLAIMS)
        return PaperPart(name=name, title=title, values=(build_value(name, quantity, None),), claims=claims)
    designs = _list_designs(results)
    people = results.study.balanced_wins["consensus"].fractions
    crossed = designs["crossed"]
    drawn = [pearson(each, people) for each in results.crossed.draws]
    reach = max(abs(each - pearson(crossed, people)) for each in drawn)
    shown = {
        "people": SystemWins(fractions=_rename(people), correlation=None),
        "CIDEr-2015": SystemWins(fractions=_rename(crossed), correlation=None),
    }
    return PaperPart(
        name=name,
        title=title,
        values=(build_value(name, quantity, pearson(crossed, people), tolerance=max(reach, 0.005)),),
        claims=_claim_order(_rename(people), _rename(crossed)) if set(people) == set(_NAMES) else (),
        reason=_describe_crossing(results.crossed),
        tables={"figure-4": _build_wins(designs, results)},
        figures={"figure-4": partial(win_bars, shown)},
    )


def _describe_crossing(crossed: CrossedWins) -> str:
    return (
        f"{crossed.images} images have outputs of all systems. As in the paper, {crossed.drawn} of them are"
        f" drawn, and all systems meet on each with {crossed.references} references. People's votes in this"
        " design are not published, so the fractions by people are those on the pairs of PASCAL-50S, with"
        " equal weights of all opponents. The tolerance is the distance of the farthest draw. A correlation"
        " of five systems has a wide interval. The file numbers the systems; the outputs in Figure 10"
        " identify them."
    )


def _rename(fractions: Mapping[str, float]) -> dict[str, float]:
    """Return fractions of wins by the names of the systems."""
    return {_NAMES.get(system, f"System {system}"): fraction for system, fraction in fractions.items()}


def _list_designs(results: PascalResults) -> dict[str, Mapping[str, float]]:
    """Return the fractions of wins by CIDEr-2015 in three designs."""
    return {
        "raw": results.study.wins["CIDEr-2015"].fractions,
        "balanced": results.study.balanced_wins["CIDEr-2015"].fractions,
        "crossed": results.crossed.means,
    }


def _build_wins(designs: Mapping[str, Mapping[str, float]], results: PascalResults) -> Grid:
    """Return the fractions of wins by people and by CIDEr, with their correlations."""
    raw, balanced = (
        each["consensus"].fractions for each in (results.study.wins, results.study.balanced_wins)
    )
    rows = []
    for label, fractions, people in (
        ("People, raw", raw, None),
        ("People, balanced opponents", balanced, None),
        ("CIDEr-2015, raw", designs["raw"], raw),
        ("CIDEr-2015, balanced opponents", designs["balanced"], balanced),
        ("CIDEr-2015, all systems on the same images", designs["crossed"], balanced),
    ):
        cells = [Cell(value=label), *(Cell(value=fractions[system], digits=2) for system in raw)]
        if people is None:
            cells.append(Cell(value=None))
        else:
            found = compute_system_interval("Pearson", pearson(fractions, people), len(people))
            cells.append(build_interval_cell(found))
        rows.append(tuple(cells))
    columns = ("Chosen by", *_rename(raw), "Pearson with people")
    return Grid(columns=columns, rows=tuple(rows))


def _claim_order(people: Mapping[str, float], metric: Mapping[str, float]) -> tuple[PaperClaim, ...]:
    claims = []
    for text, fractions in zip(_CLAIMS, (people, metric), strict=False):
        ranked = sorted(fractions, key=fractions.__getitem__, reverse=True)
        is_met = [*ranked[:2], ranked[-1]] == ["Midge", "Babytalk", "Story"]
        evidence = join_numbers({name: fractions[name] for name in ranked}, 2)
        claims.append(PaperClaim(text=text, evidence=evidence, is_met=is_met))
    gaps = {label: each["Video"] - each["Video+"] for label, each in (("people", people), ("CIDEr", metric))}
    evidence = "Video minus Video+: " + join_numbers(gaps, 2)
    is_met = gaps["people"] * gaps["CIDEr"] < 0
    return (*claims, PaperClaim(text=_CLAIMS[2], evidence=evidence, is_met=is_met))


def report_flickr8k(rho: Mapping[str, float] | None) -> PaperPart:
    """Compare section 7.2: correlations with the expert ratings of Flickr8K."""
    values = tuple(
        build_value("Section 7.2", f"{metric}, Flickr8K", None if rho is None else rho[metric])
        for metric in ("CIDEr-2015", "METEOR")
    )
    return PaperPart(
        name="Section 7.2",
        title="Spearman's rho with expert ratings of Flickr8K",
        values=values,
        reason="The paper quotes METEOR's correlation from an earlier study (its reference 12)."
        if rho is not None
        else "",
    )


def report_humans(abstract: AbstractResults | None) -> PaperPart:
    """Compare section 7.4: people and CIDEr at predicting the consensus of 24 references."""
    name = "Section 7.4"
    values = [build_value(name, f"{who}, PASCAL-50S", None) for who in ("Humans", "CIDEr-2015")]
    for who in ("Humans", "CIDEr-2015"):
        quantity = f"{who}, ABSTRACT-50S"
        if abstract is None:
            values.append(build_value(name, quantity, None))
        else:
            values.append(build_drawn_value(name, quantity, abstract.study.human[who], scale=100))
    reason = "We do not have the single votes of PASCAL-50S (consensus_pascal.mat)."
    if abstract is not None:
        reason += " The halves of the references are drawn at random; the tolerance is the distance of the"
        reason += " farthest draw."
    return PaperPart(
        name=name,
        title="People and CIDEr at predicting the consensus, 24 references (%)",
        values=tuple(values),
        reason=reason,
    )
