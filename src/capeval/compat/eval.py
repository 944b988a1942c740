"""The evaluation of a pair of pycocotools `COCO` objects under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from capeval.compat.spice.spice import Spice, category_scores, mean_f
from capeval.compat.tokenizer.ptbtokenizer import captions_of
from capeval.evaluation import Report, evaluate
from capeval.metrics import Metric
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import CiderD
from capeval.metrics.meteor import Meteor
from capeval.metrics.rouge import RougeL
from capeval.resources.parses import ParseStore
from capeval.types import Candidates, ImageId, References

__all__ = ["COCOEvalCap"]

# pycocoevalcap's keys of each score, in its order, and the type that it gives the numbers.
_KEYS: dict[str, tuple[str, type[float]]] = {
    "BLEU-1": ("Bleu_1", float),
    "BLEU-2": ("Bleu_2", float),
    "BLEU-3": ("Bleu_3", float),
    "BLEU-4": ("Bleu_4", float),
    "METEOR": ("METEOR", float),
    "ROUGE-L": ("ROUGE_L", np.float64),
    "CIDEr-D": ("CIDEr", np.float64),
}


class _Coco(Protocol):
    """The part of `pycocotools.coco.COCO` that is used."""

    @property
    def imgToAnns(self) -> Mapping[Any, Sequence[Mapping[str, Any]]]:  # noqa: N802
        """The annotations of each image."""

    def getImgIds(self) -> Iterable[ImageId]:  # noqa: N802
        """The ids of the images."""


class COCOEvalCap:
    """BLEU-1 to BLEU-4, METEOR, ROUGE-L, CIDEr-D and SPICE of results in COCO's format.

    Nothing is printed; the scores are in the attributes.

    Attributes:
        params: `params["image_id"]` holds the images to score: all, unless it is changed.
        eval: The corpus scores, by pycocoevalcap's keys, after `evaluate`.
        imgToEval: The scores of each image, with its `image_id`.
        evalImgs: The same as a list.

    Args:
        coco: The references, a `pycocotools.coco.COCO`.
        cocoRes: The results, as its `loadRes` returns them.
        spice: Whether to score with SPICE too, which needs its model.
        store: Where SPICE's parses are kept between runs; nowhere by default.
    """

    def __init__(
        self,
        coco: _Coco,
        cocoRes: _Coco,  # noqa: N803
        *,
        spice: bool = True,
        store: ParseStore | None = None,
    ) -> None:
        self.evalImgs: list[dict[str, Any]] = []
        self.eval: dict[str, float] = {}
        self.imgToEval: dict[ImageId, dict[str, Any]] = {}
        self.coco = coco
        self.cocoRes = cocoRes
        self.params: dict[str, Any] = {"image_id": coco.getImgIds()}
        self._spice = Spice(store=store) if spice else None

    def evaluate(self) -> None:
        """Tokenises, scores, and fills `eval`, `imgToEval` and `evalImgs`.

        Raises:
            CaptionError: An annotation has no caption, or it is not a string.
            MismatchError: An image has references and no result or several, or a result and no
                references.
            ResourceError: METEOR's word tables or SPICE's model are missing or damaged; the message says
                what to run. Without SPICE's model, `spice=False` leaves it out.
        """
        images = list(self.params["image_id"])
        references = captions_of({image: self.coco.imgToAnns.get(image, ()) for image in images})
        candidates = captions_of({image: self.cocoRes.imgToAnns.get(image, ()) for image in images})
        metrics: list[Metric] = [Bleu(), Meteor(), RougeL(), CiderD()]
        if self._spice is not None:
            metrics.append(self._spice.metric)
        report = evaluate(References(references), Candidates(candidates), metrics)
        self.eval = {key: kind(report.corpus[name]) for name, (key, kind) in _KEYS.items()}
        self.imgToEval = {image: {"image_id": image} for image in report.image_ids}
        for name, (key, kind) in _KEYS.items():
            for scores, value in zip(self.imgToEval.values(), report.per_image[name].tolist(), strict=True):
                scores[key] = kind(value)
        if self._spice is not None:
            self._add_spice(report)
        self.evalImgs = list(self.imgToEval.values())

    def _add_spice(self, report: Report) -> None:
        by_image = category_scores(report)
        self.eval["SPICE"] = mean_f(by_image.values())
        for image, scores in by_image.items():
            self.imgToEval[image]["SPICE"] = scores
