"""Build of a release: all wheels and source distributions.

Run `python scripts/wheels.py --output dist x86_64 aarch64`. capeval has one wheel per Linux architecture;
capeval-server and capeval-decoding are pure Python. The linker is Zig, so that one machine can build for both
architectures, and the wheels only require the C library of manylinux2014 (glibc 2.17) or newer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["PROJECT", "PURE", "TARGETS", "build"]

PROJECT = Path(__file__).parents[1]
TARGETS = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
}
PURE = {"capeval_server": "server", "capeval_decoding": "decoding"}
"""Folder of pyproject.toml of each pure Python distribution, by the name in its file names."""


def build(architectures: list[str], output: Path) -> None:
    """Build all wheels and source distributions into a folder.

    Args:
        architectures: Architectures of capeval's wheels, keys of `TARGETS`.
        output: Output folder, which must not contain distributions of an earlier build.

    Raises:
        SystemExit: The folder contains such distributions, or Rust has no standard library for a target.
    """
    earlier = sorted(path.name for name in ("capeval", *PURE) for path in output.glob(f"{name}-*"))
    if earlier:
        raise SystemExit(f"{output} already contains {earlier[0]}: empty it first")
    messages = [_explain_missing_target(TARGETS[each]) for each in architectures]
    if any(messages):
        raise SystemExit("\n".join(filter(None, messages)))
    _run_maturin("sdist", "--out", str(output))
    for each in architectures:
        platform = ["--target", TARGETS[each], "--compatibility", "manylinux2014", "--zig"]
        _run_maturin("build", "--release", "--locked", "--out", str(output), *platform)
    for folder in PURE.values():
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(output)]
        subprocess.run(command, cwd=PROJECT / folder, check=True)  # noqa: S603


def _explain_missing_target(target: str) -> str:
    """Return an error message if Rust can't build for a target; otherwise ""."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    if list(Path(done.stdout.strip()).glob("libstd-*")):
        return ""
    return f"Rust has no standard library for {target}: run `rustup target add {target}`"


def _run_maturin(*arguments: str) -> None:
    """Run the maturin of this environment."""
    programs = Path(sys.executable).parent
    # maturin searches for cargo-zigbuild in PATH.
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = [str(programs / "maturin"), *arguments]
    subprocess.run(command, cwd=PROJECT, env=environment, check=True)  # noqa: S603


def main() -> None:
    """Build the distributions for the architectures on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("architectures", nargs="+", choices=list(TARGETS), help="architectures to build for")
    parser.add_argument("--output", type=Path, default=PROJECT / "dist", help="output folder (default: dist)")
    arguments = parser.parse_args()
    build(arguments.architectures, arguments.output.resolve())


if __name__ == "__main__":
    main()
