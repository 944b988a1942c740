"""Messages about invalid settings, panels and definitions of campaigns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = [
    "AMOUNT",
    "COUNTRY",
    "CURRENCY",
    "END_CODE",
    "LINE",
    "NAME",
    "PARAMETER",
    "REWARD",
    "list_problems",
]

# Patterns of texts. Pydantic's messages contain the pattern itself.
AMOUNT = r"^(\d{1,6}(\.\d{1,4})?)?$"
CURRENCY = r"^([A-Z]{3})?$"
COUNTRY = r"^[A-Z]{2}$"
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
    END_CODE: "4 to 50 letters, digits, '-' and '_'",
    LINE: "one line without control characters",
    NAME: "letters, digits, '-' and '_', and begin with a letter or digit",
    PANEL: "1 to 50 lowercase letters, digits, '-' and '_', and begin with a letter or digit",
    PARAMETER: "1 to 50 letters, digits, '-', '_' and '.'",
    REWARD: "a decimal number, such as 0.50",
}


def list_problems(error: ValidationError, *place: str) -> Iterator[str]:
    """Yield the problems of a validation error, each with its place.

    Args:
        error: The error.
        place: The parts of the place before those of the error, such as `settings`.
    """
    for one in error.errors(include_url=False):
        message = one["msg"].removeprefix("Value error, ")
        if described := _DESCRIPTIONS.get(one.get("ctx", {}).get("pattern", "")):
            message = f"must be {described} (got {one['input']!r})"
        where = ".".join((*place, *map(str, one["loc"])))
        yield f"{where}: {message}" if where else message
