"""The tokenizer under pyciderevalcap's name, without Java."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from capeval._internal.validation import validate_choice
from capeval.compat.tokenizer import ptbtokenizer
from capeval.errors import CaptionError

__all__ = ["PTBTokenizer"]

_Source = Literal["gts", "res"]


class PTBTokenizer:
    """The Penn Treebank tokenizer: lower case, without punctuation.

    Args:
        _source: The form of the captions: `gts` for the references of each image, `res` for a list of
            results.

    Raises:
        OptionError: `_source` is invalid.
    """

    def __init__(self, _source: _Source = "gts") -> None:
        validate_choice("_source", _source, get_args(_Source))
        self.source = _source

    def tokenize(self, captions_for_image: Any) -> Any:
        """Tokenize the references of each image, or a list of results.

        Args:
            captions_for_image: A mapping of image ids to annotations, each with its text as `caption`; or a
                list of results, each with `image_id` and its text as `caption`.

        Returns:
            A mapping of image ids to captions, as tokens joined by single spaces; or a list of results, each
            with `image_id` and a list of one such caption.

        Raises:
            CaptionError: An annotation or a result has no caption, or the caption is not a string.
        """
        tokenizer = ptbtokenizer.PTBTokenizer()
        if self.source == "gts":
            return tokenizer.tokenize(captions_for_image)
        images = _list_images(captions_for_image)
        tokens = tokenizer.tokenize({row: [result] for row, result in enumerate(captions_for_image)})
        return [{"image_id": image, "caption": tokens[row]} for row, image in enumerate(images)]


def _list_images(results: Sequence[object]) -> list[Any]:
    images = []
    for place, result in enumerate(results):
        if not isinstance(result, Mapping) or "image_id" not in result:
            raise CaptionError(f"res[{place}] must be a mapping with 'image_id' (got {result!r:.60})")
        images.append(result["image_id"])
    return images
