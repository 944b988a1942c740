"""Result files of submissions: the checks and messages that the server and the command line share."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from capeval.data.captions import Candidates
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats import load_candidates
from capeval.formats.io.archives import is_archive
from capeval.formats.io.sources import LIMIT

__all__ = ["describe_missing_file", "describe_phases_of_images", "describe_wrong_name", "load_result_file"]

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


def describe_wrong_name(results: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return the problem of a file with a name that belongs to no split of its phase.

    Args:
        results: The forms of the file names of the phase.
        others: The phases with results of this name.
    """
    other = f"; it has the name of results for {_list_phases(others)}" if others else ""
    return f"the file must be named {' or '.join(map(repr, results))}{other}"


def describe_missing_file(results: str, split: str, phase: str) -> str:
    """Return the problem of an upload without the results of a split of its phase."""
    of_phase = f" of phase {phase!r}" if phase else ""
    return f"the upload must contain {results!r}, the results of split {split!r}{of_phase}"


def describe_phases_of_images(others: Sequence[str]) -> str:
    """Return the end of a message about wrong images, with the phases that they belong to; "" without any."""
    return f"; they are the images of {_list_phases(others)}" if others else ""


def _list_phases(phases: Sequence[str]) -> str:
    return f"phase{'s' * (len(phases) > 1)} {' and '.join(map(repr, phases))}"
