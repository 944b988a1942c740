"""Checks of the texts of a release: citation, project URLs, and the README as a package index renders it."""

from __future__ import annotations

import email
import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from jsonschema import Draft7Validator
from readme_renderer.markdown import render

from scripts.release_source import MISSING, read_addresses

__all__ = ["SCHEMA", "check_citation", "check_description", "list_links"]

SCHEMA = Path(".venv") / "cffconvert" / "cffconvert" / "schemas" / "1.2.0" / "schema.json"
"""JSON schema of CITATION.cff, in the package cffconvert."""


def check_citation(citation: str, version: str, date: str, schema: str) -> Iterator[str]:
    """Yield errors in CITATION.cff.

    Args:
        citation: Text of CITATION.cff.
        version: Version of the release.
        date: Date of the release in the changelog; "" if it has none.
        schema: Text of the JSON schema.
    """
    # Dates stay strings, as in JSON.
    fields = yaml.load(citation, Loader=yaml.BaseLoader)  # noqa: S506 - creates strings only.
    for error in Draft7Validator(json.loads(schema)).iter_errors(fields):
        yield f"CITATION.cff: {error.json_path}: {error.message}"
    if read_addresses(citation) is None:
        yield MISSING
    if not date:
        yield f"version {version} has no date in CHANGELOG.md"
    for field, expected in (("version", version), ("date-released", date)):
        if expected and fields.get(field) != expected:
            yield f"CITATION.cff must have the {field} {expected} (got {fields.get(field, 'none')})"


def check_description(name: str, metadata: str, *, has_addresses: bool) -> Iterator[str]:
    """Yield errors in the README and the project URLs of a distribution.

    Args:
        name: File name of the wheel or source distribution.
        metadata: Text of METADATA or PKG-INFO.
        has_addresses: Whether the project has public addresses, so that links must be absolute.
    """
    fields = email.message_from_string(metadata)
    if fields["Description-Content-Type"] is None or not fields.get_payload():
        yield f"{name} has no README in its metadata"
        return
    page = render(str(fields.get_payload()))
    if page is None:
        yield f"{name}: the README can't be rendered"
        return
    if not fields["Author"]:
        yield f"{name} has no author in its metadata"
    if not has_addresses:
        return
    if not fields.get_all("Project-URL"):
        yield f"{name} has no project URLs in its metadata"
    for link in list_links(page):
        if not link.startswith(("https://", "#")):
            yield f"{name}: a package index can't resolve the link {link} of the README"


def list_links(page: str) -> list[str]:
    """List the links and pictures of a rendered page."""
    return re.findall(r'\b(?:href|src|srcset)="([^"]*)"', page)
