"""SPICE's model: the reference's grammar, rules and word lists, compiled once.

The package `capeval-spice-model` contains the compiled file. Without that package, the model is compiled
from the reference's jars, which are not part of capeval. The jars are searched in this order: the caller's
path, an installed pycocoevalcap, the local Maven repository and, if the caller allows downloads, Maven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from capeval import _native
from capeval._internal.progress import report_progress
from capeval.errors import ResourceError
from capeval.resources.compiled_files import (
    CompiledResource,
    cache_folder,
    ensure_compiled_file,
    find_packaged_file,
    is_intact,
)
from capeval.resources.installed_files import INSTALL, find_installed_folders
from capeval.resources.meteor import synonym_texts
from capeval.resources.parse_store import ParseStore

if TYPE_CHECKING:
    import subprocess

__all__ = [
    "INSTALL_MODEL",
    "RUN",
    "ensure_model",
    "find_jars",
    "find_model",
    "load_model",
    "open_model",
    "store_in",
]

INSTALL_MODEL = 'pip install "capeval[spice]"'
"""The command that installs the compiled model."""

RUN = "capeval resources spice"
"""The command that builds the model."""

_NAME = "spice-1.0-en-1.tables"
_PACKAGE = "capeval-spice-model"
_STORE = "spice-parses.sqlite"
_MAVEN = "edu.stanford.nlp:stanford-corenlp:3.6.0"
_MAVEN_FOLDER = "edu/stanford/nlp/stanford-corenlp/3.6.0"
# The size of the larger of the two jars that Maven downloads, and the polling interval of its progress.
_MODELS_MEGABYTES, _LOOK_SECONDS = 378, 0.5


@dataclass(frozen=True, kw_only=True)
class _Jar:
    """One of the reference's jars.

    Attributes:
        name: The file name.
        holds: The content that is read from it.
        maven: The Maven artifact; None if Maven does not provide it.
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
def load_model() -> _native.SpiceModel:
    """Open the model, once per process.

    Raises:
        ResourceError: The model is missing or damaged; the message names the command to run.
    """
    found = find_model()
    if found is not None:
        return _native.SpiceModel.open(found.path)
    built = cache_folder() / _NAME
    if built.exists():
        raise ResourceError(f"{built} is damaged; to build SPICE's model again, run `{RUN}`")
    raise ResourceError(f"SPICE requires a parser model, which is not installed: {INSTALL_MODEL}")


@cache
def open_model(path: Path) -> _native.SpiceModel:
    """Memory-map the model in a file, once per process.

    Raises:
        ResourceError: The file does not exist, or contains no model or a damaged one.
    """
    try:
        return _native.SpiceModel.open(path)
    except (OSError, ResourceError) as error:
        raise ResourceError(f"cannot open SPICE's model in {path} ({error}); build it with `{RUN}`") from None


def find_model() -> CompiledResource | None:
    """Return the model of an installed package or in the cache folder, or None if missing or damaged."""
    packaged = find_packaged_file(_PACKAGE, _NAME, _native.SpiceModel.open)
    path = packaged or cache_folder() / _NAME
    if packaged is None and not is_intact(path, _native.SpiceModel.open):
        return None
    source = "pycocoevalcap and CoreNLP" if packaged is None else _PACKAGE
    return CompiledResource(path=path, fingerprint=_native.SpiceModel.open(path).fingerprint, source=source)


def ensure_model(
    jar: Path | None = None, folder: Path | None = None, *, fetch: bool = False, again: bool = False
) -> Path:
    """Return the path of the compiled model; compile it if it is missing or damaged.

    Args:
        jar: CoreNLP's models jar, or a folder with the reference's jars. The other jars are also searched in
            the same folder.
        folder: The folder of the compiled file; by default the user's cache folder.
        fetch: Whether Maven, if it is installed, may download missing jars.
        again: Whether to compile the model again even if it is intact. The old file is replaced when the new
            one is complete.

    Raises:
        ResourceError: A jar is missing, or differs from the reference's; the message describes the fix.
        OSError: The folder is not writable.
    """
    path = (folder or cache_folder()) / _NAME
    return ensure_compiled_file(path, _native.SpiceModel.open, lambda: _compile(jar, fetch), again=again)


def store_in(folder: Path) -> ParseStore:
    """Return the parse store in a folder."""
    return ParseStore(folder / _STORE)


def _compile(jar: Path | None, fetch: bool) -> bytes:
    # Files that Maven does not provide come first: if one is missing, nothing is downloaded.
    synonyms = synonym_texts(_describe_missing_file("meteor-1.5.jar", "WordNet's synonyms"))
    jars = find_jars(jar, fetch=fetch)
    try:
        return _native.compile_spice_model(
            **jars, synsets=synonyms["synsets"], exceptions=synonyms["exceptions"]
        )
    except ResourceError as error:
        read = ", ".join(map(str, jars.values()))
        raise ResourceError(
            f"cannot build SPICE's model: {error} (read {read}); delete or replace the wrong jar, or select a"
            f" different one with `{RUN} --from PATH`"
        ) from None


def find_jars(given: Path | None = None, *, fetch: bool = False) -> dict[str, Path]:
    """Return the paths of the jars with the sources of the model, by their roles in `compile_spice_model`.

    Args:
        given: CoreNLP's models jar, or a folder with the reference's jars, as in `ensure_model`.
        fetch: Whether Maven, if it is installed, may download missing jars.

    Raises:
        ResourceError: A jar is missing; the message describes the fix.
    """
    # Jars that Maven does not provide come first: if one is missing, nothing is downloaded.
    roles = ("spice", "scene_graph_parser", "corenlp", "models")
    return {role: _find_jar(role, given, fetch) for role in roles}


def _find_jar(role: str, given: Path | None, fetch: bool) -> Path:
    jar = _JARS[role]
    if given is not None and not given.exists():
        raise ResourceError(f"{given} must be {_JARS['models'].name}, or a folder with it (got no such file)")
    if given is not None and given.is_dir() and not (given / _JARS["models"].name).is_file():
        raise ResourceError(
            f"{given} must be {_JARS['models'].name}, or a folder with it (got a folder without it)"
        )
    if given is not None and given.is_file() and role == "models":
        return given
    places = _list_folders(given)
    for place in places:
        if (place / jar.name).is_file():
            return place / jar.name
    if fetch and jar.maven is not None and (fetched := _fetch(jar.maven, jar.name)):
        return fetched
    raise ResourceError(_describe_missing(jar, places))


def _list_folders(given: Path | None) -> list[Path]:
    """Return the folders to search for jars."""
    places = [] if given is None else [given.parent if given.is_file() else given]
    for folder in find_installed_folders():
        places += [folder / "spice" / "lib", folder / "spice"]
    return [*places, _get_maven_repository() / _MAVEN_FOLDER]


def _get_maven_repository() -> Path:
    return Path.home() / ".m2" / "repository"


def _fetch(artifact: str, name: str) -> Path | None:
    """Download a jar with Maven, or return None if Maven is not installed."""
    import shutil
    import subprocess
    import tempfile

    maven = shutil.which("mvn")
    if maven is None:
        return None
    # Java may determine a different home folder, so the repository is passed to Maven.
    repository = f"-Dmaven.repo.local={_get_maven_repository()}"
    command = [maven, "--batch-mode", "--quiet", "-Dstyle.color=never", repository]
    command += ["dependency:get", f"-Dartifact={artifact}"]
    path = _get_maven_repository() / _MAVEN_FOLDER / name
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen(command, stdout=output, stderr=output) as process:  # noqa: S603
            _watch(process, path)
        if process.returncode or not path.is_file():
            output.seek(0)
            said = [line for line in output.read().splitlines() if line.strip()]
            reason = next(iter(said), f"it did not write {path}")
            raise ResourceError(f"Maven cannot download {artifact}: {reason}")
    return path


def _watch(process: subprocess.Popen[bytes], path: Path) -> None:
    """Report the size of the jar that Maven writes, until Maven ends."""
    from subprocess import TimeoutExpired

    done = None
    while done is None:
        # Until the jar is complete, Maven writes to a file with a longer name.
        sizes = [part.stat().st_size for part in path.parent.glob(f"{path.name}*") if part.is_file()]
        megabytes = min(max(sizes, default=0) // 10**6, _MODELS_MEGABYTES - 1)
        report_progress(f"Downloading {path.name} (MB)", megabytes, _MODELS_MEGABYTES)
        try:
            done = process.wait(timeout=_LOOK_SECONDS)
        except TimeoutExpired:
            continue
    report_progress(f"Downloading {path.name} (MB)", _MODELS_MEGABYTES, _MODELS_MEGABYTES)


def _describe_missing(jar: _Jar, places: Sequence[Path]) -> str:
    if jar.maven is None:
        return _describe_missing_file(jar.name, jar.holds)
    looked = ", ".join(map(str, places))
    return (
        f"building SPICE's model requires {jar.name} of CoreNLP 3.6.0 ({jar.holds}; not found in {looked});"
        f" install Maven and run `{RUN}`, run `{RUN} --from FOLDER` with the jar's folder, or install the"
        f" finished model: {INSTALL_MODEL}"
    )


def _describe_missing_file(name: str, content: str) -> str:
    return (
        f"building SPICE's model requires {name} of pycocoevalcap ({content}), which is missing: {INSTALL};"
        f" or install the finished model: {INSTALL_MODEL}"
    )
