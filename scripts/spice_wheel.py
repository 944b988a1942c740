"""Build of the wheel `capeval-spice-model`: compiled SPICE model and licenses."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import capeval
from capeval._native import SpiceModel
from capeval.resources.installed_files import find_installed_file
from capeval.resources.spice import ensure_model

PROJECT = Path(__file__).parent / "spice_model"
METEOR, WORDNET_LICENSE = "meteor/meteor-1.5.jar", "synonym/COPYING.WORDNET"


def build(output: Path) -> Path:
    """Build the wheel into a folder and return its path."""
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        shutil.copytree(PROJECT, project)
        _add_model(project)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(output)]
        subprocess.run([*command, str(project)], check=True)  # noqa: S603
    return max(output.glob("capeval_spice_model-*.whl"), key=lambda wheel: wheel.stat().st_mtime)


def _add_model(project: Path) -> None:
    package = project / "capeval_spice_model"
    model = ensure_model(folder=package)
    for other in {*package.glob(f"{model.stem}.*")} - {model}:
        other.unlink()
    meteor = find_installed_file(METEOR, "WordNet's license and synonyms")
    with zipfile.ZipFile(meteor) as jar:
        (project / "COPYING.WORDNET").write_bytes(jar.read(WORDNET_LICENSE))
    made_of = {
        "capeval": capeval.__version__,
        "fingerprint": SpiceModel.open(model).fingerprint,
        "sha256": {path.name: _sha256(path) for path in (model, meteor)},
    }
    (package / "made_of.json").write_text(json.dumps(made_of, indent=2) + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Build the wheel and print its path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("dist"))
    print(build(parser.parse_args().output))  # noqa: T201


if __name__ == "__main__":
    main()
