"""Caption files from real tools: format detection, parsing, and errors that name expected and found data."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capeval import load_candidates, load_references
from capeval.errors import DependencyError, FormatError, OptionError
from capeval.formats import load_subsets
from capeval.formats.io.rows import text_lines
from capeval.formats.registry import FORMATS

Write = Callable[..., Path]
REFERENCES = {1: ["a man", "one man"], 2: ["a dog"]}
RESULTS = {1: ["a man"], 2: ["a cat"]}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: object, name: str = "file") -> Path:
        path = tmp_path / name
        text = content if isinstance(content, bytes | str) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def zipped(members: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def refusal(load: Callable[..., object], path: Path, **options: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:
        load(path, **options)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return caught.value


ENTRIES = [{"image_id": 1, "caption": "a man"}, {"image_id": 2, "caption": "a cat"}]
COCO = {"images": [{"id": 1}, {"id": 2}], "annotations": [{"id": 7, **ENTRIES[0]}, {"id": 8, **ENTRIES[1]}]}
RESULT_FILES: dict[str, tuple[str, object]] = {
    "COCO results": ("r.json", ENTRIES),
    "without an ending": ("r", ENTRIES),
    "a list of one caption": ("r.json", [{**entry, "caption": [entry["caption"]]} for entry in ENTRIES]),
    "COCO annotations": ("r.json", COCO),
    "annotations alone": ("r.json", {"annotations": COCO["annotations"]}),
    "results in an object": ("r.json", {"model": "x", "results": ENTRIES, "scores": [{"CIDEr": 1.0}]}),
    "predictions in an object": ("r.json", {"predictions": ENTRIES}),
    "a mapping": ("r.json", {"1": "a man", "2": "a cat"}),
    "a mapping of lists": ("r.json", {"1": ["a man"], "2": ["a cat"]}),
    "a mapping of objects": ("r.json", {"1": [{"caption": "a man"}], "2": "a cat"}),
    "JSON Lines": ("r.jsonl", "\n".join(map(json.dumps, ENTRIES))),
    "JSON Lines by another name": ("r.json", "\n".join(map(json.dumps, ENTRIES)) + "\n"),
    "JSON that is called JSON Lines": ("r.jsonl", ENTRIES),
    "predictions": ("r.json", [{"img_id": e["image_id"], "prediction": [e["caption"]]} for e in ENTRIES]),
    "JSON Lines of predictions": (
        "r.jsonl",
        "\n".join(json.dumps({"id": e["image_id"], "pred": e["caption"]}) for e in ENTRIES),
    ),
    "predictions in results": (
        "r.json",
        {"results": [{"cocoid": e["image_id"], "text": e["caption"]} for e in ENTRIES]},
    ),
    "CSV": ("r.csv", "image_id,caption\n1,a man\n2,a cat\n"),
    "CSV in another order": ("r.csv", 'score,Caption,Image ID\r\n0.5,"a man",1\r\n,a cat,2\r\n\r\n'),
    "CSV without an ending": ("r", "id,prediction\n1,a man\n2,a cat"),
    "CSV of pandas": ("r.csv", ",image_id,caption\n0,1,a man\n1,2,a cat\n"),
    "CSV with semicolons": ("r.csv", "image_id;caption\n1;a man\n2;a cat\n"),
    "CSV of an old Mac": ("r.csv", "image_id,caption\r1,a man\r2,a cat\r"),
    "TSV": ("r.tsv", "image_id\tcaption\n1\ta man\n2\ta cat\n"),
    "TSV by another name": ("r.txt", "image_id\tcaption\n1\ta man\n2\ta cat\n"),
}


@pytest.mark.parametrize("what", RESULT_FILES)
def test_results(write: Write, what: str) -> None:
    name, content = RESULT_FILES[what]
    assert dict(load_candidates(write(content, name))) == RESULTS


@pytest.mark.parametrize("what", RESULT_FILES)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_byte_order_mark_and_packing_change_nothing(
    write: Write, what: str, mark: bytes, pack: Callable[[bytes], bytes]
) -> None:
    name, content = RESULT_FILES[what]
    data = mark + write(content, name).read_bytes()
    ending = ".gz" if pack is gzip.compress else ".XZ"
    assert dict(load_candidates(write(pack(data), f"{name}{ending}"))) == RESULTS
    assert dict(load_candidates(data, name=name)) == RESULTS


KARPATHY: dict[str, Any] = {
    "dataset": "coco",
    "images": [
        {
            "filepath": "val2014",
            "sentids": [770337, 771687],
            "filename": "COCO_val2014_000000000001.jpg",
            "imgid": 0,
            "split": "test",
            "sentences": [
                {"tokens": ["a", "man"], "raw": "a man", "imgid": 0, "sentid": 770337},
                {"tokens": ["one", "man"], "raw": "one man", "imgid": 0, "sentid": 771687},
            ],
            "cocoid": 1,
        },
        {"imgid": 1, "split": "train", "filename": "b.jpg", "cocoid": 3, "sentences": [{"raw": "a bus"}]},
        {"imgid": 2, "split": "test", "filename": "c.jpg", "cocoid": 2, "sentences": [{"raw": "a dog"}]},
    ],
}
FLICKR = [{key: value for key, value in image.items() if key != "cocoid"} for image in KARPATHY["images"]]
PAIRS = [(image, caption) for image, captions in REFERENCES.items() for caption in captions]
REFERENCE_FILES: dict[str, tuple[str, object]] = {
    "COCO annotations": (
        "r.json",
        {
            "info": {"year": 2014},
            "images": [{"id": 1}, {"id": 2}],
            "licenses": [],
            "annotations": [{"image_id": image, "caption": caption, "id": 9} for image, caption in PAIRS],
        },
    ),
    "a list": ("r.json", [{"image_id": image, "caption": caption} for image, caption in PAIRS]),
    "a list of lists": ("r.json", [{"id": image, "sentences": group} for image, group in REFERENCES.items()]),
    "JSON Lines": (
        "r.jsonl",
        "\n".join(json.dumps({"id": image, "refs": group}) for image, group in REFERENCES.items()),
    ),
    "a mapping": ("r.json", {"1": ["a man", "one man"], "2": ["a dog"]}),
    "nocaps": (
        "r.json",
        {
            "licenses": [],
            "info": {"url": "http://nocaps.org"},
            "images": [{"id": image, "open_images_id": "x", "domain": "near-domain"} for image in REFERENCES],
            "annotations": [{"image_id": image, "id": 0, "caption": caption} for image, caption in PAIRS],
        },
    ),
    "CSV": ("r.csv", "image_id,caption\n" + "".join(f"{image},{caption}\n" for image, caption in PAIRS)),
    "CSV with predictions": (
        "r.csv",
        "id,reference,prediction\n" + "".join(f"{image},{caption},?\n" for image, caption in PAIRS),
    ),
    "CSV of lists": ("r.csv", 'image_id,raw\n1,"[""a man"", ""one man""]"\n2,"[""a dog""]"\n'),
    "columns between bars": (
        "results.csv",
        "image_name| comment_number| comment\n" + "".join(f"{i}| 0| {text}\n" for i, text in PAIRS),
    ),
}


@pytest.mark.parametrize("what", REFERENCE_FILES)
def test_references(write: Write, what: str) -> None:
    name, content = REFERENCE_FILES[what]
    assert dict(load_references(write(content, name))) == REFERENCES


def test_splits_of_a_dataset_are_asked_for(write: Write) -> None:
    path = write(KARPATHY, "dataset_coco.json")
    message = str(refusal(load_references, path))
    assert "the file has the splits 'test', 'train'; select one or more with 'split'" in message
    assert "--split" in message
    assert dict(load_references(path, split="test")) == REFERENCES
    assert dict(load_references(path, split=["test", "train"])) == {**REFERENCES, 3: ["a bus"]}
    assert "unknown split 'tset'" in str(refusal(load_references, path, split="tset"))
    assert "which has splits" not in str(refusal(load_candidates, path))
    assert refusal(load_candidates, path).kind == "Unsupported"


def test_one_split_needs_no_name(write: Write) -> None:
    images = [image for image in KARPATHY["images"] if image["split"] == "test"]
    assert dict(load_references(write({"images": images}))) == REFERENCES


def test_the_ids_of_a_dataset(write: Write) -> None:
    path = write({"images": FLICKR, "dataset": "flickr8k"})
    assert load_references(path, split="test").image_ids == ("COCO_val2014_000000000001.jpg", "c.jpg")
    assert load_references(path, split="test", id_column="imgid").image_ids == (0, 2)
    message = str(refusal(load_references, path, split="test", id_column="id"))
    assert "one of 'cocoid', 'filename', 'imgid' (got 'id')" in message


def test_token_files(write: Write) -> None:
    path = write(
        '1000.jpg#0\tA child in a dress .\n1000.jpg#1\tA girl #2 .\n99.jpg.1#0\t"Hello\n',
        "Flickr8k.token.txt",
    )
    assert dict(load_references(path)) == {
        "1000.jpg": ["A child in a dress .", "A girl #2 ."],
        "99.jpg.1": ['"Hello'],
    }
    assert "line 2 must have one caption" not in str(refusal(load_candidates, path))
    assert "duplicate image " in str(refusal(load_candidates, path))
    path = write("1.jpg#0\ta\nnothing\n")
    assert "line 2 must have IMAGE#NUMBER, a tab and a caption (got 'nothing')" in str(
        refusal(load_references, path)
    )
    path = write("1.jpg#0\ta\n1.jpg#0\tb\n")
    assert "line 2: duplicate 1.jpg#0 (first seen in line 1)" in str(refusal(load_references, path))


def test_splits_of_tables_and_lists(write: Write) -> None:
    table = write(
        "image_id,split,caption\n1,test,a man\n3,train,a bus\n1,test,one man\n2,test,a dog\n", "t.csv"
    )
    rows = [{"image_id": i, "split": "test", "caption": text} for i, text in PAIRS]
    rows.append({"image_id": 3, "split": "train", "caption": "a bus"})
    lines = "\n".join(map(json.dumps, rows))
    for path in (table, write(rows, "t.json"), write(lines, "t.jsonl")):
        assert dict(load_references(path, split="test")) == REFERENCES
        assert len(load_references(path)) == 3
        assert "no row is of split 'tset'" in str(refusal(load_references, path, split="tset"))
    plain = write("image_id,caption\n1,a\n", "p.csv")
    assert "must have a column 'split'" in str(refusal(load_references, plain, split="test"))
    with pytest.raises(OptionError, match=r"'split' requires a file with splits \(got captions by "):
        load_references(write({"1": ["a"]}), split="test")


TABLES = ("csv", "json", "jsonl", "parquet")


def saved(write: Write, columns: dict[str, list[Any]], kind: str) -> Path:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        data = io.BytesIO()
        parquet.write_table(pa.table(columns), data)
        return write(data.getvalue(), "t.parquet")
    if kind == "csv":
        lines = [",".join(columns), *(",".join(map(str, row.values())) for row in rows)]
        return write("\n".join(lines), "t.csv")
    return write(rows if kind == "json" else "\n".join(map(json.dumps, rows)), f"t.{kind}")


@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_other_names_can_be_named(write: Write, kind: str) -> None:
    path = saved(write, {"uid": [1, 2], "words": ["a man", "a cat"], "x": [0, 0]}, kind)
    assert dict(load_candidates(path, id_column="uid", caption_column="words")) == RESULTS
    assert dict(load_references(path, id_column="uid", caption_column="words")) == RESULTS
    error = refusal(load_candidates, path)
    assert error.kind == "MissingField"
    assert "cannot find the image id " in str(error)
    assert "(got 'uid', 'words', 'x'); set it with 'id_column' (on the command line: --id-c" in str(error)
    message = str(refusal(load_references, path, id_column="uid"))
    assert "cannot find the caption " in message
    assert "--reference-caption-column" in message
    assert " 'no' (got 'uid'" in str(refusal(load_candidates, path, id_column="no"))


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_ambiguous_is_asked_for(write: Write, kind: str) -> None:
    path = saved(
        write,
        {"id": [1, 2], "filename": ["a", "b"], "caption": ["?", "?"], "prediction": ["a man", "a cat"]},
        kind,
    )
    error = refusal(load_candidates, path)
    assert error.kind == "Ambiguous"
    assert "is ambiguous (got 'id', 'filename'); set it with 'id_column'" in str(error)
    message = str(refusal(load_candidates, path, id_column="id"))
    assert "is ambiguous (got 'caption', 'prediction'); set it with 'caption_column'" in message
    assert dict(load_candidates(path, id_column="id", caption_column="prediction")) == RESULTS
    # Predictions are never references.
    assert dict(load_references(path, id_column="id")) == {1: ["?"], 2: ["?"]}


def test_image_id_has_the_ids_whatever_else_is_there(write: Write) -> None:
    path = write("id,image_id,filename,caption\n7,1,x,a man\n8,2,y,a cat\n", "t.csv")
    assert dict(load_candidates(path)) == RESULTS


def test_columns_of_a_kind_without_columns(write: Write) -> None:
    with pytest.raises(OptionError, match=r"require a file with columns \(got captions by image id\)"):
        load_candidates(write({"1": "a"}), caption_column="text")
    with pytest.raises(OptionError, match="got COCO annotations"):
        load_references(write(COCO), id_column="id")


def test_ids_of_csv_are_integers_where_all_are(write: Write) -> None:
    def ids(*texts: str) -> tuple[int | str, ...]:
        return load_candidates(write("id,caption\n" + "".join(f"{t},a\n" for t in texts), "t.csv")).image_ids

    assert ids("12", "-3", "0") == (12, -3, 0)
    assert ids("12", "007") == ("12", "007")
    assert ids("1.0", "2") == ("1.0", "2")
    assert ids("9223372036854775807") == (2**63 - 1,)
    assert ids("9223372036854775808") == ("9223372036854775808",)
    assert ids("١", "2") == ("١", "2")


MEMBERS = {
    "one table": {"a.csv": "image_id,caption\n1,a man\n2,a cat\n"},
    "with a readme": {"a.json": json.dumps(ENTRIES), "README.md": "hi", "LICENSE": "x"},
    "in a folder of a Mac": {"x/a.json": json.dumps(ENTRIES), "__MACOSX/x/a.json": "\0"},
    "with instances": {
        "annotations/captions.json": json.dumps(COCO),
        "annotations/instances.json": json.dumps({"images": [{"id": 1}], "annotations": [{"bbox": []}]}),
    },
}


@pytest.mark.parametrize("what", MEMBERS)
def test_the_one_file_of_captions_in_a_zip(write: Write, what: str) -> None:
    data = zipped(MEMBERS[what])
    assert dict(load_candidates(write(data, "z.zip"))) == RESULTS


def test_two_files_of_captions_in_a_zip_are_named(write: Write) -> None:
    path = write(zipped({"a.json": json.dumps(ENTRIES), "b.json": json.dumps(COCO)}), "z.zip")
    error = refusal(load_candidates, path)
    assert error.kind == "WrongMembers"
    assert "must contain exactly one caption file (got 'a.json', 'b.json'); extract" in str(error)
    path = write(zipped({"a.csv": "x", "b.txt": "y"}), "z.zip")
    assert "(got 'a.csv', 'b.txt')" in str(refusal(load_candidates, path))


def test_nan_is_no_matter_where_nobody_reads(write: Write) -> None:
    first, second = (
        '"image_id": 1, "p": NaN, "caption": "a man"',
        '"q": [-Infinity], "image_id": 2, "caption": "a cat"',
    )
    text = f"[{{{first}}}, {{{second}}}]"
    for content, name in (
        (text, "r.json"),
        (text.replace("image_id", "id").replace("caption", "pred"), "r.json"),
        (f'{{"best": NaN, "results": {text}}}', "r.json"),
        (text.strip("[]").replace("}, {", "}\n{"), "r.jsonl"),
        (f'{{"loss": Infinity, "annotations": {text}}}', "r.json"),
    ):
        assert dict(load_candidates(write(content, name))) == RESULTS
    message = str(refusal(load_candidates, write('[{"id": NaN, "pred": "a"}]', "r.json")))
    assert "entries[0].id must be an integer or a string (got NaN)" in message
    message = str(
        refusal(load_candidates, write('[{"id": 1, "pred": "a"}, {"id": 2, "pred": NaN}]', "r.json"))
    )
    assert "entries[1].pred must be a string or a list of strings (got NaN)" in message
    assert load_subsets(b'\xef\xbb\xbf[{"image_id": 1, "split": "a", "score": NaN}]') == {"a": [1]}


def test_many_numbers_that_are_none_take_no_longer_than_their_length(write: Write) -> None:
    # In the time of their square, 400,000 would take hours.
    entries = ",".join(f'{{"image_id": {i}, "p": [NaN, -Infinity], "caption": "a"}}' for i in range(200_000))
    assert len(load_candidates(write(f"[{entries}]", "r.json"))) == 200_000


def test_a_byte_order_mark_is_treated_one_way(write: Write) -> None:
    mark = b"\xef\xbb\xbf"
    assert load_subsets(mark + b'{"a": [1]}') == {"a": [1]}
    assert list(text_lines(mark + "é\n".encode())) == [(1, "é")]
    assert "byte order mark" not in str(refusal(load_candidates, write(mark + mark + b"[]", "r.txt")))


UNREAD: dict[str, tuple[bytes, str, str]] = {
    "text": (b"hello\nworld\n", "r.txt", "Plain text has no image ids: write a CSV file with the header"),
    "bytes": (bytes(range(200)), "r.bin", "got bytes that are not UTF-8 text"),
    "zeros": (bytes(1000), "r", "got bytes that are not UTF-8 text"),
    "a pickle": (b"\x80\x04\x95", "r.pkl", "looks like a pickle; loading a pickle can run"),
    "bzip2": (b"BZh91AY&SY", "r.json.bz2", "looks like bzip2; use gzip, xz or zip"),
    "zstd": (b"\x28\xb5\x2f\xfd\x00", "r.json.zst", "looks like zstd; use gzip"),
    "old Excel": (b"\xd0\xcf\x11\xe0", "r.xls", "looks like an old Excel file; save the sheet as CSV"),
    "UTF-16": ("image_id,caption\n1,a\n".encode("utf-16"), "r.csv", "UTF-16"),
    "HDF5": (b"\x89HDF\r\n", "r.h5", "looks like HDF5"),
    "an empty CSV": (b"", "r.csv", "the file is empty"),
    "latin-1 in the names": (
        b"image_id,l\xe9gende\n1,a\n",
        "r.csv",
        "line 1 column 11: the byte 0xe9 is not",
    ),
    "Excel": (
        zipped({"[Content_Types].xml": "", "xl/workbook.xml": ""}),
        "r.xlsx",
        "looks like an Excel workbook",
    ),
    "something after the JSON": (
        b'{"1": "a"}\n]',
        "r.json",
        "line 2 column 1 is not JSON: trailing characters",
    ),
    "an empty file": (b"", "r", "the file is empty"),
    "blanks": (b" \n\t\n", "r", "the file has only white space"),
    "a header alone": (b"image_id,caption\n", "r.csv", "must have at least one caption (got none)"),
    "a short line": (b"image_id,caption\n1,a\n2\n", "r.csv", "line 3 must have 2 columns (got 1)"),
    "a long line": (b"image_id,caption\n1,a, b\n", "r.csv", "line 2 must have 2 columns (got 3)"),
    "an open quote": (
        b'image_id,caption\n1,"a\n2,b\n3,c\n',
        "r.csv",
        "a field that starts with a quotation mark",
    ),
    "a quote in the middle": (b'image_id\tcaption\n1\t"a" b\n', "r.tsv", "line 2: the file must be CSV"),
    "a long field": (b"image_id,caption\n1," + b"a" * 200_000, "r.csv", "at most 131,072 characters"),
    "no id": (b"image_id,caption\n,a\n", "r.csv", "image_id must be an image id (got an empty field)"),
    "an image twice": (
        b"image_id,caption\n1,a\n1,b\n",
        "r.csv",
        "line 3: duplicate image_id 1 (first seen in line 2)",
    ),
    "latin-1": (
        b"image_id,caption\n1,a\n2,caf\xe9\n",
        "r.csv",
        "line 3 column 6: the byte 0xe9 is not UTF-8",
    ),
    "a column twice": (b"id,caption,caption\n1,a,b\n", "r.csv", "is ambiguous (got 'caption', 'caption')"),
    "lists of Python": (
        b"id,caption\n1,['a']\n",
        "r.csv",
        "must be a JSON list, because every ",
    ),
    "several captions": (
        b'id,caption\n1,"[""a"", ""b""]"\n',
        "r.csv",
        "line 2 must have one caption (got a list of 2)",
    ),
    "descriptions of images": (b'{"images": [{"id": 1}]}', "r.json", '"annotations"'),
    "entries cut short": (b'[{"img_id": 1, "pred": "a"}, {"img', "r.json", "the file ends inside entries[1]"),
    "a key twice": (b'[{"img_id": 1, "pred": "a", "pred": "b"}]', "r.json", 'has the key "pred" twice'),
    "a caption missing": (
        b'[{"img_id": 1, "pred": "a"}, {"img_id": 2}]',
        "r.json",
        "entries[1] must have the key 'pred'",
    ),
    "ids mixed": (
        b'[{"img_id": 1, "pred": "a"}, {"img_id": "2", "pred": "a"}]',
        "r.json",
        'must be all integers or all strings (img_id is 1 in entries[0], but "2" in entries[1])',
    ),
    "a true id": (
        b'[{"img_id": true, "pred": "a"}]',
        "r.json",
        "entries[0].img_id must be an integer or a string (got true)",
    ),
    "a great id": (b'[{"img_id": 99999999999999999999, "pred": "a"}]', "r.json", "img_id"),
    "no entry": (b"[3]", "r.json", "entries[0] must be an object"),
    "a broken line": (b'{"id": 1, "pred": "a"}\n{"id": 2, "pred"\n', "r.jsonl", "line 2"),
    "a line of a list": (b'{"id": 1, "pred": "a"}\n[]\n', "r.jsonl", "line 2 must be an object (got [])"),
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_not_read_is_said(write: Write, what: str) -> None:
    content, name, words = UNREAD[what]
    message = str(refusal(load_candidates, write(content, name)))
    assert words in message
    assert len(message) < 1500


def test_the_error_of_an_unknown_kind_lists_the_kinds(write: Write) -> None:
    message = str(refusal(load_references, write("hello")))
    assert FORMATS
    for kind in FORMATS.values():
        assert (kind.name in message) == (kind.references is not None)
    message = str(refusal(load_candidates, write("hello")))
    for kind in FORMATS.values():
        assert (kind.name in message) == (kind.candidates is not None)


def test_images_without_captions_are_said_to_be(write: Write) -> None:
    message = str(refusal(load_references, write({"images": [{"id": 1, "domain": "near-domain"}]})))
    assert "the file describes images but contains no captions" in message


def test_strict_results_are_what_servers_take(write: Write) -> None:
    for content in (ENTRIES, {"1": "a man", "2": "a cat"}):
        assert dict(load_candidates(write(content), strict=True)) == RESULTS
    refused: list[bytes] = [
        b"\xef\xbb\xbf" + json.dumps(ENTRIES).encode(),
        json.dumps(ENTRIES).replace('"caption"', '"x": NaN, "caption"').encode(),
        b"image_id,caption\n1,a man\n",
        *(
            json.dumps(RESULT_FILES[what][1]).encode()
            for what in RESULT_FILES
            if what.endswith("in an object")
        ),
        json.dumps(COCO).encode(),
        b'{"1": ["a man"]}',
        b'[{"id": 1, "pred": "a"}]',
    ]
    for data in refused:
        refusal(load_candidates, write(data), strict=True)
    with pytest.raises(OptionError, match="'strict' reads only 'image_id' and 'caption'"):
        load_candidates(write(ENTRIES), strict=True, id_column="x")
    both = [{**entry, "prediction": "?"} for entry in ENTRIES]
    assert dict(load_candidates(write(both), strict=True)) == RESULTS


def test_without_pyarrow_nothing_else_needs_it(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name, content in RESULT_FILES.values():
        assert dict(load_candidates(write(content, name))) == RESULTS
    with pytest.raises(DependencyError, match="pip install pyarrow"):
        load_candidates(write(b"PAR1xxxxPAR1"))


def test_xz_that_asks_for_gigabytes_is_refused(write: Write) -> None:
    data = bytearray(lzma.compress(b"[]"))
    # The block's header: its length, flags, the filter with the size of its dictionary, the sum of all that.
    end = 12 + (data[12] + 1) * 4
    data[16] = 40
    data[end - 4 : end] = zlib.crc32(data[12 : end - 4]).to_bytes(4, "little")
    assert "the xz file is damaged (Memory usage limit exceeded)" in str(
        refusal(load_candidates, write(bytes(data)))
    )


def packed_files() -> list[tuple[str, bytes]]:
    files = [*RESULT_FILES.values(), *REFERENCE_FILES.values(), ("k.json", KARPATHY)]
    plain = [
        (name, (content if isinstance(content, str) else json.dumps(content)).encode())
        for name, content in files
    ]
    packed = [
        gzip.compress(plain[0][1]),
        lzma.compress(plain[0][1]),
        zipped({"a.json": plain[0][1].decode()}),
    ]
    return [*plain, ("t.token", b"1.jpg#0\ta\n1.jpg#1\tb\n"), *(("r", data) for data in packed)]


@settings(deadline=None, max_examples=300)
@given(
    file=st.sampled_from(packed_files()),
    cut=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    between=st.one_of(
        st.binary(max_size=3), st.sampled_from([b"NaN", b'"', b"\n", b",", b"{", b"]", b"\xff"])
    ),
)
def test_a_damaged_file_is_read_or_refused(
    file: tuple[str, bytes], cut: tuple[float, float], between: bytes
) -> None:
    name, data = file
    start, end = sorted(round(place * len(data)) for place in cut)
    damaged = data[:start] + between + data[end:]
    for load in (load_candidates, load_references):
        message = ""
        try:
            load(damaged, name=name)
        except FormatError as error:
            message = str(error)
        assert "\n" not in message
        assert len(message) < 1500
