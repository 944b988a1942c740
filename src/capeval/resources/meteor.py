"""METEOR's word tables: compiled once from the installed `pycocoevalcap`, memory-mapped from then on.

The tables are one file in the user's cache folder (format: see `docs/metrics/meteor.md`). A small file
beside it has the size and time of the tables when they were last verified. Tables that are unchanged since
then are opened in milliseconds; others are verified, and compiled again if they are damaged.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from capeval import _native
from capeval.errors import ResourceError
from capeval.files import written_whole
from capeval.resources.installed import INSTALL, installed_file

__all__ = ["PARAPHRASES", "compiled_tables", "meteor_tables"]

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
        OSError: The folder can't be written to.
    """
    return _native.MeteorTables.open(compiled_tables(folder))


def compiled_tables(folder: Path | None = None, progress: Progress | None = None) -> Path:
    """The path of the compiled tables, which are made where they are missing or damaged.

    When several processes ask at once, one compiles and the others wait for it.

    Args:
        folder: Where the compiled file is kept; the user's cache folder by default.
        progress: Called now and then, while compiling, with the number of paraphrases read.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: The folder can't be written to.
    """
    # Imported here and below: the imports take longer than opening compiled tables.
    import platformdirs

    path = (folder or platformdirs.user_cache_path("capeval")) / _NAME
    if _is_sound(path):
        return path
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not _is_sound(path):
            _compile(path, progress or (lambda _: None))
    return path


def _is_sound(path: Path) -> bool:
    """Whether the tables are undamaged; verified in full only where they changed since the last time."""
    try:
        state = _state(path)
        tables = _native.MeteorTables.open(path)
        if _stamp(path).exists() and json.loads(_stamp(path).read_bytes()) == state:
            return True
        tables.verify()
    except (OSError, ValueError, ResourceError):
        return False
    _remember(path)
    return True


def _state(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}


def _stamp(path: Path) -> Path:
    return path.with_suffix(".checked")


def _remember(path: Path) -> None:
    # Without this file the tables are verified in full the next time, which is only slower.
    with suppress(OSError), written_whole(_stamp(path)) as file:
        file.write(json.dumps(_state(path)).encode())


def _compile(path: Path, progress: Progress) -> None:
    paraphrases = installed_file(_PARAPHRASES, _PURPOSE)
    checksum = zlib.crc32(paraphrases.read_bytes())
    if checksum != _PARAPHRASES_CRC:
        raise _damaged(paraphrases, f"its CRC-32 must be {_PARAPHRASES_CRC:08x} (got {checksum:08x})")
    tables = _native.compile_meteor_tables(**_texts(), paraphrases=paraphrases, progress=progress)
    with written_whole(path) as file:
        file.write(tables)
    _remember(path)


def _texts() -> dict[str, bytes]:
    """The four texts of the jar."""
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
        f"{path} must be the file of pycocoevalcap 1.2: {reason};"
        f" to install it again: {INSTALL} --force-reinstall"
    )
