"""Public captions of a phase, filtered and sorted: several methods per image.

Scores, references and subsets of images are included only if the references are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from django.db.models import Q

from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval.report.browser import ImageDetails, SystemCaptions, captions_data
from capeval.tokenizers import Tokenizer, tokenize
from capeval_server.challenges.models import Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.challenges.services.constraints import get_constraints
from capeval_server.submissions.models import Submission, SubmissionFile
from capeval_server.submissions.selectors import visibility
from capeval_server.submissions.selectors.image_browser import (
    candidates_in,
    image_table,
    methods,
    references_in,
    score_columns,
)
from capeval_server.submissions.selectors.method_names import name_system

__all__ = ["Filter", "ShownCaptions", "shown_methods", "shown_splits"]

_TOKENIZER = Tokenizer()


def shown_splits(phase: Phase, now: datetime) -> list[Split]:
    """Return the splits of a phase with public captions, as of now."""
    if not (phase.captions and phase.shows_leaderboard(now)):
        return []
    found = phase.splits.filter(name__in=phase.captions).prefetch_related("reference_sets", "subsets")
    return list(found.order_by("name"))


def shown_methods(phase: Phase, split: Split, now: datetime, most: int) -> list[Submission]:
    """Return the submissions with public captions of a split, best first.

    They are on the leaderboard, and their teams agreed, unless the organizers show the captions of all teams.
    A human baseline is included if its references are public.
    """
    of_teams = Q(phase=phase)
    if phase.captions_by == Phase.CaptionsBy.AGREED:
        of_teams &= Q(team__shows_captions=True)
    people = Q(baseline_of__split=split, baseline_of__public=True)
    sets = sorted(split.reference_sets.all(), key=lambda one: one.pk)
    ranked_by = next((one for one in sets if one.public), sets[0])
    return methods(split, ranked_by, visibility.list_published(now).filter(of_teams | people), most)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Selection and order of images.

    Attributes:
        search: Texts that must all occur in the captions.
        where: `candidates` or `references` to search only these; empty for both, and image ids.
        score: The score to sort by; empty for none.
        system: The index of the method with that score.
        other: The index of the method whose score is subtracted; None for none.
        subset: A subset that must contain the images; empty for any.
        constraint: A name that captions of the images must mention; empty for any.
        mentioned: `all` or `some`: whether the method's caption mentions all required names; empty for
            either.
        least: The minimum score, or difference of scores; None for no limit.
        most: The maximum score, or difference of scores; None for no limit.
        order: `highest`, `lowest`, or `file`.
    """

    search: Sequence[str] = ()
    where: str = ""
    score: str = ""
    system: int = 0
    other: int | None = None
    subset: str = ""
    constraint: str = ""
    mentioned: str = ""
    least: float | None = None
    most: float | None = None
    order: str = "file"


@dataclass(kw_only=True)
class ShownCaptions:
    """Captions of a split by some methods.

    Attributes:
        split: One of `shown_splits`.
        references: One of its public reference sets; None if there is none.
        shown: Some of `shown_methods`.
        names: The names of the image scores, in order.
        subsets: The images of each subset; empty if any reference set is private.
        constraints: The names that captions of each image must mention.
    """

    split: Split
    references: ReferenceSet | None
    shown: Sequence[Submission]
    names: list[str] = field(init=False)
    subsets: Mapping[str, Sequence[ImageId]] = field(init=False)
    constraints: Mapping[ImageId, Mapping[str, Sequence[str]]] = field(init=False)

    def __post_init__(self) -> None:
        self._ids: list[ImageId] = list(self.split.image_ids)
        tables = [
            image_table(one, self.references) if self.references is not None else None for one in self.shown
        ]
        self.names = score_columns(tables)
        shape = (len(self._ids), len(self.names))
        self._values: list[FloatArray] = []
        for table in tables:
            values = np.full(shape, np.nan)
            for name in table.names if table is not None else ():
                values[:, self.names.index(name)] = table.column(name)  # type: ignore[union-attr]
            self._values.append(values)
        files = SubmissionFile.objects.filter(split=self.split, submission__in=[one.pk for one in self.shown])
        self._files = dict(files.values_list("submission_id", "file"))
        self._known: Mapping[ImageId, Sequence[str]] = {}
        if self.references is not None:
            number = self.references.version
            version = ReferenceVersion.objects.get(reference_set=self.references, number=number)
            self._known = references_in(version.file.name)
        self.subsets = self.split.get_subset_images() if self.split.has_public_subsets else {}
        self.constraints = get_constraints(self.split)

    @property
    def objects(self) -> list[str]:
        """All names that captions of any image must mention."""
        return sorted({name for found in self.constraints.values() for name in found})

    def places(self, wanted: Filter) -> list[int]:
        """Return the indices of the images that pass a filter, in its order."""
        values = self._get_sort_values(wanted)
        passing = np.ones(len(self._ids), bool)
        if wanted.subset:
            members = set(self.subsets[wanted.subset])
            passing &= np.array([image in members for image in self._ids], bool)
        if wanted.constraint:
            named = self.constraints
            passing &= np.array([wanted.constraint in named.get(image, ()) for image in self._ids], bool)
        # Rounded as shown. An image without a score is outside of every range.
        rounded = np.round(values, 3)
        if wanted.least is not None:
            passing &= rounded >= wanted.least
        if wanted.most is not None:
            passing &= rounded <= wanted.most
        if wanted.mentioned and self.shown:
            all_of_them = self._mentions_all(wanted.system)
            passing &= np.array([found is (wanted.mentioned == "all") for found in all_of_them], bool)
        found = np.flatnonzero(passing)
        if wanted.order != "file":
            keys = np.where(np.isnan(values), np.inf, values if wanted.order == "lowest" else -values)
            found = found[np.argsort(keys[found], kind="stable")]
        return self._search(found.tolist(), wanted)

    def _get_sort_values(self, wanted: Filter) -> FloatArray:
        """Return the score, or the difference of scores, of each image."""
        if not wanted.score or not self.shown:
            return np.full(len(self._ids), np.nan)
        column = self.names.index(wanted.score)
        values = self._values[wanted.system][:, column]
        return values if wanted.other is None else values - self._values[wanted.other][:, column]

    def _search(self, places: list[int], wanted: Filter) -> list[int]:
        words = [words.lower() for words in wanted.search]
        if not words:
            return places
        said = (
            []
            if wanted.where == "references"
            else [self._get_captions(one) for one in range(len(self.shown))]
        )
        known = {} if wanted.where == "candidates" else self._known

        def fits(place: int) -> bool:
            image = self._ids[place]
            texts = [*(captions.get(image, ("",))[0] for captions in said), *known.get(image, ())]
            text = "\n".join([*texts, "" if wanted.where else str(image)]).lower()
            return all(each in text for each in words)

        return [place for place in places if fits(place)]

    def _get_captions(self, system: int) -> Mapping[ImageId, Sequence[str]]:
        """Return the captions of a method.

        A human baseline covers only the images of its references.
        """
        return candidates_in(str(self._files[self.shown[system].pk]))

    def _mentions_all(self, system: int) -> list[bool | None]:
        """Return whether a method's captions mention all required names, by image.

        The value is None for an image without required names.
        """
        tokens = _tokenize_captions(str(self._files[self.shown[system].pk]))
        return [
            all(any(f" {words} " in tokens.get(image, "") for words in phrases) for phrases in found)
            if (
                found := [_tokenize_phrases(tuple(each)) for each in self.constraints.get(image, {}).values()]
            )
            else None
            for image in self._ids
        ]

    def data(self, places: Sequence[int], wanted: Filter) -> dict[str, Any]:
        """Return some images in the format of the page's script."""
        ids = [self._ids[place] for place in places]
        said = [
            SystemCaptions(
                name=name_system(one, self.split.challenge),
                captions=[self._get_captions(at).get(image, ("",))[0] for image in ids],
                values=self._values[at][list(places)],
            )
            for at, one in enumerate(self.shown)
        ]
        within = [(name, set(members)) for name, members in self.subsets.items()]
        domains = {image: ", ".join(name for name, members in within if image in members) for image in ids}
        addresses = (
            {image: self.split.get_image_url(image) for image in ids} if self.split.image_url else None
        )
        data = captions_data(
            ids,
            self.names,
            said,
            [list(self._known.get(image, ())) for image in ids],
            tokenizer=_TOKENIZER,
            pictures=addresses,
            details=ImageDetails(
                domains={image: name for image, name in domains.items() if name},
                constraints=self.constraints,
            ),
        )
        score = self.names.index(wanted.score) if wanted.score else -1
        other = -1 if wanted.other is None else wanted.other
        return {**data, "served": {"score": score, "system": wanted.system, "other": other}}


@lru_cache(maxsize=24)
def _tokenize_captions(name: str) -> Mapping[ImageId, str]:
    """Return the tokens of the captions in a stored file, separated by spaces."""
    found = candidates_in(name)
    rows = tokenize([captions[0] for captions in found.values()], _TOKENIZER)
    return {image: f" {' '.join(row)} " for image, row in zip(found, rows, strict=True)}


@lru_cache(maxsize=10_000)
def _tokenize_phrases(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """Return phrases as tokens, separated by spaces."""
    return tuple(" ".join(row) for row in tokenize(list(phrases), _TOKENIZER))
