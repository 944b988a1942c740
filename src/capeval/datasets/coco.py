"""COCO Captions 2014 (Chen et al. 2015), from the installed `pycocoevalcap`."""

from __future__ import annotations

import zipfile
import zlib
from typing import Literal, get_args

from capeval import _native
from capeval._internal.validation import validate_choice
from capeval.data.captions import References
from capeval.errors import FormatError, ResourceError
from capeval.resources.installed_files import REINSTALL, find_installed_file, find_installed_folders

__all__ = ["Split", "is_installed", "load_captions"]

Split = Literal["val2014", "train2014"]

_ARCHIVE = "spice/spice-1.0.jar"


def is_installed() -> bool:
    """Return whether `load_captions` finds its file in the installed `pycocoevalcap`.

    Example:
        >>> from capeval.datasets.coco import is_installed
        >>> is_installed()
        True
    """
    return any((folder / _ARCHIVE).is_file() for folder in find_installed_folders())


def load_captions(split: Split = "val2014") -> References:
    """Read all captions of a split from the installed `pycocoevalcap`.

    Args:
        split: `val2014` (40,504 images) or `train2014` (82,783 images).

    Raises:
        OptionError: There is no such split.
        ResourceError: `pycocoevalcap` is not installed, or its file is damaged.

    Example:
        >>> from capeval.datasets.coco import load_captions
        >>> captions = load_captions("val2014")
        >>> len(captions)
        40504
        >>> captions[391895][2]
        'A man riding on the back of a motorcycle.'
    """
    validate_choice("split", split, get_args(Split))
    path = find_installed_file(_ARCHIVE, "the captions of COCO")
    member = f"coco/annotations/captions_{split}.json"
    try:
        with zipfile.ZipFile(path) as archive:
            data = archive.read(member)
        return References.from_native(_native.read_annotations(data))
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, FormatError) as error:
        reason = f"cannot read {member} from {path} ({error}); to reinstall it, run `{REINSTALL}`"
        raise ResourceError(reason) from None
