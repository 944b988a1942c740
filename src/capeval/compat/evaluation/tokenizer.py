"""The tokenizer under the name of the package `evaluation`, without Java."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capeval.compat.tokenizer import ptbtokenizer
from capeval.errors import CaptionError

__all__ = ["PTBTokenizer"]

Corpus = Mapping[Any, Sequence[str]] | Sequence[str] | Sequence[Sequence[str]]


class PTBTokenizer:
    """The Penn Treebank tokenizer: lower case, without punctuation."""

    @classmethod
    def tokenize(cls, corpus: Corpus) -> dict[Any, list[str]]:
        """Tokenize the captions of each image.

        Args:
            corpus: A mapping of image ids to lists of captions; or a list with the caption, or the list of
                captions, of each image. The position in the list is then the image id.

        Returns:
            A mapping of image ids to captions, as tokens joined by single spaces. Images with an empty list
            of captions are excluded.

        Raises:
            CaptionError: The captions have a different form.
        """
        if not isinstance(corpus, Mapping | list | tuple):
            raise CaptionError(f"captions must be a mapping or a list (got {type(corpus).__name__})")
        groups = corpus if isinstance(corpus, Mapping) else dict(enumerate(corpus))
        return ptbtokenizer.PTBTokenizer().tokenize(
            {
                image: [{"caption": text} for text in _list_texts(image, group)]
                for image, group in groups.items()
            }
        )


def _list_texts(image: object, group: object) -> list[Any]:
    if isinstance(group, str):
        return [group]
    if not isinstance(group, list | tuple):
        raise CaptionError(
            f"the captions of image {image!r} must be a string or a list of strings"
            f" (got {type(group).__name__})"
        )
    return list(group)
