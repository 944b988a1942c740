"""Template filter that marks invisible characters in texts by other people."""

from __future__ import annotations

from django.template import Library
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from capeval_server.annotation.text_rules.invisible_characters import find_invisible, name_of

__all__ = ["register", "visible"]

register = Library()


@register.filter
def visible(text: str) -> SafeString:
    """Render a text in isolation, with its invisible characters as code points.

    The marks stand in place of the characters, so a browser shows the text in the stored order.
    """
    parts, start = [], 0
    for place in find_invisible(text):
        code, _, name = name_of(text[place]).partition(" ")
        mark = format_html('<code class="invisible" title="{}">{}</code>', name, code)
        parts += [text[start:place], mark]
        start = place + 1
    return format_html(
        "<bdi>{}</bdi>", format_html_join("", "{}", ((part,) for part in [*parts, text[start:]]))
    )
