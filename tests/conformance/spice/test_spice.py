"""Stages, counts and scores of SPICE equal the output of Java SPICE 1.0 with CoreNLP 3.6.0."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capeval
from capeval import Spice
from capeval.metrics.spice import CATEGORIES
from tests.conformance.spice import java
from tests.conformance.spice.captions import UNUSUAL, captions
from tests.conformance.spice.compare import GOLDEN, compare_with_java, golden_captions, own_images
from tests.conformance.spice.long import LONG_COUNTS, join_captions, long_images
from tests.conformance.spice.stages import STAGES, Agreement, Row, compare, read_rows
from tests.shared_data import SHARED, shared_data
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

TOKENS = capeval.Tokenizer(kind="none")
# The reference's names of categories, if different.
THEIR_NAMES = {"Count": "Cardinality"}
CAPTIONS, SAMPLE = 10_764, 20


def check(agreement: Agreement, captions: int) -> None:
    print(agreement)
    assert agreement.captions == captions
    assert agreement.different == []
    assert agreement.equal == Counter(dict.fromkeys(STAGES, captions))


def shared_file(name: str) -> Path:
    """Return a file with results of the reference; skip the test if it is missing."""
    shared_data(".")
    path = SHARED.parent / "spice" / name
    if not path.exists():
        pytest.skip(f"the reference's results are missing ({path})")
    return path


def golden(key: str) -> list[Row]:
    about, *rows = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    assert about["tool"].startswith("SPICE 1.0")
    return [row for row in rows if key in row]


def counts(images: list[dict[str, Any]], longest: int = Spice.longest) -> dict[str, list[list[int]]]:
    """Matched, surplus and missing tuples of each image, by category."""
    spice = Spice(categories=CATEGORIES, measures=("F", "precision", "recall"), longest=longest)
    prepared = spice.prepare({n: each["refs"] for n, each in enumerate(images)}, tokenizer=TOKENS)
    rows = prepared.score({n: each["test"] for n, each in enumerate(images)}).statistics
    by_category = rows[:, :-1].reshape(len(images), len(CATEGORIES), -1).astype(int)
    ours, theirs, matched = (by_category[..., place] for place in range(3))
    table = np.stack([matched, ours - matched, theirs - matched], axis=-1)
    return {name: table[:, place].tolist() for place, name in enumerate(CATEGORIES)}


def check_counts(images: list[dict[str, Any]]) -> None:
    found = counts(images)
    for category in CATEGORIES:
        name = category if category in images[0]["s"] else THEIR_NAMES[category]
        expected = [each["s"][name][:3] for each in images]
        equal = sum(one == other for one, other in zip(found[category], expected, strict=True))
        print(f"{category}: {equal:,} of {len(images):,} images have equal counts")
        assert found[category] == expected


def test_golden_stages() -> None:
    rows = golden("c")
    assert [row["c"] for row in rows] == golden_captions()
    assert len(rows) > len(UNUSUAL) > 0
    check(compare(rows), len(rows))


def test_golden_counts() -> None:
    images = golden("test")
    assert [{"test": each["test"], "refs": each["refs"]} for each in images] == own_images()
    check_counts(images)


def test_long_sentences() -> None:
    """Captions of 130 and of 200 tokens have the counts of Java."""
    found = counts(long_images())
    by_image = [{name: found[name][place] for name in CATEGORIES} for place in range(len(LONG_COUNTS))]
    assert by_image == LONG_COUNTS


@pytest.mark.conformance
@pytest.mark.skipif(not java.is_here(), reason="LEFT OUT: Java SPICE needs javac and CoreNLP's jars")
def test_long_sentences_that_java_parses_now() -> None:
    assert [image["s"] for image in java.counts(long_images())] == LONG_COUNTS


@pytest.mark.conformance
@pytest.mark.skipif(not java.is_here(), reason="LEFT OUT: Java SPICE needs javac and CoreNLP's jars")
def test_long_sentences_have_the_stages_of_java() -> None:
    lengths = np.linspace(30, 120, 100).astype(int).tolist()
    check(compare_with_java(join_captions(lengths, seed=1), None), len(lengths))


def test_a_sample_of_captions() -> None:
    check(compare(read_rows(shared_file("dev.jsonl.gz"), every=SAMPLE)), -(-CAPTIONS // SAMPLE))


@pytest.mark.conformance
def test_all_captions() -> None:
    check(compare(read_rows(shared_file("dev.jsonl.gz"))), CAPTIONS)


@pytest.mark.conformance
@pytest.mark.parametrize(("candidates", "number"), [("human", 948), ("machine", 944)])
def test_all_images(candidates: str, number: int) -> None:
    with gzip.open(shared_file("scores_dev.json.gz"), "rt", encoding="utf-8") as file:
        scores = json.load(file)[candidates]
    images = scores["images"]
    assert len(images) == number
    check_counts(images)
    check_averages(images, scores["averages"])


def check_averages(images: list[dict[str, Any]], averages: dict[str, dict[str, float]]) -> None:
    """The mean over the images that have a category, as the reference's own report has it."""
    spice = Spice(categories=CATEGORIES, measures=("F", "precision", "recall"))
    prepared = spice.prepare({each["id"]: each["refs"] for each in images}, tokenizer=TOKENS)
    scores = prepared.score({each["id"]: each["test"] for each in images})
    expected = [
        averages[THEIR_NAMES.get(category, category)][measure]
        for category in CATEGORIES
        for measure in ("f", "pr", "re")
    ]
    assert list(scores.corpus.values()) == pytest.approx(expected, rel=1e-12)
    for category in CATEGORIES:
        without = [each["s"][THEIR_NAMES.get(category, category)][5] is None for each in images]
        name = "SPICE" if category == "All" else f"SPICE-{category}"
        assert np.isnan(scores.per_image[name]).tolist() == without


@pytest.mark.conformance
@pytest.mark.skipif(not java.is_here(), reason="LEFT OUT: Java SPICE needs javac and CoreNLP's jars")
def test_captions_that_java_parses_now() -> None:
    check(compare_with_java(captions(400, seed=10), None), 400)
