"""Conversion of organizers' Markdown to sanitized HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

from capeval_server.challenges.link_validation import safe_link

__all__ = ["excerpt", "to_html"]

_TAGS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "ul"}
_TAGS |= {"h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}
_TAGS |= {"img"}
_ATTRIBUTES = {"a": {"href", "title"}, "img": {"alt", "src"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def _create_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _render_image)
    parser.validateLink = _is_allowed_link  # type: ignore[method-assign]
    return parser


def _is_allowed_link(url: str) -> bool:
    """Return whether a text may link to a URL: a page of this site, a mail address, or a safe web page."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme == "mailto":
        return True
    return bool(safe_link(url)) if parts.scheme or parts.netloc else not url.startswith(("//", "/\\"))


def _render_image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Render an image of the challenge, or only the description of any other image.

    Pages load nothing from other sites.
    """
    description = escape(renderer.renderInlineAsText(tokens[index].children or [], options, env))
    address = env.get("pictures", {}).get(tokens[index].attrs.get("src"))
    return f'<img src="{escape(address)}" alt="{description}">' if address else description


def to_html(text: str, pictures: Mapping[str, str] | None = None) -> SafeString:
    """Render a text as HTML without raw HTML, scripts or unsafe links.

    Links may be relative, HTTP, HTTPS or mail, without a username; other links remain text. Headings begin at
    the third level, below the headings of the page.

    Args:
        text: The text, as Markdown.
        pictures: The URLs of the images that the text may contain, by name.
    """
    return _render(text, tuple(sorted((pictures or {}).items())))


@lru_cache(maxsize=256)
def _render(text: str, pictures: tuple[tuple[str, str], ...]) -> SafeString:
    parser = _create_parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
    html = parser.renderer.render(tokens, parser.options, {"pictures": dict(pictures)})
    clean = nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="nofollow noopener"
    )
    return SafeString(clean)


@lru_cache(maxsize=256)
def excerpt(text: str) -> str:
    """Return the first paragraph of a text, without markup."""
    tokens = _create_parser().parse(text)
    for opening, token in pairwise(tokens):
        if opening.type == "paragraph_open" and token.children:
            parts = ("\n" if child.type == "softbreak" else child.content for child in token.children)
            return " ".join("".join(parts).split())
    return ""
