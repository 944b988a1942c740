"""Texts of the work page's script, in the language of the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.utils.translation import get_language, gettext, ngettext

__all__ = ["list_script_texts"]

# In all languages, the plural form of a larger number is that of one below this limit with the same last two
# digits.
_FORMS = 200


def list_script_texts() -> dict[str, Any]:
    """Return the texts by name, for `static/capeval/annotate.js`.

    Parts in braces are replaced by the script. A text that depends on a number is a list of its forms and the
    index of the form for each number below 200.
    """
    return _build_texts(get_language() or "")


@cache
def _build_texts(_language: str) -> dict[str, Any]:
    return {
        "answered": _plural(lambda number: ngettext("{number} answered", "{number} answered", number)),
        "words": _plural(lambda number: ngettext("{number} word", "{number} words", number)),
        "waiting": _plural(
            lambda number: ngettext(
                "Not sent yet: the server can't be reached. Your answer is saved here and will be sent again"
                " automatically.",
                "Not sent yet: the server can't be reached. {number} answers are saved here and will be sent"
                " again automatically.",
                number,
            )
        ),
        "kept": gettext("Your answer is kept until you give a new one."),
        "earlier": gettext("An earlier item: {text}"),
        "showItem": gettext("Show the item"),
        "notRemoved": gettext(
            "Invisible characters were not removed: the server can't be reached. Please try again."
        ),
        "removed": gettext(
            "Invisible characters were removed. Please read the sentence again, then submit it."
        ),
        "notStored": gettext("Not stored: {problem}."),
        "refused": gettext("Not stored yet: please change the sentence."),
        "unexplained": gettext("Not stored yet: please change the sentence, or give a reason to keep it."),
        "sending": gettext("Sending."),
        "outOfDate": gettext("This page is out of date. Your answers are saved: please reload the page."),
        "gone": gettext("this item is no longer yours"),
    }


def _plural(translate: Callable[[int], str]) -> dict[str, Any]:
    found = [translate(number) for number in range(_FORMS)]
    forms = list(dict.fromkeys(found))
    return {"forms": forms, "indexes": [forms.index(text) for text in found]}
