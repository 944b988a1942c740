"""How much the captions of one image differ: Div-n, mBLEU, Self-CIDEr, and how many are new.

As sampled captions of a system are measured, or those that several people wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.data.captions import Candidates, ImageId, References
from capeval.data.scores import FloatArray, Signature
from capeval.errors import MismatchError
from capeval.errors.messages import first_few
from capeval.metrics import Metric
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.resources import DocumentFrequencies
from capeval.studies.diversity.options import ImageDiversityOptions, Similarity
from capeval.tokenizers import TokenizedReferences, Tokenizer, tokenize

__all__ = ["ORDERS", "ImageDiversity", "ImageDiversityOptions", "Similarity", "image_diversity"]

ORDERS = (1, 2, 3, 4)
"""The lengths of the n-grams of Div-n and mBLEU-n."""


_TOKENS = Tokenizer(kind="none")
# The published code adds it to the number of words, which may be 0.
_SMALL = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageDiversity:
    """The diversity of several captions of each image.

    Attributes:
        image_ids: The images.
        captions: The number of captions of each.
        div: Different n-grams in the captions of an image, per word: images by n-gram orders.
        mbleu: BLEU-n of each caption of an image against its others, over all images at once, averaged over
            the places of captions: one number an order. High where captions are alike.
        image_mbleu: The same with BLEU-n of each image by itself: images by orders.
        self_cider: Self-CIDEr of each image: 0 where its captions are the same, 1 where they have nothing in
            common; NaN where no n-gram of them has a weight.
        words: The number of different words in all captions.
        distinct: The number of different captions, per caption.
        novel: The number of different captions that the training captions don't have, per caption; None
            without training captions.
        signatures: What mBLEU and Self-CIDEr depend on.
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
    """Measure how much the captions of each image differ.

    The similarity of two captions, for Self-CIDEr, is `CIDEr-D` in its authors' code; `CIDEr`, here without
    stems, is a cosine, as in the code of Luo and Shakhnarovich.

    Args:
        captions: Several captions of each image.
        options: The number of captions of each image, and the similarity of two.
        training: The captions that a system was trained on, for `novel`.
        frequencies: The document frequencies of Self-CIDEr, of words as they are; by default those of
            `captions`.
        tokenizer: How to tokenize; the reference's way by default.

    Raises:
        MismatchError: An image has fewer than two captions, or fewer than wanted.
    """
    taken = int(captions.counts.min()) if options.captions is None else options.captions
    least = max(taken, 2)
    poor = np.flatnonzero(captions.counts < least)
    if poor.size:
        images = [captions.image_ids[position] for position in poor.tolist()]
        raise MismatchError(f"every image must have {least} captions; {first_few(images)} given fewer")
    groups = _tokens(captions, taken, tokenizer)
    if frequencies is None:
        corpus = TokenizedReferences(References(dict(enumerate(groups))), _TOKENS)
        frequencies = DocumentFrequencies.of(corpus, name="captions")
    metric: Metric = (
        CiderD(frequencies=frequencies)
        if options.similarity == "CIDEr-D"
        else Cider(frequencies=frequencies, stem=False)
    )
    matrices, self_cider_signature = _similarities(groups, metric)
    mbleu, image_mbleu, mbleu_signature = _mutual_bleu(groups)
    everything = [text for group in groups for text in group]
    return ImageDiversity(
        image_ids=captions.image_ids,
        captions=taken,
        div=np.array([[_div(group, order) for order in ORDERS] for group in groups]),
        mbleu=mbleu,
        image_mbleu=image_mbleu,
        self_cider=_self_cider(matrices),
        words=len({word for text in everything for word in text.split()}),
        distinct=len(set(everything)) / len(everything),
        novel=None if training is None else _novel(everything, training, tokenizer),
        signatures={"mBLEU": mbleu_signature, "Self-CIDEr": self_cider_signature},
    )


def _tokens(captions: References, count: int, tokenizer: Tokenizer | None) -> list[list[str]]:
    """The first captions of each image, as tokens joined by single spaces."""
    texts = [text for group in captions.values() for text in group[:count]]
    joined = [" ".join(tokens) for tokens in tokenize(texts, tokenizer)]
    return [joined[start : start + count] for start in range(0, len(joined), count)]


def _div(group: Sequence[str], order: int) -> float:
    """Different n-grams of an image's captions, per word."""
    rows = [text.split() for text in group]
    ngrams = {
        tuple(words[start : start + order]) for words in rows for start in range(len(words) - order + 1)
    }
    return len(ngrams) / (_SMALL + sum(map(len, rows)))


def _mutual_bleu(groups: Sequence[Sequence[str]]) -> tuple[FloatArray, FloatArray, Signature]:
    """BLEU of the captions at each place against the others of their images, averaged over places."""
    corpus, images = [], []
    for place in range(len(groups[0])):
        others = {image: [*group[:place], *group[place + 1 :]] for image, group in enumerate(groups)}
        prepared = Bleu(orders=ORDERS).prepare(others, tokenizer=_TOKENS)
        scores = prepared.score({image: group[place] for image, group in enumerate(groups)})
        corpus.append([scores.corpus[name] for name in scores.names])
        images.append(np.column_stack([scores.per_image[name] for name in scores.names]))
    return np.mean(corpus, axis=0), np.mean(images, axis=0), prepared.signature()


def _similarities(groups: Sequence[Sequence[str]], metric: Metric) -> tuple[FloatArray, Signature]:
    """The similarity of each caption, as a candidate, to each caption of its image, as its one reference.

    Returns:
        Images by candidates by references, and the metric's signature.
    """
    count = len(groups[0])
    # Each caption is an image with one reference, whose candidates are all captions of its true image.
    references = {
        image * count + place: [text]
        for image, group in enumerate(groups)
        for place, text in enumerate(group)
    }
    candidates = {key: groups[key // count] for key in references}
    prepared = metric.prepare(references, tokenizer=_TOKENS)
    scores = prepared.score(Candidates(candidates))
    table = scores.per_image[metric.names[0]].reshape(len(groups), count, count)
    return np.swapaxes(table, 1, 2), prepared.signature()


def _self_cider(matrices: FloatArray) -> FloatArray:
    """How even the singular values of the similarities are, as a logarithm of base the number of captions."""
    # The two orders of a pair can differ in CIDEr-D: the published code has the earlier caption as candidate.
    upper = np.triu(matrices)
    symmetric = upper + np.swapaxes(np.triu(matrices, 1), 1, 2)
    roots = np.sqrt(np.linalg.svd(symmetric, compute_uv=False))
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = roots.max(axis=1) / roots.sum(axis=1)
        values: FloatArray = -np.log(largest) / np.log(matrices.shape[1])
    return np.abs(values)


def _novel(texts: Sequence[str], training: References, tokenizer: Tokenizer | None) -> float:
    """Different captions that are not among the training captions, per caption."""
    known = tokenize([text for group in training.values() for text in group], tokenizer)
    return len(set(texts).difference(" ".join(tokens) for tokens in known)) / len(texts)
