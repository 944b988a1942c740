"""Tables of single pairs and of paired tests, and the page of disagreements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.captions import ImageId
from capeval.report.captions_page import render_captions_page
from capeval.scoring.comparisons import format_exact_p_value
from capeval.scoring.grids import Cell, Grid
from capeval.studies.consensus.accuracy_tests import AccuracyTest
from capeval.studies.consensus.judged_pairs import JudgedPairs
from capeval.studies.shared.ties import TieRules

__all__ = ["build_pair_table", "build_test_table", "render_pairs"]

_WINNERS = {1: "first", -1: "second", 0: "tie"}


def build_test_table(tests: Sequence[AccuracyTest], rules: TieRules) -> Grid:
    """Return the paired tests of metrics' accuracies."""
    rows = tuple(
        (
            Cell(value=test.first),
            Cell(value=test.second),
            Cell(value=100 * test.difference, digits=1),
            Cell(value=test.first_better),
            Cell(value=test.second_better),
            *(
                Cell(value=each, digits=4, text=format_exact_p_value(each))
                for each in (test.p_value, test.corrected_p_value)
            ),
        )
        for test in tests
    )
    columns = ("A", "B", "A - B (points)", "A better", "B better", "p-value", "p-value (Holm)")
    notes = (
        "A better: the number of pairs on which A is correct and B is not.",
        "p-value: exact sign test of these two numbers (McNemar's exact test)."
        f" Corrected for {len(tests)} comparisons (Holm).",
        *rules.notes,
    )
    return Grid(columns=columns, rows=rows, notes=notes)


def build_pair_table(judged: JudgedPairs, rules: TieRules) -> Grid:
    """Return one row per pair: winners and votes of people, and each metric's scores and correctness.

    Correctness is 1 or 0, or a half for ties with this rule; it is empty for excluded pairs.
    """
    columns = ["Pair", "Image", "Class", "First", "Second", "First by", "Second by"]
    for judgment in judged.winners:
        columns += [f"Winner ({judgment})", f"Votes for first ({judgment})", f"Votes for second ({judgment})"]
    for metric in judged.scores:
        columns += [f"{metric} first", f"{metric} second", f"{metric} correct"]
    correct = {name: rules.credits(each, judged.truth) for name, each in judged.differences.items()}
    rows = []
    for place, pair in enumerate(judged.pairs):
        row: list[Cell] = [Cell(value=place), Cell(value=pair.image), Cell(value=pair.kind)]
        row += [Cell(value=text) for text in (pair.first, pair.second, pair.first_by, pair.second_by)]
        for judgment, winners in judged.winners.items():
            votes = judged.votes[judgment][place]
            row.append(Cell(value=_WINNERS[int(winners[place])]))
            row += [Cell(value=votes.count(choice)) for choice in (1, -1)]
        for metric, scores in judged.scores.items():
            row += [Cell(value=float(score)) for score in scores[place]]
            credit = float(correct[metric][place])
            row.append(Cell(value=None if np.isnan(credit) else credit))
        rows.append(tuple(row))
    return Grid(columns=tuple(columns), rows=tuple(rows))


def render_pairs(judged: JudgedPairs, *, title: str) -> str:
    """Return a page to browse the pairs on which a metric disagrees with people.

    It shows the candidate that people prefer next to the other one. Pairs with the largest disagreement by
    the first metric come first; readers can choose another metric, and filter by class.

    Args:
        judged: The pairs. Pairs without a human winner are excluded.
        title: The title of the page.

    Raises:
        DependencyError: jinja2 is not installed.
    """
    try:
        from capeval.report.browser import ImageDetails, SystemCaptions
    except ImportError as error:
        raise make_missing_package_error("HTML pages need", error, "report") from None
    truth = np.sign(judged.truth)
    wrong = [np.sign(each) != truth for each in judged.differences.values()]
    rows = np.flatnonzero(np.any(wrong, axis=0) & (truth != 0)).tolist()
    names = tuple(judged.scores)
    scores = np.stack([judged.scores[name] for name in names], axis=-1)
    candidates = []
    for name, wanted in (("Preferred by people", 1), ("Other candidate", -1)):
        sides = [0 if truth[row] == wanted else 1 for row in rows]
        texts = [(judged.pairs[row].first, judged.pairs[row].second) for row in rows]
        captions = [both[side] for both, side in zip(texts, sides, strict=True)]
        candidates.append(SystemCaptions(name=name, captions=captions, values=scores[rows, sides]))
    ids: list[ImageId] = [f"{judged.pairs[row].image} (pair {row})" for row in rows]
    return render_captions_page(
        ids,
        names,
        candidates,
        [list(judged.pairs[row].references) for row in rows],
        title=title,
        details=ImageDetails(domains=dict(zip(ids, _list_groups(judged, rows), strict=True))),
    )


def _list_groups(judged: JudgedPairs, rows: Sequence[int]) -> list[str]:
    """Return the class of each pair, with a remark if the other kind of judgment has another winner."""
    groups = [judged.pairs[row].kind or "no class" for row in rows]
    for name, winners in list(judged.winners.items())[1:]:
        groups = [
            group if winners[row] == judged.truth[row] else f"{group}, different winner ({name})"
            for group, row in zip(groups, rows, strict=True)
        ]
    return groups
