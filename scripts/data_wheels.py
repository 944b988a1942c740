"""Build of the data packages: wheels with METEOR's tables and SPICE's model, and with their licenses.

Run `python scripts/data_wheels.py --output dist`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import capeval
from capeval.resources.compiled_files import read_fingerprint
from capeval.resources.installed_files import find_installed_file
from capeval.resources.meteor import ensure_tables
from capeval.resources.spice import ensure_model, find_jars

PROJECTS = Path(__file__).parent / "data_packages"
METEOR_JAR, PARAPHRASES = "meteor/meteor-1.5.jar", "meteor/data/paraphrase-en.gz"
WORDNET_LICENSE = "synonym/COPYING.WORDNET"


@dataclass(frozen=True, kw_only=True)
class DataPackage:
    """A package with a compiled file.

    Attributes:
        name: The name of the distribution.
        compile: Function that returns the path of the compiled file.
        sources: The files of pycocoevalcap with the data. Their checksums are recorded.
        find_jars: Function that returns further sources, which may be elsewhere, by name.
    """

    name: str
    compile: Callable[[], Path]
    sources: tuple[str, ...]
    find_jars: Callable[[], Mapping[str, Path]] = dict

    @property
    def package(self) -> str:
        """The name of the Python package."""
        return self.name.replace("-", "_")


PACKAGES = {
    "meteor": DataPackage(
        name="capeval-meteor-data", compile=ensure_tables, sources=(METEOR_JAR, PARAPHRASES)
    ),
    "spice": DataPackage(
        name="capeval-spice-model",
        compile=ensure_model,
        sources=(METEOR_JAR,),
        find_jars=find_jars,
    ),
}


def build(data: DataPackage, output: Path) -> Path:
    """Build the wheel of a data package into a folder and return its path."""
    with tempfile.TemporaryDirectory() as name:
        project, built = Path(name) / "project", Path(name) / "built"
        shutil.copytree(PROJECTS / data.name, project)
        _add_data(data, project)
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(built)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)  # noqa: S603
        (wheel,) = built.glob("*.whl")
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, output))


def _add_data(data: DataPackage, project: Path) -> None:
    package = project / data.package
    compiled = Path(shutil.copy(data.compile(), package))
    sources = [find_installed_file(name, f"the sources of {data.name}") for name in data.sources]
    sources += data.find_jars().values()
    jar = find_installed_file(METEOR_JAR, "WordNet's license")
    with zipfile.ZipFile(jar) as archive:
        (project / "COPYING.WORDNET").write_bytes(archive.read(WORDNET_LICENSE))
    made_of = {
        "capeval": capeval.__version__,
        "fingerprint": read_fingerprint(compiled),
        "sha256": _compute_checksums([compiled, *sources]),
    }
    (package / "made_of.json").write_text(json.dumps(made_of, indent=2) + "\n", encoding="utf-8")


def _compute_checksums(paths: Iterable[Path]) -> dict[str, str]:
    checksums = {}
    for path in paths:
        with path.open("rb") as file:
            checksums[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return checksums


def main() -> None:
    """Build the wheels and print their paths."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="meteor or spice; by default both")
    parser.add_argument("--output", type=Path, default=Path("dist"))
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.packages if name not in PACKAGES]:
        parser.error(f"unknown package {unknown[0]!r}; choose from {', '.join(PACKAGES)}")
    for name in arguments.packages or PACKAGES:
        print(build(PACKAGES[name], arguments.output))  # noqa: T201


if __name__ == "__main__":
    main()
