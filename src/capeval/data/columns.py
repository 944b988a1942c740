"""Which columns of a table, or which keys of entries, have the image ids and the captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import listed

__all__ = ["Columns", "Role", "find_columns", "have_columns"]

# Where there is `image_id`, it has the ids: annotations also have an `id`, which is their own.
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
    """What captions are read as."""

    REFERENCES = "references"
    CANDIDATES = "candidates"


# A file can have references and predictions side by side, so each role has names of its own.
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
# The names that are looked for where none of the above is there.
_TEXTS = ("sentence", "sentences", "text", "texts", "raw", "comment", "description")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that the caller names.

    Attributes:
        role: What captions are read as.
        id_column: The column of image ids; None to find it by its name.
        caption_column: The column of captions; None to find it by its name.
        other_id_column: The column of image ids of another file: it is taken where no column here has a usual
            name.
        other_caption_column: The column of captions of another file, likewise.
    """

    role: Role
    id_column: str | None = None
    caption_column: str | None = None
    other_id_column: str | None = None
    other_caption_column: str | None = None

    @property
    def are_named(self) -> bool:
        """Whether columns of this very file are named."""
        return self.id_column is not None or self.caption_column is not None


def find_columns(names: Sequence[str], columns: Columns, noun: str = "column") -> tuple[str, str]:
    """The column of image ids, and that of captions.

    Args:
        names: The names of all columns.
        columns: Those that the caller names.
        noun: What to call a column in messages.

    Raises:
        FormatError: There is no such column, or several could be it.
    """
    ids, captions = _usual(names, columns.role)
    return (
        _one(
            _possible(names, ids, columns.id_column, columns.other_id_column),
            f"{noun} of image ids must be",
            columns.id_column,
            names,
            _ask("id_column", columns.role),
        ),
        _one(
            _possible(names, captions, columns.caption_column, columns.other_caption_column),
            f"{noun} of captions must be",
            columns.caption_column,
            names,
            _ask("caption_column", columns.role),
        ),
    )


def have_columns(names: Sequence[str], columns: Columns) -> bool:
    """Whether some of the names are those of columns of image ids and of captions."""
    ids, captions = _usual(names, columns.role)
    return bool(
        _possible(names, ids, columns.id_column, columns.other_id_column)
        and _possible(names, captions, columns.caption_column, columns.other_caption_column)
    )


def _usual(names: Sequence[str], role: Role) -> tuple[list[str], list[str]]:
    ids = _of(names, _IMAGE_ID) or _of(names, _IDS)
    return ids, _of(names, _CAPTIONS[role]) or _of(names, _TEXTS)


def _of(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    return [name for name in names if "_".join(name.casefold().replace("-", " ").split()) in usual]


def _possible(names: Sequence[str], usual: list[str], named: str | None, other: str | None) -> list[str]:
    """The columns that can be meant."""
    if named is not None:
        return [name for name in names if name == named]
    # A name of another file that is here too, beside one that is usual, can be meant as well.
    return usual if other in usual else [*usual, *(name for name in names if name == other)]


def _one(possible: list[str], what: str, named: str | None, names: Sequence[str], ask: str) -> str:
    if len(possible) == 1:
        return possible[0]
    if possible:
        message = f"the {what} clear (got {listed(possible)}): {ask}"
        raise FormatError(message, kind=FormatErrorKind.AMBIGUOUS)
    found = f"(got {listed(names) or 'no names'})"
    message = (
        f"the {what} {named!r} {found}"
        if named is not None
        else f"the {what} one with a usual name {found}: {ask}"
    )
    raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=named)


def _ask(option: str, role: Role) -> str:
    prefix = "reference-" if role is Role.REFERENCES else ""
    return f"name it with {option}, on the command line --{prefix}{option.replace('_', '-')}"
