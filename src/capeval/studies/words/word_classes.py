"""Sources of word classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from capeval.data.captions import References
from capeval.formats.word_classes import load_word_classes
from capeval.resources.spice import find_model
from capeval.resources.wordnet import classify_words
from capeval.studies.words import coco_word_classes
from capeval.studies.words.options import Tagger
from capeval.studies.words.tagging import tag_words

__all__ = ["choose_word_classes"]


def choose_word_classes(
    captions: References,
    *,
    classes: Path | None = None,
    tagger: Tagger = "auto",
    wordnet: Path | None = None,
    seed: int = 0,
) -> tuple[Mapping[str, str] | Callable[[Sequence[str]], Mapping[str, str]], str]:
    """Return the classes of words, or a function that finds them, and a footnote with their source.

    Args:
        captions: The captions of each image.
        classes: A file with words and classes, instead of a tagger.
        tagger: The tagger.
        wordnet: The folder of WordNet's dictionary.
        seed: The seed of the captions to tag.

    Raises:
        FormatError: A file is invalid.
        OSError: A file can't be read.
    """
    if classes is not None:
        return load_word_classes(classes), f"Word classes: {classes.name}."
    if tagger == "spice" or (tagger == "auto" and wordnet is None and find_model() is not None):
        return (
            lambda words: tag_words(captions, words, seed=seed),
            "Word classes: most frequent tag by SPICE's parser in 10 captions or more.",
        )
    if wordnet is not None:
        return lambda words: classify_words(words, wordnet), "Word classes: WordNet's dictionary."
    return coco_word_classes(), "Word classes: WordNet's, of frequent words in COCO captions."
