"""Module for Hugging Face's `evaluate`; pass this folder to `evaluate.load`."""

from __future__ import annotations

import datasets
import evaluate

from capeval.data.citations import get_bibtex
from capeval.metrics import DEFAULT, Metric
from capeval.scoring.evaluator import evaluate as scored
from capeval.tokenizers import Tokenizer

__all__ = ["CapevalScores"]

_DESCRIPTION = """
Image captioning metrics of the COCO Captions server: BLEU, METEOR, ROUGE-L, CIDEr-D, SPICE and others. The
scores equal pycocoevalcap's, without Java.
"""

_INPUTS = """
Args:
    predictions: a list of captions, one per image.
    references: a list of lists of captions, the references of each image.
    metrics: names of metrics, or metric objects such as `capeval.Bleu()`; by default the metrics of the COCO
        server.
    tokenizer: a `capeval.Tokenizer`; the reference's by default.
Returns:
    The corpus scores by name, and `signatures`, the signature of each metric.
"""


class CapevalScores(evaluate.Metric):  # type: ignore[misc]
    """Scores of a list of captions, with the document frequencies of its references."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=get_bibtex(["chen2015captions"]),
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": text, "references": datasets.Sequence(text)}),
        )

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str]],
        metrics: list[str | Metric] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> dict[str, float | dict[str, str]]:
        chosen = DEFAULT if metrics is None else metrics
        report = scored(
            dict(enumerate(references)), dict(enumerate(predictions)), chosen, tokenizer=tokenizer
        )
        signatures = {name: str(signature) for name, signature in report.signatures.items()}
        return {**report.corpus, "signatures": signatures}
