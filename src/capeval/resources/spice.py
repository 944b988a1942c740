"""SPICE's model: the reference's grammar, rules and word lists, compiled once from the user's jars.

Nothing of the reference is part of capeval. The jars are looked for, in this order, where the caller
says, in an installed pycocoevalcap, in the local Maven repository and, where the caller allows it,
through Maven. An installed package `capeval_spice_model` has the compiled file ready.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from capeval import _native
from capeval._internal.progress import report_progress
from capeval.errors import ResourceError
from capeval.resources.compiled_files import CompiledResource, cache_folder, compiled_file, is_sound
from capeval.resources.installed_files import INSTALL, installed_folders
from capeval.resources.meteor import synonym_texts
from capeval.resources.parse_store import ParseStore

if TYPE_CHECKING:
    import subprocess

__all__ = ["RUN", "compiled_model", "found_model", "opened_model", "spice_model", "store_in"]

RUN = "capeval resources spice"
"""What makes the model."""

_NAME = "spice-1.0-en-1.tables"
_PACKAGE = "capeval_spice_model"
_STORE = "spice-parses.sqlite"
_MAVEN = "edu.stanford.nlp:stanford-corenlp:3.6.0"
_MAVEN_FOLDER = "edu/stanford/nlp/stanford-corenlp/3.6.0"
# The larger of the two jars that Maven fetches, and how often its growth is looked at.
_MODELS_MEGABYTES, _LOOK_SECONDS = 378, 0.5


@dataclass(frozen=True, kw_only=True)
class _Jar:
    """One of the reference's jars.

    Attributes:
        name: Its file name.
        holds: What is read from it.
        maven: What Maven calls it, where it has it.
    """

    name: str
    holds: str
    maven: str | None = None


_JARS = {
    "models": _Jar(
        name="stanford-corenlp-3.6.0-models.jar", holds="the grammar", maven=f"{_MAVEN}:jar:models"
    ),
    "corenlp": _Jar(name="stanford-corenlp-3.6.0.jar", holds="the rules", maven=_MAVEN),
    "scene_graph_parser": _Jar(name="SceneGraphParser-1.0.jar", holds="the word lists"),
    "spice": _Jar(name="spice-1.0.jar", holds="the word lists"),
}


@cache
def spice_model() -> _native.SpiceModel:
    """The model, opened once in a process.

    Raises:
        ResourceError: It was not made yet, or is damaged; the message says what to run.
    """
    path = _path()
    if path is not None:
        return _native.SpiceModel.open(path)
    damaged = [place for place in _model_places() if place.exists()]
    if damaged:
        raise ResourceError(f"{damaged[0]} is damaged; to make SPICE's model again: {RUN}")
    raise ResourceError(f"SPICE needs its model, which is made once from the reference's files: {RUN}")


@cache
def opened_model(path: Path) -> _native.SpiceModel:
    """The model in a file, mapped into memory, once in each process.

    Raises:
        ResourceError: There is no such file, or it has no model, or a damaged one.
    """
    try:
        return _native.SpiceModel.open(path)
    except (OSError, ResourceError) as error:
        raise ResourceError(f"{path} must have SPICE's model ({error}); to make it: {RUN}") from None


def found_model() -> CompiledResource | None:
    """The model that scoring uses; None where it was not made yet, or is damaged."""
    path = _path()
    if path is None:
        return None
    return CompiledResource(path=path, fingerprint=_native.SpiceModel.open(path).fingerprint)


def _path() -> Path | None:
    """The first model that is whole: an installed one, or that in the user's cache folder."""
    return next((path for path in _model_places() if is_sound(path, _native.SpiceModel.open)), None)


def _model_places() -> tuple[Path, ...]:
    return (*_packaged(), cache_folder() / _NAME)


def compiled_model(
    jar: Path | None = None, folder: Path | None = None, *, fetch: bool = False, again: bool = False
) -> Path:
    """The path of the compiled model, which is made where it is missing or damaged.

    Args:
        jar: CoreNLP's models jar, or a folder that the reference's jars are in; other jars are looked for
            beside it too.
        folder: The folder of the compiled file; the user's cache folder by default.
        fetch: Whether Maven, where it is installed, may fetch jars that are not on this machine.
        again: Whether to make it again where it is there; until that is done, the old one stays.

    Raises:
        ResourceError: A jar is not found, or is not that of the reference; the message says what to do.
        OSError: The folder can't be written to.
    """
    path = (folder or cache_folder()) / _NAME
    return compiled_file(path, _native.SpiceModel.open, lambda: _compiled(jar, fetch), again=again)


def store_in(folder: Path) -> ParseStore:
    """The store of parses in a folder."""
    return ParseStore(folder / _STORE)


def _packaged() -> Iterator[Path]:
    """The compiled model of an installed package that holds it."""
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / _NAME
        if path.is_file():
            yield path


def _compiled(jar: Path | None, fetch: bool) -> bytes:
    synonyms = synonym_texts()
    # What Maven does not have comes first: where it is missing, nothing is fetched.
    jars = {role: _found(role, jar, fetch) for role in ("spice", "scene_graph_parser", "corenlp", "models")}
    try:
        return _native.compile_spice_model(
            **jars, synsets=synonyms["synsets"], exceptions=synonyms["exceptions"]
        )
    except ResourceError as error:
        read = ", ".join(map(str, jars.values()))
        raise ResourceError(
            f"SPICE's model can't be made: {error} (read {read}); delete or replace the wrong jar, or name"
            f" another one: {RUN} --from PATH"
        ) from None


def _found(role: str, given: Path | None, fetch: bool) -> Path:
    jar = _JARS[role]
    if given is not None and not given.exists():
        raise ResourceError(f"{given} must be {_JARS['models'].name}, or a folder with it (got no such file)")
    if given is not None and given.is_dir() and not (given / _JARS["models"].name).is_file():
        raise ResourceError(
            f"{given} must be {_JARS['models'].name}, or a folder with it (got a folder without it)"
        )
    if given is not None and given.is_file() and role == "models":
        return given
    places = _places(given)
    for place in places:
        if (place / jar.name).is_file():
            return place / jar.name
    if fetch and jar.maven is not None and (fetched := _fetch(jar.maven, jar.name)):
        return fetched
    raise ResourceError(_missing(jar, places))


def _places(given: Path | None) -> list[Path]:
    """The folders that jars are looked for in."""
    places = [] if given is None else [given.parent if given.is_file() else given]
    for folder in installed_folders():
        places += [folder / "spice" / "lib", folder / "spice"]
    return [*places, _maven_repository() / _MAVEN_FOLDER]


def _maven_repository() -> Path:
    return Path.home() / ".m2" / "repository"


def _fetch(artifact: str, name: str) -> Path | None:
    """A jar that Maven fetched into its local repository."""
    import shutil
    import subprocess
    import tempfile

    maven = shutil.which("mvn")
    if maven is None:
        return None
    # Java has its own idea of the home folder, so Maven is told which repository is looked in.
    repository = f"-Dmaven.repo.local={_maven_repository()}"
    command = [maven, "--batch-mode", "--quiet", "-Dstyle.color=never", repository]
    command += ["dependency:get", f"-Dartifact={artifact}"]
    path = _maven_repository() / _MAVEN_FOLDER / name
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(command, stdout=output, stderr=output) as process:  # noqa: S603
            _watch(process, path)
        if process.returncode or not path.is_file():
            output.seek(0)
            said = [line for line in output.read().splitlines() if line.strip()]
            reason = next(iter(said), f"it has not written {path}")
            raise ResourceError(f"Maven can't fetch {artifact}: {reason}")
    return path


def _watch(process: subprocess.Popen[bytes], path: Path) -> None:
    """Tells how much of a jar Maven has written, until it is done."""
    from subprocess import TimeoutExpired

    done = None
    while done is None:
        # Maven adds to the name until the jar is whole.
        sizes = [part.stat().st_size for part in path.parent.glob(f"{path.name}*") if part.is_file()]
        megabytes = min(max(sizes, default=0) // 10**6, _MODELS_MEGABYTES - 1)
        report_progress(f"Maven fetches {path.name} (MB)", megabytes, _MODELS_MEGABYTES)
        try:
            done = process.wait(timeout=_LOOK_SECONDS)
        except TimeoutExpired:
            continue
    report_progress(f"Maven fetches {path.name} (MB)", _MODELS_MEGABYTES, _MODELS_MEGABYTES)


def _missing(jar: _Jar, places: Sequence[Path]) -> str:
    if jar.maven is None:
        return f"SPICE's model needs {jar.name} of pycocoevalcap ({jar.holds}), which is missing: {INSTALL}"
    looked = ", ".join(map(str, places))
    return (
        f"SPICE's model needs {jar.name} of CoreNLP 3.6.0 ({jar.holds}; looked in {looked});"
        f" either install Maven and run `{RUN}`, or run `{RUN} --from FOLDER` with the folder that has it"
    )
