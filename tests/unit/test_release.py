"""What checks a release, on releases that are wrong; and the notice of the crates that are linked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from scripts import release_check, third_party, wheels

CARGO = '[workspace.package]\nversion = "1.2.0"\n'
GOOD = [
    ("capeval/__init__.py", 10),
    ("capeval/_native.abi3.so", 30_000_000),
    ("capeval-1.2.0.dist-info/METADATA", 10),
    ("capeval-1.2.0.dist-info/licenses/LICENSE", 10),
    ("capeval-1.2.0.dist-info/licenses/THIRD-PARTY.txt", 10),
]
CRATE = third_party.Crate(name="a", version="1.0.0", expression="MIT", folder=Path())


def test_versions_agree() -> None:
    changelog = "# Changelog\n\n## [1.2.0] - 2026-01-31\n\n## [1.1.0] - 2025-01-31\n"
    files = ["capeval-1.2.0.tar.gz", "capeval-1.2.0-cp311-abi3-manylinux2014_x86_64.whl"]
    assert not list(release_check.versions(changelog, CARGO, files))
    (problem,) = release_check.versions(changelog, CARGO, ["capeval-1.1.0.tar.gz"])
    assert problem == "capeval-1.1.0.tar.gz must be of version 1.2.0"
    (problem,) = release_check.versions("## [1.3.0] - unreleased\n", CARGO, files)
    assert problem == "the first version of CHANGELOG.md must be Cargo.toml's, 1.2.0 (got 1.3.0)"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("capeval/captions_val2014.json", 10), "w must not hold capeval/captions_val2014.json"),
        (("capeval/meteor.tables", 10), "w must not hold capeval/meteor.tables"),
        (("capeval/big.py", 20_000_000), "w holds capeval/big.py of 20,000,000 bytes"),
    ],
)
def test_a_wheel_holds_what_it_should(more: tuple[str, int], message: str) -> None:
    assert not list(release_check.contents("w", GOOD))
    assert list(release_check.contents("w", [*GOOD, more])) == [message]


def test_all_that_is_in_the_packages_may_be_in_a_wheel() -> None:
    listed = ["git", "ls-files", "capeval", "capeval_baselines", "capeval_server"]
    files = release_check.run(listed, cwd=third_party.PROJECT / "src").split()
    assert "capeval/py.typed" in files
    licences = [f"capeval-1.2.0.dist-info/licenses/{name}" for name in release_check.LICENCES]
    assert not list(release_check.contents("w", [(name, 1) for name in (*files, *licences)]))


def test_a_wheel_holds_its_licences() -> None:
    assert list(release_check.contents("w", GOOD[:-1])) == ["w must hold THIRD-PARTY.txt"]


def test_a_folder_without_distributions_is_refused(tmp_path: Path) -> None:
    (problem,) = release_check.problems(tmp_path)
    assert problem.endswith("must have wheels and one source distribution (got 0 and 0)")


def test_an_older_distribution_is_not_mixed_with_new_ones(tmp_path: Path) -> None:
    (tmp_path / "capeval-0.0.9.tar.gz").touch()
    with pytest.raises(SystemExit, match="must have no other distribution of capeval"):
        wheels.build(["x86_64"], tmp_path)


@pytest.mark.parametrize(
    ("expression", "licence"),
    [
        ("MIT OR Apache-2.0", "Apache-2.0"),
        ("MIT/Apache-2.0", "Apache-2.0"),
        ("Unlicense OR MIT", "MIT"),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 AND Unicode-3.0"),
    ],
)
def test_a_licence_that_is_allowed_is_chosen(expression: str, licence: str) -> None:
    assert dataclasses.replace(CRATE, expression=expression).licence == licence


@pytest.mark.parametrize("expression", ["GPL-3.0-only", "MIT AND GPL-2.0-only", "none"])
def test_another_licence_is_refused(expression: str) -> None:
    with pytest.raises(SystemExit, match=r"a 1.0.0 has a licence that is not allowed"):
        _ = dataclasses.replace(CRATE, expression=expression).licence


def test_a_licence_without_its_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"a 1.0.0 comes without the text"):
        list(dataclasses.replace(CRATE, folder=tmp_path).texts())
    (tmp_path / "LICENSE-MIT").write_text("Permission is hereby granted\n")
    assert list(dataclasses.replace(CRATE, folder=tmp_path).texts()) == ["Permission is hereby granted"]


def test_the_notice_is_of_the_crates_that_are_linked() -> None:
    crates = third_party.linked()
    names = {crate.name for crate in crates}
    assert {"pyo3", "rayon", "memmap2"} <= names
    # Macros, builds and other systems.
    assert not names & {"syn", "serde_derive", "criterion", "windows-sys", "wasm-bindgen"}
    assert third_party.NOTICE.read_text(encoding="utf-8") == third_party.notice(crates)
