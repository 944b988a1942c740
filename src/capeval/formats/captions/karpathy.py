"""Datasets in the format of Karpathy's `dataset_coco.json`, with splits."""

from __future__ import annotations

from capeval import _native
from capeval.data.captions import References
from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import format_names
from capeval.formats.base import CaptionFormat, ReadOptions
from capeval.formats.io.sources import JsonShape, Source

__all__ = ["KIND"]

# COCO's image ids; file names, for Flickr's images; the index of the image in the file.
_IDS = ("cocoid", "filename", "imgid")


def _recognize(source: Source, _: ReadOptions) -> bool:
    return source.json.kind == "object" and "sentences" in _get_first_image(source).fields


def _get_first_image(source: Source) -> JsonShape:
    images = source.json.fields.get("images")
    return (images.first if images is not None else None) or JsonShape("", {}, None)


def _read_references(source: Source, options: ReadOptions) -> References:
    captions, splits = _native.read_karpathy(
        source.data, _choose_id_key(source, options), list(options.splits)
    )
    unknown = [split for split in options.splits if split not in splits]
    if unknown:
        message = f"unknown split {format_names(unknown)}; the file has the splits {format_names(splits)}"
        raise FormatError(message, kind=FormatErrorKind.UNKNOWN)
    if not options.splits and len(splits) > 1:
        message = (
            f"the file has the splits {format_names(splits)}; select one or more with 'split'"
            " (on the command line: --split)"
        )
        raise FormatError(message, kind=FormatErrorKind.AMBIGUOUS)
    if not len(captions):
        message = "the file must have at least one caption (got none)"
        raise FormatError(message, kind=FormatErrorKind.NO_CAPTIONS)
    return References.from_native(captions)


def _choose_id_key(source: Source, options: ReadOptions) -> str:
    named, keys = options.columns.id_column, _get_first_image(source).fields
    if named is not None:
        if named not in _IDS:
            keys_of_ids = format_names(_IDS)
            message = (
                f"the image id key of a dataset with splits must be one of {keys_of_ids} (got {named!r})"
            )
            raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE)
        return named
    other = options.columns.other_id_column
    if other in _IDS and other in keys:
        return other
    return "cocoid" if "cocoid" in keys else "filename"


KIND = CaptionFormat(
    name="a dataset with splits",
    form='{"images": [{"cocoid", "split", "sentences": [{"raw"}, ...]}, ...]}, such as dataset_coco.json',
    priority=20,
    example=lambda: (
        b'{"images": [{"cocoid": 1, "split": "test", "sentences": [{"raw": "A dog."}]}, {"cocoid": 2,'
        b' "split": "test", "sentences": [{"raw": "Two cats."}]}]}'
    ),
    recognize=_recognize,
    references=_read_references,
    has_columns=True,
    has_splits=True,
)
