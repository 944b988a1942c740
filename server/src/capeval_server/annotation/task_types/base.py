"""Task types, the kinds of work in campaigns, and their registry.

A task type is one class: in a module of this folder, with the decorator `register`, or in another
distribution, with an entry point of the group `capeval_server.task_types`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from capeval.errors import OptionError
from capeval.toolkit import PluginGroup, Registry
from capeval_server.annotation.task_types.results import TaskResult
from capeval_server.core.errors import AnswerError, CampaignError

__all__ = [
    "GROUP",
    "ITEMS",
    "LONGEST_TEXT",
    "SIDES",
    "TASKS",
    "TEXTS",
    "ChoiceQuestion",
    "OneQuestion",
    "TaskType",
    "checked_keys",
    "checked_text",
    "chosen",
    "is_storable",
    "register",
    "task_named",
    "template_consent",
    "template_text",
]

GROUP = "capeval_server.task_types"
"""The entry point group in which other distributions name their task types."""

SIDES = ("left", "right")
# What an item calls the two texts that are shown side by side: the first is on the left, unless mirrored.
ITEMS = ("first", "second")
TEXTS = Path(__file__).parents[2] / "templates" / "annotation" / "texts"
# The most characters of one text of an item.
LONGEST_TEXT = 5000


@dataclass(frozen=True, kw_only=True)
class ChoiceQuestion:
    """A question that is answered by choosing.

    Attributes:
        label: The question.
        labels: What each choice says, by what a browser sends for it.
    """

    label: str
    labels: Mapping[str, str]


class TaskType(ABC):
    """A kind of task. `payload` is what an item of a campaign holds: it never changes.

    Attributes:
        name: What campaign files and addresses call it.
        title: What people call it.
        answers: How many answers an item needs, by default.
        batch: How many items a worker gets at once, by default.
        lease_seconds: How long an item is kept for a worker who shows no activity.
        needs_image: Whether an item has an image.
        has_sides: Whether two things are shown side by side, which can be mirrored.
        curtailed: Whether an item ends, by default, when further answers can't change which of its texts most
            choose; None for kinds whose result is a share or a mean of answers, which that would bias.
        votes_once: Whether the answers to an item are one vote, their majority, on the pair that its group
            is; else each answer is a vote.
        reviewed: Whether people review the answers. Answers of other kinds are judged by checks.
        written: The part of an answer that is a sentence of the worker's, which rules look at; empty where
            there is none.
        choices: The questions that are answered by choosing, by the name that a browser sends; the page of a
            kind without any has a form of its own.
        texts: The names of the texts that ship for it, without `.md`; the first is the default.
        texts_folder: The folder of these texts; in another distribution, such as `Path(__file__).parent`.
        text_rules: The levels of rules for sentences that go with a text, where they differ from the
            defaults.
        result: What its counted answers become: captions, ratings of systems, or votes on pairs.
        example: An item for the form of new campaigns, without `key` and `image`.
        seconds: The assumed duration of an answer, before any is measured.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    answers: ClassVar[int]
    batch: ClassVar[int] = 1
    lease_seconds: ClassVar[int]
    needs_image: ClassVar[bool]
    has_sides: ClassVar[bool] = False
    curtailed: ClassVar[bool | None] = None
    votes_once: ClassVar[bool] = False
    reviewed: ClassVar[bool] = False
    written: ClassVar[str] = ""
    choices: ClassVar[Mapping[str, ChoiceQuestion]] = {}
    texts: ClassVar[tuple[str, ...]]
    texts_folder: ClassVar[Path] = TEXTS
    text_rules: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    result: ClassVar[TaskResult]
    example: ClassVar[Mapping[str, Any]]
    seconds: ClassVar[int] = 10

    def example_item(self) -> dict[str, Any]:
        """Return an item as a line of a campaign's file."""
        return {"key": "1", **({"image": "street.jpg"} if self.needs_image else {}), **self.example}

    def example_answer(self) -> dict[str, Any]:
        """Return a valid raw answer: by default, the first choice of each question."""
        return {name: next(iter(question.labels)) for name, question in self.choices.items()}

    @abstractmethod
    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The payload of an item of a campaign file.

        Args:
            raw: What the file says of the item, without what all kinds have: `key`, `image`, `group`,
                `category`, `expected`.

        Raises:
            CampaignError: It is not what this kind needs. The caller says of which item.
        """

    @abstractmethod
    def answer(self, payload: Mapping[str, Any], raw: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """What is stored of a raw answer: in terms of the item, whatever side its parts were shown on.

        Args:
            payload: The item's payload.
            raw: What a browser or program sent.
            mirrored: Whether the sides were shown mirrored.

        Raises:
            AnswerError: The answer is not valid; the message is for the worker.
        """

    @abstractmethod
    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Exactly what the worker's browser may get of an item; the image is added by its own token.

        Never a system, a class, an expected answer, a file name, or another worker's answer.

        Args:
            payload: The item's payload.
            mirrored: Whether to show the sides mirrored.
        """

    def check_expected(self, payload: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Refuses what no answer to a check could be: then nobody would ever pass it.

        Args:
            payload: The item's payload.
            expected: What the campaign's file expects.

        Raises:
            AnswerError: It can't be an answer.
        """
        possible = self._possible(payload)
        for name, value in expected.items():
            if name not in possible:
                raise AnswerError(f"it must be of {', '.join(possible)} (got {name!r})")
            if value not in possible[name]:
                raise AnswerError(f"{name!r} must be one of {', '.join(possible[name])} (got {value!r})")

    def _possible(self, payload: Mapping[str, Any]) -> dict[str, list[str]]:
        """What can be stored of each question that is answered by choosing."""
        found: dict[str, list[str]] = {name: [] for name in self.choices}
        for labels in zip_longest(*(each.labels for each in self.choices.values())):
            # A question with fewer choices than others has its first again.
            pairs = zip(self.choices.items(), labels, strict=True)
            raw = {name: next(iter(each.labels)) if label is None else label for (name, each), label in pairs}
            for name, value in self.answer(payload, raw, mirrored=False).items():
                if value not in found[name]:
                    found[name].append(value)
        return found

    def agrees(self, answer: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        """Whether a stored answer passes a check.

        Args:
            answer: As `answer` returned it.
            expected: What the campaign's file expects, in the same terms.
        """
        return all(answer.get(name) == value for name, value in expected.items())

    def in_words(
        self, payload: Mapping[str, Any], expected: Mapping[str, Any], *, mirrored: bool
    ) -> dict[str, str]:
        """An expected answer by the labels of its questions, as the worker could have chosen it.

        Args:
            payload: The item's payload.
            expected: What the campaign's file expects.
            mirrored: Whether the sides were shown mirrored.
        """
        found = {}
        for name, choices in self.choices.items():
            for value, label in choices.labels.items():
                raw = {other: next(iter(each.labels)) for other, each in self.choices.items()} | {name: value}
                stored = self.answer(payload, raw, mirrored=mirrored)
                if name in expected and stored[name] == expected[name]:
                    found[choices.label] = label
        return found


class OneQuestion(TaskType):
    """A kind that asks one question, `choice`; a choice of a side is one of the text that stands there."""

    def answer(
        self,
        payload: Mapping[str, Any],  # noqa: ARG002
        raw: Mapping[str, Any],
        *,
        mirrored: bool,
    ) -> dict[str, Any]:
        """The choice in terms of the item. Raises an `AnswerError` where it is none of the question's."""
        choice = chosen(raw, tuple(self.choices["choice"].labels))
        return {"choice": item_choice(choice, mirrored=mirrored)}


def item_choice(choice: str, *, mirrored: bool) -> str:
    """Which of an item's two texts was chosen by its side; what is no side stays, such as "equal"."""
    if choice not in SIDES:
        return choice
    return ITEMS[SIDES.index(choice) ^ mirrored]


_Kind = TypeVar("_Kind", bound=type[TaskType])
_REQUIRED = ("name", "title", "answers", "lease_seconds", "needs_image", "texts", "result", "example")


def register(kind: _Kind) -> _Kind:
    """Add a task type to `TASKS`.

    Raises:
        TypeError: It is no subclass of `TaskType`, or lacks a method.
        ValueError: It lacks an attribute or a text, or a text has the name of another text.
        DuplicateNameError: Another task type has its name.
    """
    made = _checked(kind)
    TASKS.add({made.name: made}, kind.__module__)
    return kind


def _adopt(_: EntryPoint, kind: object) -> None:
    # A module may register its class by itself.
    if not any(type(task) is kind for task in TASKS.registered()):
        register(cast(type[TaskType], kind))


TASKS: Registry[TaskType] = Registry("task type", PluginGroup(GROUP, _adopt))
"""The task types by name. Those of other distributions are imported when they are first needed."""


def _checked(kind: type[TaskType]) -> TaskType:
    """Return a task type after checks of its declaration."""
    if not (isinstance(kind, type) and issubclass(kind, TaskType)):
        raise TypeError(f"{kind!r} must be a subclass of TaskType")
    missing = [name for name in _REQUIRED if not hasattr(kind, name)]
    if missing:
        raise ValueError(f"{kind.__name__} must have the attribute {missing[0]!r}")
    made = kind()
    for text in kind.texts:
        if other := next((task for task in TASKS.registered() if text in task.texts), None):
            raise ValueError(f"the text {text!r} of {kind.name!r} is taken by {other.name!r}")
        if not _text_path(made, text).is_file():
            raise ValueError(f"the text {text!r} of {kind.name!r} must be in {_text_path(made, text)}")
    return made


def task_named(name: str) -> TaskType:
    """The kind with a name.

    Raises:
        OptionError: There is none.
    """
    if name not in TASKS:
        raise OptionError(f"'kind' must be one of {', '.join(TASKS)} (got {name!r})")
    return TASKS[name]


def _text_path(task: TaskType, name: str) -> Path:
    return task.texts_folder / f"{name}.md"


def template_text(name: str) -> str:
    """The Markdown of a text that ships: its first line, a heading, is the question or the title.

    Raises:
        OptionError: There is none.
    """
    texts = {text: task for task in TASKS.values() for text in task.texts}
    if name not in texts:
        raise OptionError(f"'text' must be one of {', '.join(sorted(texts))} (got {name!r})")
    return _text_path(texts[name], name).read_text(encoding="utf-8")


def template_consent() -> str:
    """The Markdown that workers agree to where a campaign has no other."""
    return (TEXTS.parent / "consent.md").read_text(encoding="utf-8")


def checked_keys(raw: Mapping[str, Any], needed: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuses an item that lacks a part, or has one that its kind does not know.

    Raises:
        CampaignError: It does.
    """
    for name in needed:
        if name not in raw:
            raise CampaignError(f"must have {name!r}")
    unknown = sorted(set(raw) - {*needed, *optional})
    if unknown:
        known = ", ".join((*needed, *optional))
        raise CampaignError(f"has {unknown[0]!r}, which its kind does not know: it knows {known}")


def is_storable(text: str) -> bool:
    """Whether all databases can store a text: it has no zero characters and no lone surrogates."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def checked_text(name: str, value: object) -> str:
    """A text of an item, without white space at its ends.

    Raises:
        CampaignError: It is not text, is empty or too long, or no database can store it.
    """
    if not isinstance(value, str) or not value.strip():
        raise CampaignError(f"{name!r} must be a text that is not empty")
    if len(value) > LONGEST_TEXT:
        raise CampaignError(f"{name!r} must have at most {LONGEST_TEXT:,} characters (got {len(value):,})")
    if not is_storable(value):
        raise CampaignError(f"{name!r} must not have zero characters or lone surrogates")
    return value.strip()


def chosen(raw: Mapping[str, Any], choices: Sequence[str], name: str = "choice") -> str:
    """The choice of a raw answer that has nothing but a choice.

    Args:
        raw: The answer.
        choices: What can be chosen.
        name: What to call it in the message.

    Raises:
        AnswerError: It is none of the choices.
    """
    value = raw.get("choice")
    if set(raw) != {"choice"} or value not in choices:
        raise AnswerError(f"{name!r} must be {' or '.join(choices)}, and nothing else be sent")
    return str(value)
