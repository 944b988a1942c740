"""Captions from Arrow's streams, in every layout of text that Arrow has."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval import Candidates, References, _native
from capeval.errors import CaptionError, FormatError
from tests.twins.tables import captions_of

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

TEXTS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "dictionary of views": pa.dictionary(pa.uint32(), pa.large_string()),
}
LISTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "fixed_size_list": lambda text: pa.list_(text, 2),
}
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]

CAPTIONS = ["a man", "", "ein Mädchen mit 🎈", "one long caption that no view holds inside of itself", "b"]


class Stream:
    """Nothing but Arrow's protocol."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def array(values: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    if not hasattr(kind, "value_type"):
        return pa.array(values, kind)
    if not pa.types.is_dictionary(kind.value_type):
        return pa.array(values, kind)
    flat = array([text for each in values for text in each], kind.value_type)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
    ends = [0]
    for each in values:
        ends.append(ends[-1] + len(each))
    whole = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return whole.from_arrays(pa.array(ends, pa.int64() if whole is pa.LargeListArray else pa.int32()), flat)


@pytest.mark.parametrize("text", TEXTS)
def test_text_of_every_layout(text: str) -> None:
    table = pa.table({"image_id": range(5), "caption": array(CAPTIONS, TEXTS[text])})
    expected = {image: [caption] for image, caption in enumerate(CAPTIONS)}
    assert dict(Candidates(Stream(table))) == expected
    sliced = dict(Candidates(Stream(table.slice(2, 2))))
    assert sliced == {image: expected[image] for image in (2, 3)}
    ids = pa.table({"image_id": array(CAPTIONS, TEXTS[text]), "caption": CAPTIONS})
    assert dict(Candidates(Stream(ids.slice(1)))) == {caption: [caption] for caption in CAPTIONS[1:]}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("lists", LISTS)
def test_lists_of_every_layout(lists: str, text: str) -> None:
    pairs = [list(pair) for pair in pairwise(CAPTIONS)]
    table = pa.table({"image_id": range(4), "caption": array(pairs, LISTS[lists](TEXTS[text]))})
    assert dict(References(Stream(table))) == dict(enumerate(pairs))
    assert dict(References(Stream(table.slice(1, 2)))) == {1: pairs[1], 2: pairs[2]}


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_integers_of_every_size(kind: Any) -> None:
    table = pa.table({"image_id": pa.array([3, 100, 7], kind), "caption": ["a", "b", "c"]})
    assert dict(Candidates(Stream(table.slice(1)))) == {100: ["b"], 7: ["c"]}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(data=st.data())
def test_any_table_is_read_as_its_twin_reads_it(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 12))
    text = TEXTS[data.draw(st.sampled_from(sorted(TEXTS)))]
    lists = data.draw(st.sampled_from([None, *sorted(LISTS)]))
    some: Any = texts
    if lists is not None:
        some = st.lists(texts, min_size=2, max_size=2 if lists == "fixed_size_list" else 4)
    ids: Any = st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.integers(0, 3), texts])
    images = data.draw(st.lists(data.draw(ids), min_size=length, max_size=length))
    captions = data.draw(st.lists(some, min_size=length, max_size=length))
    kind = text if lists is None else LISTS[lists](text)
    table = pa.table({"caption": array(captions, kind), "image_id": images})
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, length))
    cut = data.draw(st.integers(start, end))
    parts = [table.slice(start, cut - start), table.slice(cut, end - cut)]
    table = pa.concat_tables(parts)
    assert dict(References(Stream(table))) == captions_of(table, "image_id", "caption")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"image_id": [1, None], "caption": ["a", "b"]}, r"row 1: image_id must be an integer .*got null"),
        ({"image_id": [1, 2], "caption": ["a", None]}, r"row 1: caption must be text \(got null\)"),
        ({"image_id": [1, 2], "caption": [None, None]}, r"row 0: caption must be text \(got null\)"),
        ({"image_id": [1, 2], "caption": [["a"], None]}, r"row 1: caption must be a list of text \(got null"),
        ({"image_id": [1], "caption": [["a", None]]}, r"row 0: caption\[1\] must be text \(got null\)"),
        (
            {"image_id": [1, 2], "caption": [["a"], []]},
            r"row 1 must have at least one caption \(got an empty",
        ),
        (
            {"image_id": [1], "caption": [2.5]},
            r"column caption must hold text or lists of text \(got Float64",
        ),
        (
            {"image_id": [1], "caption": [[["a"]]]},
            r"column caption must hold text or lists of text \(got List",
        ),
        ({"image_id": [True], "caption": ["a"]}, r"column image_id must hold integers or text \(got Boolean"),
        (
            {"image_id": pa.array([1, 2**63], pa.uint64()), "caption": ["a", "b"]},
            r"row 1: image_id must be an",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_row(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(CaptionError, match=words):
        References(Stream(pa.table(columns)))


def test_rows_are_counted_over_all_batches() -> None:
    good = pa.table({"image_id": [1, 2, 3], "caption": ["a", "b", "c"]})
    bad = pa.table({"image_id": [4, 5], "caption": ["d", None]})
    with pytest.raises(CaptionError, match="row 4: caption must be text"):
        References(Stream(pa.concat_tables([good, bad])))
    with pytest.raises(CaptionError, match="row 2: caption must be text"):
        References(Stream(pa.concat_tables([good.slice(2), bad])))


def test_one_row_an_image_where_that_is_asked_for() -> None:
    table = pa.table({"image_id": [7, 5, 7], "caption": ["a", "b", "c"]})
    with pytest.raises(FormatError, match=r"row 2: duplicate image_id 7 \(first seen in row 0\)") as caught:
        _native.ArrowTable(table.__arrow_c_stream__()).captions("image_id", "caption", is_single=True)
    assert (caught.value.kind, caught.value.entry, caught.value.field) == (
        "DuplicateImage",
        "row 2",
        "image_id",
    )


def test_a_stream_that_breaks_off() -> None:
    schema = pa.schema({"image_id": pa.int64(), "caption": pa.string()})

    def batches() -> Any:
        yield pa.record_batch([[1], ["a"]], schema=schema)
        raise ValueError("the disk is gone")

    with pytest.raises(CaptionError, match=r"cannot read the table \(.*the disk is gone"):
        References(pa.RecordBatchReader.from_batches(schema, batches()))


def test_a_stream_may_need_the_interpreter_in_a_thread_of_its_own() -> None:
    schema = pa.schema({"image_id": pa.int64(), "caption": pa.string()})

    def batches() -> Any:
        ended = threading.Event()
        thread = threading.Thread(target=ended.set)
        thread.start()
        assert ended.wait(60)
        thread.join()
        yield pa.record_batch([[1], ["a"]], schema=schema)

    assert dict(References(pa.RecordBatchReader.from_batches(schema, batches()))) == {1: ["a"]}


def test_damaged_columns_are_refused() -> None:
    offsets = pa.py_buffer(b"".join(each.to_bytes(4, "little") for each in (0, 2)))
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(CaptionError, match="column caption is damaged"):
        References(Stream(pa.table({"image_id": [1], "caption": broken})))


def test_null_rows_of_a_column_of_structs() -> None:
    rows = pa.array([{"image_id": 1, "caption": "a"}, None])
    with pytest.raises(CaptionError, match="row 1 is null"):
        References(pa.chunked_array([rows]))
    assert dict(References(pa.chunked_array([rows.slice(0, 1)]))) == {1: ["a"]}


def test_a_stream_is_read_once() -> None:
    table = pa.table({"image_id": [1], "caption": ["a"]})
    capsule = table.__arrow_c_stream__()
    assert _native.ArrowTable(capsule).names() == ["image_id", "caption"]
    with pytest.raises(CaptionError, match="already released"):
        _native.ArrowTable(capsule)
    with pytest.raises(ValueError, match="incorrect name"):
        _native.ArrowTable(table.schema.__arrow_c_schema__())
