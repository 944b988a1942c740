"""The tokenizer under pycocoevalcap's name, without Java."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.data.captions import ImageId
from capeval.errors import CaptionError
from capeval.tokenizers import tokenize

__all__ = ["PTBTokenizer"]

Annotations = Mapping[Any, Sequence[Mapping[str, Any]]]


class PTBTokenizer:
    """The Penn Treebank tokenizer: lower case, without punctuation."""

    def tokenize(self, captions_for_image: Annotations) -> dict[ImageId, list[str]]:
        """Tokenize the captions of each image.

        Args:
            captions_for_image: A mapping of image ids to annotations, each with its text as `caption`.

        Returns:
            A mapping of image ids to captions, as tokens joined by single spaces. As in pycocoevalcap, images
            with an empty list of annotations are excluded.

        Raises:
            CaptionError: An annotation has no caption, or the caption is not a string.
        """
        captions = _collect_captions(captions_for_image)
        tokens = iter(tokenize([text for texts in captions.values() for text in texts]))
        return {image: [" ".join(next(tokens)) for _ in texts] for image, texts in captions.items()}


def _collect_captions(annotations: Annotations) -> dict[ImageId, list[str]]:
    """Return the captions of each image with at least one.

    Raises:
        CaptionError: An annotation has no caption.
    """
    captions = {}
    for image, entries in annotations.items():
        texts = []
        for place, entry in enumerate(entries):
            if not isinstance(entry, Mapping) or "caption" not in entry:
                raise CaptionError(
                    f"annotation {place} of image {image!r} must be a mapping with a 'caption'"
                    f" (got {entry!r:.60})"
                )
            texts.append(entry["caption"])
        if texts:
            captions[image] = texts
    return captions
