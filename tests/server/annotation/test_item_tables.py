"""Tables of items: formats, columns, and all problems at once."""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from capeval_server.annotation.campaigns import item_tables
from capeval_server.annotation.campaigns.columns import (
    build_rows,
    find_images,
    list_parts,
    recognize_columns,
    validate_columns,
)
from capeval_server.annotation.campaigns.item_tables import read_item_table
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.core.errors import CampaignError, CampaignFilesError, ColumnsError

ROWS = [{"image": "1.jpg", "caption": "A dog."}, {"image": "2.jpg", "caption": "A cat; asleep."}]
IMAGES = ["1.jpg", "2.jpg"]
COCO = {
    "images": [{"id": 1, "file_name": "a/1.jpg"}, {"id": 2, "file_name": "a/2.jpg"}],
    "annotations": [
        {"id": 7, "image_id": 2, "caption": "A cat."},
        {"id": 8, "image_id": 1, "caption": "A dog."},
    ],
}


def dumped(content: object) -> bytes:
    return json.dumps(content).encode()


def items(kind: str, data: bytes, images: list[str] | None = IMAGES, name: str = "ours.csv") -> Any:
    """The rows of a file as items, by the recognized columns."""
    task = task_named(kind)
    table = read_item_table(name, data, by_image=kind == "write")
    columns = recognize_columns(task, table, name)
    validate_columns(task, table, columns)
    return [row for _, row in build_rows(task, table, columns, images)]


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    out = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), out)
    return bytes(out.getvalue())


@pytest.mark.parametrize(
    "data",
    [
        b"image,caption\n1.jpg,A dog.\n2.jpg,A cat; asleep.\n",
        b"\xef\xbb\xbfImage\tCaption\r\n1.jpg\tA dog.\r\n2.jpg\tA cat; asleep.\r\n",
        b'file_name;caption\n1.jpg;A dog.\n2.jpg;"A cat; asleep."\n',
        b"\n".join(map(dumped, ROWS)),
        dumped(ROWS),
        json.dumps(ROWS, indent=1).encode(),
        as_parquet(ROWS),
        gzip.compress(b"image,caption\n1.jpg,A dog.\n\n2.jpg,A cat; asleep.\n"),
    ],
    ids=["csv", "tsv", "semicolons", "jsonl", "json", "indented", "parquet", "gzip"],
)
def test_all_formats_give_the_same_items(data: bytes) -> None:
    assert items("m3", data) == [
        {"image": "1.jpg", "caption": "A dog.", "system": "ours", "key": "1"},
        {"image": "2.jpg", "caption": "A cat; asleep.", "system": "ours", "key": "2"},
    ]


def test_coco_annotations_and_results() -> None:
    assert items("m3", dumped(COCO), name="x.json") == [
        {"image": "2.jpg", "image_id": "2", "caption": "A cat.", "system": "x", "key": "7"},
        {"image": "1.jpg", "image_id": "1", "caption": "A dog.", "system": "x", "key": "8"},
    ]
    assert items("write", dumped(COCO)) == [{"image": "1.jpg", "key": "1"}, {"image": "2.jpg", "key": "2"}]
    results = dumped([{"image_id": 391895, "caption": "A man."}])
    name = "COCO_val2014_000000391895.jpg"
    (found,) = items("m3", results, [name, "391895-1.jpg"])
    assert (found["image"], found["image_id"], found["key"]) == (name, "391895", "391895")


def test_pairs_keywords_and_checks() -> None:
    data = b"image_id,caption_a,caption_b,system_a,system_b,expected\n1,A,B,x,y,\n2,C,D,x,y,first\n"
    first, second = items("pairwise", data)
    assert first == {
        "image": "1.jpg",
        "image_id": "1",
        "first": "A",
        "second": "B",
        "first_by": "x",
        "second_by": "y",
        "key": "1",
    }
    assert second["expected"] == {"choice": "first"}
    found = items("write", b'image,keywords,training\n1.jpg,cart; person,no\n2.jpg,"[""a dog""]",\n')
    assert [row["keywords"] for row in found] == [["cart", "person"], ["a dog"]]
    assert all("training" not in row for row in found)


def test_keys_are_created_if_ids_repeat() -> None:
    data = b"image_id,model,caption\n1,x,A\n1,y,B\n2,x,C\n"
    assert [row["key"] for row in items("m3", data)] == ["1-1", "1-2", "2"]
    assert [row["key"] for row in items("triplet", b"reference,a,b\nA,B,C\nA,D,E\n", None)] == [
        "item-1",
        "item-2",
    ]


def test_all_problems_at_once() -> None:
    data = b"image,caption\n1.jpg,\n3.jpg,A\n2.png,B\n2.jpg,C\n"
    rows = items("m3", data)
    assert rows[0] == "'caption' must not be empty (column 'caption')"
    assert rows[1].startswith("no image file '3.jpg'; did you mean ")
    assert rows[2].startswith("no image file '2.png'")
    assert rows[3]["key"] == "2"
    with pytest.raises(CampaignFilesError) as error:
        read_item_table("a.csv", b"image,caption\n1.jpg,A,B\n2.jpg\n")
    assert error.value.problems == (
        "line 2: the row must have 2 columns (got 3); quote commas",
        "line 3: the row must have 2 columns (got 1); quote commas",
    )
    with pytest.raises(CampaignFilesError, match=r"a.jsonl, line 2: an item must be a JSON object"):
        read_item_table("a.jsonl", b'{"key": "1"}\n[]\n')


def test_columns_must_exist() -> None:
    task, table = task_named("m3"), read_item_table("a.csv", b"picture,words\n1.jpg,A\n")
    columns = recognize_columns(task, table, "a.csv")
    with pytest.raises(ColumnsError, match=r"no column for 'caption' \(columns: 'picture', 'words'\)"):
        validate_columns(task, table, columns)
    validate_columns(task, table, {**columns, "caption": "words"})
    with pytest.raises(ColumnsError, match="no column 'text' for 'caption'"):
        validate_columns(task, table, {**columns, "caption": "text"})
    with pytest.raises(ColumnsError, match="unknown part 'color'"):
        validate_columns(task, table, {**columns, "color": "words"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "contains no items"),
        (b"image,caption\n", "contains no items"),
        (b"image,image\n1,2\n", "unique and not empty"),
        (b"image,caption\n\xff,A\n", "not UTF-8"),
        (b'image,caption\n"1,A\n', "quotation mark"),
        (b"[1", "the file ends inside"),
        (b'{"a": 1,\n"b": 2}', "line 1: an item must be a JSON object"),
        (b'{"images": 1}', "list 'images' or 'annotations'"),
        (b"[" * 100_000, "line 1"),
        (b'{"key": "0"}\n' + b"[" * 100_000, "line 2: an item must be a JSON object"),
        (b"PAR1 no table", "Parquet"),
        (b"PK\x03\x04", "zip"),
        (gzip.compress(b"a" * 3_000_000), "at most 1,000,000 bytes"),
    ],
)
def test_hostile_files(data: bytes, message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        read_item_table("items.csv", data, limit=1_000_000)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_tables, "MOST_ROWS", 2)
    with pytest.raises(CampaignError, match="at most 2 rows"):
        read_item_table("a.csv", b"a\n1\n2\n3\n")
    big = as_parquet([{"caption": "a" * 100_000}] * 50)
    with pytest.raises(CampaignError, match="at most 1,000,000 bytes"):
        read_item_table("a.parquet", big, limit=1_000_000)


def test_parquet_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CampaignError, match=r'pip install "capeval-server\[parquet\]"'):
        read_item_table("a.parquet", b"PAR1")


def test_each_task_type_names_its_required_parts() -> None:
    required = {
        name: [part.name for part in list_parts(task) if part.is_required] for name, task in TASKS.items()
    }
    assert required["write"] == ["image"]
    assert required["pairwise"] == ["image", "first", "second"]
    assert required["m5"] == ["candidate", "human", "system"]


def test_images_are_in_natural_order() -> None:
    assert find_images(["10.png", "9.JPG", "readme.txt", "a.webp"]) == ["9.JPG", "10.png", "a.webp"]
