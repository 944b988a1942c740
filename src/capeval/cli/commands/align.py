"""The `capeval align` command."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from capeval.cli.toolkit.click_commands import Argument
from capeval.cli.toolkit.options import FormatOption
from capeval.cli.toolkit.output import deliver, examples, render

if TYPE_CHECKING:
    from capeval.metrics.meteor import Alignment, Match
    from capeval.report import Grid

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    'capeval align "A man rides his bike." "A man riding his bicycle."',
    'capeval align "two dogs" "a pair of dogs" --format json',
)


def run(
    candidate: Annotated[str, Argument(help="Candidate caption.")],
    reference: Annotated[str, Argument(help="Reference caption.")],
    form: FormatOption = "table",
) -> None:
    """Show METEOR's alignment of two captions: matches, stages, chunks and score."""
    from capeval.cli.toolkit.resource_setup import build_resources
    from capeval.metrics.meteor import align

    build_resources(["METEOR"])
    aligned = align(candidate, reference)
    if form == "json":
        deliver(json.dumps(_to_dict(aligned), indent=2, ensure_ascii=False) + "\n", None)
        return
    render(_create_table(aligned), form, None)
    if form == "table":
        deliver(_format_summary(aligned), None)


def _create_table(aligned: Alignment) -> Grid:
    from capeval.report import Cell, Grid

    columns = ("Chunk", "Candidate", "Reference", "Stage", "Weight")
    rows = [
        (
            match.chunk,
            " ".join(aligned.candidate[i] for i in match.candidate),
            " ".join(aligned.reference[i] for i in match.reference),
            match.stage,
            match.weight,
        )
        for match in aligned.matches
    ]
    return Grid(columns=columns, rows=tuple(tuple(Cell(value=value) for value in row) for row in rows))


def _format_summary(aligned: Alignment) -> str:
    only_candidate = _list_unmatched(aligned.candidate, [match.candidate for match in aligned.matches])
    only_reference = _list_unmatched(aligned.reference, [match.reference for match in aligned.matches])
    lines = [
        f"only in the candidate: {only_candidate or '-'}",
        f"only in the reference: {only_reference or '-'}",
        f"chunks {aligned.chunks}, precision {aligned.precision:.3f}, recall {aligned.recall:.3f}, "
        f"F mean {aligned.f_mean:.3f}, penalty {aligned.penalty:.3f}",
        f"METEOR {aligned.score:.4f}",
    ]
    return "\n" + "".join(f"{line}\n" for line in lines)


def _list_unmatched(words: tuple[str, ...], matched: list[range]) -> str:
    positions = {position for match in matched for position in match}
    return " ".join(word for position, word in enumerate(words) if position not in positions)


def _to_dict(aligned: Alignment) -> dict[str, object]:
    def number(value: float) -> float | None:
        # JSON has no NaN; numbers that are undefined for an empty caption are null.
        return value if value == value else None

    def plain(match: Match) -> dict[str, object]:
        return {**asdict(match), "candidate": list(match.candidate), "reference": list(match.reference)}

    parts = {name: number(getattr(aligned, name)) for name in ("precision", "recall", "f_mean", "penalty")}
    return {
        "candidate": aligned.candidate,
        "reference": aligned.reference,
        "matches": [plain(match) for match in aligned.matches],
        "chunks": aligned.chunks,
        **parts,
        "score": aligned.score,
    }
