"""`capeval check`: is a file a valid submission?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.commands import Argument, Option
from capeval.cli.console import deliver, examples
from capeval.errors import FormatError

if TYPE_CHECKING:
    from capeval.types import Candidates

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval check results.json --references references.json",
    "capeval check results.json.gz",
)


def run(
    results: Annotated[Path, Argument(metavar="RESULTS", help="File of results.", show_default=False)],
    references: Annotated[
        Path | None,
        Option(
            "--references", "-r", metavar="FILE", help="References of the same images.", show_default=False
        ),
    ] = None,
) -> None:
    """Checks whether a file of results is a valid submission.

    A valid file is well formed and, with --references, has one caption for each of their images. For an
    invalid file, each problem is one line on standard error, and the exit code is 2.
    """
    from capeval.cli import scoring
    from capeval.evaluation import problems
    from capeval.formats import load_candidates

    expected = scoring.load_references_to_score(references) if references is not None else None
    try:
        candidates = (
            load_candidates(results)
            if expected is None
            else scoring.load_candidates_to_score(results, expected)
        )
    except FormatError as error:
        _refuse([str(error)])
    if expected is not None and (messages := problems(expected, candidates)):
        _refuse([f"{results}: {message}" for message in messages])
    deliver(f"{results} is valid: {len(candidates):,} captions{_wordless(candidates)}\n", None)


def _refuse(messages: list[str]) -> None:
    for message in messages:
        print(f"capeval: error: {message}", file=sys.stderr)
    sys.exit(2)


def _wordless(candidates: Candidates) -> str:
    from capeval.messages import first_few
    from capeval.tokenization import tokenize

    tokens = tokenize([caption for caption, *_ in candidates.values()])
    wordless = [image for image, words in zip(candidates, tokens, strict=True) if not words]
    return f"; {first_few(wordless)} given a caption without words, which is allowed" if wordless else ""
