"""Captions to test with: small vocabularies, so that they have words in common."""

import random
from dataclasses import dataclass

from hypothesis import strategies as st

# Words with a shared stem, a word with a no-break space inside, and one with an accent.
WORDS = ("a", "dog", "dogs", "running", "runs", "the", "horses", "on", "25\u00a01/2", "café")
# Words that only candidates use.
UNSEEN = ("zebra", "fishes", "x\u3000y")


def captions(vocabulary: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Mostly short captions; some are empty, of one word, or far longer than any caption."""
    short = st.lists(st.sampled_from(vocabulary), max_size=12).map(" ".join)
    long = st.builds(
        _long, st.integers(0, 2**32), st.sampled_from([63, 64, 65, 131, 200]), st.just(vocabulary)
    )
    # Two spaces in a row, and one at the end: an empty token for ROUGE-L, nothing for the others.
    odd = st.sampled_from(["", " ", "a", "dog  runs", "a dog ", "a a a a a a", "dog runs dog runs dog runs"])
    return st.one_of(short, short, short, short, odd, long)


def _long(seed: int, length: int, vocabulary: tuple[str, ...]) -> str:
    return " ".join(random.Random(seed).choices(vocabulary, k=length))


def _cut(text: str, words: int) -> str:
    return " ".join(text.split(" ")[:words])


@dataclass(frozen=True)
class Corpus:
    """References and one candidate for each image."""

    references: list[list[str]]
    candidates: list[str]

    def of_words(self, most: int) -> "Corpus":
        """Return the corpus with each caption cut to at most `most` words."""
        references = [[_cut(text, most) for text in group] for group in self.references]
        return Corpus(references, [_cut(text, most) for text in self.candidates])


@st.composite
def corpora(draw: st.DrawFn, max_images: int = 6) -> Corpus:
    """A few images with different numbers of references."""
    count = draw(st.integers(1, max_images))
    references = [draw(st.lists(captions(WORDS), min_size=1, max_size=4)) for _ in range(count)]
    texts = captions(WORDS + UNSEEN)
    # A candidate is often one of the references.
    candidates = [draw(st.one_of(texts, texts, st.sampled_from(group))) for group in references]
    return Corpus(references, candidates)
