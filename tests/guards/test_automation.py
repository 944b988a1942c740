"""The forge's automation: workflows run recipes of the Makefile, with pinned actions; forms are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((PROJECT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def read(path: Path) -> dict[str, Any]:
    """Return a YAML file; all scalars are strings, also the key `on`."""
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    return content


def list_steps(path: Path) -> list[dict[str, Any]]:
    """List the steps of all jobs of a workflow."""
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_the_workflows_are_found() -> None:
    assert [path.stem for path in WORKFLOWS] == ["audit", "ci", "docs", "release"]
    assert [path.stem for path in FORMS] == ["bug", "feature", "wrong_score"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_are_recipes(path: Path) -> None:
    commands = [step["run"] for step in list_steps(path) if "run" in step]
    assert commands
    for command in commands:
        recipe = re.fullmatch(r"make ([a-z-]+)", command)
        assert recipe, f"{path.name}: {command!r} must be `make` and one recipe"
        assert re.search(rf"^{recipe[1]}:", MAKEFILE, re.MULTILINE), f"{path.name}: no recipe {recipe[1]}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert PINNED.search(line), f"{path.name}: pin the action to a commit, with its version: {line}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_the_least_rights(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        writes = {right for right, level in job.get("permissions", {}).items() if level == "write"}
        # Jobs that may publish run no code of the project.
        assert not writes or not any("run" in step for step in job["steps"]), f"{path.name}: {name}"


def test_the_matrix_has_all_versions_of_python() -> None:
    (job,) = (job for job in read(PROJECT / ".github/workflows/ci.yml")["jobs"].values() if "strategy" in job)
    matrix = job["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14", "3.14t"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_are_complete(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) >= 2
    assert all(field["attributes"]["label"] for field in fields)


def test_recipes_are_phony() -> None:
    (declared,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert {*re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)} == {*declared.split()}
