"""nocaps val and the Karpathy test split: the counts and scores that a published system logged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capeval import References, evaluate, load_candidates, load_references
from capeval.data.scores import FloatArray
from capeval.datasets import karpathy, nocaps
from capeval.datasets.open_images import load_class_hierarchy, load_class_names
from capeval.studies.domains import OVERALL, DomainEvaluator, DomainOptions, DomainScores
from tests.shared_data import shared_data

LOGGED = {
    "BLEU-1": "Bleu_1",
    "BLEU-2": "Bleu_2",
    "BLEU-3": "Bleu_3",
    "BLEU-4": "Bleu_4",
    "METEOR": "METEOR",
    "ROUGE-L": "ROUGE_L",
    "CIDEr-D": "CIDEr",
}
DOMAINS = {
    "in-domain": "nocaps in-domain",
    "near-domain": "nocaps near-domain",
    "out-domain": "nocaps out-of-domain",
    OVERALL: "nocaps overall",
}


@pytest.fixture(scope="module")
def logged() -> dict[str, Any]:
    path = shared_data("nocaps").parent / "viecap_coco_train_1_published.json"
    return {entry["what"]: entry for entry in json.loads(path.read_text())}


@pytest.fixture(scope="module")
def references() -> References:
    return nocaps.load_captions(shared_data("nocaps") / "nocaps_val_captions.json.gz")


@pytest.fixture(scope="module")
def domains() -> nocaps.Domains:
    return nocaps.load_domains(shared_data("nocaps") / "nocaps_val_captions.json.gz")


@pytest.fixture(scope="module")
def scores(references: References, domains: nocaps.Domains) -> DomainScores:
    candidates = load_candidates(shared_data("nocaps") / "viecap_coco_train_1_results.json.gz")
    # The log counts document frequencies by domain, unlike the tables of the benchmark.
    return DomainEvaluator(references, domains, options=DomainOptions(frequencies="domain")).evaluate(
        candidates
    )


def check_counts(statistics: FloatArray, counts: dict[str, Any]) -> None:
    expected = [counts["testlen"], counts["reflen"], *counts["correct"], *counts["guess"]]
    assert statistics.tolist() == expected


def check_scores(corpus: dict[str, float], entry: dict[str, Any]) -> None:
    found = {name: round(score, 3) for name, score in corpus.items()}
    assert found == {name: entry["scores"][theirs] for name, theirs in LOGGED.items()}


def test_the_domains(domains: nocaps.Domains, references: References) -> None:
    assert {name: len(images) for name, images in domains.items()} == {
        "in-domain": 417,
        "near-domain": 2670,
        "out-domain": 1413,
    }
    assert set(references.counts) == {10}


@pytest.mark.parametrize("domain", DOMAINS)
def test_logged_scores_are_met(scores: DomainScores, logged: dict[str, Any], domain: str) -> None:
    entry = logged[DOMAINS[domain]]
    check_counts(scores.statistics[domain]["BLEU"], entry["bleu_counts"])
    check_scores(dict(scores.corpus[domain]), entry)


def test_scores_by_the_protocol_of_nocaps(references: References, domains: nocaps.Domains) -> None:
    candidates = load_candidates(shared_data("nocaps") / "viecap_coco_train_1_results.json.gz")
    found = DomainEvaluator(references, domains, ["CIDEr-D"]).evaluate(candidates)
    scores = {name: round(100 * score["CIDEr-D"], 1) for name, score in found.corpus.items()}
    assert scores == {"in-domain": 62.3, "near-domain": 65.5, "out-domain": 66.3, OVERALL: 65.5}
    # In each published table, all images score the mean of the domains, weighted by images.
    mean = sum(len(images) * found.corpus[name]["CIDEr-D"] for name, images in domains.items()) / 4500
    assert found.corpus[OVERALL]["CIDEr-D"] == pytest.approx(mean, rel=1e-12)


def test_karpathy_test_split(logged: dict[str, Any]) -> None:
    folder = shared_data("karpathy")
    references = karpathy.load_references(folder / "karpathy_test_images.txt.gz")
    assert references == load_references(folder / "viecap_test_references.json.gz")
    candidates = load_candidates(folder / "viecap_coco_train_1_test_results.json.gz")
    report = evaluate(references, candidates)
    statistics = {metric.family: part.statistics.sum(axis=0) for metric, part in report.scores}
    check_counts(statistics["BLEU"], logged["karpathy test"]["bleu_counts"])
    check_scores(dict(report.corpus), logged["karpathy test"])


def test_karpathy_val_split() -> None:
    folder = shared_data("karpathy")
    val = karpathy.load_images(folder / "karpathy_val_images.txt.gz")
    test = karpathy.load_images(folder / "karpathy_test_images.txt.gz")
    assert (len(val), len(test), set(val) & set(test)) == (5000, 5000, set())


def test_classes_of_coco_in_open_images() -> None:
    folder = shared_data("openimages")
    assert list(nocaps.COCO_CLASSES) == json.loads((folder / "coco_categories.json").read_text())
    names = load_class_names(folder / "class-descriptions-boxable.csv")
    assert len(names) == 601
    mapped = nocaps.map_classes(names.values(), nocaps.COCO_CLASSES)
    assert set(mapped.values()) == set(nocaps.COCO_CLASSES)
    other = json.loads((folder / "openimages_to_coco_probdet.json").read_text())
    # The other table names three classes as older lists of Open Images did, and leaves out mugs.
    assert set(mapped.items()) - set(other.items()) == {
        ("Fixed-wing aircraft", "airplane"),
        ("Ball (Object)", "sports ball"),
        ("Orange (fruit)", "orange"),
        ("Mug", "cup"),
    }
    assert set(other.items()) - set(mapped.items()) == {
        ("Airplane", "airplane"),
        ("Ball", "sports ball"),
        ("Orange", "orange"),
    }
    below = load_class_hierarchy(folder / "bbox_labels_600_hierarchy.json", names)
    wider = nocaps.map_classes(names.values(), nocaps.COCO_CLASSES, below=below)
    assert len(wider) > len(mapped)
    assert {"Man", "Woman", "Boy", "Girl"} <= {name for name, coco in wider.items() if coco == "person"}
    # Parts are not kinds, and a teddy bear is not a bear although Open Images has it below one.
    assert "Human nose" not in wider
    assert (wider["Teddy bear"], wider["Polar bear"]) == ("teddy bear", "bear")


def test_ids_of_images() -> None:
    ids = nocaps.load_image_ids(shared_data("nocaps") / "nocaps_val_image_info.json.gz")
    assert len(ids) == 4500
    assert ids["0013ea2087020901"] == 0
