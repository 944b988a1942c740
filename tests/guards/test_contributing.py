"""The sections "Adding a ..." of CONTRIBUTING.md: their paths exist for the example of each section."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## Adding an? (\w+)\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE))
SERVER = "server/src/capeval_server"
# Entries that a section requires in files that exist already, with the example for {}.
ENTRIES = {
    "metric": {"src/capeval/__init__.py": "capeval.metrics.{} import"},
    "study": {
        "docs/studies/index.md": "({}.md) |",
        "tests/capeval/study_cases.py": '    "{}": StudyCase(',
    },
    "page": {f"{SERVER}/web/hosting/__init__.py": " {}."},
    "task": {
        f"{SERVER}/annotation/task_types/triplet.py": '    name = "{}"\n',
        "docs/server/annotation.md": "| `{}` |",
    },
    "job": {f"{SERVER}/submissions/jobs.py": "@register\n"},
    "command": {"src/capeval/cli/app.py": '"capeval.cli.commands.{}"'},
}


def find_example(body: str) -> str:
    """Return the name that replaces `foo` in a section."""
    (name,) = re.findall(r"The paths below are for `foo` = `(\w+)`", body)
    return str(name)


def list_paths(body: str) -> list[str]:
    """Return the files and folders of a section for its example."""
    spans = [span for span in re.findall(r"`([^`\s]+)`", body) if "/" in span]
    return [span.replace("foo", find_example(body)) for span in spans]


def test_the_sections_are_found() -> None:
    expected = {"metric", "study", "format", "field", "column", "page", "task", "job", "command"}
    assert set(SECTIONS) == expected
    assert set(ENTRIES) <= expected


@pytest.mark.parametrize("title", SECTIONS)
def test_paths_exist(title: str) -> None:
    paths = list_paths(SECTIONS[title])
    assert len(paths) >= 3
    for path in paths:
        assert (PROJECT / path).exists(), path
        assert path.endswith("/") == (PROJECT / path).is_dir(), path


@pytest.mark.parametrize("title", ENTRIES)
def test_the_example_has_its_entries(title: str) -> None:
    example = find_example(SECTIONS[title])
    for path, line in ENTRIES[title].items():
        assert path in list_paths(SECTIONS[title]), path
        entry = line.format(example)
        assert entry in (PROJECT / path).read_text(encoding="utf-8"), f"{path}: {entry}"


def test_a_missing_path_is_found() -> None:
    body = "The paths below are for `foo` = `nothing`.\n\n1. `src/capeval/metrics/foo.py`\n"
    assert list_paths(body) == ["src/capeval/metrics/nothing.py"]
    assert not (PROJECT / list_paths(body)[0]).exists()
