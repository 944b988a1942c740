"""ROUGE-L equals pycocoevalcap's."""

from pathlib import Path

import pytest
from hypothesis import given

from capeval import RougeL
from tests.conformance import reference
from tests.properties.strategies import Corpus, corpora
from tests.twins.scoring import Score, native, twin


@pytest.mark.parametrize("score", [native, twin])
def test_goldens(score: Score) -> None:
    golden = reference.golden(Path(__file__).parent)
    scored = score(RougeL(), golden["references"], golden["candidates"])
    expected = golden["scores"]["beta 1.2"]
    assert scored.corpus == pytest.approx(expected["corpus"], rel=1e-12, abs=0)
    assert scored.per_image[0] == pytest.approx(expected["per_image"][0], rel=1e-12, abs=0)


@given(corpus=corpora())
def test_generated_captions(corpus: Corpus) -> None:
    ours = native(RougeL(), corpus.references, corpus.candidates)
    theirs = reference.rouge_l(corpus.references, corpus.candidates)
    assert ours.corpus == pytest.approx(theirs.corpus, rel=1e-12, abs=1e-15)
    assert ours.per_image[0] == pytest.approx(theirs.per_image[0], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("candidate", "references", "score"),
    [
        # An empty caption is one empty word, and equals an empty reference.
        ("", ["a dog"], 0),
        ("", ["", "a dog"], 1),
        # Only single spaces split: a no-break space leaves one word whole.
        ("25\u00a01/2", ["25 1/2"], 0),
        ("25\u00a01/2", ["25\u00a01/2"], 1),
        # Two spaces have an empty word between them.
        ("a  dog", ["a  dog"], 1),
    ],
)
def test_quirks(candidate: str, references: list[str], score: float) -> None:
    assert native(RougeL(), [references], [candidate]).corpus == [score]
    assert reference.rouge_l([references], [candidate]).corpus == [score]


def test_two_spaces_count_as_a_word() -> None:
    # 2 of the 3 words "a", "", "dog" are common, and all words of the reference are.
    precision, recall, beta = 2 / 3, 1, 1.2
    expected = (1 + beta**2) * precision * recall / (recall + beta**2 * precision)
    assert native(RougeL(), [["a dog"]], ["a  dog"]).corpus == [pytest.approx(expected, rel=1e-12)]
    assert reference.rouge_l([["a dog"]], ["a  dog"]).corpus == [pytest.approx(expected, rel=1e-12)]
