"""Word prediction agreement (Chen et al. 2015, section 4.2, Table II, Figure 3).

People tag an image with the words of their captions. One person's words are measured against the words of k
others. An image for which nobody else used the word has weight 1, and any other image has the number of
captions with the word as its weight. The paper draws the person and the k others once; here all numbers are
exact expectations over all such draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capeval.data.captions import Candidates, ReferencesLike
from capeval.formats.word_classes import load_word_classes
from capeval.studies.words.agreement import (
    ClassMeans,
    WordAgreement,
    class_means,
    human_agreement,
    model_precision,
)
from capeval.studies.words.counts import WordCounts, word_counts
from capeval.studies.words.intervals import WordResamples, resample_words
from capeval.studies.words.options import WordsOptions
from capeval.studies.words.system_words import (
    SystemAgreement,
    SystemMeans,
    WordScores,
    precision_at_recall,
    system_means,
)

__all__ = [
    "ClassMeans",
    "SystemAgreement",
    "SystemMeans",
    "WordAgreement",
    "WordCounts",
    "WordScores",
    "WordStudy",
    "WordsOptions",
    "class_means",
    "coco_word_classes",
    "human_agreement",
    "model_precision",
    "precision_at_recall",
    "study_words",
    "system_means",
    "word_counts",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordStudy:
    """Agreement of people on words, and of systems with people.

    Attributes:
        people: The human agreement with 1, 2, ... references.
        classes: The class of each classified word.
        systems: The agreement of each system with the most references.
        resamples: The bootstrap resamples of all of these.
        level: The confidence level of intervals.
    """

    people: tuple[WordAgreement, ...]
    classes: Mapping[str, str]
    systems: Mapping[str, SystemAgreement]
    resamples: WordResamples
    level: float


def study_words(
    captions: ReferencesLike,
    classes: Mapping[str, str] | Callable[[Sequence[str]], Mapping[str, str]],
    options: WordsOptions = WordsOptions(),  # noqa: B008 - it is immutable.
    *,
    systems: Mapping[str, Candidates | WordScores] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> WordStudy:
    """Measure human agreement with 1 to N others on frequent words, and that of systems.

    Args:
        captions: The captions of each image.
        classes: The classes of words, or a function that returns the classes of given words; words without a
            class are absent.
        options: The number of words, N, and the options of the intervals.
        systems: The captions, or the scores by word and image, of each system by name.
        progress: Called with a description of the next step, N + 3 times.

    Raises:
        MismatchError: An image has too few captions, or a system does not match the captions.

    Example:
        >>> from capeval.studies.words import WordsOptions, study_words
        >>> captions = {1: ["A dog runs.", "A brown dog."], 2: ["A dog and a cat.", "A cat sleeps."]}
        >>> study = study_words(captions, {"dog": "noun", "cat": "noun"}, WordsOptions(words=3, references=1))
        >>> [people] = study.people
        >>> dict(zip(people.words, people.recall.round(3).tolist()))
        {'a': 1.0, 'dog': 0.667, 'cat': 1.0}
    """
    progress("Counting words")
    counts = word_counts(captions, options.words)
    progress("Classifying words")
    known = classes(counts.words) if callable(classes) else classes
    references = range(1, options.references + 1)
    people = []
    for k in references:
        progress(f"Agreement with {k} references")
        people.append(human_agreement(counts, k))
    recall = dict(zip(people[-1].words, people[-1].recall.tolist(), strict=True))
    measured = {
        name: precision_at_recall(counts, system, recall, options.references)
        for name, system in (systems or {}).items()
    }
    progress("Resampling images")
    resamples = resample_words(
        counts,
        references,
        {name: system.rankings for name, system in measured.items()},
        samples=options.samples,
        seed=options.seed,
    )
    return WordStudy(
        people=tuple(people), classes=known, systems=measured, resamples=resamples, level=options.level
    )


def coco_word_classes() -> dict[str, str]:
    """Return the classes of COCO's most frequent words.

    Classes are `noun`, `verb` or `adjective`, by WordNet 3.0's tag counts.

    Example:
        >>> from capeval.studies.words import coco_word_classes
        >>> classes = coco_word_classes()
        >>> classes["dog"], classes["riding"], classes["red"], "a" in classes
        ('noun', 'verb', 'adjective', False)
    """
    return load_word_classes(Path(__file__).with_name("word_classes.tsv"))
