"""Fields that a challenge asks submitters to declare, and validation of their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import shorten

__all__ = ["FIELD_TYPES", "DeclaredField", "FieldType", "check_declared", "parse_fields"]

FieldType = Literal["text", "choice", "boolean", "number", "url"]
"""The type of a declared field. Values are always written as text."""

FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)
_YES_NO = ("yes", "no")


@dataclass(frozen=True, kw_only=True)
class DeclaredField:
    """A field that submitters fill in.

    Attributes:
        name: The name of the field.
        type: The type of its values.
        choices: The possible values of the type `choice`.
        phase_choices: The choices that a phase accepts, by the name of the phase; other phases accept all.
        required: Whether each submission must declare it.
        shown: Whether leaderboards show it.
    """

    name: str
    type: FieldType = "text"
    choices: tuple[str, ...] = ()
    phase_choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    required: bool = False
    shown: bool = True

    @property
    def values(self) -> tuple[str, ...]:
        """All possible values, or () if they can't be listed. Leaderboards filter by such fields."""
        return _YES_NO if self.type == "boolean" else self.choices

    def in_phase(self, phase: str) -> DeclaredField:
        """Return the field with the choices that a phase accepts."""
        return replace(self, choices=tuple(self.phase_choices.get(phase, self.choices)))

    def check(self, text: str, phase: str = "") -> str:
        """Return a value in its stored form.

        Args:
            text: The value as declared.
            phase: The phase that must accept the value; by default, any.

        Raises:
            FormatError: The value does not have the type of the field, or the phase does not accept it.

        Examples:
            >>> from capeval.formats.declared_fields import DeclaredField
            >>> DeclaredField(name="extra-data", type="boolean").check("Yes")
            'yes'
        """
        if self.type == "text":
            return text
        try:
            return _CHECKS[self.type](self.in_phase(phase), text.strip())
        except FormatError as error:
            if phase not in self.phase_choices:
                raise
            message = f"{error.message}; phase {phase!r} accepts no other choices"
            raise FormatError(message, kind=error.kind) from None


def _check_choice(declared: DeclaredField, text: str) -> str:
    if text not in declared.choices:
        raise _build_error(declared, f"must be one of {', '.join(map(repr, declared.choices))}", text)
    return text


def _check_boolean(field: DeclaredField, text: str) -> str:
    if text.lower() not in _YES_NO:
        raise _build_error(field, "must be yes or no", text)
    return text.lower()


def _check_number(field: DeclaredField, text: str) -> str:
    try:
        is_valid = text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        is_valid = False
    if not is_valid:
        raise _build_error(field, "must be a number, such as 1.5", text)
    return text


def _check_url(field: DeclaredField, text: str) -> str:
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        is_valid = False
    if not is_valid or any(each.isspace() or not each.isprintable() for each in text):
        raise _build_error(field, "must be the address of a page, with http:// or https://", text)
    return text


_CHECKS: Mapping[str, Callable[[DeclaredField, str], str]] = {
    "choice": _check_choice,
    "boolean": _check_boolean,
    "number": _check_number,
    "url": _check_url,
}


def _build_error(field: DeclaredField, problem: str, text: str) -> FormatError:
    return FormatError(f"{field.name!r} {problem} (got {shorten(text)})", kind=FormatErrorKind.WRONG_VALUE)


def parse_fields(entries: Sequence[Mapping[str, Any]]) -> list[DeclaredField]:
    """Return the declared fields of a challenge from its definition or from the API of its server.

    Args:
        entries: One object per field, with `name` and optionally the other attributes.

    Examples:
        >>> from capeval.formats.declared_fields import parse_fields
        >>> parse_fields([{"name": "code", "type": "url"}])[0].type
        'url'
    """
    return [
        DeclaredField(
            name=entry["name"],
            type=entry.get("type", "text"),
            choices=tuple(entry.get("choices", ())),
            phase_choices=entry.get("phase_choices", {}),
            required=entry.get("required", False),
            shown=entry.get("shown", True),
        )
        for entry in entries
    ]


def _describe_missing(field: DeclaredField) -> str:
    values = f" (one of {', '.join(map(repr, field.values))})" if field.values else ""
    return f"{field.name!r}{values}"


def check_declared(
    fields: Sequence[DeclaredField], declared: Mapping[str, str], phase: str = ""
) -> dict[str, str]:
    """Return the declared values of a submission in their stored form.

    Args:
        fields: The fields of the challenge.
        declared: The values by field name.
        phase: The phase that must accept the values; by default, any.

    Raises:
        FormatError: A name is unknown, a value is invalid, or a required field is missing.

    Examples:
        >>> from capeval.formats.declared_fields import check_declared, parse_fields
        >>> fields = parse_fields([{"name": "extra-data", "type": "boolean", "required": True}])
        >>> check_declared(fields, {"extra-data": "No"})
        {'extra-data': 'no'}
    """
    known = {field.name: field for field in fields}
    for name in declared:
        if name not in known:
            message = f"unknown declared field {name!r}; the fields are: {', '.join(known) or 'none'}"
            raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE)
    missing = [field for field in fields if field.required and not declared.get(field.name, "").strip()]
    if missing:
        names = ", ".join(_describe_missing(field.in_phase(phase)) for field in missing)
        raise FormatError(f"a submission must declare {names}", kind=FormatErrorKind.MISSING_FIELD)
    # An empty value of an optional field means that it is not declared.
    return {
        name: known[name].check(text, phase)
        for name, text in declared.items()
        if text.strip() or known[name].type == "text"
    }
