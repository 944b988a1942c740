"""Detection of the image id column and the caption column of tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import format_names

__all__ = ["Columns", "Role", "find_columns", "has_columns"]

# `image_id` has priority: annotations also have an `id` of their own.
_IMAGE_ID = ("image_id",)
_IDS = (
    "id",
    "cocoid",
    "coco_id",
    "img_id",
    "imgid",
    "imageid",
    "image",
    "image_name",
    "img_name",
    "filename",
    "file_name",
    "video_id",
)


class Role(StrEnum):
    """Role of captions: references or candidates."""

    REFERENCES = "references"
    CANDIDATES = "candidates"


# Each role has its own names because a file can contain both references and predictions.
_CAPTIONS = {
    Role.REFERENCES: ("caption", "captions", "reference", "references", "ref", "refs", "ground_truth"),
    Role.CANDIDATES: (
        "caption",
        "captions",
        "prediction",
        "predictions",
        "pred",
        "predicted_caption",
        "generated_caption",
        "hypothesis",
        "candidate",
    ),
}
# Names to try if none of the above occurs.
_TEXTS = ("sentence", "sentences", "text", "texts", "raw", "comment", "description")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that the caller names.

    Attributes:
        role: The role of the captions.
        id_column: The image id column; None to detect it by its name.
        caption_column: The caption column; None to detect it by its name.
        other_id_column: The image id column of the other file; used if no column of this file has a common
            name.
        other_caption_column: The caption column of the other file; used in the same case.
    """

    role: Role
    id_column: str | None = None
    caption_column: str | None = None
    other_id_column: str | None = None
    other_caption_column: str | None = None

    @property
    def are_named(self) -> bool:
        """Whether the caller names a column of this file."""
        return self.id_column is not None or self.caption_column is not None


def find_columns(names: Sequence[str], columns: Columns, noun: str = "column") -> tuple[str, str]:
    """Return the image id column and the caption column.

    Args:
        names: The names of all columns.
        columns: The columns that the caller names.
        noun: Noun for a column in messages.

    Raises:
        FormatError: A column is missing or ambiguous.
    """
    ids, captions = _match_common_names(names, columns.role)
    return (
        _require_one(
            _list_possible(names, ids, columns.id_column, columns.other_id_column),
            f"image id {noun}",
            columns.id_column,
            names,
            _describe_option("id_column", columns.role),
        ),
        _require_one(
            _list_possible(names, captions, columns.caption_column, columns.other_caption_column),
            f"caption {noun}",
            columns.caption_column,
            names,
            _describe_option("caption_column", columns.role),
        ),
    )


def has_columns(names: Sequence[str], columns: Columns) -> bool:
    """Return whether an image id column and a caption column are among the names."""
    ids, captions = _match_common_names(names, columns.role)
    return bool(
        _list_possible(names, ids, columns.id_column, columns.other_id_column)
        and _list_possible(names, captions, columns.caption_column, columns.other_caption_column)
    )


def _match_common_names(names: Sequence[str], role: Role) -> tuple[list[str], list[str]]:
    ids = _match_names(names, _IMAGE_ID) or _match_names(names, _IDS)
    return ids, _match_names(names, _CAPTIONS[role]) or _match_names(names, _TEXTS)


def _match_names(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    return [name for name in names if "_".join(name.casefold().replace("-", " ").split()) in usual]


def _list_possible(names: Sequence[str], usual: list[str], named: str | None, other: str | None) -> list[str]:
    """Return the candidate columns."""
    if named is not None:
        return [name for name in names if name == named]
    # If this file has both a common name and the name of the other file, either one could be meant.
    return usual if other in usual else [*usual, *(name for name in names if name == other)]


def _require_one(possible: list[str], what: str, named: str | None, names: Sequence[str], ask: str) -> str:
    if len(possible) == 1:
        return possible[0]
    if possible:
        message = f"the {what} is ambiguous (got {format_names(possible)}); {ask}"
        raise FormatError(message, kind=FormatErrorKind.AMBIGUOUS)
    found = f"(got {format_names(names) or 'no names'})"
    message = (
        f"cannot find the {what} {named!r} {found}"
        if named is not None
        else f"cannot find the {what} {found}; {ask}"
    )
    raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=named)


def _describe_option(option: str, role: Role) -> str:
    prefix = "reference-" if role is Role.REFERENCES else ""
    return f"set it with {option!r} (on the command line: --{prefix}{option.replace('_', '-')})"
