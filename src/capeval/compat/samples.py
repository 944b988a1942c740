"""Base class of the `Cider` and `CiderD` of CIDEr forks, which score sampled captions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from capeval.compat.frequency_pairs import TOKENS, FrequencyPairs
from capeval.compat.scoring import Captions
from capeval.data.scores import FloatArray
from capeval.errors import CaptionError, MismatchError

__all__ = ["SampleScorer"]


class SampleScorer:
    """Scores of a list of results, which may contain an image any number of times.

    Attributes:
        cider_scorer: The scorer with the options and the document frequencies.
    """

    _name: ClassVar[str]

    def __init__(self, cider_scorer: FrequencyPairs) -> None:
        self.cider_scorer = cider_scorer

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
        if isinstance(res, Mapping):
            raise CaptionError(
                "'res' must be a list of mappings with 'image_id' and 'caption' (got a mapping)"
            )
        results = [_parse_result(place, result, gts) for place, result in enumerate(res)]
        # As in the forks, each result counts as one image in document frequencies.
        references = {f"res[{place}]": gts[image] for place, (image, _) in enumerate(results)}
        candidates = {f"res[{place}]": caption for place, (_, caption) in enumerate(results)}
        metric = self.cider_scorer.metric
        found = metric.prepare(references, tokenizer=TOKENS).score(candidates)
        scores = found.per_image[metric.names[0]] * self.cider_scorer.scale
        return np.float64(scores.mean()), scores

    def my_compute_score(
        self,
        gts: Iterable[Sequence[str]],
        res: Iterable[Sequence[str]],
        avg_refs: bool = True,  # noqa: ARG002
    ) -> tuple[np.float64, FloatArray | list[FloatArray]]:
        """Score several samples of each image.

        A score is the mean over the image's references. Numbers of samples may differ.

        Args:
            gts: The references of each image.
            res: The samples of each image.
            avg_refs: Accepted and ignored, as in the forks.

        Returns:
            The mean score of all samples; and the scores, of shape `(images, samples)`, or as one array per
            image if the numbers of samples differ.

        Raises:
            CaptionError: An image has no references or no samples.
            MismatchError: The numbers of images differ.
            OptionError: There are no document frequencies.
        """
        references, samples = list(gts), list(res)
        if len(references) != len(samples):
            raise MismatchError(
                "'gts' and 'res' must have the same number of images"
                f" (got {len(references)} and {len(samples)})"
            )
        matrices = self.cider_scorer.score_matrices(zip(references, samples, strict=True))
        scores = [matrix.mean(axis=1) for matrix in matrices]
        is_ragged = len({len(each) for each in scores}) > 1
        return np.float64(np.concatenate(scores).mean()), scores if is_ragged else np.array(scores)

    def my_self_cider(self, res: Iterable[Sequence[str]]) -> list[FloatArray]:
        """Score the samples of each image with each other.

        Self-CIDEr, a measure of diversity, is computed from the eigenvalues of these matrices.

        Args:
            res: The samples of each image.

        Returns:
            A matrix for each image: the score of each sample (row) with each sample (column) as its
            reference.

        Raises:
            CaptionError: An image has no samples.
            OptionError: There are no document frequencies.
        """
        return self.cider_scorer.score_matrices((samples, samples) for samples in res)

    def method(self) -> str:
        """Return the name of the scores."""
        return self._name


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
