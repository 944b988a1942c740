"""Caption files: parsing and error messages."""

from __future__ import annotations

import ast
import gzip
import io
import json
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capeval import Candidates, References, _native, errors, load_candidates, load_references
from capeval.errors import FormatError, FormatErrorKind, MismatchError
from capeval.formats import load_subsets, write_candidates, write_references

RESULTS = [{"image_id": 1, "caption": "a man"}, {"image_id": 2, "caption": ""}]
ANNOTATIONS = {
    "images": [{"id": 2}, {"id": 1}],
    "annotations": [
        {"id": 10, "image_id": 1, "caption": "a man"},
        {"id": 11, "image_id": 2, "caption": "a dog"},
        {"id": 12, "image_id": 1, "caption": "one man\n"},
    ],
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: object, name: str = "file.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def zipped(*members: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return data.getvalue()


def test_coco_annotations_keep_the_order_of_images(write: Callable[..., Path]) -> None:
    references = load_references(write(ANNOTATIONS))
    assert references.image_ids == (2, 1)
    assert dict(references) == {2: ["a dog"], 1: ["a man", "one man\n"]}


def test_a_list_of_references_may_have_text_for_ids(write: Callable[..., Path]) -> None:
    entries = [{"image_id": "2008_1.jpg", "captions": ["a", "b"]}, {"image_id": "x", "caption": "c"}]
    assert dict(load_references(write(entries))) == {"2008_1.jpg": ["a", "b"], "x": ["c"]}


def test_the_keys_of_a_mapping_are_integers_when_all_are(write: Callable[..., Path]) -> None:
    assert dict(load_references(write({"12": ["a"], "-3": ["b"]}))) == {12: ["a"], -3: ["b"]}
    assert dict(load_candidates(write({"12": "a", "012": "b"}))) == {"12": ["a"], "012": ["b"]}


def test_text_that_looks_like_integers_stays_text_in_a_list(write: Callable[..., Path]) -> None:
    candidates = load_candidates(write([{"image_id": "1", "caption": "a"}]))
    assert candidates.image_ids == ("1",)


PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "plain": ("r.json", lambda data: data),
    "gzip": ("r.json.gz", gzip.compress),
    "gzip by another name": ("r.json", gzip.compress),
    "zip": ("r.zip", lambda data: zipped(("folder/r.json", data))),
    "xz": ("r.json.xz", lzma.compress),
    "xz by another name": ("r.json", lzma.compress),
    "xz in two streams": ("r.json.xz", lambda data: lzma.compress(data[:9]) + lzma.compress(data[9:])),
    "zip made on a Mac": ("r.zip", lambda data: zipped(("r.json", data), ("__MACOSX/._r.json", b"x"))),
}


@pytest.mark.parametrize("how", PACKED)
def test_packed_results_are_the_same(write: Callable[..., Path], how: str) -> None:
    name, pack = PACKED[how]
    path = write(pack(json.dumps(RESULTS).encode()), name)
    assert dict(load_candidates(path)) == {1: ["a man"], 2: [""]}


@pytest.mark.parametrize("inside", ["r.jsonl", "r.ndjson", "R.JSONL"])
@pytest.mark.parametrize("packed", ["", ".gz", ".GZ", ".zip"])
def test_json_lines(write: Callable[..., Path], inside: str, packed: str) -> None:
    lines = b"\n".join(json.dumps(entry).encode() for entry in RESULTS)
    pack = {".gz": gzip.compress, ".zip": lambda data: zipped((inside, data))}.get(packed.lower())
    path = write(pack(lines) if pack else lines, "r.zip" if packed == ".zip" else f"{inside}{packed}")
    assert dict(load_candidates(path)) == {1: ["a man"], 2: [""]}
    assert dict(load_references(path)) == {1: ["a man"], 2: [""]}


def test_a_pipe_can_be_read() -> None:
    read, written = os.pipe()
    os.write(written, json.dumps(RESULTS).encode())
    os.close(written)
    try:
        assert load_candidates(f"/dev/fd/{read}").image_ids == (1, 2)
    finally:
        os.close(read)


ID = '[{"image_id": %s, "caption": "a"}]'
REFUSED: dict[str, tuple[bytes, str, str]] = {
    "not JSON": (b"hello", "NotJson", "line 1 column 1"),
    "empty": (b" \n", "EmptyFile", "white space"),
    "truncated": (b'[{"image_id": 1, "caption": "a', "Truncated", "ends inside entries[0].caption"),
    "BOM and nothing": (b"\xef\xbb\xbf", "EmptyFile", "the file is empty"),
    "UTF-16": ("[]".encode("utf-16"), "Utf16", "UTF-16"),
    "latin-1": (b'[{"image_id": 1, "caption": "caf\xe9"}]', "NotUtf8", "0xe9"),
    "nested deep": (b'[{"image_id": 1, "more": ' + b"[" * 200_000, "TooDeep", "127"),
    "nested deep from the start": (b"[" * 200_000, "WrongType", "entries[0] must be an object"),
    "many digits": ((ID % ("9" * 5000)).encode(), "NumberTooLarge", "entries[0].image_id"),
    "NaN": ((ID % "NaN").encode(), "NotANumber", "image_id must be an integer or a string (got NaN)"),
    "Infinity": ((ID % "-Infinity").encode(), "NotANumber", "(got -Infinity)"),
    "true as id": ((ID % "true").encode(), "WrongType", "entries[0].image_id"),
    "float as id": ((ID % "1.0").encode(), "WrongType", "entries[0].image_id"),
    "text among integers": (
        b'[{"image_id": 1, "caption": "a"}, {"image_id": "1", "caption": "b"}]',
        "MixedIds",
        "entries[1].image_id",
    ),
    "duplicate key": (b'[{"image_id": 1, "image_id": 2, "caption": "a"}]', "DuplicateKey", "image_id"),
    "duplicate image": (
        b'[{"image_id": 1, "caption": "a"}, {"image_id": 1, "caption": "b"}]',
        "DuplicateImage",
        "entries[1].image_id",
    ),
    "caption null": (b'[{"image_id": 1, "caption": null}]', "WrongType", "entries[0].caption"),
    "no caption": (b'[{"image_id": 1}]', "MissingField", "caption"),
    "nothing": (b"[]", "NoCaptions", "at least one caption"),
    "gzip cut short": (gzip.compress(os.urandom(999))[:-20], "Truncated", "truncated"),
    "gzip damaged": (b"\x1f\x8b" + b"x" * 50, "Damaged", "gzip"),
    "gzip in gzip": (gzip.compress(gzip.compress(b"[]")), "Nested", "another archive"),
    "xz in gzip": (gzip.compress(lzma.compress(b"[]")), "Nested", "another archive"),
    "xz cut short": (lzma.compress(os.urandom(999))[:-20], "Truncated", "truncated"),
    "xz damaged": (b"\xfd7zXZ\x00" + b"x" * 50, "Damaged", "xz"),
    "zip of two": (zipped(("a.json", b"[]"), ("b.json", b"[]")), "WrongMembers", "'a.json', 'b.json'"),
    "zip of nothing": (zipped(), "WrongMembers", "got no files"),
    "zip of text": (zipped(("readme.txt", b"hi")), "Unsupported", "text that starts with 'hi'"),
    "zip in zip": (zipped(("a.json", zipped(("b.json", b"[]")))), "Nested", "another archive"),
    "zip cut short": (zipped(("a.json", b"[]"))[:-9], "Damaged", "zip"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_file_named(write: Callable[..., Path], what: str) -> None:
    content, kind, words = REFUSED[what]
    path = write(content)
    with pytest.raises(FormatError) as caught:
        load_candidates(path)
    assert caught.value.kind == kind
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_encrypted_zip_is_refused(write: Callable[..., Path]) -> None:
    data = bytearray(zipped(("a.json", b"[]")))
    # The flag is in the header of the file and in the directory at the end.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FormatError, match="is encrypted") as caught:
        load_candidates(write(bytes(data), "r.zip"))
    assert caught.value.kind == "Encrypted"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, lambda data: zipped(("a.json", data))])
def test_bombs_stop_at_the_limit(write: Callable[..., Path], pack: Callable[[bytes], bytes]) -> None:
    path = write(pack(b" " * 10_000_000))
    assert path.stat().st_size < 20_000
    with pytest.raises(FormatError, match="at most 1,000,000 bytes") as caught:
        load_references(path, limit=1_000_000)
    assert caught.value.kind == "TooLarge"


def test_a_zip_that_lies_about_its_size_is_stopped(write: Callable[..., Path]) -> None:
    data = bytearray(zipped(("a.json", b" " * 10_000_000)))
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = b"\x01\0\0\0"
    with pytest.raises(FormatError):
        load_references(write(bytes(data)), limit=1_000_000)


def test_a_plain_file_over_the_limit(write: Callable[..., Path]) -> None:
    path = write(RESULTS)
    size = path.stat().st_size
    assert len(load_candidates(path, limit=size)) == 2
    with pytest.raises(FormatError, match="the file must have at most"):
        load_candidates(path, limit=size - 1)


def test_an_image_without_references_is_named(write: Callable[..., Path]) -> None:
    content: dict[str, Any] = {**ANNOTATIONS, "images": [{"id": 1}, {"id": 2}, {"id": 77}]}
    with pytest.raises(FormatError, match="77") as caught:
        load_references(write(content))
    assert caught.value.kind == "NoReferences"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_candidates(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        load_references(tmp_path)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    references = References({"x\u2028": ["a \U0001f600", ""], "y": ["b\n"]})
    candidates = Candidates({3: "é", 1: ""})
    write_references(references, tmp_path / "r.json")
    write_candidates(candidates, tmp_path / "c.json")
    assert dict(load_references(tmp_path / "r.json")) == dict(references)
    assert load_candidates(tmp_path / "c.json").image_ids == (3, 1)
    assert load_candidates(tmp_path / "c.json") == candidates


def test_written_references_are_what_pycocotools_reads(tmp_path: Path) -> None:
    coco = pytest.importorskip("pycocotools.coco")
    write_references(References({7: ["a", "b"], 5: ["c"]}), tmp_path / "r.json")
    write_candidates(Candidates({7: "x", 5: "y"}), tmp_path / "c.json")
    truth = coco.COCO(str(tmp_path / "r.json"))
    assert [annotation["caption"] for annotation in truth.imgToAnns[7]] == ["a", "b"]
    assert truth.loadRes(str(tmp_path / "c.json")).imgToAnns[5][0]["caption"] == "y"


def test_several_candidates_have_no_file(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="2 for image 1"):
        write_candidates(Candidates({1: ["a", "b"]}), tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_subsets_by_name_and_by_domain(write: Callable[..., Path]) -> None:
    assert load_subsets(write({"near": [1, 2], "far": [3]})) == {"near": [1, 2], "far": [3]}
    entries = [
        {"image_id": "0.jpg", "split": "in_domain", "caption": ["a"]},
        {"image_id": "1.jpg", "split": "out_domain"},
        {"image_id": "0.jpg", "split": "in_domain"},
    ]
    assert load_subsets(write(entries)) == {"in_domain": ["0.jpg"], "out_domain": ["1.jpg"]}
    images = {"images": [{"id": 4, "domain": "a"}, {"id": 5, "domain": "b"}], "annotations": []}
    assert load_subsets(write(images)) == {"a": [4], "b": [5]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"3", "a mapping of names to image ids"),
        (b"{}", "at least one subset"),
        (b'{"a": []}', '"a" must be a list of image ids, at least one (got [])'),
        (b'{"a": [true]}', '"a"[0] must be an integer or a string (got true)'),
        (b'{"a": [1.0]}', '"a"[0] must be an integer or a string (got 1.0)'),
        (b'{"a": [1, 1]}', 'duplicate image id 1 in "a"[1]'),
        (b'{"a": [1], "a": [2]}', 'the file has the key "a" twice'),
        (b'{"a": [NaN]}', '"a"[0] must be an integer or a string (got NaN)'),
        (
            b'{"a": [' + b"9" * 5000 + b"]}",
            "a[0] must be within the range of floats (got a number of 5000",
        ),
        (b"[" * 200_000, "inside each other"),
        (b'{"a": [1', "the file ends inside a[1] (truncated?)"),
        (b"\xff", "not UTF-8"),
        (b"", "the file is empty; expected JSON"),
        (b" \n", "the file has only white space; expected JSON"),
        ('{"a": [1]}'.encode("utf-16"), "looks like UTF-16"),
        ('{"a": [1]}'.encode("utf-32-be"), "looks like UTF-16 or UTF-32"),
        (b'[{"image_id": 1}]', "entries[0] must have one of the keys 'domain', 'split', 'subset'"),
        (b'[{"split": "a"}]', "entries[0] must have the key 'image_id'"),
        (b'[{"image_id": 1, "split": 2}]', "entries[0].split must be a string (got 2)"),
    ],
)
def test_subsets_refused(write: Callable[..., Path], content: bytes, words: str) -> None:
    path = write(content)
    with pytest.raises(FormatError) as caught:
        load_subsets(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_long_names_and_ids_of_subsets_are_cut_short(write: Callable[..., Path]) -> None:
    long = "x" * 100_000
    contents = (
        json.dumps({long: []}),
        json.dumps({long: [1.0]}),
        json.dumps({long: [long, long]}),
        f'{{"{long}": 1, "{long}": 2}}',
    )
    for content in contents:
        with pytest.raises(FormatError) as caught:
            load_subsets(write(content.encode()))
        assert len(caught.value.message) < 200


def test_bytes_are_read_as_their_file_is(write: Callable[..., Path]) -> None:
    data = json.dumps(RESULTS).encode()
    assert load_candidates(data) == load_candidates(gzip.compress(data)) == load_candidates(write(RESULTS))
    assert load_references(zipped(("r.json", data))) == load_references(write(RESULTS))
    lines = b"\n".join(json.dumps(entry).encode() for entry in RESULTS)
    assert load_candidates(lines, name="r.jsonl") == load_candidates(gzip.compress(lines), name="r.jsonl.gz")
    assert load_subsets(b'{"a": [1]}') == {"a": [1]}


def test_bytes_are_named_in_errors_where_they_have_a_name() -> None:
    for name, words in (("", "the file is empty"), ("r.json", "r.json: the file is empty")):
        with pytest.raises(FormatError) as caught:
            load_candidates(b"", name=name)
        assert str(caught.value).startswith(words)
        assert caught.value.path == (name or None)
    with pytest.raises(FormatError, match="at most 3 bytes"):
        load_references(b"[   ]", limit=3)


def test_every_kind_that_native_readers_raise_is_known() -> None:
    kinds = set(FormatErrorKind)
    assert set(_native.read_error_kinds()) <= kinds
    with pytest.raises(ValueError, match="'Odd' is not a valid FormatErrorKind"):
        FormatError("odd", kind="Odd")
    raised = FormatError("wrong", kind="WrongType")
    assert raised.kind == "WrongType"
    assert isinstance(raised.kind, FormatErrorKind)


def test_every_kind_in_the_code_is_known() -> None:
    source = Path(errors.__file__).parents[1]
    named = {
        (path.name, node.value.value)
        for path in source.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "FormatError"
        for node in call.keywords
        if node.arg == "kind" and isinstance(node.value, ast.Constant)
    }
    assert {kind for _, kind in named} <= set(FormatErrorKind), named
