"""METEOR's word tables: compiled once from the installed `pycocoevalcap`, memory-mapped from then on.

The tables are one file in the user's cache folder (format: see `docs/metrics/meteor.md`). A small file
beside it has the size and time of the tables when they were last verified. Tables that are unchanged since
then are opened in milliseconds; others are verified, and compiled again if they are damaged.
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
    compiled_file,
    is_sound,
    temporary_folder,
)
from capeval.resources.installed_files import REINSTALL, installed_file

__all__ = [
    "PARAPHRASES",
    "compiled_tables",
    "found_tables",
    "meteor_tables",
    "opened_tables",
    "synonym_texts",
]

PARAPHRASES = 5_274_084
"""The number of paraphrases in METEOR's tables, which is the total of the progress."""

_JAR = "meteor/meteor-1.5.jar"
_PARAPHRASES = "meteor/data/paraphrase-en.gz"
_PURPOSE = "the word tables of METEOR"
# The texts of METEOR 1.5 in pycocoevalcap 1.2, by their CRC-32: other words would give other scores.
_IN_JAR = {
    "synsets": ("synonym/english.synsets", 0x6C990708),
    "exceptions": ("synonym/english.exceptions", 0x7AD3F6EE),
    "function_words": ("function/english.words", 0x1457004C),
    "prefixes": ("nonbreaking/english.prefixes", 0x4E8B94BA),
}
_PARAPHRASES_CRC = 0xAFA9CDB6
_NAME = "meteor-1.5-en-2.tables"

Progress = Callable[[int], object]


@cache
def meteor_tables(folder: Path | None = None) -> _native.MeteorTables:
    """The tables, compiled where they are missing, and opened once in each process.

    Args:
        folder: Where the compiled file is kept; the user's cache folder by default.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: `folder` can't be written to.
    """
    return _native.MeteorTables.open(compiled_tables(folder))


@cache
def opened_tables(path: Path) -> _native.MeteorTables:
    """The tables in a file, mapped into memory, once in each process.

    Raises:
        ResourceError: There is no such file, or it has no tables, or damaged ones.
    """
    try:
        return _native.MeteorTables.open(path)
    except (OSError, ResourceError) as error:
        raise ResourceError(
            f"{path} must have METEOR's word tables ({error}); `capeval resources meteor` makes them"
        ) from None


def found_tables() -> CompiledResource | None:
    """The compiled tables in the user's cache folder; None where they are missing or damaged."""
    path = cache_folder() / _NAME
    if not is_sound(path, _native.MeteorTables.open):
        return None
    from zlib import crc32

    return CompiledResource(path=path, fingerprint=f"{crc32(path.read_bytes()):08x}")


def compiled_tables(
    folder: Path | None = None, progress: Progress | None = None, *, again: bool = False
) -> Path:
    """The path of the compiled tables, which are made where they are missing or damaged.

    Args:
        folder: The folder of the compiled file. By default it is the user's cache folder or, where that can't
            be written to, one of this process alone, and a warning says so.
        progress: Called now and then, while compiling, with the number of paraphrases read.
        again: Whether to make them where they are whole too.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: `folder` can't be written to.
    """
    compiled = cache(lambda: _compiled(progress or (lambda _: None)))
    path = (folder or cache_folder()) / _NAME
    try:
        return compiled_file(path, _native.MeteorTables.open, compiled, again=again)
    except OSError as error:
        if folder is not None:
            raise
        instead = temporary_folder()
        warnings.warn(
            f"{path} can't be written ({error.strerror}): METEOR's word tables are in {instead} until the"
            f" process ends; to keep them, name another folder in {CACHE}",
            CapevalWarning,
            # Of this line, whoever calls: so it is said once.
            stacklevel=1,
        )
        return compiled_file(instead / _NAME, _native.MeteorTables.open, compiled)


def _compiled(progress: Progress) -> bytes:
    from zlib import crc32

    paraphrases = installed_file(_PARAPHRASES, _PURPOSE)
    checksum = crc32(paraphrases.read_bytes())
    if checksum != _PARAPHRASES_CRC:
        raise _damaged(paraphrases, f"its CRC-32 must be {_PARAPHRASES_CRC:08x} (got {checksum:08x})")
    return _native.compile_meteor_tables(**_texts(), paraphrases=paraphrases, progress=progress)


def synonym_texts() -> dict[str, bytes]:
    """METEOR's `synsets` and `exceptions`: the synonyms that SPICE merges and matches words by.

    Raises:
        ResourceError: They are missing or damaged.
    """
    texts = _texts()
    return {name: texts[name] for name in ("synsets", "exceptions")}


def _texts() -> dict[str, bytes]:
    """The four texts of the jar."""
    import zipfile
    import zlib

    jar = installed_file(_JAR, _PURPOSE)
    texts = {}
    try:
        with zipfile.ZipFile(jar) as archive:
            for name, (member, _) in _IN_JAR.items():
                texts[name] = archive.read(member)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError) as error:
        raise _damaged(jar, str(error)) from None
    for name, (member, expected) in _IN_JAR.items():
        checksum = zlib.crc32(texts[name])
        if checksum != expected:
            raise _damaged(jar, f"the CRC-32 of {member} must be {expected:08x} (got {checksum:08x})")
    return texts


def _damaged(path: Path, reason: str) -> ResourceError:
    return ResourceError(
        f"{path} must be the file of pycocoevalcap 1.2: {reason}; to install it again: {REINSTALL}"
    )
