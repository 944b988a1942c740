"""Diversity of the captions of an image: Div-n, mBLEU, Self-CIDEr, novel captions.

The measures apply to sampled captions of a system, or to captions by several people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.data.captions import Candidates, ImageId, References
from capeval.data.scores import FloatArray, Signature
from capeval.errors import MismatchError
from capeval.errors.messages import format_images
from capeval.metrics import Metric
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.resources import DocumentFrequencies
from capeval.studies.diversity.options import ImageDiversityOptions, Similarity
from capeval.tokenizers import TokenizedReferences, Tokenizer, tokenize

__all__ = ["ORDERS", "ImageDiversity", "ImageDiversityOptions", "Similarity", "image_diversity"]

ORDERS = (1, 2, 3, 4)
"""The lengths of the n-grams of Div-n and mBLEU-n."""


_WORDS = Tokenizer(kind="none")
# Added to the number of words, which may be 0, as in the published code.
_EPSILON = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageDiversity:
    """Diversity of several captions of each image.

    Attributes:
        image_ids: The images.
        captions: The number of captions of each image.
        div: The number of different n-grams in an image's captions, per word: images by n-gram orders.
        mbleu: BLEU-n of each caption of an image against its others, over all images at once, averaged over
            caption positions: one number per order. High values mean similar captions.
        image_mbleu: The same with BLEU-n of each image separately: images by orders.
        self_cider: Self-CIDEr of each image: 0 if its captions are equal, 1 if they have nothing in common;
            NaN if none of their n-grams has a weight.
        words: The number of different words in all captions.
        distinct: The number of different captions, per caption.
        novel: The number of different captions that are not training captions, per caption; None without
            training captions.
        signatures: The signatures of mBLEU and Self-CIDEr.
    """

    image_ids: tuple[ImageId, ...]
    captions: int
    div: FloatArray
    mbleu: FloatArray
    image_mbleu: FloatArray
    self_cider: FloatArray
    words: int
    distinct: float
    novel: float | None
    signatures: Mapping[str, Signature]


def image_diversity(
    captions: References,
    options: ImageDiversityOptions = ImageDiversityOptions(),  # noqa: B008 - it is immutable.
    *,
    training: References | None = None,
    frequencies: DocumentFrequencies | None = None,
    tokenizer: Tokenizer | None = None,
) -> ImageDiversity:
    """Measure the diversity of the captions of each image.

    Self-CIDEr uses a similarity of two captions: `CIDEr-D`, as in the code of its authors, or `CIDEr`, here
    without stems, which is a cosine, as in the code of Luo and Shakhnarovich.

    Args:
        captions: Several captions of each image.
        options: The number of captions per image, and the similarity of two captions.
        training: The captions that a system was trained on, for `novel`.
        frequencies: The document frequencies of Self-CIDEr, of unstemmed words; by default from `captions`.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Raises:
        MismatchError: An image has fewer than two captions, or too few.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.diversity.images import image_diversity
        >>> captions = {1: ["a dog runs", "a dog runs"], 2: ["a cat sleeps outside", "two kittens on a bed"]}
        >>> found = image_diversity(References(captions))
        >>> found.div[:, 0].round(3).tolist()  # Div-1: 3 of 6 words, and 8 of 9.
        [0.5, 0.889]
        >>> found.self_cider.round(3).tolist()
        [0.0, 1.0]
    """
    used = int(captions.counts.min()) if options.captions is None else options.captions
    least = max(used, 2)
    too_few = np.flatnonzero(captions.counts < least)
    if too_few.size:
        images = [captions.image_ids[position] for position in too_few.tolist()]
        raise MismatchError(
            f"every image must have at least {least} captions; {format_images(images)} below this number"
        )
    groups = _tokenize_groups(captions, used, tokenizer)
    if frequencies is None:
        corpus = TokenizedReferences(References(dict(enumerate(groups))), _WORDS)
        frequencies = DocumentFrequencies.of(corpus, name="captions")
    metric: Metric = (
        CiderD(frequencies=frequencies)
        if options.similarity == "CIDEr-D"
        else Cider2015(frequencies=frequencies, stem=False)
    )
    matrices, self_cider_signature = _compute_similarities(groups, metric)
    mbleu, image_mbleu, mbleu_signature = _compute_mutual_bleu(groups)
    everything = [text for group in groups for text in group]
    return ImageDiversity(
        image_ids=captions.image_ids,
        captions=used,
        div=np.array([[_compute_div(group, order) for order in ORDERS] for group in groups]),
        mbleu=mbleu,
        image_mbleu=image_mbleu,
        self_cider=_compute_self_cider(matrices),
        words=len({word for text in everything for word in text.split()}),
        distinct=len(set(everything)) / len(everything),
        novel=None if training is None else _compute_novelty(everything, training, tokenizer),
        signatures={"mBLEU": mbleu_signature, "Self-CIDEr": self_cider_signature},
    )


def _tokenize_groups(captions: References, count: int, tokenizer: Tokenizer | None) -> list[list[str]]:
    """Return the first captions of each image, as tokens joined by single spaces."""
    texts = [text for group in captions.values() for text in group[:count]]
    joined = [" ".join(tokens) for tokens in tokenize(texts, tokenizer)]
    return [joined[start : start + count] for start in range(0, len(joined), count)]


def _compute_div(group: Sequence[str], order: int) -> float:
    """Return the number of different n-grams of an image's captions, per word."""
    rows = [text.split() for text in group]
    ngrams = {
        tuple(words[start : start + order]) for words in rows for start in range(len(words) - order + 1)
    }
    return len(ngrams) / (_EPSILON + sum(map(len, rows)))


def _compute_mutual_bleu(groups: Sequence[Sequence[str]]) -> tuple[FloatArray, FloatArray, Signature]:
    """Return BLEU of each caption against the others, averaged over positions."""
    corpus, images = [], []
    for place in range(len(groups[0])):
        others = {image: [*group[:place], *group[place + 1 :]] for image, group in enumerate(groups)}
        prepared = Bleu(orders=ORDERS).prepare(others, tokenizer=_WORDS)
        scores = prepared.score({image: group[place] for image, group in enumerate(groups)})
        corpus.append([scores.corpus[name] for name in scores.names])
        images.append(np.column_stack([scores.per_image[name] for name in scores.names]))
    return np.mean(corpus, axis=0), np.mean(images, axis=0), prepared.signature()


def _compute_similarities(groups: Sequence[Sequence[str]], metric: Metric) -> tuple[FloatArray, Signature]:
    """Return the similarity of each caption, as candidate, to each as reference.

    Captions are compared within their images.

    Returns:
        Images by candidates by references, and the metric's signature.
    """
    count = len(groups[0])
    # Each caption becomes an image with one reference, and all captions of its true image as candidates.
    references = {
        image * count + place: [text]
        for image, group in enumerate(groups)
        for place, text in enumerate(group)
    }
    candidates = {key: groups[key // count] for key in references}
    prepared = metric.prepare(references, tokenizer=_WORDS)
    scores = prepared.score(Candidates(candidates))
    table = scores.per_image[metric.names[0]].reshape(len(groups), count, count)
    return np.swapaxes(table, 1, 2), prepared.signature()


def _compute_self_cider(matrices: FloatArray) -> FloatArray:
    """Return the evenness of the singular values of the similarities.

    It is a logarithm to the base of the number of captions.
    """
    # CIDEr-D is not symmetric; in the published code, the earlier caption is the candidate.
    upper = np.triu(matrices)
    symmetric = upper + np.swapaxes(np.triu(matrices, 1), 1, 2)
    roots = np.sqrt(np.linalg.svd(symmetric, compute_uv=False))
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = roots.max(axis=1) / roots.sum(axis=1)
        values: FloatArray = -np.log(largest) / np.log(matrices.shape[1])
    return np.abs(values)


def _compute_novelty(texts: Sequence[str], training: References, tokenizer: Tokenizer | None) -> float:
    """Return the share of different captions that are not training captions.

    The denominator is the number of all captions.
    """
    known = tokenize([text for group in training.values() for text in group], tokenizer)
    return len(set(texts).difference(" ".join(tokens) for tokens in known)) / len(texts)
