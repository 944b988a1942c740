"""Captions with a sentence that SPICE doesn't parse: their images have no score, and nothing else changes."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest

from capeval import References, Spice, Spider, evaluate
from capeval.compat.spice.spice import Spice as CompatSpice
from capeval.data.captions import Candidates
from capeval.distributed.partial_sums import Sums
from capeval.errors import OptionError, UnscoredError, UnscoredWarning
from capeval.formats.judgments.ratings import Ratings
from capeval.metrics.spice_parsing import LongSentenceError, parse_captions
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
from capeval.resources.spice import load_model
from capeval.scoring.evaluator import Evaluator
from capeval.scoring.report import Report
from capeval.scoring.significance import bootstrap, compare
from capeval.studies.correlation import score_ratings
from capeval.studies.domains import DomainEvaluator
from capeval.studies.domains.report import all_scores
from capeval.studies.human import leave_one_out
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

LONG = " ".join(["a dog near a red cat and"] * 60)
MEDIUM = " ".join(["a dog near a red cat and"] * 6)
METRICS = ("CIDEr-D", "SPICE", "SPICE-Color", "SPIDEr")
REFERENCES = References(
    {
        1: ["a man rides a red bike", "a man on a bike"],
        2: ["two dogs run", "the dogs play on grass"],
        3: ["a cat sleeps on a bed", "a black cat"],
        4: ["a bus on a street", LONG],
        5: ["a woman holds an umbrella", "a woman in the rain"],
    }
)
SHORT = {
    1: "a man on a red bike",
    2: "two dogs",
    3: "a cat on a table",
    4: "a bus",
    5: "a woman in a red hat",
}
CANDIDATES = {**SHORT, 2: LONG}
PARSED = [1, 3, 5]
NOTE = (
    "2 images (2, 4) are not scored by SPICE or SPIDEr, since a caption has a sentence of more than 400"
    " tokens; raise the limit with --spice-longest N (Python: Spice(longest=N)), at most 800, or parse each"
    " sentence separately with SPICE(text=sentences)"
)


def scored(candidates: dict[int, str] = CANDIDATES, **options: object) -> Report:
    """The report, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnscoredWarning)
        return evaluate(REFERENCES, candidates, METRICS, **options)  # type: ignore[arg-type]


def test_one_warning_names_the_images_the_reason_and_the_fix() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(REFERENCES, CANDIDATES, METRICS)
    (warning,) = caught
    assert isinstance(warning.message, UnscoredWarning)
    assert str(warning.message) == NOTE
    assert warning.message.images == (2, 4)
    assert str(pickle.loads(pickle.dumps(warning.message))) == NOTE


def test_the_corpus_score_is_that_of_the_other_images() -> None:
    report = scored()
    for name in ("SPICE", "SPIDEr"):
        missing = np.isnan(report.per_image[name])
        assert [image for image, lacks in zip(report.image_ids, missing, strict=True) if lacks] == [2, 4]
        assert report.corpus[name] == pytest.approx(np.nanmean(report.per_image[name]), rel=1e-12)
    rows = [REFERENCES.image_ids.index(image) for image in PARSED]
    alone = evaluate(REFERENCES.select(PARSED), {image: SHORT[image] for image in PARSED}, ["SPICE"])
    assert report.corpus["SPICE"] == alone.corpus["SPICE"]
    assert report.per_image["SPICE"][rows].tolist() == alone.per_image["SPICE"].tolist()
    # CIDEr-D reads no sentences: all images count.
    assert report.corpus["CIDEr-D"] == pytest.approx(report.per_image["CIDEr-D"].mean(), rel=1e-12)


def test_no_image_may_be_parsed() -> None:
    with pytest.warns(UnscoredWarning, match=r"^5 images \(1, 2, 3, 4, 5\) are not scored"):
        report = evaluate(REFERENCES, dict.fromkeys(SHORT, LONG), ["SPICE", "SPIDEr"])
    assert np.isnan([*report.corpus.values()]).all()
    written = json.loads(to_json([System(name="a", report=report)]))
    assert written["metrics"] == {"SPICE": None, "SPIDEr": None}


def test_the_limit_decides_which_images_are_scored() -> None:
    references = REFERENCES.select([1, 2, 3])
    candidates = {1: SHORT[1], 2: MEDIUM, 3: SHORT[3]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = evaluate(references, candidates, [Spice(), Spider()])
    assert not np.isnan(report.per_image["SPICE"]).any()
    assert not np.isnan(report.per_image["SPIDEr"]).any()
    assert report.unscored == {}
    with pytest.warns(UnscoredWarning, match="image 2 is not scored by SPICE .* more than 30 tokens"):
        lower = evaluate(references, candidates, [Spice(longest=30), Spider(longest=30)])
    assert np.isnan(lower.per_image["SPICE"]).tolist() == [False, True, False]
    # Scores depend on the limit, so the signature has it unless it is the default.
    assert lower.signatures["SPICE"].options[-1] == "longest=30"
    assert not any("longest" in option for option in Spice().options())
    assert Spider().longest == Spice().longest
    assert "raise the limit" in lower.unscored["SPICE"].fix
    with pytest.warns(UnscoredWarning, match="more than 800 tokens; this is the highest limit"):
        evaluate(references, {**candidates, 2: f"{LONG} {LONG}"}, [Spice(longest=800)])


def test_subsets_intervals_and_sums_leave_them_out() -> None:
    subsets = {"none": [2, 4], "some": [1, 2, 3]}
    report = scored(subsets=subsets)
    assert np.isnan(report.subsets["none"]["SPICE"])
    assert np.isnan(report.subsets["none"]["SPIDEr"])
    alone = evaluate(REFERENCES.select([1, 3]), {image: SHORT[image] for image in (1, 3)}, ["SPICE"])
    assert report.subsets["some"]["SPICE"] == alone.corpus["SPICE"]
    for name, interval in bootstrap(report, samples=50).items():
        assert interval.low <= report.corpus[name] <= interval.high
    parts = []
    for images in ([1, 2], [3, 4, 5]):
        with pytest.warns(UnscoredWarning):
            part = evaluate(
                REFERENCES.select(images), {image: CANDIDATES[image] for image in images}, ["SPICE"]
            )
        parts.append(Sums.of(part))
    assert (parts[0] + parts[1]).corpus["SPICE"] == pytest.approx(report.corpus["SPICE"], rel=1e-15)


@pytest.mark.parametrize("method", ["bootstrap", "randomization"])
def test_both_systems_are_compared_on_the_images_that_both_have(method: str) -> None:
    other = {**SHORT, 1: "a man", 3: LONG}
    compared = compare(scored(), scored(other), method=method, samples=100)  # type: ignore[arg-type]
    common = [1, 5]
    ours, theirs = (
        evaluate(REFERENCES.select(common), {image: texts[image] for image in common}, ["SPICE"])
        for texts in (SHORT, other)
    )
    assert compared["SPICE"].a == ours.corpus["SPICE"]
    assert compared["SPICE"].b == theirs.corpus["SPICE"]
    assert compared["SPICE"].difference == compared["SPICE"].a - compared["SPICE"].b
    assert compared["SPICE"].low <= compared["SPICE"].difference <= compared["SPICE"].high
    assert compared["CIDEr-D"].a == scored().corpus["CIDEr-D"]
    note, few = compared.notes
    assert few.startswith("Only 5 images:")
    assert note.startswith("Excluded for both systems: 3 images (2, 4, 3) are not scored by SPICE or SPIDEr,")
    content = comparison_to_json({"all": {("a", "b"): compared}}, {"a": scored()})
    assert json.loads(content)["notes"] == [note, few]
    assert note in repr(compared)


def test_tables_and_files_have_the_note() -> None:
    report = scored()
    system = System(name="a", report=report)
    grid = create_score_table([system], source="refs.json")
    assert grid.notes[-1] == f"{NOTE}."
    assert create_score_table([system, System(name="b", report=scored(SHORT))]).notes[-2:] == (
        f"a: {NOTE}.",
        "b: image 4 is not scored" + NOTE.removeprefix("2 images (2, 4) are not scored") + ".",
    )
    assert create_image_table([system]).notes == (f"{NOTE}.",)
    assert "(2, 4) are not scored by SPICE" in to_markdown(grid)
    assert f"% {NOTE}." in to_latex(grid)
    written = json.loads(to_json([system], per_image=True))
    assert written["unscored"]["SPICE"] == {"images": [2, 4], "note": NOTE}
    assert [row["SPICE"] is None for row in written["per_image"]] == [False, True, False, True, False]
    table = to_csv(create_image_table([system])).splitlines()
    assert table[0].endswith(',"SPICE","SPICE-Color","SPIDEr"')
    assert table[2] == '"a",2,0.0,"","",""'
    page = to_html(
        [system], references=REFERENCES, candidates={"a": Candidates(CANDIDATES)}, examples_by="CIDEr-D"
    )
    assert "(2, 4) are not scored by SPICE" in page
    assert "NaN" not in json.dumps(written)


def test_studies_name_them() -> None:
    evaluator = DomainEvaluator(REFERENCES, {"near": [1, 2], "far": [3, 4, 5]}, ["SPICE", "SPIDEr"])
    with pytest.warns(UnscoredWarning) as warned:
        found = evaluator.evaluate(CANDIDATES)
    assert [str(warning.message) for warning in warned] == [NOTE]
    assert f"{NOTE}." in all_scores({"a": found}).notes
    assert found.corpus["overall"]["SPICE"] == scored().corpus["SPICE"]
    with pytest.warns(UserWarning, match=r"^2 candidates are not scored by SPICE or SPIDEr, since") as warned:
        made = leave_one_out(REFERENCES, ["SPICE"])
    assert len(warned) == 1
    assert 0 < made.mean[0] < 1
    ratings = Ratings(image_ids=(1, 2), captions=("a red bike", LONG), values=np.array([[4.0], [1.0]]))
    with pytest.warns(UnscoredWarning), pytest.raises(ValueError, match="SPICE must have a score for every"):
        score_ratings(REFERENCES, ratings, ["SPICE"])


def test_an_image_may_be_refused_instead() -> None:
    message = (
        r"^image 2 is not scored by SPICE or SPIDEr, since a caption has a sentence of more than 400 tokens$"
    )
    short = REFERENCES.select([1, 2, 3])
    for metric in (Spice().without_exclusions(), Spider().without_exclusions()):
        with pytest.raises(UnscoredError, match=message) as caught:
            evaluate(short, {image: CANDIDATES[image] for image in (1, 2, 3)}, [metric])
        assert pickle.loads(pickle.dumps(caught.value)).images == (2,)
        with pytest.raises(UnscoredError, match=r"^image 4 is not scored"):
            Evaluator(REFERENCES, [metric])
    with pytest.raises(OptionError):
        Spider(longest=801)


def test_compat_gives_nan_and_the_mean_of_the_others() -> None:
    gts = {image: list(texts) for image, texts in REFERENCES.items()}
    res = {image: [text] for image, text in CANDIDATES.items()}
    with pytest.warns(UnscoredWarning):
        mean, by_image = CompatSpice().compute_score(gts, res)
    assert mean == pytest.approx(scored().corpus["SPICE"], rel=1e-12)
    assert [bool(np.isnan(each["All"]["f"])) for each in by_image] == [False, True, False, True, False]
    gts[4], res[2] = [REFERENCES[4][0], MEDIUM], [MEDIUM]
    for longest, expected in ((400, [False] * 5), (30, [False, True, False, True, False])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscoredWarning)
            mean, by_image = CompatSpice(longest=longest).compute_score(gts, res)
        assert [bool(np.isnan(each["All"]["f"])) for each in by_image] == expected


def test_many_long_captions_are_found_at_any_place() -> None:
    texts = [LONG.replace("dog", f"dog{n}") if n % 3 == 0 else f"a dog number {n}" for n in range(40)]
    metric = Spice()
    rows = metric.prepare({n: ["a dog"] for n in range(40)}).score
    with pytest.warns(UnscoredWarning, match=r"^14 images \(0, 3, 6, 9, 12, \.\.\.\) are not scored"):
        found = rows(dict(enumerate(texts))).per_image["SPICE"]
    assert np.flatnonzero(np.isnan(found)).tolist() == list(range(0, 40, 3))
    with pytest.raises(LongSentenceError, match="got one of 420 in the caption 'a dog0 near"):
        parse_captions(load_model(), texts)
