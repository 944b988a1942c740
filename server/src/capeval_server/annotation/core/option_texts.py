"""Groups of options, and the sentences that describe options in a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from pydantic import Field

from capeval_server.annotation.core.languages import describe_language
from capeval_server.annotation.task_types import TaskType

__all__ = ["OptionGroup", "format_count", "render_sentence"]

Sentence = str | Mapping[str, str]


@dataclass(frozen=True)
class OptionGroup:
    """A group of related options: a fieldset of a form.

    Attributes:
        title: Heading.
        is_quality: Whether these are quality settings, which can change in every state of a campaign.
        applies_to: Whether the options have an effect on campaigns of a task type.
    """

    title: str
    is_quality: bool = False
    applies_to: Callable[[TaskType], bool] = lambda _: True

    def option(
        self, title: str, default: Any = ..., sentence: Sentence = "", *, off: str = "", needs: str = ""
    ) -> Any:
        """Declare an option of the group.

        Args:
            title: Label, with the unit.
            default: Default value; if omitted, the default of the task type.
            sentence: Template of the sentence in the summary, or templates by value. `{batch:item}` becomes
                "1 item" or "5 items", `{lease_seconds:time}` becomes "10 minutes"; `{language:language}`
                becomes "German"; other formats are those of Python. An option that occurs in the sentence of
                another option needs none.
            off: Template if the option is 0, false or empty.
            needs: Name of another option; if that option is off, this one has no sentence.
        """
        extra: dict[str, Any] = {"group": self.title, "sentence": sentence, "off": off, "needs": needs}
        return Field(default, title=title, json_schema_extra=extra)


class _Template(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "time":
            return _format_duration(value)
        if format_spec == "language":
            return describe_language(str(value))
        is_noun = format_spec.replace(" ", "").isalpha()
        return format_count(value, format_spec) if is_noun else format(value, format_spec)


def render_sentence(name: str, about: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the sentence that describes an option, or "" if it has none.

    Args:
        name: Name of the option.
        about: Description of the option, from `CampaignOptions.described`.
        values: Values of all options.
    """
    if about["needs"] and not values[about["needs"]]:
        return ""
    sentence = about["sentence"] if values[name] else about["off"]
    template = sentence[values[name]] if isinstance(sentence, Mapping) else sentence
    # The template ends the sentence, also if the value is one.
    texts = {key: value.rstrip(".") if isinstance(value, str) else value for key, value in values.items()}
    return _Template().vformat(template, (), texts)


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 answer, 2 answers."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _format_duration(seconds: int) -> str:
    if seconds % 3600 == 0:
        return format_count(seconds // 3600, "hour")
    return format_count(seconds // 60, "minute") if seconds % 60 == 0 else format_count(seconds, "second")
