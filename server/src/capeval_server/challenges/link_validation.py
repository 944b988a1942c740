"""Validation of user-provided URLs for links."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["origin_of", "safe_link"]


def safe_link(text: str) -> str:
    """Return a URL if pages may link to it, or "".

    Browsers read a backslash as a slash, and text before an @ as a username. Such a URL may lead to a
    different host than the one that people read in it.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    plain = text.isprintable() and not any(character.isspace() or character == "\\" for character in text)
    web = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    return text if web and plain else ""


def origin_of(address: str) -> str:
    """Return the origin of a URL for a content security policy, or "" if it has none."""
    parts = urlsplit(address)
    plain = parts.netloc.replace(".", "").replace("-", "").replace(":", "")
    return f"{parts.scheme}://{parts.netloc}" if plain.isascii() and plain.isalnum() else ""
