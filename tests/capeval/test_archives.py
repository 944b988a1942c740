"""Zips of several files."""

from __future__ import annotations

import io
import zipfile

import pytest

from capeval.errors import FormatError
from capeval.formats.io.archives import MOST_FILES, read_zip


def zipped(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_the_files_of_a_zip() -> None:
    files = {"a.json": b"[1]", "b.json": b"[]"}
    assert read_zip(zipped(files)) == files


def test_what_macos_adds_is_left_out_and_one_folder_is_fine() -> None:
    added = {
        "results/": b"",
        "results/.DS_Store": b"\0\0\0\1Bud1",
        "__MACOSX/": b"",
        "__MACOSX/results/._a.json": b"\0\5\x16\7",
        "__MACOSX/._results": b"\0\5\x16\7",
    }
    files = {f"{number}.json": b"[]" for number in range(MOST_FILES)}
    in_folder = {f"results/{name}": data for name, data in files.items()}
    assert read_zip(zipped(added | in_folder)) == files
    assert read_zip(zipped({".DS_Store": b"", "._a.json": b"", "a.json": b"[]"})) == {"a.json": b"[]"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"the file is not a zip \(it is empty\)"),
        (b"[1, 2]", r"the file is not a zip \(it starts with b'\[1, 2\]'\)"),
        (b"\x1f\x8bdata", r"the file is not a zip \(it is a different type of archive\)"),
        (b"PK\x03\x04 and so on", "the file is not a zip, or is truncated"),
        (zipped({"a": b"1"})[:-30], "the file is not a zip, or is truncated"),
        (zipped({}), r"the zip is empty; it must contain at least one file \(got none\)"),
        (zipped({"a/": b"", "__MACOSX/._a": b""}), "the zip is empty; .*only folders and files that macOS"),
    ],
    # The bytes of a zip have the time in them.
    ids=["no bytes", "JSON", "gzip", "only a beginning", "no end", "no files", "files of macOS"],
)
def test_no_zip_and_an_empty_zip_are_said(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_zip(data)


@pytest.mark.parametrize(
    ("files", "entry", "message"),
    [
        ({}, None, "at least one file"),
        ({"a": b"12345", "b": b"67890"}, "b", "at most 9 bytes in total"),
        ({"../a": b""}, "../a", "plain file name"),
        ({"a/b": b"", "c": b""}, "a/b", "at the top level, or all in one folder"),
        ({"a/b": b"", "c/d": b""}, "a/b", "at the top level, or all in one folder"),
        ({"a/b/c": b""}, "a/b/c", "at the top level, or all in one folder"),
        ({"../": b"", "a": b""}, "../", "plain file name"),
        ({"__MACOSX/../a": b"", "a": b""}, "__MACOSX/../a", "plain file name"),
        ({"a": b"PK\x03"}, "a", "another archive"),
        ({f"{number}": b"" for number in range(MOST_FILES + 1)}, None, r"at most 20 files \(got 21\)"),
    ],
)
def test_what_is_refused(files: dict[str, bytes], entry: str | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as raised:
        read_zip(zipped(files), limit=9)
    assert raised.value.entry == entry
