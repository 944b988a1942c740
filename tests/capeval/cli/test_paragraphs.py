"""A results file of paragraphs: 20 captions of 30 sentences, scored in both ways."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import pytest

from capeval import tokenize
from tests.capeval.cli.test_cli import output, run
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

IMAGES, SENTENCES = 20, 30
POOL = [
    f"{subject} is standing next to {thing} {place}."
    for subject, thing, place in product(
        ("A man in a blue shirt", "The small brown dog", "A woman with an umbrella", "An old white horse"),
        ("a red car", "the wooden table", "two green chairs", "a large bus"),
        ("in the middle of the street", "near the old stone house", "on the grass"),
    )
]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The references have one sentence each. The results of the last ten images lack 15 of the sentences."""
    rng = random.Random(0)
    sentences = {image: rng.sample(POOL, SENTENCES) for image in range(IMAGES)}
    others = {image: [each for each in POOL if each not in found] for image, found in sentences.items()}
    paragraphs = {
        image: found if image < 10 else [*found[:15], *others[image][:15]]
        for image, found in sentences.items()
    }
    assert {len(found) for found in paragraphs.values()} == {SENTENCES}
    references = [{"image_id": image, "caption": text} for image in sentences for text in sentences[image]]
    results = [{"image_id": image, "caption": " ".join(found)} for image, found in paragraphs.items()]
    paths = [tmp_path / "references.json", tmp_path / "results.json"]
    for path, entries in zip(paths, (references, results), strict=True):
        path.write_text(json.dumps(entries))
    assert min(map(len, tokenize([" ".join(found) for found in paragraphs.values()]))) > 400
    return paths


def test_sentences_are_scored(files: list[Path]) -> None:
    metric = ("-m", "SPICE(text=sentences)")
    written = json.loads(output("score", *files, *metric, "-f", "json", "--per-image"))
    scores = [row["SPICE"] for row in written["per_image"]]
    assert "unscored" not in written
    assert scores[:10] == [1.0] * 10
    assert all(0.2 < score < 1 for score in scores[10:])
    assert written["metrics"]["SPICE"] == pytest.approx(sum(scores) / IMAGES, rel=1e-12)
    assert "text=sentences" in written["signatures"]["SPICE"]["options"]
    assert f"{written['metrics']['SPICE']:.3f}" in output("score", *files, *metric)


def test_as_one_sentence_they_are_too_long(files: list[Path]) -> None:
    done = run("score", *files, "-m", "SPICE", "-f", "json", "--per-image")
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert line == (
        "capeval: warning: 20 images (0, 1, 2, 3, 4, ...) are not scored by SPICE or SPIDEr, since a caption"
        " has a sentence of more than 400 tokens; raise the limit with --spice-longest N (Python:"
        " Spice(longest=N)), at most 800, or parse each sentence separately with SPICE(text=sentences)"
    )
    written = json.loads(done.stdout)
    assert written["metrics"] == {"SPICE": None}
    assert [row["SPICE"] for row in written["per_image"]] == [None] * IMAGES
