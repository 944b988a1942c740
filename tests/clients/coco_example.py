"""As in COCO's example, BLIP's and GIT's evaluation: two files, `evaluate`, then the attributes."""

import pycocoevalcap.eval
from pycocoevalcap.eval import COCOEvalCap
from pycocotools.coco import COCO

from tests.clients.data import NoSpice, coco_files, folder, write

pycocoevalcap.eval.Spice = NoSpice

annotations, results = coco_files(folder())
coco = COCO(str(annotations))
coco_result = coco.loadRes(str(results))
coco_eval = COCOEvalCap(coco, coco_result)
coco_eval.params["image_id"] = coco_result.getImgIds()
coco_eval.evaluate()
best = sorted(coco_eval.evalImgs, key=lambda scores: scores["CIDEr"])
write(
    {
        "eval": {metric: f"{score:.3f}" for metric, score in coco_eval.eval.items()},
        "digits": coco_eval.eval,
        "best": best,
        "imgToEval": list(coco_eval.imgToEval.items()),
    }
)
