"""Results of task types: captions, numbers for systems, or votes on pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from capeval.studies.judging import Question

__all__ = ["CaptionResult", "RatedQuestion", "RatingResult", "TaskResult"]


class TaskResult:
    """Result of a task type: the form in which releases contain the counted answers.

    Attributes:
        judges_systems: Whether answers judge captions. If so, participants of the challenge can't work on the
            campaign, and releases contain `human.csv` instead of captions.
    """

    judges_systems: ClassVar[bool] = True

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of `human.csv`; each is a column of the challenge's page."""
        return ()

    @property
    def yes(self) -> tuple[str, ...]:
        """The stored choices that count as yes; empty if the result is not a share."""
        return ()


class CaptionResult(TaskResult):
    """Captions of images, from the part `written` of each answer."""

    judges_systems = False


@dataclass(frozen=True, kw_only=True)
class RatedQuestion:
    """A number in each answer, which `capeval study` reads as a column of ratings.

    Attributes:
        question: The question: its name, the meaning of its values, and its valid numbers.
        number: Returns the number of a stored answer.
        yes: The stored choices that count as yes; empty if values are means.
        shown_with: Another question that must have a column for this one to be shown; empty for none.
    """

    question: Question
    number: Callable[[Mapping[str, str]], float]
    yes: tuple[str, ...] = ()
    shown_with: str = ""

    @classmethod
    def of_choices(
        cls, question: Question, numbers: Mapping[str, float], *, shown_with: str = ""
    ) -> RatedQuestion:
        """Return the question of a task type with one choice.

        Args:
            question: The question.
            numbers: The number of each stored choice.
            shown_with: Another question that must have a column for this one to be shown.
        """

        def number(answer: Mapping[str, str]) -> float:
            (choice,) = answer.values()
            return numbers[choice]

        yes = tuple(choice for choice, value in numbers.items() if value in question.yes)
        return cls(question=question, number=number, yes=yes, shown_with=shown_with)


@dataclass(frozen=True)
class RatingResult(TaskResult):
    """Numbers for systems: each item is a caption by the payload's `system`.

    Attributes:
        rated: The numbers in each answer.
        caption: The part of the payload with the rated caption.
    """

    rated: tuple[RatedQuestion, ...]
    caption: str = "caption"

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in the order of the numbers."""
        return tuple(each.question for each in self.rated)

    @property
    def yes(self) -> tuple[str, ...]:
        """The choices that count as yes, if there is one question."""
        return self.rated[0].yes if len(self.rated) == 1 else ()
