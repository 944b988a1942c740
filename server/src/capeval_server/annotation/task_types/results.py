"""Results of task types: captions, numbers for systems, or votes on pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from capeval.studies.judging import Question

__all__ = ["CaptionResult", "JudgedQuestion", "RatedQuestion", "RatingResult", "TaskResult"]


@dataclass(frozen=True, kw_only=True)
class JudgedQuestion:
    """An answer to one question, as a row of a release's `judgments.csv`.

    Attributes:
        question: Name of the question.
        choice: The stored choice; None if the value is computed from several choices.
        value: The number that studies use; None if the choice has none.
    """

    question: str
    choice: str | None
    value: float | None


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

    def split_answer(self, task: str, answer: Mapping[str, str]) -> Iterator[JudgedQuestion]:
        """Yield each question of a stored answer.

        Args:
            task: Name of the task type, which is the name of a question that has no other name.
            answer: The stored answer.
        """
        for part, choice in answer.items():
            question = self.name_question(task, part, answer)
            yield JudgedQuestion(question=question, choice=choice, value=self.parse_choice(choice))

    def name_question(self, task: str, part: str, parts: Collection[str]) -> str:
        """Return the name of the question that a part of an answer belongs to.

        Args:
            task: Name of the task type.
            part: The part.
            parts: All parts of the task type's answers.
        """
        return task if len(parts) == 1 else part

    def parse_choice(self, choice: str) -> float | None:
        """Return the number of a choice; None if it has none."""
        try:
            return float(choice)
        except ValueError:
            return None


class CaptionResult(TaskResult):
    """Captions of images, from the part `written` of each answer."""

    judges_systems = False

    def split_answer(self, task: str, answer: Mapping[str, str]) -> Iterator[JudgedQuestion]:  # noqa: ARG002
        """Yield one question without a choice: its answer is the caption."""
        yield JudgedQuestion(question=task, choice=None, value=None)


@dataclass(frozen=True, kw_only=True)
class RatedQuestion:
    """A number in each answer, which `capeval study` reads as a column of ratings.

    Attributes:
        question: The question: its name, the meaning of its values, and its valid numbers.
        number: Returns the number of a stored answer.
        part: The only part of the answer that determines the number; empty if there are several, or if the
            answer has only one.
        yes: The stored choices that count as yes; empty if values are means.
        shown_with: Another question that must have a column for this one to be shown; empty for none.
    """

    question: Question
    number: Callable[[Mapping[str, str]], float]
    part: str = ""
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

    def name_question(self, task: str, part: str, parts: Collection[str]) -> str:
        """Return the name of the rated question, or of a part that is no question of its own."""
        if len(parts) == 1:
            return self.rated[0].question.name
        names = {rated.part: rated.question.name for rated in self.rated if rated.part}
        return names.get(part, super().name_question(task, part, parts))

    def split_answer(self, task: str, answer: Mapping[str, str]) -> Iterator[JudgedQuestion]:
        """Yield each rated question of a stored answer, and the parts that are no question of their own."""
        (only, *others) = answer
        rated_parts = set()
        for rated in self.rated:
            part = rated.part if others else only
            rated_parts.add(part)
            yield JudgedQuestion(
                question=rated.question.name, choice=answer.get(part), value=rated.number(answer)
            )
        for part, judged in zip(answer, super().split_answer(task, answer), strict=True):
            if part not in rated_parts:
                yield judged
