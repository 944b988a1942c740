"""Options of the diversity study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from capeval._internal.options import Option, Seed, check_options
from capeval._internal.validation import validate_choice

__all__ = ["COLLECTED", "DiversityOptions", "ImageDiversityOptions", "Similarity", "SimilarityOption"]

COLLECTED = (4500, 5)
"""The number of images, and of captions per image, in the paper's samples."""

Similarity = Literal["CIDEr-D", "CIDEr-2015"]
"""Similarities of two captions, for Self-CIDEr."""

SimilarityOption = Annotated[
    str,
    Option(
        metavar="|".join(get_args(Similarity)),
        help="Similarity of two captions, for Self-CIDEr (--within-images).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class DiversityOptions:
    """Options of unique n-gram counts in samples of captions.

    Raises:
        OptionError: An option has an invalid value.
    """

    images: Annotated[int, Option(min=1, help="Number of images in each sample.")] = COLLECTED[0]
    captions: Annotated[
        int | None,
        Option(
            min=1,
            help="Number of captions per image.",
            show_default=f"{COLLECTED[1]}; with --within-images, the number that every image has",
        ),
    ] = None
    samples: Annotated[int, Option(min=1, help="Number of samples of each corpus.")] = 10
    across_punctuation: Annotated[bool, Option(help="Count n-grams across punctuation too.")] = False
    words: Annotated[
        Literal["paper", "reference"],
        Option(help="Count words as in the paper, or tokens of the reference tokenizer."),
    ] = "paper"
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class ImageDiversityOptions:
    """Options for comparing the captions of each image.

    Raises:
        OptionError: An option has an invalid value.
    """

    captions: Annotated[
        int | None,
        Option(min=2, help="Number of captions per image.", show_default="the number that every image has"),
    ] = None
    similarity: SimilarityOption = "CIDEr-D"

    def __post_init__(self) -> None:
        # Imported lazily, so that help stays fast.
        from capeval.metrics.registry import normalize_score

        similarities = get_args(Similarity)
        object.__setattr__(self, "similarity", normalize_score(self.similarity, similarities))
        validate_choice("similarity", self.similarity, similarities)
        check_options(self)
