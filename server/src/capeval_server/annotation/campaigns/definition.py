"""Parser of campaign definitions: `campaign.toml`, its texts and its items."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from capeval.errors import CaptionError, FormatError, OptionError
from capeval.formats.images import ImageInfo, load_images
from capeval_server.annotation.campaigns.columns import ColumnMap, check_columns
from capeval_server.annotation.campaigns.item_tables import Row, read_json_lines
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.task_types import TaskType, task_named
from capeval_server.annotation.task_types.base import (
    LONGEST_CATEGORY,
    template_consent,
    template_text,
    validate_text,
)
from capeval_server.annotation.task_types.quiz import QUIZ, quiz_lines
from capeval_server.annotation.text_rules.rules import RuleSettings, complete_rules
from capeval_server.core.errors import AnswerError, CampaignError, CampaignFilesError
from capeval_server.core.validation_problems import LINE, NAME, list_problems

__all__ = [
    "LONGEST_MARKDOWN",
    "CampaignDefinition",
    "ItemDefinition",
    "parse_items",
    "read_definition",
    "read_items",
    "read_markdown",
    "read_panel",
    "read_rules",
]

Name = Annotated[str, Field(pattern=NAME, max_length=50)]
_COMMON = ("key", "image", "group", "category", "expected", "training", "explanation")
_LONGEST_KEY = 100
_SUBMISSION = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Maximum length in characters of instructions or of a consent text.
LONGEST_MARKDOWN = 100_000


class _CampaignPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    slug: Name
    title: Annotated[str, Field(min_length=1, max_length=200, pattern=LINE)]
    kind: str
    challenge: Name | None = None
    # The name of a built-in text; or a Markdown file in the folder of the definition.
    text: str | None = None
    instructions: str | None = None
    consent: str | None = None
    # The name of a built-in quiz, on the rules of the text with the same name.
    quiz: str | None = None
    # A file, or the results files of systems to compare; without one, each image of the folder is an item.
    items: str | list[str] | None = None
    images: str | None = None
    # A file in COCO's format with the addresses and licenses of the images.
    image_info: str | None = None


@dataclass(frozen=True, kw_only=True)
class CampaignDefinition:
    """Content of a campaign's file.

    Attributes:
        slug: Name of the campaign in URLs.
        title: Title of the campaign.
        kind: Task type of the campaign.
        challenge: Name of the campaign's challenge, if any.
        instructions: Instructions for workers, in Markdown.
        consent: Consent text for workers, in Markdown.
        options: Settings of the campaign.
        rules: Levels of caption rules that differ from their defaults, and word lists.
        items: Names of the file of items, or of the results files of systems to compare; empty if each image
            is an item.
        columns: The column of each part of an item, if the file's own names are not recognized.
        quiz: Lines of additional items, from the quiz that the definition names.
        images: Name of the folder of images, if any.
        sources: Addresses and licenses of images, by file name.
        systems: Ids of the judged submissions, by the names of their systems in the items.
    """

    slug: str
    title: str
    kind: TaskType
    challenge: str | None
    instructions: str
    consent: str
    options: CampaignOptions
    rules: dict[str, Any]
    items: tuple[str, ...]
    columns: ColumnMap
    quiz: Sequence[bytes]
    images: str | None
    sources: Mapping[str, ImageInfo]
    systems: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class ItemDefinition:
    """An item of a campaign's file.

    Attributes:
        key: Identifier of the item.
        image: Name of the image; empty if the item has none.
        group: Identifier shared by related items.
        category: Class of the item.
        payload: Content of the item for its task type.
        expected: Answer that passes, if the item is a check; else empty.
        training: Whether the item is a training item.
        explanation: Explanation of the expected answer, for training items.
        is_quiz: Whether the item is a quiz question about the caption rules.
    """

    key: str
    image: str
    group: str
    category: str
    payload: dict[str, Any]
    expected: dict[str, Any]
    training: bool = False
    explanation: str = ""
    is_quiz: bool = False


def read_definition(name: str, read: Callable[[str], bytes]) -> CampaignDefinition:
    """Parse a campaign's file, and read the texts that it names.

    Args:
        name: Name of the file.
        read: Returns the content of a file by name.

    Raises:
        CampaignError: The definition is invalid.
        OSError: A file can't be read.
    """
    content = _parse_toml(name, read)
    _check_parts(name, content)
    try:
        about = _CampaignPart.model_validate(content.get("campaign", {}))
        task = task_named(about.kind)
        options = CampaignOptions.of_kind(about.kind, **_get_table(name, content, "settings"))
        rules = _get_table(name, content, "rules")
        if rules and not task.written:
            raise CampaignError(f"{name}: rules require a task type that collects captions")
        rules = {**task.text_rules.get(about.text or "", {}), **rules}
        RuleSettings.stored(rules)
        if task.written:
            rules = complete_rules(rules, options.language)
        instructions = _read_instructions(read, about, task)
        quiz = _get_quiz(about, task)
    except ValidationError as error:
        place = "campaign" if error.title == _CampaignPart.__name__ else "settings"
        raise CampaignError(f"{name}: {'; '.join(list_problems(error, place))}") from None
    except (OptionError, CaptionError) as error:
        raise CampaignError(f"{name}: {error}") from None
    return CampaignDefinition(
        slug=about.slug,
        title=about.title,
        kind=task,
        challenge=about.challenge,
        instructions=instructions,
        consent=_read_text(read, about.consent) if about.consent else template_consent(task),
        options=options,
        rules=rules,
        items=(about.items,) if isinstance(about.items, str) else tuple(about.items or ()),
        columns=check_columns(name, _get_table(name, content, "columns")),
        quiz=quiz,
        images=about.images,
        sources=_read_sources(read, about.image_info) if about.image_info else {},
        systems=_get_systems(name, content),
    )


def _read_sources(read: Callable[[str], bytes], name: str) -> dict[str, ImageInfo]:
    """Return the addresses and licenses of images, by file name."""
    try:
        found = load_images(read(name), name=name)
    except FormatError as error:
        raise CampaignError(str(error)) from None
    return {each.file_name: each for each in found if each.file_name}


def read_rules(name: str, content: bytes) -> dict[str, Any]:
    """Parse the part `rules` of a campaign's file, or of a file with only this part.

    Args:
        name: Name of the file in error messages.
        content: Content of the file.

    Raises:
        CampaignError: The part is missing or invalid.
    """
    found = _parse_toml(name, lambda _: content)
    _check_parts(name, found)
    if "rules" not in found:
        raise CampaignError(f"{name}: missing part 'rules'")
    return _get_table(name, found, "rules")


def _check_parts(name: str, content: Mapping[str, Any]) -> None:
    parts = ("campaign", "settings", "rules", "systems", "columns")
    unknown = sorted(set(content) - set(parts))
    if unknown:
        raise CampaignError(f"{name}: unknown part {unknown[0]!r} (allowed: {', '.join(parts)})")


def read_panel(name: str, read: Callable[[str], bytes]) -> dict[str, Any]:
    """Parse the file of a panel, and read its key set.

    Raises:
        CampaignError: The file is not TOML, or the key set is not JSON.
        OSError: A file can't be read.
    """
    content = _parse_toml(name, read)
    signed = content.get("signed")
    if isinstance(signed, dict) and isinstance(signed.get("keys"), str):
        try:
            signed["keys"] = json.loads(read(signed["keys"]))
        except (ValueError, RecursionError):
            raise CampaignError(f"{signed['keys']} must be JSON in UTF-8") from None
    return content


def _parse_toml(name: str, read: Callable[[str], bytes]) -> dict[str, Any]:
    try:
        return tomllib.loads(read(name).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CampaignError(f"{name} must be TOML in UTF-8 ({error})") from None


def _get_table(name: str, content: Mapping[str, Any], part: str) -> dict[str, Any]:
    found = content.get(part, {})
    if not isinstance(found, dict):
        raise CampaignError(f"{name}: {part} must be a table (got {found!r})")
    return found


def _get_systems(name: str, content: Mapping[str, Any]) -> dict[str, str]:
    found = _get_table(name, content, "systems")
    for system, submission in found.items():
        if not isinstance(submission, str) or not _SUBMISSION.fullmatch(submission):
            raise CampaignError(
                f"{name}: systems.{system} must be the id of a submission, as in its URL (got {submission!r})"
            )
    return found


def _read_instructions(read: Callable[[str], bytes], about: _CampaignPart, task: TaskType) -> str:
    if about.instructions is not None:
        if about.text is not None:
            raise CampaignError("campaign.text and campaign.instructions cannot be combined")
        return _read_text(read, about.instructions)
    return template_text(about.text or task.texts[0])


def _get_quiz(about: _CampaignPart, task: TaskType) -> Sequence[bytes]:
    if about.quiz is None:
        return ()
    if not task.written:
        raise CampaignError("campaign.quiz requires a task type that collects captions")
    return quiz_lines(about.quiz)


def _read_text(read: Callable[[str], bytes], name: str) -> str:
    return read_markdown(name, read(name))


def read_markdown(name: str, content: bytes) -> str:
    """Decode and validate a text for workers.

    Raises:
        CampaignError: The file is not UTF-8, is empty or too long.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise CampaignError(f"{name}: the file must be Markdown in UTF-8") from None
    if not text.strip() or len(text) > LONGEST_MARKDOWN or "\0" in text:
        raise CampaignError(f"{name}: the file must have 1 to {LONGEST_MARKDOWN:,} characters")
    return text


def read_items(name: str, lines: Iterable[bytes], task: TaskType) -> Iterator[ItemDefinition]:
    """Parse items from lines with one JSON object each.

    Args:
        name: Name of the file in error messages.
        lines: Lines of the file.
        task: Task type of the items.

    Raises:
        CampaignFilesError: Items are invalid, or two items have the same key.
        CampaignError: There are no items.
    """
    problems: list[str] = []
    number = 0
    for item in parse_items(read_json_lines(lines), task, problems):
        number += 1
        yield item
    if problems:
        raise CampaignFilesError(name, problems)
    if not number:
        raise CampaignError(f"{name}: the file contains no items")


def parse_items(
    rows: Iterable[Row], task: TaskType, problems: list[str], taken: Collection[str] = ()
) -> Iterator[ItemDefinition]:
    """Parse items, and yield the valid ones.

    Args:
        rows: The place and the content of each item, or the problem of an invalid row.
        task: Task type of the items.
        problems: Receives the problems of the other rows, with their places.
        taken: Keys of earlier items.
    """
    known = dict.fromkeys(taken, "in the campaign")
    for place, row in rows:
        try:
            item = _parse_item(row, task)
            _reject_known(known, item, place)
        except CampaignError as error:
            problems.append(f"{place}: {error}")
        else:
            yield item


def _reject_known(known: dict[str, str], item: ItemDefinition, place: str) -> None:
    """Reject an item with the key of another; `known` receives the places of the others."""
    if item.key in known:
        raise CampaignError(f"duplicate 'key' {item.key!r} ({known[item.key]}); keys must be unique")
    known[item.key] = place


def _parse_item(raw: object, task: TaskType) -> ItemDefinition:
    if not isinstance(raw, dict):
        raise CampaignError(str(raw))
    key = _parse_short_text("key", raw.get("key"), _LONGEST_KEY)
    is_quiz = QUIZ.name in raw and bool(task.written)
    task = QUIZ if is_quiz else task
    image = _parse_short_text("image", raw["image"], 200) if "image" in raw else ""
    if bool(image) != task.needs_image:
        needs = "must" if task.needs_image else "must not"
        raise CampaignError(f"{key}: an item of the task type {task.name} {needs} have an 'image'")
    rest = {part: value for part, value in raw.items() if part not in _COMMON}
    try:
        payload = task.payload(rest)
    except CampaignError as error:
        raise CampaignError(f"{key}: {error}") from None
    training = _parse_training(key, raw, task)
    category = _parse_short_text("category", raw["category"], LONGEST_CATEGORY) if "category" in raw else ""
    return ItemDefinition(
        training=training,
        is_quiz=is_quiz,
        explanation=validate_text("explanation", raw["explanation"]) if "explanation" in raw else "",
        key=key,
        image=image,
        group=_parse_short_text("group", raw["group"], _LONGEST_KEY) if "group" in raw else "",
        category=category,
        payload=payload,
        expected=_parse_expected(key, raw["expected"], task, payload) if "expected" in raw else {},
    )


def _parse_training(key: str, raw: Mapping[str, Any], task: TaskType) -> bool:
    found = raw.get("training", False)
    if not isinstance(found, bool):
        raise CampaignError(f"{key}: 'training' must be true or false (got {found!r})")
    if found and "expected" not in raw:
        raise CampaignError(f"{key}: 'training' requires 'expected'")
    if task is QUIZ and not found:
        raise CampaignError(f"{key}: {QUIZ.name!r} requires 'training'")
    if "explanation" in raw and not found:
        raise CampaignError(f"{key}: 'explanation' requires 'training'")
    return found


def _parse_expected(key: str, value: object, task: TaskType, payload: Mapping[str, Any]) -> dict[str, Any]:
    must = f"{key}: 'expected' must be a JSON object: an answer in terms of the item"
    if not isinstance(value, Mapping) or not value:
        raise CampaignError(must)
    try:
        task.check_expected(payload, value)
    except AnswerError as error:
        raise CampaignError(f"{must}: {error}") from None
    return dict(value)


def _parse_short_text(name: str, value: object, most: int) -> str:
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
        raise CampaignError(f"{name!r} must be a printable text of 1 to {most} characters (got {value!r})")
    return value
