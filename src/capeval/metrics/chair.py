"""CHAIR: objects in a caption that are not in its image (Rohrbach et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from capeval._internal.singulars import make_singular
from capeval._internal.validation import checked_path, validate_choice
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind, MismatchError
from capeval.errors.messages import format_images
from capeval.formats.coco_objects import Objects, load_coco_objects
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import File, add_path_to_errors
from capeval.metrics.base import OMITTED_BY_DEFAULT, Kernel, Metric
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, Tokenizer, tokenize

__all__ = ["Chair", "ObjectWords", "load_object_words"]

Form = Literal["code", "words"]

# Lines 66 to 86 of the published code: pairs of words that count as one word.
_PAIRS = (
    "motor bike, motor cycle, air plane, traffic light, street light, traffic signal, stop light,"
    " fire hydrant, stop sign, parking meter, suit case, sports ball, baseball bat, baseball glove,"
    " tennis racket, wine glass, hot dog, cell phone, mobile phone, teddy bear, hair drier,"
    " potted plant, laptop computer, home plate, train track"
)
_ANIMALS = "bird cat dog horse sheep cow elephant bear zebra giraffe animal cub"
_REPLACED_PAIRS: Mapping[str, str] = {
    **{pair: pair for pair in _PAIRS.split(", ")},
    **{f"{age} {animal}": animal for age in ("baby", "adult") for animal in _ANIMALS.split()},
    "passenger jet": "jet",
    "passenger train": "train",
    "bow tie": "tie",
    "toilet seat": "toilet",
    # The singular of "glass" in the published code.
    "wine glas": "wine glass",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectWords:
    """The words for COCO's 80 classes.

    Attributes:
        classes: The class of each word.
        form: `code` to reduce all words to their singular, as in the published code, or `words` to leave
            words in the list unchanged.

    Example:
        >>> from capeval.metrics.chair import ObjectWords
        >>> words = ObjectWords(classes={"woman": "person", "dog": "dog", "hot dog": "hot dog"})
        >>> words.find_objects(["two", "women", "with", "hot", "dogs"])
        ['person', 'hot dog']
    """

    classes: Mapping[str, str]
    form: Form = "code"

    def find_objects(self, tokens: Sequence[str]) -> list[str]:
        """Return the class of each mention, in order.

        Args:
            tokens: The lowercase words and punctuation of a caption.
        """
        singulars = [self._reduce(token) for token in tokens]
        words: list[str] = []
        place = 0
        while place < len(singulars):
            pair = " ".join(singulars[place : place + 2])
            is_pair = pair in _REPLACED_PAIRS
            words.append(_REPLACED_PAIRS[pair] if is_pair else singulars[place])
            place += 2 if is_pair else 1
        if "toilet" in words:
            # The seat of a toilet is no chair (line 125 of the published code).
            words = [word for word in words if word != "seat"]
        return [self.classes[word] for word in words if word in self.classes]

    def _reduce(self, token: str) -> str:
        return token if self.form == "words" and token in self._single_words else make_singular(token)

    @cached_property
    def _single_words(self) -> frozenset[str]:
        return frozenset(word for words in (*self.classes, *_REPLACED_PAIRS) for word in words.split())


def load_object_words(file: File) -> dict[str, str]:
    r"""Read the words for object classes.

    Each line contains a class and other words for it, separated by commas, as in `data/synonyms.txt` of the
    published code. If a word is in several lines, the last one counts.

    Args:
        file: The path of the file, or its bytes.

    Returns:
        The class of each word, in the order of the file.

    Raises:
        FormatError: The file contains no words, or an empty one; the error names the line.
        OSError: The file can't be read.

    Example:
        >>> from capeval.metrics.chair import load_object_words
        >>> load_object_words(b"person, woman, man\ndog, puppy\n")
        {'person': 'person', 'woman': 'person', 'man': 'person', 'dog': 'dog', 'puppy': 'dog'}
    """
    classes: dict[str, str] = {}
    with add_path_to_errors(file):
        for number, line in text_lines(file):
            # The published code splits at a comma and one space, and some words keep a second space.
            words = line.strip().split(", ") if line.strip() else []
            if "" in words:
                message = f"line {number} must be words separated by commas (got {line!r})"
                raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE, line=number)
            classes.update(dict.fromkeys(words, words[0] if words else ""))
        if not classes:
            raise FormatError(
                "the file must contain at least one word (got none)", kind=FormatErrorKind.EMPTY
            )
    return classes


@register
@dataclass(frozen=True, kw_only=True)
class Chair(Metric):
    """Share of mentioned objects that are not in the image (COCO).

    CHAIR-i is the share of mentions of objects, and CHAIR-s the share of captions with such a mention. Lower
    is better. The objects in an image are those of `objects` and those that its references mention.

    Args:
        objects: COCO's instance annotations, such as `instances_val2014.json`; none by default. A file.
        words: The words for each class, such as `data/synonyms.txt` of the published code; by default
            capeval's list. A file.
        form: `code` reduces all words to their singular, as in the published code, which does not count
            "bus"; `words` leaves the words in the list unchanged.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        The first caption mentions a cat, which no reference does:

        >>> from capeval import Chair, evaluate
        >>> references = {1: ["A woman and a dog."], 2: ["Two cats on a bed."]}
        >>> candidates = {1: "A girl with a dog and a cat.", 2: "Cats on a bed."}
        >>> report = evaluate(references, candidates, [Chair()])
        >>> report.corpus
        {'CHAIR-i': 0.2, 'CHAIR-s': 0.5}
    """

    family: ClassVar[str] = "CHAIR"
    docs_page: ClassVar[str] = "chair"
    higher_is_better: ClassVar[bool] = False
    note: ClassVar[str] = "CHAIR counts objects that are not in the image, so lower scores are better."
    citations: ClassVar = ("rohrbach2018object",)

    objects: Path | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    words: Path | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    form: Form = "code"

    def __post_init__(self) -> None:
        for name in ("objects", "words"):
            object.__setattr__(self, name, checked_path(name, getattr(self, name)))
        validate_choice("form", self.form, get_args(Form))

    @property
    def names(self) -> tuple[str, ...]:
        """Shares of mentions and of captions."""
        return ("CHAIR-i", "CHAIR-s")

    @property
    def statistics(self) -> tuple[str, ...]:
        """Mentions of hallucinated objects, all mentions, 1 for a caption with such a mention, and a 1."""
        return ("hallucinated objects", "objects", "captions with hallucinated objects", "images")

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Find the objects of each image.

        Raises:
            FormatError: A file is invalid.
            MismatchError: An image is not among those of `objects`.
            OSError: A file can't be read.
        """
        classes = load_object_words(self.words or _read_own_words())
        words = ObjectWords(classes=classes, form=self.form)
        present = self._list_objects(references, words)

        def count(candidates: TokenizedCandidates) -> FloatArray:
            mentioned = _find_all(candidates.captions(), references.tokenizer, words)
            rows = []
            for found, position in zip(mentioned, candidates.positions.tolist(), strict=True):
                hallucinated = sum(name not in present[position] for name in found)
                rows.append((hallucinated, len(found), hallucinated > 0, 1))
            return np.array(rows, dtype=np.float64)

        return count

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the two shares; CHAIR-i without mentions is 0."""
        hallucinated, mentions, captions, images = np.moveaxis(statistics, -1, 0)
        with np.errstate(invalid="ignore"):
            return np.stack([hallucinated / np.maximum(mentions, 1), captions / images], axis=-1)

    def _list_objects(self, references: TokenizedReferences, words: ObjectWords) -> list[set[str]]:
        """Return the classes in each image, in the order of the references."""
        groups = references.references
        present: list[set[str]] = [set() for _ in groups]
        if self.objects is not None:
            present = _look_up(load_coco_objects(self.objects), groups, words.classes, self.objects)
        texts = [text for group in groups.values() for text in group]
        found = iter(_find_all(texts, references.tokenizer, words))
        for classes, group in zip(present, groups.values(), strict=True):
            for _ in group:
                classes.update(next(found))
        return present


def _read_own_words() -> bytes:
    return Path(__file__).with_name("coco_words.txt").read_bytes()


def _find_all(captions: Sequence[str], tokenizer: Tokenizer, words: ObjectWords) -> list[list[str]]:
    """Return the mentions of each caption. Punctuation separates the words of a pair."""
    if tokenizer.kind == "ptb":
        tokenizer = replace(tokenizer, punctuation="keep")
    return [words.find_objects(tokens) for tokens in tokenize(captions, tokenizer)]


def _look_up(
    objects: Objects, images: Iterable[ImageId], classes: Mapping[str, str], file: Path
) -> list[set[str]]:
    images = list(images)
    missing = [image for image in images if image not in objects]
    if missing:
        raise MismatchError(f"{file}: {format_images(missing)} not among the images of the file")
    unknown = {name for image in images for name in objects[image]} - classes.keys()
    if unknown:
        raise MismatchError(f"{file}: the list of words has no class {min(unknown)!r}; add it to the list")
    return [{classes[name] for name in objects[image]} for image in images]
