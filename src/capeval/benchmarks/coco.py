"""COCO Captions 2014 (Chen et al. 2015), as the installed `pycocoevalcap` carries it."""

from __future__ import annotations

import random
import zipfile
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from capeval import _native
from capeval.checks import checked_choice
from capeval.errors import FormatError, MismatchError, ResourceError
from capeval.resources.installed import INSTALL, installed_file
from capeval.types import Candidates, ImageId, References

__all__ = ["HUMAN", "HUMAN_SOURCE", "Split", "captions", "hold_out"]

Split = Literal["val2014", "train2014"]

HUMAN: Mapping[str, float] = MappingProxyType(
    {
        "BLEU-1": 0.663,
        "BLEU-2": 0.469,
        "BLEU-3": 0.321,
        "BLEU-4": 0.217,
        "METEOR": 0.252,
        "ROUGE-L": 0.484,
        "CIDEr-D": 0.854,
    }
)
"""What people score on COCO's test set with five references."""

HUMAN_SOURCE = "Chen et al. 2015, Microsoft COCO Captions, Table 1 (c5)"

_ARCHIVE = "spice/spice-1.0.jar"


def captions(split: Split = "val2014") -> References:
    """All captions of a split, read from the installed `pycocoevalcap`.

    Args:
        split: `val2014` (40,504 images) or `train2014` (82,783 images).

    Raises:
        OptionError: There is no such split.
        ResourceError: `pycocoevalcap` is not installed, or its file is damaged.
    """
    checked_choice("split", split, get_args(Split))
    path = installed_file(_ARCHIVE, "the captions of COCO")
    member = f"coco/annotations/captions_{split}.json"
    try:
        with zipfile.ZipFile(path) as archive:
            data = archive.read(member)
        return References.from_native(_native.read_annotations(data))
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, FormatError) as error:
        reason = f"{path} must hold {member} ({error}); to install it again: {INSTALL} --force-reinstall"
        raise ResourceError(reason) from None


def hold_out(references: References, *, seed: int = 0) -> tuple[References, Candidates]:
    """Makes one caption of each image the candidate and leaves the others as references.

    Args:
        references: At least two captions for each image.
        seed: Of `random.Random`, whose `randrange(captions of the image)` chooses, image by image.

    Returns:
        The references without the captions held out, and those.

    Raises:
        MismatchError: An image has one caption alone.
    """
    choice = random.Random(seed)  # noqa: S311
    left: dict[ImageId, list[str]] = {}
    held: dict[ImageId, str] = {}
    for image, texts in references.items():
        if len(texts) < 2:
            raise MismatchError(f"every image must have at least two captions (got one for image {image!r})")
        held[image] = texts.pop(choice.randrange(len(texts)))
        left[image] = texts
    return References(left), Candidates(held)
