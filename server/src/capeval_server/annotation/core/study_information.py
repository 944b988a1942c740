"""Information about the study that workers read before they agree to take part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["STUDY_SETTINGS", "list_missing", "validate_contact", "validate_line"]

STUDY_SETTINGS = ("run_by", "contact", "license", "pay_terms")
"""The settings of a campaign with information about its study."""

_LONGEST = 300
_CONTACT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|https?://\S+")


def validate_line(text: str) -> str:
    """Return a text of one line without surrounding spaces; it can be empty.

    Raises:
        ValueError: The text is too long, or has line breaks or other control characters.

    Examples:
        >>> validate_line(" CC BY 4.0 ")
        'CC BY 4.0'
    """
    text = text.strip()
    if len(text) > _LONGEST or not text.isprintable():
        raise ValueError(f"must be one line of at most {_LONGEST} characters")
    return text


def validate_contact(text: str) -> str:
    """Return an email address or a URL; it can be empty.

    Raises:
        ValueError: It is neither.

    Examples:
        >>> validate_contact("studies@example.org")
        'studies@example.org'
    """
    text = validate_line(text)
    if text and not _CONTACT.fullmatch(text):
        raise ValueError(f"must be an email address or a URL (got {text!r})")
    return text


def list_missing(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that a campaign lacks to open.

    The pay can be an amount per answer or a text.

    Args:
        settings: The settings of the campaign.

    Examples:
        >>> list_missing({"run_by": "LT3", "contact": "", "license": "CC0", "pay_per_answer": "0.2"})
        ['contact']
    """
    missing = [name for name in ("run_by", "contact", "license") if not settings.get(name)]
    if not (settings.get("pay_per_answer") or settings.get("pay_terms")):
        missing.append("pay_terms")
    return missing
