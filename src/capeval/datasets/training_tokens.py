"""Tokens of training captions, as scripts for self-critical training count them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capeval.data.captions import References
from capeval.datasets import coco, karpathy
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import format_names
from capeval.formats.io.json import Field, iterate_rows, read_json
from capeval.formats.io.sources import File, add_path_to_errors, read_source

__all__ = ["WordIndices", "has_sentences", "load_karpathy_train", "load_tokens"]

_SENTENCES = Field(
    "a list of objects with a list of strings as 'tokens'",
    lambda value: isinstance(value, list) and all(map(_has_tokens, value)),
)
_SPLIT = Field("a string", lambda value: isinstance(value, str))
_WORDS = Field(
    "an object with a string for each number",
    lambda value: isinstance(value, dict) and all(isinstance(word, str) for word in value.values()),
)
_END = "0"
"""The index of the end of a caption."""

_UNKNOWN = "UNK"
"""The word for all words that are not in a vocabulary."""


def _has_tokens(sentence: object) -> bool:
    if not isinstance(sentence, dict) or not isinstance(sentence.get("tokens"), list):
        return False
    return all(isinstance(token, str) for token in sentence["tokens"])


def load_karpathy_train() -> References:
    """Read the captions of the Karpathy training split (113,287 images) from the installed `pycocoevalcap`.

    These are the images of COCO 2014 that are not in the splits val and test.

    Raises:
        ResourceError: `pycocoevalcap` is not installed, or its file is damaged.

    Example:
        >>> from capeval.datasets.training_tokens import load_karpathy_train
        >>> len(load_karpathy_train())
        113287
    """
    others = {image for split in ("val", "test") for image in karpathy.list_images(split)}
    captions = dict(coco.load_captions("train2014").items())
    val = coco.load_captions("val2014")
    captions |= {image: group for image, group in val.items() if image not in others}
    return References(captions)


def has_sentences(file: File) -> bool:
    """Return whether a file is a dataset in the format of `load_tokens`.

    Raises:
        FormatError: The file is a damaged archive, or too large.
        OSError: The file can't be read.
    """
    with add_path_to_errors(file):
        images = read_source(file).json.fields.get("images")
    return images is not None and images.first is not None and "sentences" in images.first.fields


def load_tokens(file: File, splits: Sequence[str] = ()) -> References:
    """Read the tokens of a dataset in the format of Karpathy's `dataset_coco.json`.

    Args:
        file: The path of the file, or its bytes.
        splits: The splits to read, if the file has several.

    Returns:
        The captions of each image, as tokens joined by spaces; the ids are the positions of the images.

    Raises:
        FormatError: The file has a different format or no tokens, or a split is unknown or not selected.
        OSError: The file can't be read.

    Example:
        >>> from capeval.datasets.training_tokens import load_tokens
        >>> image = b'{"split": "train", "sentences": [{"tokens": ["two", "dogs"]}]}'
        >>> load_tokens(b'{"images": [%s]}' % image)[0]
        ['two dogs']
    """
    with add_path_to_errors(file):
        fields = {"sentences": _SENTENCES, "split": _SPLIT}
        rows = [row for _, row in iterate_rows(read_json(file), "images", fields)]
        _check_splits(splits, sorted({row["split"] for row in rows}))
        wanted = [row["sentences"] for row in rows if not splits or row["split"] in splits]
        captions = {
            place: [" ".join(sentence["tokens"]) for sentence in sentences]
            for place, sentences in enumerate(wanted)
            if sentences
        }
        if not captions:
            message = "the file must have at least one caption (got none)"
            raise FormatError(message, kind=FormatErrorKind.NO_CAPTIONS)
    return References(captions)


def _check_splits(splits: Sequence[str], found: Sequence[str]) -> None:
    unknown = [split for split in splits if split not in found]
    if unknown:
        message = f"unknown split {format_names(unknown)}; the file has the splits {format_names(found)}"
        raise FormatError(message, kind=FormatErrorKind.UNKNOWN)
    if not splits and len(found) > 1:
        message = (
            f"the file has the splits {format_names(found)}; select one or more with 'splits'"
            " (on the command line: --split)"
        )
        raise FormatError(message, kind=FormatErrorKind.AMBIGUOUS)


@dataclass(frozen=True, kw_only=True)
class WordIndices:
    """The indices of words in training, such as those in `cocotalk.json`.

    Attributes:
        indices: The index of each word, as text.

    Example:
        >>> from capeval.datasets.training_tokens import WordIndices
        >>> vocabulary = WordIndices.load(b'{"ix_to_word": {"1": "dog", "2": "UNK"}}')
        >>> vocabulary.encode({7: ["dog barks"]})[7]
        ['1 2 0']
    """

    indices: Mapping[str, str]

    @classmethod
    def load(cls, file: File) -> WordIndices:
        """Read the vocabulary in a JSON file, an object of words by index as `ix_to_word`.

        Raises:
            FormatError: The file has a different form.
            OSError: The file can't be read.
        """
        with add_path_to_errors(file):
            content: Any = read_json(file)
            words: Any = content.get("ix_to_word") if isinstance(content, dict) else None
            if not _WORDS.fits(words):
                message = f"expected a JSON object with words by index as 'ix_to_word' (got {content!r:.60})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
            if "bpe" in content:
                message = "vocabularies of subwords ('bpe') are not supported; omit --vocabulary"
                raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE)
        return cls(indices={word: index for index, word in words.items()})

    def encode(self, captions: Mapping[Any, Sequence[str]]) -> References:
        """Return captions with the index of each word, and 0 at the end.

        Args:
            captions: The captions of each image, as tokens joined by spaces.

        Raises:
            OptionError: A word is not in the vocabulary, which has no index for unknown words.
        """
        return References({image: list(self._encode(group)) for image, group in captions.items()})

    def _encode(self, captions: Sequence[str]) -> Iterator[str]:
        unknown = self.indices.get(_UNKNOWN)
        for caption in captions:
            numbers = [self.indices.get(word, unknown) for word in caption.split()]
            if None in numbers:
                word = caption.split()[numbers.index(None)]
                raise OptionError(
                    f"the vocabulary must have the word {word!r}, or {_UNKNOWN} for unknown words"
                )
            yield " ".join([*map(str, numbers), _END])
