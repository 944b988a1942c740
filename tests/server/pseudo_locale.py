"""Pseudo-locale: a right-to-left language in which translated texts can be recognized.

Each message of the sources is in brackets, with accents on its letters and a third longer. Text without
brackets was not translated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from babel.messages.catalog import Catalog

from scripts.translations import Translation, compile_catalog
from tests.server.pages import VOID

__all__ = ["LANGUAGE", "find_untranslated", "find_untranslated_text", "pseudo", "write_pseudo_locale"]

LANGUAGE = "ar-XB"
# Parts that a translation must keep: placeholders and elements.
_KEPT = re.compile(r"(%\(\w+\)s|%%|\{\w+\}|<[^>]+>)")
_ACCENTS = str.maketrans("AEIOUYaeiouycnsz", "ÀÉÎÕÛÝåéîøüýçñšž")
_BRACKETS = re.compile(r"⟦[^⟦⟧]*⟧")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ATTRIBUTES = ("alt", "aria-label", "placeholder", "title")


def pseudo(text: str) -> str:
    """Return the pseudo-translation of a message.

    Examples:
        >>> pseudo("Item %(place)s of <b>all</b>")
        '⟦Îtém %(place)s øf <b>åll</b> ~~~~⟧'
    """
    inner = text.strip()
    parts = [part if _KEPT.fullmatch(part) else part.translate(_ACCENTS) for part in _KEPT.split(inner)]
    longer = "~" * max(1, round(0.3 * len(_KEPT.sub("", inner))))
    return text.replace(inner, f"⟦{''.join(parts)} {longer}⟧")


def write_pseudo_locale(folder: Path, sources: Catalog) -> None:
    """Write the compiled catalog of the pseudo-locale.

    Args:
        folder: The folder of the catalogs.
        sources: The messages of the sources.
    """
    catalog = Translation(locale="ar")
    for message in sources:
        if not message.id:
            continue
        texts = [message.id] if isinstance(message.id, str) else list(message.id)
        # A format is no text.
        found = [text if message.context == "date format" else pseudo(text) for text in texts]
        if len(texts) == 1:
            catalog.add(texts[0], found[0], context=message.context)
        else:
            catalog.add(tuple(texts), found[1:] * catalog.num_plurals, context=message.context)
    path = folder / "ar_XB" / "LC_MESSAGES" / "django.mo"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        compile_catalog(catalog, file)


def find_untranslated_text(text: str) -> list[str]:
    """Return the words of a text that are outside of brackets."""
    while (left := _BRACKETS.sub(" ", text)) != text:
        text = left
    return _WORD.findall(text)


class _Texts(HTMLParser):
    """Parser that collects the texts of a page, without those of the campaign."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.attributes: list[str] = []
        self.data: list[str] = []
        # For each open element, whether its texts are not those of the page.
        self.open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        skipped = bool(self.open and self.open[-1][1])
        # The texts of a campaign have its language. Names and codes are the same in all languages.
        skipped |= tag == "title" or found.get("class") == "code" or ("lang" in found and tag != "html")
        if not skipped:
            self.attributes += [found[name] or "" for name in _ATTRIBUTES if name in found]
        if tag not in VOID:
            self.open.append((tag, skipped))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        tag, skipped = self.open[-1] if self.open else ("", False)
        if tag == "script":
            self.data.append(data)
        elif not skipped:
            self.text.append(data)


def find_untranslated(page: str) -> list[str]:
    """Return the words of a page, and of its script's texts, that were not translated."""
    parser = _Texts()
    parser.feed(page)
    texts = [" ".join(parser.text), *parser.attributes]
    texts += [text for data in parser.data if data.strip() for text in _iterate_texts(json.loads(data))]
    return [word for text in texts for word in find_untranslated_text(text)]


def _iterate_texts(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        for value in data.values():
            yield from _iterate_texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _iterate_texts(value)
    elif isinstance(data, str):
        yield data
