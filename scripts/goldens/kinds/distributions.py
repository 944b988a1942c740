"""Golden of wheels and source distributions: files and metadata."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from scripts.goldens.masks import mask
from scripts.goldens.names import DISTRIBUTIONS, PROJECT
from scripts.goldens.registry import Golden, register

_METADATA = ("METADATA", "WHEEL", "entry_points.txt", "PKG-INFO")
# Source files are not listed individually, because refactorings move them.
_SOURCES = (".py", ".rs")
_MASKS = ((r"(?<=^Generator: ).*", "BUILD TOOL"), (r"(?<=^Tag: ).*", "TAG"))


# The commands that build a wheel and a source distribution, by the build backend in pyproject.toml.
_COMMANDS = {
    "hatchling.build": (("hatchling", "build", "--directory"),),
    "maturin": (
        ("maturin", "sdist", "--out"),
        # This profile is already built in the environment, and packs the same files as a release.
        ("maturin", "build", "--profile", "development", "--locked", "--compatibility", "linux", "--out"),
    ),
}


def _write(folder: Path) -> None:
    for name, root in DISTRIBUTIONS.items():
        with tempfile.TemporaryDirectory(prefix="capeval-goldens-") as built:
            _build(PROJECT / root, built)
            (wheel,), (source,) = Path(built).glob("*.whl"), Path(built).glob("*.tar.gz")
            for kind, files, sources, depth in (
                ("wheel", read_wheel(wheel), PROJECT / root / "src", 1),
                ("sdist", read_sdist(source), PROJECT / root, 2),
            ):
                listed = mask("".join(f"{line}\n" for line in list_files(files, sources, depth)))
                (folder / f"{name}-{kind}-files.txt").write_text(listed)
                (folder / f"{name}-{kind}-metadata.txt").write_text(mask(describe_metadata(files)))


def _build(project: Path, output: str) -> None:
    """Build the wheel and the source distribution of a project into a folder."""
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    for command in _COMMANDS[settings["build-system"]["build-backend"]]:
        done = subprocess.run(
            [sys.executable, "-m", *command, output],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed in {project}:\n{done.stdout}{done.stderr}")


def read_wheel(path: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def read_sdist(path: Path) -> dict[str, bytes]:
    """Return the files of a source distribution by name, without its root folder."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                found[member.name.partition("/")[2]] = file.read()
    return found


def list_files(names: Iterable[str], root: Path, depth: int) -> Iterator[str]:
    """Yield the files of a distribution, and one line per package on its sources.

    Args:
        names: Files of the distribution.
        root: Folder of the project that corresponds to the root of the distribution.
        depth: Number of components in the path of a package.
    """
    names = set(names)
    sources = {name for name in names if name.endswith(_SOURCES)}
    yield from sorted(names - sources)
    for package in sorted({PurePosixPath(*PurePosixPath(name).parts[:depth]) for name in sources}):
        there = {name for name in sources if PurePosixPath(name).is_relative_to(package)}
        expected = {
            path.relative_to(root).as_posix()
            for path in (root / package).rglob("*")
            if path.suffix in _SOURCES
        }
        yield f"{package}: {'all' if there == expected else 'not all'} source files"
        yield from (f"missing: {name}" for name in sorted(expected - there))
        yield from (f"not in the tree: {name}" for name in sorted(there - expected))


def describe_metadata(files: Mapping[str, bytes]) -> str:
    """Return the metadata of a distribution, without description and tool versions."""
    parts = []
    for name, content in sorted(files.items()):
        last = name.rpartition("/")[2]
        if last in _METADATA and name.count("/") <= 1:
            # The description follows the headers after a blank line.
            text = content.decode()
            headers = text if last == "entry_points.txt" else text.partition("\n\n")[0]
            parts.append(f"--- {last}\n{headers.strip()}\n")
    text = "".join(parts)
    for pattern, name in _MASKS:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text


register(
    Golden(
        name="distributions",
        about="files and metadata of the wheel and the source distribution",
        write=_write,
        process="distributions",
        renames="file_names.toml",
    )
)
