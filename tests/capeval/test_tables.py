"""Captions from data frames, Arrow tables and lists."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from capeval import Candidates, References, evaluate
from capeval.errors import CaptionError, DependencyError, MismatchError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

REFERENCES = {7: ["a man", "one man"], 5: ["a dog"]}
CANDIDATES = {7: "a man", 5: "a cat"}
ROWS = {"image_id": [7, 5, 7], "caption": ["a man", "a dog", "one man"], "score": [0.5, 0.1, 0.2]}
LISTS = {"image_id": [7, 5], "references": [["a man", "one man"], ["a dog"]]}


class Stream:
    """A table of an unknown library that exports Arrow streams."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A data frame of a library that is not known, with the older protocol."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __dataframe__(self, **options: Any) -> Any:
        return self._table.__dataframe__(**options)


MAKERS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "pandas with Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "a record batch": lambda columns: pa.RecordBatch.from_pydict(columns),
    "a stream": lambda columns: Stream(pa.table(columns)),
    "interchange": lambda columns: Interchange(pa.table(columns)),
    "mappings": lambda columns: pa.table(columns).to_pylist(),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_tables(maker: str) -> None:
    make = MAKERS[maker]
    assert dict(References(make(ROWS))) == REFERENCES
    if maker != "interchange":  # Which has no lists.
        assert dict(References(make(LISTS))) == REFERENCES
    results = {"id": list(CANDIDATES), "prediction": list(CANDIDATES.values())}
    candidates = Candidates(make(results))
    assert candidates == Candidates(CANDIDATES)
    report = evaluate(make(ROWS), make(results), ["BLEU"])
    assert report.corpus == evaluate(REFERENCES, CANDIDATES, ["BLEU"]).corpus
    assert report.image_ids == (7, 5)


@pytest.mark.parametrize("maker", MAKERS)
def test_columns_are_named_or_asked_for(maker: str) -> None:
    table = MAKERS[maker]({"uid": ["x", "y"], "words": ["a", "b"], "prediction": ["c", "d"]})
    named = Candidates.from_table(table, id_column="uid", caption_column="words")
    assert dict(named) == {"x": ["a"], "y": ["b"]}
    with pytest.raises(CaptionError, match=r"cannot find the image id column \(got 'uid', 'words', 'pred"):
        Candidates(table)
    both = MAKERS[maker]({"image_id": [1], "caption": ["a"], "prediction": ["b"]})
    with pytest.raises(
        CaptionError, match=r"is ambiguous \(got 'caption', 'prediction'\); set it with 'caption_c"
    ):
        Candidates(both)
    assert dict(References(both)) == {1: ["a"]}


def test_the_rows_of_pandas_may_be_the_ids() -> None:
    frame = pd.DataFrame({"caption": ["a", "b"]}, index=pd.Index([3, 1], name="image_id"))
    assert dict(Candidates(frame)) == {3: ["a"], 1: ["b"]}
    with pytest.raises(CaptionError, match="cannot find the image id column"):
        Candidates(pd.DataFrame({"caption": ["a", "b"]}, index=[3, 1]))


def test_kinds_of_columns() -> None:
    frame = pd.DataFrame({"image_id": pd.array([1, 2], "Int64"), "caption": pd.Categorical(["a", "b"])})
    assert dict(Candidates(frame)) == {1: ["a"], 2: ["b"]}
    arrays = pd.DataFrame({"image_id": ["x"], "captions": [np.array(["a", "b"], dtype=object)]})
    assert dict(References(arrays)) == {"x": ["a", "b"]}
    categories = pl.DataFrame({"image_id": ["x", "y"], "caption": ["a", "a"]}).cast(
        {"caption": pl.Categorical}
    )
    assert dict(Candidates(categories)) == {"x": ["a"], "y": ["a"]}
    codes = pa.table({"image_id": pa.array(["x"]).dictionary_encode(), "caption": ["a"]})
    assert dict(Candidates(codes)) == {"x": ["a"]}


def test_several_rows_of_an_image_are_samples_of_it() -> None:
    table = pl.DataFrame({"image_id": [1, 1], "caption": ["a", "b"]})
    assert dict(Candidates(table)) == {1: ["a", "b"]}
    with pytest.raises(MismatchError, match=r"one candidate \(got 2 for image 1\)"):
        evaluate({1: ["a"]}, table, ["BLEU"])


NO_ID = {"mappings": r"row [01]: an image id must be an integer or a string \(got"}
NO_CAPTION = {"mappings": r"row 1: candidates of image 2 must be a string or a list of strings \(got"}


@pytest.mark.parametrize("maker", ["pandas", "polars", "Arrow", "mappings"])
def test_wrong_rows_are_named(maker: str) -> None:
    make = MAKERS[maker]
    texts = ["a", "b"]
    for ids, kind in (([1.0, 2.0], "Float64"), ([True, False], "Boolean")):
        words = {"mappings": rf"row 0: an image id must be .* \(got {ids[0]}"}
        with pytest.raises(
            CaptionError, match=words.get(maker, rf"image_id must hold integers or.*got {kind}")
        ):
            Candidates(make({"image_id": ids, "caption": texts}))
    # Integers with a null are floats to pandas.
    words = {**NO_ID, "pandas": "column image_id must hold integers or text .got Float64"}
    with pytest.raises(
        CaptionError, match=words.get(maker, "row 1: image_id must be an integer or a string")
    ):
        Candidates(make({"image_id": [1, None], "caption": texts}))
    with pytest.raises(
        CaptionError, match=NO_CAPTION.get(maker, r"row 1: caption must be text \(got null\)")
    ):
        Candidates(make({"image_id": [1, 2], "caption": ["a", None]}))
    words = {"mappings": r"row 0: candidates of image 1 must be a string or a list .* \(got 3\)"}
    with pytest.raises(
        CaptionError, match=words.get(maker, r"column caption must hold text .* \(got Int64\)")
    ):
        Candidates(make({"image_id": [1, 2], "caption": [3, 4]}))


def test_objects_of_pandas_that_no_column_of_arrow_holds() -> None:
    frame = pd.DataFrame({"image_id": [1, 2], "caption": ["a", ["b", "c"]]})
    assert dict(Candidates(frame)) == {1: ["a"], 2: ["b", "c"]}
    with pytest.raises(
        CaptionError, match=r"row 1: candidates of image 2 must be a string or a list .* \(got 3\)"
    ):
        Candidates(pd.DataFrame({"image_id": [1, 2], "caption": pd.Series(["a", 3], dtype=object)}))
    with pytest.raises(CaptionError, match="image id 1 must be an integer, as the first id is"):
        Candidates(pd.DataFrame({"image_id": pd.Series([1, "x"], dtype=object), "caption": ["a", "b"]}))
    with pytest.raises(
        CaptionError, match=r"must be an integer of at most 64 bits \(got 9223372036854775808"
    ):
        Candidates(pd.DataFrame({"image_id": pd.Series([1, 2**63], dtype=object), "caption": ["a", "b"]}))


def test_aligned_lists() -> None:
    report = evaluate([["a man", "one man"], ["a dog"]], ["a man", "a cat"], ["BLEU"])
    assert report.image_ids == (0, 1)
    assert report.corpus == evaluate(REFERENCES, CANDIDATES, ["BLEU"]).corpus
    assert dict(Candidates((["a", "b"], "c"))) == {0: ["a", "b"], 1: ["c"]}
    with pytest.raises(MismatchError, match="image 1 is among the references but not among the candidates"):
        evaluate([["a"], ["b"]], ["a"], ["BLEU"])
    with pytest.raises(CaptionError, match="references of image 0 must be a list of strings"):
        References(["a", "b"])
    with pytest.raises(CaptionError, match="at least one image"):
        References([])


def test_what_is_no_table_is_refused() -> None:
    for value in (
        3,
        "a",
        b"a",
        {"a"},
        np.array(["a"]),
        iter(["a"]),
        pl.LazyFrame({"a": [1]}),
    ):
        with pytest.raises(CaptionError, match="must be a mapping of image ids to captions, a list"):
            Candidates(value)  # type: ignore[arg-type]
    with pytest.raises(CaptionError, match=r"cannot read the table \(it is a single column of"):
        Candidates(pd.Series(["a"]))
    with pytest.raises(CaptionError, match=r"'table' must be a data frame or a table \(got dict\)"):
        Candidates.from_table({1: "a"})  # type: ignore[arg-type]
    with pytest.raises(CaptionError, match=r"row 1 must be a mapping with the key 'caption'"):
        Candidates([{"image_id": 1, "caption": "a"}, {"image_id": 2}])  # type: ignore[arg-type]


def test_only_the_older_protocol_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(ROWS)
    frame = pd.DataFrame(ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert dict(References(pl.DataFrame(ROWS))) == REFERENCES
    assert dict(References(Stream(table))) == REFERENCES
    assert dict(References(frame)) == REFERENCES
    with pytest.raises(
        DependencyError, match="a table of type Interchange needs pyarrow: pip install pyarrow"
    ):
        References(Interchange(table))  # type: ignore[arg-type]
