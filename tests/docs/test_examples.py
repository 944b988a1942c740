"""Examples in the README and the documentation run and print the documented output.

- A block marked `python` runs unchanged, the blocks of a page in order and with the same names. A block
  with `>>>` is a doctest: what it shows is compared.
- Of a block marked `console` or `sh`, commands that call `capeval` run in a shell, those of a page in order
  and in one folder. Each line is a command; or, if some start with `$ `, those are, and the lines below
  one are its output. They are compared, `...` matching any text. A command must fail if and only if an
  error is shown below it.

Examples can use the files and names below.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from capeval.resources.spice import RUN
from tests.spice_model import IS_HERE
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
# Its examples need PyTorch: tests/training runs them.
ELSEWHERE = ROOT / "docs" / "how-to" / "integrations.md"
# Its script needs PyTorch: tests/training/test_self_critical_page.py runs it.
SELF_CRITICAL = ROOT / "docs" / "how-to" / "pytorch.md"
# Its recipes need engines such as Spark: tests/distributed runs them.
ENGINES = ROOT / "docs" / "how-to" / "engines.md"
# Its example needs PyTorch and transformers: tests/decoding/captioners runs it.
TRANSFORMERS = ROOT / "docs" / "baselines" / "transformers.md"
PAGES = sorted(
    {ROOT / "README.md", *ROOT.glob("docs/**/*.md")} - {ELSEWHERE, SELF_CRITICAL, ENGINES, TRANSFORMERS}
)
FENCE = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)

REFERENCES = {
    1: ["A dog runs on the grass.", "The dog is running outside."],
    2: ["Two cats sleep on a bed.", "Cats on a bed."],
    3: ["A red bus drives down the street.", "A bus on a city street."],
}
CANDIDATES = {1: "A dog is running on grass.", 2: "Two cats on a bed.", 3: "A bus drives down a street."}
OTHERS = {1: "A dog on the grass.", 2: "A cat sleeps.", 3: "A red bus on the street."}
DOMAINS = {"animals": [1, 2], "vehicles": [3]}
# Objects of Open Images: a dog in a box with an animal, a fire hydrant and a tree.
OPEN_IMAGES = {
    "boxes.csv": "ImageID,LabelName,Confidence,XMin,XMax,YMin,YMax\n3f,/m/0bt9lr,1,.1,.9,.1,.9\n"
    "3f,/m/0jbk,1,.1,.9,.1,.9\n3f,/m/01pns0,1,.8,.9,.5,.9\n3f,/m/07j7r,1,0,.2,0,1\n",
    "classes.csv": "/m/0bt9lr,Dog\n/m/0jbk,Animal\n/m/01pns0,Fire hydrant\n/m/07j7r,Tree\n",
    "hierarchy.json": '{"LabelName": "/m/0bl9f", "Subcategory": [{"LabelName": "/m/0jbk", "Subcategory":'
    ' [{"LabelName": "/m/0bt9lr"}]}, {"LabelName": "/m/01pns0"}, {"LabelName": "/m/07j7r"}]}',
}


class Block(NamedTuple):
    """A fenced block: the line that its text starts at, its language, its text."""

    line: int
    language: str
    text: str


class Command(NamedTuple):
    """A shell command with its documented output."""

    line: int
    text: str
    shown: str


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, match.start(3)) + 1, match[2], textwrap.dedent(match[3]))
        for match in FENCE.finditer(text)
        if match[2] in languages
    ]


def commands(page: Path) -> Iterator[Command]:
    for block in blocks(page, "console", "sh"):
        start = r"^\$ " if re.search(r"^\$ ", block.text, re.MULTILINE) else r"^(?<!\\\n)"
        parts = re.split(start, block.text, flags=re.MULTILINE)
        line = block.line + parts[0].count("\n")
        for part in parts[1:]:
            # A backslash at the end of a line continues the command. Output lines may end with one, too.
            [(command, shown)] = re.findall(r"\A((?:[^\n]*\\\n)*[^\n]*)\n?([\s\S]*)", part)
            command = command.replace("\\\n", "")
            if re.search(r"(^|[|;] *)capeval ", command):
                yield Command(line, command, shown)
            line += part.count("\n")


def with_python() -> list[Path]:
    return [page for page in PAGES if blocks(page, "python")]


def with_commands() -> list[Path]:
    return [page for page in PAGES if list(commands(page))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_there_are_examples() -> None:
    assert ROOT / "README.md" in with_python()
    assert ROOT / "README.md" in with_commands()
    assert ROOT / "docs" / "explanation" / "deviations.md" in with_python()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that examples run in, with the files that they use."""
    references = [
        {"image_id": image, "caption": caption} for image, group in REFERENCES.items() for caption in group
    ]
    files: dict[str, object] = {"references.json": references, "domains.json": DOMAINS}
    for file, captions in {"results.json": CANDIDATES, "a.json": CANDIDATES, "b.json": OTHERS}.items():
        files[file] = [{"image_id": image, "caption": caption} for image, caption in captions.items()]
    for file, content in files.items():
        (tmp_path / file).write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "captions.txt").write_text("".join(f"{c}\n" for c in CANDIDATES.values()), encoding="utf-8")
    for file, text in OPEN_IMAGES.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", with_python(), ids=name)
def test_python(page: Path) -> None:
    if page.name == "spice.md" and not IS_HERE:
        pytest.skip(f"LEFT OUT: SPICE's model is not here: {RUN}")
    names: dict[str, Any] = {
        "__name__": "__main__",
        "references": REFERENCES,
        "candidates": CANDIDATES,
        "other_candidates": OTHERS,
    }
    for block in blocks(page, "python"):
        if ">>> " in block.text:
            run_doctest(block.text, name(page), names, file=page, line=block.line - 1)
        else:
            # Tracebacks show line numbers of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)


def run_doctest(
    text: str, place: str, names: dict[str, Any], *, file: Path | None = None, line: int = 0
) -> None:
    """Run the examples in a text with the names, and compare the outputs."""
    test = doctest.DocTestParser().get_doctest(text, names, place, str(file or place), line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    output: list[str] = []
    result = runner.run(test, out=output.append, clear_globs=False)
    names.update(test.globs)
    assert result.failed == 0, "".join(output)


@pytest.mark.parametrize("page", with_commands(), ids=name)
def test_commands(page: Path, folder: Path) -> None:
    # The command next to the interpreter of the tests comes first, before other installations.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "PYTHONUTF8": "1", "NO_COLOR": "1"}
    # That of the tests, which a server of the examples does not share.
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    for command in commands(page):
        done = subprocess.run(
            command.text,
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        where = f"{name(page)}:{command.line}: {command.text}\n{done.stdout}{done.stderr}"
        assert done.returncode == (2 if "capeval: error:" in command.shown else 0), where
        if command.shown.strip():
            assert same(command.shown, done.stdout + done.stderr), where


def same(shown: str, written: str) -> bool:
    """Return whether outputs match, ignoring outer empty lines and spaces at the ends of lines."""
    shown, written = (
        "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n" for text in (shown, written)
    )
    return doctest.OutputChecker().check_output(shown, written, doctest.ELLIPSIS)
