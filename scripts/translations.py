"""Catalogs of the worker pages: extract messages from the sources, update the translations, compile them.

`python -m scripts.translations` does all three (`make translations`). With the code of a language, it also
creates a new catalog, without translations.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter
from typing import IO, Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileParser, write_po
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

__all__ = [
    "LOCALES",
    "Translation",
    "compile_catalog",
    "extract_messages",
    "list_problems",
    "main",
    "read_catalog",
]

_PACKAGE = Path(__file__).parents[1] / "server" / "src" / "capeval_server"
LOCALES = _PACKAGE / "locale"
"""Folder with one catalog per language."""

# Arguments of the functions that mark texts; the context of `pgettext` comes first.
_KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
_COMMENT = ("Translators:",)
# Number of problems that are printed for each catalog.
_SHOWN = 20
_PLACEHOLDER = re.compile(r"%\(\w+\)s")
_TAG = re.compile(r"<[^>]+>")


class Translation(Catalog):
    """A catalog with the header `X-Reviewed`, and without times in its header.

    Attributes:
        is_reviewed: Whether a translator has reviewed it.
    """

    is_reviewed = False

    def _get_mime_headers(self) -> list[tuple[str, str]]:
        kept = ("Language", "Language-Team", "Plural-Forms", "MIME-Version", "Content-Type")
        headers = [(name, value) for name, value in super()._get_mime_headers() if name in kept]
        encoding = ("Content-Transfer-Encoding", "8bit")
        return [*headers, encoding, ("X-Reviewed", "yes\n" if self.is_reviewed else "no\n")]

    def _set_mime_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        found = list(headers)
        super()._set_mime_headers(found)
        self.is_reviewed = ("X-Reviewed", "yes") in found

    mime_headers = property(_get_mime_headers, _set_mime_headers)


def extract_messages() -> Catalog:
    """Return the messages of the Python modules and templates, with the files that contain them."""
    catalog = Catalog()
    for path in sorted(_PACKAGE.rglob("*.py")):
        _add(catalog, path, path.read_text(encoding="utf-8"))
    for path in sorted((_PACKAGE / "templates").rglob("*.html")):
        # `templatize` replaces other text by letters. Their indentation would be invalid in Python.
        lines = templatize(path.read_text(encoding="utf-8")).splitlines()
        _add(catalog, path, "\n".join(line.lstrip() for line in lines))
    return catalog


def _add(catalog: Catalog, path: Path, source: str) -> None:
    if "gettext" not in source and "_(" not in source:
        return
    found = extract("python", io.BytesIO(source.encode()), _KEYWORDS, _COMMENT)
    for _, message, comments, context in found:
        # Without line numbers, which would change with each change of the sources.
        place: Any = (path.relative_to(_PACKAGE).as_posix(), None)
        catalog.add(message, locations=[place], auto_comments=comments, context=context)


def read_catalog(path: Path) -> Translation:
    """Return the catalog in a file."""
    catalog = Translation(locale=path.parents[1].name)
    with path.open("rb") as file:
        PoFileParser(catalog, abort_invalid=True).parse(file)
    return catalog


def compile_catalog(catalog: Catalog, file: IO[bytes]) -> None:
    """Write the compiled form of a catalog, which Django reads."""
    write_mo(file, catalog)


def list_problems(catalog: Catalog, sources: Catalog) -> Iterator[str]:
    """Yield the problems of a translation: messages that are missing, outdated, unfinished or inconsistent.

    Args:
        catalog: The translation.
        sources: The messages of the sources.
    """
    known = {(message.id, message.context): message for message in catalog if message.id}
    wanted = {(message.id, message.context) for message in sources if message.id}
    yield from (f"missing: {key[0]!r}" for key in wanted - known.keys())
    yield from (f"not in the sources: {key[0]!r}" for key in known.keys() - wanted)
    yield from (f"obsolete: {key!r}" for key in catalog.obsolete)
    for message in known.values():
        yield from (f"{problem}: {message.id!r}" for problem in _find_problems(message, catalog.num_plurals))


def _find_problems(message: Message, plurals: int) -> Iterator[str]:
    if message.fuzzy:
        yield "fuzzy"
    sources = list(message.id) if isinstance(message.id, tuple | list) else [str(message.id)]
    texts = list(message.string) if isinstance(message.string, tuple | list) else [str(message.string or "")]
    if len(sources) > 1 and len(texts) != plurals:
        yield f"{len(texts)} plural forms instead of {plurals}"
    if not all(texts):
        yield "not translated"
        return
    for text in texts:
        # The text for one may name no number.
        if _list_placeholders(text) not in map(_list_placeholders, sources):
            yield f"other placeholders in {text!r}"
        if sorted(_TAG.findall(text)) != sorted(_TAG.findall(sources[-1])):
            yield f"other elements in {text!r}"
        # In an attribute, a quotation mark would end the text.
        if _count_quotes(text) > _count_quotes(sources[-1]):
            yield f"straight quotation marks instead of typographic ones in {text!r}"
        if [text[:1].isspace(), text[-1:].isspace()] != [sources[0][:1].isspace(), sources[0][-1:].isspace()]:
            yield f"other white space at the ends of {text!r}"


def _list_placeholders(text: str) -> set[str]:
    named = set(_PLACEHOLDER.findall(text))
    return named | {name for _, name, _, _ in Formatter().parse(_PLACEHOLDER.sub("", text)) if name}


def _count_quotes(text: str) -> int:
    return _TAG.sub("", text).count('"')


def update(path: Path, sources: Catalog) -> None:
    """Update a catalog with the messages of the sources, and compile it.

    Messages that the sources no longer contain are removed. The translation of a changed message is kept as
    fuzzy, for a person to adapt.
    """
    catalog = read_catalog(path)
    catalog.update(sources, update_header_comment=False)
    catalog.obsolete.clear()
    _write(catalog, path)


def _write(catalog: Catalog, path: Path) -> None:
    with path.open("wb") as file:
        write_po(file, catalog, width=100, sort_output=True, ignore_obsolete=True)
    with path.with_suffix(".mo").open("wb") as file:
        compile_catalog(catalog, file)


def main(languages: list[str]) -> int:
    """Create the catalogs of new languages, update and compile all, and print their problems."""
    sources = extract_messages()
    for language in languages:
        path = LOCALES / to_locale(language) / "LC_MESSAGES" / "django.po"
        if not path.exists():
            path.parent.mkdir(parents=True)
            _write(Translation(locale=to_locale(language), fuzzy=False), path)
    found = False
    for path in sorted(LOCALES.glob("*/LC_MESSAGES/django.po")):
        update(path, sources)
        problems = list(list_problems(read_catalog(path), sources))
        found = found or bool(problems)
        lines = [f"{path.relative_to(LOCALES)}: {len(sources)} messages, {len(problems)} problems"]
        print(*lines, *problems[:_SHOWN], sep="\n  ")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
