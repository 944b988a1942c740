"""Checks what `scripts/wheels.py` built: `python scripts/release_check.py dist`.

Versions agree; metadata is well formed; wheels link to nothing beyond manylinux2014, hold the licences of all
that is in them, and hold nothing else than they should; the wheel of this machine installs without cargo and
scores as this checkout does; the source distribution builds in an empty folder.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

from scripts.third_party import NOTICE, linked, notice  # noqa: E402

POLICY = "manylinux_2_17"
# All that a wheel may hold. Captions, and tables made of other projects' data, are not capeval's to give
# away; the examples are our own, and word_classes.tsv has WordNet's licence in it.
HELD = (
    "*.py",
    "*.pyi",
    "capeval/py.typed",
    "capeval/_native.abi3.so",
    "capeval/studies/word_classes.tsv",
    "capeval/report/*.css",
    "capeval/report/*.html",
    "capeval/report/*.js",
    "capeval_baselines/*.tsv",
    "capeval_server/templates/*.html",
    "capeval_server/templates/*.txt",
    "capeval_server/templates/*.md",
    "capeval_server/templates/annotation/quizzes/*.jsonl",
    "capeval_server/demo/consent.md",
    "capeval_server/static/capeval/*.css",
    "capeval_server/static/capeval/*.svg",
    "capeval_server/static/capeval/*.js",
    "capeval_server/examples/*.json",
    "capeval_server/examples/*.toml",
    "capeval_server/examples/*.md",
    "capeval-*.dist-info/*",
)
LICENCES = ("LICENSE", "THIRD-PARTY.txt")
LARGEST = 10_000_000
# What the installed wheel and this checkout must score alike.
REFERENCES = {
    "1": ["A man rides a red bicycle.", "Somebody is cycling on the road."],
    "2": ["Two dogs play in the grass.", "Dogs are playing outside in the green grass."],
}
RESULTS = {"1": "A man is riding a bicycle on a road.", "2": "Two dogs are playing in the grass."}
METRICS = "BLEU,ROUGE-L,CIDEr-D"


def versions(changelog: str, cargo: str, files: Sequence[str]) -> Iterator[str]:
    """What is wrong with the versions: of the changelog, of Cargo.toml, and in the names of distributions."""
    version = tomllib.loads(cargo)["workspace"]["package"]["version"]
    heading = re.search(r"^## \[([^\]]+)\] - (\S+)$", changelog, re.MULTILINE)
    if heading is None or heading[1] != version:
        found = "none" if heading is None else heading[1]
        yield f"the first version of CHANGELOG.md must be Cargo.toml's, {version} (got {found})"
    for name in files:
        if name.removesuffix(".tar.gz").split("-")[1] != version:
            yield f"{name} must be of version {version}"


def contents(name: str, members: Sequence[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with the files in a wheel, of which `members` are the names and sizes."""
    for member, size in members:
        if not any(fnmatch.fnmatch(member, pattern) for pattern in HELD):
            yield f"{name} must not hold {member}"
        if size > LARGEST and not member.endswith(".so"):
            yield f"{name} holds {member} of {size:,} bytes"
    for licence in LICENCES:
        if not any(member.endswith(f".dist-info/licenses/{licence}") for member, _ in members):
            yield f"{name} must hold {licence}"


def linking(wheel: Path) -> Iterator[str]:
    """Whether a wheel runs on any manylinux2014, as auditwheel sees it."""
    said = " ".join(run([tool("auditwheel"), "show", wheel]).split())
    if f'consistent with the following platform tag: "{POLICY}_' not in said:
        yield f"{wheel.name} is not of {POLICY}: {said}"


def installs(wheel: Path) -> Iterator[str]:
    """Installs a wheel where there is no cargo, runs it, and compares its scores with this checkout's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", folder / "venv"])
        bare = {"PATH": f"{folder}/venv/bin:/usr/bin:/bin", "HOME": name}
        settings = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
        run([folder / "venv/bin/pip", "install", "--quiet", wheel], env={**bare, **settings})
        (folder / "references.json").write_text(json.dumps(REFERENCES))
        (folder / "results.json").write_text(json.dumps(RESULTS))
        score: list[str | Path] = ["score", "references.json", "results.json", "-m", METRICS]
        score += ["--format", "json", "--per-image"]
        theirs = run([folder / "venv/bin/capeval", *score], cwd=folder, env=bare)
        ours = run([sys.executable, "-m", "capeval", *score], cwd=folder)
        if json.loads(theirs) != json.loads(ours):
            yield f"{wheel.name} scores {theirs}, and this checkout {ours}"
        code = "import capeval; print(capeval.__file__)"
        if not run([folder / "venv/bin/python", "-c", code], cwd=folder, env=bare).startswith(name):
            yield f"{wheel.name} was not what ran"


def builds(source: Path) -> Iterator[str]:
    """Builds a wheel from the source distribution in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        # What it is tried for is whether all is there, so the slowest optimisations are left out.
        quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
        pip: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        run([*pip, "--wheel-dir", name, source], cwd=Path(name), env={**quick, **os.environ})
        (wheel,) = Path(name).glob("*.whl")
        yield from contents(f"{source.name}'s wheel", members_of(wheel))


def licences(source: Path) -> Iterator[str]:
    """Whether the notice is of the crates that are linked, and in the source distribution."""
    text = notice(linked())
    if NOTICE.read_text(encoding="utf-8") != text:
        yield f"{NOTICE.name} must be of Cargo.lock's crates: python scripts/third_party.py"
    with tarfile.open(source) as archive:
        names = {member.name.partition("/")[2] for member in archive}
    for name in (*LICENCES, "Cargo.lock"):
        if name not in names:
            yield f"{source.name} must hold {name}"


def members_of(wheel: Path) -> list[tuple[str, int]]:
    """The names and sizes of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return [(member.filename, member.file_size) for member in archive.infolist() if not member.is_dir()]


def tool(name: str) -> Path:
    """A program of this environment."""
    return Path(sys.executable).parent / name


def run(command: Sequence[str | Path], *, cwd: Path = PROJECT, env: dict[str, str] | None = None) -> str:
    """What a program prints; its error is shown where it fails."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def problems(folder: Path) -> Iterator[str]:
    """All that is wrong with the distributions in a folder; says what it looks at."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if not wheels or len(sources) != 1:
        yield f"{folder} must have wheels and one source distribution (got {len(wheels)} and {len(sources)})"
        return
    told("versions")
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    cargo = (PROJECT / "Cargo.toml").read_text(encoding="utf-8")
    yield from versions(changelog, cargo, [path.name for path in (*wheels, *sources)])
    told("metadata")
    run([tool("twine"), "check", "--strict", *wheels, *sources])
    told("licences")
    yield from licences(sources[0])
    for wheel in wheels:
        told(f"contents and linking of {wheel.name}")
        yield from contents(wheel.name, members_of(wheel))
        yield from linking(wheel)
    own = [wheel for wheel in wheels if platform.machine() in wheel.name]
    if not own:
        yield f"there is no wheel to install on {platform.machine()}"
    for wheel in own:
        told(f"installing {wheel.name} without cargo")
        yield from installs(wheel)
    told(f"building {sources[0].name} in an empty folder")
    yield from builds(sources[0])


def told(text: str) -> None:
    """Says what is looked at."""
    print(f"checking {text}", flush=True)  # noqa: T201


def main() -> None:
    """Prints what is wrong; the exit code is 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    found = list(problems(parser.parse_args().folder.resolve()))
    for problem in found:
        print(f"capeval: error: {problem}", file=sys.stderr)  # noqa: T201
    if found:
        raise SystemExit(1)
    print("ready to release")  # noqa: T201


if __name__ == "__main__":
    main()
