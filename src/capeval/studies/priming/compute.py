"""Comparison of captions collected with and without keywords (nocaps, section 3.1 and Figure 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capeval.data.captions import ImageId, References
from capeval.data.scores import FloatArray
from capeval.datasets.word_forms import WordForms, load_word_forms
from capeval.errors import MismatchError
from capeval.scoring.bootstrap import Interval
from capeval.scoring.paired_tests import difference
from capeval.scoring.resampling import draw_resamples
from capeval.scoring.significance import Comparison
from capeval.studies.diversity import Diversity, DiversityOptions, diversity
from capeval.studies.diversity.images import image_diversity
from capeval.studies.priming.options import PrimingOptions
from capeval.studies.shared.means import create_mean_score
from capeval.tokenizers import tokenize

__all__ = [
    "PLAIN",
    "PRIMED",
    "ClassMentions",
    "PrimingMeasure",
    "PrimingOptions",
    "PrimingStudy",
    "study_priming",
]

PLAIN, PRIMED = "Without keywords", "With keywords"
"""The names of the two sets of captions."""

_DRAWS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class PrimingMeasure:
    """A property of captions, compared between the two sets.

    Attributes:
        plain: The mean over images without keywords, with its interval.
        primed: The mean with keywords.
        comparison: The paired test over images of the difference, with minus without keywords.
        values: The value of each image: images by `plain` and `primed`; NaN if it is undefined.
    """

    plain: Interval
    primed: Interval
    comparison: Comparison
    values: FloatArray


@dataclass(frozen=True, kw_only=True)
class ClassMentions:
    """Number of images with captions that name a class.

    Attributes:
        images: The number of images with the class among their keywords.
        plain: The number of these whose captions without keywords name it.
        primed: The number of these whose captions with keywords name it.
    """

    images: int
    plain: int
    primed: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PrimingStudy:
    """Comparison of two sets of captions of the same images.

    Attributes:
        image_ids: The images with keywords and with captions in both sets.
        captions: The number of compared captions in each set.
        left_out: The number of other images.
        measures: The measures by name.
        classes: The mentions of each keyword, most frequent first.
        diversity: The unique n-grams of each set, in samples of equal size.
    """

    image_ids: tuple[ImageId, ...]
    captions: int
    left_out: int
    measures: Mapping[str, PrimingMeasure]
    classes: Mapping[str, ClassMentions]
    diversity: Mapping[str, Diversity]


def study_priming(
    plain: References,
    primed: References,
    keywords: Mapping[ImageId, Sequence[str]],
    options: PrimingOptions = PrimingOptions(),  # noqa: B008 - it is immutable.
) -> PrimingStudy:
    """Compare the captions of images by annotators with and without keywords.

    An image has the same number of captions in both sets: further captions are left out. A keyword is named
    by any phrase of its class in `load_word_forms`; other keywords are named by themselves and by their
    plural in -s.

    Args:
        plain: The captions by annotators who saw no keywords.
        primed: The captions by annotators who saw the keywords.
        keywords: The keywords of each image. A text and a number with the same digits are the same image.
        options: The resamples, and the level of the intervals.

    Raises:
        MismatchError: Fewer than two images have keywords and captions in both sets.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.priming import study_priming
        >>> plain = References({1: ["A brown rodent climbs."], 2: ["Two dogs."]})
        >>> primed = References({1: ["A red panda climbs a tree."], 2: ["Two dogs on a bed."]})
        >>> study = study_priming(plain, primed, {1: ["Red panda", "Tree"], 2: ["Dog"]})
        >>> compared = study.measures["Captions that name a keyword (%)"]
        >>> compared.plain.score, compared.primed.score, compared.comparison.difference
        (50.0, 100.0, 50.0)
        >>> study.classes["Red panda"]
        ClassMentions(images=1, plain=0, primed=1)
    """
    phrases = _list_phrases(keywords)
    images = [image for image in plain if image in primed and str(image) in phrases]
    if len(images) < 2:
        raise MismatchError(
            "at least two images must have keywords and captions in both sets"
            f" (got {len(images)} of {len(plain):,} and {len(primed):,} images with captions)"
        )
    counts = [min(len(plain[image]), len(primed[image])) for image in images]
    sets = [
        References({image: each[image][:count] for image, count in zip(images, counts, strict=True)})
        for each in (plain, primed)
    ]
    named = [_find_mentions(each, phrases) for each in sets]
    values = _measure_mentions(named, [len(phrases[str(image)]) for image in images])
    values |= _measure_texts(sets)
    arrays = {name: np.array(each).T for name, each in values.items()}
    return PrimingStudy(
        image_ids=tuple(images),
        captions=sum(counts),
        left_out=len({*plain, *primed}) - len(images),
        measures={
            name: _compare(name, each, options)
            for name, each in arrays.items()
            if _find_known(each).sum() > 1
        },
        classes=_count_classes(named, [tuple(phrases[str(image)]) for image in images]),
        diversity=_count_ngrams(sets, options),
    )


def _list_phrases(keywords: Mapping[ImageId, Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Return the tokenized phrases of each image's keywords, with spaces at both ends."""
    forms = load_word_forms()
    names = sorted({name for each in keywords.values() for name in each})
    found = {name: _tokenize(_get_phrases(name, forms)) for name in names}
    return {str(image): {name: found[name] for name in each} for image, each in keywords.items() if each}


def _get_phrases(keyword: str, forms: WordForms) -> Sequence[str]:
    name = keyword.lower()
    return forms.phrases[forms.names[name]] if name in forms.names else (name, f"{name}s")


def _tokenize(texts: Iterable[str]) -> list[str]:
    return [f" {' '.join(tokens)} " for tokens in tokenize(list(texts))]


def _find_mentions(
    captions: References, phrases: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[list[frozenset[str]]]:
    """Return the keywords that each caption names, by image."""
    return [
        [
            frozenset(
                name for name, each in phrases[str(image)].items() if any(phrase in text for phrase in each)
            )
            for text in _tokenize(captions[image])
        ]
        for image in captions
    ]


def _measure_mentions(
    named: Sequence[Sequence[Sequence[frozenset[str]]]], keywords: Sequence[int]
) -> dict[str, list[list[float]]]:
    """Return the values of each image in both sets, by measure.

    Args:
        named: The keywords that each caption names, by set and image.
        keywords: The number of keywords of each image.
    """
    together = [[frozenset().union(*captions) for captions in images] for images in named]
    return {
        "Captions that name a keyword (%)": [
            [100 * sum(map(bool, captions)) / len(captions) for captions in images] for images in named
        ],
        "Images with a named keyword (%)": [[100.0 * bool(names) for names in images] for images in together],
        "Named keywords of an image (%)": [
            [100 * len(names) / count for names, count in zip(images, keywords, strict=True)]
            for images in together
        ],
        "Named keywords per caption": [
            [sum(map(len, captions)) / len(captions) for captions in images] for images in named
        ],
    }


def _measure_texts(sets: Sequence[References]) -> dict[str, list[list[float]]]:
    """Return the lengths of captions, and the diversity of an image's captions if it has several."""
    measures = {
        "Words per caption": [
            [float(np.mean([len(text.split()) for text in _tokenize(each[image])])) for image in each]
            for each in sets
        ]
    }
    if min(int(each.counts.min()) for each in sets) > 1:
        measures["Self-CIDEr (0: equal captions)"] = [
            image_diversity(each).self_cider.tolist() for each in sets
        ]
    return measures


def _compare(name: str, values: FloatArray, options: PrimingOptions) -> PrimingMeasure:
    """Return the means of both sets, and their difference."""
    known = values[_find_known(values)]
    draws = draw_resamples(len(known), options.samples, options.seed)
    means = np.concatenate([rows @ known / len(known) for rows in draws])
    plain, primed = (
        create_mean_score(name, known[:, column], means[:, column], seed=options.seed, units=len(known))
        for column in range(2)
    )
    return PrimingMeasure(
        plain=plain.interval(level=options.level),
        primed=primed.interval(level=options.level),
        comparison=difference(primed, plain, level=options.level),
        values=values,
    )


def _find_known(values: FloatArray) -> NDArray[np.bool_]:
    """Return the images with a value in both sets; captions without weighted n-grams have no Self-CIDEr."""
    known: NDArray[np.bool_] = np.logical_not(np.isnan(values).any(axis=1))
    return known


def _count_classes(
    named: Sequence[Sequence[Sequence[frozenset[str]]]], keywords: Sequence[Sequence[str]]
) -> dict[str, ClassMentions]:
    """Return the number of images that name each keyword, most frequent keywords first."""
    images = Counter(name for each in keywords for name in each)
    plain, primed = (
        Counter(name for captions in each for name in frozenset().union(*captions)) for each in named
    )
    return {
        name: ClassMentions(images=count, plain=plain[name], primed=primed[name])
        for name, count in images.most_common()
    }


def _count_ngrams(sets: Sequence[References], options: PrimingOptions) -> dict[str, Diversity]:
    """Return the unique n-grams, in samples with the same number of captions of each image."""
    counts = sets[0].counts
    wanted = DiversityOptions(
        images=len(counts),
        captions=int(counts.min()),
        # With equal numbers of captions, all samples are the same.
        samples=1 if counts.min() == counts.max() else _DRAWS,
        seed=options.seed,
    )
    return diversity(dict(zip((PLAIN, PRIMED), sets, strict=True)), wanted)
