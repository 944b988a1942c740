"""All of COCO's val2014, one held-out human caption of each image as candidate."""

import pytest

from capeval import Evaluator, References, Tokenizer, tokenize
from capeval.data.captions import Candidates
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from tests.conformance import reference

# METEOR is compared in `tests/conformance/meteor`.
METRICS = ("BLEU", "ROUGE-L", "CIDEr-D")

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def captions() -> tuple[References, Candidates]:
    return hold_out(coco.load_captions("val2014"), seed=0)


@pytest.fixture(scope="module")
def tokens(captions: tuple[References, Candidates]) -> tuple[dict[int | str, list[str]], list[str]]:
    references, candidates = captions
    lines = iter(tokenize([text for group in references.values() for text in group]))
    groups = {image: [" ".join(next(lines)) for _ in group] for image, group in references.items()}
    assert list(candidates) == list(groups)
    return groups, [" ".join(line) for line in tokenize([group[0] for group in candidates.values()])]


def test_scores_equal_the_reference(tokens: tuple[dict[int | str, list[str]], list[str]]) -> None:
    groups, texts = tokens
    assert len(groups) == 40_504
    candidates = dict(zip(groups, texts, strict=True))
    report = Evaluator(groups, METRICS, tokenizer=Tokenizer(kind="none")).evaluate(candidates)
    references = list(groups.values())
    expected = {
        ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"): reference.bleu(references, texts),
        ("ROUGE-L",): reference.rouge_l(references, texts),
        ("CIDEr-D",): reference.cider_d(references, texts),
    }
    assert {name for names in expected for name in names} == set(report.corpus)
    for names, scored in expected.items():
        for name, corpus, per_image in zip(names, scored.corpus, scored.per_image, strict=True):
            assert report.corpus[name] == pytest.approx(corpus, rel=1e-12, abs=0), name
            differences = abs(report.per_image[name] - per_image)
            assert differences.max() <= 1e-9, name


def test_tokens_and_captions_score_alike(
    captions: tuple[References, Candidates], tokens: tuple[dict[int | str, list[str]], list[str]]
) -> None:
    references, candidates = captions
    groups, texts = tokens
    metrics = (*METRICS, "METEOR")
    from_captions = Evaluator(references, metrics).evaluate(candidates)
    from_tokens = Evaluator(groups, metrics, tokenizer=Tokenizer(kind="none")).evaluate(
        dict(zip(groups, texts, strict=True))
    )
    assert from_captions.corpus == from_tokens.corpus
