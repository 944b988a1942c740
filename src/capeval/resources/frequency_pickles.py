"""Pickles of document frequencies, in the form of scripts for self-critical training."""

from __future__ import annotations

import collections
import io
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from capeval import _native
from capeval._internal.atomic_write import atomic_write
from capeval.errors import FormatError, FormatErrorKind, OptionError

__all__ = ["ORDERS", "read_pickle", "write_pickle"]

ORDERS = (1, 2, 3, 4)
"""The lengths of counted n-grams."""


def read_pickle(path: str | Path, images: float | None = None) -> _native.DocumentFrequencies:
    """Read document frequencies without executing code in the pickle.

    Args:
        path: The pickle.
        images: The number of images counted, for pickles that do not contain it.

    Raises:
        FormatError: The file has a different form, or names classes other than containers and numbers.
        OptionError: `images` is required but missing, is not above 0, or differs from the pickle's number.
        OSError: The file can't be read.
    """
    path = Path(path)
    content = _unpickle(path)
    if images is not None and not _is_count(images):
        raise OptionError(f"'images' must be a number above 0 (got {images!r})")
    is_training_form = isinstance(content, dict) and "document_frequency" in content
    if is_training_form:
        images = _resolve_images(content, images, path)
        content = content["document_frequency"]
    if images is None:
        raise OptionError(
            f"{path} does not contain the number of images counted; set it with 'images' (on the command"
            " line: --frequencies-images)"
        )
    # Images without a common n-gram have no counts.
    if not isinstance(content, dict) or not (content or is_training_form):
        raise _make_pickle_error(path, f"got {type(content).__name__}")
    return _from_counts(content, float(images), path)


def write_pickle(path: str | Path, counts: Mapping[tuple[str, ...], int], images: float) -> None:
    """Write document frequencies for scripts that look up any n-gram in them."""
    # The scripts expect 0 for n-grams that are not in the mapping.
    frequencies = collections.defaultdict(float, {ngram: float(count) for ngram, count in counts.items()})
    content = {
        "document_frequency": frequencies,
        "ref_len": int(images) if images == int(images) else images,
    }
    with atomic_write(path) as file:
        # Python 2 can read protocol 2.
        pickle.dump(content, file, protocol=2)


def _from_counts(counts: Mapping[object, object], images: float, path: Path) -> _native.DocumentFrequencies:
    numbers: dict[str, int] = {}
    rows: dict[int, list[list[int]]] = {order: [] for order in ORDERS}
    frequencies: dict[int, list[int]] = {order: [] for order in ORDERS}
    for ngram, count in counts.items():
        if (
            not isinstance(ngram, tuple)
            or len(ngram) not in ORDERS
            or not all(isinstance(word, str) for word in ngram)
        ):
            raise _make_pickle_error(path, f"got the n-gram {ngram!r}")
        if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < 2**32:
            raise _make_pickle_error(path, f"got the count {count!r} of {ngram!r}")
        if count != int(count):
            raise _make_pickle_error(path, f"got the count {count!r} of {ngram!r}, which is not an integer")
        rows[len(ngram)].append([numbers.setdefault(word, len(numbers)) for word in ngram])
        frequencies[len(ngram)].append(int(count))
    arrays = [
        (
            np.array(rows[order], dtype=np.uint32).reshape(-1, order),
            np.array(frequencies[order], dtype=np.uint32),
        )
        for order in ORDERS
    ]
    try:
        return _native.DocumentFrequencies.from_arrays(list(numbers), images, arrays)
    except UnicodeEncodeError as error:
        raise _make_pickle_error(path, f"got a word with a lone surrogate: {error}") from None


def _is_count(images: object) -> TypeGuard[float]:
    if isinstance(images, bool) or not isinstance(images, int | float):
        return False
    return 0 < images <= sys.float_info.max


def _resolve_images(content: Mapping[str, object], images: float | None, path: Path) -> float | None:
    """Return the number of images: the pickle's own, or else `images`."""
    counted = content.get("ref_len", images)
    if counted is not None and not _is_count(counted):
        raise _make_pickle_error(path, f"got the number of images {counted!r}")
    if images is not None and counted != images:
        raise OptionError(f"'images' must equal the number in {path}, {counted!r} (got {images!r})")
    return counted


def _make_pickle_error(path: Path, found: str) -> FormatError:
    return FormatError(
        f"expected a pickled mapping of n-grams (tuples of one to four words) to numbers of images ({found})",
        kind=FormatErrorKind.NOT_FREQUENCIES,
        path=path,
    )


#  The classes that a pickle may name. They are harmless, because calling them runs no other code.
_HARMLESS: dict[tuple[str, str], Callable[..., object]] = {
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "Counter"): collections.Counter,
    ("builtins", "int"): int,
    ("builtins", "float"): float,
    ("__builtin__", "int"): int,
    ("__builtin__", "float"): float,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _HARMLESS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"the pickle requires {module}.{name}, which is not allowed"
            ) from None


def _unpickle(path: Path) -> Any:
    data = path.read_bytes()
    try:
        # Python allocates memory for the number of objects stated in a pickle, which may be huge if damaged.
        _native.check_pickle(data)
        # Python 2 wrote words as bytes in UTF-8.
        return _Unpickler(io.BytesIO(data), encoding="utf-8").load()
    except Exception as error:
        # A damaged pickle can raise almost any exception.
        raise _make_pickle_error(path, str(error) or type(error).__name__) from None
