"""As in self-critical.pytorch: rewards of sampled rows of word indices, with df="coco-train-idxs"."""

from collections import OrderedDict
from typing import Any

import numpy as np
from pyciderevalcap.cider.cider import Cider
from pyciderevalcap.ciderD.ciderD import CiderD
from pycocoevalcap.bleu.bleu import Bleu

from tests.clients.data import write
from tests.clients.forks.files import rows

cider_d, cider, bleu = CiderD(df="coco-train-idxs"), Cider(df="coco-train-idxs"), Bleu(4)


def join(row: Any) -> str:
    words: list[str] = []
    for index in row:
        words.append(str(index))
        if index == 0:
            break
    return " ".join(words)


# A minibatch: five samples and one greedy caption of each of eight images, with ragged references.
images, per_image = 8, 5
sampled, greedy = np.array(rows(images * per_image, 1)), np.array(rows(images, 2))
references = [[join(row) for row in rows(2 + image % 4, 10 + image)] for image in range(images)]
res = OrderedDict((place, [join(row)]) for place, row in enumerate([*sampled, *greedy]))
gts = {place: references[place // per_image] for place in range(len(sampled))}
gts |= {len(sampled) + image: references[image] for image in range(images)}
listed = [{"image_id": place, "caption": res[place]} for place in res]
mean, scores = cider_d.compute_score(gts, listed)
_, bleus = bleu.compute_score(gts, dict(res))
scores = 1.0 * scores + 0.5 * np.array(bleus[3])
rewards = scores[: len(sampled)].reshape(images, per_image) - scores[-images:][:, np.newaxis]
texts = [join(row) for row in sampled]
groups = [texts[image * per_image : (image + 1) * per_image] for image in range(images)]

# Repeated ids, in any order, and as many samples as an image happens to have.
repeated = [{"image_id": (place * 7) % images, "caption": [text]} for place, text in enumerate(texts[:29])]
by_image = dict(enumerate(references))
write(
    {
        "mean": mean,
        "rewards": np.repeat(rewards.reshape(-1)[:, np.newaxis], 3, 1),
        "method": [cider_d.method(), cider.method(), bleu.method()],
        "repeated": [each.compute_score(by_image, repeated) for each in (cider_d, cider)],
        "again": cider_d.compute_score(by_image, repeated[:3]),
        "of the batch": [kind(df="corpus").compute_score(by_image, repeated) for kind in (CiderD, Cider)],
        "samples": cider_d.my_compute_score(references, groups),
        "each other": [each.my_self_cider(groups[:3]) for each in (cider_d, cider)],
    }
)
