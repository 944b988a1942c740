"""Writing task type: captions of images.

Sources: COCO, section 2; nocaps, section 3.1; CIDEr, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.translation import gettext

from capeval_server.annotation.task_types.base import (
    TaskType,
    is_storable,
    register,
    validate_keys,
    validate_text,
)
from capeval_server.annotation.task_types.results import CaptionResult
from capeval_server.core.errors import AnswerError, CampaignError

__all__ = ["LONGEST_CAPTION", "WriteTask"]

LONGEST_CAPTION = 500
"""Maximum length of a caption in characters; the longest ones of COCO and nocaps have 250."""

_MOST_KEYWORDS = 50


@register
class WriteTask(TaskType):
    """An image, optional keywords, and a field for one sentence."""

    name = "write"
    title = "Write captions"
    answers = 5
    batch = 5
    lease_seconds = 600
    needs_image = True
    reviewed = True
    written = "caption"
    texts = ("write-nocaps", "write-coco", "write-pascal")
    template_titles: ClassVar[Mapping[str, str]] = {
        "write-nocaps": "Write captions with keywords (nocaps)",
        "write-coco": "Write captions (COCO)",
        "write-pascal": "Write captions of the main aspects (PASCAL-50S)",
    }
    # COCO and nocaps ask for eight words. PASCAL-50S does not: 15 % of ABSTRACT-50S's sentences, which were
    # collected in the same way, have fewer.
    text_rules: ClassVar[Mapping[str, Mapping[str, str]]] = {"write-pascal": {"short": "off"}}
    result = CaptionResult()
    example: ClassVar[Mapping[str, Any]] = {"keywords": ["cart", "person"]}
    optional_parts = ("keywords",)
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = {"keywords": ("tags", "objects", "labels")}
    seconds = 60

    def example_answer(self) -> dict[str, Any]:
        """Return a caption that follows the rules."""
        return {"caption": "A person pushes a cart full of fruit across a busy street."}

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords.

        Raises:
            CampaignError: The keywords are not a list of texts, or too many.
        """
        validate_keys(raw, (), ("keywords",))
        keywords = raw.get("keywords", [])
        if not isinstance(keywords, list) or len(keywords) > _MOST_KEYWORDS:
            raise CampaignError(f"'keywords' must be a list of at most {_MOST_KEYWORDS} texts")
        return {"keywords": [validate_text("keywords", keyword) for keyword in keywords]}

    def answer(
        self,
        payload: Mapping[str, Any],  # noqa: ARG002
        raw: Mapping[str, Any],
        *,
        mirrored: bool,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the caption in one line, without white space at its ends.

        Raises:
            AnswerError: The caption is empty, too long, or can't be stored.
        """
        caption = raw.get("caption")
        if set(raw) != {"caption"} or not isinstance(caption, str):
            raise AnswerError("'caption' must be a text, without other parts")
        if not is_storable(caption):
            raise AnswerError(
                gettext("the sentence has a character that can't be stored: please type it again")
            )
        caption = " ".join(caption.split())
        if not caption:
            raise AnswerError(gettext("the sentence must not be empty"))
        if len(caption) > LONGEST_CAPTION:
            text = gettext("the sentence must have at most {most} characters (it has {number})")
            raise AnswerError(text.format(most=LONGEST_CAPTION, number=f"{len(caption):,}"))
        return {"caption": caption}

    def check_expected(self, payload: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Reject a practice sentence that differs from its stored form.

        Raises:
            AnswerError: The sentence is invalid, or would be stored differently.
        """
        stored = self.answer(payload, expected, mirrored=False)
        if stored != expected:
            raise AnswerError(f"it must have the stored form {stored!r}")

    def in_words(
        self,
        payload: Mapping[str, Any],  # noqa: ARG002
        expected: Mapping[str, Any],
        *,
        mirrored: bool,  # noqa: ARG002
    ) -> dict[str, str]:
        """Return the organizers' own sentence."""
        return {gettext("A sentence of the organizers"): str(expected["caption"])}

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:  # noqa: ARG002
        """Return the keywords."""
        return {"keywords": list(payload["keywords"])}
