"""Texts of a release: public addresses, project URLs, citation, and the README on a package index."""

from __future__ import annotations

import tomllib

import pytest
import yaml

from scripts.release_source import (
    CITATION,
    MISSING,
    PROJECT,
    ROOTS,
    Addresses,
    fill_project,
    fill_readme,
    read_addresses,
)
from scripts.release_texts import check_citation, check_description, list_links

ADDRESSES = Addresses(
    repository="https://github.com/example/capeval", documentation="https://example.org/docs", version="1.2.0"
)
TEXT = CITATION.read_text(encoding="utf-8")
FILLED = f"{TEXT}repository-code: {ADDRESSES.repository}\nurl: {ADDRESSES.documentation}/\n"
METADATA = "Metadata-Version: 2.4\nName: capeval\nAuthor: The capeval developers\n"
URL = "Project-URL: Repository, https://github.com/example/capeval\n"
MARKDOWN = "Description-Content-Type: text/markdown\n"
# The fields that the tests of the check need; a release checks the schema of the package cffconvert.
SCHEMA = '{"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}'


def test_addresses_are_read_from_the_citation() -> None:
    found = read_addresses(FILLED.replace("version: 0.1.0", "version: 1.2.0"))
    assert found == ADDRESSES
    assert read_addresses("version: 1.2.0\nurl: https://example.org\n") is None


@pytest.mark.parametrize(
    ("link", "filled"),
    [
        ("[a](docs/metrics/bleu.md#range)", "[a](https://example.org/docs/metrics/bleu.html#range)"),
        ("[a](CONTRIBUTING.md)", "[a](https://github.com/example/capeval/blob/v1.2.0/CONTRIBUTING.md)"),
        (
            '<img src="docs/pictures/a.svg">',
            '<img src="https://github.com/example/capeval/raw/v1.2.0/docs/pictures/a.svg">',
        ),
        ("[a](https://example.com/docs/a.md)", "[a](https://example.com/docs/a.md)"),
        ("[a](#install)", "[a](#install)"),
        ("[a](mailto:a@example.org)", "[a](mailto:a@example.org)"),
    ],
)
def test_relative_links_become_absolute(link: str, filled: str) -> None:
    assert fill_readme(link, ADDRESSES) == filled


def test_links_of_a_folder_are_resolved() -> None:
    assert fill_readme("[a](../docs/a.md)", ADDRESSES, "server") == "[a](https://example.org/docs/a.html)"


@pytest.mark.parametrize("root", ROOTS)
def test_a_filled_distribution_has_no_errors(root: str) -> None:
    folder = PROJECT / root
    project = tomllib.loads(fill_project((folder / "pyproject.toml").read_text(encoding="utf-8"), ADDRESSES))
    urls = project["project"]["urls"]
    assert urls["Repository"] == ADDRESSES.repository
    assert urls["Changelog"] == "https://example.org/docs/project/changelog.html"
    assert project["project"]["authors"] == yaml.safe_load(TEXT)["authors"]
    readme = (folder / "README.md").read_text(encoding="utf-8")
    metadata = f"{METADATA}{URL}{MARKDOWN}\n{fill_readme(readme, ADDRESSES, root)}"
    assert list(check_description("w", metadata, has_addresses=True)) == []


def test_the_readme_has_its_pictures_and_links_on_an_index() -> None:
    from readme_renderer.markdown import render

    page = render(fill_readme((PROJECT / "README.md").read_text(encoding="utf-8"), ADDRESSES))
    assert page is not None
    links = list_links(page)
    assert "https://github.com/example/capeval/raw/v1.2.0/docs/pictures/speed-light.svg" in links
    assert "https://example.org/docs/metrics/index.html" in links


@pytest.mark.parametrize(
    ("metadata", "errors"),
    [
        (f"{METADATA}{URL}{MARKDOWN}\n[a](b.md)\n", ["a package index can't resolve the link b.md"]),
        (f"{METADATA}{MARKDOWN}\ntext\n", ["no project URLs"]),
        (f"{METADATA}{URL}\ntext\n", ["no README"]),
        (f"Name: capeval\n{URL}{MARKDOWN}\ntext\n", ["no author"]),
    ],
)
def test_errors_of_a_description(metadata: str, errors: list[str]) -> None:
    found = list(check_description("w", metadata, has_addresses=True))
    assert len(found) == len(errors)
    assert all(error in message for error, message in zip(errors, found, strict=True))


def test_a_release_needs_addresses_version_and_date() -> None:
    dated = f'{FILLED}date-released: "2026-01-31"\n'
    assert list(check_citation(dated, "0.1.0", "2026-01-31", SCHEMA)) == []
    assert list(check_citation(dated, "0.2.0", "2026-02-01", SCHEMA)) == [
        "CITATION.cff must have the version 0.2.0 (got 0.1.0)",
        "CITATION.cff must have the date-released 2026-02-01 (got 2026-01-31)",
    ]
    without = dated.replace("repository-code", "old-address")
    assert list(check_citation(without, "0.1.0", "2026-01-31", SCHEMA)) == [MISSING]
    assert list(check_citation("version: 1.0", "1.0", "", SCHEMA)) == [
        "CITATION.cff: $: 'title' is a required property",
        MISSING,
        "version 1.0 has no date in CHANGELOG.md",
    ]


def test_the_citation_is_that_of_the_bibliography() -> None:
    entry = (PROJECT / "src/capeval/data/citations.bib").read_text(encoding="utf-8").partition("\n\n")[0]
    fields = yaml.safe_load(TEXT)
    assert f"title = {{{fields['title']}}}" in entry
    assert f"author = {{{{{fields['authors'][0]['name']}}}}}" in entry


def test_only_one_file_names_the_addresses() -> None:
    for root in ROOTS:
        project = tomllib.loads((PROJECT / root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert "urls" not in project, "release_source.py fills project URLs from CITATION.cff"
