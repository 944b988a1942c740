"""Mirror of the package `evaluation` of meshed-memory-transformer and its copies."""

from __future__ import annotations

from typing import Any

from capeval.compat.evaluation.bleu.bleu import Bleu
from capeval.compat.evaluation.cider.cider import Cider
from capeval.compat.evaluation.meteor.meteor import Meteor
from capeval.compat.evaluation.rouge.rouge import Rouge
from capeval.compat.evaluation.tokenizer import PTBTokenizer
from capeval.compat.scoring import Captions, score_all

__all__ = ["Bleu", "Cider", "Meteor", "PTBTokenizer", "Rouge", "compute_scores"]


def compute_scores(gts: Captions, gen: Captions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Score tokenized captions with BLEU, METEOR, ROUGE-L and CIDEr-D.

    Args:
        gts: The references of each image: a list of strings of tokens joined by spaces.
        gen: The candidate of each image: a list of one such string.

    Returns:
        The corpus scores, and the scores of the images in `gts`, each by `BLEU` (a list for BLEU-1 to
        BLEU-4), `METEOR`, `ROUGE` and `CIDEr`.

    Raises:
        CaptionError: An argument is not a mapping of image ids to lists of strings.
        MismatchError: The images differ, or an image does not have exactly one candidate.
    """
    scorers = [(scorer, str(scorer)) for scorer in (Bleu(), Meteor(), Rouge(), Cider())]
    results = {name: result for (_, name), result in score_all(scorers, gts, gen)}
    return (
        {name: score for name, (score, _) in results.items()},
        {name: scores for name, (_, scores) in results.items()},
    )
