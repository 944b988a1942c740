"""Links of the README and other top-level files are valid; the site build checks `docs/`."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md"]
LINK = re.compile(r"""\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)\"""")


def links(page: str) -> list[str]:
    """The links of a page to files of the project."""
    found = [a or b for a, b in LINK.findall((ROOT / page).read_text(encoding="utf-8"))]
    return [link for link in found if not link.startswith(("https://", "http://", "mailto:"))]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_links() -> None:
    assert "docs/reference/library.md" in links("README.md")
    assert "docs/pictures/speed-light.svg" in links("README.md")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        assert (ROOT / path).is_file(), link
        assert not anchor or anchor in anchors(ROOT / path), link
