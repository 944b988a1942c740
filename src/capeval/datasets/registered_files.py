"""Captions of benchmarks that were registered from files, in capeval's data folder."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

from capeval._internal.atomic_write import atomic_write
from capeval._internal.user_folders import find_user_folder
from capeval.data.captions import ImageId, References
from capeval.data.scores import Digest
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats import load_references, load_subsets
from capeval.formats.caption_files import coco_annotations
from capeval.formats.io.json import read_json, to_json_bytes

__all__ = ["DATA", "data_folder", "find_file", "read_file", "write_file"]

DATA = "CAPEVAL_DATA"
"""The environment variable with the folder of registered captions."""


def data_folder() -> Path:
    """Return the folder of registered captions.

    It is the folder in the variable `CAPEVAL_DATA` or, by default, `capeval` in the user's data folder.

    Raises:
        OptionError: The variable is empty.
    """
    return find_user_folder(DATA, "data")


def find_file(name: str) -> Path:
    """Return the path of a benchmark's captions, which may not exist."""
    return data_folder() / f"{name}.json.gz"


def write_file(name: str, references: References, subsets: Mapping[str, Sequence[ImageId]]) -> Path:
    """Write the captions of a benchmark atomically, and return the path of the file.

    The file has COCO's format, with the `subset` of each image and the fingerprint of the references.

    Raises:
        OSError: The file can't be written.
    """
    path = find_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    subset_of = {image: {"subset": subset} for subset, images in subsets.items() for image in images}
    info = {"benchmark": name, "fingerprint": str(Digest(references))}
    content = to_json_bytes(coco_annotations(references, info=info, about_images=subset_of))
    with atomic_write(path) as file:
        # Without a time, equal captions give equal files.
        file.write(gzip.compress(content, mtime=0))
    return path


def read_file(name: str) -> tuple[References, dict[str, list[ImageId]]]:
    """Read the references and the subsets of a registered benchmark.

    Raises:
        FormatError: The file is damaged.
        OSError: The file can't be read.
    """
    path = find_file(name)
    references = load_references(path)
    content = read_json(path)
    if content["info"].get("fingerprint") != str(Digest(references)):
        message = "the captions differ from those that were registered"
        raise FormatError(message, kind=FormatErrorKind.CHANGED, path=path)
    has_subsets = "subset" in content["images"][0]
    return references, load_subsets(path) if has_subsets else {}
