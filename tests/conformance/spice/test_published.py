"""Published SPICE scores, reproduced from the same captions. Parsing takes minutes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capeval import Spice, Spider, evaluate, load_candidates
from capeval.datasets import karpathy, nocaps
from capeval.datasets.flickr8k import load_flickr8k_expert
from capeval.resources.parse_store import ParseStore
from capeval.studies.correlation import CorrelationOptions, correlate, score_ratings
from capeval.studies.domains import DomainEvaluator
from tests.shared_data import shared_data
from tests.spice_model import NEEDS_MODEL

pytestmark = [NEEDS_MODEL, pytest.mark.conformance]

DOMAINS = ("in-domain", "near-domain", "out-domain", "overall")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ParseStore:
    return ParseStore(tmp_path_factory.mktemp("store") / "parses.sqlite")


def logged(what: str) -> float:
    path = shared_data(".") / "viecap_coco_train_1_published.json"
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    (score,) = (entry["scores"]["SPICE"] for entry in entries if entry["what"] == what)
    return float(score)


def file(folder: str, name: str) -> Path:
    return shared_data(folder) / name


def test_flickr8k_expert(store: ParseStore) -> None:
    references, ratings = load_flickr8k_expert(
        file("flickr8k", "ExpertAnnotations.txt.gz"), file("flickr8k", "Flickr8k.token.txt.gz")
    )
    found = correlate(
        score_ratings(references, ratings, [Spice(store=store)]), CorrelationOptions(samples=10)
    )
    # Hessel et al. 2021, CLIPScore, Table 1.
    assert round(100 * found.values["SPICE"]["tau-c"].score, 1) == 44.9


def test_karpathy_test_split(store: ParseStore) -> None:
    references = karpathy.load_references(file("karpathy", "karpathy_test_images.txt.gz"))
    candidates = load_candidates(file("karpathy", "viecap_coco_train_1_test_results.json.gz"))
    report = evaluate(references, candidates, [Spice(store=store), Spider(store=store), "CIDEr-D"])
    assert round(report.corpus["SPICE"], 3) == logged("karpathy test")
    mean = (report.corpus["SPICE"] + report.corpus["CIDEr-D"]) / 2
    assert report.corpus["SPIDEr"] == pytest.approx(mean, rel=1e-12)


def test_nocaps_by_domain(store: ParseStore) -> None:
    captions = file("nocaps", "nocaps_val_captions.json.gz")
    evaluator = DomainEvaluator(
        nocaps.load_captions(captions), nocaps.load_domains(captions), [Spice(store=store)]
    )
    candidates = load_candidates(file("nocaps", "viecap_coco_train_1_results.json.gz"))
    corpus = evaluator.evaluate(candidates).corpus
    found = {domain: round(scores["SPICE"], 3) for domain, scores in corpus.items()}
    assert found == {
        domain: logged(f"nocaps {name}")
        for domain, name in zip(
            DOMAINS, ("in-domain", "near-domain", "out-of-domain", "overall"), strict=True
        )
    }
