"""As in self-critical training: rewards of sampled and greedy captions, BLEU and CIDEr with weights."""

import numpy as np
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.cider.cider_scorer import CiderScorer

from tests.clients.data import captions, write

references, greedy = captions(images=8)
_, sampled = captions(images=24)
res: dict[int, list[str]] = {}
gts: dict[int, list[str]] = {}
images = list(references)
for row, text in enumerate([*list(sampled.values())[:16], *greedy.values()]):
    res[row] = [text]
    gts[row] = references[images[row % 8]]
cider, cider_scores = Cider().compute_score(gts, res)
_, bleu_scores = Bleu(4).compute_score(gts, res)
scores = 1.0 * np.array(cider_scores) + 0.5 * np.array(bleu_scores[3])
rewards = scores[:16].reshape(2, 8) - scores[-8:][np.newaxis]

bleu_scorer, cider_scorer = BleuScorer(n=4), CiderScorer(n=4, sigma=6.0)
for row in res:
    bleu_scorer += (res[row][0], gts[row])
    cider_scorer += (res[row][0], gts[row])
one = BleuScorer(res[0][0], gts[0])
write(
    {
        "rewards": rewards,
        "cider": cider,
        "added": [bleu_scorer.compute_score(option="closest", verbose=0), cider_scorer.compute_score()],
        "options": [bleu_scorer.copy().compute_score(option=each) for each in ("shortest", "average")],
        "one": [one.compute_score(), one.testlen("closest"), BleuScorer(res[0][0], gts[0]).reflen("closest")],
        "sizes": [bleu_scorer.size(), cider_scorer.size(), len(bleu_scorer.crefs)],
        "again": bleu_scorer.rescore([text for (text,) in reversed(res.values())]),
    }
)
