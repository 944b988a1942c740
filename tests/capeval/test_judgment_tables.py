"""Judgments of a server's release, as CSV and Parquet: ratings, votes, and validation errors."""

from __future__ import annotations

import io
import math
import sys
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from capeval.cli.app import app
from capeval.errors import DependencyError, FormatError
from capeval.formats.judgments.plans import Pair, Plan, Triplet, load_pair_votes, load_votes
from capeval.formats.judgments.ratings import load_ratings

HEADER = "item,image_id,caption,system,pair,triplet,question,choice,value,counted"
RATED = """
7,1,'=a dog,ours,,,M3,4,4.0,true
7,1,'=a dog,ours,,,M3,5,5.0,true
7,1,'=a dog,ours,,,M3,1,1.0,false
8,2,a cat,'-theirs,,,M3,2,2.0,true
8,2,a cat,'-theirs,,,M4,3,3.0,true
"""
VOTED = """
0,1,a dog,ours,0,0,triplet,first,1.0,true
0,1,a dog,ours,0,0,triplet,second,-1.0,true
0,1,a dog,ours,0,0,triplet,first,1.0,false
9,1,a dog,ours,,,triplet,first,1.0,false
"""


def table(rows: str) -> bytes:
    return f"{HEADER}{rows}".encode()


def to_parquet(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def test_ratings_of_a_question_are_the_answers_that_count() -> None:
    ratings = load_ratings(table(RATED), question="M3")
    assert ratings.image_ids == (1, 2)
    assert (ratings.captions, ratings.systems) == (("=a dog", "a cat"), ("ours", "-theirs"))
    (first, (value, missing)) = ratings.values.tolist()
    assert (first, value, math.isnan(missing)) == ([4.0, 5.0], 2.0, True)
    assert load_ratings(table(RATED), question="M4").values.tolist() == [[3.0]]


def test_text_in_parquet_has_no_escapes() -> None:
    names = HEADER.split(",")
    texts = ("=a dog", "'=a dog", "-1", "")
    rows = [
        dict(zip(names, (str(key), "1", text, "ours", None, None, "M3", "4", 4.0, True), strict=True))
        for key, text in enumerate(texts)
    ]
    assert load_ratings(to_parquet(rows)).captions == texts


@pytest.mark.parametrize(
    ("rows", "question", "message"),
    [
        (RATED, "", r"must have one question; choose one with 'question' .* \(got M3, M4\)"),
        (RATED, "M9", r"must have the question 'M9' \(got M3, M4\)"),
        (RATED.replace("true", "false"), "M3", r"the file must have at least one rating \(got none\)"),
        (RATED.replace("4.0,true", "4.0,yes"), "M3", r"line 2 must have true or false .* \(got 'yes'\)"),
        (
            RATED.replace("4.0,true", ",true"),
            "M3",
            r"line 2 must have a number .* \(got ''\)",
        ),
        (RATED.replace("5.0,true", "nan,true"), "M3", r"line 3 must have a number .* \(got 'nan'\)"),
        (VOTED, "", "line 2 is a vote on a pair, not a rating; count votes with 'capeval study votes'"),
    ],
)
def test_errors_name_the_line_or_the_question(rows: str, question: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_ratings(table(rows), question=question)


def test_votes_are_the_answers_that_count() -> None:
    pair = Pair(image=1, first="a dog", second="a cat")
    asked = Triplet(pair=0, reference="a dog", left="a cat", right="a dog", on_the_left="second", judgments=2)
    assert load_votes(table(VOTED), Plan(pairs=(pair,), triplets=(asked,))) == ((1, -1),)
    assert load_pair_votes(table(VOTED.replace("ours,0,0", "ours,0,")), [pair]) == ((1, -1),)
    with pytest.raises(FormatError, match="line 2 is a vote on a triplet, not on a pair; use 'load_votes'"):
        load_pair_votes(table(VOTED), [pair])


def test_damaged_parquet_and_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    data = to_parquet([{"pair": 0, "choice": "first"}])
    pair = Pair(image=1, first="a dog", second="a cat")
    assert load_pair_votes(data, [pair]) == ((1,),)
    with pytest.raises(FormatError, match="cannot read the file as Parquet"):
        load_pair_votes(data[:-9], [pair])
    with pytest.raises(FormatError, match="must have at most 20 bytes"):
        load_pair_votes(data, [pair], limit=20)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyError, match=r"Parquet files need pyarrow: pip install pyarrow"):
        load_pair_votes(data, [pair])


def test_correlation_rejects_a_question_of_other_files() -> None:
    arguments = ["study", "correlation", "references.json", "human.csv", "a.json", "--question", "P"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    assert "'--question' can't be combined with '--flickr8k' or RESULTS" in str(result.exception)
