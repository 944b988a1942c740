"""The tokenizer under pycocoevalcap's name, without Java."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from capeval._internal.language_tokens import suggest_tokenizer
from capeval.data.captions import ImageId
from capeval.errors import CapevalWarning, CaptionError
from capeval.errors.messages import shorten
from capeval.scoring.replay import shifts_later_captions
from capeval.tokenizers import tokenize

__all__ = ["PTBTokenizer"]

_OTHER_LINE_ENDS = "\r\x0b\x0c\u2028\u2029"
_SAMPLE = 100

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
        flat = [text for texts in captions.values() for text in texts]
        tokens = iter(tokenize(flat))
        _warn_about_line_ends(flat)
        _warn_about_script(flat)
        return {image: [" ".join(next(tokens)) for _ in texts] for image, texts in captions.items()}


def _warn_about_line_ends(texts: Sequence[str]) -> None:
    """Warn that pycocoevalcap would score later captions with the tokens of other captions."""
    joined = "\n".join(texts)
    # Searched one by one, which is faster than a pattern.
    if not any(end in joined for end in _OTHER_LINE_ENDS):
        return
    count = sum(map(shifts_later_captions, texts))
    if count:
        captions = "1 caption contains" if count == 1 else f"{count:,} captions contain"
        warnings.warn(
            f"{captions} a line end other than \\n, such as \\r, which is read as a space; pycocoevalcap 1.2"
            " gives later captions the tokens of other captions; for its scores, use capeval.evaluate with"
            " replay='pycocoevalcap-1.2'",
            CapevalWarning,
            stacklevel=3,
        )


def _warn_about_script(texts: Sequence[str]) -> None:
    """Warn if most captions have no spaces between words."""
    suggested = suggest_tokenizer(texts[:_SAMPLE])
    if suggested is not None:
        warnings.warn(
            f"the tokenizer reads sentences without spaces between words, such as {shorten(texts[0])}, as one"
            f" token each; use capeval.evaluate with tokenizer='{suggested}'",
            CapevalWarning,
            stacklevel=3,
        )


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
