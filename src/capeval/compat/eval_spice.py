"""SPICE alone, under the names of a fork of coco-caption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from capeval.compat.coco_captions import CocoCaptions
from capeval.compat.eval import COCOEvalCap
from capeval.compat.spice.spice import Spice
from capeval.compat.tokenizer.ptbtokenizer import Annotations, PTBTokenizer
from capeval.resources.parse_store import ParseStore

__all__ = ["COCOEvalCapSpice", "SpiceEval"]


class COCOEvalCapSpice(COCOEvalCap):
    """SPICE with all categories, for results in COCO's format.

    The scores of an image are a dictionary by category. The images are in the order of their ids.

    Attributes:
        Spice: The scorer.
        params: `params["image_id"]` contains the images to score; by default all images.
        eval: The corpus score as `SPICE`, after `evaluate`.
        imgToEval: The scores of each image as `SPICE`, with its `image_id`.
        evalImgs: The values of `imgToEval` as a list.

    Args:
        coco: The references, a `pycocotools.coco.COCO`.
        cocoRes: The results, as returned by its `loadRes`.
        store: The store that caches parses between runs; none by default.
        spice_longest: The maximum length of a sentence, in tokens.
    """

    def __init__(
        self,
        coco: CocoCaptions,
        cocoRes: CocoCaptions,  # noqa: N803
        *,
        store: ParseStore | None = None,
        spice_longest: int = 400,
    ) -> None:
        super().__init__(coco, cocoRes)
        self.Spice = Spice(store, longest=spice_longest)

    def _create_scorers(self) -> list[tuple[Any, str | list[str]]]:
        return [(self.Spice, "SPICE")]

    def setImgToEvalImgs(self, scores: Iterable[Any], imgIds: Iterable[Any], method: str) -> None:  # noqa: N802, N803
        """Store the scores of images, which are in the order of sorted ids."""
        super().setImgToEvalImgs(scores, sorted(imgIds), method)

    def setEvalImgs(self) -> None:  # noqa: N802
        """Store the scores of all images as a list, in the order of sorted ids."""
        self.evalImgs = [self.imgToEval[image] for image in sorted(self.imgToEval)]


class SpiceEval:
    """SPICE of captions that are not tokenized yet.

    Attributes:
        spice: The scorer.
        tokenizer: The tokenizer.
        eval: The corpus score as `spice`, after `evaluate`.
        imgToEval: The scores of each image as `spice`, with its `image_id`.
        evalImgs: An empty list, as in the fork.
    """

    def __init__(self) -> None:
        self.evalImgs: list[dict[str, Any]] = []
        self.eval: dict[str, Any] = {}
        self.imgToEval: dict[Any, dict[str, Any]] = {}
        self.spice = Spice()
        self.tokenizer = PTBTokenizer()

    def evaluate(self, gts: Annotations, res: Annotations) -> tuple[Any, Mapping[Any, dict[str, Any]]]:
        """Tokenize and score the captions.

        Args:
            gts: The annotations of each image, each with its text as `caption`.
            res: The result of each image, in the same form.

        Returns:
            The mean F of all images, and `imgToEval`.

        Raises:
            CaptionError: An annotation has no caption, or the caption is not a string.
            MismatchError: The images differ, or an image does not have exactly one result.
            ResourceError: SPICE's model is missing or damaged.
        """
        tokens = self.tokenizer.tokenize(gts)
        score, scores = self.spice.compute_score(tokens, self.tokenizer.tokenize(res))
        self.eval["spice"] = score
        for image, each in zip(sorted(tokens), scores, strict=True):
            self.imgToEval.setdefault(image, {"image_id": image})["spice"] = each
        return score, self.imgToEval
