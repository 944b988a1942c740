"""Checks of a release built by `scripts/wheels.py`.

Run `python scripts/release_check.py dist`.

- Versions, metadata, citation and licenses; the README as a package index renders it.
- Sizes and contents: each distribution contains all files of its package, no files of another package, and
  no data.
- Linking: capeval's wheels need only libraries of their system, and keep to the stable ABI of Python.
- Installation: capeval's wheel for this machine installs without cargo and computes the same scores as the
  checkout; the other distributions install next to it and their commands run.
- Source distributions: each builds a wheel in an empty folder.
"""

from __future__ import annotations

import argparse
import email
import fnmatch
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

from scripts.linking import check_linking  # noqa: E402
from scripts.release_source import CITATION, read_addresses  # noqa: E402
from scripts.release_texts import SCHEMA, check_citation, check_description  # noqa: E402
from scripts.third_party import NOTICE, linked, notice  # noqa: E402


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution and its allowed files.

    Attributes:
        name: Name in the metadata.
        root: Folder of pyproject.toml.
        files: Patterns of the package's files, relative to `src`.
        compiled: Patterns of files that only wheels contain.
        sources: Patterns of further files that only source distributions contain.
        licenses: Required license files.
        command: Arguments of a `capeval` command that the distribution adds; empty if it adds none.
    """

    name: str
    root: str
    files: tuple[str, ...]
    compiled: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    licenses: tuple[str, ...] = ("LICENSE",)
    command: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """First component of the file names."""
        return self.name.replace("-", "_")

    def is_allowed(self, member: str, *, in_source: bool) -> bool:
        """Return whether a wheel or a source distribution may contain a file."""
        if in_source:
            patterns = [f"src/{pattern}" for pattern in self.files]
            patterns += [
                *self.sources,
                *self.licenses,
                ".gitignore",
                "PKG-INFO",
                "README.md",
                "pyproject.toml",
            ]
        else:
            patterns = [*self.files, *self.compiled, f"{self.file_name}-*.dist-info/*"]
        return any(fnmatch.fnmatch(member, pattern) for pattern in patterns)


# Captions and tables derived from other projects' data are excluded, because they have other licenses. Image
# ids of public splits and published scores are facts. The examples are part of this project, and
# word_classes.tsv includes WordNet's license.
BASE = Distribution(
    name="capeval",
    root=".",
    files=(
        "capeval/*.py",
        "capeval/*.pyi",
        "capeval/py.typed",
        "capeval/data/citations.bib",
        "capeval/datasets/published/*.csv",
        "capeval/datasets/published/SOURCES.md",
        "capeval/datasets/splits/*.txt",
        "capeval/formats/word_forms.tsv",
        "capeval/metrics/coco_words.txt",
        "capeval/studies/words/word_classes.tsv",
        "capeval/report/*.css",
        "capeval/report/*.html",
        "capeval/report/*.js",
    ),
    compiled=("capeval/_native.abi3.so", "capeval/_native.pyd"),
    sources=("Cargo.lock", "Cargo.toml", "crates/*.java", "crates/*.py", "crates/*.rs", "crates/*.toml"),
    licenses=("LICENSE", "THIRD-PARTY.txt"),
)
PURE = (
    Distribution(
        name="capeval-server",
        root="server",
        files=(
            "capeval_server/*.py",
            "capeval_server/py.typed",
            "capeval_server/templates/*.html",
            "capeval_server/templates/*.txt",
            "capeval_server/templates/*.md",
            "capeval_server/templates/annotation/quizzes/*.jsonl",
            "capeval_server/static/capeval/*.css",
            "capeval_server/static/capeval/*.svg",
            "capeval_server/static/capeval/*.js",
            "capeval_server/examples/*.json",
            "capeval_server/examples/*.toml",
            "capeval_server/examples/*.md",
            "capeval_server/locale/*.mo",
            "capeval_server/locale/*.po",
        ),
        command=("server", "--help"),
    ),
    Distribution(
        name="capeval-decoding",
        root="decoding",
        files=("capeval_decoding/*.py", "capeval_decoding/py.typed"),
        command=("baselines", "--help"),
    ),
)
DISTRIBUTIONS = (BASE, *PURE)
LARGEST = 10_000_000
"""Maximum size in bytes of a file in a distribution, except for the native module."""
LARGEST_WHEEL = 4_000_000
"""Maximum size in bytes of a wheel of capeval."""
_CRATES = re.compile(r"^version\.workspace = true$", re.MULTILINE)
# The installed wheel and this checkout must compute the same scores for these captions.
REFERENCES = {
    "1": ["A man rides a red bicycle.", "Somebody is cycling on the road."],
    "2": ["Two dogs play in the grass.", "Dogs are playing outside in the green grass."],
}
RESULTS = {"1": "A man is riding a bicycle on a road.", "2": "Two dogs are playing in the grass."}
METRICS = "BLEU,ROUGE-L,CIDEr-D"


def read_version(cargo: str) -> str:
    """Return the version of all distributions from the text of Cargo.toml."""
    return str(tomllib.loads(cargo)["workspace"]["package"]["version"])


def read_date(changelog: str) -> str:
    """Return the date of the first version in the changelog; "" if it has none."""
    heading = re.search(r"^## \[[^\]]+\] - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE)
    return "" if heading is None else heading[1]


def check_versions(changelog: str, version: str, files: Sequence[str]) -> Iterator[str]:
    """Yield errors in the versions of the changelog and of file names."""
    heading = re.search(r"^## \[([^\]]+)\] - (\S+)$", changelog, re.MULTILINE)
    if heading is None or heading[1] != version:
        found = "none" if heading is None else heading[1]
        yield f"the first version of CHANGELOG.md must be Cargo.toml's, {version} (got {found})"
    for name in files:
        if name.removesuffix(".tar.gz").split("-")[1] != version:
            yield f"{name} must be of version {version}"


def check_crates() -> Iterator[str]:
    """Yield an error for each crate that doesn't have the version of the workspace."""
    for path in sorted(PROJECT.glob("crates/*/Cargo.toml")):
        if not _CRATES.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(PROJECT)} must have the version of the workspace"


def check_size(wheel: Path) -> Iterator[str]:
    """Yield an error if a wheel of capeval is too large."""
    size = wheel.stat().st_size
    if size > LARGEST_WHEEL:
        yield f"{wheel.name} must have at most {LARGEST_WHEEL:,} bytes (got {size:,})"


def check_metadata(distribution: Distribution, name: str, metadata: str, version: str) -> Iterator[str]:
    """Yield errors in the name, version and requirements in the metadata.

    Args:
        distribution: Distribution to check.
        name: File name of the wheel or source distribution.
        metadata: Text of METADATA or PKG-INFO.
        version: Version of the release.
    """
    fields = email.message_from_string(metadata)
    for field, expected in (("Name", distribution.name), ("Version", version)):
        if fields[field] != expected:
            yield f"{name} must have the {field.lower()} {expected} in its metadata (got {fields[field]})"
    required = f"{BASE.name}=={version}"
    if distribution is not BASE and required not in (fields.get_all("Requires-Dist") or []):
        yield f"{name} must require {required}"


def check_contents(
    distribution: Distribution, name: str, members: Sequence[tuple[str, int]]
) -> Iterator[str]:
    """Yield errors in the contents of a wheel or a source distribution.

    Args:
        distribution: Distribution to check.
        name: File name of the wheel or source distribution.
        members: Names and sizes of the contained files.
    """
    in_source = name.endswith(".tar.gz")
    for member, size in members:
        if not distribution.is_allowed(member, in_source=in_source):
            yield f"{name} must not contain {member}"
        if size > LARGEST and not member.endswith(".so"):
            yield f"{name} contains {member} of {size:,} bytes"
    names = {member for member, _ in members}
    for license_file in distribution.licenses:
        wanted = license_file if in_source else f"*.dist-info/licenses/{license_file}"
        if not fnmatch.filter(names, wanted):
            yield f"{name} must contain {license_file}"


def check_complete(
    distribution: Distribution, name: str, members: Sequence[tuple[str, int]]
) -> Iterator[str]:
    """Yield an error for each tracked file of the package that is missing."""
    prefix = "src/" if name.endswith(".tar.gz") else ""
    names = {member for member, _ in members}
    for file in list_package_files(distribution):
        if f"{prefix}{file}" not in names:
            yield f"{name} must contain {prefix}{file}"


def check_licenses(source: Path) -> Iterator[str]:
    """Yield errors in THIRD-PARTY.txt and Cargo.lock."""
    if NOTICE.read_text(encoding="utf-8") != notice(linked()):
        yield f"{NOTICE.name} does not match Cargo.lock: run `python scripts/third_party.py`"
    if "Cargo.lock" not in {member for member, _ in list_members(source)}:
        yield f"{source.name} must contain Cargo.lock"


def check_installation(wheel: Path) -> Iterator[str]:
    """Install a wheel of capeval and the pure wheels in its folder, and yield errors.

    The environment has no cargo. capeval must compute the same scores as this checkout without the other
    distributions, and the commands of the other distributions must run. Dependencies come from the package
    index.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", folder / "venv"])
        bare = {"PATH": f"{folder}/venv/bin:/usr/bin:/bin", "HOME": name}
        settings = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}

        def install(*arguments: str | Path) -> None:
            run(
                [folder / "venv/bin/pip", "install", "--quiet", *arguments],
                cwd=folder,
                env={**bare, **settings},
            )

        install(wheel)
        (folder / "references.json").write_text(json.dumps(REFERENCES))
        (folder / "results.json").write_text(json.dumps(RESULTS))
        score: list[str | Path] = ["score", "references.json", "results.json", "-m", METRICS]
        score += ["--format", "json", "--per-image"]
        theirs = run([folder / "venv/bin/capeval", *score], cwd=folder, env=bare)
        ours = run([sys.executable, "-m", "capeval", *score], cwd=folder)
        if json.loads(theirs) != json.loads(ours):
            yield f"{wheel.name} computes the scores {theirs}, and this checkout {ours}"
        code = "import capeval; print(capeval.__file__)"
        if not run([folder / "venv/bin/python", "-c", code], cwd=folder, env=bare).startswith(name):
            yield f"the scores are not those of the installed {wheel.name}"

        names = [distribution.name for distribution in PURE]
        install("--no-index", "--no-deps", "--find-links", wheel.parent, *names)
        install(*names)
        run([folder / "venv/bin/pip", "check"], cwd=folder, env=bare)
        for distribution in PURE:
            run([folder / "venv/bin/capeval", *distribution.command], cwd=folder, env=bare)


def check_build(distribution: Distribution, source: Path) -> Iterator[str]:
    """Build a wheel from a source distribution, and yield errors in its contents."""
    with tempfile.TemporaryDirectory() as name:
        # Disables the slowest optimizations, because only the contents are checked.
        quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
        pip: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        run([*pip, "--wheel-dir", name, source], cwd=Path(name), env={**quick, **os.environ})
        (wheel,) = Path(name).glob("*.whl")
        members = list_members(wheel)
        label = f"{source.name}: {wheel.name}"
        yield from check_contents(distribution, label, members)
        yield from check_complete(distribution, label, members)


def list_package_files(distribution: Distribution) -> list[str]:
    """List the files of a distribution's package in Git, relative to `src`."""
    return run(["git", "ls-files"], cwd=PROJECT / distribution.root / "src").splitlines()


def list_members(path: Path) -> list[tuple[str, int]]:
    """List the names and sizes of the files in a distribution.

    Names in a source distribution do not include its root folder.
    """
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return [(each.filename, each.file_size) for each in archive.infolist() if not each.is_dir()]
    with tarfile.open(path) as source:
        return [(each.name.partition("/")[2], each.size) for each in source if not each.isdir()]


def read_metadata(path: Path) -> str:
    """Return the metadata of a wheel or a source distribution."""
    stem = "-".join(path.name.removesuffix(".tar.gz").split("-")[:2])
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return archive.read(f"{stem}.dist-info/METADATA").decode()
    with tarfile.open(path) as source:
        file = source.extractfile(f"{stem}/PKG-INFO")
        return "" if file is None else file.read().decode()


def program(name: str) -> Path:
    """Return the path of a program of this environment."""
    return Path(sys.executable).parent / name


def run(command: Sequence[str | Path], *, cwd: Path = PROJECT, env: dict[str, str] | None = None) -> str:
    """Run a program and return its output.

    Raises:
        SystemExit: The program failed; the message contains its output.
    """
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_files(files: Sequence[Path]) -> Iterator[str]:
    """Yield errors for distributions with missing files, and for unknown files."""
    found = {each.file_name: [path for path in files if is_of(path, each)] for each in DISTRIBUTIONS}
    for distribution in DISTRIBUTIONS:
        own = found[distribution.file_name]
        sources = sum(path.name.endswith(".tar.gz") for path in own)
        wheels = len(own) - sources
        expected = "wheels" if distribution is BASE else "one wheel"
        if not wheels or sources != 1 or (wheels > 1 and distribution is not BASE):
            counts = f"(got {wheels} and {sources})"
            yield f"{distribution.name} must have {expected} and one source distribution {counts}"
    known = [path for own in found.values() for path in own]
    yield from (f"{path.name} belongs to no distribution of capeval" for path in files if path not in known)


def is_of(path: Path, distribution: Distribution) -> bool:
    """Return whether a file is a wheel or the source distribution of a distribution."""
    return path.name.startswith(f"{distribution.file_name}-")


def check_release(folder: Path) -> Iterator[str]:
    """Yield all errors in the distributions in a folder, and print the progress."""
    files = sorted((*folder.glob("*.whl"), *folder.glob("*.tar.gz")))
    incomplete = list(check_files(files))
    if incomplete:
        yield from (f"{folder}: {each}" for each in incomplete)
        return
    report("versions")
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = read_version((PROJECT / "Cargo.toml").read_text(encoding="utf-8"))
    yield from check_versions(changelog, version, [path.name for path in files])
    yield from check_crates()
    report("citation")
    citation = CITATION.read_text(encoding="utf-8")
    yield from check_citation(citation, version, read_date(changelog), (PROJECT / SCHEMA).read_text())
    report("metadata")
    run([program("twine"), "check", "--strict", *files])
    for distribution in DISTRIBUTIONS:
        for path in (path for path in files if is_of(path, distribution)):
            report(f"contents of {path.name}")
            members = list_members(path)
            metadata = read_metadata(path)
            yield from check_metadata(distribution, path.name, metadata, version)
            has_addresses = read_addresses(citation) is not None
            yield from check_description(path.name, metadata, has_addresses=has_addresses)
            yield from check_contents(distribution, path.name, members)
            yield from check_complete(distribution, path.name, members)
    native = [path for path in files if is_of(path, BASE) and path.suffix == ".whl"]
    for wheel in native:
        report(f"size and linking of {wheel.name}")
        yield from check_size(wheel)
        yield from check_linking(wheel)
    installed = [wheel for wheel in native if platform.machine() in wheel.name]
    if not installed:
        yield f"{folder} contains no wheel of {BASE.name} for {platform.machine()}"
    for wheel in installed:
        report(f"installation of {wheel.name} without cargo, and of the other distributions")
        yield from check_installation(wheel)
    for distribution in DISTRIBUTIONS:
        (source,) = (path for path in files if is_of(path, distribution) and path.suffix == ".gz")
        if distribution is BASE:
            report("licenses")
            yield from check_licenses(source)
        report(f"build of {source.name} in an empty folder")
        yield from check_build(distribution, source)


def report(text: str) -> None:
    """Print the check that starts."""
    print(f"checking {text}", flush=True)  # noqa: T201


def main() -> None:
    """Print the errors; exit with 1 if there are any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder with the distributions, such as dist")
    parser.add_argument("--tag", help="tag of the release, such as v1.2.3")
    arguments = parser.parse_args()
    found = list(check_release(arguments.folder.resolve()))
    expected = f"v{read_version((PROJECT / 'Cargo.toml').read_text(encoding='utf-8'))}"
    if arguments.tag not in (None, expected):
        found.append(f"the tag must be {expected}, as the version in Cargo.toml (got {arguments.tag})")
    for error in found:
        print(f"capeval: error: {error}", file=sys.stderr)  # noqa: T201
    if found:
        raise SystemExit(1)
    print("ready to release")  # noqa: T201


if __name__ == "__main__":
    main()
