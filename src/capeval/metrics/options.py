"""Options of metrics: descriptions, and values as in `CIDEr-D(sigma=6)`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from capeval.errors import OptionError
from capeval.metrics.base import Metric, format_option

__all__ = [
    "MetricOption",
    "describe_options",
    "list_metric_options",
    "parse_options",
    "split_metrics",
    "split_options",
]

_TYPES: Mapping[object, Literal["flag", "integer", "number", "text", "file"]] = {
    bool: "flag",
    int: "integer",
    float: "number",
    str: "text",
    Path: "file",
}
_FLAGS = {"true": True, "false": False}
_ARGUMENT = re.compile(r"^ {4}(\w+): (.+(?:\n {8,}.+)*)", re.MULTILINE)
_SPEC = re.compile(r"\s*([^()]*?)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_METRIC_SEPARATOR = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, kw_only=True)
class MetricOption:
    """An option of a metric, as declared and documented in its dataclass.

    Attributes:
        name: The name of the field.
        type: The type of its value, or of each value in a tuple. A `file` is a path, which only the command
            line accepts as text.
        default: The default value.
        help: Its description in the docstring of the class.
        choices: The allowed values of a `choice`.
        is_tuple: Whether the value is a tuple, written as a comma-separated list.
        is_optional: Whether the value may be None, written as `none`.
    """

    name: str
    type: Literal["flag", "integer", "number", "text", "file", "choice"]
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    is_tuple: bool = False
    is_optional: bool = False

    def parse(self, text: str) -> Any:
        """Parse a value.

        Raises:
            OptionError: The text is not a value of this type.
        """
        if self.is_optional and text.strip().lower() == "none":
            return None
        if self.is_tuple:
            return tuple(self._parse_one(part.strip()) for part in text.split(","))
        return self._parse_one(text.strip())

    def show(self, value: object) -> str:
        """Format a value as text that `parse` accepts."""
        return _format_value(value)

    def _parse_one(self, text: str) -> Any:
        try:
            if self.type == "flag":
                return _FLAGS[text.lower()]
            if self.type == "integer":
                return int(text)
            if self.type == "number":
                return float(text)
            if self.type == "file":
                return Path(text)
        except (KeyError, ValueError):
            expected = {"flag": "true or false", "integer": "an integer", "number": "a number"}[self.type]
            message = f"{self.name!r} must be {expected}{', or none' * self.is_optional} (got {text!r})"
            raise OptionError(message) from None
        return text


@cache
def list_metric_options(metric: type[Metric]) -> Mapping[str, MetricOption]:
    """Return the options of a metric class by name, in the order of its fields.

    Fields with data (`NOT_AN_OPTION`) are excluded, and all types except flags, numbers, strings, literals
    and tuples of these.
    """
    types = get_type_hints(metric)
    helps = dict(_ARGUMENT.findall(inspect.cleandoc(metric.__doc__ or "")))
    found = {}
    for field in fields(metric):  # type: ignore[arg-type]
        kinds = _describe_type(types[field.name]) if field.metadata.get("option", True) else None
        if kinds is not None:
            text = " ".join(helps.get(field.name, "").split())
            found[field.name] = MetricOption(name=field.name, default=field.default, help=text, **kinds)
    return found


def _describe_type(annotation: Any) -> dict[str, Any] | None:
    """Return an option's properties by its type; None if it has no textual form."""
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    parts = get_args(annotation)
    if get_origin(annotation) is Literal and all(isinstance(part, str) for part in parts):
        return {"type": "choice", "choices": parts}
    if get_origin(annotation) is tuple and parts[1:] == (...,):
        one = _describe_type(parts[0])
        return None if one is None else {**one, "is_tuple": True}
    if NoneType in parts and len(parts) == 2:
        (other,) = (part for part in parts if part is not NoneType)
        one = _describe_type(other)
        return None if one is None else {**one, "is_optional": True}
    return None


def describe_options(metric: Metric) -> str:
    """Return a metric with the options that differ from the defaults, as on input; empty if none does.

    Options that a variant's name stands for, such as the language of METEOR-de, are left out.

    Example:
        >>> from capeval import Bleu, CiderD
        >>> from capeval.metrics.options import describe_options
        >>> describe_options(CiderD(stem=True)), describe_options(Bleu())
        ('CIDEr-D(stem=true)', '')
    """
    if not is_dataclass(metric):
        return ""
    named = {option for options in metric.variants.values() for option in options}
    changed = [
        f"{each.name}={_format_value(getattr(metric, each.name))}"
        for each in fields(metric)
        if each.metadata.get("option", True)
        and each.name not in named
        and each.default is not MISSING
        and getattr(metric, each.name) != each.default
    ]
    return f"{metric.family}({', '.join(changed)})" if changed else ""


def _format_value(value: object) -> str:
    text = str(value) if isinstance(value, Path) else format_option(value)
    return text.lower() if value is None or isinstance(value, bool) else text


def split_metrics(text: str) -> tuple[str, ...]:
    """Split a comma-separated list of metrics, such as `BLEU,CIDEr-D(n=2,order=2)`."""
    return tuple(part.strip() for part in _METRIC_SEPARATOR.split(text))


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """Split a metric such as `CIDEr-D(sigma=6)` into its name and options.

    Raises:
        OptionError: The text has a different form.
    """
    found = _SPEC.fullmatch(text)
    if found is None:
        raise OptionError(
            f"invalid metric {text!r}; write NAME or NAME(OPTION=VALUE,...), such as CIDEr-D(n=2)"
        )
    name, inside = found.groups()
    options: dict[str, str] = {}
    last = ""
    for part in inside.split(",") if inside else ():
        option, equals, value = (each.strip() for each in part.partition("="))
        if not equals and last:
            # The next value of a tuple, as in `orders=1,2`.
            options[last] += f",{option}"
            continue
        if not equals or not option or option in options:
            raise OptionError(
                f"options of {name} must be written as OPTION=VALUE, each only once (got {part.strip()!r})"
            )
        options[last := option] = value
    return name, options


def parse_options(
    metric: type[Metric], options: Mapping[str, str], *, with_files: bool = False
) -> dict[str, Any]:
    """Parse the values of a metric's options.

    Args:
        metric: The metric.
        options: The text of each option.
        with_files: Whether options may name files. Texts of challenges and reports may not.

    Raises:
        OptionError: The metric has no such option, or a text is not a value of the option's type.
    """
    known = list_metric_options(metric)
    for name in options:
        if name not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            if name == "frequencies":
                has = "on the command line, --frequencies FILE sets document frequencies"
            raise OptionError(f"{metric.family} has no option {name!r}; {has}")
    values = {name: known[name].parse(text) for name, text in options.items()}
    for name, value in values.items():
        if isinstance(value, Path) and not with_files:
            raise OptionError(
                f"{metric.family}({name}={value}): only the command line accepts a file as text; in Python,"
                f" pass {metric.__name__}({name}=Path(...)) as the metric"
            )
    return values
