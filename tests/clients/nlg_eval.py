"""Scoring as in nlg-eval and meshed-memory: raw lines of text and a loop over scorers."""

from typing import Any

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from tests.clients.data import captions, write

references, candidates = captions(images=9)
columns = list(zip(*references.values(), strict=True))
refs = {row: [column[row].strip() for column in columns] for row in range(9)}
hyps = {row: [text.strip()] for row, text in enumerate(candidates.values())}
found: dict[str, float] = {}
scorers: list[tuple[Any, str | list[str]]] = [
    (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
    (Rouge(), "ROUGE_L"),
    (Cider(), "CIDEr"),
]
for scorer, method in scorers:
    score, scores = scorer.compute_score(refs, hyps)
    if isinstance(method, list):
        found.update(zip(method, score, strict=True))
    else:
        found[method] = score
rouge = Rouge()
write([found, [rouge.calc_score(hyps[row], refs[row]) for row in hyps], rouge.beta, rouge.method()])
