"""Word classes from the part-of-speech tags of SPICE's parser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from capeval._internal.random import make_named_generator
from capeval.data.captions import References, ReferencesLike
from capeval.metrics.spice_parsing import analyze_sentences
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = ["tag_words"]

# Longer captions are not tagged, because parsing takes time that grows with the cube of the length.
_LONGEST = 40
_CLASSES = {"NN": "noun", "VB": "verb", "JJ": "adjective"}


def tag_words(
    captions: ReferencesLike,
    words: Sequence[str],
    *,
    seed: int,
    examples: int = 10,
    tokenizer: Tokenizer | None = None,
) -> dict[str, str]:
    """Return the class of each word, by its most frequent tag in captions.

    SPICE's parser tags captions of at most 40 words, drawn at random until each word has enough tags. Nouns,
    verbs and adjectives are the Penn Treebank tags that start with NN, VB and JJ. A word whose most frequent
    tag is of another class, such as an adverb or a number, has no class. Of equally frequent classes, the
    first in the order noun, verb, adjective, none counts.

    Args:
        captions: The captions of each image.
        words: The words, as the tokenizer returns them.
        seed: The seed of the order in which captions are drawn.
        examples: The number of captions per word to tag, or all captions with the word if there are fewer.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Raises:
        ResourceError: SPICE's model was not built yet.
    """
    texts = _choose_captions(TokenizedReferences(References(captions), tokenizer), words, examples, seed)
    wanted = set(words)
    tags: dict[str, Counter[str]] = {word: Counter() for word in words}
    for sentences in analyze_sentences(texts):
        for sentence in sentences:
            for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
                if token.lower() in wanted:
                    tags[token.lower()][_CLASSES.get(tag[:2], "")] += 1
    order = (*_CLASSES.values(), "")
    found = {word: max(order, key=lambda name: seen[name]) for word, seen in tags.items() if seen}
    return {word: name for word, name in found.items() if name}


def _choose_captions(
    tokens: TokenizedReferences, words: Sequence[str], examples: int, seed: int
) -> list[str]:
    """Return captions in random order that have a word with too few examples so far."""
    texts = [text for position in range(len(tokens)) for text in tokens.native.of(position)]
    missing = dict.fromkeys(words, examples)
    chosen = []
    for place in make_named_generator(seed, "tagging").permutation(len(texts)).tolist():
        words_of_text = texts[place].split()
        found = [word for word in set(words_of_text) if missing.get(word)]
        if found and len(words_of_text) <= _LONGEST:
            chosen.append(texts[place])
            for word in found:
                missing[word] -= 1
    return chosen
