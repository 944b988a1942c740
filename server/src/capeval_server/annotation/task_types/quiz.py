"""Quiz task type: a question about the caption rules, for the training of writers.

No campaign has this task type: its items are part of the training of writing campaigns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from capeval.errors import OptionError
from capeval_server.annotation.task_types.base import (
    TASKS,
    TEXTS,
    ChoiceQuestion,
    OneQuestion,
    TaskType,
    task_named,
    validate_keys,
    validate_text,
)
from capeval_server.core.translatable_texts import gettext_noop

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign, Item

__all__ = ["QUIZ", "quiz_lines", "quizzes", "task_of"]

_QUIZZES = TEXTS.parent / "quizzes"


class QuizTask(OneQuestion):
    """A sentence: the worker decides whether it breaks a rule."""

    name = "quiz"
    title = gettext_noop("Which sentences break a rule?")
    answers = 1
    lease_seconds = 600
    needs_image = False
    texts = ()
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label=gettext_noop("Does this sentence break a rule?"),
            labels={
                "breaks": gettext_noop("Yes, it breaks a rule"),
                "keeps": gettext_noop("No, it keeps all rules"),
            },
        )
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sentence.

        Raises:
            CampaignError: The sentence is missing or invalid.
        """
        validate_keys(raw, (self.name,))
        return {"caption": validate_text(self.name, raw[self.name])}

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:  # noqa: ARG002
        """Return the sentence."""
        return {"caption": payload["caption"]}


QUIZ = QuizTask()
"""The task type of quiz questions about the caption rules."""


def task_of(item: Item, campaign: Campaign) -> TaskType:
    """Return the task type of an item: its campaign's, or the quiz."""
    return QUIZ if item.is_quiz else task_named(campaign.kind)


def quizzes() -> tuple[str, ...]:
    """Return the names of the built-in texts that have a quiz about their rules."""
    named = (text for task in TASKS.values() if task.written for text in task.texts)
    return tuple(name for name in named if (_QUIZZES / f"{name}.jsonl").is_file())


def quiz_lines(name: str) -> Sequence[bytes]:
    """Return the quiz items of a built-in text, as lines of a file of items.

    Raises:
        OptionError: The text does not exist or has no quiz.
    """
    if name not in quizzes():
        raise OptionError(f"'quiz' must be one of {', '.join(quizzes())} (got {name!r})")
    return (_QUIZZES / f"{name}.jsonl").read_bytes().splitlines()
