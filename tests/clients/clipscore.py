"""As in CLIPScore's and PAC-S's evaluation: lists of captions, numbered, with a score of each."""

from collections.abc import Callable
from typing import Any

import pycocoevalcap.bleu.bleu
import pycocoevalcap.cider.cider
import pycocoevalcap.meteor.meteor
import pycocoevalcap.rouge.rouge
import pycocoevalcap.tokenizer.ptbtokenizer

from tests.clients.data import captions, write


def tokenized(refs: list[list[str]], cands: list[str]) -> tuple[Any, Any]:
    tokenizer = pycocoevalcap.tokenizer.ptbtokenizer.PTBTokenizer()
    return (
        tokenizer.tokenize({row: [{"caption": text} for text in texts] for row, texts in enumerate(refs)}),
        tokenizer.tokenize({row: [{"caption": text}] for row, text in enumerate(cands)}),
    )


SCORERS: list[tuple[Callable[[], Any], str]] = [
    (lambda: pycocoevalcap.bleu.bleu.Bleu(4), "bleu"),
    (lambda: pycocoevalcap.meteor.meteor.Meteor(), "meteor"),
    (lambda: pycocoevalcap.rouge.rouge.Rouge(), "rouge"),
    (lambda: pycocoevalcap.cider.cider.Cider(), "cider"),
]

references, candidates = captions(images=10)
gts, res = tokenized(list(references.values()), list(candidates.values()))
results = {}
for make, name in SCORERS:
    scorer = make()
    results[name] = scorer.compute_score(gts, res)
    if name == "meteor":
        # As scripts end Java's process.
        with scorer.lock:
            scorer.meteor_p.stdin.close()
        scorer.meteor_p.kill()
        scorer.meteor_p.wait()
write(results)
