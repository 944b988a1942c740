"""SPICE's reference, run on captions: Java SPICE 1.0 with CoreNLP 3.6.0.

SPICE's jar and its libraries come with pycocoevalcap, CoreNLP's two jars through Maven, as `capeval resources
spice` fetches them. `Driver.java` is compiled against them when it is needed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from capeval.resources.installed_files import find_installed_folders

DRIVER = Path(__file__).with_name("Driver.java")
MEMORY = "3g"
_CORENLP = Path.home() / ".m2" / "repository" / "edu" / "stanford" / "nlp" / "stanford-corenlp" / "3.6.0"
_NEEDED = (
    "spice-1.0.jar",
    "SceneGraphParser-1.0.jar",
    "stanford-corenlp-3.6.0.jar",
    "stanford-corenlp-3.6.0-models.jar",
)


def class_path() -> list[Path]:
    """The reference's jars.

    Raises:
        FileNotFoundError: One of them is missing.
    """
    folders = [folder / "spice" for folder in find_installed_folders()]
    jars = [jar for folder in folders for jar in sorted([*folder.glob("*.jar"), *folder.glob("lib/*.jar")])]
    jars += [jar for jar in sorted(_CORENLP.glob("*.jar")) if not jar.stem.endswith("sources")]
    if missing := {*_NEEDED} - {jar.name for jar in jars}:
        raise FileNotFoundError(
            f"Java SPICE needs {', '.join(sorted(missing))}: pip install pycocoevalcap, and mvn"
        )
    return jars


def is_here() -> bool:
    """Whether the reference can be run."""
    try:
        class_path()
    except FileNotFoundError:
        return False
    return shutil.which("javac") is not None


def stages(captions: Sequence[str], processors: int = 1) -> list[dict[str, Any]]:
    """Every stage of captions: rows as `stages.py` says."""
    return _rows("stages", captions, processors)


def counts(images: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Matched, surplus and missing tuples of images by category."""
    return _rows("counts", images, len(os.sched_getaffinity(0)))


def command(folder: Path, *arguments: str, processors: int, memory: str = MEMORY) -> list[str]:
    """The command that runs the driver, which is compiled into a folder."""
    path = os.pathsep.join(map(str, class_path()))
    if not (folder / "edu").exists():
        subprocess.run(["javac", "-cp", path, "-d", str(folder), str(DRIVER)], check=True)
    # With one processor, the reference's own loop annotates every caption twice.
    options = [f"-Xmx{memory}", "-Dfile.encoding=UTF-8", f"-XX:ActiveProcessorCount={max(processors, 2)}"]
    return ["java", *options, "-cp", f"{folder}{os.pathsep}{path}", "edu.anu.spice.Driver", *arguments]


def write_lines(path: Path, values: Sequence[Any]) -> None:
    """Write one JSON value per line, in ASCII: a lone surrogate is an escape, as Java expects."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="ascii")


def _rows(what: str, values: Sequence[Any], processors: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = folder / "in.jsonl", folder / "out.jsonl"
        write_lines(source, values)
        arguments = command(folder, what, str(source), str(target), processors=processors)
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Java SPICE failed: {done.stderr[-2000:]}")
        # Not splitlines: Java leaves line separators of Unicode unescaped.
        return [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n") if line]
