"""Result files of submissions: their names and content, for the server and the command line."""

from __future__ import annotations

import codecs
import re

from capeval.data.captions import Candidates
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats import load_candidates
from capeval.formats.io.archives import is_archive
from capeval.formats.io.sources import LIMIT

__all__ = ["ALGORITHM", "ANY_NAME", "find_algorithm", "load_result_file"]

ALGORITHM = "<alg>"
"""The placeholder for the algorithm in the form of a file name."""

ANY_NAME = f"{ALGORITHM}.json"
"""The form of results with any file name."""

# Windows programs put them in front of UTF-8 and UTF-16.
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def load_result_file(data: bytes, *, limit: int = LIMIT) -> Candidates:
    """Read the captions of a result file, in one of the two JSON formats that servers accept.

    Args:
        data: The content of the file.
        limit: The maximum size of the file in bytes.

    Raises:
        FormatError: The file has a different format, or is invalid.

    Example:
        >>> from capeval.formats.result_files import load_result_file
        >>> load_result_file(b'[{"image_id": 1, "caption": "a dog"}]')[1]
        ('a dog',)
    """
    if not data.strip():
        found = "only white space" if data else "an empty file"
        raise FormatError(
            f"the file must be JSON: a list or a mapping of captions (got {found})",
            kind=FormatErrorKind.EMPTY_FILE,
        )
    if is_archive(data):
        raise FormatError("the file must be JSON (got an archive)", kind=FormatErrorKind.UNSUPPORTED)
    if data.startswith(_BYTE_ORDER_MARKS):
        raise FormatError(
            "the file must be UTF-8 without a byte order mark (got a file that begins with one): save it"
            " again as plain UTF-8",
            kind=FormatErrorKind.UNSUPPORTED,
        )
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise FormatError(
            "the file must be JSON: a list or a mapping of captions", kind=FormatErrorKind.UNSUPPORTED
        )
    return load_candidates(data, limit=limit, strict=True)


def find_algorithm(form: str, name: str) -> str | None:
    """Return the algorithm in the name of a result file, or None if the name does not match.

    If results may have any name, other characters than those of algorithms are replaced.

    Args:
        form: The form of the file name, with a placeholder for the algorithm.
        name: The file name.

    Example:
        >>> from capeval.formats.result_files import find_algorithm
        >>> find_algorithm("captions_val_<alg>_results.json", "captions_val_mine_results.json")
        'mine'
    """
    if form == ANY_NAME:
        stem, dot, ending = name.rpartition(".")
        algorithm = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-")[:64]
        return (algorithm or "results") if dot and ending.lower() == "json" else None
    pattern = re.escape(form).replace(re.escape(ALGORITHM), r"([A-Za-z0-9._-]{1,64})")
    match = re.fullmatch(pattern, name, re.ASCII)
    return match[1] if match else None
