"""Word agreement on all of COCO's val2014, compared with section 4.2 of the paper."""

from __future__ import annotations

import gzip
import itertools
import json
from collections import Counter

import numpy as np
import pytest

from capeval.datasets import coco
from capeval.studies.words import (
    WordAgreement,
    WordCounts,
    coco_word_classes,
    human_agreement,
    model_precision,
    precision_at_recall,
    word_counts,
)
from capeval.tokenizers import tokenize
from tests.shared_data import shared_data


@pytest.fixture(scope="module")
def counts() -> WordCounts:
    return word_counts(coco.load_captions("val2014"), 1000)


@pytest.fixture(scope="module")
def agreements(counts: WordCounts) -> list[WordAgreement]:
    return [human_agreement(counts, k) for k in (1, 2, 3, 4)]


def test_recall_stays_and_precision_falls_with_fewer_references(agreements: list[WordAgreement]) -> None:
    for fewer, more in itertools.pairwise(agreements):
        assert fewer.recall == pytest.approx(more.recall)
        # No two people ever used these five of the same image.
        assert ((fewer.precision < more.precision) | (more.recall == 0)).all()
        assert [w for w, r in zip(more.words, more.recall, strict=True) if r == 0] == [
            "which",
            "see",
            "kind",
            "but",
            "these",
        ]


def test_the_model_follows_the_data(agreements: list[WordAgreement]) -> None:
    for each in agreements:
        model = model_precision(each.recall, each.references)
        assert np.corrcoef(each.precision, model)[0, 1] > 0.997
        assert np.abs(each.precision - model).mean() < 0.034


def test_the_words_that_the_paper_names(agreements: list[WordAgreement]) -> None:
    recall = dict(zip(agreements[-1].words, agreements[-1].recall.tolist(), strict=True))
    assert recall["elephant"] > 0.85
    assert recall["tennis"] > 0.9
    assert recall["bright"] < 0.05


def test_verbs_and_adjectives_have_smaller_recall(agreements: list[WordAgreement]) -> None:
    classes = coco_word_classes()
    by_class: dict[str, list[float]] = {"noun": [], "verb": [], "adjective": []}
    for word, recall in zip(agreements[-1].words, agreements[-1].recall.tolist(), strict=True):
        if word in classes:
            by_class[classes[word]].append(recall)
    assert sum(map(len, by_class.values())) > 850
    assert np.mean(by_class["noun"]) > 1.5 * np.mean(by_class["verb"])
    assert np.mean(by_class["noun"]) > 2 * np.mean(by_class["adjective"])


def test_a_system_that_knows_the_captions_is_as_precise_as_can_be(counts: WordCounts) -> None:
    row = counts.words.index("elephant")
    shares = (counts.counts[row] / counts.captions).tolist()
    scores = {"elephant": dict(zip(counts.image_ids, shares, strict=True))}
    people = human_agreement(counts, 4)
    recall = {"elephant": float(people.recall[row])}
    assert precision_at_recall(counts, scores, recall, 4).precision["elephant"] > people.precision[row]


def test_equal_scores_are_in_random_order(counts: WordCounts) -> None:
    """The score of a word is the number of three systems with the word in their caption."""
    scores: dict[str, Counter[int | str]] = {word: Counter() for word in counts.words}
    for path in sorted(shared_data("systems_val2014").glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            results = json.load(file)
        for result, tokens in zip(results, tokenize([each["caption"] for each in results]), strict=True):
            for word in scores.keys() & set(tokens):
                scores[word][result["image_id"]] += 1
    compared = {word: dict(images) for word, images in scores.items() if images}
    people = human_agreement(counts, 4)
    recall = dict(zip(people.words, people.recall.tolist(), strict=True))
    found = precision_at_recall(counts, compared, recall, 4).precision
    assert len(found) == 835
    assert np.mean(list(found.values())) == pytest.approx(0.267, abs=5e-4)
    # Images without a score are equal, too. Without fair ties, "elephant" had 0.042.
    named = {word: found[word] for word in ("elephant", "dog", "tennis")}
    assert named == pytest.approx({"elephant": 0.711, "dog": 0.894, "tennis": 0.995}, abs=5e-4)
