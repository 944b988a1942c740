"""`evaluate_metric` on the published judgments: the published numbers, and those of the other studies."""

from __future__ import annotations

import pytest

from capeval.datasets.pascal50s import load_pascal50s
from capeval.datasets.published.human_agreement import load_human_agreement
from capeval.studies.consensus import ConsensusOptions, study_pascal50s
from capeval.studies.metric import CaptionItem, MetricOptions, MetricStudy, evaluate_metric, load_benchmark
from tests.shared_data import shared_data

FEW = MetricOptions(samples=20)


def study(name: str, folder: str, options: MetricOptions = FEW, metric: str = "CIDEr-2015") -> MetricStudy:
    return evaluate_metric(metric, load_benchmark(name, shared_data(folder)), options)


def values(found: MetricStudy) -> dict[str, dict[str, float]]:
    return {
        name: {each: 100 * value.score for each, value in measures.items()}
        for name, measures in found.values.items()
    }


@pytest.mark.parametrize("name", ["flickr8k-expert", "flickr8k-cf"])
def test_flickr8k_meets_all_published_digits(name: str) -> None:
    found = values(study(name, "flickr8k"))
    published = [
        row for row in load_human_agreement(name) if row.source == "Sarto et al. 2023" and row.metric in found
    ]
    assert len(published) == 10
    for row in published:
        assert round(found[row.metric][row.measure], 3) == row.value, row


def test_people_on_flickr8k() -> None:
    expert, crowd = (study(name, "flickr8k").people for name in ("flickr8k-expert", "flickr8k-cf"))
    assert {name: round(100 * each.score, 1) for name, each in expert.items()} == {
        "tau-b": 63.0,
        "tau-c": 47.9,
    }
    assert {name: round(100 * each.score, 1) for name, each in crowd.items()} == {
        "tau-b": 53.4,
        "tau-c": 16.6,
    }


def test_pascal50s_with_five_references() -> None:
    """The numbers of the page; those of five other draws differ by at most 1.5 points."""
    found = study("pascal-50s", "pascal50s")
    assert (found.items, found.images, found.draws) == (4000, 1000, 5)
    rounded = {each: round(value, 1) for each, value in values(found)["CIDEr-D"].items()}
    assert rounded == {"HC": 66.4, "HI": 98.0, "HM": 91.1, "MM": 64.1, "Mean": 79.9}
    other = study("pascal-50s", "pascal50s", MetricOptions(samples=20, seed=1))
    for name, measures in found.values.items():
        for each, interval in measures.items():
            assert abs(interval.score - other.values[name][each].score) < 0.015, (name, each)
    people = {name: round(100 * each.score, 1) for name, each in found.people.items()}
    assert people == {"HC": 64.4, "HI": 99.7, "HM": 98.4, "MM": 81.4, "Mean": 86.0}


def test_pascal50s_with_48_references_agrees_with_the_consensus_study() -> None:
    found = study("pascal-50s", "pascal50s", MetricOptions(samples=20, references=48))
    assert found.draws == 1
    # Words of each metric, without the stems of the paper.
    same = study_pascal50s(*load_pascal50s(shared_data("pascal50s")), ConsensusOptions(words="default"))
    accuracies = same.accuracy["consensus"]
    for name in ("BLEU-1", "BLEU-4", "METEOR", "CIDEr-2015", "CIDEr-D"):
        for kind in ("HC", "HI", "HM", "MM"):
            ours, theirs = found.values[name][kind].score, accuracies[name][kind].value
            assert ours == pytest.approx(theirs, abs=1e-12), (name, kind)
    near = {row.measure: row.value for row in load_human_agreement("pascal-50s") if row.metric == "METEOR"}
    for kind, value in near.items():
        assert abs(values(found)["METEOR"][kind] - value) < 0.5, kind


def test_abstract50s() -> None:
    found = study("abstract-50s", "abstract50s")
    assert (found.items, found.images) == (400, 200)
    rounded = {each: round(value, 1) for each, value in values(found)["METEOR"].items()}
    # The numbers of `--words default` on the page of the consensus study.
    assert (rounded["HC"], rounded["HI"]) == (70.0, 93.9)


def test_thumb() -> None:
    found = study("thumb", "thumb")
    assert (found.items, found.images) == (2500, 500)
    rounded = [round(value, 1) for value in values(found)["CIDEr-D"].values()]
    assert rounded == [27.8, 18.0, 33.4, 21.0, 10.3, 22.4]
    assert found.people == {}


def test_a_function_on_real_captions() -> None:
    def length(items: list[CaptionItem]) -> list[int]:
        return [len(item.caption.split()) for item in items]

    found = evaluate_metric(length, load_benchmark("flickr8k-expert", shared_data("flickr8k")), FEW)
    assert round(100 * found.values["length"]["tau-c"].score, 1) == -9.5
