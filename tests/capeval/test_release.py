"""Release checks on faulty distributions, and the notice of the linked crates."""

from __future__ import annotations

import dataclasses
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import release_check, third_party, wheels
from scripts.release_check import BASE, DISTRIBUTIONS, Distribution

SERVER, DECODING = release_check.PURE
WHEEL, SOURCE = "capeval-1.2.0-cp311-abi3-manylinux2014_x86_64.whl", "capeval-1.2.0.tar.gz"
FILES = [
    WHEEL,
    SOURCE,
    "capeval_server-1.2.0-py3-none-any.whl",
    "capeval_server-1.2.0.tar.gz",
    "capeval_decoding-1.2.0-py3-none-any.whl",
    "capeval_decoding-1.2.0.tar.gz",
]
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
    version = release_check.read_version('[workspace.package]\nversion = "1.2.0"\n')
    assert not list(release_check.check_versions(changelog, version, FILES))
    (error,) = release_check.check_versions(changelog, version, ["capeval_server-1.1.0.tar.gz"])
    assert error == "capeval_server-1.1.0.tar.gz must be of version 1.2.0"
    (error,) = release_check.check_versions("## [1.3.0] - unreleased\n", version, FILES)
    assert error == "the first version of CHANGELOG.md must be Cargo.toml's, 1.2.0 (got 1.3.0)"


@pytest.mark.parametrize(
    ("distribution", "metadata", "errors"),
    [
        (BASE, "Name: capeval\nVersion: 1.2.0\n", []),
        (SERVER, "Name: capeval-server\nVersion: 1.2.0\nRequires-Dist: capeval==1.2.0\n", []),
        (
            BASE,
            "Name: capeval\nVersion: 1.1.0\n",
            ["w must have the version 1.2.0 in its metadata (got 1.1.0)"],
        ),
        (
            SERVER,
            "Name: capeval-server\nVersion: 1.2.0\n\nRequires-Dist: capeval==1.2.0\n",
            ["w must require capeval==1.2.0"],
        ),
        (
            DECODING,
            "Name: capeval-server\nVersion: 1.2.0\nRequires-Dist: capeval==1.2.0\n",
            ["w must have the name capeval-decoding in its metadata (got capeval-server)"],
        ),
    ],
)
def test_metadata_has_the_version_and_the_pin(
    distribution: Distribution, metadata: str, errors: list[str]
) -> None:
    assert list(release_check.check_metadata(distribution, "w", metadata, "1.2.0")) == errors


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("capeval/captions_val2014.json", 10), "w must not contain capeval/captions_val2014.json"),
        (("capeval/meteor.tables", 10), "w must not contain capeval/meteor.tables"),
        (("capeval_server/__init__.py", 10), "w must not contain capeval_server/__init__.py"),
        (("capeval_decoding/py.typed", 10), "w must not contain capeval_decoding/py.typed"),
        (("capeval/big.py", 20_000_000), "w contains capeval/big.py of 20,000,000 bytes"),
    ],
)
def test_a_wheel_contains_no_other_files(more: tuple[str, int], message: str) -> None:
    assert not list(release_check.check_contents(BASE, "w", GOOD))
    assert list(release_check.check_contents(BASE, "w", [*GOOD, more])) == [message]


@pytest.mark.parametrize("distribution", [SERVER, DECODING])
@pytest.mark.parametrize("name", [WHEEL, SOURCE])
def test_capeval_contains_no_other_distribution(distribution: Distribution, name: str) -> None:
    in_source = name == SOURCE
    for file in release_check.list_package_files(distribution):
        for place in (file, f"src/{file}", f"{distribution.root}/src/{file}"):
            assert not BASE.is_allowed(place, in_source=in_source), place
        assert not in_source or distribution.is_allowed(f"src/{file}", in_source=True), file


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.name)
def test_all_files_of_a_package_are_allowed(distribution: Distribution) -> None:
    files = release_check.list_package_files(distribution)
    assert f"{distribution.file_name}/__init__.py" in files
    folder = f"{distribution.file_name}-1.2.0.dist-info/licenses"
    wheel = [*files, *(f"{folder}/{name}" for name in distribution.licenses)]
    source = [*(f"src/{file}" for file in files), *distribution.licenses, "PKG-INFO", "pyproject.toml"]
    for name, members in (("w", wheel), ("s.tar.gz", source)):
        sized = [(member, 1) for member in members]
        assert list(release_check.check_contents(distribution, name, sized)) == []
        assert not list(release_check.check_complete(distribution, name, sized))


def test_a_missing_file_of_a_package_is_reported() -> None:
    files = [(file, 1) for file in release_check.list_package_files(DECODING)]
    missing = "capeval_decoding/word_forms.py"
    files.remove((missing, 1))
    assert list(release_check.check_complete(DECODING, "w", files)) == [f"w must contain {missing}"]


def test_a_wheel_contains_its_licenses() -> None:
    assert list(release_check.check_contents(BASE, "w", GOOD[:-1])) == ["w must contain THIRD-PARTY.txt"]


@pytest.mark.parametrize(
    ("files", "errors"),
    [
        (FILES, []),
        ([*FILES, "capeval-1.2.0-cp311-abi3-manylinux2014_aarch64.whl"], []),
        (FILES[1:], ["capeval must have wheels and one source distribution (got 0 and 1)"]),
        (FILES[:-1], ["capeval-decoding must have one wheel and one source distribution (got 1 and 0)"]),
        (
            [*FILES, "capeval_server-1.1.0-py3-none-any.whl"],
            ["capeval-server must have one wheel and one source distribution (got 2 and 1)"],
        ),
        (
            [*FILES, "capeval_spice_model-1.0-py3-none-any.whl"],
            ["capeval_spice_model-1.0-py3-none-any.whl belongs to no distribution of capeval"],
        ),
    ],
)
def test_each_distribution_has_its_files(files: Sequence[str], errors: list[str]) -> None:
    assert list(release_check.check_files([Path(name) for name in files])) == errors


def test_a_folder_without_distributions_is_refused(tmp_path: Path) -> None:
    errors = list(release_check.check_release(tmp_path))
    assert len(errors) == len(DISTRIBUTIONS)
    assert errors[0].endswith("capeval must have wheels and one source distribution (got 0 and 0)")


@pytest.mark.parametrize("name", ["capeval", "capeval_server", "capeval_decoding"])
def test_an_older_distribution_is_not_mixed_with_new_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}-0.0.9.tar.gz").touch()
    with pytest.raises(SystemExit, match=rf"already contains {name}-0\.0\.9\.tar\.gz: empty it first"):
        wheels.build(["x86_64"], tmp_path)


def test_platforms_of_wheels_and_licenses_agree() -> None:
    targets = [platform.target for platform in wheels.PLATFORMS.values()]
    # Windows itself builds the published wheels for Windows.
    targets.append("x86_64-pc-windows-msvc")
    assert list(third_party.PLATFORMS) == targets
    rules = tomllib.loads((wheels.PROJECT / "deny.toml").read_text(encoding="utf-8"))
    assert rules["graph"]["targets"] == targets


def test_a_missing_linker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rustc = shutil.which("rustc")
    assert rustc is not None
    monkeypatch.setenv("PATH", str(Path(rustc).parent))
    with pytest.raises(SystemExit, match="x86_64-pc-windows-gnu needs the linker x86_64-w64-mingw32-gcc"):
        wheels.build(["windows-x86_64"], tmp_path)


def test_all_distributions_are_built() -> None:
    assert {each.file_name: each.root for each in release_check.PURE} == wheels.PURE


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("MIT OR Apache-2.0", "Apache-2.0"),
        ("MIT/Apache-2.0", "Apache-2.0"),
        ("Unlicense OR MIT", "MIT"),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 AND Unicode-3.0"),
    ],
)
def test_a_license_that_is_allowed_is_chosen(expression: str, chosen: str) -> None:
    assert dataclasses.replace(CRATE, expression=expression).license == chosen


@pytest.mark.parametrize("expression", ["GPL-3.0-only", "MIT AND GPL-2.0-only", "none"])
def test_another_license_is_refused(expression: str) -> None:
    with pytest.raises(SystemExit, match=r"a 1.0.0 has a license that is not allowed"):
        _ = dataclasses.replace(CRATE, expression=expression).license


def test_a_license_without_its_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"a 1.0.0 does not include the text"):
        list(dataclasses.replace(CRATE, folder=tmp_path).texts())
    (tmp_path / "LICENSE-MIT").write_text("Permission is hereby granted\n")
    assert list(dataclasses.replace(CRATE, folder=tmp_path).texts()) == ["Permission is hereby granted"]


def test_the_notice_is_of_the_crates_that_are_linked() -> None:
    crates = third_party.linked()
    names = {crate.name for crate in crates}
    assert {"pyo3", "rayon", "memmap2"} <= names
    # Macros, builds and systems without wheels.
    assert not names & {"syn", "serde_derive", "criterion", "wasm-bindgen"}
    assert third_party.NOTICE.read_text(encoding="utf-8") == third_party.notice(crates)


def test_the_tag_has_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(release_check, "check_release", lambda folder: iter(()))
    version = release_check.read_version((release_check.PROJECT / "Cargo.toml").read_text(encoding="utf-8"))
    monkeypatch.setattr("sys.argv", ["release_check.py", str(tmp_path), "--tag", f"v{version}"])
    release_check.main()
    monkeypatch.setattr("sys.argv", ["release_check.py", str(tmp_path), "--tag", "v9.9.9"])
    with pytest.raises(SystemExit):
        release_check.main()
    expected = f"capeval: error: the tag must be v{version}, as the version in Cargo.toml (got v9.9.9)\n"
    assert capsys.readouterr().err == expected
