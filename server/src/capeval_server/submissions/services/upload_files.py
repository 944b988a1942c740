"""Contents of an upload: a JSON file or a zip of several, checked before storage."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from django.conf import settings

import capeval
from capeval.data.captions import ImageId
from capeval.errors import FormatError
from capeval.errors.messages import describe_image_mismatch
from capeval.formats.io.archives import is_archive, is_zip, read_zip
from capeval.scoring.matching import match_ids
from capeval_server.challenges.models import Split
from capeval_server.challenges.services.image_lists import get_images
from capeval_server.core.errors import UploadError

__all__ = ["Upload", "check_results", "read_archive", "read_upload"]

# Windows programs put them in front of UTF-8 and UTF-16.
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Upload:
    """Valid upload.

    Attributes:
        files: The content of the results file of each split, by the split's name. Image ids that differ in
            form from those of the split are replaced by them.
        algorithm: The algorithm in the file names.
        id_rules: The rule that matched the image ids of each results file, by the split's name; empty if they
            are equal to the split's.
    """

    def __init__(self, files: dict[str, bytes], algorithm: str, id_rules: Mapping[str, str]) -> None:
        self.files = files
        self.algorithm = algorithm
        self.id_rules = id_rules


def read_upload(name: str, file: Iterable[bytes], splits: Sequence[Split]) -> Upload:
    """Read and check an upload to a phase with some splits.

    Args:
        name: The name of the uploaded file.
        file: The content of the file, in chunks.
        splits: The splits with required results.

    Raises:
        UploadError: The upload is invalid; the error names the invalid file.
    """
    data = _join_bounded(file)
    entries = _unzip(data) if is_zip(name, data) else {name: data}
    named = {entry: _find_split(entry, splits) for entry in entries}
    for split in splits:
        if split.name not in {found.name for found, _ in named.values()}:
            raise UploadError(
                f"the upload must contain {split.results!r}, the results of split {split.name!r}"
            )
    algorithms = sorted({algorithm for _, algorithm in named.values()})
    if len(algorithms) > 1 or len(named) > len(splits):
        raise UploadError(f"all files must have the same algorithm (got {', '.join(map(repr, algorithms))})")
    checked = {}
    for entry, content in entries.items():
        split = named[entry][0]
        names = None if split.pk is None else partial(_get_file_names, split)
        checked[split.name] = check_results(entry, content, split.name, split.image_ids, names)
    files = {name: content for name, (content, _) in checked.items()}
    return Upload(files, algorithms[0], {name: rule for name, (_, rule) in checked.items()})


def read_archive(file: Iterable[bytes]) -> dict[str, bytes]:
    """Return the files in a zip by name.

    Names with folders and nested archives are rejected.

    Args:
        file: The content of the zip, in chunks.

    Raises:
        UploadError: The file is not a zip, too large or damaged; the error names the invalid file in it.
    """
    return _unzip(_join_bounded(file))


def _join_bounded(chunks: Iterable[bytes]) -> bytes:
    """Join chunks up to the size limit.

    Bytes are counted as they arrive, because a declared size may be wrong.
    """
    parts, total, limit = [], 0, settings.UPLOAD_BYTES
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise UploadError(f"the upload must have at most {limit:,} bytes (got more)")
        parts.append(chunk)
    return b"".join(parts)


def _unzip(data: bytes) -> dict[str, bytes]:
    try:
        return read_zip(data, limit=settings.UNPACKED_BYTES)
    except FormatError as error:
        raise UploadError(error.message, entry=error.entry) from None


def _find_split(entry: str, splits: Sequence[Split]) -> tuple[Split, str]:
    for split in splits:
        algorithm = split.algorithm(entry)
        if algorithm is not None:
            return split, algorithm
    expected = " or ".join(repr(split.results) for split in splits)
    raise UploadError(f"the file must be named {expected}", entry=entry)


def _get_file_names(split: Split) -> dict[ImageId, str]:
    """Return the known file names of a split's images."""
    return {image.id: image.file_name for image in get_images(split) if image.file_name}


def check_results(
    entry: str,
    data: bytes,
    split: str,
    images: Sequence[ImageId],
    names: Callable[[], Mapping[ImageId, str]] | None = None,
) -> tuple[bytes, str]:
    """Check a results file; its image ids may differ in form from the split's.

    Args:
        entry: The name of the file.
        data: The content of the file.
        split: The name of its split.
        images: The split's images.
        names: Returns the known file names of the split's images.

    Returns:
        The content of the file with the image ids of the split, and the rule that matched the ids
        (`capeval.scoring.matching.match_ids`); the same content and an empty rule if the ids are equal.

    Raises:
        UploadError: The file is not a results file, or covers other images.
    """
    if is_archive(data):
        raise UploadError("the file must be JSON (got an archive)", entry=entry)
    if data.startswith(_BYTE_ORDER_MARKS):
        raise UploadError(
            "the file must be UTF-8 without a byte order mark (got a file that begins with one): save it"
            " again as plain UTF-8",
            entry=entry,
        )
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise UploadError("the file must be JSON: a list or a mapping of captions", entry=entry)
    try:
        candidates = capeval.load_candidates(data, limit=settings.UNPACKED_BYTES, strict=True)
    except FormatError as error:
        raise UploadError(error.message, entry=entry) from None
    rule, ids = match_ids(images, candidates.image_ids, names=names)
    problem = describe_image_mismatch(
        ids.values() or candidates.image_ids, images, f"split {split!r}", "a caption"
    )
    if problem:
        raise UploadError(problem, entry=entry)
    limit = settings.CAPTION_CHARACTERS
    for image, captions in candidates.items():
        longest = max(map(len, captions))
        if longest > limit:
            raise UploadError(
                f"captions must have at most {limit:,} characters (got {longest:,} for image {image!r})",
                entry=entry,
            )
    if not rule:
        return data, ""
    rows = [
        {"image_id": ids[image], "caption": caption}
        for image, captions in candidates.items()
        for caption in captions
    ]
    return json.dumps(rows, ensure_ascii=False).encode(), rule
