"""Contents of an upload: a JSON file or a zip of several, checked before storage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from django.conf import settings

from capeval.data.captions import ImageId
from capeval.errors import FormatError
from capeval.formats.io.archives import read_zip
from capeval.formats.result_files import load_result_file
from capeval.scoring.matching import match_ids
from capeval.scoring.submission_checks import assign_splits, match_images, unpack_upload
from capeval_server.challenges.models import Phase, Split
from capeval_server.challenges.services.image_lists import get_images
from capeval_server.core.errors import UploadError

__all__ = ["Upload", "check_results", "read_archive", "read_upload"]


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


def read_upload(
    name: str, file: Iterable[bytes], splits: Sequence[Split], phase: Phase | None = None
) -> Upload:
    """Read and check an upload to a phase with some splits.

    Args:
        name: The name of the uploaded file.
        file: The content of the file, in chunks.
        splits: The splits with required results.
        phase: The phase, for messages that name it and the phases of files that belong to others.

    Raises:
        UploadError: The upload is invalid; the error names the invalid file.
    """
    data = _join_bounded(file)
    by_name = {split.name: split for split in splits}
    try:
        entries = unpack_upload(name, data, limit=settings.UNPACKED_BYTES)
        assigned, algorithm = assign_splits(
            entries,
            {split.name: split.results for split in splits},
            "" if phase is None else phase.name,
            partial(_find_phases_of_name, phase),
        )
    except FormatError as error:
        raise UploadError(error.message, entry=error.entry) from None
    files, rules = {}, {}
    for entry, content in entries.items():
        split = by_name[assigned[entry]]
        files[split.name], rules[split.name] = check_results(
            entry,
            content,
            split.name,
            split.image_ids,
            None if split.pk is None else partial(_get_file_names, split),
            find_phases=partial(_find_phases_of_images, phase),
        )
    return Upload(files, algorithm, rules)


def read_archive(file: Iterable[bytes]) -> dict[str, bytes]:
    """Return the files in a zip by name.

    Names with folders and nested archives are rejected.

    Args:
        file: The content of the zip, in chunks.

    Raises:
        UploadError: The file is not a zip, too large or damaged; the error names the invalid file in it.
    """
    try:
        return read_zip(_join_bounded(file), limit=settings.UNPACKED_BYTES)
    except FormatError as error:
        raise UploadError(error.message, entry=error.entry) from None


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


def _find_phases_of_name(phase: Phase | None, name: str) -> list[str]:
    """Return the other phases with a split of results with this name."""
    return _list_other_phases(phase, lambda split: split.algorithm(name) is not None)


def _find_phases_of_images(phase: Phase | None, images: Sequence[ImageId]) -> list[str]:
    """Return the other phases with a split of exactly these images."""

    def fits(split: Split) -> bool:
        return len(match_ids(split.image_ids, images)[1]) == len(split.image_ids)

    return _list_other_phases(phase, fits)


def _list_other_phases(phase: Phase | None, fits: Callable[[Split], bool]) -> list[str]:
    """Return the names of a challenge's other phases with a split that fits."""
    if phase is None:
        return []
    others = phase.challenge.phases.exclude(pk=phase.pk).prefetch_related("splits").order_by("opens", "pk")
    own = set(phase.splits.values_list("pk", flat=True))
    return [
        other.name
        for other in others
        if any(fits(split) for split in other.splits.all() if split.pk not in own)
    ]


def _get_file_names(split: Split) -> dict[ImageId, str]:
    """Return the known file names of a split's images."""
    return {image.id: image.file_name for image in get_images(split) if image.file_name}


def check_results(
    entry: str,
    data: bytes,
    split: str,
    images: Sequence[ImageId],
    names: Callable[[], Mapping[ImageId, str]] | None = None,
    *,
    find_phases: Callable[[Sequence[ImageId]], list[str]] = lambda _: [],
) -> tuple[bytes, str]:
    """Check a results file; its image ids may differ in form from the split's.

    Args:
        entry: The name of the file.
        data: The content of the file.
        split: The name of its split.
        images: The split's images.
        names: Returns the known file names of the split's images.
        find_phases: Returns the phases that some images belong to, if they are not the split's.

    Returns:
        The content of the file with the image ids of the split, and the rule that matched the ids
        (`capeval.scoring.matching.match_ids`); the same content and an empty rule if the ids are equal.

    Raises:
        UploadError: The file is not a results file, or covers other images.
    """
    try:
        candidates = load_result_file(data, limit=settings.UNPACKED_BYTES)
        rule, ids = match_images(
            candidates,
            images,
            split=split,
            names=names,
            longest=settings.CAPTION_CHARACTERS,
            find_phases=find_phases,
        )
    except FormatError as error:
        raise UploadError(error.message, entry=entry) from None
    if not rule:
        return data, ""
    rows = [
        {"image_id": ids[image], "caption": caption}
        for image, captions in candidates.items()
        for caption in captions
    ]
    return json.dumps(rows, ensure_ascii=False).encode(), rule
