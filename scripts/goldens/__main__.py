"""Comparison of public behavior with the recording in `goldens/`, and recording."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from scripts.goldens.compare import list_differences
from scripts.goldens.names import ENVIRONMENT, PROJECT
from scripts.goldens.registry import Golden, load_kinds

_FOLDER = PROJECT / "goldens"
_PROCESSES = 2
# Maximum number of lines of a golden's differences in the output.
_MAX_LINES = 60
# Variables that would change the recorded output have fixed values in all processes.
_FIXED_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "COLUMNS": "100",
    "LINES": "40",
    "TERM": "dumb",
    "NO_COLOR": "1",
    # The last bits of scores depend on the instructions that numpy and its OpenBLAS choose for the processor.
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
_DROPPED_PREFIXES = ("PG", "LC_", "LANG", "FORCE_COLOR", "CLICOLOR", "PYTHONWARNINGS", "DJANGO_", "RAYON_")


def main() -> None:
    """Compare or record; exit with status 1 if a golden differs or can't be recorded."""
    options = _parse_options()
    goldens = list(load_kinds().values())
    if options.only:
        goldens = [golden for golden in goldens if golden.name in options.only]
    with _provide_recording(goldens, options) as (made, left_out):
        for name, reason in left_out.items():
            print(f"left out: {name} ({reason})", file=sys.stderr)
        goldens = [golden for golden in goldens if golden.name not in left_out]
        if options.record:
            _replace(goldens, made, options.folder)
            print(f"recorded in {options.folder}: {', '.join(golden.name for golden in goldens)}")
            sys.exit(bool(left_out))
        limit = None if options.full else _MAX_LINES
        changed = [golden.name for golden in goldens if _show(golden, options.folder, made, limit)]
    if changed:
        print(f"\ndifferent: {', '.join(changed)}", file=sys.stderr)
        accept = f'make goldens-record OPTIONS="--only {" ".join(changed)}"'
        print(f"To accept the changes, run `{accept}` and commit goldens/.", file=sys.stderr)
    if changed or left_out:
        sys.exit(1)
    print(f"equal: {', '.join(golden.name for golden in goldens)}")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.goldens", description=__doc__)
    parser.add_argument("--record", action="store_true", help="Record instead of comparing.")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=sorted(load_kinds()), help="Use only these goldens."
    )
    parser.add_argument(
        "--folder", type=Path, default=_FOLDER, help="Folder of the recording. [default: goldens/]"
    )
    parser.add_argument(
        "--with", dest="other", type=Path, help="Compare with this recording instead of a new one."
    )
    parser.add_argument("--full", action="store_true", help="Show all lines of the differences.")
    parser.add_argument("--timings", action="store_true", help="Show the duration of each process.")
    return parser.parse_args()


@contextmanager
def _provide_recording(
    goldens: Sequence[Golden], options: argparse.Namespace
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Provide a recording to compare with, and the reasons for missing goldens."""
    if options.other is not None:
        present = {golden.name for golden in goldens if (options.other / golden.name).is_dir()}
        yield options.other, {golden.name: "not recorded" for golden in goldens if golden.name not in present}
        return
    left_out = {golden.name: reason for golden in goldens if (reason := golden.missing())}
    processes: dict[str, list[str]] = {}
    for golden in goldens:
        if golden.name not in left_out:
            processes.setdefault(golden.process, []).append(golden.name)
    with (
        tempfile.TemporaryDirectory(prefix="capeval-goldens-") as folder,
        ThreadPoolExecutor(_PROCESSES) as pool,
    ):
        for process, seconds in zip(
            processes, pool.map(lambda names: _record(Path(folder), names), processes.values()), strict=True
        ):
            if options.timings:
                print(f"{process}: {seconds:.1f} s")
        yield Path(folder), left_out


def _record(folder: Path, names: Sequence[str]) -> float:
    """Record goldens in a process with a fixed environment; return the seconds."""
    began = time.monotonic()
    cache = {f"{ENVIRONMENT}CACHE"}
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_DROPPED_PREFIXES) and (name in cache or not name.startswith(ENVIRONMENT))
    }
    command = [sys.executable, "-m", "scripts.goldens.recorder", str(folder), *names]
    done = subprocess.run(
        command, cwd=PROJECT, env={**env, **_FIXED_ENVIRONMENT}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"recording {', '.join(names)} failed:\n{done.stdout[-5000:]}{done.stderr[-10000:]}")
    return time.monotonic() - began


def _show(golden: Golden, recorded: Path, made: Path, limit: int | None) -> bool:
    """Print up to `limit` lines of a golden's differences; return whether it differs."""
    lines = list(list_differences(golden, recorded, made))
    if not lines:
        return False
    print(f"{golden.name} ({golden.about}):", *lines[:limit], sep="\n")
    if limit is not None and len(lines) > limit:
        print(f'... {len(lines) - limit} more lines: make goldens OPTIONS="--only {golden.name} --full"')
    return True


def _replace(goldens: Sequence[Golden], made: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for golden in goldens:
        target = folder / golden.name
        if target.exists():
            shutil.rmtree(target)
        for path in sorted(found for found in (made / golden.name).rglob("*") if found.is_file()):
            copy = target / path.relative_to(made / golden.name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # The server's files have modes that exclude other users.
            shutil.copyfile(path, copy)
        if golden.renames and not (folder / golden.renames).exists():
            (folder / golden.renames).write_text('# Intended renames: old = "new".\n[names]\n')


if __name__ == "__main__":
    main()
