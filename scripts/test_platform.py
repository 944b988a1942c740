"""Test of capeval on this system and with this Python, in an empty environment.

Run `python scripts/test_platform.py`. It needs a Rust toolchain and installs everything else into
`build/platform`. The forge runs it on Linux, macOS and Windows with all supported versions of Python.

With `--wheel dist`, it builds the wheel of a release instead: on macOS and Windows, and for free-threaded
versions of Python, which don't load the wheels of the stable ABI that `scripts/wheels.py` builds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PROJECT = Path(__file__).parents[1]
FOLDER = PROJECT / "build" / "platform"
PYTHON = FOLDER / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
# Scores don't depend on the profile, and this one builds faster than that of releases.
PROFILE = "--profile development"


def test() -> None:
    """Build a wheel, install it, and run the tests of `tests/platforms`."""
    wheels = FOLDER / "wheels"
    run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, PROJECT)
    (wheel,) = wheels.glob("capeval-*.whl")
    install(wheel, "pytest", "pyarrow")
    tests = PROJECT / "tests" / "platforms"
    run("pytest", "-c", tests / "pytest.ini", tests)


def build(output: Path) -> None:
    """Build the wheel of a release for this system and this Python.

    Args:
        output: Folder of the wheel.
    """
    install("maturin", "pyyaml", "ziglang")
    source = FOLDER / "source"
    run("scripts.release_source", source)
    # As scripts/wheels.py: the linker Zig makes wheels for older versions of the C library.
    linux = ("--zig", "--compatibility", "manylinux2014") if sys.platform == "linux" else ()
    options = ("--release", "--locked", "--interpreter", PYTHON)
    run("maturin", "build", *options, *linux, "--out", output, folder=source)


def install(*packages: str | Path) -> None:
    """Install packages into the environment, in the versions of CI."""
    run("pip", "install", "--quiet", "--constraint", PROJECT / "constraints.txt", *packages)


def run(module: str, *arguments: str | Path, folder: Path = PROJECT) -> None:
    """Run a module in the environment; exit if it fails."""
    environment = {**os.environ, "MATURIN_PEP517_ARGS": PROFILE, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [PYTHON, "-m", module, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Test, or build the wheel of a release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help="build the wheel of a release into this folder")
    output = parser.parse_args().wheel
    shutil.rmtree(FOLDER, ignore_errors=True)
    venv.create(FOLDER / "venv", with_pip=True)
    test() if output is None else build(output.resolve())


if __name__ == "__main__":
    main()
