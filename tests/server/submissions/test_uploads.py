"""Uploads that would do harm, or are wrong: each is refused by name, and nothing is stored."""

from __future__ import annotations

import io
import json
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval_server.challenges.models import Split
from capeval_server.core.errors import UploadError
from capeval_server.submissions.services.upload_files import read_upload
from tests.server.kit import CAPTIONS, RESULTS, results

SPLIT = Split(name="val", results="captions_val_<alg>_results.json", image_ids=list(CAPTIONS))
OTHER = Split(name="test", results="captions_test_<alg>_results.json", image_ids=list(CAPTIONS))


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return data.getvalue()


def linked() -> bytes:
    member = zipfile.ZipInfo(RESULTS)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped((member, b"/etc/passwd"))


def encrypted() -> bytes:
    data = bytearray(zipped((RESULTS, results())))
    # The flags of the entry and of its line in the list.
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    return bytes(data)


def doubled() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped((RESULTS, results()), (RESULTS, results()))


def damaged() -> bytes:
    data = bytearray(zipped((RESULTS, results())))
    data[60] ^= 0xFF
    return bytes(data)


def with_a_zero() -> bytes:
    return zipped((RESULTS.replace(".json", "_json"), results())).replace(b"results_json", b"results\0json")


def lying() -> bytes:
    """Return a ZIP archive that declares 10 unpacked bytes and unpacks to 5 MB."""
    data = bytearray(zipped((RESULTS, b"[" + b" " * 5_000_000)))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + place, 10)
    return bytes(data)


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb": (lambda: zipped((RESULTS, b" " * 200_000_000)), "must have at most 2,000,000 bytes"),
    "lying bomb": (lying, "at most 2,000,000 bytes|damaged"),
    "parent": (lambda: zipped((f"../{RESULTS}", results())), r"'\.\./captions.*: the name must be"),
    "absolute": (lambda: zipped((f"/{RESULTS}", results())), "'/captions.*: the name must be"),
    "drive": (lambda: zipped((f"C:{RESULTS}", results())), "'C:captions.*: the name must be"),
    "backslash": (lambda: zipped((f"..\\{RESULTS}", results())), "the name must be"),
    "zero": (with_a_zero, "the name must be"),
    "folders": (
        lambda: zipped((f"a/b/{RESULTS}", results())),
        "'a/b/captions.*at the top level, or all in one folder",
    ),
    "link": (linked, f"'{RESULTS}': the zip must contain only regular files"),
    "twice": (doubled, f"'{RESULTS}': the zip contains two files with this name"),
    "nested": (lambda: zipped((RESULTS, zipped((RESULTS, results())))), f"'{RESULTS}': .*another archive"),
    "encrypted": (encrypted, f"'{RESULTS}': the file must not be encrypted"),
    "many": (lambda: zipped(*((f"{i}", b"") for i in range(21))), "at most 20 files"),
    "very many": (lambda: zipped(*((f"{i}", b"") for i in range(1001))), "at most 20 files"),
    "empty": (lambda: zipped(), "at least one file"),
    "name": (lambda: zipped(("results.json", results())), r"'results\.json': the file must be named"),
    "damaged": (damaged, "damaged"),
    "no zip": (lambda: b"PK\x03\x04 and so on", "the file is not a zip, or is truncated"),
    "not JSON": (lambda: b"hello", f"'{RESULTS}': the file must be JSON"),
    "broken JSON": (lambda: results()[:-1], f"'{RESULTS}': "),
    "large": (lambda: b"[" + b" " * 1_000_000, "the upload must have at most 1,000,000 bytes"),
    "missing": (lambda: results({1: "A dog."}), r"5 images \(2, 3, 4, 5, 6\) are missing a caption"),
    "unknown": (lambda: results({**CAPTIONS, 99: "?"}), "image 99 is not in split 'val'"),
    "text ids": (
        lambda: json.dumps([{"image_id": "a", "caption": "b"}]).encode(),
        r"image ids must be integers \(got strings\)",
    ),
    "a long id": (
        lambda: json.dumps([{"image_id": "x" * 100_000, "caption": "b"}]).encode(),
        r"image 'x{76}\.\.\. is not in split 'val'",
    ),
    "NaN": (lambda: b'[{"image_id": NaN, "caption": "a"}]', f"'{RESULTS}': "),
    "NaN elsewhere": (lambda: results().replace(b"{", b'{"p": NaN, ', 1), "NaN is not JSON"),
    "BOM": (
        lambda: b"\xef\xbb\xbf" + results(),
        f"'{RESULTS}': the file must be UTF-8 without a byte order mark",
    ),
    "UTF-16": (
        lambda: results().decode().encode("utf-16"),
        f"'{RESULTS}': the file must be UTF-8 without a byte order mark",
    ),
    "BOM behind a blank": (lambda: b" \xef\xbb\xbf" + results(), f"'{RESULTS}': "),
    "in an object": (
        lambda: b'{"results": ' + results() + b"}",
        "must be a caption, as the value of an image id",
    ),
    "annotations": (lambda: b'{"annotations": ' + results() + b"}", "must be a caption, as the value of"),
    "a list of one": (
        lambda: json.dumps({image: [caption] for image, caption in CAPTIONS.items()}).encode(),
        r"must be a caption, as the value of an image id \(got a list\)",
    ),
    "other keys": (
        lambda: json.dumps([{"id": i, "prediction": caption} for i, caption in CAPTIONS.items()]).encode(),
        'must have the key "image_id"',
    ),
    "CSV": (lambda: b"image_id,caption\n1,a\n", f"'{RESULTS}': the file must be JSON"),
    "JSON lines": (lambda: b'{"image_id": 1, "caption": "a"}\n' * 2, f"'{RESULTS}': "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(UploadError, match=message):
        read_upload(RESULTS, [make()], [SPLIT])


def test_a_bomb_is_stopped_early() -> None:
    bomb = zipped((RESULTS, b" " * 200_000_000))
    assert len(bomb) < 200_000
    # What this takes itself: a process of tests had more at some time before.
    tracemalloc.start()
    with pytest.raises(UploadError, match="at most 2,000,000 bytes"):
        read_upload(RESULTS, [bomb], [SPLIT])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


def test_keys_that_a_server_does_not_read_are_no_matter() -> None:
    entries = [{"image_id": i, "caption": c, "prediction": "?", "id": 7} for i, c in CAPTIONS.items()]
    data = json.dumps(entries).encode()
    assert read_upload(RESULTS, [data], [SPLIT]).files == {"val": data}


def test_valid_uploads() -> None:
    alone = read_upload(RESULTS, [results()[:10], results()[10:]], [SPLIT])
    assert (alone.files, alone.algorithm) == ({"val": results()}, "mine")
    both = zipped((RESULTS, results()), ("captions_test_mine_results.json", results()))
    upload = read_upload("anything.zip", [both], [SPLIT, OTHER])
    assert upload.files == {"val": results(), "test": results()}
    assert upload.id_rules == {"val": "", "test": ""}
    of_macos = zipped((f"mine/{RESULTS}", results()), (f"__MACOSX/mine/._{RESULTS}", b"\0\5\x16\7"))
    assert read_upload("mine.zip", [of_macos], [SPLIT]).files == {"val": results()}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (str, "numbers equal their decimal text"),
        (lambda image: f"val/{image}.jpg", "base names without extension"),
        (lambda image: f"COCO_val2014_{image:012}.jpg", "numbers in COCO's file names"),
    ],
)
def test_ids_in_another_form_become_the_ids_of_the_split(name: Callable[[int], str], rule: str) -> None:
    rows = [{"image_id": name(image), "caption": caption} for image, caption in CAPTIONS.items()]
    upload = read_upload(RESULTS, [json.dumps(rows).encode()], [SPLIT])
    found = json.loads(upload.files["val"])
    assert found == [{"image_id": image, "caption": caption} for image, caption in CAPTIONS.items()]
    assert upload.id_rules == {"val": rule}
    del rows[0]
    with pytest.raises(UploadError, match="image 1 is missing a caption"):
        read_upload(RESULTS, [json.dumps(rows).encode()], [SPLIT])


def test_a_file_named_zip_that_is_none() -> None:
    with pytest.raises(UploadError, match=r"^the file is not a zip \(it starts with b'\[{\"image'\)$"):
        read_upload("mine.ZIP", [results()], [SPLIT])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([RESULTS], "must contain 'captions_test_<alg>_results.json', the results of split 'test'"),
        ([RESULTS, "captions_test_other_results.json"], r"have the same algorithm \(got 'mine', 'other'\)"),
    ],
)
def test_splits_go_together(members: list[str], message: str) -> None:
    data = zipped(*((name, results()) for name in members))
    with pytest.raises(UploadError, match=message):
        read_upload("results.zip", [data], [SPLIT, OTHER])


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"[", b"{"]))
def test_anything_else_is_refused_by_name(data: bytes, start: bytes) -> None:
    with pytest.raises(UploadError):
        read_upload(RESULTS, [start + data], [SPLIT])


@given(st.data())
def test_damaged_zips_are_refused_or_whole(data: st.DataObject) -> None:
    whole = bytearray(zipped((RESULTS, results())))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255))
    try:
        upload = read_upload(RESULTS, [bytes(whole)], [SPLIT])
    except UploadError:
        return
    assert upload.files == {"val": results()}
