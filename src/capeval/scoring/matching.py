"""Matching of results and references: rules for image ids, and parts of the images."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from capeval._internal.validation import validate_choice
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError
from capeval.errors.messages import SWAPPED, describe_several_candidates, format_images, shorten

__all__ = ["Matching", "Names", "Policy", "list_problems", "match_captions", "match_ids"]

Policy = Literal["error", "skip"]
"""Treatment of images that only one side has: an error, or skipping them."""

Names = Callable[[], Mapping[ImageId, str]]
"""Function that returns the file names of images by id."""

_COCO = re.compile(r"COCO_\w+_0*(\d+)", re.ASCII)


def _get_text(image: ImageId) -> str:
    return str(image)


def _normalize(image: ImageId) -> str:
    return unicodedata.normalize("NFC", str(image))


def _get_base_name(image: ImageId) -> str:
    return re.split(r"[/\\]", _normalize(image))[-1]


def _get_stem(image: ImageId) -> str:
    name = _get_base_name(image)
    return name.rpartition(".")[0] or name


def _get_number(image: ImageId) -> str:
    stem = _get_stem(image)
    found = _COCO.fullmatch(stem)
    return stem if found is None else found[1]


_RULES: Mapping[str, Callable[[ImageId], str]] = {
    "numbers equal their decimal text": _get_text,
    "Unicode normalization (NFC)": _normalize,
    "base names of paths": _get_base_name,
    "base names without extension": _get_stem,
    "numbers in COCO's file names": _get_number,
}
_NAME_RULES: Mapping[str, Callable[[ImageId], str]] = {
    "listed file names": _get_base_name,
    "listed file names without extension": _get_stem,
}


@dataclass(frozen=True, kw_only=True)
class Matching:
    """How the images of results were matched to the references.

    Attributes:
        rule: The rule that equates image ids; empty if they are equal.
        example: An id in the results and the equal id in the references; None if they are equal.
        references: The number of images with references.
        without_results: The number of these images that were skipped, because they have no result.
        without_references: The number of images of the results that were skipped, because they have no
            references.
    """

    rule: str = ""
    example: tuple[ImageId, ImageId] | None = None
    references: int
    without_results: int = 0
    without_references: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Footnotes for tables, in full sentences; empty if ids are equal and no image was skipped."""
        notes = []
        if self.without_results:
            scored = self.references - self.without_results
            notes.append(
                f"{scored:,} of {self.references:,} images were scored, because the others have no result."
            )
        if self.without_references:
            one = self.without_references == 1
            skipped = (
                "result was skipped, because it has" if one else "results were skipped, because they have"
            )
            notes.append(f"{self.without_references:,} {skipped} no references.")
        if self.example is not None:
            result, reference = map(shorten, self.example)
            notes.append(f"Image ids were matched by a rule ({self.rule}): {result} is {reference}.")
        return tuple(notes)


def match_captions(
    references: References,
    candidates: Candidates,
    *,
    missing: Policy = "error",
    extra: Policy = "error",
    names: Names | None = None,
) -> tuple[References, Candidates, Matching]:
    """Return references and candidates of the same images, in the order of the references.

    Image ids are equated by the first of these rules that gives references to all results: equal ids; numbers
    and their decimal text; Unicode normalization (NFC); base names of paths; base names without extension;
    numbers in COCO's file names; listed file names, with or without extension. A rule must map the ids of
    each side to different ids, and applies to all ids. If images are skipped, the first rule is used that
    gives references to some results.

    Args:
        references: The references.
        candidates: The candidates.
        missing: `skip` to skip images without candidate.
        extra: `skip` to skip candidates without references.
        names: Returns the file names of the references' images by id, from the references or a list of
            images. It is called only if no other rule applies.

    Returns:
        The references and candidates of the matched images, with the ids of the references, and the matching.

    Raises:
        MismatchError: The images differ and are not skipped, no image is left, or an image has several
            candidates.
        OptionError: `missing` or `extra` is neither `error` nor `skip`.

    Example:
        >>> from capeval import Candidates, References
        >>> from capeval.scoring.matching import match_captions
        >>> references = References({391895: ["A man on a motorcycle."], 522418: ["A cake."]})
        >>> candidates = Candidates({"COCO_val2014_000000391895.jpg": "A man rides."})
        >>> references, candidates, matching = match_captions(references, candidates, missing="skip")
        >>> dict(references), dict(candidates)
        ({391895: ['A man on a motorcycle.']}, {391895: ['A man rides.']})
        >>> matching.rule, matching.without_results
        ("numbers in COCO's file names", 1)
    """
    validate_choice("missing", missing, get_args(Policy))
    validate_choice("extra", extra, get_args(Policy))
    positions = references.native.positions_in(candidates.native)
    if (positions >= 0).all() and len(candidates) == len(references) and not (candidates.counts > 1).any():
        # Only the order can differ.
        if not np.array_equal(positions, np.arange(len(references))):
            candidates = Candidates.from_native(candidates.native.select(positions.tolist()))
        return references, candidates, Matching(references=len(references))
    rule, renamed, example = _rename(references, candidates, extra, names)
    if problems := _list_problems(references, renamed, missing, extra):
        raise MismatchError("; ".join(problems))
    common = [image for image in references.image_ids if image in renamed]
    if not common:
        raise MismatchError("no image of the results has references" + _compare_ids(references, candidates))
    matching = Matching(
        rule=rule,
        example=example,
        references=len(references),
        without_results=len(references) - len(common),
        without_references=len(candidates) - len(common),
    )
    return references.select(common), renamed.select(common), matching


def list_problems(
    references: References,
    candidates: Candidates,
    *,
    missing: Policy = "error",
    extra: Policy = "error",
    names: Names | None = None,
    can_skip: bool = True,
) -> list[str]:
    """Return the errors that prevent scoring; empty if each image has one candidate.

    The arguments are those of `match_captions`; `can_skip` is whether errors suggest to skip images.

    Example:
        >>> from capeval import Candidates, References
        >>> from capeval.scoring.matching import list_problems
        >>> references = References({1: ["A dog runs."], 2: ["Two cats."]})
        >>> list_problems(references, Candidates({1: "A dog.", 2: "A cat."}))
        []
        >>> list_problems(references, Candidates({1: "A dog."}))
        ["image 2 is among the references but not among the candidates; to skip it, set missing='skip' ..."]
    """
    _, renamed, _ = _rename(references, candidates, extra, names)
    return _list_problems(references, renamed, missing, extra, can_skip=can_skip)


def _rename(
    references: References, candidates: Candidates, extra: Policy, names: Names | None
) -> tuple[str, Candidates, tuple[ImageId, ImageId] | None]:
    """Return the rule that applies, the candidates with the ids of the references, and an example."""
    known = candidates.native.positions_in(references.native) >= 0
    if known.all() or (extra == "skip" and known.any()):
        return "", candidates, None
    rule, ids = match_ids(references.image_ids, candidates.image_ids, extra=extra, names=names)
    if not ids:
        return "", candidates, None
    # Skipped results are left out: their ids can have another type.
    renamed = Candidates({known: candidates[image] for image, known in ids.items()})
    return rule, renamed, next(iter(ids.items()))


def match_ids(
    references: Sequence[ImageId],
    results: Sequence[ImageId],
    *,
    extra: Policy = "error",
    names: Names | None = None,
) -> tuple[str, dict[ImageId, ImageId]]:
    """Equate image ids that differ in form, by the rules of `match_captions`.

    Args:
        references: The ids of the images with references, without duplicates.
        results: The ids in the results, without duplicates.
        extra: `skip` to leave out ids of results that have no equal id.
        names: Returns the file names of the references' images by id.

    Returns:
        The first rule that applies, and the references' id of each id in the results. The rule is empty if
        ids are equal; the mapping is empty if no rule applies.

    Example:
        >>> from capeval.scoring.matching import match_ids
        >>> match_ids([1, 2], ["val/1.jpg", "val/2.jpg"])
        ('base names without extension', {'val/1.jpg': 1, 'val/2.jpg': 2})
    """
    if ids := _map_ids(results, results, {image: image for image in references}, extra):
        return "", ids
    for rule, get_key in _RULES.items():
        by_key: dict[ImageId, ImageId] = {get_key(image): image for image in references}
        keys: list[ImageId] = [get_key(image) for image in results]
        if len(by_key) < len(references) or len(set(keys)) < len(keys):
            continue
        if ids := _map_ids(results, keys, by_key, extra):
            return rule, ids
    listed = names() if names is not None else {}
    images = [image for image in references if image in listed]
    for rule, get_key in _NAME_RULES.items():
        by_name: dict[ImageId, ImageId] = {get_key(listed[image]): image for image in images}
        keys = [get_key(image) for image in results]
        if len(by_name) < len(images) or len(set(keys)) < len(keys):
            continue
        if ids := _map_ids(results, keys, by_name, extra):
            return rule, ids
    return "", {}


def _map_ids(
    results: Sequence[ImageId],
    keys: Sequence[ImageId],
    by_key: Mapping[ImageId, ImageId],
    extra: Policy,
) -> dict[ImageId, ImageId]:
    """Return the references' id of each id in the results; empty if some have none and are not skipped."""
    ids = {image: by_key[key] for image, key in zip(results, keys, strict=True) if key in by_key}
    return ids if extra == "skip" or len(ids) == len(results) else {}


def _list_problems(
    references: References,
    candidates: Candidates,
    missing: Policy,
    extra: Policy,
    *,
    can_skip: bool = True,
) -> list[str]:
    problems = []
    several = np.flatnonzero(candidates.counts > 1)
    if several.size:
        image = candidates.image_ids[several[0]]
        swapped = references.counts.max() == 1 and candidates.counts.min() > 1
        message = describe_several_candidates(image, len(candidates[image]))
        problems.append(message + (f"; {SWAPPED}" if swapped else ""))
    known = candidates.native.positions_in(references.native) >= 0
    unknown = np.flatnonzero(~known)
    if unknown.size and extra == "error":
        images = [candidates.image_ids[position] for position in unknown.tolist()]
        fix = _compare_ids(references, candidates)
        if known.any():
            fix = _suggest_skipping("extra", images) if can_skip else ""
        problems.append(f"{format_images(images)} among the candidates but not among the references{fix}")
    without = np.flatnonzero(references.native.positions_in(candidates.native) < 0)
    if without.size and missing == "error" and known.any():
        images = [references.image_ids[position] for position in without.tolist()]
        fix = _suggest_skipping("missing", images) if can_skip else ""
        problems.append(f"{format_images(images)} among the references but not among the candidates{fix}")
    return problems


def _suggest_skipping(option: str, images: Sequence[ImageId]) -> str:
    """Return the option that skips the images, as the end of a message."""
    them = "it" if len(images) == 1 else "them"
    return f"; to skip {them}, set {option}='skip' (on the command line: --{option} skip)"


def _compare_ids(references: References, candidates: Candidates) -> str:
    """Return an id of each side, as the end of a message about ids without a common one."""
    result, reference = shorten(candidates.image_ids[0]), shorten(references.image_ids[0])
    return f"; ids of the results such as {result} must equal ids of the references such as {reference}"
