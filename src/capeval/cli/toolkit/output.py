"""Output of commands: results, tables and progress bars."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from capeval._internal.atomic_write import add_path_to_errors, atomic_write, check_writable
from capeval._internal.progress import send_progress_to
from capeval.errors import OptionError

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

    from capeval.report import Grid

__all__ = ["Steps", "adapt_message", "check_outputs", "deliver", "examples", "name_systems", "render"]

# Seconds of work before progress is shown.
_SHOWN_AFTER = 1.0
# An option of the library, and the same option of the command line.
_BOTH_FORMS = re.compile(r"(?:\w+=)?'[^']*' \(on the command line: ([^()]*)\)")
_ENDINGS = (
    ".gz",
    ".xz",
    ".zip",
    ".jsonl",
    ".ndjson",
    ".json",
    ".csv",
    ".tsv",
    ".parquet",
    ".arrow",
    ".feather",
)


def adapt_message(text: str) -> str:
    """Return a message of the library with options as on the command line, in one line.

    Example:
        >>> from capeval.cli.toolkit.output import adapt_message
        >>> adapt_message("set missing='skip' (on the command line: --missing skip)")
        'set --missing skip'
    """
    return _BOTH_FORMS.sub(r"\1", " ".join(text.split()))


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    # The backspace prevents click from wrapping these lines, so that they can be copied.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def deliver(text: str | bytes, output: Path | None) -> None:
    """Write a UTF-8 result to a file, atomically, or to standard output."""
    # File names on Linux are bytes, not necessarily in UTF-8; they are written unchanged.
    data = text.encode(errors="surrogateescape") if isinstance(text, str) else text
    if output is not None:
        with atomic_write(output) as file:
            file.write(data)
        return
    with add_path_to_errors("standard output"):
        sys.stdout.flush()
        left = memoryview(data)
        while left:
            # With PYTHONUNBUFFERED, this is one system call, which may write only a part if the disk is full.
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()


def check_outputs(inputs: Sequence[Path], outputs: Sequence[Path | None]) -> None:
    """Check that the output files can be written, before the slow work starts.

    Raises:
        OptionError: An output file is also an input file, or is used for two results.
        OSError: A file can't be written.
    """
    reasons: dict[Path, str] = {path.resolve(): "it is also read" for path in inputs if path.is_file()}
    for path in outputs:
        if path is None:
            continue
        check_writable(path)
        if path.exists() and not path.is_file():
            # Several results can be written to a terminal or a pipe.
            continue
        resolved = path.resolve()
        if resolved in reasons:
            raise OptionError(f"{path} can't be written to: {reasons[resolved]}")
        reasons[resolved] = "another result is written to it"


def render(grid: Grid, form: str, output: Path | None, title: str | None = None) -> None:
    """Write a table in one of the table formats."""
    from capeval.report import to_csv, to_latex, to_markdown
    from capeval.report.terminal import format_table
    from capeval.scoring.grid_formats import escape_controls
    from capeval.scoring.grids import replace_bold

    texts = {"csv": to_csv, "markdown": to_markdown, "latex": to_latex}
    if form in texts:
        deliver(texts[form](grid), output)
    else:
        is_terminal = output is None and sys.stdout.isatty()
        styled = is_terminal and os.environ.get("TERM") not in ("dumb", "unknown")
        width = shutil.get_terminal_size().columns if is_terminal else None
        grid = grid if styled else replace_bold(grid)
        notes = "".join(f"{line}\n" for line in ["", *map(escape_controls, grid.notes)]) if grid.notes else ""
        deliver(format_table(grid, title, styled=styled, width=width) + notes, output)


def name_systems(results: Sequence[Path]) -> dict[str, Path]:
    """Return the result files by the names of their systems.

    An argument `NAME=FILE` names its system. The other names are file names, or paths if two file names are
    equal.

    Args:
        results: The files, or `NAME=FILE` with a name that contains no slash.

    Raises:
        OptionError: A file or a name occurs twice, or the file of `NAME=FILE` doesn't exist.
    """
    named = [_split_name(path) for path in results]
    paths = [path for _, path in named]
    for path in paths:
        if paths.count(path) > 1:
            raise OptionError(f"result files must be different (got {path} twice)")
    names = [name or _derive_name(path) for name, path in named]
    names = [
        given or (name if names.count(name) == 1 else _decode_name(str(path)))
        for name, (given, path) in zip(names, named, strict=True)
    ]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"names of systems must be different (got {name!r} twice)")
    return dict(zip(names, paths, strict=True))


def _split_name(path: Path) -> tuple[str, Path]:
    """Return the name and the file of `NAME=FILE`; the name is empty for a file.

    The name and the file can contain equals signs, such as "lr=0.1=results.json".
    """
    if path.exists():
        return "", path
    parts = str(path).split("=")
    splits = [("=".join(parts[:place]), "=".join(parts[place:])) for place in range(1, len(parts))]
    splits = [(name, file) for name, file in splits if name and file and os.sep not in name]
    for name, file in splits:
        if file == "-" or Path(file).exists():
            return _decode_name(name), Path(file)
    if splits:
        files = " or ".join(file for _, file in splits)
        raise OptionError(
            f"{path}: No such file; read as NAME=FILE, the file is {files}, which doesn't exist"
        )
    return "", path


def _derive_name(path: Path) -> str:
    return "standard input" if str(path) == "-" else _strip_suffixes(path.name)


def _strip_suffixes(name: str) -> str:
    stem = name
    for ending in _ENDINGS:
        if stem.lower().endswith(ending):
            stem = stem[: -len(ending)]
    return _decode_name(stem or name)


def _decode_name(name: str) -> str:
    # File names on Linux are bytes, not necessarily in UTF-8.
    return os.fsencode(name).decode("utf-8", "replace")


class Steps:
    """A progress bar that appears after a second, if standard error is a terminal.

    Long work inside a step that reports its progress (`capeval._internal.progress`) gets a second bar with
    its rate.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = -1
        self._text = ""
        self._lock = threading.Lock()
        self._bar: tuple[Progress, TaskID] | None = None
        self._work: dict[str, _Work] = {}
        self._subscription: AbstractContextManager[None] = send_progress_to(self._record_progress)
        self._timer = threading.Timer(_SHOWN_AFTER, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Steps:
        self._subscription.__enter__()
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._subscription.__exit__(kind, error, trace)
        self._timer.cancel()
        with self._lock:
            self._done = self._total
            if self._bar is not None:
                self._bar[0].stop()

    def next(self, text: str) -> None:
        """Start the next step, described by `text`."""
        with self._lock:
            self._done += 1
            self._text = text
            if self._bar is not None:
                self._bar[0].update(self._bar[1], completed=self._done, description=text)

    def _record_progress(self, name: str, done: float, total: int) -> None:
        """Record the progress of work inside a step."""
        with self._lock:
            if done == 0 or name not in self._work:
                self._work[name] = _Work(name)
            work = self._work[name]
            work.done, work.total = done, total
            if self._bar is not None:
                work.show(self._bar[0])

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        detail = TextColumn("{task.fields[detail]}", markup=False)
        console = Console(file=sys.stderr)
        bar = Progress(text, BarColumn(), TimeElapsedColumn(), detail, console=console, transient=True)
        with self._lock:
            if self._done < self._total:
                task = bar.add_task(self._text, total=self._total, completed=self._done, detail="")
                self._bar = (bar, task)
                for work in self._work.values():
                    work.show(bar)
                bar.start()


class _Work:
    """Progress and rate of work inside a step."""

    def __init__(self, name: str) -> None:
        self.done = 0.0
        self.total = 0
        self._name = name
        self._started = time.monotonic()
        self._task: TaskID | None = None

    def show(self, bar: Progress) -> None:
        """Update the progress bar, and remove it when the work is finished."""
        if self.done >= self.total:
            if self._task is not None:
                bar.remove_task(self._task)
                self._task = None
            return
        rate = self.done / max(time.monotonic() - self._started, 1e-9)
        shown = f"{rate:,.0f} per second" if rate >= 1 else f"{self.done / self.total:.0%}"
        detail = f"{int(self.done):,} of {self.total:,}, {shown}"
        if self._task is None:
            self._task = bar.add_task(self._name, total=self.total, detail=detail)
        bar.update(self._task, completed=self.done, detail=detail)
