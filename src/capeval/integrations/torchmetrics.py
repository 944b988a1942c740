"""Caption metrics as a `torchmetrics.Metric`, also for distributed training."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from capeval.data.captions import Candidates, ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray, Signature
from capeval.errors import CapevalWarning, CaptionError, DependencyError, MismatchError
from capeval.errors.messages import format_images
from capeval.metrics.base import Metric
from capeval.metrics.registry import DEFAULT, list_metric_keys, resolve
from capeval.scoring.evaluator import Evaluator
from capeval.tokenizers import TokenizedReferences, Tokenizer

try:
    import torch
    import torchmetrics
except ImportError as error:
    raise DependencyError(
        f"capeval.integrations.torchmetrics needs {error.name}, which is missing: pip install torchmetrics"
    ) from None

__all__ = ["CaptionScores"]


class CaptionScores(torchmetrics.Metric):  # type: ignore[misc]
    """Corpus scores of captions, as a dictionary of tensors by score name.

    With `references`, the state is one row of statistics per image. The rows of all processes are merged
    before they are summed, so the scores equal the scores of `capeval.evaluate` to the last digit for any
    distribution of the images. An image that several processes scored counts once; samplers repeat images to
    fill shards. If only some images were scored, the scores are of those images, with the document
    frequencies of all references.

    Without `references`, each update passes them. Metrics such as CIDEr-D weight n-grams by all references,
    so the state is the captions themselves, which `compute` gathers and scores. An image that is passed twice
    then counts twice.

    Args:
        references: The references of all images that may be scored.
        metrics: Names of metrics, or metric objects.
        tokenizer: The tokenizer; the reference's by default.
        options: Options of `torchmetrics.Metric`, such as `process_group`.

    Raises:
        CaptionError: `references` are not captions by image.
        OptionError: A metric is unknown, or occurs twice.
    """

    is_differentiable: ClassVar[bool] = False
    full_state_update: ClassVar[bool] = False

    rows: torch.Tensor
    captions: list[torch.Tensor]

    def __init__(
        self,
        references: ReferencesLike | None = None,
        metrics: Iterable[str | Metric] = DEFAULT,
        *,
        tokenizer: Tokenizer | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._metrics = resolve(metrics)
        self._tokenizer = tokenizer
        self._tokens: TokenizedReferences | None = None
        self._signatures: dict[str, Signature] = {}
        if references is None:
            self.add_state("captions", default=[], dist_reduce_fx="cat")
            return
        self._tokens = TokenizedReferences(References(references), tokenizer)
        self._prepared = tuple(metric.prepare(self._tokens) for metric in self._metrics)
        self._set_signatures(each.signature() for each in self._prepared)
        # The first column is 1 if the image was scored; the statistics of each metric follow.
        columns = 1 + sum(len(metric.statistics) for metric in self._metrics)
        rows = torch.zeros(len(self._tokens), columns, dtype=torch.float64)
        self._first_rows = partial(_merge_rows, self._tokens.references.image_ids)
        self.add_state("rows", default=rows, dist_reduce_fx=self._first_rows)

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher scores are better; None if the metrics differ in this or have no direction."""
        directions = {metric.higher_is_better if metric.has_direction else None for metric in self._metrics}
        return directions.pop() if len(directions) == 1 else None

    @property
    def signatures(self) -> dict[str, Signature]:
        """The signature of each metric; without `references`, set by `compute`."""
        return self._signatures

    def update(self, preds: Sequence[str], target: Sequence[Any] | torch.Tensor) -> None:
        """Score the captions of some images or, without `references`, store them.

        Args:
            preds: One candidate per image.
            target: The id of each image; without `references`, its references.

        Raises:
            CaptionError: A candidate or reference is not a string, or `preds` and `target` are not lists of
                the same length.
            MismatchError: An image has no references.
        """
        wanted = target.tolist() if isinstance(target, torch.Tensor) else target
        for name, values in (("preds", preds), ("target", wanted)):
            if not isinstance(values, list | tuple):
                raise CaptionError(f"{name!r} must be a list (got {type(values).__name__})")
        if len(preds) != len(wanted):
            raise CaptionError(
                f"'preds' and 'target' must have the same length (got {len(preds)} and {len(wanted)})"
            )
        if not preds:
            return
        if self._tokens is None:
            self._store_captions(preds, wanted)
        else:
            self._score(self._tokens, preds, wanted)

    def compute(self) -> dict[str, torch.Tensor]:
        """Return the corpus scores.

        Raises:
            MismatchError: No captions were passed to `update`.
        """
        scores = self._score_captions() if self._tokens is None else self._score_rows()
        return {
            name: torch.tensor(score, dtype=torch.float64, device=self.device)
            for name, score in scores.items()
        }

    def _score(self, tokens: TokenizedReferences, preds: Sequence[str], images: Sequence[ImageId]) -> None:
        new = torch.zeros_like(self.rows)
        # Repeated images are scored in separate rounds, to check that their captions are equal.
        for chosen in _partition_repeats(images):
            candidates = tokens.candidates(Candidates({images[place]: [preds[place]] for place in chosen}))
            parts = [each.statistics(candidates) for each in self._prepared]
            made = np.concatenate([np.ones((len(candidates), 1)), *parts], axis=1)
            new.zero_()
            new[torch.from_numpy(candidates.positions)] = torch.from_numpy(made).to(self.rows)
            self.rows = self._first_rows(torch.stack([self.rows, new]))

    def _score_rows(self) -> dict[str, float]:
        rows: FloatArray = self.rows.detach().cpu().numpy()
        rows = rows[rows[:, 0] > 0, 1:]
        if not len(rows):
            raise _make_empty_error()
        scores: dict[str, float] = {}
        start = 0
        for metric in self._metrics:
            end = start + len(metric.statistics)
            sums = np.ascontiguousarray(rows[:, start:end]).sum(axis=0)
            scores.update(zip(metric.names, metric.aggregate(sums).tolist(), strict=True))
            start = end
        return scores

    def _store_captions(self, preds: Sequence[str], references: Sequence[Any]) -> None:
        groups = [[each] if isinstance(each, str) else each for each in references]
        # Created only for validation, so that errors occur now instead of in `compute`.
        References(dict(enumerate(groups)))
        Candidates({place: [caption] for place, caption in enumerate(preds)})
        text = "".join(
            json.dumps([caption, list(group)]) + "\n" for caption, group in zip(preds, groups, strict=True)
        )
        # One number per byte, in the type that torchmetrics assumes for a process with an empty state.
        data = np.frombuffer(text.encode(), dtype=np.uint8)
        self.captions.append(torch.tensor(data.tolist(), dtype=self.dtype, device=self.device))

    def _score_captions(self) -> dict[str, float]:
        # The state is a list before processes are synchronized, and one tensor afterwards.
        parts = self.captions if isinstance(self.captions, list) else [self.captions]
        data = b"".join(part.cpu().to(torch.uint8).numpy().tobytes() for part in parts)
        pairs = [json.loads(line) for line in data.splitlines()]
        if not pairs:
            raise _make_empty_error()
        references = References({place: group for place, (_, group) in enumerate(pairs)})
        evaluator = Evaluator(references, self._metrics, tokenizer=self._tokenizer)
        report = evaluator.evaluate({place: caption for place, (caption, _) in enumerate(pairs)})
        self._set_signatures(report.signatures.values())
        return dict(report.corpus)

    def _set_signatures(self, signatures: Iterable[Signature]) -> None:
        self._signatures = dict(zip(list_metric_keys(self._metrics), signatures, strict=True))


def _partition_repeats(images: Sequence[ImageId]) -> list[list[int]]:
    """Partition the positions of images into lists without repeated images."""
    rounds: list[list[int]] = []
    seen: dict[ImageId, int] = {}
    for place, image in enumerate(images):
        turn = seen.get(image, 0)
        seen[image] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(place)
    return rounds


def _merge_rows(image_ids: Sequence[ImageId], rows: torch.Tensor) -> torch.Tensor:
    """Return the first row of each image in several tables of rows.

    The tables are not summed, because an image that two processes scored would count twice.
    """
    kept = rows[0].clone()
    differ = torch.zeros(len(kept), dtype=torch.bool, device=kept.device)
    for table in rows[1:]:
        given, known = table[:, 0] > 0, kept[:, 0] > 0
        differ |= given & known & (table != kept).any(dim=1)
        new = given & ~known
        kept[new] = table[new]
    if differ.any():
        images = [image_ids[place] for place in torch.nonzero(differ)[:, 0].tolist()]
        warnings.warn(
            f"{format_images(images)} scored with different captions, of which only the first counts;"
            " to score an image again, call reset() first",
            CapevalWarning,
            stacklevel=2,
        )
    return kept


def _make_empty_error() -> MismatchError:
    return MismatchError("call update() with at least one caption before compute() (got none)")
