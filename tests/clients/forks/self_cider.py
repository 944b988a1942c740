"""As in self-critical.pytorch's eval_multi: diversity by Self-CIDEr, with frequencies of the references."""

import numpy as np
from pyciderevalcap.cider.cider import Cider
from pyciderevalcap.ciderD.ciderD_scorer import CiderScorer
from pyciderevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from tests.clients.data import captions, write


def annotate(texts: list[str]) -> list[dict[str, str]]:
    return [{"caption": text} for text in texts]


references, _ = captions(images=12)
sampled = captions(images=60)[1]
listed = list(sampled.values())
tokenizer = PTBTokenizer()
gts = tokenizer.tokenize({image: annotate(group) for image, group in references.items()})
samples = {image: listed[row * 5 : row * 5 + 3 + row % 3] for row, image in enumerate(references)}
caps = tokenizer.tokenize({image: annotate(group) for image, group in samples.items()})

scorer = Cider(df="corpus")
for image in gts:
    scorer.cider_scorer += (None, gts[image])
scorer.cider_scorer.compute_doc_freq()
scorer.cider_scorer.ref_len = np.log(float(len(scorer.cider_scorer.crefs)))
matrices = scorer.my_self_cider([caps[image] for image in caps])
diversity = []
for matrix in matrices:
    roots = np.sqrt(np.clip(np.linalg.eigvalsh(matrix / 10), 0, None))
    diversity.append(-np.log(roots[-1] / roots.sum()) / np.log(len(roots)))

# Scorers of pairs; the frequencies of one are those of a larger number of images.
pairs, larger = CiderScorer(n=4, sigma=6.0), CiderScorer()
for image in gts:
    pairs += (caps[image][0], gts[image])
    larger.cook_append(None, gts[image])
larger.compute_doc_freq()
larger.ref_len = np.log(100.0)
counts = scorer.cider_scorer.document_frequency
write(
    {
        "mean": np.mean(diversity),
        "diversity": diversity,
        "matrices": matrices,
        "pairs": pairs.compute_score(),
        "sizes": [pairs.size(), pairs.copy().size(), larger.size()],
        "of 100 images": larger.my_get_cider(gts[900], caps[900]),
        "ngrams": sorted([" ".join(ngram), count] for ngram, count in counts.items() if count > 3),
    }
)
