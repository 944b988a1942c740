"""Addresses that people wrote, and whether a page can link to them."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["origin_of", "safe_link"]


def safe_link(text: str) -> str:
    """A text if it is an address of a page that can be linked to; nothing if not.

    Browsers read a backslash as a slash, and what comes before an @ as a name to sign in with: the host that
    people read there may not be where the link leads.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    plain = text.isprintable() and not any(character.isspace() or character == "\\" for character in text)
    web = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    return text if web and plain else ""


def origin_of(address: str) -> str:
    """Where an address leads, as a content security policy says it; nothing where it can't."""
    parts = urlsplit(address)
    plain = parts.netloc.replace(".", "").replace("-", "").replace(":", "")
    return f"{parts.scheme}://{parts.netloc}" if plain.isascii() and plain.isalnum() else ""
