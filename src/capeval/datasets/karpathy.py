"""Karpathy splits of COCO (Karpathy and Fei-Fei 2015).

The splits val and test each have 5,000 images of val2014.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from capeval._internal.validation import validate_choice
from capeval.data.captions import References
from capeval.datasets import coco
from capeval.errors import FormatError, FormatErrorKind, MismatchError
from capeval.errors.messages import format_images
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import File, add_path_to_errors

__all__ = ["Split", "list_images", "load_images", "load_references", "load_split"]

Split = Literal["test", "val"]
"""The splits with images of val2014 only."""


def list_images(split: Split = "test") -> list[int]:
    """Return the image ids of a split, in ascending order.

    Raises:
        OptionError: There is no such split.

    Example:
        >>> from capeval.datasets.karpathy import list_images
        >>> images = list_images("test")
        >>> len(images), images[:3]
        (5000, [42, 359, 636])
    """
    validate_choice("split", split, get_args(Split))
    path = Path(__file__).with_name("splits") / f"karpathy_{split}.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [int(line) for line in lines if not line.startswith("#")]


def load_split(split: Split = "test") -> References:
    """Read the references of a split from the installed `pycocoevalcap`, in the order of its file.

    Raises:
        OptionError: There is no such split.
        ResourceError: `pycocoevalcap` is not installed, or its file is damaged.

    Example:
        >>> from capeval.datasets.karpathy import load_split
        >>> references = load_split("test")
        >>> len(references), references[391895][2]
        (5000, 'A man riding on the back of a motorcycle.')
    """
    wanted = set(list_images(split))
    captions = coco.load_captions("val2014")
    return captions.select(image for image in captions.image_ids if image in wanted)


def load_images(file: File) -> list[int]:
    """Read the image ids in an image list.

    Each line contains an image's path and its id, such as `val2014/COCO_val2014_000000391895.jpg 391895`.

    Raises:
        FormatError: The file is invalid, or contains an image twice; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.karpathy import load_images
        >>> _ = Path("karpathy_test.txt").write_text("val2014/COCO_val2014_000000391895.jpg 391895")
        >>> load_images("karpathy_test.txt")
        [391895]
    """
    images: dict[int, None] = {}
    with add_path_to_errors(file):
        for number, line in text_lines(file):
            path, _, image = line.rpartition(" ")
            if not path or not (image.isascii() and image.isdigit() and len(image) < 19):
                message = f"line {number} must contain an image's path and its id (got {line[:60]!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=number)
            if int(image) in images:
                message = f"line {number}: duplicate image id (got {line[:60]!r})"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE_IMAGE, line=number)
            images[int(image)] = None
        if not images:
            message = "the file must contain at least one image (got none)"
            raise FormatError(message, kind=FormatErrorKind.NO_IMAGES)
    return list(images)


def load_references(file: File) -> References:
    """Read the references of the images in a list from the installed `pycocoevalcap`.

    Raises:
        FormatError: The file is not such a list.
        MismatchError: An image does not belong to val2014.
        ResourceError: `pycocoevalcap` is not installed, or its file is damaged.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.karpathy import load_references
        >>> _ = Path("karpathy_test.txt").write_text("val2014/COCO_val2014_000000391895.jpg 391895")
        >>> references = load_references("karpathy_test.txt")
        >>> len(references[391895]), references[391895][2]
        (5, 'A man riding on the back of a motorcycle.')
    """
    images = load_images(file)
    captions = coco.load_captions("val2014")
    unknown = [image for image in images if image not in captions]
    if unknown:
        raise MismatchError(f"{format_images(unknown)} listed but not among the images of val2014")
    return captions.select(images)
