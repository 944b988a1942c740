"""capeval as a module of Hugging Face's `evaluate`, loaded offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capeval
from capeval.errors import CaptionError, OptionError
from capeval.integrations import EVALUATE_MODULE
from tests.training.data import METRICS, captions

REFERENCES, CANDIDATES = captions(12, seed=2)
EXPECTED = capeval.evaluate(
    {place: REFERENCES[image] for place, image in enumerate(CANDIDATES)},
    dict(enumerate(CANDIDATES.values())),
    METRICS,
)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with no network and with an empty cache."""
    import evaluate
    from evaluate import config

    assert config.HF_EVALUATE_OFFLINE
    return evaluate.load(EVALUATE_MODULE, cache_dir=str(tmp_path / "cache"))


def test_scores_and_signatures(loaded: Any) -> None:
    found = loaded.compute(
        predictions=list(CANDIDATES.values()),
        references=[REFERENCES[image] for image in CANDIDATES],
        metrics=list(METRICS),
    )
    signatures = found.pop("signatures")
    assert found == dict(EXPECTED.corpus)
    assert signatures == {name: str(signature) for name, signature in EXPECTED.signatures.items()}


def test_batches_add_up(loaded: Any) -> None:
    images = list(CANDIDATES)
    for start in range(0, len(images), 5):
        some = images[start : start + 5]
        loaded.add_batch(
            predictions=[CANDIDATES[image] for image in some],
            references=[REFERENCES[image] for image in some],
        )
    found = loaded.compute(metrics=list(METRICS))
    assert {name: found[name] for name in EXPECTED.corpus} == dict(EXPECTED.corpus)


def test_captions_are_kept_as_they_are(loaded: Any) -> None:
    found = loaded.compute(
        predictions=["一只狗"],
        references=[["一只狗", "狗\n“a”"]],
        metrics=[capeval.RougeL()],
        tokenizer=capeval.Tokenizer(function=_characters, name="characters"),
    )
    assert found["ROUGE-L"] == 1
    assert "tokenizer=function:characters" in found["signatures"]["ROUGE-L"]


def _characters(caption: str) -> list[str]:
    return [character for character in caption if not character.isspace()]


def test_the_default_metrics_are_those_of_coco(loaded: Any) -> None:
    assert capeval.metrics.DEFAULT == ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
    assert "by default the metrics of the COCO" in loaded.inputs_description


def test_errors_are_those_of_capeval(loaded: Any) -> None:
    with pytest.raises(OptionError, match="unknown metric"):
        loaded.compute(predictions=["a"], references=[["a"]], metrics=["CIDEr-X"])
    with pytest.raises(CaptionError, match="image 0"):
        loaded.compute(predictions=["a"], references=[[]], metrics=["BLEU"])
