"""The `capeval verify` command."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    BenchmarkName,
    FrequencyOptions,
    InputOptions,
    Output,
    TokenizerSpec,
    create_tokenizer,
)
from capeval.cli.toolkit.output import (
    Steps,
    adapt_message,
    check_outputs,
    deliver,
    examples,
    name_systems,
)
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_names

if TYPE_CHECKING:
    from capeval.metrics import Metric
    from capeval.report import Grid
    from capeval.scoring.saved_reports import SavedReport
    from capeval.scoring.verification import Verification, VerifiedScore
    from capeval.tokenizers import Tokenizer

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval verify report.json --references references.json --results results.json",
    "capeval verify scores.json -r references.json --results a.json --results b.json",
    "capeval verify report.json -r references.json --results results.json --subset domains.json",
    "capeval verify report.json -r references.json --results results.json --format json",
    "capeval verify report.json -t coco-karpathy-test --results results.json",
)

_DIGITS, _MOST_DIGITS = 3, 17
# Kinds of compared scores, as counted in the verdict.
_SCORE, _SUBSET_SCORE, _INTERVAL, _SUBSET_INTERVAL, _IMAGE = (
    ("score", "scores"),
    ("score of subsets", "scores of subsets"),
    ("interval", "intervals"),
    ("interval of subsets", "intervals of subsets"),
    ("image", "images"),
)
_SHOWN_IMAGES = 5


@dataclass(frozen=True, kw_only=True)
class VerificationOptions:
    """Inputs of a verification that reports do not contain."""

    benchmark: BenchmarkName = None
    subset: Annotated[
        Path | None, Option(help="JSON file of subsets, to compare the scores of subsets too.")
    ] = None
    tokenizer: TokenizerSpec = None
    counts: FrequencyOptions = field(default_factory=FrequencyOptions)
    reading: InputOptions = field(default_factory=InputOptions)

    @property
    def files(self) -> list[Path]:
        """The input files other than references and results."""
        return [path for path in (self.subset, self.counts.frequencies) if path is not None]

    def with_benchmark(self, reports: Sequence[SavedReport], references: Path | None) -> VerificationOptions:
        """Return the options with the benchmark of the report if no references are given.

        Raises:
            OptionError: There are neither a file of references nor a benchmark, or there are both.
        """
        if references is not None:
            if self.benchmark is not None:
                raise OptionError(f"--references and --benchmark can't be combined (got {references})")
            return self
        benchmark = self.benchmark or reports[0].benchmark
        if not benchmark:
            raise OptionError("the report has no benchmark; use --references FILE or --benchmark NAME")
        return replace(self, benchmark=benchmark)


def run(
    report: Annotated[
        Path, Argument(help="JSON of 'capeval score --format json' or Report.save (- for standard input).")
    ],
    *,
    references: Annotated[
        Path | None,
        Option("--references", "-r", help="Reference file.", show_default="the benchmark of the report"),
    ] = None,
    results: Annotated[
        list[Path],
        Option("--results", help="Result file, or NAME=FILE; repeat it for a report of several systems."),
    ],
    options: VerificationOptions,
    form: Annotated[Literal["table", "json"], Option("--format", "-f", help="Output format.")] = "table",
    output: Output = None,
) -> None:
    """Compute the scores of a report again, and compare all digits.

    The options are those in the report. The exit code is 0 if all digits are the same, and 1 if some digits
    or the images differ, or if a system of the report has no results. The output lists the differences in
    version, options, references, captions, subsets and resources.
    """
    from capeval.cli.toolkit.inputs import open_input, place
    from capeval.scoring.saved_reports import load_saved_reports

    systems = name_systems(results)
    inputs = [report, *systems.values(), *options.files, *([] if references is None else [references])]
    check_outputs(inputs, [output])
    file, name = open_input(report)
    reports = load_saved_reports(file, name=name)
    options = options.with_benchmark(reports, references)
    pairs = _pair_results(reports, systems)
    for saved, _ in pairs:
        _check_settings(saved, place(report))
    verified = [saved for saved, _ in pairs]
    left = [saved.system for saved in reports if saved not in verified]
    if left:
        print(
            f"capeval: warning: not verified, since there are no results: {', '.join(left)}", file=sys.stderr
        )
    verifications = [
        _adapt_messages(_explain_left(each, saved, left))
        for each, saved in zip(_verify_all(pairs, references, options), verified, strict=True)
    ]
    if form == "json":
        contents = [_to_dict(each) for each in verifications]
        content = contents[0] if len(contents) == 1 else contents
        deliver(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", output)
    else:
        files = [path.name for _, path in pairs]
        names = [
            f" for {each.system} ({file})" if len(reports) > 1 else ""
            for each, file in zip(verifications, files, strict=True)
        ]
        texts = [_render(each, name) for each, name in zip(verifications, names, strict=True)]
        deliver("\n".join(texts), output)
    if left or not all(each.is_same for each in verifications):
        sys.exit(1)


def _pair_results(
    reports: Sequence[SavedReport], results: Mapping[str, Path]
) -> list[tuple[SavedReport, Path]]:
    """Return the report of each result file: by the name of its system or, if no name fits, in order.

    Raises:
        OptionError: Only some of the files have names of systems, or the numbers of systems and files differ.
    """
    by_name = {saved.system: saved for saved in reports}
    if len(reports) > 1 and all(name in by_name for name in results):
        return [(by_name[name], path) for name, path in results.items()]
    unknown = [name for name in results if name not in by_name]
    if len(reports) > 1 and len(unknown) < len(results):
        raise OptionError(
            f"{format_names(unknown)}: no system of the report; name the file with --results SYSTEM=FILE (the"
            f" systems are {format_names(list(by_name))})"
        )
    if len(reports) != len(results):
        systems = ", ".join(saved.system or "unnamed" for saved in reports)
        raise OptionError(
            f"--results must be repeated for each of the {len(reports)} systems of the report, {systems} (got"
            f" {len(results)}: {', '.join(results)})"
        )
    return list(zip(reports, results.values(), strict=True))


def _check_settings(saved: SavedReport, file: str) -> None:
    """Check the metrics' options in a report.

    Raises:
        OptionError: capeval has no such metric or option; the error includes the file.
    """
    try:
        saved.restore_metrics()
    except OptionError as error:
        raise OptionError(f"{file}: {error}") from None


def _explain_left(verification: Verification, saved: SavedReport, left: Sequence[str]) -> Verification:
    """Return the verification, first with the systems without results here if the report skipped images."""
    from capeval.scoring.verification import ReportDifference

    names = [name for name in left if name in saved.incomplete_systems]
    if not saved.incomplete_systems and saved.skips_missing and verification.differences:
        # A report of an earlier version has no names of systems without result.
        names = list(left)
    if not names:
        return verification
    text = (
        f"The results of {', '.join(names)} are missing here, and the report contains only the images with"
        " results of all systems; repeat --results for each system."
    )
    missing = ReportDifference(kind="images", text=text)
    return replace(verification, differences=(missing, *verification.differences))


def _adapt_messages(verification: Verification) -> Verification:
    """Return the verification with options as on the command line."""
    return replace(
        verification,
        differences=tuple(replace(each, text=adapt_message(each.text)) for each in verification.differences),
        notes=tuple(map(adapt_message, verification.notes)),
    )


def _verify_all(
    pairs: Sequence[tuple[SavedReport, Path]], references: Path | None, options: VerificationOptions
) -> list[Verification]:
    from capeval.cli.toolkit import scoring
    from capeval.scoring.evaluator import Evaluator
    from capeval.scoring.verification import compare_with_saved, describe_mismatch

    settings = [_restore_settings(saved, options) for saved, _ in pairs]
    reading = options.reading
    if any(saved.skips_missing for saved, _ in pairs):
        reading = replace(reading, missing="skip")
    if any(saved.skips_extra for saved, _ in pairs):
        reading = replace(reading, extra="skip")
    try:
        reader = scoring.create_reader(reading, options.benchmark)
        names = [saved.system for saved, _ in pairs]
        loaded = scoring.load_captions(references, [path for _, path in pairs], reader, names=names)
    except MismatchError as error:
        return [describe_mismatch(saved, error) for saved, _ in pairs]
    if options.subset is None:
        subsets = reader.get_subsets(loaded.references)
    else:
        subsets = scoring.subsets_of(options.subset, loaded.references, loaded.skipped)
    verifications, evaluator = [], None
    with Steps(2 * len(pairs)) as steps:
        for place, (saved, path) in enumerate(pairs):
            metrics, tokenizer = settings[place]
            steps.next("Preparing references")
            if evaluator is None or settings[place] != settings[place - 1]:
                evaluator = Evaluator(loaded.references, metrics, tokenizer=tokenizer)
            steps.next(f"Scoring {path.name}")
            report = loaded.evaluate(evaluator, place, subsets=subsets or None)
            verifications.append(compare_with_saved(saved, report))
    return verifications


def _restore_settings(
    saved: SavedReport, options: VerificationOptions
) -> tuple[tuple[Metric, ...], Tokenizer]:
    """Return the metrics and the tokenizer of a report."""
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.cli.toolkit.scoring import apply_frequencies
    from capeval.scoring.verification import restore_metrics, restore_tokenizer

    given = None if options.tokenizer is None else create_tokenizer(options.tokenizer)
    tokenizer = restore_tokenizer(saved, given)
    metrics = restore_metrics(
        saved, lambda metric: apply_frequencies((metric,), options.counts, tokenizer)[0]
    )
    return prepare_metrics(metrics), tokenizer


def _render(verification: Verification, name: str) -> str:
    """Return the verdict with the reasons, the table of scores, and the notes."""
    from capeval.report.terminal import format_table
    from capeval.scoring.grid_formats import escape_controls

    verdict = f"Same digits{name}: {'yes' if verification.is_same else 'no'} ({_count(verification)})"
    lines = [verdict, *(f"- {difference.text}" for difference in verification.differences)]
    if verification.different_images:
        first = ", ".join(map(str, verification.different_images[:_SHOWN_IMAGES]))
        more = len(verification.different_images) - _SHOWN_IMAGES
        lines.append(f"- Images with different scores: {first}{f' and {more:,} more' if more > 0 else ''}.")
    parts = ["".join(f"{escape_controls(line)}\n" for line in lines)]
    if verification.scores:
        parts.append(format_table(_create_table(verification)))
    if verification.notes:
        parts.append("".join(f"{escape_controls(note)}\n" for note in verification.notes))
    return "\n".join(parts)


def _count(verification: Verification) -> str:
    """Return the numbers of compared scores, intervals and images, and how many of them differ."""
    if not verification.scores:
        return "scores can't be computed"
    # An interval has two ends.
    same: dict[tuple[str, str], dict[tuple[str, str], bool]] = {}
    for score in verification.scores:
        kinds = (_INTERVAL, _SUBSET_INTERVAL) if score.end else (_SCORE, _SUBSET_SCORE)
        found = same.setdefault(kinds[bool(score.subset)], {})
        key = (score.subset, score.name)
        found[key] = found.get(key, True) and score.is_same
    totals = {kind: len(found) for kind, found in same.items()}
    different = {kind: list(found.values()).count(False) for kind, found in same.items()}
    if verification.images:
        totals[_IMAGE], different[_IMAGE] = verification.images, len(verification.different_images)
    if verification.is_same:
        return ", ".join(f"{total:,} {kind[total != 1]}" for kind, total in totals.items())
    counts = [(count, totals[kind], kind) for kind, count in different.items() if count]
    counted = [f"{count:,} of {total:,} {kind[total != 1]}" for count, total, kind in counts]
    is_one = len(counts) == 1 and counts[0][0] == 1
    *others, last = counted
    return f"{', '.join(others)}{' and ' * bool(others)}{last} {'differs' if is_one else 'differ'}"


def _create_table(verification: Verification) -> Grid:
    """Create the table of corpus scores, with the scores of subsets and intervals that differ."""
    from capeval.report import Cell, Grid

    rows = []
    for score in verification.scores:
        if score.part and score.is_same:
            continue
        label = f"{score.name} ({score.part})" if score.part else score.name
        digits = _find_digits(score)
        rows.append(
            (
                Cell(value=label),
                Cell(value=score.saved, digits=digits),
                Cell(value=score.recomputed, digits=digits),
                Cell(value="yes" if score.is_same else "no"),
            )
        )
    return Grid(columns=("Score", "Report", "Recomputed", "Same"), rows=tuple(rows))


def _find_digits(score: VerifiedScore) -> int:
    """Return the number of decimals that shows a difference."""
    if score.is_same or score.saved is None or score.recomputed is None:
        return _DIGITS
    for digits in range(_DIGITS, _MOST_DIGITS):
        if f"{score.saved:.{digits}f}" != f"{score.recomputed:.{digits}f}":
            return digits
    return _MOST_DIGITS


def _to_dict(verification: Verification) -> dict[str, Any]:
    from capeval.formats.io.json import replace_nan

    scores = [
        {
            "name": score.name,
            "part": score.part,
            "report": replace_nan(score.saved),
            "recomputed": replace_nan(score.recomputed),
            "same": score.is_same,
        }
        for score in verification.scores
    ]
    return {
        "system": verification.system,
        "same": verification.is_same,
        "differences": [{"kind": each.kind, "text": each.text} for each in verification.differences],
        "scores": scores,
        "images": verification.images,
        "different_images": list(verification.different_images),
        "notes": list(verification.notes),
    }
