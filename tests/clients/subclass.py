"""Subclasses of `COCOEvalCap`, as people write them: another `evaluate`, or another place for scores."""

import pycocoevalcap.eval
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.eval import COCOEvalCap
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from pycocotools.coco import COCO

from tests.clients.data import NoSpice, coco_files, folder, write

pycocoevalcap.eval.Spice = NoSpice


class Quick(COCOEvalCap):  # type: ignore[misc]
    def evaluate(self) -> None:
        images = self.params["image_id"]
        gts = {image: self.coco.imgToAnns[image] for image in images}
        res = {image: self.cocoRes.imgToAnns[image] for image in images}
        tokenizer = PTBTokenizer()
        gts, res = tokenizer.tokenize(gts), tokenizer.tokenize(res)
        for scorer, method in [
            (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
            (Rouge(), "ROUGE_L"),
            (Cider(), "CIDEr"),
        ]:
            score, scores = scorer.compute_score(gts, res)
            if type(method) is list:
                for one, each, name in zip(score, scores, method, strict=True):
                    self.setEval(one, name)
                    self.setImgToEvalImgs(each, list(gts.keys()), name)
            else:
                self.setEval(score, method)
                self.setImgToEvalImgs(scores, gts.keys(), method)
        self.setEvalImgs()


class Logging(COCOEvalCap):  # type: ignore[misc]
    def __init__(self, coco: COCO, results: COCO) -> None:
        super().__init__(coco, results)
        self.log: list[tuple[str, float]] = []

    def setEval(self, score: float, method: str) -> None:  # noqa: N802
        super().setEval(score, method)
        self.log.append((method, score))


annotations, results = coco_files(folder())
coco = COCO(str(annotations))
quick, logging = (kind(coco, coco.loadRes(str(results))) for kind in (Quick, Logging))
quick.evaluate()
logging.evaluate()
write([quick.eval, quick.evalImgs, logging.log, logging.evalImgs])
