"""Messages about invalid definitions and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = [
    "AMOUNT",
    "COUNTRY",
    "CURRENCY",
    "DOMAIN",
    "END_CODE",
    "LINE",
    "NAME",
    "PANEL",
    "PARAMETER",
    "REWARD",
    "describe_problem",
    "list_problems",
]

# Patterns of texts. Pydantic's messages contain the pattern itself.
AMOUNT = r"^(\d{1,6}(\.\d{1,4})?)?$"
CURRENCY = r"^([A-Z]{3})?$"
COUNTRY = r"^[A-Z]{2}$"
DOMAIN = r"^[a-z0-9-]+(\.[a-z0-9-]+)+$"
END_CODE = r"^[A-Za-z0-9_-]{4,50}$"
LINE = r"^[^\x00-\x1f]*$"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
PANEL = r"^[a-z0-9][a-z0-9_-]{0,49}$"
PARAMETER = r"^[A-Za-z0-9_.-]{1,50}$"
REWARD = r"^\d{1,4}(\.\d{1,2})?$"
_DESCRIPTIONS = {
    AMOUNT: "a decimal number, such as 0.12, or empty",
    CURRENCY: "three capital letters, such as EUR, or empty",
    COUNTRY: "two capital letters, such as US",
    DOMAIN: "the domain of email addresses in lower case, such as uni.edu",
    END_CODE: "4 to 50 letters, digits, '-' and '_'",
    LINE: "one line without control characters",
    NAME: "letters, digits, '-' and '_', and begin with a letter or digit",
    PANEL: "1 to 50 lowercase letters, digits, '-' and '_', and begin with a letter or digit",
    PARAMETER: "1 to 50 letters, digits, '-', '_' and '.'",
    REWARD: "a decimal number, such as 0.50",
}


def describe_problem(problem: Mapping[str, Any]) -> str:
    """Return the message of a validation error, without the name of its field.

    Args:
        problem: One of the error's `errors()`.
    """
    if described := _DESCRIPTIONS.get(problem.get("ctx", {}).get("pattern", "")):
        return f"must be {described} (got {problem['input']!r})"
    message = str(problem["msg"]).removeprefix("Value error, ")
    field = problem["loc"][-1] if problem["loc"] else ""
    return message.removeprefix(f"{field} ").removeprefix(f"{field!r} ")


def list_problems(error: ValidationError, *place: str) -> Iterator[str]:
    """Yield the problems of a validation error, each with its place, such as `phases[0].closes`.

    Args:
        error: The error.
        place: The parts of the place before those of the error, such as `settings`.
    """
    for problem in error.errors(include_url=False):
        where, message = _format_place((*place, *problem["loc"])), describe_problem(problem)
        yield f"{where}: {message}" if where else message


def _format_place(parts: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
