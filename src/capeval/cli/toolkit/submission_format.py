"""Format of a challenge's submissions, as downloaded from its server, and checks of results against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from capeval.data.captions import Candidates, ImageId
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.formats.declared_fields import FIELD_TYPES, DeclaredField, parse_fields
from capeval.formats.io.archives import is_zip
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, check_row, raise_type_error, read_json
from capeval.formats.io.sources import LIMIT
from capeval.formats.result_files import find_algorithm, load_result_file
from capeval.scoring.matching import match_ids
from capeval.scoring.submission_checks import assign_splits, match_images, unpack_upload

__all__ = ["SubmissionFormat", "check_contents", "check_submission", "load_format", "parse_format"]

_LIST = Field("a list", lambda value: isinstance(value, list))
_LISTS = {"fields": _LIST, "phases": _LIST, "splits": _LIST}
_NUMBER = Field("an integer of at least 1", lambda value: type(value) is int and value >= 1)
_LIMITS = {"caption_characters": _NUMBER, "upload_bytes": _NUMBER, "unpacked_bytes": _NUMBER}
_FLAG = Field("true or false", lambda value: isinstance(value, bool))


@dataclass(frozen=True, kw_only=True)
class SplitFormat:
    """Results of a split.

    Attributes:
        name: The name of the split.
        results: The form of the file name, with a placeholder for the algorithm.
        image_ids: The images.
        file_names: The known names of the image files, by image.
    """

    name: str
    results: str
    image_ids: Sequence[ImageId]
    file_names: Mapping[ImageId, str]

    def matches(self, name: str) -> bool:
        """Return whether a file name is one of results of this split."""
        return find_algorithm(self.results, name) is not None

    def get_file_names(self) -> Mapping[ImageId, str]:
        """Return the known names of the image files, by image."""
        return self.file_names


@dataclass(frozen=True, kw_only=True)
class SubmissionFormat:
    """The format of a challenge's submissions.

    Attributes:
        slug: The name of the challenge in its URL.
        fields: The fields that submitters declare.
        longest_caption: The maximum number of characters of a caption.
        upload_bytes: The maximum size of an upload.
        unpacked_bytes: The maximum total size of the decompressed files of a zip.
        phases: The splits of each phase, by its name.
        splits: The splits, by name.
    """

    slug: str
    fields: Sequence[DeclaredField]
    longest_caption: int
    upload_bytes: int
    unpacked_bytes: int
    phases: Mapping[str, tuple[str, ...]]
    splits: Mapping[str, SplitFormat]


def load_format(path: Path) -> SubmissionFormat:
    """Read a downloaded `challenge.json`.

    Raises:
        FormatError: The file has a different format.
        OSError: The file can't be read.
    """
    try:
        return parse_format(read_json(path))
    except FormatError as error:
        raise FormatError(
            f"{error.message}; download challenge.json from the data page of the challenge",
            kind=error.kind,
            path=path,
        ) from None


def parse_format(content: Any) -> SubmissionFormat:
    """Return the format in the content of a `challenge.json`.

    Raises:
        FormatError: The content has a different format.
    """
    whole = check_row(content, "challenge", {"slug": TEXT, **_LIMITS, **_LISTS})
    splits = [_parse_split(each, f"splits[{place}]") for place, each in enumerate(whole["splits"])]
    phases = {}
    for place, each in enumerate(whole["phases"]):
        row = check_row(each, f"phases[{place}]", {"name": TEXT, "splits": _LIST})
        phases[row["name"]] = tuple(row["splits"])
        if unknown := [name for name in row["splits"] if name not in {split.name for split in splits}]:
            raise_type_error(f"phases[{place}]", "the names of splits", unknown[0], field="splits")
    for place, each in enumerate(whole["fields"]):
        row = check_row(each, f"fields[{place}]", {"name": TEXT, "required": _FLAG})
        if row.get("type", "text") not in FIELD_TYPES:
            raise_type_error(
                f"fields[{place}]", f"one of {', '.join(FIELD_TYPES)}", row["type"], field="type"
            )
    return SubmissionFormat(
        slug=whole["slug"],
        fields=parse_fields(whole["fields"]),
        longest_caption=whole["caption_characters"],
        upload_bytes=whole["upload_bytes"],
        unpacked_bytes=whole["unpacked_bytes"],
        phases=phases,
        splits={split.name: split for split in splits},
    )


def _parse_split(content: Any, where: str) -> SplitFormat:
    row = check_row(content, where, {"name": TEXT, "results": TEXT, "image_ids": _LIST, "file_names": _LIST})
    ids, names = row["image_ids"], row["file_names"]
    for place, image in enumerate(ids):
        if not IMAGE_ID.fits(image):
            raise_type_error(f"{where}.image_ids[{place}]", IMAGE_ID.expected, image)
    if names and len(names) != len(ids):
        raise FormatError(
            f"{where}.file_names must be empty or have one name per image (got {len(names)} of {len(ids)})",
            kind=FormatErrorKind.WRONG_VALUE,
        )
    return SplitFormat(
        name=row["name"],
        results=row["results"],
        image_ids=ids,
        file_names={image: name for image, name in zip(ids, names, strict=False) if name},
    )


def check_contents(path: Path) -> None:
    """Check a result file, or each JSON file in a zip, without a challenge.

    Other files in a zip belong to no split; the server names the right ones.

    Raises:
        FormatError: A file is not a result file in one of the two JSON formats that servers accept.
        OSError: The file can't be read.
    """
    data = path.read_bytes()
    with _located(path, data):
        for name, content in unpack_upload(path.name, data, limit=LIMIT).items():
            if name.lower().endswith(".json") or not is_zip(path.name, data):
                _load(name, content, LIMIT)


def check_submission(expected: SubmissionFormat, phase: str | None, path: Path) -> list[str]:
    """Check a result file, or a zip of several, against a phase, as the server does.

    Args:
        expected: The format of the submissions.
        phase: The phase; by default, the one with these file names and images.
        path: The file.

    Returns:
        A line about each file, and one about the phase, or about all phases with the same splits.

    Raises:
        FormatError: The file is not a valid upload, or its file names, images or captions are wrong.
        OptionError: The challenge has no such phase, or several phases are possible.
        OSError: The file can't be read.
    """
    data = path.read_bytes()
    with _located(path, data):
        if len(data) > expected.upload_bytes:
            raise FormatError(
                f"the upload must have at most {expected.upload_bytes:,} bytes (got more)",
                kind=FormatErrorKind.TOO_LARGE,
            )
        files = unpack_upload(path.name, data, limit=expected.unpacked_bytes)
        phases = [phase] if phase is not None else _find_phases(expected, files)
        if phases[0] not in expected.phases:
            raise OptionError(f"--phase must be one of {', '.join(expected.phases)} (got {phase!r})")
        seen = _check_files(expected, phases[0], files)
    lines = [
        f"{seen[name]}: {len(expected.splits[name].image_ids):,} images of split {name}"
        for name in expected.phases[phases[0]]
    ]
    return [*lines, f"valid for phase{'s' * (len(phases) > 1)} {' and '.join(phases)}"]


def _check_files(expected: SubmissionFormat, phase: str, files: Mapping[str, bytes]) -> dict[str, str]:
    """Check the files of an upload; return the name of the file of each split."""
    forms = {name: expected.splits[name].results for name in expected.phases[phase]}
    assigned, _ = assign_splits(
        files, forms, phase, lambda name: _list_other_phases(expected, phase, lambda one: one.matches(name))
    )
    for name, content in files.items():
        split = expected.splits[assigned[name]]
        candidates = _load(name, content, expected.unpacked_bytes)
        try:
            match_images(
                candidates,
                split.image_ids,
                split=split.name,
                names=split.get_file_names,
                longest=expected.longest_caption,
                find_phases=partial(_find_phases_of_images, expected, phase),
            )
        except FormatError as error:
            raise _name_file(error, name) from None
    return {split: name for name, split in assigned.items()}


def _load(name: str, content: bytes, limit: int) -> Candidates:
    """Read a result file; its name is the entry of errors."""
    try:
        return load_result_file(content, limit=limit)
    except FormatError as error:
        raise _name_file(error, name) from None


def _name_file(error: FormatError, name: str) -> FormatError:
    return FormatError(error.message, kind=error.kind, entry=name)


@contextmanager
def _located(path: Path, data: bytes) -> Iterator[None]:
    """Add the path of an upload to errors, and the name of the invalid file in a zip."""
    try:
        yield
    except FormatError as error:
        in_zip = error.entry is not None and is_zip(path.name, data)
        message = f"{error.entry!r}: {error.message}" if in_zip else error.message
        raise FormatError(message, kind=error.kind, path=path) from None


def _find_phases(expected: SubmissionFormat, files: Mapping[str, bytes]) -> list[str]:
    """Return the phase with exactly the results of its splits, and all others with the same splits.

    Of several phases with the same file names, it is the one with the most images of the results.
    """
    names = list(files)
    phases = {name: [expected.splits[each] for each in splits] for name, splits in expected.phases.items()}

    def fits(splits: Sequence[SplitFormat]) -> bool:
        found = {split.name for name in names for split in splits if split.matches(name)}
        return len(found) == len(splits) == len(names)

    def count_images(phase: str, candidates: Mapping[str, Candidates]) -> int:
        return sum(
            len(_match_images(split, candidates[name]))
            for name in names
            for split in phases[phase]
            if split.matches(name)
        )

    possible = list(phases) if len(phases) == 1 else [name for name in phases if fits(phases[name])]
    if not possible:
        listed = "; ".join(
            f"{name}: {', '.join(split.results for split in splits)}" for name, splits in phases.items()
        )
        raise FormatError(
            f"the files ({', '.join(names)}) must be those of a phase ({listed})",
            kind=FormatErrorKind.WRONG_MEMBERS,
        )
    if len(possible) > 1:
        candidates = {name: _load(name, files[name], expected.unpacked_bytes) for name in names}
        counts = {phase: count_images(phase, candidates) for phase in possible}
        possible = [phase for phase in possible if counts[phase] == max(counts.values())]
    if len({expected.phases[phase] for phase in possible}) > 1:
        raise OptionError(f"--phase must be given: the files fit several phases ({', '.join(possible)})")
    return possible


def _match_images(split: SplitFormat, candidates: Candidates) -> list[ImageId]:
    """Return the images of a split that have captions, by the server's rules for ids."""
    _, ids = match_ids(split.image_ids, list(candidates), extra="skip", names=split.get_file_names)
    return list(ids.values())


def _find_phases_of_images(expected: SubmissionFormat, phase: str, images: Sequence[ImageId]) -> list[str]:
    """Return the other phases with a split of exactly these images."""

    def fits(split: SplitFormat) -> bool:
        return len(match_ids(split.image_ids, images)[1]) == len(split.image_ids)

    return _list_other_phases(expected, phase, fits)


def _list_other_phases(
    expected: SubmissionFormat, phase: str, fits: Callable[[SplitFormat], bool]
) -> list[str]:
    """Return the other phases with a split that fits."""
    own = expected.phases[phase]
    return [
        name
        for name, splits in expected.phases.items()
        if name != phase and any(fits(expected.splits[each]) for each in splits if each not in own)
    ]
