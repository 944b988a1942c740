"""Builds what is released: a wheel for each architecture of Linux, and the source distribution.

`python scripts/wheels.py --output dist x86_64 aarch64`. Zig links, so that the wheels run wherever the C
library is that of manylinux2014 (glibc 2.17) or newer, and so that one machine builds for both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[1]
TARGETS = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
}


def missing_target(target: str) -> str | None:
    """What to run where Rust has no standard library for a target; None where it has one."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    if list(Path(done.stdout.strip()).glob("libstd-*")):
        return None
    return f"Rust has no standard library for {target} here: rustup target add {target}"


def build(architectures: list[str], output: Path) -> None:
    """Builds the wheels and the source distribution into a folder, which must be empty.

    Raises:
        SystemExit: The folder has other distributions, or something is missing to build with.
    """
    if output.exists() and any(output.glob("capeval-*")):
        raise SystemExit(f"{output} must have no other distribution of capeval: delete it")
    if problems := [said for each in architectures if (said := missing_target(TARGETS[each])) is not None]:
        raise SystemExit("\n".join(problems))
    maturin("sdist", "--out", str(output))
    for each in architectures:
        platform = ["--target", TARGETS[each], "--compatibility", "manylinux2014", "--zig"]
        maturin("build", "--release", "--locked", "--out", str(output), *platform)


def maturin(*arguments: str) -> None:
    """Runs the maturin of this environment."""
    here = Path(sys.executable).parent
    # It looks for cargo-zigbuild on the path.
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([here / "maturin", *arguments], cwd=PROJECT, env=environment, check=True)  # noqa: S603


def main() -> None:
    """Builds what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("architectures", nargs="+", choices=list(TARGETS))
    parser.add_argument("--output", type=Path, default=PROJECT / "dist")
    arguments = parser.parse_args()
    build(arguments.architectures, arguments.output.resolve())


if __name__ == "__main__":
    main()
