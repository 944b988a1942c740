"""What CONTRIBUTING says that a change touches is there: each section is tried with its own example."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## Adding an? (\w+)\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE))
# Where a new thing is named besides in its own files.
LISTS = {
    "metric": {"docs/metrics/index.md": "\n{}\n", "src/capeval/__init__.py": "capeval.metrics.{} import"},
    "study": {"docs/studies/index.md": "\n{}\n", "src/capeval/cli/studies/app.py": '    "{}",'},
    "page": {"src/capeval_server/pages/organiser/__init__.py": " {}."},
}


def example(body: str) -> str:
    """The name that stands for `foo`."""
    (name,) = re.findall(r"The paths above are those of `foo` = `(\w+)`", body)
    return str(name)


def paths(body: str) -> list[str]:
    """The files and folders that a section names, of its example."""
    named = [span for span in re.findall(r"`([^`\s]+)`", body) if "/" in span]
    return [span.replace("foo", example(body)) for span in named]


def test_the_sections_are_found() -> None:
    assert set(SECTIONS) == {"metric", "study", "format", "column", "page", "task", "job"}


@pytest.mark.parametrize("title", SECTIONS)
def test_what_is_named_is_there(title: str) -> None:
    named = paths(SECTIONS[title])
    assert len(named) >= 3
    for path in named:
        assert (PROJECT / path).exists(), path
        assert path.endswith("/") == (PROJECT / path).is_dir(), path


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_is_in_the_lists_that_are_named(title: str) -> None:
    for path, line in LISTS.get(title, {}).items():
        wanted = line.format(example(SECTIONS[title]))
        assert wanted in (PROJECT / path).read_text(encoding="utf-8"), f"{path}: {wanted}"


def test_a_path_that_is_not_there_is_seen() -> None:
    body = "1. `src/capeval/metrics/foo.py`\n\nThe paths above are those of `foo` = `nothing`.\n"
    assert paths(body) == ["src/capeval/metrics/nothing.py"]
    assert not (PROJECT / paths(body)[0]).exists()
