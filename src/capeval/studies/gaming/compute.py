"""Attacks on metrics by captions not meant for people (CIDEr paper, section 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from capeval.data.captions import Candidates, ImageId, References
from capeval.data.held_out import hold_out
from capeval.data.scores import FloatArray
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.meteor import Meteor
from capeval.metrics.rouge import RougeL, RougeN
from capeval.studies.gaming.options import GamingOptions
from capeval.studies.shared.words import (
    WORDS,
    ComparedMetric,
    add_document_frequencies,
    stem_texts,
    tokenize_texts,
    validate_contenders,
)
from capeval.tokenizers import Tokenizer

__all__ = [
    "ATTACKS",
    "GAMED_METRICS",
    "Attack",
    "Gamed",
    "GamingOptions",
    "ReferenceCorpus",
    "game",
    "study_gaming",
]

# Smaller differences are ignored: BLEU of a caption without a match can be this far from 0.
_TOLERANCE = 1e-3

GAMED_METRICS = (
    ComparedMetric(metric=Bleu(orders=(1, 4))),
    ComparedMetric(metric=Meteor()),
    ComparedMetric(metric=RougeL()),
    ComparedMetric(metric=RougeN(n=1)),
    ComparedMetric(metric=Cider2015()),
    ComparedMetric(metric=CiderD()),
)
"""The metrics of the COCO server, ROUGE-1, and CIDEr, which has neither clipping nor a length penalty."""


class ReferenceCorpus:
    """N-grams of all references: common phrases, and phrases shared within an image.

    Args:
        references: The words of each image's references.

    Example:
        >>> from capeval.studies.gaming import ReferenceCorpus
        >>> corpus = ReferenceCorpus({1: ["a dog runs", "a brown dog"], 2: ["a cat sleeps"]})
        >>> corpus.rarity(("a",)), round(corpus.rarity(("dog",)), 3)  # log(2 / 2) and log(2 / 1)
        (0.0, 0.693)
        >>> corpus.agreed(1, 1)[0]  # Both references of image 1 contain it.
        ('dog',)
    """

    def __init__(self, references: Mapping[ImageId, Sequence[str]]) -> None:
        self.references = references
        self.images = len(references)
        lengths = [len(text.split()) for texts in references.values() for text in texts]
        self.length = max(1, round(float(np.mean(lengths))))
        self._frequencies = Counter(
            gram
            for texts in references.values()
            for gram in {gram for text in texts for n in (1, 4) for gram in _list_ngrams(text.split(), n)}
        )
        ordered = sorted(self._frequencies, key=lambda gram: (-self._frequencies[gram], gram))
        self.words = [gram[0] for gram in ordered if len(gram) == 1]
        self.phrases = [gram for gram in ordered if len(gram) == 4]

    def rarity(self, gram: tuple[str, ...]) -> float:
        """Return the log of the number of images over the document frequency."""
        return float(np.log(self.images / max(1, self._frequencies[gram])))

    def agreed(self, image: ImageId, n: int) -> list[tuple[str, ...]]:
        """Return the n-grams of an image's references, by descending weight.

        The weight of an n-gram is the number of the image's references that contain it, times its rarity, as
        in CIDEr.
        """
        references_with = Counter(
            gram for text in self.references[image] for gram in set(_list_ngrams(text.split(), n))
        )
        return sorted(references_with, key=lambda gram: (-references_with[gram] * self.rarity(gram), gram))


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Way to make captions for a metric.

    Attributes:
        name: A short description.
        knows: The required knowledge: the honest `caption`, the `corpus` of all references, or the image's
            own `references`, which shows the potential of a model that is certain of its words.
        make: Function of the corpus, an image and the words of its honest caption that returns the words of
            the gamed caption.
    """

    name: str
    knows: str
    make: Callable[[ReferenceCorpus, ImageId, list[str]], list[str]]


def _list_ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def _repeat(part: Sequence[str], length: int) -> list[str]:
    """Repeat a sequence up to a length."""
    return [part[i % len(part)] for i in range(length)] if part else []


def _repeat_caption(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    return [*words, *words]


def _repeat_rarest(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    rarest = max(words, key=lambda word: (corpus.rarity((word,)), word), default="")
    return [*words, *_repeat([rarest] if rarest else [], corpus.length)]


def _pad(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    return [*words, *_repeat(corpus.words[:5], corpus.length)]


def _stuff(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    return [*words, *(word for phrase in corpus.phrases[:3] for word in phrase)]


def _use_common_phrases(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    return [word for phrase in corpus.phrases[:3] for word in phrase][: corpus.length] or corpus.words[:1]


def _use_sure_words(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    return [gram[0] for gram in corpus.agreed(image, 1)[:3]]


def _repeat_sure_words(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:
    return _repeat(_use_sure_words(corpus, image, words), corpus.length)


def _repeat_sure_words_long(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:
    return _repeat(_use_sure_words(corpus, image, words), 4 * corpus.length)


def _repeat_sure_phrase(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    phrases = corpus.agreed(image, 4)
    return _repeat(phrases[0] if phrases else (), corpus.length)


def _use_sure_phrases(corpus: ReferenceCorpus, image: ImageId, words: list[str]) -> list[str]:  # noqa: ARG001
    return [word for phrase in corpus.agreed(image, 4)[:8] for word in phrase]


ATTACKS = (
    Attack(name="caption twice", knows="caption", make=_repeat_caption),
    Attack(name="caption, then its rarest word repeated", knows="corpus", make=_repeat_rarest),
    Attack(name="padded with common words", knows="corpus", make=_pad),
    Attack(name="stuffed with common 4-grams", knows="corpus", make=_stuff),
    Attack(name="common 4-grams only (ignores the image)", knows="corpus", make=_use_common_phrases),
    Attack(name="3 sure words", knows="references", make=_use_sure_words),
    Attack(name="3 sure words, repeated to usual length", knows="references", make=_repeat_sure_words),
    Attack(
        name="3 sure words, repeated to 4x usual length", knows="references", make=_repeat_sure_words_long
    ),
    Attack(name="sure 4-gram, repeated to usual length", knows="references", make=_repeat_sure_phrase),
    Attack(name="8 sure 4-grams, one after the other", knows="references", make=_use_sure_phrases),
)
"""Repeated sure words, padding, stuffing, and captions that ignore the image."""


@dataclass(frozen=True, kw_only=True)
class Gamed:
    """Effect of an attack on each metric.

    Attributes:
        attack: The attack; `None` for the honest captions.
        scores: The corpus score of each metric.
        better: For each metric, the share of images with a gamed caption that scores above the honest one.
        example: The gamed caption of the first image.
    """

    attack: Attack | None
    scores: Mapping[str, float]
    better: Mapping[str, float]
    example: str

    @property
    def name(self) -> str:
        """The name of the attack, or "honest captions"."""
        return "honest captions" if self.attack is None else self.attack.name


def game(
    references: References,
    honest: Candidates,
    contenders: Sequence[ComparedMetric] = GAMED_METRICS,
    attacks: Sequence[Attack] = ATTACKS,
    *,
    tokenizer: Tokenizer | None = None,
) -> tuple[Gamed, ...]:
    """Score captions before and after each attack.

    Args:
        references: The references of each image.
        honest: The honest caption of each image.
        contenders: The metrics.
        attacks: The attacks.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Returns:
        The honest captions first, then each attack.

    Raises:
        MismatchError: The images differ, or an image has several honest captions.
        OptionError: Two contenders have scores of the same name, or there are no attacks.
        DependencyError: Stems are required and snowballstemmer is not installed.

    Example:
        >>> from capeval import Candidates, References
        >>> from capeval.studies.gaming import ATTACKS, game
        >>> references = References({1: ["a dog runs on grass"], 2: ["two cats sleep on a bed"]})
        >>> honest = Candidates({1: "a dog", 2: "two cats"})
        >>> results = game(references, honest, attacks=ATTACKS[:1])
        >>> [(each.name, each.example, round(each.scores["BLEU-1"], 3)) for each in results]
        [('honest captions', 'a dog', 0.174), ('caption twice', 'a dog a dog', 0.344)]
    """
    validate_contenders(contenders)
    if not attacks:
        raise OptionError("at least one attack is required (got none)")
    wrong = [image for image in references if len(honest.get(image, ())) != 1]
    if wrong or len(honest) != len(references):
        images = wrong or [image for image in honest if image not in references]
        raise MismatchError(f"{format_images(images)} without references or without exactly one caption")
    texts = [text for group in (*references.values(), *honest.values()) for text in group]
    tokenized = tokenize_texts(texts, tokenizer or Tokenizer())
    words = {image: [tokenized[text] for text in group] for image, group in references.items()}
    corpus = ReferenceCorpus(words)
    start = {image: tokenized[honest[image][0]] for image in references}
    captions = [start]
    for attack in attacks:
        gamed_captions = {
            image: " ".join(attack.make(corpus, image, text.split())) for image, text in start.items()
        }
        captions.append(gamed_captions)
    scored = _score_captions(words, captions, contenders)
    return tuple(
        Gamed(
            attack=attack,
            scores={name: corpus_score for name, (corpus_score, _) in scores.items()},
            better={
                name: float((each > scored[0][name][1] + _TOLERANCE).mean())
                for name, (_, each) in scores.items()
            },
            example=next(iter(gamed_captions.values())),
        )
        for attack, scores, gamed_captions in zip((None, *attacks), scored, captions, strict=True)
    )


def study_gaming(
    references: References,
    honest: Candidates | None = None,
    options: GamingOptions = GamingOptions(),  # noqa: B008 - it is immutable.
) -> tuple[Gamed, ...]:
    """Game the metrics of `GAMED_METRICS` with all attacks, on the first images.

    Args:
        references: The references of each image.
        honest: Honest captions; by default one held-out reference of each image.
        options: The number of images, and the seed for drawing references as honest captions.

    Raises:
        MismatchError: The images differ, or an image has too few captions.

    Example:
        >>> from capeval import load_references
        >>> from capeval.studies.gaming import study_gaming
        >>> honest, *attacked = study_gaming(load_references("references.json"))
        >>> attacked[-1].name, attacked[-1].example
        ('8 sure 4-grams, one after the other', 'a dog runs on dog runs on the runs on the grass')
        >>> round(honest.scores["CIDEr-2015"], 3), round(attacked[-1].scores["CIDEr-2015"], 3)
        (0.215, 0.817)
    """
    references = references.select(references.image_ids[: options.images])
    if honest is None:
        references, honest = hold_out(references, seed=options.seed)
    else:
        honest = honest.select(references.image_ids)
    return game(references, honest)


def _score_captions(
    references: Mapping[ImageId, Sequence[str]],
    captions: Sequence[Mapping[ImageId, str]],
    contenders: Sequence[ComparedMetric],
) -> list[dict[str, tuple[float, FloatArray]]]:
    """Return corpus and image scores by metric, for each set of captions."""
    scored: list[dict[str, tuple[float, FloatArray]]] = [{} for _ in captions]
    stems: dict[str, str] = {}
    if any(contender.stem for contender in contenders):
        stems = stem_texts(
            [text for group in references.values() for text in group]
            + [text for group in captions for text in group.values()]
        )
    for contender in contenders:
        form = (lambda text: stems[text]) if contender.stem else str
        words = {image: [form(text) for text in group] for image, group in references.items()}
        metric = add_document_frequencies(contender.metric, words, "references")
        prepared = metric.prepare(References(words), tokenizer=WORDS)
        for place, group in enumerate(captions):
            scores = prepared.score(Candidates({image: form(text) for image, text in group.items()}))
            for name, own_name in zip(contender.names, metric.names, strict=True):
                scored[place][name] = (scores.corpus[own_name], scores.per_image[own_name])
    return scored
