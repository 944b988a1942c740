"""Domains: where they come from, and scores by domain."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import Candidates, Cider2015, CiderD, References, Report, evaluate
from capeval.datasets import karpathy, nocaps
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.report import to_latex
from capeval.resources import DocumentFrequencies
from capeval.scoring.multiple_comparisons import compare_systems
from capeval.scoring.significance import bootstrap
from capeval.studies.domains import (
    OVERALL,
    DomainEvaluator,
    DomainOptions,
    DomainStudy,
    DomainTestOptions,
    Frequencies,
    study_domains,
)
from capeval.studies.domains.report import all_scores, bars, paper_table, report
from tests.spice_model import IS_HERE

REFERENCES = References(
    {
        1: ["A dog runs on the grass.", "The dog is running outside."],
        2: ["Two cats sleep on a bed.", "Cats on a bed."],
        3: ["A red bus drives down the street.", "A bus on a city street."],
        4: ["A man rides a brown horse.", "Someone on a horse."],
        5: ["A dog and a cat on a bed.", "The dog sleeps on the bed."],
    }
)
CANDIDATES = {
    1: "A dog is on the grass.",
    2: "Cats on a bed.",
    3: "A bus.",
    4: "A horse.",
    5: "A dog on a bed.",
}
# Not in the order of the references, and the images of a domain not either.
DOMAINS = {"near-domain": [5, 2], "in-domain": [1, 4, 3]}
METRICS = ("BLEU", "ROUGE-L", "CIDEr-D", "CIDEr-2015")


def part(images: list[int]) -> tuple[References, dict[int, str]]:
    return REFERENCES.select(sorted(images)), {image: CANDIDATES[image] for image in images}


def test_a_domain_scores_as_if_it_were_all() -> None:
    found = DomainEvaluator(REFERENCES, DOMAINS, METRICS, DomainOptions(frequencies="domain")).evaluate(
        CANDIDATES
    )
    assert list(found.corpus) == [*DOMAINS, OVERALL]
    assert dict(found.images) == {"near-domain": 2, "in-domain": 3, OVERALL: 5}
    for name, images in {**DOMAINS, OVERALL: list(CANDIDATES)}.items():
        alone = evaluate(*part(images), METRICS)
        assert dict(found.corpus[name]) == pytest.approx(dict(alone.corpus), abs=1e-14), name
        counts = {metric.family: scores for metric, scores in alone.scores}["BLEU"].statistics
        assert found.statistics[name]["BLEU"].tolist() == counts.sum(axis=0).tolist()


def test_document_frequencies_of_all_images() -> None:
    found = DomainEvaluator(REFERENCES, DOMAINS, METRICS).evaluate(CANDIDATES)
    whole = evaluate(REFERENCES, CANDIDATES, METRICS, subsets=DOMAINS)
    for name in DOMAINS:
        assert dict(found.corpus[name]) == pytest.approx(dict(whole.subsets[name]), abs=1e-14)
        assert found.signatures[name]["CIDEr-D"].document_frequencies == "references"
    assert dict(found.corpus[OVERALL]) == pytest.approx(dict(whole.corpus), abs=1e-14)
    # As in the published tables of nocaps: all images score the mean of the domains, weighted by images.
    for metric in ("CIDEr-D", "CIDEr-2015"):
        mean = sum(len(DOMAINS[name]) * found.corpus[name][metric] for name in DOMAINS) / len(CANDIDATES)
        assert found.corpus[OVERALL][metric] == pytest.approx(mean, rel=1e-12)
    within = DomainEvaluator(REFERENCES, DOMAINS, METRICS, DomainOptions(frequencies="domain")).evaluate(
        CANDIDATES
    )
    assert str(within.signatures["in-domain"]["CIDEr-2015"].document_frequencies).startswith("in-domain:")
    assert within.signatures[OVERALL]["CIDEr-D"].document_frequencies == "references"
    assert within.corpus["in-domain"]["CIDEr-D"] != pytest.approx(found.corpus["in-domain"]["CIDEr-D"])


def test_frequencies_that_are_given_stay() -> None:
    given = DocumentFrequencies.of(REFERENCES.select([1, 2]), name="mine")
    metrics = [CiderD(frequencies=given), Cider2015(frequencies="uniform")]
    within = DomainEvaluator(REFERENCES, DOMAINS, metrics, DomainOptions(frequencies="domain")).evaluate(
        CANDIDATES
    )
    over_all = DomainEvaluator(REFERENCES, DOMAINS, metrics).evaluate(CANDIDATES)
    assert within.corpus == over_all.corpus
    assert within.frequencies is None
    assert not any("Document frequencies" in note for note in all_scores({"a": within}).notes)
    assert within.signatures["in-domain"]["CIDEr-D"].document_frequencies == f"mine:{given.digest}"


@pytest.mark.parametrize(
    ("domains", "error", "message"),
    [
        ({}, OptionError, "at least one"),
        ({OVERALL: [1, 2, 3, 4, 5]}, OptionError, "none named 'overall'"),
        ({"a": [1, 2, 3, 4, 5], "b": []}, OptionError, "'b' must have at least one image"),
        ({"a": [1, 2, 3, 4]}, MismatchError, "image 5 is without a domain"),
        ({"a": [1, 2, 3, 4, 5], "b": [2]}, MismatchError, "a and b for image 2"),
        ({"a": [1, 2, 3, 4, 5, 6]}, MismatchError, "'a': image 6 is not among"),
    ],
)
def test_wrong_domains_are_named(
    domains: dict[str, list[int | str]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DomainEvaluator(REFERENCES, domains, ["BLEU-1"])


def test_candidates_must_fit() -> None:
    evaluator = DomainEvaluator(REFERENCES, DOMAINS, ["BLEU-1"])
    with pytest.raises(MismatchError, match="not among the candidates"):
        evaluator.evaluate({1: "A dog."})


CLASSES = ("Person", "Man", "Dog", "Accordion", "Nose", "Animal", "Orange (fruit)", "Computer mouse", "Mouse")
BELOW = {"Person": {"Man"}, "Animal": {"Dog", "Mouse"}, "Man": set(), "Dog": set()}


def test_classes_are_mapped_by_name_and_alias() -> None:
    coco = ("person", "dog", "orange", "mouse")
    mapped = nocaps.map_classes(CLASSES, coco)
    assert mapped == {
        "Person": "person",
        "Dog": "dog",
        "Orange (fruit)": "orange",
        "Computer mouse": "mouse",
    }
    assert nocaps.map_classes(CLASSES, coco, below=BELOW) == {**mapped, "Man": "person"}
    with pytest.raises(OptionError, match="'zebra' must have an Open Images class"):
        nocaps.map_classes(CLASSES, ("person", "zebra"))


def test_the_nearest_class_above_counts() -> None:
    below = {"Animal": {"Dog", "Mouse"}, "Dog": {"Mouse"}}
    mapped = nocaps.map_classes(CLASSES, ("animal", "dog"), below=below)
    assert mapped == {"Animal": "animal", "Dog": "dog", "Mouse": "dog"}


def test_domains_follow_from_objects() -> None:
    mapped = nocaps.map_classes(CLASSES, ("person", "dog"), below=BELOW)
    objects: dict[int | str, list[str]] = {
        1: ["Person", "Dog"],
        2: ["Man", "Accordion"],
        3: ["Accordion"],
        4: ["Dog", "Nose"],
    }
    domains = nocaps.assign_domains(objects, mapped, classes=CLASSES)
    assert domains == {"in-domain": [1], "near-domain": [2, 4], "out-domain": [3]}
    ignoring = nocaps.assign_domains(objects, mapped, classes=CLASSES, ignored=["Nose"])
    assert ignoring == {"in-domain": [1, 4], "near-domain": [2], "out-domain": [3]}
    assert nocaps.assign_domains({1: ["Dog"]}, mapped, classes=CLASSES) == {"in-domain": [1]}
    with pytest.raises(MismatchError, match="image 9 must have at least one object"):
        nocaps.assign_domains({9: ["Nose"]}, mapped, classes=CLASSES, ignored=["Nose"])
    with pytest.raises(OptionError, match="image 9 has the unknown class 'Unicorn'"):
        nocaps.assign_domains({9: ["Unicorn"]}, mapped, classes=CLASSES)
    with pytest.raises(OptionError, match="'Wing'"):
        nocaps.assign_domains({9: ["Dog"]}, mapped, classes=CLASSES, ignored=["Wing"])


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_captions_and_domains_from_files(tmp_path: Path) -> None:
    entries = [
        {"split": "in_domain", "image_id": "0.jpg", "caption": ["A dog.", "Dogs."]},
        {"split": "out_domain", "image_id": "12.jpg", "caption": ["A cat."]},
    ]
    path = write(tmp_path / "a.json", entries)
    assert nocaps.load_captions(path) == {0: ["A dog.", "Dogs."], 12: ["A cat."]}
    assert nocaps.load_domains(path) == {"in-domain": [0], "out-domain": [12]}
    coco = {
        "images": [{"id": 7, "domain": "near-domain"}, {"id": 8, "domain": "out-of-domain"}],
        "annotations": [{"image_id": 7, "caption": "A dog."}, {"image_id": 8, "caption": "A cat."}],
    }
    path = write(tmp_path / "b.json", coco)
    assert nocaps.load_captions(path) == {7: ["A dog."], 8: ["A cat."]}
    assert nocaps.load_domains(path) == {"near-domain": [7], "out-domain": [8]}
    assert nocaps.load_domains(path, images=[8]) == {"out-domain": [8]}
    path = write(tmp_path / "c.json", {"in": ["x"], "near": ["0.jpg"]})
    assert nocaps.load_domains(path) == {"in-domain": ["x"], "near-domain": ["0.jpg"]}


def test_wrong_files_of_domains_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", {"in-domain": [1], "far-domain": [2]})
    with pytest.raises(FormatError, match="unknown domain 'far-domain'"):
        nocaps.load_domains(path)
    write(path, {"in-domain": [1], "out-domain": [1]})
    with pytest.raises(MismatchError, match="image 1 twice"):
        nocaps.load_domains(path)
    write(path, {"in-domain": [1]})
    with pytest.raises(MismatchError, match="image 2 is missing a domain"):
        nocaps.load_domains(path, images=[1, 2])


def test_ids_of_images(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", {"images": [{"id": 5, "open_images_id": "0a"}]})
    assert nocaps.load_image_ids(path) == {"0a": 5}
    for content, message in (
        ([], "must be an object"),
        ({}, "list 'images'"),
        ({"images": []}, "at least one image"),
        ({"images": [{"id": 5}]}, "images\\[0\\] must have the key 'open_images_id'"),
    ):
        write(path, content)
        with pytest.raises(FormatError, match=message):
            nocaps.load_image_ids(path)


def test_lists_of_the_karpathy_splits(tmp_path: Path) -> None:
    path = tmp_path / "images.txt"
    path.write_text("val2014/COCO_val2014_000000000042.jpg 42\nval2014/COCO_val2014_000000000073.jpg 73\n")
    assert karpathy.load_images(path) == [42, 73]
    for text, message in (
        ("", "at least one image"),
        ("42\n", "line 1 must contain an image's path"),
        ("a.jpg x\n", "line 1 must contain an image's path"),
        ("a.jpg 1\nb.jpg 1\n", "line 2: duplicate image id"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            karpathy.load_images(path)


def test_tables_in_the_layout_of_the_paper() -> None:
    evaluator = DomainEvaluator(REFERENCES, DOMAINS, ["BLEU", "ROUGE-L", "CIDEr-D"])
    good = evaluator.evaluate(CANDIDATES)
    bad = evaluator.evaluate(dict.fromkeys(CANDIDATES, "a dog"))
    table = paper_table({"good": good, "bad": bad}, layout="table3")
    assert table.columns == (
        "System",
        "near-domain CIDEr-D",
        "in-domain CIDEr-D",
        "overall BLEU-1",
        "overall BLEU-4",
        "overall ROUGE-L",
        "overall CIDEr-D",
    )
    assert [row[0].value for row in table.rows] == ["good", "bad"]
    assert table.rows[0][1].value == pytest.approx(100 * good.corpus["near-domain"]["CIDEr-D"])
    # Without tests, no score is marked.
    assert not any(cell.best or cell.mark for row in table.rows for cell in row)
    second = paper_table({"good": good}, layout="table2", coco={"good": {"BLEU-1": 0.774, "CIDEr-D": 1.156}})
    assert second.columns[:3] == ("System", "COCO BLEU-1", "COCO CIDEr-D")
    assert second.rows[0][1].value == pytest.approx(77.4)
    assert second.columns[-1] == "overall CIDEr-D"
    assert "overall BLEU-1" not in second.columns
    with pytest.raises(OptionError, match="layout"):
        paper_table({"good": good}, layout="table9")  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="at least one system"):
        paper_table({}, layout="table3")
    other = DomainEvaluator(REFERENCES, DOMAINS, ["ROUGE-1"]).evaluate(CANDIDATES)
    with pytest.raises(MismatchError, match="the same domains and metrics"):
        all_scores({"good": good, "other": other})
    with pytest.raises(MismatchError, match="at least one score of"):
        paper_table({"other": other}, layout="table3")


@pytest.mark.parametrize(
    ("frequencies", "note"),
    [("all", "all images, as in the published"), ("domain", "only the images of each domain")],
)
def test_tables_name_the_images_of_document_frequencies(frequencies: Frequencies, note: str) -> None:
    metrics = ["BLEU", "CIDEr-D", "SPICE" if IS_HERE else "ROUGE-L"]
    found = DomainEvaluator(REFERENCES, DOMAINS, metrics, DomainOptions(frequencies=frequencies)).evaluate(
        CANDIDATES
    )
    study = DomainStudy(systems={"a": found}, coco={})
    tables = report(study).tables
    for table in tables.values():
        assert any(each.startswith(f"Document frequencies of CIDEr-D: {note}") for each in table.notes)
    title = " ".join(bars({"a": found}, "CIDEr-D").get_suptitle().split())
    assert title.endswith(f"of {'all images' if frequencies == 'all' else 'each domain'})")


def test_systems_of_different_document_frequencies_share_no_table() -> None:
    every, within = (
        DomainEvaluator(REFERENCES, DOMAINS, ["CIDEr-D"], DomainOptions(frequencies=each)).evaluate(
            CANDIDATES
        )
        for each in ("all", "domain")
    )
    with pytest.raises(MismatchError, match="document frequencies of the same images"):
        paper_table({"a": every, "b": within}, layout="table3")


def test_all_scores_and_bars() -> None:
    found = DomainEvaluator(REFERENCES, DOMAINS, ["ROUGE-L", "CIDEr-D"]).evaluate(CANDIDATES)
    table = all_scores({"a": found})
    assert table.columns == ("System", "Domain", "Images", "ROUGE-L", "CIDEr-D")
    assert [row[1].value for row in table.rows] == [*DOMAINS, OVERALL]
    assert [row[2].value for row in table.rows] == [2, 3, 5]
    people = {name: {"CIDEr-D": 80.0} for name in (*DOMAINS, OVERALL)}
    figure = bars({"a": found, "b": found}, "CIDEr-D", people)
    assert len(figure.axes[0].patches) == 2 * 3
    assert len(figure.axes[0].lines) == 3
    partly = bars({"a": found}, "CIDEr-D", {name: {"CIDEr-D": 80.0} for name in (*DOMAINS, OVERALL)[1:]})
    assert [line.get_label() == "people (published)" for line in partly.axes[0].lines] == [True, False]


def create_large_study(**options: Any) -> tuple[DomainStudy, dict[str, Report]]:
    """Return a study of three systems with 12, 30 and 20 images per domain, and their reports."""
    generator = random.Random(1)
    words = ["a", "dog", "cat", "runs", "on", "grass", "the", "bed"]
    references = References(
        {image: [" ".join(generator.choices(words, k=8)) for _ in range(2)] for image in range(62)}
    )
    systems = {}
    for name, replaced in (("good", 1), ("fair", 3), ("bad", 4)):
        captions = {}
        for image in references:
            caption = references[image][0].split()
            for place in generator.sample(range(8), replaced):
                caption[place] = generator.choice(words)
            captions[image] = " ".join(caption)
        systems[name] = Candidates(captions)
    metrics = ["BLEU-4", "CIDEr-D"]
    study = study_domains(
        DomainEvaluator(references, LARGE, metrics), systems, DomainTestOptions(samples=200, **options)
    )
    return study, {name: evaluate(references, each, metrics) for name, each in systems.items()}


LARGE = {"in": list(range(12)), "near": list(range(12, 42)), "out": list(range(42, 62))}


def test_intervals_and_tests_are_those_of_subsets() -> None:
    study, reports = create_large_study(all_pairs=True)
    for domain, images in {**LARGE, OVERALL: None}.items():
        tested = compare_systems(reports, all_pairs=True, samples=200, images=images)
        assert list(study.comparisons[domain]) == list(tested)
        for pair, comparisons in study.comparisons[domain].items():
            for name, each in comparisons.items():
                alone = tested[pair][name]
                assert (each.p_value, each.corrected_p_value) == (alone.p_value, alone.corrected_p_value)
                assert (each.low, each.high) == pytest.approx((alone.low, alone.high), rel=1e-12)
        for system, report_of_all in reports.items():
            intervals = bootstrap(report_of_all, samples=200, images=images)
            for name, interval in study.systems[system].intervals[domain].items():
                ends = intervals[name].low, intervals[name].high
                assert (interval.low, interval.high) == pytest.approx(ends, rel=1e-12)


def test_only_significant_differences_are_marked() -> None:
    study, _ = create_large_study(all_pairs=True)
    tables = report(study).tables
    assert list(tables) == ["paper-layout", "domains", "comparisons"]
    table = tables["paper-layout"]
    for column, label in enumerate(table.columns[1:], start=1):
        domain, name = label.split()
        pairs = study.comparisons[domain]
        best = pairs["good", "fair"][name].is_significant and pairs["good", "bad"][name].is_significant
        marks = ["", *("†" if pairs["good", each][name].is_significant else "" for each in ("fair", "bad"))]
        assert [row[column].best for row in table.rows] == [best, False, False]
        assert [row[column].mark for row in table.rows] == marks
    assert any(cell.best for row in table.rows for cell in row)
    for notes in (table.notes, tables["comparisons"].notes):
        assert notes[0] == "Images: in 12, near 30, out 20, overall 62 (own partition)."
        assert (
            "Fewer than 30 images in in, out: intervals are unreliable, and tests find only large"
            " differences." in notes
        )
        assert sum("exact paired randomization" in note for note in notes) == 1
        assert any("at 5%, corrected for 3 pairs of systems (Holm)." in note for note in notes)
    compared = tables["comparisons"]
    assert compared.columns[0] == "Domain"
    assert compared.columns[-2:] == ("p-value", "p-value (Holm)")
    assert len(compared.rows) == 4 * 2 * 3
    assert "$^\\dagger$" in to_latex(table)


def test_statistics_are_of_each_domain() -> None:
    found = DomainEvaluator(REFERENCES, DOMAINS, ["ROUGE-L"]).evaluate(CANDIDATES)
    parts = sum((found.statistics[name]["ROUGE-L"] for name in DOMAINS), np.zeros(2))
    assert parts == pytest.approx(found.statistics[OVERALL]["ROUGE-L"])
