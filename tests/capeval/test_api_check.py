"""Comparison of the public API with an earlier release."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import api_check


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with packages, tagged as v0.1.0, and an API reference of one module."""
    for package, folder in api_check.PACKAGES.items():
        path = tmp_path / folder / package
        path.mkdir(parents=True)
        (path / "__init__.py").write_text('__all__ = ["f"]\n\n\ndef f(a, b=1):\n    """Return a."""\n')
        (path / "cli.py").write_text('__all__ = ["run"]\n\n\ndef run(a):\n    """Run."""\n')
    pages = tmp_path / "docs" / "api"
    pages.mkdir(parents=True)
    (pages / "index.md").write_text(".. automodule:: capeval\n   :members:\n")
    author = ("-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "Add"), ("tag", "v0.1.0")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_incompatible_changes_are_found(project: Path) -> None:
    assert api_check.find_last_release(project) == "v0.1.0"
    assert list(api_check.list_changes("v0.1.0", project)) == []
    module = project / "src" / "capeval" / "__init__.py"
    module.write_text(module.read_text().replace("b=1", "b=2"))
    (module.parent / "cli.py").write_text("")
    (change,) = api_check.list_changes("v0.1.0", project)
    assert change.endswith("src/capeval/__init__.py:4: f(b): Parameter default was changed: 1 -> 2")


def test_a_name_may_move_if_it_is_still_exported(project: Path) -> None:
    folder = project / "src" / "capeval"
    (folder / "functions.py").write_text((folder / "__init__.py").read_text())
    (folder / "__init__.py").write_text('from capeval.functions import f\n\n__all__ = ["f"]\n')
    assert list(api_check.list_changes("v0.1.0", project)) == []
    (folder / "__init__.py").write_text("__all__ = []\n")
    (change,) = api_check.list_changes("v0.1.0", project)
    assert change.endswith("f: Public object was removed")


def test_a_project_without_tags_has_no_release(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert api_check.find_last_release(tmp_path) is None


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "1.0.0", True),
        ("1.0.0", "1.1.0", False),
        ("1.4.0", "2.0.0", True),
    ],
)
def test_versions_that_allow_changes(old: str, new: str, allowed: bool) -> None:
    assert api_check.allows_changes(old, new) is allowed
