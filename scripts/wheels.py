"""Build of a release: all wheels and source distributions.

Run `python scripts/wheels.py --output dist x86_64 aarch64`. capeval has one wheel per platform;
capeval-server and capeval-decoding are pure Python. One Linux machine builds for all platforms. The linker is
Zig (for Windows, MinGW), so that wheels for Linux only require the C library of manylinux2014 (glibc 2.17) or
newer, or musl 1.2.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PLATFORMS", "PROJECT", "PURE", "Platform", "build"]

PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform of capeval's wheels.

    Attributes:
        target: Rust's name of the platform.
        options: Options of maturin for the linker and the compatibility of the wheel.
    """

    target: str
    options: tuple[str, ...]


_GLIBC = ("--zig", "--compatibility", "manylinux2014")
_MUSL = ("--zig", "--compatibility", "musllinux_1_2")
PLATFORMS = {
    "x86_64": Platform(target="x86_64-unknown-linux-gnu", options=_GLIBC),
    "aarch64": Platform(target="aarch64-unknown-linux-gnu", options=_GLIBC),
    "musl-x86_64": Platform(target="x86_64-unknown-linux-musl", options=_MUSL),
    "musl-aarch64": Platform(target="aarch64-unknown-linux-musl", options=_MUSL),
    "macos-x86_64": Platform(target="x86_64-apple-darwin", options=("--zig",)),
    "macos-arm64": Platform(target="aarch64-apple-darwin", options=("--zig",)),
    # With --zig, maturin 1.16 exports a symbol that does not exist: PyInit_ and the name with the package.
    "windows-x86_64": Platform(target="x86_64-pc-windows-gnu", options=()),
}
_MINGW = "x86_64-w64-mingw32-gcc"
# chrono asks macOS for the time zone through a framework. The linker only needs the names of its functions,
# because Apple's SDK is not available elsewhere.
_FRAMEWORK = """\
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ _CFRelease, _CFStringGetBytes, _CFStringGetCStringPtr, _CFStringGetLength,
               _CFTimeZoneCopySystem, _CFTimeZoneGetName, _CFTimeZoneResetSystem ]
...
"""
PURE = {"capeval_server": "server", "capeval_decoding": "decoding"}
"""Folder of pyproject.toml of each pure Python distribution, by the name in its file names."""


def build(platforms: list[str], output: Path) -> None:
    """Build all wheels and source distributions into a folder.

    Args:
        platforms: Platforms of capeval's wheels, keys of `PLATFORMS`.
        output: Output folder, which must not contain distributions of an earlier build.

    Raises:
        SystemExit: The folder contains such distributions, or Rust's standard library or the linker for a
            platform is missing.
    """
    earlier = sorted(path.name for name in ("capeval", *PURE) for path in output.glob(f"{name}-*"))
    if earlier:
        raise SystemExit(f"{output} already contains {earlier[0]}: empty it first")
    messages = [_explain_missing_tools(PLATFORMS[each].target) for each in platforms]
    if any(messages):
        raise SystemExit("\n".join(filter(None, messages)))
    _run_maturin("sdist", "--out", str(output))
    with tempfile.TemporaryDirectory() as folder:
        macos = {"SDKROOT": str(_make_macos_sdk(Path(folder)))}
        for platform in (PLATFORMS[each] for each in platforms):
            options = ["--release", "--locked", "--target", platform.target, *platform.options]
            settings = macos if "apple" in platform.target else {}
            _run_maturin("build", *options, "--out", str(output), **settings)
    for folder in PURE.values():
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(output)]
        subprocess.run(command, cwd=PROJECT / folder, check=True)  # noqa: S603


def _explain_missing_tools(target: str) -> str:
    """Return an error message if Rust can't build for a target; otherwise ""."""
    if "windows" in target and shutil.which(_MINGW) is None:
        return f"{target} needs the linker {_MINGW} (Debian: apt-get install gcc-mingw-w64-x86-64)"
    if shutil.which("rustup"):
        subprocess.run(["rustup", "--quiet", "target", "add", target], check=False)  # noqa: S603, S607
    command = ["rustc", "--print", "target-libdir", "--target", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    if list(Path(done.stdout.strip()).glob("libstd-*")):
        return ""
    return f"Rust has no standard library for {target}: run `rustup target add {target}`"


def _make_macos_sdk(folder: Path) -> Path:
    """Create the part of macOS's SDK that the linker needs, and return its folder."""
    framework = folder / "System" / "Library" / "Frameworks" / "CoreFoundation.framework"
    framework.mkdir(parents=True)
    (framework / "CoreFoundation.tbd").write_text(_FRAMEWORK, encoding="utf-8")
    for name in ("lib", "include"):
        (folder / "usr" / name).mkdir(parents=True)
    return folder


def _run_maturin(*arguments: str, **settings: str) -> None:
    """Run the maturin of this environment, with additional environment variables."""
    programs = Path(sys.executable).parent
    # maturin searches for cargo-zigbuild in PATH.
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", **settings}
    command = [str(programs / "maturin"), *arguments]
    subprocess.run(command, cwd=PROJECT, env=environment, check=True)  # noqa: S603


def main() -> None:
    """Build the distributions for the platforms on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platforms", nargs="+", choices=list(PLATFORMS), help="platforms to build for")
    parser.add_argument("--output", type=Path, default=PROJECT / "dist", help="output folder (default: dist)")
    arguments = parser.parse_args()
    build(arguments.platforms, arguments.output.resolve())


if __name__ == "__main__":
    main()
