"""Markdown that organisers write, as HTML that can do no harm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["excerpt", "to_html"]

_TAGS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "ul"}
_TAGS |= {"h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Pictures would come from elsewhere, which pages don't load: their descriptions stand for them.
    parser.add_render_rule("image", _description)
    return parser


def _description(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return escape(renderer.renderInlineAsText(tokens[index].children or [], options, env))


@lru_cache(maxsize=256)
def to_html(text: str) -> SafeString:
    """A text as HTML: without HTML of its own, scripts, pictures, or links to other than pages and mail.

    Headings begin at the third level, below those of the page.
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
    html = parser.renderer.render(tokens, parser.options, {})
    clean = nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="nofollow noopener"
    )
    return SafeString(clean)


@lru_cache(maxsize=256)
def excerpt(text: str) -> str:
    """The first paragraph of a text, without its markup."""
    tokens = _parser().parse(text)
    for opening, token in pairwise(tokens):
        if opening.type == "paragraph_open" and token.children:
            parts = ("\n" if child.type == "softbreak" else child.content for child in token.children)
            return " ".join("".join(parts).split())
    return ""
