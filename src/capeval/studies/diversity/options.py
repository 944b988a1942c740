"""Options of a study of diversity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from capeval._internal.options import Option, Seed, check_options

__all__ = ["COLLECTED", "DiversityOptions", "ImageDiversityOptions", "Similarity", "SimilarityOption"]

COLLECTED = (4500, 5)
"""The images, and captions of each, in the samples of the paper."""

# The similarity of two captions, for Self-CIDEr.
Similarity = Literal["CIDEr-D", "CIDEr"]
SimilarityOption = Annotated[
    Similarity, Option(help="Similarity of two captions, for Self-CIDEr (--within-images).")
]


@dataclass(frozen=True, kw_only=True)
class DiversityOptions:
    """Options of counts of unique n-grams in samples of captions.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    images: Annotated[int, Option(min=1, help="Images in each sample.")] = COLLECTED[0]
    captions: Annotated[
        int | None,
        Option(
            min=1,
            help="Captions of each image.",
            show_default=f"{COLLECTED[1]}; with --within-images, as many as every image has",
        ),
    ] = None
    samples: Annotated[int, Option(min=1, help="Samples of each corpus.")] = 10
    across_punctuation: Annotated[bool, Option(help="Count n-grams across commas and other marks too.")] = (
        False
    )
    words: Annotated[
        Literal["paper", "reference"],
        Option(help="Words as in the paper's counts, or tokens of the reference's tokenizer."),
    ] = "paper"
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class ImageDiversityOptions:
    """Options of a comparison of the captions of each image.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    captions: Annotated[
        int | None,
        Option(
            min=2, help="Captions of each image, the first ones.", show_default="as many as every image has"
        ),
    ] = None
    similarity: SimilarityOption = "CIDEr-D"

    def __post_init__(self) -> None:
        check_options(self)
