"""References and candidates: captions by image."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

from capeval import _native
from capeval.data.columns import Columns, Role
from capeval.data.dataframes import arrow_stream, find_table_columns, is_table, values_of
from capeval.errors import CaptionError, FormatError, MismatchError, OptionError
from capeval.errors.messages import format_images, shorten

if TYPE_CHECKING:
    # Not imported at run time: reading a file does not need numpy.
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Candidates",
    "CandidatesLike",
    "ImageId",
    "References",
    "ReferencesLike",
    "Table",
    "find_rows",
    "is_image_id",
]

ImageId = int | str


def is_image_id(value: object) -> TypeGuard[ImageId]:
    """Return whether a value is an integer or a string, but not a boolean.

    As keys of a mapping, True and 1.0 would equal 1, but neither is an image id.
    """
    return isinstance(value, int | str | Integral) and not isinstance(value, bool)


# The key type of a mapping is invariant for type checkers, so all three are needed.
_Groups = Mapping[int, Sequence[str]] | Mapping[str, Sequence[str]] | Mapping[ImageId, Sequence[str]]
_Singles = Mapping[int, str] | Mapping[str, str] | Mapping[ImageId, str]


# Captions of images without ids: the first element belongs to image 0.
_Aligned = Sequence[str] | Sequence[Sequence[str]]


class _Arrow(Protocol):
    """A table with an Arrow stream, such as a pandas or polars data frame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Table = _Arrow | Sequence[Mapping[str, Any]]
"""A data frame or an Arrow table, or a list of mappings with the same keys."""

# Types that can be iterated over but are not lists of captions.
_NOT_LISTS = (str, bytes, bytearray, memoryview, Mapping, Set)


class _Captions(Mapping[ImageId, list[str]]):
    """An immutable mapping of images to captions in native memory.

    The order of the images is fixed. Image ids are all integers or all strings. Two objects are equal if they
    have the same images with the same captions. An object created from another one shares its memory.
    """

    _kind = "captions"
    _role = Role.REFERENCES
    # The function, with its arguments, that reads the captions from their file when a pickle is loaded.
    _source: tuple[Callable[..., Any], tuple[object, ...]] | None = None

    def __init__(self, captions: _Groups | _Singles | _Aligned | Table) -> None:
        if isinstance(captions, _Captions):
            self._native, self._source = captions.native, captions._source
            return
        if is_table(captions):
            self._native = self._of_table(captions, Columns(role=self._role))
            self._require_some()
            return
        if isinstance(captions, list | tuple):
            captions = self._aligned(captions)
        if not isinstance(captions, Mapping):
            raise CaptionError(
                f"{self._kind} must be a mapping of image ids to captions, a list with one element per image,"
                f" or a table (got {type(captions).__name__})"
            )
        self._native = self._of_groups(captions)
        self._require_some()

    @classmethod
    def from_table(
        cls, table: Table, *, id_column: str | None = None, caption_column: str | None = None
    ) -> Self:
        """Create captions from a data frame, an Arrow table or a list of mappings.

        The table has one row per caption, or one row per image with a list of captions. The rows of an image
        need not be adjacent.

        Args:
            table: The table: of pandas, polars, Arrow, or any library that provides Arrow streams.
            id_column: The image id column; by default detected by its name.
            caption_column: The caption column; by default detected by its name.

        Raises:
            CaptionError: `table` is not a table; a column is missing or ambiguous; or a row has an invalid
                image id or caption.
            DependencyError: The table requires pyarrow, which is not installed.
        """
        if not is_table(table):
            raise CaptionError(f"'table' must be a data frame or a table (got {type(table).__name__})")
        columns = Columns(role=cls._role, id_column=id_column, caption_column=caption_column)
        return cls.from_native(cls._of_table(table, columns))

    @classmethod
    def _of_groups(cls, captions: Mapping[Any, Any]) -> _native.Captions:
        groups = [cls._group(image, value) for image, value in captions.items()]
        return _native.Captions.from_groups(list(captions), groups)

    @classmethod
    def _of_table(cls, table: object, columns: Columns) -> _native.Captions:
        stream = arrow_stream(table, columns)
        if stream is None:
            return cls._of_groups(cls._rows(table, columns))
        arrow = _native.ArrowTable(stream)
        try:
            # Several rows of one image are its samples.
            return arrow.captions(*find_table_columns(arrow.names(), columns), is_single=False)
        except FormatError as error:
            raise CaptionError(error.message) from None

    @classmethod
    def _rows(cls, table: object, columns: Columns) -> dict[ImageId, list[str]]:
        groups: dict[ImageId, list[str]] = {}
        for row, (image, value) in enumerate(zip(*values_of(table, columns), strict=True)):
            if not is_image_id(image):
                raise CaptionError(
                    f"row {row}: an image id must be an integer or a string (got {image!r:.60},"
                    f" {type(image).__name__})"
                )
            # pandas reads lists in a file as numpy arrays.
            texts = value.tolist() if hasattr(value, "tolist") else value
            if isinstance(texts, str):
                texts = [texts]
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise CaptionError(
                    f"row {row}: {cls._kind} of image {shorten(image)} must be a string or a list of"
                    f" strings (got {value!r:.60})"
                )
            groups.setdefault(image, []).extend(texts)
        return groups

    @classmethod
    def _aligned(cls, captions: Sequence[Any]) -> dict[ImageId, Any]:
        for image, value in enumerate(captions):
            # The id in a pair of an id and captions would silently count as a caption.
            if isinstance(value, tuple):
                raise CaptionError(
                    f"{cls._kind} of image {image} must be a list (got tuple); for pairs of an image id and"
                    " its captions, pass a mapping"
                )
        return dict(enumerate(captions))

    @classmethod
    def _group(cls, image: ImageId, value: object) -> list[str]:
        # Iterating over a mapping yields its keys, over a set an arbitrary order, over bytes integers.
        if isinstance(value, _NOT_LISTS) or not isinstance(value, Iterable):
            raise CaptionError(
                f"{cls._kind} of image {image!r} must be a list of strings (got {type(value).__name__})"
            )
        return list(value)

    def _require_some(self) -> None:
        if not len(self._native):
            raise CaptionError(f"{self._kind} must contain at least one image (got none)")

    @classmethod
    def from_native(cls, captions: _native.Captions) -> Self:
        """Wrap captions from a native reader."""
        wrapped = cls.__new__(cls)
        wrapped._native = captions
        wrapped._require_some()
        return wrapped

    @property
    def native(self) -> _native.Captions:
        """The native object, for the kernels."""
        return self._native

    @cached_property
    def image_ids(self) -> tuple[ImageId, ...]:
        """The ids of the images, in order."""
        return tuple(self._native.ids())

    @cached_property
    def _positions(self) -> dict[ImageId, int]:
        return {image: position for position, image in enumerate(self.image_ids)}

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of captions of each image."""
        return self._native.counts()

    def select(self, image_ids: Iterable[ImageId]) -> Self:
        """Return the captions of some images, in the order of `image_ids`.

        Raises:
            CaptionError: An image has no captions here, or occurs twice in `image_ids`.
        """
        positions = [self.position(image) for image in image_ids]
        return type(self).from_native(self._native.select(positions))

    def position(self, image: ImageId) -> int:
        """Return the position of an image, from 0.

        Raises:
            CaptionError: The image has no captions here.
        """
        if image not in self:
            raise CaptionError(f"image {image!r} is not among the {len(self):,} images with {self._kind}")
        return self._positions[image]

    def __getitem__(self, image: ImageId) -> list[str]:
        if image not in self:
            raise KeyError(image)
        return self._native.of(self._positions[image])

    def __contains__(self, image: object) -> bool:
        return is_image_id(image) and image in self._positions

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self.image_ids)

    def __len__(self) -> int:
        return len(self._native)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def by_file(self, read: Callable[..., Any], *arguments: object) -> Self:
        """Return the same captions, pickled as a call that reads their file.

        Args:
            read: The function that reads the file when a pickle is loaded.
            *arguments: Its arguments.
        """
        named = type(self).from_native(self._native)
        named._source = (read, arguments)
        return named

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        if self._source is not None:
            return self._source
        content = json.dumps([self.image_ids, list(self.values())], ensure_ascii=False).encode()
        return _unpacked, (type(self), zlib.compress(content, level=1))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._native.count():,} captions of {len(self):,} images>"


def _unpacked(kind: type[_Captions], packed: bytes) -> _Captions:
    ids, groups = json.loads(zlib.decompress(packed))
    return kind.from_native(_native.Captions.from_groups(ids, groups))


class References(_Captions):
    """The reference captions of a set of images, at least one each.

    Args:
        captions: A mapping of image ids (all integers or all strings) to lists of captions; or a list of such
            lists, for images numbered from 0; or a table with common column names (see `from_table`).

    Raises:
        CaptionError: An id or a caption has the wrong type, an image has no caption, or there is no image.

    Example:
        >>> from capeval import References
        >>> references = References({1: ["A dog runs.", "The dog is outside."], 2: ["Two cats sleep."]})
        >>> references[1]
        ['A dog runs.', 'The dog is outside.']
        >>> references.image_ids, references.counts.tolist()
        ((1, 2), [2, 1])
    """

    _kind = "references"

    def __init__(self, captions: _Groups | Sequence[Sequence[str]] | Table) -> None:
        super().__init__(captions)


class Candidates(_Captions):
    """The captions to score: one for each image, or several samples of it.

    Args:
        captions: A mapping of image ids (all integers or all strings) to captions or lists of captions; or a
            list of these, for images numbered from 0; or a table with common column names (see `from_table`).

    Raises:
        CaptionError: An id or a caption has the wrong type, an image has no caption, or there is no image.

    Example:
        >>> from capeval import Candidates
        >>> candidates = Candidates({1: "A dog runs.", 2: ["Two cats sleep.", "Cats on a bed."]})
        >>> candidates[1]
        ['A dog runs.']
        >>> candidates.image_ids, candidates.counts.tolist()
        ((1, 2), [1, 2])
    """

    _kind = "candidates"
    _role = Role.CANDIDATES

    @classmethod
    def _group(cls, image: ImageId, value: object) -> list[str]:
        return [value] if isinstance(value, str) else super()._group(image, value)


ReferencesLike = References | _Groups | Sequence[Sequence[str]] | Table
"""References, a mapping of image ids to lists of captions, a list of such lists, or a table."""

CandidatesLike = Candidates | _Groups | _Singles | _Aligned | Table
"""Candidates, a mapping of image ids to captions or lists of captions, a list of these, or a table."""


def find_rows(image_ids: Sequence[ImageId], images: object, name: str) -> list[int]:
    """Return the rows of some images, in the order of `image_ids`.

    Args:
        image_ids: The image of each row.
        images: The ids of the images to select.
        name: Name of `images` in messages.

    Raises:
        CaptionError: An element of `images` is not an image id.
        MismatchError: An image has no row.
        OptionError: `images` is not a list, or is empty.
    """
    if isinstance(images, str | bytes) or not isinstance(images, Iterable):
        raise OptionError(f"{name} must be a list of image ids (got {type(images).__name__})")
    wanted = list(images)
    for image in wanted:
        if not is_image_id(image):
            raise CaptionError(
                f"{name}: an image id must be an integer or a string (got {image!r}, {type(image).__name__})"
            )
    if not wanted:
        raise OptionError(f"{name} must contain at least one image (got none)")
    different = set(wanted)
    unknown = sorted(different.difference(image_ids), key=str)
    if unknown:
        raise MismatchError(f"{name}: {format_images(unknown)} not among the references")
    return [row for row, image in enumerate(image_ids) if image in different]
