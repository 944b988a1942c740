"""Original files of FOIL-COCO (Shekhar et al. 2017): captions with one wrong word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capeval.data.captions import References
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, iterate_rows, read_json
from capeval.formats.io.sources import File, add_path_to_errors
from capeval.formats.judgments.plans import Pair

__all__ = ["load_foil"]

_FLAG = Field("true or false", lambda value: isinstance(value, bool))
_FIELDS: Mapping[str, Field] = {"id": IMAGE_ID, "image_id": IMAGE_ID, "caption": TEXT, "foil": _FLAG}


def load_foil(file: File, references: References) -> tuple[Pair, ...]:
    """Read pairs of an original caption and the same caption with one wrong word.

    The annotations of the file have `image_id`, `caption`, `foil` (true for the wrong caption) and `id`,
    which a wrong caption shares with its original. The references of a pair are the captions of its image,
    without the original. Polos (github.com/keio-smilab24/Polos, commit a8e7c42) reads the file in this way
    (`validate/compute_foil.py`, lines 16 to 86).

    Args:
        file: `foilv1.0_test_2017.json`, the path of the file or its bytes.
        references: The captions of COCO's images, of `captions_val2014.json` for the test file.

    Returns:
        One pair for each wrong caption. The original is the first, and has one vote.

    Raises:
        FormatError: The file is invalid, or an image has no other captions; the error names the entry.
        OSError: The file can't be read.

    Example:
        >>> import json
        >>> from capeval import References
        >>> from capeval.datasets.foil import load_foil
        >>> right = {"id": 7, "image_id": 1, "caption": "A dog runs.", "foil": False}
        >>> content = {"annotations": [right, {**right, "caption": "A cat runs.", "foil": True}]}
        >>> references = References({1: ["A dog runs.", "The dog is running."]})
        >>> [pair] = load_foil(json.dumps(content).encode(), references)
        >>> pair.first, pair.second, pair.references
        ('A dog runs.', 'A cat runs.', ('The dog is running.',))
    """
    with add_path_to_errors(file):
        rows = list(iterate_rows(read_json(file), "annotations", _FIELDS))
        originals = {row["id"]: row for _, row in rows if not row["foil"]}
        pairs = tuple(
            _build_foil_pair(entry, row, originals, references) for entry, row in rows if row["foil"]
        )
        if not pairs:
            message = "'annotations' must contain at least one entry with foil = true"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
        return pairs


def _build_foil_pair(
    entry: str, row: Mapping[str, Any], originals: Mapping[Any, Mapping[str, Any]], references: References
) -> Pair:
    original = originals.get(row["id"])
    image = row["image_id"]
    if original is None or original["image_id"] != image:
        message = f"{entry} must have an entry of the same image with id {row['id']!r} and foil = false"
        raise FormatError(message, kind=FormatErrorKind.MISMATCH, entry=entry)
    known = references.get(image, ())
    others = tuple(text for text in known if text != original["caption"])
    if not others:
        message = f"{entry} must have an image with other captions as references (got image {image!r})"
        raise FormatError(message, kind=FormatErrorKind.MISMATCH, entry=entry)
    return Pair(image=image, first=original["caption"], second=row["caption"], references=others, votes=(1,))
