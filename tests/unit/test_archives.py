"""Zips of several files."""

from __future__ import annotations

import io
import zipfile

import pytest

from capeval.errors import FormatError
from capeval.formats.archives import MOST_FILES, read_zip


def zipped(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_the_files_of_a_zip() -> None:
    files = {"a.json": b"[1]", "b.json": b"[]"}
    assert read_zip(zipped(files)) == files


@pytest.mark.parametrize(
    ("files", "entry", "message"),
    [
        ({}, None, "at least one file"),
        ({"a": b"12345", "b": b"67890"}, "b", "at most 9 bytes together"),
        ({"../a": b""}, "../a", "plain file name"),
        ({"a/b": b""}, "a/b", "without folders"),
        ({"a": b"PK\x03"}, "a", "another archive"),
        ({f"{number}": b"" for number in range(MOST_FILES + 1)}, None, r"at most 20 files \(got 21\)"),
    ],
)
def test_what_is_refused(files: dict[str, bytes], entry: str | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as raised:
        read_zip(zipped(files), limit=9)
    assert raised.value.entry == entry
