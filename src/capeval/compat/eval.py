"""Evaluation of a pair of pycocotools `COCO` objects, under pycocoevalcap's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from capeval.compat.bleu.bleu import Bleu
from capeval.compat.cider.cider import Cider
from capeval.compat.coco_captions import CocoCaptions
from capeval.compat.meteor.meteor import Meteor
from capeval.compat.rouge.rouge import Rouge
from capeval.compat.scoring import score_all
from capeval.compat.spice import spice
from capeval.compat.spice.spice import Spice
from capeval.compat.tokenizer.ptbtokenizer import PTBTokenizer
from capeval.resources.parse_store import ParseStore

__all__ = ["Bleu", "COCOEvalCap", "Cider", "Meteor", "PTBTokenizer", "Rouge", "Spice"]


class COCOEvalCap:
    """The metrics of the COCO server, and SPICE, for results in COCO's format.

    They are BLEU-1 to BLEU-4, METEOR, ROUGE-L, CIDEr-D and SPICE.

    Nothing is printed; the scores are in the attributes. As in pycocoevalcap, `evaluate` looks up the
    tokenizer and the scorers as names of this module, and passes its results to `setEval`, `setImgToEvalImgs`
    and `setEvalImgs`, so scripts can replace all of these.

    Attributes:
        params: `params["image_id"]` contains the images to score; by default all images.
        eval: The corpus scores by pycocoevalcap's keys, after `evaluate`.
        imgToEval: The scores of each image, with its `image_id`.
        evalImgs: The values of `imgToEval` as a list.

    Args:
        coco: The references, a `pycocotools.coco.COCO`.
        cocoRes: The results, as returned by its `loadRes`.
        spice: Whether to also compute SPICE, which requires its model.
        store: The store that caches SPICE's parses between runs; none by default.
        spice_longest: The maximum length of a sentence for SPICE, in tokens; None for SPICE's default.
    """

    def __init__(
        self,
        coco: CocoCaptions,
        cocoRes: CocoCaptions,  # noqa: N803
        *,
        spice: bool = True,
        store: ParseStore | None = None,
        spice_longest: int | None = None,
    ) -> None:
        self.evalImgs: list[dict[str, Any]] = []
        self.eval: dict[str, Any] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.coco = coco
        self.cocoRes = cocoRes
        self.params: dict[str, Any] = {"image_id": coco.getImgIds()}
        self._spice = spice
        self._store = store
        self._spice_longest = spice_longest

    def evaluate(self) -> None:
        """Tokenize and score the captions; fill `eval`, `imgToEval` and `evalImgs`.

        Raises:
            CaptionError: An annotation has no caption, or the caption is not a string.
            MismatchError: An image has references but not exactly one result, or a result but no references.
            ResourceError: METEOR's word tables or SPICE's model are missing or damaged; the message names the
                command to run. `spice=False` excludes SPICE.
        """
        images = list(self.params["image_id"])
        tokenizer = PTBTokenizer()
        gts = tokenizer.tokenize({image: self.coco.imgToAnns.get(image, ()) for image in images})
        res = tokenizer.tokenize({image: self.cocoRes.imgToAnns.get(image, ()) for image in images})
        for (scorer, method), (score, scores) in score_all(self._create_scorers(), gts, res):
            # SPICE returns scores in the order of sorted ids. pycocoevalcap assigns them in the given order.
            of = sorted(gts) if isinstance(scorer, spice.Spice) else list(gts)
            if isinstance(method, list):
                for name, part, parts in zip(method, score, scores, strict=False):
                    self.setEval(part, name)
                    self.setImgToEvalImgs(parts, of, name)
            else:
                self.setEval(score, method)
                self.setImgToEvalImgs(scores, of, method)
        self.setEvalImgs()

    def _create_scorers(self) -> list[tuple[Any, str | list[str]]]:
        scorers: list[tuple[Any, str | list[str]]] = [
            (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
            (Meteor(), "METEOR"),
            (Rouge(), "ROUGE_L"),
            (Cider(), "CIDEr"),
        ]
        if self._spice:
            # Pass only the given options, because a script may have replaced the class.
            options: dict[str, Any] = {"store": self._store, "longest": self._spice_longest}
            given = {name: value for name, value in options.items() if value is not None}
            scorers.append((Spice(**given), "SPICE"))
        return scorers

    def setEval(self, score: Any, method: str) -> None:  # noqa: N802
        """Store a corpus score."""
        self.eval[method] = score

    def setImgToEvalImgs(self, scores: Iterable[Any], imgIds: Iterable[Any], method: str) -> None:  # noqa: N802, N803
        """Store the scores of images."""
        for image, score in zip(imgIds, scores, strict=False):
            self.imgToEval.setdefault(image, {"image_id": image})[method] = score

    def setEvalImgs(self) -> None:  # noqa: N802
        """Store the scores of all images as a list."""
        self.evalImgs = list(self.imgToEval.values())
