"""Objects of Open Images that captions name, miss or invent (capeval's definition)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from capeval._internal.validation import checked_path
from capeval.data.captions import Candidates, CandidatesLike, ImageId, ReferencesLike
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.formats.images import load_image_names
from capeval.formats.open_images_files import load_boxes, load_class_hierarchy, load_class_names
from capeval.formats.word_forms import WordForms, load_word_forms
from capeval.metrics.base import OMITTED_BY_DEFAULT, Kernel, Metric
from capeval.metrics.registry import register
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences, as_tokenized, tokenize

__all__ = ["ClassCounts", "OpenObjects"]

# Classes with a phrase of a COCO class that are something else: the mouse here is the animal.
_NOT_SEEN = frozenset({"mouse", "musical keyboard"})
# COCO's person, sports ball, mouse and dining table under other names.
_ALSO_SEEN = frozenset({"man", "woman", "boy", "girl", "ball (object)", "computer mouse", "table"})
_GROUPS = ("seen", "novel")
_COUNTS = ("named", "right", "expected", "found")


@dataclass(frozen=True, kw_only=True)
class ClassCounts:
    """The objects of one class, over all images.

    Attributes:
        is_seen: Whether the class is one of COCO's.
        right: The captions that name the class, and it is in the image.
        invented: The captions that name the class, and it is not in the image.
        found: The captions that name the class, or one below it, like a reference.
        missed: The captions that do not, although a reference names the class.

    Example:
        >>> from capeval.metrics.open_objects import ClassCounts
        >>> dogs = ClassCounts(is_seen=True, right=3, invented=1, found=3, missed=3)
        >>> dogs.precision, dogs.recall, dogs.f1
        (0.75, 0.5, 0.6)
    """

    is_seen: bool
    right: int
    invented: int
    found: int
    missed: int

    @property
    def precision(self) -> float:
        """The share of the captions with the class that are right; 0 if no caption names it."""
        return _divide(self.right, self.right + self.invented)

    @property
    def recall(self) -> float:
        """The share of the expected objects that are found; 0 if none is expected."""
        return _divide(self.found, self.found + self.missed)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _divide(2 * self.precision * self.recall, self.precision + self.recall)


@dataclass(frozen=True, kw_only=True)
class _NamedObjects:
    """The classes that a caption names, compared with its image.

    Attributes:
        right: The named classes that are in the image.
        invented: The other named classes.
        found: The classes of the references that the caption names.
        missed: The other classes of the references.
    """

    right: frozenset[str]
    invented: frozenset[str]
    found: frozenset[str]
    missed: frozenset[str]


@register
@dataclass(frozen=True, kw_only=True)
class OpenObjects(Metric):
    """F1 of named objects, for Open Images' 601 classes (nocaps).

    An object is named by a phrase of capeval's list. Precision is the share of the named objects that are in
    the image: in its boxes or named by a reference. Recall is the share of the references' objects that are
    named. The definition is capeval's own.

    Args:
        boxes: The boxes of the images, such as `test-annotations-bbox.csv`; none by default. A file.
        class_names: The names of the classes, `class-descriptions-boxable.csv`. A file.
        hierarchy: The classes below each class, `bbox_labels_600_hierarchy.json`; none by default. A file.
        image_info: The list of images with their Open Images ids, if these aren't the image ids. A file.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        The first caption invents a cat, and the second misses the bed:

        >>> from capeval import OpenObjects, evaluate
        >>> references = {1: ["A dog on grass."], 2: ["Two raccoons on a bed."]}
        >>> candidates = {1: "A dog and a cat.", 2: "A raccoon."}
        >>> report = evaluate(references, candidates, [OpenObjects()])
        >>> {name: round(score, 3) for name, score in report.corpus.items()}
        {'Objects': 0.667, 'Objects-P': 0.667, 'Objects-R': 0.667, 'Objects-Seen': 0.5, 'Objects-Novel': 1.0}
    """

    family: ClassVar[str] = "Objects"
    docs_page: ClassVar[str] = "open_objects"

    boxes: Path | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    class_names: Path | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    hierarchy: Path | None = field(default=None, metadata=OMITTED_BY_DEFAULT)
    image_info: Path | None = field(default=None, metadata=OMITTED_BY_DEFAULT)

    def __post_init__(self) -> None:
        for name in ("boxes", "class_names", "hierarchy", "image_info"):
            checked_path(name, getattr(self, name))
        if self.class_names is None and (self.boxes or self.hierarchy):
            raise OptionError("'boxes' and 'hierarchy' need 'class_names', the names of their labels")

    @property
    def names(self) -> tuple[str, ...]:
        """F1, precision and recall, and F1 of COCO's classes and of the others."""
        return ("Objects", "Objects-P", "Objects-R", "Objects-Seen", "Objects-Novel")

    @property
    def statistics(self) -> tuple[str, ...]:
        """Named and right, expected and found objects: first of COCO's classes, then of the others."""
        return tuple(f"{count} {group}" for group in _GROUPS for count in _COUNTS)

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Find the objects of each image.

        Raises:
            FormatError: A file is invalid.
            MismatchError: An image has no boxes, or no Open Images id.
            OSError: A file can't be read.
        """
        matcher = _Matcher(self, references)

        def count(candidates: TokenizedCandidates) -> FloatArray:
            rows = []
            for each in matcher.compare(candidates):
                sets = (each.right | each.invented, each.right, each.found | each.missed, each.found)
                seen = [len(names & matcher.seen) for names in sets]
                rows.append([*seen, *(len(names - matcher.seen) for names in sets)])
            return np.array(rows, dtype=np.float64).reshape(-1, len(self.statistics))

        return count

    def aggregate(self, statistics: FloatArray) -> FloatArray:
        """Return the scores; a share of no objects is 0."""
        seen, novel = statistics[..., :4], statistics[..., 4:]
        rates = [_compute_rates(counts) for counts in (seen + novel, seen, novel)]
        return np.stack([rates[0][2], *rates[0][:2], rates[1][2], rates[2][2]], axis=-1)

    def count_classes(self, references: ReferencesLike, candidates: CandidatesLike) -> dict[str, ClassCounts]:
        """Count the objects of each class that a reference or a candidate names.

        Args:
            references: The references of each image.
            candidates: The candidate of each image.

        Returns:
            The counts by class, in alphabetical order.

        Raises:
            CaptionError: The captions are not captions by image.
            FormatError: A file is invalid.
            MismatchError: A candidate's image has no references, or an image has no boxes.
            OSError: A file can't be read.

        Example:
            >>> from capeval import OpenObjects
            >>> counts = OpenObjects().count_classes({1: ["A dog."]}, {1: "A dog and a raccoon."})
            >>> counts["raccoon"].invented, counts["dog"].precision
            (1, 1.0)
        """
        tokenized = as_tokenized(references, None)
        matcher = _Matcher(self, tokenized)
        compared = matcher.compare(tokenized.candidates(Candidates(candidates)))
        fields = ("right", "invented", "found", "missed")
        classes = sorted({name for each in compared for part in fields for name in getattr(each, part)})
        return {
            name: ClassCounts(
                is_seen=name in matcher.seen,
                **{part: sum(name in getattr(each, part) for each in compared) for part in fields},
            )
            for name in classes
        }


class _Matcher:
    """The objects of each image: those in it, and those that its references name."""

    def __init__(self, metric: OpenObjects, references: TokenizedReferences) -> None:
        forms = load_word_forms()
        self._tokenizer = references.tokenizer
        self._phrases: dict[tuple[str, ...], list[str]] = {}
        pairs = [(name, phrase) for name, phrases in forms.phrases.items() for phrase in phrases]
        tokens = tokenize([phrase for _, phrase in pairs], self._tokenizer)
        for (name, _), phrase in zip(pairs, tokens, strict=True):
            self._phrases.setdefault(tuple(phrase), []).append(name)
        self._longest = max(map(len, self._phrases))
        self.seen = _list_seen_classes(forms)
        labels = load_class_names(metric.class_names) if metric.class_names else {}
        names = {label: forms.get_class(name) for label, name in labels.items()}
        below = load_class_hierarchy(metric.hierarchy, names) if metric.hierarchy else {}
        self._above = {
            name: frozenset({name, *(each for each, others in below.items() if name in others)})
            for name in forms.phrases
        }
        groups = references.references
        boxed = _find_boxes(metric, list(groups), names)
        boxed = [self._add_higher(classes) for classes in boxed]
        found = iter(self._find_phrases([text for group in groups.values() for text in group]))
        self._expected = [
            frozenset(_choose(each, classes) for _ in group for each in next(found))
            for group, classes in zip(groups.values(), boxed, strict=True)
        ]
        self._present = [
            classes | self._add_higher(expected)
            for classes, expected in zip(boxed, self._expected, strict=True)
        ]

    def compare(self, candidates: TokenizedCandidates) -> list[_NamedObjects]:
        """Return the objects of each candidate."""
        compared = []
        found = self._find_phrases(candidates.captions())
        for phrases, position in zip(found, candidates.positions.tolist(), strict=True):
            present, expected = self._present[position], self._expected[position]
            named = frozenset(_choose(each, present) for each in phrases)
            heard = expected & self._add_higher(named)
            compared.append(
                _NamedObjects(
                    right=named & present, invented=named - present, found=heard, missed=expected - heard
                )
            )
        return compared

    def _add_higher(self, names: frozenset[str]) -> frozenset[str]:
        return frozenset().union(*(self._above[name] for name in names))

    def _find_phrases(self, captions: Sequence[str]) -> list[list[Sequence[str]]]:
        """Return the possible classes of each phrase in captions; the longest phrase counts."""
        return [self._find_in(tokens) for tokens in tokenize(captions, self._tokenizer)]

    def _find_in(self, tokens: Sequence[str]) -> list[Sequence[str]]:
        found: list[Sequence[str]] = []
        place = 0
        while place < len(tokens):
            for length in range(min(self._longest, len(tokens) - place), 0, -1):
                classes = self._phrases.get(tuple(tokens[place : place + length]))
                if classes:
                    found.append(classes)
                    place += length - 1
                    break
            place += 1
        return found


def _choose(classes: Sequence[str], present: frozenset[str]) -> str:
    """Return the class of a phrase: the first one in the image, or else the first one."""
    return next((name for name in classes if name in present), classes[0])


def _find_boxes(
    metric: OpenObjects, images: Sequence[ImageId], names: Mapping[str, str]
) -> list[frozenset[str]]:
    if metric.boxes is None:
        return [frozenset()] * len(images)
    listed = None if metric.image_info is None else load_image_names(metric.image_info)
    keys = [str(image) if listed is None else Path(listed.get(image, "")).stem for image in images]
    boxes = load_boxes(metric.boxes, names).by_image()
    missing = [image for image, key in zip(images, keys, strict=True) if key not in boxes]
    if missing:
        raise MismatchError(f"{metric.boxes}: {format_images(missing)} without boxes")
    return [frozenset(boxes[key]) for key in keys]


def _list_seen_classes(forms: WordForms) -> frozenset[str]:
    """Return the classes with a phrase that is the name of a COCO class, and the corrections."""
    text = Path(__file__).with_name("coco_words.txt").read_text(encoding="utf-8")
    coco = {line.partition(",")[0].strip() for line in text.splitlines()}
    found = {name for name, phrases in forms.phrases.items() if not coco.isdisjoint(phrases)}
    return frozenset(found - _NOT_SEEN | _ALSO_SEEN)


def _compute_rates(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    named, right, expected, found = np.moveaxis(counts, -1, 0)
    precision, recall = right / np.maximum(named, 1), found / np.maximum(expected, 1)
    total = precision + recall
    return precision, recall, 2 * precision * recall / np.where(total > 0, total, 1)


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
