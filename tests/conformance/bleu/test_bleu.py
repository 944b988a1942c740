"""BLEU equals pycocoevalcap's."""

from pathlib import Path

import pytest
from hypothesis import given

from capeval import Bleu
from tests.conformance import reference
from tests.properties.strategies import Corpus, corpora
from tests.twins.scoring import Score, native, twin

BREVITIES = ["closest", "shortest", "average"]


@pytest.mark.parametrize("score", [native, twin])
@pytest.mark.parametrize("brevity", BREVITIES)
def test_goldens(score: Score, brevity: str) -> None:
    golden = reference.golden(Path(__file__).parent)
    scored = score(Bleu(brevity=brevity), golden["references"], golden["candidates"])  # type: ignore[arg-type]
    expected = golden["scores"][brevity]
    assert scored.corpus == pytest.approx(expected["corpus"], rel=1e-12, abs=0)
    for ours, theirs in zip(scored.per_image, expected["per_image"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=0)


@pytest.mark.parametrize("brevity", BREVITIES)
@given(corpus=corpora())
def test_generated_captions(brevity: str, corpus: Corpus) -> None:
    ours = native(Bleu(brevity=brevity), corpus.references, corpus.candidates)  # type: ignore[arg-type]
    theirs = reference.bleu(corpus.references, corpus.candidates, brevity)
    assert ours.corpus == pytest.approx(theirs.corpus, rel=1e-12, abs=1e-15)
    for mine, other in zip(ours.per_image, theirs.per_image, strict=True):
        assert mine == pytest.approx(other, rel=1e-12, abs=1e-15)


def test_empty_captions() -> None:
    # No word at all: a hit rate of 1e-15 / 1e-9 and a penalty that underflows to 0.
    empty = native(Bleu(), [["a dog"]], [""])
    assert empty.corpus == reference.bleu([["a dog"]], [""]).corpus == [0, 0, 0, 0]
    # Against empty references the ratio of lengths is 1e-15 / 1e-9 too.
    assert native(Bleu(), [[""]], [""]).corpus == reference.bleu([[""]], [""]).corpus
