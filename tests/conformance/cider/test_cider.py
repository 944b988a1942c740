"""CIDEr-D equals pycocoevalcap's, which calls it CIDEr."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from capeval import CiderD
from tests.conformance import reference
from tests.properties.strategies import Corpus, corpora
from tests.twins.scoring import Score, native, twin


@pytest.mark.parametrize("score", [native, twin])
@pytest.mark.parametrize("sigma", [6.0, 2.0])
def test_goldens(score: Score, sigma: float) -> None:
    golden = reference.golden(Path(__file__).parent)
    scored = score(CiderD(sigma=sigma), golden["references"], golden["candidates"])
    expected = golden["scores"][f"sigma {sigma}"]
    assert scored.corpus == pytest.approx(expected["corpus"], rel=1e-12, abs=0)
    assert scored.per_image[0] == pytest.approx(expected["per_image"][0], rel=1e-12, abs=1e-15)


@given(corpus=corpora(), sigma=st.sampled_from([1.0, 6.0]))
def test_generated_captions(corpus: Corpus, sigma: float) -> None:
    # The reference stops with an error if no reference has a word.
    assume(any(text.split() for group in corpus.references for text in group))
    ours = native(CiderD(sigma=sigma), corpus.references, corpus.candidates)
    theirs = reference.cider_d(corpus.references, corpus.candidates, sigma)
    assert ours.corpus == pytest.approx(theirs.corpus, rel=1e-12, abs=1e-15)
    assert ours.per_image[0] == pytest.approx(theirs.per_image[0], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("references", "candidates", "scores"),
    [
        # A single image: every n-gram is in all of the images, and weighs ln(1 / 1) = 0.
        ([["a dog runs far"]], ["a dog runs far"], [0]),
        # A candidate of one word has no bigram; the length of both is 0 bigrams. 10 * 1 / 4.
        ([["dog"], ["cat"]], ["dog", "dog"], [2.5, 0]),
        # An empty candidate, or an empty reference, has no n-gram to share.
        ([["a dog"], ["", "a cat"]], ["", ""], [0, 0]),
        # A no-break space splits words here.
        ([["25\u00a01/2"], ["a dog"]], ["25 1/2", "a dog"], [5, 5]),
    ],
)
def test_quirks(references: list[list[str]], candidates: list[str], scores: list[float]) -> None:
    expected = pytest.approx(scores, abs=1e-12)
    assert native(CiderD(), references, candidates).per_image == [expected]
    assert reference.cider_d(references, candidates).per_image == [expected]


def test_no_reference_has_a_word() -> None:
    assert native(CiderD(), [[""], [""]], ["a dog", ""]).per_image == [[0, 0]]
    with pytest.raises(ValueError, match="empty"):
        reference.cider_d([[""], [""]], ["a dog", ""])


def test_shorter_ngrams_alone() -> None:
    # The reference counts n-grams of four words for any n, and stops at the first beyond n.
    references, candidates = [["a dog runs far"], ["a cat"]], ["dog", "cat"]
    with pytest.raises(IndexError):
        reference.cider_d(references, candidates, n=2)
    parts = [native(CiderD(order=order), references, candidates).corpus[0] for order in (1, 2)]
    assert native(CiderD(n=2), references, candidates).corpus == [pytest.approx(sum(parts) / 2, rel=1e-12)]
