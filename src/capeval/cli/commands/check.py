"""The `capeval check` command."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import BenchmarkName, InputOptions
from capeval.cli.toolkit.output import adapt_message, deliver, examples
from capeval.errors import CapevalWarning, FormatError, OptionError

if TYPE_CHECKING:
    from capeval.data.captions import Candidates, References
    from capeval.formats.io.sources import File
    from capeval.scoring.matching import Matching

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
        matched = _describe_matching(matching)
    _warn_about_equal_names(candidates)
    described = f"{_describe_wordless(candidates)}{_describe_line_ends(expected, candidates)}"
    notes = f"{matched}{described}{_describe_format(file)}"
    deliver(f"{place(results)} is valid: {len(candidates):,} captions{notes}\n", None)


def _check_challenge(results: Path, challenge: Path, phase: str | None) -> None:
    """Check results as a submission to a challenge."""
    from capeval.cli.toolkit.submission_format import check_submission, load_format

    lines = check_submission(load_format(challenge), phase, results)
    deliver("".join(f"{line}\n" for line in lines), None)


def _fail(messages: list[str]) -> NoReturn:
    for message in messages:
        print(f"capeval: error: {adapt_message(message)}", file=sys.stderr)
    sys.exit(2)


def _describe_matching(matching: Matching) -> str:
    from capeval.scoring.matching import show_ids

    notes = []
    if matching.without_results:
        with_result = matching.references - matching.without_results
        have = "has" if with_result == 1 else "have"
        notes.append(f"; {with_result:,} of {matching.references:,} images {have} a result")
    if matching.without_references:
        results = (
            "1 result has"
            if matching.without_references == 1
            else f"{matching.without_references:,} results have"
        )
        notes.append(f"; {results} no references")
    if matching.example is not None:
        result, reference = show_ids(*matching.example)
        notes.append(f"; image ids are matched by a rule ({matching.rule}): {result} is {reference}")
    return "".join(notes)


def _warn_about_equal_names(candidates: Candidates) -> None:
    from capeval.scoring.matching import find_equal_names, show_ids

    names = find_equal_names(candidates.image_ids)
    if names is not None:
        first, second = show_ids(*names)
        warnings.warn(
            f"image ids {first} and {second} differ only in their Unicode form", CapevalWarning, stacklevel=2
        )


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
