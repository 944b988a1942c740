"""Selection of objects that captions must mention (nocaps, appendix, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.datasets.open_images import subcategories
from capeval.datasets.word_forms import WordForms
from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import format_names
from capeval.formats.io.json import read_json
from capeval.formats.io.sources import LIMIT, File, add_path_to_errors
from capeval.toolkit import validate_choice, validate_integer, validate_number
from capeval.toolkit.random import make_named_generator
from capeval_decoding.boxes import Boxes

__all__ = ["NEVER", "RULES", "ConstraintFilter", "Decision", "Hierarchy", "load_hierarchy"]

# fmt: off
NEVER = frozenset({
    "auto part", "bathroom accessory", "beard", "bicycle wheel", "boy", "building", "clothing", "door handle",
    "fashion accessory", "footwear", "girl", "hiking equipment", "human arm", "human body", "human ear",
    "human eye", "human face", "human foot", "human hair", "human hand", "human head", "human leg",
    "human mouth", "human nose", "land vehicle", "mammal", "man", "person", "personal care", "plant",
    "plumbing fixture", "seat belt", "skull", "sports equipment", "tire", "tree",
    "vehicle registration plate", "wheel", "woman",
})
# fmt: on
"""Excluded classes: parts of objects, rarely mentioned classes, and classes that are frequent in COCO."""

RULES = ("paper", "published")
"""The rule described in the paper, and the rule of the published code."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """Class hierarchy of Open Images.

    Attributes:
        heights: Height of each class: the distance to its farthest descendant, 0 for a leaf.
        published_heights: Height of each class in the published code, which uses the height of the first
            class in the file with a detector name that is a substring of the name of this class.
        parents: The next higher classes of each class that is below others.
    """

    heights: Mapping[str, int]
    published_heights: Mapping[str, int]
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def load_hierarchy(
    file: File, names: Mapping[str, str], forms: WordForms, *, limit: int = LIMIT
) -> Hierarchy:
    """Load `bbox_labels_600_hierarchy.json`.

    Only `Subcategory` relations are used, since a `Part` is not a kind of its whole.

    Args:
        file: Path or bytes of the file.
        names: Class names by label.
        forms: Known classes.
        limit: Maximum size of the file in bytes, also after decompression.

    Raises:
        FormatError: The file has a different format, or contains a class without a name or an unknown class.
        OSError: The file can't be read.

    Example:
        In this hierarchy, Dog is a subcategory of Animal:

        >>> from capeval.datasets.open_images import load_class_names
        >>> from capeval_decoding.constraint_filter import load_hierarchy
        >>> from capeval.datasets.word_forms import load_word_forms
        >>> hierarchy = load_hierarchy("hierarchy.json", load_class_names("classes.csv"), load_word_forms())
        >>> hierarchy.heights
        {'animal': 1, 'dog': 0, 'fire hydrant': 0, 'tree': 0}
        >>> hierarchy.parents
        {'dog': ('animal',)}
    """
    with add_path_to_errors(file):
        root = read_json(file, limit)
        places = [place for child in subcategories(root) for place in _list_heights(child, names, forms)]
    heights: dict[str, int] = {}
    for name, height in places:
        heights[name] = max(height, heights.get(name, 0))
    called = {name: forms.detector_names.get(name, name) for name in heights}
    published = {
        name: next(height for other, height in places if called[other] in called[name]) for name in heights
    }
    parents: dict[str, dict[str, None]] = {}
    for child in subcategories(root):
        for name, parent in _list_parents(child, names, forms):
            parents.setdefault(name, {})[parent] = None
    return Hierarchy(
        heights=heights,
        published_heights=published,
        parents={name: tuple(each) for name, each in parents.items()},
    )


def _list_heights(node: Any, names: Mapping[str, str], forms: WordForms) -> list[tuple[str, int]]:
    """Return the classes and heights of a node and its descendants, in pre-order."""
    label = node["LabelName"]
    name = names.get(label)
    if name is None or name.lower() not in forms.names:
        message = f"every label must belong to an Open Images class (got {label!r})"
        raise FormatError(message, kind=FormatErrorKind.UNKNOWN_CLASS)
    parts = [_list_heights(child, names, forms) for child in subcategories(node)]
    height = 1 + max((part[0][1] for part in parts), default=-1)
    return [(forms.get_class(name), height), *(place for part in parts for place in part)]


def _list_parents(node: Any, names: Mapping[str, str], forms: WordForms) -> list[tuple[str, str]]:
    """Return the classes below a node, each with the next higher class; the names were checked."""
    parent = forms.get_class(names[node["LabelName"]])
    found = []
    for child in subcategories(node):
        found += [(forms.get_class(names[child["LabelName"]]), parent), *_list_parents(child, names, forms)]
    return found


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Decision whether the class of a box becomes a constraint.

    Attributes:
        name: Class of the box.
        score: Confidence of the box.
        reason: Reason why the box was dropped; empty if its class becomes a constraint.
    """

    name: str
    score: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class ConstraintFilter:
    """Filter that selects constraints among the objects of an image.

    Boxes of excluded classes and boxes without confidence are dropped. If two boxes overlap, the box with the
    class higher in the hierarchy is dropped: dog is preferred to animal. Of the remaining classes, the ones
    with the highest confidence become constraints. Ties, as between ground-truth boxes, are broken at random.

    Attributes:
        rule: "paper" for the rule in the paper; "published" for the rule of the published code, which does
            not drop overlapping boxes, breaks ties by height in the hierarchy instead of at random, and
            limits the number of boxes before it drops repeated classes.
        overlap: Minimum intersection over union of overlapping boxes.
        most: Maximum number of constraints per image.
        seed: Seed of the random choice among ties.

    Example:
        Both boxes cover the whole image, and Duck is lower in the hierarchy than Bird:

        >>> import numpy as np
        >>> from capeval_decoding.boxes import Boxes
        >>> from capeval_decoding.constraint_filter import ConstraintFilter, Hierarchy
        >>> from capeval.datasets.word_forms import load_word_forms
        >>> hierarchy = Hierarchy(heights={"bird": 1, "duck": 0}, published_heights={"bird": 1, "duck": 0})
        >>> boxes = Boxes(classes=("Bird", "Duck"), corners=np.array(2 * [[0.0, 0, 1, 1]]), scores=np.ones(2))
        >>> for each in ConstraintFilter().decide(7, boxes, hierarchy, load_word_forms()):
        ...     print(f"{each.name}: {each.reason or 'constraint'}")
        duck: constraint
        bird: overlaps duck
    """

    rule: str = "paper"
    overlap: float = 0.85
    most: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        validate_choice("rule", self.rule, RULES)
        validate_number("overlap", self.overlap, 0, 1)
        validate_integer("most", self.most, 1)
        validate_integer("seed", self.seed, 0)

    def decide(
        self, image: ImageId, boxes: Boxes, hierarchy: Hierarchy, forms: WordForms
    ) -> tuple[Decision, ...]:
        """Return one decision per box: constraints in order, then dropped boxes.

        Raises:
            OptionError: A class is not a class of Open Images, or is missing from the hierarchy.
        """
        names = [forms.get_class(name) for name in boxes.classes]
        lacking = [name for name in dict.fromkeys(names) if name not in hierarchy.heights]
        if lacking:
            raise OptionError(
                f"image {image!r}: classes must be in the hierarchy (got {format_names(lacking)})"
            )
        reasons = dict(self._exclude(names, boxes.scores))
        kept = [place for place in range(len(names)) if place not in reasons]
        if self.rule == "published":
            # Like the published code: sort by its height, then stably by descending confidence.
            kept.sort(key=lambda place: hierarchy.published_heights[names[place]])
            kept.sort(key=lambda place: -boxes.scores[place])
            chosen, more = kept[: self.most], kept[self.most :]
            reasons |= _find_repeats(chosen, names)
        else:
            reasons |= self._find_overlapped(kept, names, boxes.corners, hierarchy)
            ranks = make_named_generator(self.seed, repr(image)).permutation(len(names))
            kept = [place for place in kept if place not in reasons]
            kept.sort(key=lambda place: (-boxes.scores[place], ranks[place]))
            reasons |= _find_repeats(kept, names)
            kept = [place for place in kept if place not in reasons]
            chosen, more = kept[: self.most], kept[self.most :]
        reasons |= dict.fromkeys(more, f"behind the first {self.most}")
        order = [place for place in chosen if place not in reasons] + sorted(reasons)
        return tuple(
            Decision(name=names[place], score=float(boxes.scores[place]), reason=reasons.get(place, ""))
            for place in order
        )

    def _exclude(self, names: Sequence[str], scores: FloatArray) -> Iterator[tuple[int, str]]:
        for place, name in enumerate(names):
            if name in NEVER:
                yield place, "never used"
            elif not scores[place] > 0:
                yield place, "without confidence"

    def _find_overlapped(
        self, places: Sequence[int], names: Sequence[str], corners: FloatArray, hierarchy: Hierarchy
    ) -> dict[int, str]:
        """Return reasons for boxes that overlap a kept box of a class lower in the tree."""
        if not places:
            return {}
        overlaps = _compute_overlaps(corners) >= self.overlap
        reasons: dict[int, str] = {}
        for place in sorted(places, key=lambda place: hierarchy.heights[names[place]]):
            for other in places:
                lower = hierarchy.heights[names[other]] < hierarchy.heights[names[place]]
                if lower and other not in reasons and overlaps[place, other]:
                    reasons[place] = f"overlaps {names[other]}"
                    break
        return reasons


def _find_repeats(places: Iterable[int], names: Sequence[str]) -> dict[int, str]:
    """Return the places that repeat an earlier class, with reasons."""
    seen: set[str] = set()
    repeated = {}
    for place in places:
        if names[place] in seen:
            repeated[place] = "the same class again"
        seen.add(names[place])
    return repeated


def _compute_overlaps(corners: FloatArray) -> NDArray[np.float64]:
    """Return the pairwise intersection over union; 0 for boxes without an area."""
    low, high = corners[:, :2], corners[:, 2:]
    sides = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    intersection = np.prod(np.maximum(sides, 0), axis=2)
    areas = np.prod(high - low, axis=1)
    union = areas[:, None] + areas[None] - intersection
    overlaps: NDArray[np.float64] = np.divide(intersection, union, out=np.zeros_like(union), where=union > 0)
    return overlaps
