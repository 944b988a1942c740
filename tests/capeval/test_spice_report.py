"""Reports of systems scored with SPICE: scene graphs, and scores that images don't have."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from capeval import Candidates, References, Tokenizer, evaluate
from capeval.errors import MismatchError, OptionError
from capeval.formats.judgments.plans import Pair
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.scene_graphs import SceneAttribute, SceneGraph, SceneObject, SceneRelation
from capeval.metrics.spice import Spice
from capeval.report import (
    System,
    create_image_table,
    create_score_table,
    to_csv,
    to_html,
    to_json,
    to_latex,
    to_markdown,
)
from capeval.report.exporters import comparison_to_json
from capeval.report.scene_graphs import draw_graph
from capeval.scoring.significance import bootstrap, compare
from capeval.studies.correlation import CorrelationOptions, score_ratings, study_correlation
from capeval.studies.domains import DomainEvaluator
from capeval.studies.gaming import ATTACKS, game
from capeval.studies.human import HumanOptions, human_performance, leave_one_out
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.words import ComparedMetric, validate_contenders
from tests.spice_model import NEEDS_MODEL

REFERENCES = References(
    {
        1: ["A man rides a red bike.", "a man on a bicycle"],
        2: ["two dogs run", "dogs in a park"],
        3: ["a tall <b>house</b>", "a house near trees"],
        4: ["a cat sleeps on a bed", "cat on a white bed"],
    }
)
CANDIDATES = Candidates({1: "a man with a red bike", 2: "two dogs", 3: "a <script> house", 4: "a dog"})
METRICS = ("BLEU", "SPICE", "SPICE-Color", "SPICE-Size")


def system(name: str = "ours", candidates: Candidates = CANDIDATES, **options: Any) -> System:
    report = evaluate(REFERENCES, candidates, **{"metrics": METRICS, **options})
    return System(name=name, report=report, intervals=bootstrap(report, samples=30))


def page_of(made: System, **options: Any) -> str:
    return to_html([made], references=REFERENCES, candidates={made.name: CANDIDATES}, **options)


GRAPH = SceneGraph(
    objects=(
        SceneObject(name="man", matched=True, attributes=()),
        SceneObject(
            name="bike/bicycle & <co>",
            matched=False,
            attributes=(SceneAttribute(name="red", matched=True), SceneAttribute(name="old", matched=False)),
        ),
    ),
    relations=(SceneRelation(subject=0, name="ride", object=1, matched=True),),
)


def test_a_drawn_graph_says_what_matched_by_more_than_color() -> None:
    picture = ElementTree.fromstring(str(draw_graph(GRAPH, "a <title>")))
    texts = {each.text: each.get("class") for each in picture if each.tag == "text"}
    assert texts == {
        "\N{CHECK MARK} ride": "relation matched",
        "\N{CHECK MARK} man": "name matched",
        "bike/bicycle & <co>": "name unmatched",
        "\N{CHECK MARK} red": "attribute matched",
        "old": "attribute unmatched",
    }
    title = picture.find("title")
    assert title is not None
    assert title.text == "a <title>"
    assert [each.get("class") for each in picture if each.tag == "path"] == ["matched", "matched head"]
    assert "SPICE found no objects" in draw_graph(SceneGraph(objects=(), relations=()), "none")


@NEEDS_MODEL
@pytest.mark.parametrize("metrics", [("SPICE",), ("SPIDEr",), ("SPICE", "BLEU")])
def test_examples_show_both_graphs(metrics: tuple[str, ...]) -> None:
    page = page_of(system(metrics=metrics))
    assert page.count('<svg class="scene-graph"') == 8
    assert "\N{CHECK MARK} bike" in page
    assert "Scene graph of the references of image 4" in page
    assert "<script> house" not in page
    assert "prefers-color-scheme: dark" in page


@NEEDS_MODEL
def test_no_graphs_without_spice() -> None:
    page = page_of(system(metrics=["BLEU"]))
    assert '<svg class="scene-graph"' not in page
    assert "the compared scene graphs" not in page


@NEEDS_MODEL
def test_graphs_are_of_the_text_that_was_scored() -> None:
    raw = page_of(system(metrics=[Spice(text="raw")]))
    assert raw.count('<svg class="scene-graph"') == 8
    made = system(metrics=["SPICE"], tokenizer=Tokenizer(kind="none"))
    with pytest.raises(
        MismatchError, match=r"'tokenizer' must be the tokenizer of the scores, none \(got ptb"
    ):
        page_of(made)
    assert page_of(made, tokenizer=Tokenizer(kind="none")).count('<svg class="scene-graph"') == 8


@NEEDS_MODEL
def test_a_category_without_reference_tuples_is_no_score_in_any_form(tmp_path: Path) -> None:
    made = system()
    colors = made.report.per_image["SPICE-Color"]
    assert np.isnan(colors).tolist() == [False, True, True, False]
    rows = json.loads(to_json([made], per_image=True))["per_image"]
    assert [row["SPICE-Color"] for row in rows] == [colors[0], None, None, colors[3]]
    assert all(isinstance(row["SPICE"], float) for row in rows)
    made.report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["per_image"] == rows
    table = list(csv.DictReader(io.StringIO(to_csv(create_image_table([made])))))
    assert [row["SPICE-Color"] for row in table] == [str(colors[0]), "", "", str(colors[3])]
    for text in (to_markdown(create_image_table([made])), to_latex(create_image_table([made]))):
        assert "\N{EN DASH}" in text
        assert "nan" not in text
    assert made.report.to_pandas()["SPICE-Color"].isna().tolist() == [False, True, True, False]


@NEEDS_MODEL
def test_a_corpus_without_tuples_of_a_category_has_no_score_and_no_interval() -> None:
    # No reference has a word of size, so that no resample has either.
    few = References({image: REFERENCES[image] for image in (1, 2)})
    said = Candidates({image: CANDIDATES[image] for image in (1, 2)})
    report = evaluate(few, said, METRICS, subsets={"second": [2]})
    made = System(name="ours", report=report, intervals=bootstrap(report, samples=30))
    found = json.loads(to_json([made]))
    assert found["metrics"]["SPICE-Size"] is None
    assert found["subsets"]["second"]["SPICE-Color"] is None
    assert found["intervals"]["SPICE-Size"]["low"] is None
    # Some resamples have no image with a color: the interval is from the others.
    assert found["intervals"]["SPICE-Color"]["low"] is not None
    row = next(csv.DictReader(io.StringIO(to_csv(create_score_table([made])))))
    assert (row["SPICE-Size"], row["SPICE-Size low"], row["SPICE-Size high"]) == ("", "", "")
    assert "\N{EN DASH}" in to_markdown(create_score_table([made]))
    page = to_html([made, made], references=few, candidates={"ours": said}, examples_by="SPICE-Size")
    assert "no score" in page
    assert ">nan" not in page


@NEEDS_MODEL
def test_the_best_is_told_among_the_systems_that_have_a_score() -> None:
    grid = create_score_table([system(), system("other", Candidates(dict.fromkeys(REFERENCES, "a dog")))])
    spice = grid.columns.index("SPICE")
    assert [row[spice].best for row in grid.rows] == [True, False]


@NEEDS_MODEL
def test_two_systems_without_a_score_are_not_compared() -> None:
    few = References({2: REFERENCES[2]})
    a, b = (evaluate(few, Candidates({2: text}), METRICS) for text in ("two dogs", "a red dog"))
    for method in ("bootstrap", "randomization"):
        compared = json.loads(
            comparison_to_json(
                {"all": {("a", "b"): compare(a, b, method=method, samples=20)}}, {"a": a, "b": b}
            )
        )
        assert compared["metrics"]["SPICE-Color"]["p_value"] is None
        assert compared["metrics"]["SPICE-Color"]["low"] is None
        assert compared["metrics"]["SPICE"]["p_value"] is not None


@NEEDS_MODEL
def test_studies_take_spice() -> None:
    (made,) = human_performance(REFERENCES, ["SPICE", "SPICE-Color"], HumanOptions(draws=2))
    assert made.names == ("SPICE", "SPICE-Color")
    assert 0 < leave_one_out(REFERENCES, ["SPICE"]).mean[0] < 1
    evaluator = DomainEvaluator(REFERENCES, {"near": [1, 2], "far": [3, 4]}, ["CIDEr-D", "SPICE", "SPIDEr"])
    by_domain = evaluator.evaluate(CANDIDATES).corpus
    for domain in ("near", "far", "overall"):
        cider, spice = by_domain[domain]["CIDEr-D"], by_domain[domain]["SPICE"]
        # SPIDEr counts document frequencies on the same references as CIDEr-D.
        assert by_domain[domain]["SPIDEr"] == pytest.approx((cider + spice) / 2, rel=1e-12)
    gamed = game(REFERENCES, CANDIDATES, [ComparedMetric(metric=Spice())], ATTACKS[:2])
    assert [list(each.scores) for each in gamed] == [["SPICE"]] * 3


@NEEDS_MODEL
def test_correlation_with_ratings_takes_spice() -> None:
    ratings = Ratings(
        image_ids=(1, 1, 2, 2),
        captions=("a man rides a red bike", "a cat", "two dogs run", "a man"),
        values=np.array([[4.0], [1.0], [4.0], [1.0]]),
    )
    study = study_correlation(
        score_ratings(REFERENCES, ratings, ["SPICE", "BLEU-1"]), CorrelationOptions(samples=20)
    )
    assert study.levels["segment"].values["SPICE"]["tau-b"].score > 0


@NEEDS_MODEL
def test_captions_without_a_score_are_not_ranked() -> None:
    ratings = Ratings(image_ids=(1, 2), captions=("a red bike", "a dog"), values=np.array([[4.0], [1.0]]))
    message = r"SPICE-Color must have a score for every caption \(got none for 1 of 2\)"
    with pytest.raises(MismatchError, match=message):
        score_ratings(REFERENCES, ratings, ["SPICE-Color"])
    pair = Pair(image=1, kind="HC", first="a man", second="a bike", references=("a man", "a bike"))
    scorer = PairScorer([pair], [ComparedMetric(metric=Spice(categories=("Color",)))])
    with pytest.raises(MismatchError, match=r"got none for 2 of 2"):
        scorer.scores()
    assert PairScorer([pair], [ComparedMetric(metric=Spice())]).scores()["SPICE"].shape == (1, 2)


def test_raw_text_is_refused_where_a_study_tokenizes_first() -> None:
    metric = Spice(text="raw")
    for study in (human_performance, leave_one_out):
        with pytest.raises(OptionError, match=r"'metrics' must read tokens, .*SPICE"):
            study(REFERENCES, [metric])
    with pytest.raises(OptionError, match=r"'metrics' must read tokens, .*SPICE"):
        validate_contenders([ComparedMetric(metric=metric)])
