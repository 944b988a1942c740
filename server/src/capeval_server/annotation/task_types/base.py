"""Task types of campaigns, and their registry.

A task type is one class: in a module of this folder, with the decorator `register`, or in another
distribution, with an entry point of the group `capeval_server.task_types`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from django.utils.translation import gettext

from capeval.errors import OptionError
from capeval.toolkit import PluginGroup, Registry
from capeval_server.annotation.task_types.judged_captions import JudgedCaptions
from capeval_server.annotation.task_types.results import TaskResult
from capeval_server.core.errors import AnswerError, CampaignError

__all__ = [
    "GROUP",
    "ITEMS",
    "LONGEST_CATEGORY",
    "LONGEST_TEXT",
    "SIDES",
    "TASKS",
    "TEXTS",
    "ChoiceQuestion",
    "OneQuestion",
    "TaskType",
    "is_storable",
    "register",
    "task_named",
    "template_consent",
    "template_text",
    "validate_choice",
    "validate_keys",
    "validate_text",
]

GROUP = "capeval_server.task_types"
"""The entry point group for task types of other distributions."""

SIDES = ("left", "right")
# The names of an item's two texts that are shown side by side: the first is on the left, unless mirrored.
ITEMS = ("first", "second")
TEXTS = Path(__file__).parents[2] / "templates" / "annotation" / "texts"
# Maximum length in characters of a text of an item, and of its class.
LONGEST_TEXT, LONGEST_CATEGORY = 5000, 50


@dataclass(frozen=True, kw_only=True)
class ChoiceQuestion:
    """A multiple-choice question.

    Attributes:
        label: Text of the question, in English; the pages translate texts that are marked with
            `gettext_noop`.
        labels: Text of each choice, by the value that a browser sends.
    """

    label: str
    labels: Mapping[str, str]


class TaskType(ABC):
    """A task type: a form of work in campaigns.

    An item of a campaign stores a payload in the format of its task type, which never changes.

    Attributes:
        name: Identifier in campaign files and URLs.
        title: Display name.
        answers: Default number of answers per item.
        batch: Default number of items that a worker receives at once.
        lease_seconds: Default duration of a lease without activity, in seconds.
        needs_image: Whether an item has an image.
        has_sides: Whether two things are shown side by side, which can be mirrored.
        curtailed: Whether an item ends, by default, when further answers can't change its winner; None for
            task types whose result is a share or a mean of answers, which early stopping would bias.
        votes_once: Whether the answers to an item are a single vote, their majority, on the pair of the
            item's group; else each answer is a vote.
        reviewed: Whether people review the answers. Answers of other task types are judged by checks.
        written: The part of an answer that is a sentence by the worker, to which caption rules apply; empty
            if there is none.
        choices: Multiple-choice questions, by the name that a browser sends. The page of a task type without
            any has its own form.
        texts: Names of the built-in texts, without `.md`; the first is the default.
        texts_folder: Folder of these texts; in another distribution, for example `Path(__file__).parent`.
        template_titles: The titles of texts in the list of templates, if they differ from the title.
        text_rules: For each text, the levels of caption rules that differ from their defaults.
        result: Form of the results: captions, ratings of systems, or votes on pairs.
        example: Sample item for the creation form, without `key` and `image`.
        optional_parts: Parts of an item that it may lack. The parts of `example` that are neither here nor
            common to all task types are required.
        aliases: Other names of columns that contain a part, for tables of items.
        file_parts: Parts that are the name of the table's file if it has no column for them.
        seconds: Assumed duration of an answer in seconds, until one is measured.
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
    template_titles: ClassVar[Mapping[str, str]] = {}
    text_rules: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    result: ClassVar[TaskResult]
    example: ClassVar[Mapping[str, Any]]
    optional_parts: ClassVar[tuple[str, ...]] = ()
    aliases: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    file_parts: ClassVar[tuple[str, ...]] = ()
    seconds: ClassVar[int] = 10

    def example_item(self) -> dict[str, Any]:
        """Return a sample item as a line of a campaign's file."""
        return {"key": "1", **({"image": "street.jpg"} if self.needs_image else {}), **self.example}

    def example_answer(self) -> dict[str, Any]:
        """Return a valid raw answer: by default, the first choice of each question."""
        return {name: next(iter(question.labels)) for name, question in self.choices.items()}

    @abstractmethod
    def payload(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload of an item of a campaign file.

        Args:
            raw: The item in the file, without the common parts `key`, `image`, `group`, `category` and
                `expected`.

        Raises:
            CampaignError: The item is invalid. The caller adds the key of the item.
        """

    @abstractmethod
    def answer(self, payload: Mapping[str, Any], raw: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Return the stored form of a raw answer, which doesn't depend on the shown sides.

        Args:
            payload: The item's payload.
            raw: The answer as sent by a browser or a program.
            mirrored: Whether the sides were shown mirrored.

        Raises:
            AnswerError: The answer is not valid; the message is for the worker.
        """

    @abstractmethod
    def shown(self, payload: Mapping[str, Any], *, mirrored: bool) -> dict[str, Any]:
        """Return exactly the data of an item that the worker's browser may receive.

        The image is added separately, by its own token. The data must never include a system, a class, an
        expected answer, a file name, or another worker's answer.

        Args:
            payload: The item's payload.
            mirrored: Whether to show the sides mirrored.
        """

    def list_judging_items(self, judged: JudgedCaptions, *, answers: int) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield the items that judge the systems of a challenge, as lines of a campaign's file.

        Task types without these items yield nothing.

        Args:
            judged: The captions of the systems.
            answers: Number of answers that an item needs.
        """
        yield from ()

    def list_judging_checks(self, judged: JudgedCaptions) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        """Yield attention checks for these items, as lines of a campaign's file: at most one per image.

        Task types without known right answers yield nothing.

        Args:
            judged: The captions of the systems.
        """
        yield from ()

    def check_expected(self, payload: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Reject expected answers of checks that no worker could give.

        Args:
            payload: The item's payload.
            expected: The expected answer in the campaign's file. A list accepts each of its choices.

        Raises:
            AnswerError: The expected answer is not a possible answer, or every answer would be right.
        """
        possible = self._list_possible(payload)
        for name, value in expected.items():
            if name not in possible:
                raise AnswerError(f"unknown part {name!r} (allowed: {', '.join(possible)})")
            accepted = _list_accepted(value)
            if not accepted or any(each not in possible[name] for each in accepted):
                raise AnswerError(f"{name!r} must be one of {', '.join(possible[name])} (got {value!r})")
            if len(accepted) > 1 and set(possible[name]) <= set(map(str, accepted)):
                raise AnswerError(f"{name!r} must not accept all answers: {', '.join(possible[name])}")

    def _list_possible(self, payload: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the possible stored values of each multiple-choice question."""
        found: dict[str, list[str]] = {name: [] for name in self.choices}
        for labels in zip_longest(*(each.labels for each in self.choices.values())):
            # A question with fewer choices than others repeats its first one.
            pairs = zip(self.choices.items(), labels, strict=True)
            raw = {name: next(iter(each.labels)) if label is None else label for (name, each), label in pairs}
            for name, value in self.answer(payload, raw, mirrored=False).items():
                if value not in found[name]:
                    found[name].append(value)
        return found

    def agrees(self, answer: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        """Return whether a stored answer passes a check.

        Args:
            answer: The answer, as returned by `answer`.
            expected: The expected answer in the campaign's file, in the same format.
        """
        return all(answer.get(name) in _list_accepted(value) for name, value in expected.items())

    def in_words(
        self, payload: Mapping[str, Any], expected: Mapping[str, Any], *, mirrored: bool
    ) -> dict[str, str]:
        """Return an expected answer in words: the label of the choice by question label.

        The choices are those on the sides that the worker saw. Several accepted choices are joined by "or".

        Args:
            payload: The item's payload.
            expected: The expected answer in the campaign's file.
            mirrored: Whether the sides were shown mirrored.
        """
        found: dict[str, list[str]] = {}
        for name, value in expected.items():
            for each in _list_accepted(value):
                for choice in self.find_choices(payload, {name: each}, mirrored=mirrored).values():
                    question = self.choices[name]
                    found.setdefault(gettext(question.label), []).append(gettext(question.labels[choice]))
        # Translators: it joins the answers to a question that are all right.
        return {label: gettext(" or ").join(labels) for label, labels in found.items()}

    def find_choices(
        self, payload: Mapping[str, Any], answer: Mapping[str, Any], *, mirrored: bool
    ) -> dict[str, str]:
        """Return the choices that a browser would send for a stored answer, by question.

        Args:
            payload: The item's payload.
            answer: The answer, as returned by `answer`, or a part of it.
            mirrored: Whether the sides were shown mirrored.
        """
        found = {}
        for name, choices in self.choices.items():
            for value in choices.labels:
                raw = {other: next(iter(each.labels)) for other, each in self.choices.items()} | {name: value}
                stored = self.answer(payload, raw, mirrored=mirrored)
                if name in answer and stored[name] == answer[name]:
                    found[name] = value
        return found


def _list_accepted(value: object) -> list[object]:
    """Return the choices that a part of an expected answer accepts."""
    return value if isinstance(value, list) else [value]


class OneQuestion(TaskType):
    """Base class of task types with one question, `choice`.

    The choice of a side is stored as the choice of the text on that side.
    """

    def answer(
        self,
        payload: Mapping[str, Any],  # noqa: ARG002
        raw: Mapping[str, Any],
        *,
        mirrored: bool,
    ) -> dict[str, Any]:
        """Return the choice in terms of the item.

        Raises:
            AnswerError: The choice is not a choice of the question.
        """
        choice = validate_choice(raw, tuple(self.choices["choice"].labels))
        return {"choice": item_choice(choice, mirrored=mirrored)}


def item_choice(choice: str, *, mirrored: bool) -> str:
    """Return the text of an item that a side stands for; other choices are unchanged."""
    if choice not in SIDES:
        return choice
    return ITEMS[SIDES.index(choice) ^ mirrored]


_Kind = TypeVar("_Kind", bound=type[TaskType])
_REQUIRED = ("name", "title", "answers", "lease_seconds", "needs_image", "texts", "result", "example")


def register(kind: _Kind) -> _Kind:
    """Add a task type to `TASKS`.

    Raises:
        TypeError: The class is not a subclass of `TaskType`, or lacks a method.
        ValueError: The class lacks an attribute or a text, or the name of a text is taken.
        DuplicateNameError: The name of the task type is taken.
    """
    made = _validate(kind)
    TASKS.add({made.name: made}, kind.__module__)
    return kind


def _register_entry_point(_: EntryPoint, kind: object) -> None:
    # The module may have registered its class with the decorator.
    if not any(type(task) is kind for task in TASKS.registered()):
        register(cast(type[TaskType], kind))


TASKS: Registry[TaskType] = Registry("task type", PluginGroup(GROUP, _register_entry_point))
"""The task types by name. Task types of other distributions are imported when first needed."""


def _validate(kind: type[TaskType]) -> TaskType:
    """Return an instance of a task type after validating its declaration."""
    if not (isinstance(kind, type) and issubclass(kind, TaskType)):
        raise TypeError(f"{kind!r} must be a subclass of TaskType")
    missing = [name for name in _REQUIRED if not hasattr(kind, name)]
    if missing:
        raise ValueError(f"{kind.__name__} must have the attribute {missing[0]!r}")
    made = kind()
    for text in kind.texts:
        if other := next((task for task in TASKS.registered() if text in task.texts), None):
            raise ValueError(f"the name {text!r} of a text of {kind.name!r} is taken by {other.name!r}")
        if not _text_path(made, text).is_file():
            raise ValueError(f"missing text {text!r} of {kind.name!r}: no file {_text_path(made, text)}")
    return made


def task_named(name: str) -> TaskType:
    """Return the task type with a name.

    Raises:
        OptionError: There is no such task type.
    """
    if name not in TASKS:
        raise OptionError(f"'kind' must be one of {', '.join(TASKS)} (got {name!r})")
    return TASKS[name]


def _text_path(task: TaskType, name: str) -> Path:
    return task.texts_folder / f"{name}.md"


def template_text(name: str) -> str:
    """Return a built-in text as Markdown.

    Its first line, a heading, is the question or the title.

    Raises:
        OptionError: There is no such text.
    """
    texts = {text: task for task in TASKS.values() for text in task.texts}
    if name not in texts:
        raise OptionError(f"'text' must be one of {', '.join(sorted(texts))} (got {name!r})")
    return _text_path(texts[name], name).read_text(encoding="utf-8")


def template_consent(task: TaskType) -> str:
    """Return the default consent text of a task type as Markdown: for sentences, or for judgments."""
    name = "consent.md" if task.written else "consent_judgments.md"
    return (TEXTS.parent / name).read_text(encoding="utf-8")


def validate_keys(raw: Mapping[str, Any], needed: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Reject an item with missing or unknown parts.

    Raises:
        CampaignError: A part is missing or unknown.
    """
    for name in needed:
        if name not in raw:
            raise CampaignError(f"missing part {name!r}")
    unknown = sorted(set(raw) - {*needed, *optional})
    if unknown:
        known = ", ".join((*needed, *optional))
        raise CampaignError(f"unknown part {unknown[0]!r} (allowed: {known})")


def is_storable(text: str) -> bool:
    """Return whether all databases can store a text.

    A storable text has no null characters and no lone surrogates.
    """
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def validate_text(name: str, value: object) -> str:
    """Return a text of an item, without white space at its ends.

    Raises:
        CampaignError: The value is not a text, is empty or too long, or can't be stored.
    """
    if not isinstance(value, str) or not value.strip():
        raise CampaignError(f"{name!r} must be a non-empty text")
    if len(value) > LONGEST_TEXT:
        raise CampaignError(f"{name!r} must have at most {LONGEST_TEXT:,} characters (got {len(value):,})")
    if not is_storable(value):
        raise CampaignError(f"{name!r} must not contain null characters or lone surrogates")
    return value.strip()


def validate_choice(raw: Mapping[str, Any], choices: Sequence[str], name: str = "choice") -> str:
    """Return the choice of a raw answer that consists of a single choice.

    Args:
        raw: The answer.
        choices: The possible choices.
        name: Name of the question in the error message.

    Raises:
        AnswerError: The value is not one of the choices.
    """
    value = raw.get("choice")
    if set(raw) != {"choice"} or value not in choices:
        raise AnswerError(f"{name!r} must be {' or '.join(choices)}, without other parts")
    return str(value)
