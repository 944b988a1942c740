"""`capeval check`: is a file a valid submission?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import deliver, examples
from capeval.errors import FormatError

if TYPE_CHECKING:
    from capeval.types import Candidates, References

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "check"
EXAMPLES = examples(
    "capeval check results.json --references references.json",
    "capeval check results.json.gz",
)


def run(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="File of results.", show_default=False)],
    references: Annotated[
        Path | None,
        typer.Option(
            "--references", "-r", metavar="FILE", help="References of the same images.", show_default=False
        ),
    ] = None,
) -> None:
    """Checks whether a file of results is a valid submission.

    It must be well formed and, with --references, have one caption for each of their images. Each
    problem is one line on standard error, and the exit code is 2.
    """
    from capeval.formats import load_candidates, load_references

    expected = load_references(references) if references is not None else None
    try:
        candidates = load_candidates(results)
    except FormatError as error:
        _refuse([str(error)])
    problems = _problems(candidates, expected) if expected is not None else []
    if problems:
        _refuse([f"{results}: {problem}" for problem in problems])
    deliver(f"{results} is valid: {len(candidates):,} captions{_wordless(candidates)}\n", None)


def _refuse(problems: list[str]) -> None:
    for problem in problems:
        print(f"capeval: error: {problem}", file=sys.stderr)
    raise typer.Exit(2)


def _problems(candidates: Candidates, references: References) -> list[str]:
    import numpy as np

    from capeval.tokenization import first_few, unknown_images

    problems = []
    unknown = np.flatnonzero(candidates.native.positions_in(references.native) < 0)
    if unknown.size:
        problems.append(unknown_images(candidates, references, unknown.tolist()))
    missing = np.flatnonzero(references.native.positions_in(candidates.native) < 0)
    if missing.size:
        named = [references.image_ids[position] for position in missing.tolist()]
        problems.append(f"{first_few(named)} among the references but without a candidate")
    return problems


def _wordless(candidates: Candidates) -> str:
    from capeval.tokenization import first_few, tokenize

    tokens = tokenize([caption for caption, *_ in candidates.values()])
    wordless = [image for image, words in zip(candidates, tokens, strict=True) if not words]
    return f"; {first_few(wordless)} given a caption without words, which is allowed" if wordless else ""
