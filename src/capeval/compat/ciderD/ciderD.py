"""CIDEr-D of CIDEr forks for self-critical training.

An image may have several results, and `df` selects the document frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capeval.compat.frequencies import Df, resolve_frequencies
from capeval.compat.scoring import Captions
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, MismatchError
from capeval.metrics import cider
from capeval.tokenizers import Tokenizer

__all__ = ["CiderD"]


class CiderD:
    """CIDEr-D of a list of results, which may contain an image any number of times.

    Args:
        n: The maximum n-gram order, 1 to 4.
        sigma: The width of the length penalty.
        df: The document frequencies: `corpus` for the references of all results, the path of a pickle, or
            `DocumentFrequencies`.

    Raises:
        FormatError: The pickle is invalid.
        OptionError: `n` or `sigma` is invalid, or the pickle lacks the number of images.
        OSError: The pickle can't be read.
    """

    def __init__(self, n: int = 4, sigma: float = 6.0, df: Df = "corpus") -> None:
        self.metric = cider.CiderD(n=n, sigma=sigma, frequencies=resolve_frequencies(df))

    def compute_score(self, gts: Captions, res: Sequence[Mapping[str, Any]]) -> tuple[np.float64, FloatArray]:
        """Score tokenized captions.

        Args:
            gts: The references of each image: a list of strings of tokens joined by spaces.
            res: The results, each with `image_id` and a list of one caption as `caption`.

        Returns:
            The mean score, and the score of each result.

        Raises:
            CaptionError: A result or a reference is invalid, or there are no results.
            MismatchError: The image of a result has no references.
        """
        results = [_parse_result(place, result, gts) for place, result in enumerate(res)]
        # As in these forks, each result counts as one image in document frequencies.
        references = {f"res[{place}]": gts[image] for place, (image, _) in enumerate(results)}
        candidates = {f"res[{place}]": caption for place, (_, caption) in enumerate(results)}
        scores = self.metric.prepare(references, tokenizer=Tokenizer(kind="none")).score(candidates)
        return np.float64(scores.corpus["CIDEr-D"]), scores.per_image["CIDEr-D"]

    def method(self) -> str:
        """Return `CIDEr-D`."""
        return "CIDEr-D"


def _parse_result(place: int, result: object, gts: Captions) -> tuple[Any, str]:
    if not isinstance(result, Mapping) or not {"image_id", "caption"} <= set(result):
        raise CaptionError(
            f"res[{place}] must be a mapping with 'image_id' and 'caption' (got {type(result).__name__})"
        )
    image, captions = result["image_id"], result["caption"]
    if not isinstance(captions, list | tuple) or len(captions) != 1 or not isinstance(captions[0], str):
        raise CaptionError(f"the caption of res[{place}] must be a list of one string (got {captions!r:.60})")
    if image not in gts:
        raise MismatchError(f"image {image!r} of res[{place}] has no references")
    return image, captions[0]
