"""A question on the rules, in the training before sentences are written: whether one breaks a rule.

No campaign is of this kind: its items are part of the training of another.
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
    checked_keys,
    checked_text,
    task_named,
)

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign, Item

__all__ = ["QUIZ", "quiz_lines", "quizzes", "task_of"]

_QUIZZES = TEXTS.parent / "quizzes"


class QuizTask(OneQuestion):
    """A sentence, of which a worker says whether it breaks a rule."""

    name = "quiz"
    title = "Which sentences break a rule?"
    answers = 1
    lease_seconds = 600
    needs_image = False
    texts = ()
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {
        "choice": ChoiceQuestion(
            label="Does this sentence break a rule?",
            labels={"breaks": "Yes, it breaks a rule", "keeps": "No, it keeps all rules"},
        )
    }

    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The sentence. Raises a `CampaignError` where there is none."""
        checked_keys(raw, (self.name,))
        return {"caption": checked_text(self.name, raw[self.name])}

    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:  # noqa: ARG002
        """The sentence."""
        return {"caption": payload["caption"]}


QUIZ = QuizTask()
"""The kind of task of an item that is a question on the rules."""


def task_of(item: Item, campaign: Campaign) -> TaskType:
    """The kind of task of an item: its campaign's, or a question on the rules."""
    return QUIZ if item.is_quiz else task_named(campaign.kind)


def quizzes() -> tuple[str, ...]:
    """The names of the texts that ship with a quiz on their rules."""
    named = (text for task in TASKS.values() if task.written for text in task.texts)
    return tuple(name for name in named if (_QUIZZES / f"{name}.jsonl").is_file())


def quiz_lines(name: str) -> Sequence[bytes]:
    """The items of the quiz that ships for a text, as lines of a file of items.

    Raises:
        OptionError: There is none.
    """
    if name not in quizzes():
        raise OptionError(f"'quiz' must be one of {', '.join(quizzes())} (got {name!r})")
    return (_QUIZZES / f"{name}.jsonl").read_bytes().splitlines()
