"""Validation of options, with uniform messages: `'x' must be ... (got ...)`.

Each function returns the validated value. The error is an `OptionError` unless the caller chooses another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from capeval.errors import OptionError

__all__ = [
    "checked_different",
    "checked_order",
    "checked_path",
    "checked_text",
    "validate_choice",
    "validate_flag",
    "validate_integer",
    "validate_level",
    "validate_number",
    "validate_positive",
]

MakeError = Callable[[str], Exception]


def validate_integer(
    name: str,
    value: object,
    least: int,
    most: int | None = None,
    *,
    or_none: bool = False,
    error: MakeError = OptionError,
) -> int:
    """Validate an integer from `least` to `most`.

    Args:
        name: The option.
        value: Its value.
        least: The smallest allowed integer.
        most: The largest allowed integer; None for no limit.
        or_none: Whether the message mentions that None is allowed. The caller handles None itself.
        error: Creates the error from its message.
    """
    inside = isinstance(value, int) and value >= least and (most is None or value <= most)
    if isinstance(value, bool) or not isinstance(value, int) or not inside:
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        bounds += ", or None" * or_none
        raise error(f"{name!r} must be an integer {bounds} (got {value!r})")
    return value


def checked_order(name: str, value: object) -> int:
    """Validate an n-gram order, an integer from 1 to 4."""
    return validate_integer(name, value, 1, 4)


def validate_number(name: str, value: object, low: float, high: float) -> float:
    """Validate a number from `low` to `high`, both inclusive."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise OptionError(f"{name!r} must be a number from {low:g} to {high:g} (got {value!r})")
    return float(value)


def validate_positive(name: str, value: object) -> float:
    """Validate a number above 0, with a square that is also above 0 and finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-100 <= value <= 1e100:
        raise OptionError(f"{name!r} must be a number above 0, from 1e-100 to 1e100 (got {value!r})")
    return float(value)


def validate_level(name: str, value: object) -> float:
    """Validate a confidence level, a number between 0 and 1, both exclusive."""
    if not isinstance(value, float) or not 0 < value < 1:
        raise OptionError(f"{name!r} must be a number between 0 and 1 (got {value!r})")
    return value


def validate_flag(name: str, value: object) -> bool:
    """Validate a boolean."""
    if not isinstance(value, bool):
        raise OptionError(f"{name!r} must be True or False (got {value!r})")
    return value


def checked_text(name: str, value: object) -> str:
    """Validate a string."""
    if not isinstance(value, str):
        raise OptionError(f"{name!r} must be a string (got {value!r})")
    return value


def checked_path(name: str, value: object) -> Path | None:
    """Validate a `Path` or None."""
    if value is not None and not isinstance(value, Path):
        raise OptionError(f"{name!r} must be a Path, or None (got {value!r})")
    return value


def checked_different(
    name: str, values: object, what: str, check: Callable[[object], object]
) -> tuple[object, ...]:
    """Validate a tuple of one or more distinct values, each with `check`."""
    if isinstance(values, tuple) and values:
        for value in values:
            check(value)
        if len(set(values)) == len(values):
            return values
    raise OptionError(f"{name!r} must be a tuple of different {what} (got {values!r})")


def validate_choice(
    name: str, value: object, choices: Sequence[str], *, error: MakeError = OptionError
) -> str:
    """Validate a string that must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise error(f"{name!r} must be one of {', '.join(choices)} (got {value!r})")
    return value
