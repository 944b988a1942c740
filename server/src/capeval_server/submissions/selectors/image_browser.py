"""Browser of single images: captions of methods and references, if all are public.

File contents are cached between requests by file name, because stored references and results never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from django.core.files.storage import default_storage
from django.db.models import Exists, F, OuterRef, Q, QuerySet

import capeval
from capeval.data.captions import ImageId
from capeval.data.scores import FloatArray
from capeval_server.challenges.models import ReferenceSet, ReferenceVersion, Split
from capeval_server.core.errors import NotFoundError
from capeval_server.submissions.models import Result, Score, Submission, SubmissionFile
from capeval_server.submissions.scoring.score_arrays import image_scores_of
from capeval_server.submissions.selectors.scores import higher_is_better

__all__ = [
    "ImageExample",
    "ImageTable",
    "MethodCaptions",
    "candidates_in",
    "examples",
    "get_image_scores",
    "image_table",
    "methods",
    "ordered",
    "references_in",
    "score_columns",
    "splits_of",
]


@dataclass(frozen=True, kw_only=True)
class ImageTable:
    """Scores of each image.

    Attributes:
        names: The scores, in the order of the split's metrics.
        values: One row per image, in the split's order; one column per score. NaN for a missing score.
    """

    names: list[str]
    values: FloatArray

    def column(self, name: str) -> FloatArray:
        """Return one score of all images."""
        return self.values[:, self.names.index(name)]


@dataclass(frozen=True, kw_only=True)
class MethodCaptions:
    """One method's captions of an image, with their scores by name."""

    submission: Submission
    captions: Sequence[str]
    scores: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class ImageExample:
    """Image with its references and the captions of methods."""

    image: ImageId
    address: str
    references: Sequence[str]
    shown: Sequence[MethodCaptions]


def splits_of(submission: Submission) -> list[Split]:
    """Return the splits of a submission with public reference sets only."""
    private = ReferenceSet.objects.filter(split=OuterRef("pk"), public=False)
    there = ReferenceSet.objects.filter(split=OuterRef("pk"))
    found = Split.objects.filter(Exists(there), ~Exists(private), submissionfile__submission=submission)
    return list(found.defer("image_ids").prefetch_related("reference_sets").order_by("name"))


def image_table(submission: Submission, references: ReferenceSet) -> ImageTable | None:
    """Return the image scores by the current references, or None if there are none.

    Scores by private references are not stored; scores by references that became private are not shown.
    """
    if not references.public:
        return None
    results = Result.objects.filter(
        image_scores__isnull=False,
        submission=submission,
        reference_version__reference_set=references,
        reference_version__number=references.version,
        failure="",
    )
    order = {metric: place for place, metric in enumerate(references.split.metrics)}
    found = results.values_list("metric", "pk", "image_scores")
    keys = sorted(found, key=lambda key: order.get(key[0], len(order)))
    parts = [part for _, *key in keys if (part := _image_scores(*key, str(submission.pk))) is not None]
    if not parts:
        return None
    names = [name for part_names, _ in parts for name in part_names]
    values = np.concatenate([values for _, values in parts], axis=1)
    return ImageTable(names=names, values=_expand_to_split(values, references))


def _expand_to_split(values: FloatArray, references: ReferenceSet) -> FloatArray:
    """Return scores with one row per image of the split, also for partial references."""
    if references.part is None:
        return values
    covered = set(references.part)
    found = np.full((len(references.split.image_ids), values.shape[1]), np.nan)
    # Both are in the split's order.
    found[[image in covered for image in references.split.image_ids]] = values
    return found


@lru_cache(maxsize=64)
def _image_scores(result: int, *_: int | str) -> tuple[list[str], FloatArray] | None:
    """Return the image scores of a result.

    The other arguments are only part of the cache key, because the id of a deleted row may be reused.
    """
    return image_scores_of(Result.objects.get(pk=result))


def ordered(table: ImageTable | None, sort_by: str, descending: bool, images: int) -> np.ndarray[Any, Any]:
    """Return the image indices in the order of a score; missing scores come last."""
    if table is None or sort_by not in table.names:
        return np.arange(images)
    values = table.column(sort_by)
    keys = np.where(np.isfinite(values), -values if descending else values, np.inf)
    return np.argsort(keys, kind="stable")


def methods(
    split: Split, references: ReferenceSet, among: QuerySet[Submission], most: int
) -> list[Submission]:
    """Return submissions with results of a split, best leaderboard score first."""
    best = Score.objects.filter(
        result__submission=OuterRef("pk"),
        result__reference_version__reference_set=references,
        result__reference_version__number=references.version,
        subset="",
        name=split.sort_by,
    ).order_by("-value")
    files = SubmissionFile.objects.filter(submission=OuterRef("pk"), split=split)
    found = among.filter(Exists(files)).exclude(Q(state=Submission.State.WITHDRAWN))
    ranked = found.annotate(sort_value=best.values("value")[:1])
    value = F("sort_value")
    better = value.desc if higher_is_better(split, split.sort_by) else value.asc
    return list(ranked.order_by(better(nulls_last=True), "created", "pk")[:most])


def examples(
    split: Split,
    references: ReferenceSet,
    shown: Sequence[Submission],
    places: Sequence[int],
    names: Sequence[str],
) -> list[ImageExample]:
    """Return images of a split by index, with the captions and scores of some methods.

    Args:
        split: A split whose reference sets are all public.
        references: One of them.
        shown: The methods.
        places: Indices of images.
        names: The scores to show, in order.
    """
    version = ReferenceVersion.objects.get(reference_set=references, number=references.version)
    texts = references_in(version.file.name)
    files = SubmissionFile.objects.filter(split=split, submission__in=[one.pk for one in shown])
    captions = {file.submission_id: candidates_in(str(file.file.name)) for file in files}
    tables = {one.pk: image_table(one, references) for one in shown}
    found = []
    for place in places:
        image = split.image_ids[place]
        rows = [
            MethodCaptions(
                submission=one,
                # A human baseline covers only the images of its references.
                captions=captions[one.pk].get(image, ()),
                scores=_get_scores(tables[one.pk], names, place),
            )
            for one in shown
            if one.pk in captions
        ]
        found.append(
            ImageExample(
                image=image, address=split.get_image_url(image), references=texts.get(image, ()), shown=rows
            )
        )
    return found


def get_image_scores(
    submission: Submission, own: bool, split: str, references: str, offset: int, limit: int
) -> dict[str, Any]:
    """Return a range of image scores for the API.

    Raises:
        NotFoundError: There are no image scores, or the user may not see them.
    """
    sets = ReferenceSet.objects.filter(split__submissionfile__submission=submission, public=True)
    found = sets.select_related("split").filter(split__name=split, name=references).first()
    if found is None:
        raise NotFoundError
    if not own and found.split.reference_sets.filter(public=False).exists():
        raise NotFoundError
    table = image_table(submission, found)
    if table is None:
        raise NotFoundError
    rows = table.values[offset : offset + limit]
    return {
        "split": split,
        "references": references,
        "version": found.version,
        "images": len(found.split.image_ids),
        "names": table.names,
        "image_ids": found.split.image_ids[offset : offset + limit],
        "scores": [[float(value) if np.isfinite(value) else None for value in row] for row in rows],
    }


def score_columns(tables: Iterable[ImageTable | None]) -> list[str]:
    """Return the distinct score names of some tables."""
    return list(dict.fromkeys(name for table in tables if table is not None for name in table.names))


def _get_scores(table: ImageTable | None, names: Sequence[str], place: int) -> dict[str, float | None]:
    if table is None:
        return dict.fromkeys(names)
    at = {name: float(table.values[place, column]) for column, name in enumerate(table.names)}
    return {name: value if np.isfinite(value := at.get(name, np.nan)) else None for name in names}


def _read_stored(name: str) -> bytes:
    with default_storage.open(name, "rb") as file:
        data: bytes = file.read()
    return data


@lru_cache(maxsize=4)
def references_in(name: str) -> capeval.References:
    """Return the references in a stored file."""
    return capeval.load_references(_read_stored(name), name=name)


@lru_cache(maxsize=24)
def candidates_in(name: str) -> capeval.Candidates:
    """Return the captions in a stored results file."""
    return capeval.load_candidates(_read_stored(name), name=name, strict=True)
