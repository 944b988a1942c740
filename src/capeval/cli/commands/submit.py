"""The `capeval submit` command."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import FormatOption, Output, OutputFormat
from capeval.cli.toolkit.output import deliver, examples, render
from capeval.errors import CapevalError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from capeval.cli.toolkit.api_client import ApiClient
    from capeval.cli.toolkit.submission_format import SubmissionFormat
    from capeval.report import Grid

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval submit captions_val_mine_results.json --server https://host --challenge coco --phase test",
    "capeval submit results.zip --server https://host --challenge coco --phase test "
    "--declare method=mine --wait",
    "capeval submit results.zip --server https://host --challenge coco --phase test --check",
    "capeval submit results.zip --challenge challenge.json --phase test --check",
)
TOKEN = "CAPEVAL_TOKEN"  # noqa: S105 - the name of a variable.
_NOT_FOUND = 404
_PAUSES = (1.0, 2.0, 3.0, 5.0)
# The maximum number of consecutive failed requests while the command waits for scores.
_MAX_FAILURES = 20


def run(
    file: Annotated[Path, Argument(help="Result file, or a zip file of several.")],
    challenge: Annotated[
        str,
        Option(
            metavar="SLUG", help="Name of the challenge in its URL; for --check, also its challenge.json."
        ),
    ],
    phase: Annotated[str, Option(metavar="NAME", help="Name of the phase.")],
    server: Annotated[
        str | None,
        Option(metavar="URL", help="URL of the evaluation server; not needed for --check with a file."),
    ] = None,
    declare: Annotated[
        list[str] | None,
        Option(
            "--declare",
            "-d",
            metavar="NAME=VALUE",
            help="Set a field that the challenge requires; may be repeated.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, Option(help=f"File with the API token; by default the variable {TOKEN}.")
    ] = None,
    check: Annotated[
        bool, Option(help="Check file names, images and captions for the phase, without submitting.")
    ] = False,
    wait: Annotated[bool, Option("--wait", "-w", help="Wait for the scores and show them.")] = False,
    form: FormatOption = "table",
    output: Output = None,
) -> None:
    """Submit results to a challenge on an evaluation server.

    The file is checked before it is sent. With `--check` it is also checked against the images of the phase,
    and it is not sent. With a downloaded `challenge.json`, this works without the server. If you run the same
    command again, for example after a broken connection, it continues the same submission. A failed or
    withdrawn submission is submitted again.
    """
    from capeval.cli.toolkit.api_client import ApiClient, ServerResponseError
    from capeval.cli.toolkit.submission_format import check_contents, load_format, parse_format

    declared = _parse_fields(declare or [])
    if check and wait:
        raise OptionError("--check can't be combined with --wait, because nothing is submitted")
    if not wait and (output is not None or form != "table"):
        raise OptionError("--format and --output require --wait, because only --wait shows scores")
    if check and server is None and challenge.endswith(".json"):
        deliver(_check(load_format(Path(challenge)), phase, file, declared), None)
        return
    if server is None:
        raise OptionError("--server must be given, unless --check is given with --challenge challenge.json")
    remote = ApiClient(server, _read_token(token_file))
    about = f"/challenges/{_quote_name(challenge)}"
    try:
        if check:
            expected = parse_format(remote.get(f"{about}/submission-format"))
            deliver(_check(expected, phase, file, declared), None)
            return
        check_contents(file)
        submission = _submit(remote, f"{about}/phases/{_quote_name(phase)}", file, declared)
    except ServerResponseError as error:
        if error.status == _NOT_FOUND:
            _check_names(remote, challenge, phase)
        raise
    place = f"{remote.address}/submissions/{submission['id']}/"
    if not wait:
        deliver(f"{place} is {submission['state']}\n", None)
        if submission["state"] == "scored":
            _report_withheld(remote, remote.get(f"/submissions/{submission['id']}"))
        return
    print(place, file=sys.stderr)
    finished = _wait_until_finished(remote, submission)
    withheld = _report_withheld(remote, finished)
    if not withheld or form == "json":
        _show_scores(finished, form, output)


def _read_token(path: Path | None) -> str:
    text = path.read_text(encoding="utf-8", errors="replace") if path else os.environ.get(TOKEN, "")
    token = text.strip()
    where = str(path) if path else f"the variable {TOKEN}"
    if not token:
        raise OptionError(
            f"{where} must contain an API token (got none); create one on the server's API tokens page"
        )
    if not (token.isascii() and token.isprintable()) or " " in token:
        # The text is not shown, since it may be a different secret.
        raise OptionError(f"{where} must contain only an API token (got other text)")
    return token


def _parse_fields(fields: list[str]) -> dict[str, str]:
    declared: dict[str, str] = {}
    for text in fields:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise OptionError(f"--declare must be NAME=VALUE (got {text!r})")
        if name in declared or name == "file":
            raise OptionError(f"--declare must name each field once, and not 'file' (got {name!r})")
        declared[name] = value
    return declared


def _quote_name(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _check_names(remote: ApiClient, challenge: str, phase: str) -> None:
    """Check that the server shows a challenge with a phase.

    Raises:
        OptionError: It does not.
    """
    from capeval.cli.toolkit.api_client import ServerResponseError

    try:
        found = remote.get(f"/challenges/{_quote_name(challenge)}")
    except ServerResponseError as error:
        if error.status != _NOT_FOUND:
            raise
        raise OptionError(
            f"--challenge must be one that {remote.address} shows to you (got {challenge!r})"
        ) from None
    names = [each["name"] for each in found["phases"]]
    if phase not in names:
        raise OptionError(f"--phase must be one of {', '.join(names)} (got {phase!r})")


def _check(expected: SubmissionFormat, phase: str, files: Path, declared: dict[str, str]) -> str:
    """Check files and declared fields against the format of submissions, and return a summary.

    Raises:
        OptionError: The challenge has no such phase.
        CapevalError: A file or a declared field is missing, a file belongs to no split, or its images differ.
    """
    from capeval.cli.toolkit.submission_format import check_submission
    from capeval.formats.declared_fields import check_declared

    lines = check_submission(expected, phase, files)
    for field in expected.fields:
        if field.required and not declared.get(field.name, "").strip():
            values = field.in_phase(phase).values
            choices = f", one of {', '.join(map(repr, values))}" if values else ""
            raise CapevalError(
                f"a submission must declare {field.name!r} (--declare {field.name}=...{choices})"
            )
    check_declared(expected.fields, declared, phase)
    return "\n".join(lines) + "; nothing was submitted\n"


def _create_key(parts: list[bytes]) -> str:
    """Return an idempotency key, which is the same for each run of the same command."""
    import hashlib

    # Each part is hashed separately, so that different lists of parts give different keys.
    digests = [hashlib.sha256(part).digest() for part in parts]
    return f"submit-{hashlib.sha256(b''.join(digests)).hexdigest()}"


def _submit(remote: ApiClient, place: str, file: Path, declared: dict[str, str]) -> dict[str, Any]:
    """Submit a file; return the new submission, or the same command's previous one."""
    fields = [f"{name}={value}".encode() for name, value in sorted(declared.items())]
    # The file name is part of the key, since it contains the name of the method.
    name = file.name.encode(errors="surrogateescape")
    key = _create_key([place.encode(), name, file.read_bytes(), *fields])
    while True:
        with _Progress(file) as progress:
            status, submission = remote.upload(f"{place}/submissions", file, declared, key, progress)
        if not isinstance(submission, dict) or not {"id", "state"} <= submission.keys():
            raise CapevalError(f"{remote.address} must be an evaluation server (got an unexpected response)")
        if status == 201:
            return submission
        if submission["state"] not in ("failed", "withdrawn"):
            print(f"{file} was already submitted; continuing with that submission", file=sys.stderr)
            return submission
        print(f"the previous submission is {submission['state']}; submitting again", file=sys.stderr)
        # The key of the next submission, which is also the same for each run of the command.
        key = _create_key([key.encode(), str(submission["id"]).encode()])


class _Progress:
    """A progress bar of the bytes sent, if standard error is a terminal."""

    def __init__(self, file: Path) -> None:
        self._size = file.stat().st_size
        self._advance: Callable[[int], None] | None = None
        self._bar: Any = None

    def __enter__(self) -> _Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

            columns = (TextColumn("Sending"), BarColumn(), DownloadColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            task = self._bar.add_task("", total=self._size)
            self._advance = lambda count: self._bar.advance(task, count)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, count: int) -> None:
        if self._advance is not None:
            self._advance(count)


def _wait_until_finished(remote: ApiClient, submission: dict[str, Any]) -> dict[str, Any]:
    """Wait until a submission is scored or has failed, and return it.

    Raises:
        ServerResponseError: The server rejects a request, or repeatedly returns a temporary error.
        ServerUnreachableError: The server repeatedly does not respond.
    """
    from capeval.cli.toolkit.api_client import ServerResponseError, ServerUnreachableError

    failures, requests, state = 0, 0, ""
    told: tuple[Any, ...] = ()
    while True:
        try:
            current: dict[str, Any] = remote.get(f"/submissions/{submission['id']}")
            failures = 0
        except (ServerResponseError, ServerUnreachableError) as error:
            failures += 1
            temporary = not isinstance(error, ServerResponseError) or error.status in (
                429,
                500,
                502,
                503,
                504,
            )
            if not temporary or failures > _MAX_FAILURES:
                raise
            current = {"state": state}
        if current["state"] not in ("waiting", "running", ""):
            return current
        state = current["state"]
        # A change of only the time is not reported.
        wait, scoring = current.get("wait") or {}, current.get("scoring") or {}
        news = (state, wait.get("ahead"), scoring.get("number"), scoring.get("work"), _count_tenths(scoring))
        if failures == 0 and news != told:
            told = news
            print(_describe_progress(current), file=sys.stderr)
        time.sleep(_PAUSES[min(requests, len(_PAUSES) - 1)])
        requests += 1


def _count_tenths(scoring: dict[str, Any]) -> int:
    """Return the done tenths of a metric's long work, which are each worth a line."""
    # Older servers do not report it.
    total = scoring.get("work_total", 0)
    return int(10 * scoring["work_done"] / total) if total else 0


def _describe_progress(submission: dict[str, Any]) -> str:
    """Describe a submission's state and its progress, if the server reports it."""
    wait, scoring = submission.get("wait"), submission.get("scoring")
    if wait and wait["ahead"]:
        seconds = wait["expected_wait"]
        about = "" if seconds is None else f", about {max(round(seconds), 1):,} s"
        return f"{submission['state']}: {wait['ahead']:,} before it{about}"
    if scoring and scoring["total"]:
        what = f"{scoring['split']} by {scoring['references']}: {scoring['metric']}"
        count = f"metric {scoring['number']} of {scoring['total']}"
        if scoring.get("work"):
            count += f" ({scoring['work'].lower()}: {scoring['work_done']:,} of {scoring['work_total']:,})"
        return f"{submission['state']}: {what}, {count}, after {int(scoring['elapsed'])} s"
    return str(submission["state"])


def _report_withheld(remote: ApiClient, submission: dict[str, Any]) -> bool:
    """Return whether the scores of a scored submission are withheld, and print a line about it if so."""
    # Older servers do not report it.
    if submission["state"] != "scored" or not submission.get("scores_withheld"):
        return False
    challenge = remote.get(f"/challenges/{_quote_name(submission['challenge'])}")
    (most,) = (
        phase["final_submissions"] for phase in challenge["phases"] if phase["name"] == submission["phase"]
    )
    print(
        "scored; the scores are withheld until the organizers publish them; "
        f"your team may choose up to {most:,} submission{'s' if most > 1 else ''}",
        file=sys.stderr,
    )
    return True


def _show_scores(submission: dict[str, Any], form: OutputFormat, output: Path | None) -> None:
    if submission["state"] != "scored":
        raise CapevalError(f"the submission is {submission['state']} ({submission['reason'] or 'no reason'})")
    current = [result for result in submission["results"] if not result["stale"]]
    for result in current:
        if result["failure"]:
            print(f"{result['split']} by {result['references']}: {result['failure']}", file=sys.stderr)
    if form == "json":
        import json

        deliver(json.dumps({**submission, "results": current}, indent=2, ensure_ascii=False) + "\n", output)
    else:
        render(_create_table(current), form, output)


def _create_table(results: list[dict[str, Any]]) -> Grid:
    """Create a table of scores, with one row per split, reference set and subset."""
    from capeval.report import Cell, Grid

    rows: dict[tuple[str, str, str], dict[str, Cell]] = {}
    for result in results:
        for score in result["scores"]:
            group = (result["split"], result["references"], score["subset"] or "all")
            cell = Cell(value=score["value"], low=score["low"], high=score["high"])
            rows.setdefault(group, {})[score["name"]] = cell
    names = tuple(dict.fromkeys(name for row in rows.values() for name in row))
    cells = [
        (*(Cell(value=text) for text in group), *(row.get(name, Cell(value=None)) for name in names))
        for group, row in rows.items()
    ]
    return Grid(columns=("Split", "References", "Images", *names), rows=tuple(cells))
