"""Matching of results and references: rules for image ids, and parts of the images."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from capeval._internal.validation import validate_choice
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError
from capeval.errors.messages import SWAPPED, describe_several_candidates, format_images, shorten

__all__ = [
    "Matching",
    "Names",
    "Policy",
    "find_equal_names",
    "list_problems",
    "match_captions",
    "match_ids",
    "show_ids",
]

Policy = Literal["error", "skip"]
"""Treatment of images that only one side has: an error, or skipping them."""

Names = Callable[[], Mapping[ImageId, str]]
"""Function that returns the file names of images by id."""

# The names in COCO 2017 are the 12 digits only.
_COCO = re.compile(r"(?:COCO_\w+_|(?=\d{12}\Z))0*(\d+)", re.ASCII)
_SYSTEMS = 5
_LONGEST = 80
_FILE_NAME = re.compile(r"\.(?:jpe?g|png|gif|webp|bmp|tiff?)$", re.IGNORECASE)


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
        skipped_for_others: The number of images with a result that were skipped, because another system has
            no result for them.
        incomplete_systems: The names of the systems without result for some images, if several systems are
            scored.
    """

    rule: str = ""
    example: tuple[ImageId, ImageId] | None = None
    references: int
    without_results: int = 0
    without_references: int = 0
    skipped_for_others: int = 0
    incomplete_systems: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Footnotes for tables, in full sentences; empty if ids are equal and no image was skipped."""
        notes = []
        scored = self.references - self.without_results - self.skipped_for_others
        if scored < self.references:
            were = "was" if scored == 1 else "were"
            reason = "the others have no result"
            if self.incomplete_systems:
                have = "has" if len(self.incomplete_systems) == 1 else "have"
                reason = f"{_join(self.incomplete_systems)} {have} no result for the others"
            notes.append(f"{scored:,} of {self.references:,} images {were} scored, because {reason}.")
        if self.without_references:
            one = self.without_references == 1
            skipped = (
                "result was skipped, because it has" if one else "results were skipped, because they have"
            )
            notes.append(f"{self.without_references:,} {skipped} no references.")
        if self.example is not None:
            result, reference = show_ids(*self.example)
            notes.append(f"Image ids were matched by a rule ({self.rule}): {result} is {reference}.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible dictionary in reports; the rule is None if ids are equal."""
        others = {
            "skipped_for_others": self.skipped_for_others,
            "incomplete_systems": self.incomplete_systems,
        }
        known = {name: value for name, value in asdict(self).items() if name not in others}
        added = {name: value for name, value in others.items() if value}
        return {**known, "rule": self.rule or None, **added}


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
    numbers in COCO's file names, such as `COCO_val2014_000000391895.jpg` or `000000391895.jpg`; listed file
    names, with or without extension. A rule must map the ids of each side to different ids, and applies to
    all ids. If images are skipped, the first rule is used that gives references to some results.

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
    names = None if names is None else cache(names)
    rule, renamed, example = _rename(references, candidates, extra, names)
    if problems := _list_problems(references, candidates, renamed, missing, extra, names):
        raise MismatchError("; ".join(problems))
    common = [image for image in references.image_ids if image in renamed]
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
    names = None if names is None else cache(names)
    _, renamed, _ = _rename(references, candidates, extra, names)
    return _list_problems(references, candidates, renamed, missing, extra, names, can_skip=can_skip)


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
    for rule, known, given in _iter_keys(references, results, names):
        by_key = {key: image for image, key in known.items()}
        if len(by_key) < len(known) or len(set(given.values())) < len(given):
            continue
        if ids := _map_ids(results, [given[image] for image in results], by_key, extra):
            return rule, ids
    return "", {}


def _iter_keys(
    references: Sequence[ImageId], results: Sequence[ImageId], names: Names | None
) -> Iterator[tuple[str, dict[ImageId, str], dict[ImageId, str]]]:
    """Yield each rule with the keys of the references' ids and of the results' ids."""
    for rule, get_key in _RULES.items():
        yield (
            rule,
            {image: get_key(image) for image in references},
            {image: get_key(image) for image in results},
        )
    listed = names() if names is not None else {}
    for rule, get_key in _NAME_RULES.items():
        known = {image: get_key(listed[image]) for image in references if image in listed}
        yield rule, known, {image: get_key(image) for image in results}


def _map_ids(
    results: Sequence[ImageId],
    keys: Sequence[ImageId],
    by_key: Mapping[Any, ImageId],
    extra: Policy,
) -> dict[ImageId, ImageId]:
    """Return the references' id of each id in the results; empty if some have none and are not skipped."""
    ids = {image: by_key[key] for image, key in zip(results, keys, strict=True) if key in by_key}
    return ids if extra == "skip" or len(ids) == len(results) else {}


def find_equal_names(images: Iterable[ImageId]) -> tuple[str, str] | None:
    """Return two ids that differ only in their Unicode form; None if there are none."""
    names = {image: _normalize(image) for image in images if isinstance(image, str) and not image.isascii()}
    return _find_same(names)


def show_ids(first: ImageId, second: ImageId) -> tuple[str, str]:
    """Return two ids for a message, with escapes if they differ only in their Unicode form."""
    if first == second or find_equal_names((first, second)) is None:
        return shorten(first), shorten(second)
    return _show_form(first), _show_form(second)


def _show_form(image: ImageId) -> str:
    """Return an id for a message, with escapes unless it is in the form NFC."""
    # Cut before the escapes, so that the text stays short.
    return shorten(image) if image == _normalize(image) else ascii(str(image)[:_LONGEST])


def _list_problems(
    references: References,
    candidates: Candidates,
    renamed: Candidates,
    missing: Policy,
    extra: Policy,
    names: Names | None,
    *,
    can_skip: bool = True,
) -> list[str]:
    """Return the errors; `renamed` are the candidates with the ids of the references if a rule applies."""
    problems = []
    several = np.flatnonzero(renamed.counts > 1)
    if several.size:
        image = renamed.image_ids[several[0]]
        swapped = references.counts.max() == 1 and renamed.counts.min() > 1
        message = describe_several_candidates(image, len(renamed[image]))
        problems.append(message + (f"; {SWAPPED}" if swapped else ""))
    known = renamed.native.positions_in(references.native) >= 0
    if not known.any():
        return [*problems, *_list_unmatched(references, candidates, missing, extra, names, can_skip=can_skip)]
    unknown = np.flatnonzero(~known)
    if unknown.size and extra == "error":
        images = [renamed.image_ids[position] for position in unknown.tolist()]
        fix = _describe_forms(images, references) + (_suggest_skipping("extra", images) if can_skip else "")
        problems.append(f"{format_images(images)} among the candidates but not among the references{fix}")
    without = np.flatnonzero(references.native.positions_in(renamed.native) < 0)
    if without.size and missing == "error":
        images = [references.image_ids[position] for position in without.tolist()]
        fix = _describe_forms(images, renamed) + (_suggest_skipping("missing", images) if can_skip else "")
        problems.append(f"{format_images(images)} among the references but not among the candidates{fix}")
    return problems


def _list_unmatched(
    references: References,
    candidates: Candidates,
    missing: Policy,
    extra: Policy,
    names: Names | None,
    *,
    can_skip: bool,
) -> list[str]:
    """Return the errors if no rule gives references to all results, and no id is equal."""
    given, known = candidates.image_ids, references.image_ids
    rule, ids = match_ids(known, given, extra="skip", names=names)
    if not ids:
        fix = _describe_same(known, given, names) or _compare_ids(known, given, names)
        if extra == "skip":
            return [f"no image of the results has references{fix}"]
        return [f"{format_images(given)} among the candidates but not among the references{fix}"]
    matched = set(ids.values())
    sides = [("results", "references", "extra", given, [image for image in given if image not in ids])]
    if missing == "error":
        without = [image for image in known if image not in matched]
        sides.append(("references", "result", "missing", known, without))
    problems = []
    for side, other, option, images, left in sides:
        if left:
            have = "has" if len(left) == 1 else "have"
            fix = _suggest_skipping(option, left) if can_skip else ""
            problems.append(
                f"{len(left):,} of {len(images):,} images of the {side}, such as {shorten(left[0])}, {have}"
                f" no {other} (ids matched by a rule: {rule}){fix}"
            )
    return problems


def _suggest_skipping(option: str, images: Sequence[ImageId]) -> str:
    """Return the option that skips the images, as the end of a message."""
    them = "it" if len(images) == 1 else "them"
    return f"; to skip {them}, set {option}='skip' (on the command line: --{option} skip)"


def _describe_forms(images: Iterable[ImageId], others: Iterable[ImageId]) -> str:
    """Return the end of a message about an id that differs only in its Unicode form from one of others."""
    texts = [image for image in images if isinstance(image, str) and not image.isascii()]
    if not texts:
        return ""
    known = {_normalize(image): image for image in others if isinstance(image, str)}
    for image in texts:
        if _normalize(image) in known:
            first, second = show_ids(image, known[_normalize(image)])
            return f"; {first} and {second} differ only in their Unicode form"
    return ""


def _describe_same(known: Sequence[ImageId], given: Sequence[ImageId], names: Names | None) -> str:
    """Return the end of a message about two ids that a rule maps to the same image."""
    for rule, keys, given_keys in _iter_keys(known, given, names):
        if set(keys.values()).isdisjoint(given_keys.values()):
            continue
        for side, found in (("results", given_keys), ("references", keys)):
            if same := _find_same(found):
                first, second = show_ids(*same)
                return f"; two ids of the {side}, {first} and {second}, are the same image by a rule ({rule})"
    return ""


def _find_same(keys: Mapping[Any, str]) -> tuple[Any, Any] | None:
    """Return the first two ids with the same key."""
    seen: dict[str, Any] = {}
    for image, key in keys.items():
        if key in seen:
            return seen[key], image
        seen[key] = image
    return None


def _compare_ids(known: Sequence[ImageId], given: Sequence[ImageId], names: Names | None) -> str:
    """Return an id of each side, as the end of a message about ids without a common one."""
    result, reference = show_ids(given[0], known[0])
    text = f"; ids of the results such as {result} must equal ids of the references such as {reference}"
    if not (names and names()) and any(_FILE_NAME.search(str(image)) for image in (given[0], known[0])):
        text += "; to match file names, list them with 'names' (on the command line: --image-info FILE)"
    return text


def _join(names: Sequence[str]) -> str:
    first = names[:_SYSTEMS]
    last = first[-1] if len(first) == len(names) else f"{len(names) - _SYSTEMS:,} more"
    others = first[:-1] if len(first) == len(names) else first
    return f"{', '.join(others)} and {last}" if others else last
