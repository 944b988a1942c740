"""CIDEr and CIDEr-D of a list of results, under pyciderevalcap's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capeval.compat.frequencies import Df
from capeval.compat.pyciderevalcap.cider.cider import Cider
from capeval.compat.pyciderevalcap.ciderD.ciderD import CiderD
from capeval.compat.pyciderevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from capeval.compat.tokenizer.ptbtokenizer import Annotations

__all__ = ["CIDErEvalCap"]


class CIDErEvalCap:
    """CIDEr and CIDEr-D of captions that are not tokenized yet.

    Args:
        gts: The annotations of each image, each with its text as `caption`.
        res: The results, each with `image_id` and its text as `caption`.
        df: The document frequencies: `corpus` for the references of all results, the name or the path of a
            pickle, or `DocumentFrequencies`.

    Raises:
        CaptionError: An annotation or a result has no caption, or the caption is not a string.
    """

    def __init__(self, gts: Annotations, res: Sequence[Mapping[str, Any]], df: Df) -> None:
        self.gts = PTBTokenizer("gts").tokenize(gts)
        self.res = PTBTokenizer("res").tokenize(res)
        self.df = df

    def evaluate(self) -> dict[str, list[np.float64]]:
        """Return the scores of each result, as `CIDEr` and `CIDErD`.

        Raises:
            CaptionError: There are no results.
            FormatError: The pickle is invalid.
            MismatchError: The image of a result has no references.
            OptionError: The pickle lacks the number of images.
            ResourceError: There is no such pickle.
        """
        scorers = {"CIDEr": Cider(df=self.df), "CIDErD": CiderD(df=self.df)}
        return {name: list(scorer.compute_score(self.gts, self.res)[1]) for name, scorer in scorers.items()}
