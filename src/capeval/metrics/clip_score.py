"""CLIPScore: similarity of captions with images and references (Hessel et al. 2021).

File names and lines are those of the published code: jmhessel/clipscore, commit 1036465.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from capeval._internal.validation import checked_path, checked_text, validate_integer
from capeval.data.scores import FloatArray
from capeval.formats.image_files import find_image_files
from capeval.formats.images import load_image_names
from capeval.metrics.base import Kernel, MeanMetric, Reads, make_missing_options_error
from capeval.metrics.registry import register
from capeval.resources.clip_models import fingerprint_checkpoint, load_clip_model
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["ClipScore", "compare_features"]

# Lines 67 to 71 of `clipscore.py`.
_PREFIX = "A photo depicts "
# Line 135.
_WEIGHT = 2.5
_NEEDED = ("checkpoint", "images")


@register
@dataclass(frozen=True, kw_only=True)
class ClipScore(MeanMetric):
    """Similarity of caption, image and references by a CLIP model.

    CLIPScore compares the caption with the image. RefCLIPScore is the harmonic mean of CLIPScore and the
    similarity of the caption with the most similar reference.

    Args:
        checkpoint: The folder of a CLIP model in the format of transformers, such as a copy of
            openai/clip-vit-base-patch32, the model of the paper. Required.
        images: The folder of the images. Required.
        image_info: The list of images with their file names, if these don't contain the image ids.
        device: PyTorch's name of the device, such as `cpu` or `cuda`.
        batch: The number of images or captions that the model reads at once.

    Raises:
        OptionError: An option has an invalid value.

    Example:
        >>> from pathlib import Path
        >>> from capeval import ClipScore
        >>> metric = ClipScore(checkpoint=Path("clip-vit-base-patch32"), images=Path("val2014"))
        >>> metric.names
        ('CLIPScore', 'RefCLIPScore')
    """

    family: ClassVar[str] = "CLIPScore"
    docs_page: ClassVar[str] = "clip_score"
    aliases: ClassVar = {"RefCLIPScore": "CLIPScore"}
    alias_note: ClassVar[str] = "The metric CLIPScore computes CLIPScore and RefCLIPScore."
    citations: ClassVar = ("hessel2021clipscore",)

    checkpoint: Path | None = None
    images: Path | None = None
    image_info: Path | None = None
    device: str = "cpu"
    batch: int = 64

    def __post_init__(self) -> None:
        for name in (*_NEEDED, "image_info"):
            checked_path(name, getattr(self, name))
        checked_text("device", self.device)
        validate_integer("batch", self.batch, 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The score with the image, and the score with image and references."""
        return ("CLIPScore", "RefCLIPScore")

    @property
    def input_kind(self) -> Reads:
        """The original captions."""
        return "captions"

    @property
    def missing_options(self) -> tuple[str, ...]:
        """The folders that were not given."""
        return tuple(name for name in _NEEDED if getattr(self, name) is None)

    def options(self) -> tuple[str, ...]:
        """Return the checkpoint and the device; no score depends on the other options."""
        checkpoint = None if self.checkpoint is None else fingerprint_checkpoint(self.checkpoint)
        return (f"checkpoint={checkpoint}", f"device={self.device}")

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Encode the images and references.

        Raises:
            DependencyError: An optional package is missing.
            FormatError: A file is invalid.
            MismatchError: An image has no file, or several files.
            OptionError: A required option is missing, or PyTorch can't use the device.
            OSError: A file can't be read.
            ResourceError: The checkpoint is missing or can't be read.
        """
        if self.checkpoint is None or self.images is None:
            raise make_missing_options_error(self)
        groups = references.references
        names = None if self.image_info is None else load_image_names(self.image_info)
        files = find_image_files(self.images, groups, names)
        model = load_clip_model(self.checkpoint, self.device)

        def encode(captions: Sequence[str]) -> FloatArray:
            return model.encode_texts([f"{_PREFIX}{caption}" for caption in captions], self.batch)

        images = model.encode_images(files, self.batch)
        texts = encode([text for group in groups.values() for text in group])
        of_image = np.split(texts, np.cumsum(groups.counts)[:-1])

        def score(candidates: TokenizedCandidates) -> FloatArray:
            positions = candidates.positions
            captions = encode(candidates.captions())
            others = [of_image[place] for place in positions.tolist()]
            scores = compare_features(captions, images[positions], others)
            return np.column_stack([scores, np.ones(len(scores))])

        return score


def compare_features(
    captions: FloatArray, images: FloatArray, references: Sequence[FloatArray]
) -> FloatArray:
    """Return CLIPScore and RefCLIPScore of each caption from features of any length.

    Lines 156 to 159 of `clipscore.py` are CLIPScore, lines 186 to 201 the maximum similarity with a
    reference, and line 244 is RefCLIPScore. Negative similarities with references are 0, as in the paper.

    Args:
        captions: The features of the captions, of shape `(captions, dimension)`.
        images: The features of the image of each caption, of the same shape.
        references: The features of the references of its image, each of shape `(references, dimension)`.

    Returns:
        The scores, of shape `(captions, 2)`.

    Example:
        The caption is as similar to the image, with a cosine of 0.6, as to the second reference:

        >>> import numpy as np
        >>> from capeval.metrics.clip_score import compare_features
        >>> references = np.array([[0.0, 1.0], [0.6, 0.8]])
        >>> compare_features(np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]]), [references]).round(3)
        array([[1.5  , 0.857]])
    """
    captions, images = _normalize(captions), _normalize(images)
    score = _WEIGHT * np.maximum(np.sum(captions * images, axis=1), 0)
    nearest = np.array(
        [
            max(0.0, float(np.max(_normalize(each) @ caption)))
            for caption, each in zip(captions, references, strict=True)
        ]
    )
    total = score + nearest
    return np.column_stack([score, 2 * score * nearest / np.where(total > 0, total, 1)])


def _normalize(features: FloatArray) -> FloatArray:
    normalized: FloatArray = features / np.linalg.norm(features, axis=1, keepdims=True)
    return normalized
