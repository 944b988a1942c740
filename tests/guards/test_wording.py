"""The wordings that the style guide discourages become fewer, never more."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import list_wording
from scripts.list_wording import Finding, count_by_package, list_files, list_findings, read_counts

RECORD = "run `python -m scripts.list_wording --record`"


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return list(list_findings(list_files()))


def test_no_package_has_more_discouraged_wordings(findings: list[Finding]) -> None:
    allowed = read_counts()
    counts = count_by_package(findings)
    higher = {package for package, count in counts.items() if count > allowed.get(package, 0)}
    places = [str(each) for each in findings if list_wording.get_package(each.path) in higher]
    assert not places, "\n".join(["rephrase these:", *places])
    lower = sorted(package for package, count in allowed.items() if count > counts.get(package, 0))
    assert not lower, f"{', '.join(lower)}: fewer than before: {RECORD}"


def _list_words(path: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(list_wording, "PROJECT", path.parent)
    return [f"{each.line} {each.kind} {each.words}" for each in list_findings([path.name])]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.py", '"""What is read."""\n', ["1 docstring What"]),
        ("a.py", '"""A file, and who reads it."""\n', ["1 docstring who"]),
        ("a.py", '"""Files.\n\nThese lie beside\nothers.\n"""\n', ["3 docstring beside"]),
        ("a.py", 'def f():\n    """Has lines."""\n', ["2 docstring Has"]),
        ("a.py", "# It goes on.\nx = 1\n", ["1 comment goes on"]),
        ("a.py", 'x = "so many files"\ny = "beside"\n', ["1 string so many"]),
        ("a.py", 'option(help="Whose files.")\n', ["1 label Whose"]),
        ("a.py", 'option(help="What is CIDEr-D?")\n', []),
        ("a.py", "def f(neighbour, colours): pass\n", ["1 name neighbour", "1 name colour"]),
        ("a.py", '"""Code: `beside`.\n\n    >>> beside()\n"""\n', []),
        (
            "a.rs",
            '/// Likewise.\nfn f() { g("anew or not", "beside") }\n',
            ["1 comment Likewise", "2 string anew"],
        ),
        (
            "a.md",
            "# What is read\n\nIt shall.\n\n```py\nbeside()\n```\n",
            ["1 heading What", "3 prose shall"],
        ),
        ("a.md", "# What does the error mean?\n", []),
        ("a.sh", "run beside  # Runs anew.\n", ["1 comment anew"]),
        (
            "a.html",
            "<h1>\n  Who works</h1><p>{% if beside %}besides</p>\n",
            ["2 label Who", "2 prose besides"],
        ),
        ("a.html", '<a title="What it does">x</a><script>beside</script>\n', ["1 label What"]),
    ],
)
def test_places_of_discouraged_wordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, found: list[str]
) -> None:
    assert _list_words(tmp_path / name, content, monkeypatch) == found


def test_packages_are_folders_of_the_layout() -> None:
    paths = {
        "src/capeval/tokenizers.py": "src/capeval",
        "src/capeval/metrics/bleu.py": "src/capeval/metrics",
        "server/src/capeval_server/web/public/home.py": "server/src/capeval_server/web",
        "docs/reference/library.md": "docs/reference",
        "docs/index.md": "docs",
        "docs/server/host-a-challenge.md": "docs/server",
        "README.md": ".",
        "scripts/wheels.py": "scripts",
    }
    assert {path: list_wording.get_package(path) for path in paths} == paths
