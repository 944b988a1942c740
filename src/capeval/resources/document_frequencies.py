"""Document frequencies: the number of images in a corpus that contain each n-gram."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capeval import _native
from capeval._internal.atomic_write import atomic_write
from capeval._internal.validation import checked_text, validate_flag
from capeval.data.captions import ReferencesLike
from capeval.errors import CapevalWarning, FormatError, FormatErrorKind, OptionError, ResourceError
from capeval.resources.frequency_pickles import ORDERS, read_pickle, write_pickle
from capeval.tokenizers import TokenizedReferences, Tokenizer, as_tokenized

__all__ = ["DocumentFrequencies"]

_FORMAT = "capeval document frequencies 1"
# Small corpora and short texts say nothing about the tokens.
_FEW_IMAGES = 30
_MANY_IMAGES = 1000
_FEW_PAIRS = 20
_LEAST_KNOWN = 0.05
_SAMPLE = 100
# The start of a NumPy archive.
_ZIP = b"PK"


class DocumentFrequencies:
    """The number of images with each n-gram of one to four words in a reference.

    CIDEr and CIDEr-D weight n-grams with them. They are counted in the references used for scoring, in a
    different corpus (`of`), or read from a file (`load`, `load_pickle`).

    Attributes:
        name: The name of the corpus, for signatures.
        stem: Whether the words are stems.
        tokenizer: The tokenizer of the corpus, as in signatures; empty if it is not known, as for pickles.

    Example:
        The word "dog" is in the references of two of three images:

        >>> from capeval import CiderD, DocumentFrequencies
        >>> corpus = {1: ["A dog runs.", "The dog."], 2: ["A dog."], 3: ["Two cats."]}
        >>> frequencies = DocumentFrequencies.of(corpus, name="pets")
        >>> frequencies.images
        3.0
        >>> frequencies.counts()[("dog",)], frequencies.counts()[("a", "dog")]
        (2, 2)

        CIDEr-D with these frequencies can score a single image:

        >>> metric = CiderD(frequencies=frequencies)
        >>> scores = metric.prepare({7: ["A dog runs outside."]}).score({7: "A dog runs outside."})
        >>> round(scores.corpus["CIDEr-D"], 3)
        10.0
    """

    def __init__(
        self,
        native: _native.DocumentFrequencies,
        *,
        name: str,
        stem: bool = False,
        digest: str | None = None,
        tokenizer: str = "",
    ) -> None:
        self.native = native
        self.name = name
        self.stem = stem
        self.tokenizer = tokenizer
        self._given_digest = digest
        self._is_compared = False
        # The file that a pickle names instead of containing the counts.
        self._path: Path | None = None

    @classmethod
    def of(
        cls,
        references: ReferencesLike | TokenizedReferences,
        *,
        tokenizer: Tokenizer | None = None,
        stem: bool = False,
        name: str = "corpus",
    ) -> DocumentFrequencies:
        """Count the n-grams of references.

        Args:
            references: The captions of each image of a corpus.
            tokenizer: The tokenizer; the reference's by default.
            stem: Whether to count stems, which `Cider2015` compares, instead of words.
            name: The name of the corpus in signatures.

        Raises:
            CaptionError: The references are not captions by image.
            OptionError: `tokenizer` is not a `Tokenizer`, or differs from the tokenizer of tokenized
                references; `stem` is not True or False; or `name` is not a string.
        """
        validate_flag("stem", stem)
        checked_text("name", name)
        tokens = as_tokenized(references, tokenizer)
        native = _native.DocumentFrequencies.of_references(tokens.native, max(ORDERS), stem)
        return cls(native, name=name, stem=stem, tokenizer=_describe_tokenizer(tokens.tokenizer))

    def __repr__(self) -> str:
        return f"DocumentFrequencies(name={self.name!r}, images={self.images:g}, stem={self.stem})"

    def __reduce__(self) -> tuple[Callable[..., DocumentFrequencies], tuple[object, ...]]:
        if self._path is not None:
            return _read_again, (self._path, self.digest)
        # Include a known digest: computing it takes as long as everything else.
        known = self.__dict__.get("digest")
        parts = self.native.to_parts()
        return _restored, (parts, self.name, self.stem, self._given_digest, known, self.tokenizer)

    @property
    def images(self) -> float:
        """The number of images counted."""
        return self.native.images()

    @cached_property
    def digest(self) -> str:
        """The fingerprint of all counts in signatures.

        It has 8 hexadecimal digits, unless a digest was passed to `__init__`.
        """
        if self._given_digest is not None:
            return self._given_digest
        from hashlib import blake2b

        hashes = [blake2b(word.encode(), digest_size=8).digest() for word in self.native.words()]
        words = np.frombuffer(b"".join(hashes), dtype="<u8")
        # A sum, because the same counts can be stored in a different order.
        total = self.native.fingerprint(words, max(ORDERS))
        content = f"{total} {self.images!r}".encode()
        return blake2b(content, digest_size=4).hexdigest()

    def counts(self) -> dict[tuple[str, ...], int]:
        """Return the n-grams of two or more images, with their numbers of images.

        CIDEr gives n-grams of one image the same weight as n-grams of no image, so longer n-grams of one
        image are not stored.
        """
        words = self.native.words()
        counts: dict[tuple[str, ...], int] = {}
        for order in ORDERS:
            rows, frequencies = self.native.of_order(order)
            ngrams = (tuple(words[number] for number in row) for row in rows.tolist())
            counts.update(zip(ngrams, frequencies.tolist(), strict=True))
        return counts

    def save(self, path: str | Path) -> None:
        """Write the frequencies to a compressed NumPy archive (.npz) for `load`.

        The arrays are `about` (JSON: format, name, images, stem, tokenizer and, if one was given, digest),
        `words` (a JSON list) and, for n from 1 to 4, `ngrams_n` (rows of n word numbers) and `counts_n`.
        """
        about = {"format": _FORMAT, "name": self.name, "images": self.images, "stem": self.stem}
        about["tokenizer"] = self.tokenizer
        if self._given_digest is not None:
            about["digest"] = self._given_digest
        arrays: dict[str, NDArray[Any]] = {
            "about": _pack_json(about),
            "words": _pack_json(self.native.words()),
        }
        for order in ORDERS:
            arrays[f"ngrams_{order}"], arrays[f"counts_{order}"] = self.native.of_order(order)
        with atomic_write(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | Path, *, by_path: bool = False) -> DocumentFrequencies:
        """Read frequencies from a file of `save`.

        Args:
            path: The file.
            by_path: Whether pickles of the frequencies, or of a metric with them, contain the path of the
                file instead of the counts. Use it for processes that find the same file at the same path;
                each process reads it once.

        Raises:
            FormatError: The file is not such an archive, or is damaged.
            OSError: The file can't be read.
            OptionError: `by_path` is not True or False.
        """
        if validate_flag("by_path", by_path):
            loaded = cls.load(path)
            loaded._path = Path(path).absolute()
            return loaded
        path = Path(path)
        data = path.read_bytes()
        if not data.startswith(_ZIP):
            raise FormatError(
                "expected document frequencies from `DocumentFrequencies.save`; load a pickle with"
                " `DocumentFrequencies.load_pickle`",
                kind=FormatErrorKind.NOT_FREQUENCIES,
                path=path,
            )
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                about = _parse_about(archive["about"])
                words = _parse_words(archive["words"])
                orders = [_check_order(archive[f"ngrams_{n}"], archive[f"counts_{n}"], n) for n in ORDERS]
            native = _native.DocumentFrequencies.from_arrays(words, float(about["images"]), orders)
            name, digest = str(about["name"]), about.get("digest")
            # Older files do not contain the tokenizer.
            tokenizer = str(about.get("tokenizer", ""))
            return cls(native, name=name, stem=bool(about["stem"]), digest=digest, tokenizer=tokenizer)
        except Exception as error:
            # A damaged archive can raise almost any exception.
            raise FormatError(
                f"expected document frequencies from `DocumentFrequencies.save` ({error})",
                kind=FormatErrorKind.NOT_FREQUENCIES,
                path=path,
            ) from None

    @classmethod
    def load_pickle(cls, path: str | Path, *, images: float | None = None) -> DocumentFrequencies:
        """Read a pickle of document frequencies, without executing code in it.

        Two forms are supported: a mapping of n-grams (tuples of words) to counts, as published by CIDEr's
        authors; and, as written by scripts for self-critical training, a mapping with such a mapping as
        `document_frequency` and the number of images as `ref_len`.

        Args:
            path: The pickle.
            images: The number of images counted, for pickles that do not contain it; otherwise it must equal
                the pickle's number.

        Raises:
            FormatError: The file has a different form, or names classes other than containers and numbers.
            OptionError: `images` is required but missing, is not above 0, or differs from the pickle's
                number.
            OSError: The file can't be read.
        """
        return cls(read_pickle(path, images), name=Path(path).stem)

    def warn_about_other_tokens(self, references: TokenizedReferences) -> None:
        """Warn, once, if the n-grams of references are other tokens than those that were counted.

        The tokenizers are compared or, if that of the corpus is not known, the pairs of words: nearly none of
        the references' pairs are in a corpus of other tokens, such as characters or numbers of words.
        """
        if self._is_compared:
            return
        given = _describe_tokenizer(references.tokenizer)
        if self.tokenizer not in ("", "none") and given != "none":
            self._is_compared = True
            if self.tokenizer != given:
                warnings.warn(
                    f"the document frequencies of {self.name} were counted with the tokenizer"
                    f" {self.tokenizer}, but the captions have {given}; use one tokenizer for both",
                    CapevalWarning,
                    stacklevel=5,
                )
        elif self.images >= _FEW_IMAGES and not self.stem:
            self._warn_about_unknown_words(references)

    def _warn_about_unknown_words(self, references: TokenizedReferences) -> None:
        captions = references.references
        texts = [
            text.split(" ") for image in captions.image_ids[:_SAMPLE] for text in references.texts(image)
        ]
        pairs = {pair for words in texts for pair in pairwise(words)}
        if len(pairs) < _FEW_PAIRS:
            return
        self._is_compared = True
        numbers = {word: number for number, word in enumerate(self.native.words())}
        wanted = [
            numbers[first] * len(numbers) + numbers[second]
            for first, second in pairs
            if first in numbers and second in numbers
        ]
        # Small corpora have few pairs of words in two or more images.
        if self.images >= _MANY_IMAGES:
            rows, _ = self.native.of_order(2)
            counted = rows[:, 0].astype(np.int64) * len(numbers) + rows[:, 1]
            known = int(np.isin(wanted, counted).sum())
        else:
            known = len(wanted)
        if known < len(pairs) * _LEAST_KNOWN:
            warnings.warn(
                f"the document frequencies of {self.name} contain nearly no pair of words of the references;"
                " they may be frequencies of other tokens, such as numbers of words",
                CapevalWarning,
                stacklevel=6,
            )

    def save_pickle(self, path: str | Path) -> None:
        """Write the frequencies to a pickle that scripts for self-critical training can read.

        `document_frequency` maps n-grams (tuples of words) to numbers of images, and `ref_len` is the number
        of images. N-grams of one image are left out, because the scripts give them the same weight as n-grams
        of no image.

        Args:
            path: The file. The scripts find `data/coco-train-idxs.p` with `df="coco-train-idxs"`.

        Raises:
            OptionError: The frequencies count stems, which the scripts do not compare.

        Example:
            >>> from capeval import DocumentFrequencies
            >>> frequencies = DocumentFrequencies.of({1: ["a dog"], 2: ["a cat"]})
            >>> frequencies.save_pickle("pets-train.p")
            >>> DocumentFrequencies.load_pickle("pets-train.p").counts()
            {('a',): 2}
        """
        if self.stem:
            raise OptionError("a pickle for other scripts must count words (got frequencies of stems)")
        write_pickle(path, self.counts(), self.images)


def _describe_tokenizer(tokenizer: Tokenizer) -> str:
    """Return the tokenizer as in signatures, without the line ends of a replay, which change no word."""
    return str(replace(tokenizer, line_ends="space") if tokenizer.kind == "ptb" else tokenizer)


def _restored(
    parts: Any, name: str, stem: bool, given_digest: str | None, digest: str | None, tokenizer: str = ""
) -> DocumentFrequencies:
    native = _native.DocumentFrequencies.from_parts(*parts)
    made = DocumentFrequencies(native, name=name, stem=stem, digest=given_digest, tokenizer=tokenizer)
    if digest is not None:
        made.digest = digest
    return made


@lru_cache(maxsize=8)
def _read_again(path: Path, digest: str) -> DocumentFrequencies:
    """Read the frequencies of a pickle from their file, once per process."""
    try:
        loaded = DocumentFrequencies.load(path, by_path=True)
    except OSError as error:
        raise ResourceError(
            f"{path}: cannot read the document frequencies of a pickle from this file ({error})"
        ) from None
    if loaded.digest != digest:
        raise ResourceError(
            f"{path}: the document frequencies changed after the pickle that names this file was created"
            f" (expected digest {digest}, got {loaded.digest})"
        )
    return loaded


def _pack_json(content: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)


def _parse_about(packed: NDArray[np.uint8]) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(packed.tobytes())
    if about["format"] != _FORMAT:
        raise ValueError(f"got the format {about['format']!r}")
    if not 0 < about["images"] < float("inf"):
        raise ValueError(f"got the number of images {about['images']!r}")
    if not isinstance(about.get("digest", ""), str):
        raise TypeError(f"got the digest {about['digest']!r}")
    return about


def _parse_words(packed: NDArray[np.uint8]) -> list[str]:
    words: list[str] = json.loads(packed.tobytes())
    if not isinstance(words, list):
        raise TypeError("the words are not a list")
    return words


def _check_order(rows: Any, counts: Any, order: int) -> tuple[Any, Any]:
    if rows.dtype != np.uint32 or counts.dtype != np.uint32 or rows.shape != (counts.size, order):
        raise ValueError(f"the arrays of {order}-grams have inconsistent types or shapes")
    return np.ascontiguousarray(rows), np.ascontiguousarray(counts)
