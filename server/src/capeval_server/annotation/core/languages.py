"""Languages of campaigns, and the languages into which the worker pages are translated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations
from pathlib import Path

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.utils.translation import to_language

__all__ = [
    "BUILT_IN",
    "PageLanguage",
    "describe_language",
    "find_page_language",
    "list_page_languages",
    "validate_language",
]

BUILT_IN = "en"
"""The language of the texts in the source code, and of pages without a translation."""

# A language, and optionally script, region and variants (BCP 47).
_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, kw_only=True)
class PageLanguage:
    """A language of the worker pages.

    Attributes:
        code: Its code.
        name: Its English name.
        is_reviewed: Whether a translator has reviewed the translation.
    """

    code: str
    name: str
    is_reviewed: bool

    def __str__(self) -> str:
        return self.name if self.is_reviewed else f"{self.name} (not reviewed)"


def validate_language(code: str) -> str:
    """Return a language code.

    Raises:
        ValueError: It is not a code of BCP 47.

    Examples:
        >>> validate_language("pt-BR")
        'pt-BR'
    """
    if not _CODE.fullmatch(code):
        raise ValueError(f"must be a language code such as de, pt-BR or zh-Hant (got {code!r})")
    return code


def list_page_languages() -> Mapping[str, PageLanguage]:
    """Return the languages of the worker pages by code, English first.

    Examples:
        >>> [str(language) for language in list_page_languages().values()]
        ['English', 'German (not reviewed)']
    """
    return _read_catalogs(tuple(map(str, settings.LOCALE_PATHS)))


@cache
def _read_catalogs(folders: tuple[str, ...]) -> dict[str, PageLanguage]:
    paths = sorted(path for folder in folders for path in Path(folder).glob("*/LC_MESSAGES/django.mo"))
    found = {BUILT_IN: PageLanguage(code=BUILT_IN, name=_name_of(BUILT_IN), is_reviewed=True)}
    for path in paths:
        code = to_language(path.parents[1].name)
        with path.open("rb") as file:
            is_reviewed = GNUTranslations(file).info().get("x-reviewed") == "yes"
        found[code] = PageLanguage(code=code, name=_name_of(code), is_reviewed=is_reviewed)
    return found


def _name_of(code: str) -> str:
    return str(LANG_INFO.get(code.lower(), {}).get("name", code))


def find_page_language(code: str) -> str:
    """Return the language of the worker pages for the language of a campaign.

    It is the same language, or without its region and script, or English if there is no translation.

    Examples:
        >>> find_page_language("de-AT"), find_page_language("is")
        ('de', 'en')
    """
    known, parts = list_page_languages(), code.lower().split("-")
    codes = ("-".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((each for each in codes if each in known), BUILT_IN)


def describe_language(code: str) -> str:
    """Return the English name of a campaign's language, and the state of its translation.

    Examples:
        >>> describe_language("de-AT")
        'German (not reviewed)'
        >>> describe_language("is")
        'Icelandic (pages in English)'
    """
    page = find_page_language(code)
    if page != BUILT_IN or code.lower().split("-")[0] == BUILT_IN:
        return str(list_page_languages()[page])
    return f"{_name_of(code)} (pages in English)"
