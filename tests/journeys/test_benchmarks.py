"""A researcher scores results on benchmarks by name, and cites them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval.data.held_out import hold_out
from capeval.datasets import karpathy
from tests.capeval.benchmark_files import write_flickr, write_nocaps
from tests.journeys.installation import User
from tests.journeys.people import get_reference_scores, write_results


def test_the_karpathy_test_split(user: User, tmp_path: Path) -> None:
    references = karpathy.load_split("test")
    _, people = hold_out(references, seed=1)
    results = {int(image): people[image][0] for image in people}
    write_results(tmp_path / "people.json", results)
    assert "5,000 captions" in user.read("capeval check people.json -t coco-karpathy-test")
    text = user.read("capeval score -t coco-karpathy-test people.json -m BLEU,ROUGE-L,CIDEr-D -f json")
    report = json.loads(text)
    assert report["benchmark"] == "coco-karpathy-test"
    expected = get_reference_scores({int(image): references[image] for image in references}, results)
    assert report["metrics"] == {name: pytest.approx(score, rel=1e-9) for name, score in expected.items()}
    # The same references as COCO's annotations, of which only the images with results are scored.
    parts = user.read("capeval score -t coco-val2014 people.json --missing skip -m BLEU,CIDEr-D -f json")
    assert json.loads(parts)["signatures"]["BLEU"]["digest"] == report["signatures"]["BLEU"]["digest"]
    citation = user.read("capeval score -t coco-karpathy-test --cite")
    assert [line.partition("{")[2] for line in citation.splitlines() if line.startswith("@")] == [
        "lin2014coco,",
        "chen2015captions,",
        "karpathy2015deep,",
    ]


def test_files_are_registered_once(user: User, tmp_path: Path) -> None:
    error = user.run("capeval score -t nocaps-val results.json", status=2).stderr
    command = error.partition("`")[2].partition("`")[0]
    write_nocaps(tmp_path)
    assert "partition of nocaps.org" in user.read(command)
    write_results(tmp_path / "results.json", {image: f"Picture {image} of a harp." for image in range(4500)})
    lines = user.read("capeval score -t nocaps-val results.json -m CIDEr-D").splitlines()
    assert [line.split()[1:3] for line in lines[2:6]] == [
        ["overall", "10.000"],
        ["in-domain", "10.000"],
        ["near-domain", "10.000"],
        ["out-domain", "10.000"],
    ]
    write_flickr(tmp_path)
    user.run("capeval data add flickr8k-test dataset_flickr8k.json")
    listed = {row["name"]: row["available"] for row in json.loads(user.read("capeval data list -f json"))}
    assert listed["nocaps-val"]
    assert listed["flickr8k-test"]
    assert not listed["flickr30k-test"]
    user.run("capeval data remove nocaps-val")
    assert "nocaps-val: capeval data add nocaps-val" in user.read("capeval data list")
