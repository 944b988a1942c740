"""Classes of ABSTRACT-50S's pairs, which are missing from its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.studies.shared.pair_scores import tokenize_pairs
from capeval.tokenizers import Tokenizer

__all__ = ["ClassifiedPairs", "classify_pairs"]

# The weight of a triplet's vote relative to words, in nats; chosen on the pairs with a certain class.
_VOTE_WEIGHT = 0.5
# A word's frequency in an image's references is smoothed with this many sentences of all images.
_PRIOR_SIZE = 8.0


@dataclass(frozen=True, kw_only=True)
class ClassifiedPairs:
    """Pairs with their classes, and the number of certain classes.

    Attributes:
        pairs: The pairs, each `HC` or `HI`.
        sure: The number of images with certain classes: a candidate also occurs with another image.
        recovered: The number of those images for which words and votes imply the same classes.
    """

    pairs: tuple[Pair, ...]
    sure: int
    recovered: int


def classify_pairs(pairs: Sequence[Pair]) -> ClassifiedPairs:
    """Find the pair of each image that has a candidate of another image.

    Each image has two pairs that share a candidate, which describes the image. Of the other two candidates,
    one describes the image (`HC`) and one describes another image (`HI`). If one of them is the shared
    candidate of another image, the class is certain. Otherwise `HI` is the pair with the worse other
    candidate: its words are rarer in the image's references than in all references (log-likelihood ratio),
    and the shared candidate wins by more votes.

    Args:
        pairs: All pairs, two of each image, from `load_triplets`.

    Raises:
        MismatchError: An image does not have two pairs that share one candidate.
    """
    words = tokenize_pairs(pairs, Tokenizer())
    rows: dict[ImageId, list[int]] = {}
    for row, pair in enumerate(words):
        rows.setdefault(pair.image, []).append(row)
    shared = {image: _find_shared(image, [words[row] for row in places]) for image, places in rows.items()}
    fit = _Fit({image: words[places[0]].references for image, places in rows.items()})
    kinds, sure, recovered = [""] * len(pairs), 0, 0
    for image, (one, two) in rows.items():
        guess = _compare_fits(image, words[one], words[two], shared[image], fit)
        is_foreign = [_is_elsewhere(words[row], image, shared) for row in (one, two)]
        right = one if guess > 0 else two
        if is_foreign[0] != is_foreign[1]:
            known = two if is_foreign[0] else one
            sure, recovered = sure + 1, recovered + (known == right)
            right = known
        kinds[right], kinds[one + two - right] = "HC", "HI"
    with_classes = tuple(replace(pair, kind=kind) for pair, kind in zip(pairs, kinds, strict=True))
    return ClassifiedPairs(pairs=with_classes, sure=sure, recovered=recovered)


class _Fit:
    """Fit of a sentence's words to an image's references."""

    def __init__(self, references: Mapping[ImageId, Sequence[str]]) -> None:
        self._sizes = {image: len(texts) for image, texts in references.items()}
        self._counts = {
            image: Counter(word for text in texts for word in set(text.split()))
            for image, texts in references.items()
        }
        self._all: Counter[str] = sum(self._counts.values(), Counter())
        self._total = sum(self._sizes.values())

    def of(self, sentence: str, image: ImageId) -> float:
        """Return the log-likelihood ratio of the words: this image against all images."""
        fit = 0.0
        for word in set(sentence.split()):
            usual = max(self._all[word], 0.5) / self._total
            here = (self._counts[image][word] + _PRIOR_SIZE * usual) / (self._sizes[image] + _PRIOR_SIZE)
            fit += float(np.log(here / usual))
        return fit


def _find_shared(image: ImageId, pairs: Sequence[Pair]) -> str:
    common = set.intersection(*({pair.first, pair.second} for pair in pairs))
    if len(pairs) != 2 or len(common) != 1:
        raise MismatchError(
            f"image {image!r} must have two pairs that share one candidate"
            f" (got {len(pairs)} that share {len(common)})"
        )
    return common.pop()


def _get_other(pair: Pair, shared: str) -> str:
    return pair.second if pair.first == shared else pair.first


def _is_elsewhere(pair: Pair, image: ImageId, shared: Mapping[ImageId, str]) -> bool:
    """Return whether the candidate that is not shared belongs to another image."""
    other = shared[image]
    sentence = _get_other(pair, other)
    return any(text == sentence for name, text in shared.items() if name != image)


def _compare_fits(image: ImageId, one: Pair, two: Pair, shared: str, fit: _Fit) -> float:
    """Return a number above 0 if both candidates of the first pair fit the image."""
    margins = [sum(p.votes) if p.first == shared else -sum(p.votes) for p in (one, two)]
    fits = [fit.of(_get_other(pair, shared), image) for pair in (one, two)]
    return fits[0] - fits[1] + _VOTE_WEIGHT * (margins[1] - margins[0])
