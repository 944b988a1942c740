"""Checks that every page must pass: structure, accessibility and content security policy; and form values."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client

__all__ = ["check_page", "check_policy", "read_settings"]

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
}
# Elements that have no end.
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class _Page(HTMLParser):
    """Parser that collects the structure and the errors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.shape: list[str] = []
        self.count: dict[str, int] = {}
        self.ids: list[str] = []
        self.labeled: set[str] = set()
        self.fields: list[dict[str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.count[tag] = self.count.get(tag, 0) + 1
        # Data in a script element is never run.
        if tag == "script" and not found.get("src") and found.get("type") != "application/json":
            self.wrong.append("a script in the page")
        if tag == "style" or "style" in found:
            self.wrong.append(f"a style in the page, at <{tag}>")
        for name, value in attributes:
            address = (value or "").strip()
            if name.startswith(("on", "hx-on")):
                self.wrong.append(f"a script in {name} of <{tag}>")
            if name in ("src", "action", "formaction") and address.startswith(("http:", "https:", "//")):
                self.wrong.append(f"<{tag}> takes from elsewhere: {address}")
            if name in ("href", "src", "action", "formaction") and address.startswith("javascript:"):
                self.wrong.append(f"a script in {name} of <{tag}>")
        if tag == "img" and "alt" not in found:
            self.shape.append(f"an image without alt: {found.get('src')}")
        if tag in ("input", "select", "textarea") and found.get("type") not in ("hidden", "submit"):
            # An empty name means a label element that contains the field.
            self.fields.append(found | ({"": None} if "label" in self.open else {}))
        if tag == "label" and found.get("for"):
            self.labeled.add(found["for"] or "")
        if found.get("id"):
            self.ids.append(found["id"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.shape.append(f"</{tag}> where {self.open[-1:]} is open")
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def _read(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    page.close()
    return page


def check_policy(html: str, policy: str | None, *, images_from: tuple[str, ...] = ()) -> None:
    """Check that a page loads scripts and styles only from the server, and that its policy requires it.

    Args:
        html: The page.
        policy: Its `Content-Security-Policy`.
        images_from: Other sources of images, such as the host of a challenge's images.
    """
    assert policy is not None, "no content security policy"
    given = {part.strip() for part in policy.split(";")}
    allowed = set(POLICY)
    images = {"'self'", "data:", *images_from}
    allowed |= {part for part in given if part.startswith("img-src ") and set(part.split()[1:]) <= images}
    assert given <= allowed, "the policy is looser"
    assert {part.split()[0] for part in given} == {part.split()[0] for part in POLICY}
    elsewhere = tuple(f"<img> takes from elsewhere: {source}" for source in images_from)
    assert [text for text in _read(html).wrong if not (elsewhere and text.startswith(elsewhere))] == []


def check_page(html: str, policy: str | None, *, images_from: tuple[str, ...] = ()) -> None:
    """Check the content security policy of a page and the structure that all pages share.

    It is well formed, with a title, one heading of the first level, labels for its fields, text for its
    images, and no duplicate ids. The arguments are the same as for `check_policy`.
    """
    check_policy(html, policy, images_from=images_from)
    page = _read(html)
    wrong = list(page.shape)
    if page.open:
        wrong.append(f"never closed: {page.open}")
    if not re.search(r"<title>\s*\w", html):
        wrong.append("no title")
    wrong += [f"{page.count.get(tag, 0)} of <{tag}>" for tag in ("h1", "main") if page.count.get(tag) != 1]
    wrong += [f"id {name!r} twice" for name in set(page.ids) if page.ids.count(name) > 1]
    wrong += [
        f"a field without a label: {field.get('name')}"
        for field in page.fields
        if field.get("id") not in page.labeled and not {"aria-label", "aria-labelledby", ""} & set(field)
    ]
    assert wrong == []


def read_settings(client: Client) -> dict[str, Any]:
    """The values of the small challenge's form of texts and fields, as a browser sends them."""
    context = client.get("/small/organize/edit/").context
    sets = (context["fields"], context["pages"])
    forms = [context["form"], *(form for one in sets for form in (one.management_form, *one))]
    values = {field.html_name: field.value() for form in forms for field in form}
    return {name: value for name, value in values.items() if value is not None and value is not False}
