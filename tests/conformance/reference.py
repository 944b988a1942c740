"""pycocoevalcap's scorers of tokenized captions, for tests to compare with. They need no Java."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from tests.twins.scoring import Scored

VERSION = version("pycocoevalcap")

References = Sequence[Sequence[str]]


def bleu(references: References, candidates: Sequence[str], brevity: str = "closest") -> Scored:
    scorer = BleuScorer(n=4)
    for candidate, group in zip(candidates, references, strict=True):
        scorer += (candidate, list(group))
    corpus, per_image = scorer.compute_score(option=brevity, verbose=0)
    return Scored(corpus, per_image)


def rouge_l(references: References, candidates: Sequence[str]) -> Scored:
    return _of_images(Rouge(), references, candidates)


def cider_d(references: References, candidates: Sequence[str], sigma: float = 6.0, n: int = 4) -> Scored:
    return _of_images(Cider(n=n, sigma=sigma), references, candidates)


def _of_images(scorer: Any, references: References, candidates: Sequence[str]) -> Scored:
    gts = {image: list(group) for image, group in enumerate(references)}
    res = {image: [candidate] for image, candidate in enumerate(candidates)}
    corpus, per_image = scorer.compute_score(gts, res)
    return Scored([float(corpus)], [per_image.tolist()])


def golden(folder: Path) -> Mapping[str, Any]:
    """The captions and scores of a `golden.json`, which `tests/conformance/goldens.py` writes."""
    content: Mapping[str, Any] = json.loads((folder / "golden.json").read_text(encoding="utf-8"))
    assert content["about"]["tool"] == "pycocoevalcap"
    return content
