"""METEOR's word tables: from an installed data package, or compiled once from `pycocoevalcap`.

The tables are one memory-mapped file (format: see `docs/metrics/meteor.md`), which `capeval-meteor-data`
contains. Without that package, it is compiled into the user's cache folder. A small file next to it records
the size and modification time of the tables at their last verification. Unchanged tables are opened in
milliseconds; others are verified, and compiled again if they are damaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

from capeval import _native
from capeval.errors import CapevalWarning, ResourceError
from capeval.resources.compiled_files import (
    CACHE,
    CompiledResource,
    cache_folder,
    ensure_compiled_file,
    find_packaged_file,
    is_intact,
    read_fingerprint,
    temporary_folder,
)
from capeval.resources.installed_files import REINSTALL, find_installed_file, find_installed_folders

__all__ = [
    "INSTALL_TABLES",
    "PARAPHRASES",
    "can_compile_tables",
    "ensure_tables",
    "find_tables",
    "load_tables",
    "open_tables",
    "synonym_texts",
]

INSTALL_TABLES = 'pip install "capeval[meteor]"'
"""The command that installs the compiled tables."""

PARAPHRASES = 5_274_084
"""The number of paraphrases in METEOR's tables, and the total of the progress callback."""

_JAR = "meteor/meteor-1.5.jar"
_PARAPHRASES = "meteor/data/paraphrase-en.gz"
_PURPOSE = "the word tables of METEOR"
_MISSING = f"METEOR requires word tables, which are not installed: {INSTALL_TABLES}"
# Files of METEOR 1.5 in pycocoevalcap 1.2 with their CRC-32: different words would change the scores.
_IN_JAR = {
    "synsets": ("synonym/english.synsets", 0x6C990708),
    "exceptions": ("synonym/english.exceptions", 0x7AD3F6EE),
    "function_words": ("function/english.words", 0x1457004C),
    "prefixes": ("nonbreaking/english.prefixes", 0x4E8B94BA),
}
_PARAPHRASES_CRC = 0xAFA9CDB6
_NAME = "meteor-1.5-en-2.tables"
_PACKAGE = "capeval-meteor-data"

Progress = Callable[[int], object]


@cache
def load_tables(folder: Path | None = None) -> _native.MeteorTables:
    """Open the tables, once per process; compile them if they are missing.

    Args:
        folder: The folder of the compiled file; by default the user's cache folder.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: `folder` is not writable.
    """
    return _native.MeteorTables.open(ensure_tables(folder))


@cache
def open_tables(path: Path) -> _native.MeteorTables:
    """Memory-map the tables in a file, once per process.

    Raises:
        ResourceError: The file does not exist, or contains no tables or damaged ones.
    """
    try:
        return _native.MeteorTables.open(path)
    except (OSError, ResourceError) as error:
        raise ResourceError(
            f"cannot open METEOR's word tables in {path} ({error}); build them with"
            " `capeval resources meteor`"
        ) from None


def find_tables() -> CompiledResource | None:
    """Return the tables of an installed package or in the cache folder, or None if missing or damaged."""
    packaged = _find_packaged()
    path = packaged or cache_folder() / _NAME
    if packaged is None and not is_intact(path, _native.MeteorTables.open):
        return None
    source = "pycocoevalcap" if packaged is None else _PACKAGE
    return CompiledResource(path=path, fingerprint=read_fingerprint(path), source=source)


def can_compile_tables() -> bool:
    """Return whether the sources of the tables are installed."""
    return bool(find_installed_folders())


def _find_packaged() -> Path | None:
    return find_packaged_file(_PACKAGE, _NAME, _native.MeteorTables.open)


def ensure_tables(
    folder: Path | None = None, progress: Progress | None = None, *, again: bool = False
) -> Path:
    """Return the path of the compiled tables; compile them if missing or damaged.

    Args:
        folder: The folder to compile to. By default the tables are those of an installed package, or are
            compiled to the user's cache folder. If that is not writable, it is a temporary folder of this
            process, with a warning.
        progress: A callback that regularly receives the number of paraphrases read during compilation.
        again: Whether to compile the tables again even if they are intact.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: `folder` is not writable.
    """
    if folder is None and not again and (packaged := _find_packaged()):
        return packaged
    compiled = cache(lambda: _compile(progress or (lambda _: None)))
    path = (folder or cache_folder()) / _NAME
    try:
        return ensure_compiled_file(path, _native.MeteorTables.open, compiled, again=again)
    except OSError as error:
        if folder is not None:
            raise
        find_installed_file(_PARAPHRASES, _PURPOSE, _MISSING)
        instead = temporary_folder()
        warnings.warn(
            f"cannot write {path} ({error.strerror}); METEOR's word tables are in {instead} until the process"
            f" ends. To keep them, set {CACHE} to a writable folder",
            CapevalWarning,
            # The warning's location is this line for all callers, so it is shown once.
            stacklevel=1,
        )
        return ensure_compiled_file(instead / _NAME, _native.MeteorTables.open, compiled)


def _compile(progress: Progress) -> bytes:
    from zlib import crc32

    paraphrases = find_installed_file(_PARAPHRASES, _PURPOSE, _MISSING)
    checksum = crc32(paraphrases.read_bytes())
    if checksum != _PARAPHRASES_CRC:
        raise _make_damaged_error(
            paraphrases, f"its CRC-32 must be {_PARAPHRASES_CRC:08x} (got {checksum:08x})"
        )
    return _native.compile_meteor_tables(**_read_texts(), paraphrases=paraphrases, progress=progress)


def synonym_texts(missing: str) -> dict[str, bytes]:
    """Return METEOR's `synsets` and `exceptions`, the synonyms that SPICE uses.

    SPICE merges and matches words by them.

    Args:
        missing: The message if they are not installed.

    Raises:
        ResourceError: The files are missing or damaged.
    """
    texts = _read_texts(missing)
    return {name: texts[name] for name in ("synsets", "exceptions")}


def _read_texts(missing: str = _MISSING) -> dict[str, bytes]:
    """Read the four text files in the jar."""
    import zipfile
    import zlib

    jar = find_installed_file(_JAR, _PURPOSE, missing)
    texts = {}
    try:
        with zipfile.ZipFile(jar) as archive:
            for name, (member, _) in _IN_JAR.items():
                texts[name] = archive.read(member)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError) as error:
        raise _make_damaged_error(jar, str(error)) from None
    for name, (member, expected) in _IN_JAR.items():
        checksum = zlib.crc32(texts[name])
        if checksum != expected:
            raise _make_damaged_error(
                jar, f"the CRC-32 of {member} must be {expected:08x} (got {checksum:08x})"
            )
    return texts


def _make_damaged_error(path: Path, reason: str) -> ResourceError:
    return ResourceError(
        f"{path} differs from the file of pycocoevalcap 1.2 ({reason}); to reinstall it, run `{REINSTALL}`"
    )
