"""METEOR's word tables: compiled once from the installed `pycocoevalcap`, memory-mapped from then on.

The tables are one file in the user's cache folder (format: see `docs/metrics/meteor.md`). A small file
beside it has the size and time of the tables when they were last verified. Tables that are unchanged since
then are opened in milliseconds; others are verified, and compiled again if they are damaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from capeval import _native
from capeval.errors import CapevalWarning, ResourceError
from capeval.resources.compiled import CACHE, Found, cache_folder, compiled_file, is_sound, temporary_folder
from capeval.resources.installed import INSTALL, installed_file

__all__ = [
    "FUNCTION_WORDS",
    "PARAPHRASES",
    "compiled_tables",
    "found_tables",
    "meteor_tables",
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

FUNCTION_WORDS: Mapping[str, tuple[str, int]] = {
    "cs": ("czech", 0x3E21DB9F),
    "da": ("danish", 0),
    "de": ("german", 0x5A31D5ED),
    "es": ("spanish", 0xD0FA14FB),
    "fr": ("french", 0xD9807C3C),
    "it": ("italian", 0),
    "no": ("norwegian", 0),
    "ro": ("romanian", 0),
    "ru": ("russian", 0xA1202DDE),
    "sv": ("swedish", 0),
    "tr": ("turkish", 0),
}
"""The name, and the CRC-32 of the function words, of each language but English."""

Progress = Callable[[int], object]


@cache
def meteor_tables(folder: Path | None = None, language: str = "en") -> _native.MeteorTables:
    """The tables, compiled where they are missing, and opened once in each process.

    Args:
        folder: Where the compiled file is kept; the user's cache folder by default.
        language: `en`, or a language of `FUNCTION_WORDS`.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: `folder` can't be written to.
    """
    return _native.MeteorTables.open(compiled_tables(folder, language=language))


def found_tables() -> Found | None:
    """The compiled tables of English in the user's cache folder; None where they are missing or damaged."""
    path = cache_folder() / _name("en")
    if not is_sound(path, _native.MeteorTables.open):
        return None
    from zlib import crc32

    return Found(path=path, fingerprint=f"{crc32(path.read_bytes()):08x}")


def compiled_tables(
    folder: Path | None = None,
    progress: Progress | None = None,
    *,
    again: bool = False,
    language: str = "en",
) -> Path:
    """The path of the compiled tables, which are made where they are missing or damaged.

    Args:
        folder: The folder of the compiled file. By default it is the user's cache folder or, where that can't
            be written to, one of this process alone, and a warning says so.
        progress: Called now and then, while compiling, with the number of paraphrases read.
        again: Whether to make them where they are whole too.
        language: `en`, or a language of `FUNCTION_WORDS`.

    Raises:
        ResourceError: The sources are missing or damaged.
        OSError: `folder` can't be written to.
    """
    compiled = cache(lambda: _compiled(language, progress or (lambda _: None)))
    name = _name(language)
    path = (folder or cache_folder()) / name
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
        return compiled_file(instead / name, _native.MeteorTables.open, compiled)


def _name(language: str) -> str:
    return f"meteor-1.5-{language}-2.tables"


def _compiled(language: str, progress: Progress) -> bytes:
    if language != "en":
        name, checksum = FUNCTION_WORDS[language]
        (words,) = _texts({"function_words": (f"function/{name}.words", checksum)}).values()
        return _native.compile_meteor_function_words(words)
    from zlib import crc32

    paraphrases = installed_file(_PARAPHRASES, _PURPOSE)
    checksum = crc32(paraphrases.read_bytes())
    if checksum != _PARAPHRASES_CRC:
        raise _damaged(paraphrases, f"its CRC-32 must be {_PARAPHRASES_CRC:08x} (got {checksum:08x})")
    return _native.compile_meteor_tables(**_texts(_IN_JAR), paraphrases=paraphrases, progress=progress)


def synonym_texts() -> dict[str, bytes]:
    """METEOR's `synsets` and `exceptions`: the synonyms that SPICE merges and matches words by.

    Raises:
        ResourceError: They are missing or damaged.
    """
    texts = _texts(_IN_JAR)
    return {name: texts[name] for name in ("synsets", "exceptions")}


def _texts(members: Mapping[str, tuple[str, int]]) -> dict[str, bytes]:
    """Texts of the jar: each name's member, whose CRC-32 must be as given."""
    import zipfile
    import zlib

    jar = installed_file(_JAR, _PURPOSE)
    texts = {}
    try:
        with zipfile.ZipFile(jar) as archive:
            for name, (member, _) in members.items():
                texts[name] = archive.read(member)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError) as error:
        raise _damaged(jar, str(error)) from None
    for name, (member, expected) in members.items():
        checksum = zlib.crc32(texts[name])
        if checksum != expected:
            raise _damaged(jar, f"the CRC-32 of {member} must be {expected:08x} (got {checksum:08x})")
    return texts


def _damaged(path: Path, reason: str) -> ResourceError:
    return ResourceError(
        f"{path} must be the file of pycocoevalcap 1.2: {reason};"
        f" to install it again: {INSTALL} --force-reinstall"
    )
