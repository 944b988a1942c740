"""The site of the documents as `make docs` builds it: whole, from the disk, on wide screens and on phones."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import BOTH_SCREENS

PROJECT = Path(__file__).parents[2]
# Their distinguishing features: a table, code, signatures, pictures, the search.
LOOKED_AT = [
    "index",
    "how-to/read-scores",
    "server/host-a-challenge",
    "api/scoring",
    "reference/compat",
    "search",
]
# Sphinx writes the lines of a long signature as a list of descriptions without terms.
RULES = {"rules": {"definition-list": {"enabled": False}}}
# A picture is part of the repository, and of what a reader loads.
MOST_BYTES = 100_000


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A warning, such as of a link to nothing, is an error."""
    folder = tmp_path_factory.mktemp("documents")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run(
        [*command, "-d", str(folder / "trees"), str(PROJECT / "docs"), str(folder / "site")],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def pages(documents: Path) -> list[Path]:
    return sorted(documents.rglob("*.html"))


def test_every_source_is_a_page(documents: Path) -> None:
    sources = [source.relative_to(PROJECT / "docs") for source in (PROJECT / "docs").rglob("*.md")]
    assert len(sources) > 30
    for source in sources:
        assert (documents / source.with_suffix(".html")).is_file(), source


def test_nothing_is_loaded_from_elsewhere(documents: Path) -> None:
    loaded = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//""")
    imported = re.compile(r"""(?:url\(|@import )\s*["']?(?:https?:)?//""")
    assert pages(documents)
    for page in pages(documents):
        assert not loaded.search(page.read_text(encoding="utf-8")), page
    styles = list(documents.rglob("*.css"))
    assert styles
    for style in styles:
        assert not imported.search(style.read_text(encoding="utf-8")), style


def test_pictures_are_small_and_come_in_pairs() -> None:
    pictures = sorted((PROJECT / "docs" / "pictures").iterdir())
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size <= MOST_BYTES, picture
        name = picture.name
        other = name.replace("-light.", "-dark.") if "-light." in name else name.replace("-dark.", "-light.")
        assert other != name
        assert picture.with_name(other) in pictures
        # No picture is kept that no page shows.
        shown = f"pictures/{name.replace('-dark.', '-light.')}"
        assert any(shown in page.read_text(encoding="utf-8") for page in (PROJECT / "docs").rglob("*.md")), (
            name
        )


def opened(page: Page, file: Path) -> None:
    """Open a page from disk; check that it fits the screen and loads no remote resources."""
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url))
    page.goto(file.as_uri())
    width, screen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= screen, f"{file.name} is {width} pixels wide on a screen of {screen}"
    assert [url for url in elsewhere if not url.startswith(("file:", "data:"))] == []


# Wide screens are tested with the pages below.
@pytest.mark.parametrize("context", ["phone"], indirect=True)
def test_no_page_is_wider_than_the_screen(documents: Path, context: BrowserContext) -> None:
    page = context.new_page()
    for file in pages(documents):
        opened(page, file)


@BOTH_SCREENS
@pytest.mark.parametrize("name", LOOKED_AT)
def test_pages_are_accessible(documents: Path, context: BrowserContext, name: str) -> None:
    page = context.new_page()
    opened(page, documents / f"{name}.html")
    found = Axe().run(page, options=RULES)
    assert not found.response["violations"], found.generate_report()


@BOTH_SCREENS
def test_pictures_follow_the_colors(documents: Path, context: BrowserContext) -> None:
    page = context.new_page()
    opened(page, documents / "server" / "host-a-challenge.html")
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    expect(page.locator("img[src*='leaderboard-dark']")).to_be_visible(visible=dark)
    expect(page.locator("img[src*='leaderboard-light']")).to_be_visible(visible=not dark)


def test_the_search_works_from_the_disk(documents: Path, context: BrowserContext) -> None:
    page = context.new_page()
    opened(page, documents / "index.html")
    page.keyboard.press("Control+K")
    page.keyboard.type("document frequencies")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="CIDEr-D and CIDEr-2015", exact=True)).to_be_visible()
    page.get_by_role("link", name="capeval.DocumentFrequencies", exact=True).click()
    expect(page).to_have_url(re.compile(r"api/metrics\.html#capeval\.DocumentFrequencies"))


def test_search_results_of_a_served_site_have_excerpts(documents: Path, context: BrowserContext) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=documents)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/search.html?q=CIDEr-D")
        expect(page.locator("#search-results p.context").first).to_contain_text("CIDEr-D")
        server.shutdown()
