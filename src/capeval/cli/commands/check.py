"""The `capeval check` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import BenchmarkName, InputOptions
from capeval.cli.toolkit.output import adapt_message, deliver, examples
from capeval.errors import FormatError, OptionError

if TYPE_CHECKING:
    from capeval.data.captions import Candidates, References
    from capeval.formats.io.sources import File

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval check results.json --references references.json",
    "capeval check results.json -t coco-karpathy-test",
    "capeval check results.json.gz",
    "capeval check results.zip --challenge challenge.json",
)


def run(
    results: Annotated[Path, Argument(help="Result file (- for standard input).")],
    references: Annotated[
        Path | None,
        Option("--references", "-r", help="Also check against the images of this reference file."),
    ] = None,
    *,
    columns: InputOptions,
    benchmark: BenchmarkName = None,
    challenge: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Check as a submission to a challenge, by its downloaded challenge.json."
        ),
    ] = None,
    phase: Annotated[
        str | None, Option(metavar="NAME", help="Phase of the challenge; by default, the one that fits.")
    ] = None,
) -> None:
    """Check whether a result file is a valid submission.

    A valid file is well formed and, with --references or --benchmark, contains one caption per image. With
    --challenge, the file or zip has the file names and the images of a phase. For an invalid file, each
    problem is printed in one line on standard error, and the exit code is 2.
    """
    if phase is not None and challenge is None:
        raise OptionError("--phase requires --challenge")
    if challenge is not None:
        if references is not None or benchmark is not None:
            raise OptionError("--challenge can't be combined with --references or --benchmark")
        _check_challenge(results, challenge, phase)
        return
    from capeval.cli.toolkit.inputs import open_input, place
    from capeval.cli.toolkit.scoring import create_reader, matching_options
    from capeval.scoring.matching import list_problems, match_captions

    if references is not None and benchmark is not None:
        raise OptionError("--references and --benchmark can't be combined")
    reading = create_reader(columns, benchmark)
    reading.check(references, [results])
    has_references = references is not None or benchmark is not None
    expected = reading.references(references) if has_references else None
    try:
        file, name = open_input(results)
        candidates = reading.candidates_in(file, name, expected)
    except FormatError as error:
        _fail([str(error)])
    matched = ""
    if expected is not None:
        options = matching_options(references, columns)
        if problems := list_problems(expected, candidates, **options):
            _fail([f"{place(results)}: {problem}" for problem in problems])
        _, _, matching = match_captions(expected, candidates, **options)
        matched = "".join(f"; {note.removesuffix('.')}" for note in matching.notes)
    described = f"{_describe_wordless(candidates)}{_describe_line_ends(expected, candidates)}"
    notes = f"{matched}{described}{_describe_format(file)}"
    deliver(f"{place(results)} is valid: {len(candidates):,} captions{notes}\n", None)


def _check_challenge(results: Path, challenge: Path, phase: str | None) -> None:
    """Check results as a submission to a challenge."""
    from capeval.cli.toolkit.submission_format import check_submission, load_format, read_results

    lines = check_submission(load_format(challenge), phase, read_results(results))
    deliver("".join(f"{line}\n" for line in lines), None)


def _fail(messages: list[str]) -> NoReturn:
    for message in messages:
        print(f"capeval: error: {adapt_message(message)}", file=sys.stderr)
    sys.exit(2)


def _describe_format(file: File) -> str:
    from capeval.formats import load_candidates

    try:
        load_candidates(file, strict=True)
    except FormatError:
        return "; evaluation servers accept only JSON, as COCO results or captions by image id"
    return ""


def _describe_wordless(candidates: Candidates) -> str:
    from capeval.errors.messages import format_images
    from capeval.tokenizers import tokenize

    tokens = tokenize([caption for caption, *_ in candidates.values()])
    wordless = [image for image, words in zip(candidates, tokens, strict=True) if not words]
    return f"; {format_images(wordless)} captioned without words, which is allowed" if wordless else ""


def _describe_line_ends(references: References | None, candidates: Candidates) -> str:
    from capeval.scoring.replay import find_line_ends

    found = find_line_ends(references, candidates)
    if found.example is None:
        return ""
    return f"; {found.description}, after which pycocoevalcap 1.2 gives captions the tokens of other captions"
