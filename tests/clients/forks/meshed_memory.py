"""As in meshed-memory-transformer: `evaluation` of captions, and rewards with training references."""

import itertools

import evaluation
import numpy as np
from evaluation import Cider, PTBTokenizer

from tests.clients.data import captions, write

references, candidates = captions(images=10)
training = captions(images=30, references=4)[0]

# Training captions one by one: each counts as an image.
cider = Cider(PTBTokenizer.tokenize([text for texts in training.values() for text in texts]))
beam = 3
sampled = captions(images=10 * beam)[1]
caps_gt = list(itertools.chain(*([texts] * beam for texts in references.values())))
tokens_gen, tokens_gt = map(evaluation.PTBTokenizer.tokenize, [list(sampled.values()), caps_gt])
rewards = cider.compute_score(tokens_gt, tokens_gen)[1].astype(np.float32).reshape(10, beam)

# Validation: ids with the number of the caption, as the data loader gives them.
gts = {f"{row}_0": texts for row, texts in enumerate(references.values())}
gen = {f"{row}_0": [text] for row, text in enumerate(candidates.values())}
gts, gen = evaluation.PTBTokenizer.tokenize(gts), evaluation.PTBTokenizer.tokenize(gen)
scores, by_image = evaluation.compute_scores(gts, gen)
write(
    {
        "rewards": rewards - rewards.mean(-1, keepdims=True),
        "scores": scores,
        "by image": by_image,
        "names": [str(each) for each in (evaluation.Bleu(), evaluation.Rouge(), evaluation.Cider())],
        "ids": [list(tokens_gt)[-1], list(gen)],
        "images": [np.exp(cider.ref_len), cider.doc_frequency["a",]],
    }
)
