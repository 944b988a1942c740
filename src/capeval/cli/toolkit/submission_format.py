"""Format of a challenge's submissions, as downloaded from its server, and checks of results against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capeval.data.captions import Candidates, ImageId
from capeval.errors import CapevalError, FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import describe_image_mismatch
from capeval.formats.declared_fields import FIELD_TYPES, DeclaredField, parse_fields
from capeval.formats.io.archives import is_zip, read_zip
from capeval.formats.io.json import IMAGE_ID, TEXT, Field, check_row, raise_type_error, read_json
from capeval.formats.result_files import (
    describe_missing_file,
    describe_phases_of_images,
    describe_wrong_name,
    load_result_file,
)
from capeval.scoring.matching import match_ids

__all__ = ["SubmissionFormat", "check_submission", "load_format", "parse_format", "read_results"]

_ALGORITHM = "<alg>"
_ANY_NAME = f"{_ALGORITHM}.json"
_LIST = Field("a list", lambda value: isinstance(value, list))
_LISTS = {"fields": _LIST, "phases": _LIST, "splits": _LIST}
_NUMBER = Field("an integer of at least 1", lambda value: type(value) is int and value >= 1)
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
        if self.results == _ANY_NAME:
            return name.lower().endswith(".json")
        before, _, after = self.results.partition(_ALGORITHM)
        pattern = f"{re.escape(before)}[A-Za-z0-9._-]{{1,64}}{re.escape(after)}"
        return re.fullmatch(pattern, name, re.ASCII) is not None


@dataclass(frozen=True, kw_only=True)
class SubmissionFormat:
    """The format of a challenge's submissions.

    Attributes:
        slug: The name of the challenge in its URL.
        fields: The fields that submitters declare.
        longest_caption: The maximum number of characters of a caption.
        phases: The splits of each phase, by its name.
        splits: The splits, by name.
    """

    slug: str
    fields: Sequence[DeclaredField]
    longest_caption: int
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
    whole = check_row(content, "challenge", {"slug": TEXT, "caption_characters": _NUMBER, **_LISTS})
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


def read_results(path: Path) -> dict[str, Candidates]:
    """Read a result file, or each file in a zip, by name, like the server does.

    Only the two JSON formats that servers accept are allowed.

    Raises:
        FormatError: A file is not a result file in one of these formats.
        OSError: The file can't be read.
    """
    data = path.read_bytes()
    archived = is_zip(path.name, data)
    try:
        entries = read_zip(data) if archived else {path.name: data}
    except FormatError as error:
        raise _locate(error, path, error.entry or "") from None
    files = {}
    for name, content in entries.items():
        try:
            files[name] = load_result_file(content)
        except FormatError as error:
            raise _locate(error, path, name if archived else "") from None
    return files


def _locate(error: FormatError, path: Path, entry: str) -> FormatError:
    """Return an error with the path of the file, and the name of the file in a zip."""
    message = f"{entry!r}: {error.message}" if entry else error.message
    return FormatError(message, kind=error.kind, path=path)


def check_submission(
    expected: SubmissionFormat, phase: str | None, files: Mapping[str, Candidates]
) -> list[str]:
    """Check results against a phase: file names, images and lengths of captions.

    Args:
        expected: The format of the submissions.
        phase: The phase; by default, the one with these file names and images.
        files: The results by file name.

    Returns:
        A line about each file, and one about the phase, or about all phases with the same splits.

    Raises:
        OptionError: The challenge has no such phase, or several phases are possible.
        CapevalError: A file is missing or belongs to no split, or its images differ.
    """
    phases = [phase] if phase is not None else _find_phases(expected, files)
    if phases[0] not in expected.phases:
        raise OptionError(f"--phase must be one of {', '.join(expected.phases)} (got {phase!r})")
    splits = [expected.splits[name] for name in expected.phases[phases[0]]]
    seen: dict[str, str] = {}
    for name, candidates in files.items():
        split = _find_split(name, splits, expected, phases[0])
        if split.name in seen:
            raise CapevalError(f"{name!r}: split {split.name!r} already has results in {seen[split.name]!r}")
        seen[split.name] = name
        _check_images(name, split, candidates, _find_phases_of_images(expected, phases[0], candidates))
        _check_lengths(name, candidates, expected.longest_caption)
    for split in splits:
        if split.name not in seen:
            raise CapevalError(describe_missing_file(split.results, split.name, phases[0]))
    lines = [f"{seen[split.name]}: {len(split.image_ids):,} images of split {split.name}" for split in splits]
    return [*lines, f"valid for phase{'s' * (len(phases) > 1)} {' and '.join(phases)}"]


def _find_phases(expected: SubmissionFormat, files: Mapping[str, Candidates]) -> list[str]:
    """Return the phase with exactly the results of its splits, and all others with the same splits.

    Of several phases with the same file names, it is the one with the most images of the results.
    """
    names = list(files)
    phases = {name: [expected.splits[each] for each in splits] for name, splits in expected.phases.items()}

    def fits(splits: Sequence[SplitFormat]) -> bool:
        found = {split.name for name in names for split in splits if split.matches(name)}
        return len(found) == len(splits) == len(names)

    def count_images(phase: str) -> int:
        splits = phases[phase]
        return sum(
            len(_match_images(_find_split(name, splits, expected, phase), candidates))
            for name, candidates in files.items()
        )

    possible = list(phases) if len(phases) == 1 else [name for name in phases if fits(phases[name])]
    if not possible:
        listed = "; ".join(
            f"{name}: {', '.join(split.results for split in splits)}" for name, splits in phases.items()
        )
        raise CapevalError(f"the files ({', '.join(names)}) must be those of a phase ({listed})")
    if len(possible) > 1:
        counts = {phase: count_images(phase) for phase in possible}
        possible = [phase for phase in possible if counts[phase] == max(counts.values())]
    if len({expected.phases[phase] for phase in possible}) > 1:
        raise OptionError(f"--phase must be given: the files fit several phases ({', '.join(possible)})")
    return possible


def _match_images(split: SplitFormat, candidates: Candidates) -> list[ImageId]:
    """Return the images of a split that have captions, by the server's rules for ids."""
    names = (lambda: split.file_names) if split.file_names else None
    _, ids = match_ids(split.image_ids, list(candidates), extra="skip", names=names)
    return list(ids.values())


def _find_split(
    name: str, splits: Sequence[SplitFormat], expected: SubmissionFormat, phase: str
) -> SplitFormat:
    """Return the split of a phase that matches the name of a result file."""
    for split in splits:
        if split.matches(name):
            return split
    others = _list_other_phases(expected, phase, lambda split: split.matches(name))
    raise CapevalError(f"{name!r}: {describe_wrong_name([split.results for split in splits], others)}")


def _find_phases_of_images(
    expected: SubmissionFormat, phase: str, candidates: Candidates
) -> Callable[[], list[str]]:
    """Return a function that finds the other phases with a split of exactly these images."""
    images = list(candidates)

    def fits(split: SplitFormat) -> bool:
        return len(match_ids(split.image_ids, images)[1]) == len(split.image_ids)

    return lambda: _list_other_phases(expected, phase, fits)


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


def _check_images(
    name: str, split: SplitFormat, candidates: Candidates, find_phases: Callable[[], list[str]]
) -> None:
    """Check the images of a result file, by the server's rules for ids."""
    names = (lambda: split.file_names) if split.file_names else None
    _, ids = match_ids(split.image_ids, list(candidates), names=names)
    if not ids:
        # So that the error is about the other images only.
        _, ids = match_ids(split.image_ids, list(candidates), extra="skip", names=names)
    found = [ids.get(image, image) for image in candidates]
    if problem := describe_image_mismatch(found, split.image_ids, f"split {split.name!r}", "a caption"):
        raise CapevalError(f"{name!r}: {problem}{describe_phases_of_images(find_phases())}")


def _check_lengths(name: str, candidates: Candidates, longest: int) -> None:
    """Check the lengths of the captions of a result file."""
    for image, captions in candidates.items():
        if (length := max(map(len, captions))) > longest:
            raise CapevalError(
                f"{name!r}: captions must have at most {longest:,} characters"
                f" (got {length:,} for image {image!r})"
            )
