"""Partial document frequencies, which merge to the frequencies of all images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from capeval import _native
from capeval._internal.validation import checked_text, validate_flag
from capeval.data.captions import ReferencesLike
from capeval.distributed.arrow_tables import import_pyarrow, read_table, wrong
from capeval.errors import FormatError, MismatchError
from capeval.resources.document_frequencies import DocumentFrequencies
from capeval.tokenizers import TokenizedReferences, Tokenizer, as_tokenized

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PartialFrequencies"]

_ORDERS = (1, 2, 3, 4)
_COLUMNS = {"ngram": "string", "images": "int64"}
_WHAT = "partial document frequencies"
# Prefix of the row with the number of images. No n-gram starts with a space.
_MARK = " counted"
# The number of n-grams per record batch, far below the limit of two gibibytes for a column of strings.
_ROWS = 2**18
# Small parts are kept as tokens, which take less memory than n-grams, and are counted together when they
# reach this number of words. Their counts would share most n-grams, and adding counts takes as long as
# counting.
_WAITING = 2**20
# Counts are merged when the unmerged ones have at least half as many n-grams as the merged ones, and at least
# this number. Each n-gram is therefore moved about three times, for any number of parts, and the unmerged
# counts take little memory.
_PENDING = 2**21
_MOST_IMAGES = 2**32 - 1


class PartialFrequencies:
    """The number of images with each n-gram, in a part of the images.

    `DocumentFrequencies` of parts don't add up, because they exclude n-grams of only one image. Partial
    frequencies include all n-grams: any partition of the images, added in any order, yields the counts of the
    whole. They can be pickled.

    Attributes:
        images: The number of images counted.
        stem: Whether the words are stems.
        tokenizer: The tokenizer and its options, as signatures show it.

    Example:
        >>> from capeval import Tokenizer
        >>> from capeval.distributed import PartialFrequencies
        >>> tokenizer = Tokenizer(context="caption")
        >>> first = PartialFrequencies.of({1: ["A dog runs.", "The dog."]}, tokenizer=tokenizer)
        >>> second = PartialFrequencies.of({2: ["A dog sleeps."]}, tokenizer=tokenizer)
        >>> frequencies = (first + second).finish("my-references")
        >>> frequencies.counts()
        {('a',): 2, ('dog',): 2, ('a', 'dog'): 2}
    """

    def __init__(
        self,
        counted: tuple[_native.PartialFrequencies, ...],
        waiting: tuple[_native.TokenizedReferences, ...] = (),
        words: int = 0,
        *,
        images: int,
        stem: bool,
        tokenizer: str,
    ) -> None:
        if words >= _WAITING:
            counted, waiting, words = (*counted, _count(waiting, stem=stem)), (), 0
        sizes = [_get_size(part) for part in counted] or [0]
        if sum(sizes) - max(sizes) >= max(max(sizes) // 2, _PENDING):
            counted = (_sum(counted),)
        self._counted = counted
        self._waiting = waiting
        # The number of words in the waiting parts.
        self._words = words
        self.images = images
        self.stem = stem
        self.tokenizer = tokenizer

    @classmethod
    def of(
        cls,
        references: ReferencesLike | TokenizedReferences,
        *,
        tokenizer: Tokenizer | None = None,
        stem: bool = False,
    ) -> Self:
        """Count the n-grams in the references of a part of the images.

        Args:
            references: The captions of each image of the part.
            tokenizer: The tokenizer. `Tokenizer(context="caption")` yields the same tokens for any partition.
            stem: Whether to count stems, which `Cider2015` compares, instead of words.

        Raises:
            CaptionError: The references are not captions by image.
            OptionError: `tokenizer` is not a `Tokenizer`, or differs from the tokenizer of tokenized
                references; or `stem` is not True or False.
        """
        validate_flag("stem", stem)
        tokens = as_tokenized(references, tokenizer)
        words, named = tokens.native.words(), str(tokens.tokenizer)
        return cls((), (tokens.native,), words, images=len(tokens), stem=stem, tokenizer=named)

    def __repr__(self) -> str:
        return f"<PartialFrequencies: {self.images:,} images, stem={self.stem}, tokenizer={self.tokenizer}>"

    def __add__(self, other: object) -> Self:
        """Return the counts of both parts, which must be disjoint.

        Raises:
            MismatchError: The parts have different tokenizers, one counts words and the other stems, or there
                are too many images.
        """
        if not isinstance(other, PartialFrequencies):
            return NotImplemented
        for name in ("tokenizer", "stem"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise MismatchError(f"added {_WHAT} must have the same {name} (got {mine} and {theirs})")
        images = self.images + other.images
        if images > _MOST_IMAGES:
            raise MismatchError(f"{_WHAT} must have at most {_MOST_IMAGES:,} images (got {images:,})")
        counted, waiting = self._counted + other._counted, self._waiting + other._waiting
        words = self._words + other._words
        return type(self)(counted, waiting, words, images=images, stem=self.stem, tokenizer=self.tokenizer)

    def __radd__(self, other: object) -> Self:
        # `sum` begins with 0.
        return self if other == 0 and isinstance(other, int) else NotImplemented

    def __reduce__(self) -> tuple[Callable[..., PartialFrequencies], tuple[object, ...]]:
        return _restored, (type(self), self._merge().to_arrays(), self.images, self.stem, self.tokenizer)

    def finish(self, name: str = "corpus", *, digest: str | None = None) -> DocumentFrequencies:
        """Return the document frequencies, after the parts of all images are added.

        Args:
            name: The name of the corpus in signatures.
            digest: The digest in signatures, instead of the fingerprint of the counts. Use it for selections
                of n-grams from counts that are too large for one machine, with the same digest for all
                selections.

        Raises:
            OptionError: `name` or `digest` is not a string.
        """
        checked_text("name", name)
        native = self._merge().finish()
        if digest is not None:
            checked_text("digest", digest)
        return DocumentFrequencies(native, name=name, stem=self.stem, digest=digest)

    def to_arrow(self) -> pa.Table:
        """Return a table of n-grams and the number of images with each.

        The words of an n-gram are joined by single spaces. Tables of parts can be concatenated, and any
        engine can add the numbers of rows with the same `ngram`. One row with an `ngram` that starts with a
        space contains the settings of the count and the total number of images.

        Raises:
            DependencyError: pyarrow is not installed.
        """
        pa = import_pyarrow(_WHAT)
        schema = pa.schema([("ngram", pa.string()), ("images", pa.int64())])
        about = f"{_MARK}|stem={self.stem}|tokenizer={self.tokenizer}"
        batches = [pa.record_batch([[about], [self.images]], schema=schema)]
        for text, ends, images in self._iterate_rows():
            offsets = np.concatenate([np.zeros(1, dtype=np.int32), ends])
            ngrams = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))
            batches.append(pa.record_batch([ngrams, pa.array(images)], schema=schema))
        return pa.Table.from_batches(batches, schema)

    @classmethod
    def from_arrow(cls, table: object) -> Self:
        """Read one table of `to_arrow`, concatenated ones, or ones added by n-gram.

        Rows may be missing, such as n-grams of only one image.

        Args:
            table: An Arrow table or record batch, a pandas data frame, or any object with an Arrow stream.

        Raises:
            DependencyError: pyarrow is not installed.
            FormatError: The table is invalid; the message names the row.
            MismatchError: The parts have different tokenizers, or some count words and others stems.
        """
        read = read_table(table, _COLUMNS, _WHAT)
        images = read.column("images").chunk(0).to_numpy(zero_copy_only=False)
        pc = _import_compute()
        marks = pc.starts_with(read.column("ngram"), " ")
        places = np.flatnonzero(marks.to_numpy(zero_copy_only=False))
        abouts = read.column("ngram").take(places).to_pylist()
        stem, tokenizer = _parse_settings(abouts, places.tolist())
        total = int(images[places].sum())
        if not 0 < total <= _MOST_IMAGES:
            raise wrong(f"{_WHAT} must have 1 to {_MOST_IMAGES:,} images (got {total:,})", field="images")
        native = _read_ngrams(read, images, places, total)
        return cls((native,), images=total, stem=stem, tokenizer=tokenizer)

    def _iterate_rows(self) -> Iterator[tuple[bytes, Any, Any]]:
        native = self._merge()
        for order in _ORDERS:
            size = native.size(order)
            for start in range(0, size, _ROWS):
                yield native.rows(order, start, min(size, start + _ROWS))

    def _merge(self) -> _native.PartialFrequencies:
        if self._waiting:
            self._counted = (*self._counted, _count(self._waiting, stem=self.stem))
            self._waiting, self._words = (), 0
        if len(self._counted) > 1:
            self._counted = (_sum(self._counted),)
        return self._counted[0]


def _restored(
    kind: type[PartialFrequencies], arrays: Any, images: int, stem: bool, tokenizer: str
) -> PartialFrequencies:
    native = _native.PartialFrequencies.from_arrays(*arrays)
    return kind((native,), images=images, stem=stem, tokenizer=tokenizer)


def _count(waiting: tuple[_native.TokenizedReferences, ...], *, stem: bool) -> _native.PartialFrequencies:
    return _native.PartialFrequencies.of_references(list(waiting), stem)


def _sum(counted: tuple[_native.PartialFrequencies, ...]) -> _native.PartialFrequencies:
    # Freed memory is released before and after adding, so that the allocator does not retain the memory of
    # counting while counts are added, or the memory of adding while the sum is pickled.
    large = sum(_get_size(part) for part in counted) >= _PENDING
    if large:
        _native.release_memory()
    merged = _native.PartialFrequencies.merged(list(counted))
    if large:
        _native.release_memory()
    return merged


def _get_size(part: _native.PartialFrequencies) -> int:
    return sum(part.size(order) for order in _ORDERS)


def _import_compute() -> Any:
    import pyarrow.compute

    return pyarrow.compute


def _parse_settings(abouts: list[str], places: list[int]) -> tuple[bool, str]:
    """Parse the rows with settings into whether stems were counted, and the tokenizer."""
    if not abouts:
        raise wrong(f"{_WHAT} must have a row that starts with {_MARK!r} (got none)", field="ngram")
    different = sorted(set(abouts))
    if len(different) > 1:
        found = " and ".join(each.removeprefix(f"{_MARK}|") for each in different[:2])
        raise MismatchError(f"{_WHAT} in one table must have the same settings (got {found})")
    mark, *parts = different[0].split("|")
    said: Mapping[str, str] = dict(part.partition("=")[::2] for part in parts)
    if mark != _MARK or said.keys() != {"stem", "tokenizer"} or said["stem"] not in ("True", "False"):
        place = places[0]
        raise wrong(
            f"{_WHAT}: row {place} must be an n-gram, or start with {_MARK!r} (got {different[0]!r:.60})",
            field="ngram",
            row=place,
        )
    return said["stem"] == "True", said["tokenizer"]


def _read_ngrams(table: pa.Table, images: Any, marks: Any, total: int) -> _native.PartialFrequencies:
    """Read the n-grams of a table; `marks` are the rows without an n-gram."""
    pa = import_pyarrow(_WHAT)
    kept = np.ones(len(images), dtype=bool)
    kept[marks] = False
    ngrams = table.column("ngram").filter(pa.array(kept)).combine_chunks()
    if isinstance(ngrams, pa.ChunkedArray):
        ngrams = pa.concat_arrays(ngrams.chunks) if ngrams.num_chunks else pa.array([], pa.large_string())
    _, offsets, text = ngrams.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[ngrams.offset : ngrams.offset + len(ngrams) + 1]
    data = b"" if text is None else text.to_pybytes()[ends[0] : ends[-1]]
    try:
        return _native.PartialFrequencies.from_rows(
            float(total), data, np.ascontiguousarray(ends[1:] - ends[0]), np.ascontiguousarray(images[kept])
        )
    except ValueError as error:
        raise _make_row_error(error, np.flatnonzero(kept), table, total) from None


def _make_row_error(error: ValueError, rows: Any, table: pa.Table, total: int) -> FormatError:
    field, place = error.args
    row = int(rows[place])
    ngram, images = table.column("ngram")[row].as_py(), table.column("images")[row].as_py()
    if field == "ngram":
        message = f"row {row} must have one to four words joined by single spaces (got {ngram!r:.60})"
    else:
        message = f"row {row}: {ngram!r:.60} must be in 0 to {total:,} images, the total (got {images:,})"
    return wrong(f"{_WHAT}: {message}", field=field, row=row)
