"""Human ratings of systems: values, confidence intervals, points and files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from capeval.cli.app import app
from capeval.data.scores import FloatArray
from capeval.errors import CapevalError, CapevalWarning, FormatError, MismatchError, OptionError
from capeval.formats.judgments.human_scores import HumanScore, load_human_scores, render_human_scores
from capeval.formats.judgments.ratings import Ratings, load_ratings
from capeval.scoring.intervals import wilson_interval
from capeval.studies.correlation.systems import correlate_systems
from capeval.studies.judging import (
    QUESTIONS,
    JudgingOptions,
    human_scores,
    judge,
    leaderboard_points,
    thumb_score,
)

NAN = float("nan")


def ratings(rows: dict[str, list[list[float]]]) -> Ratings:
    """The answers about each system's captions of images 0, 1, ..."""
    systems = [name for name, answers in rows.items() for _ in answers]
    images = [image for answers in rows.values() for image in range(len(answers))]
    return Ratings(
        image_ids=tuple(images),
        captions=("a dog",) * len(images),
        values=np.array([row for answers in rows.values() for row in answers], dtype=np.float64),
        systems=tuple(systems),
    )


def test_most_answers_decide_an_image() -> None:
    found = judge(
        ratings(
            {
                # Better or equal by most of three, worse by most, equal by all, and one answer for each.
                "ours": [[1, 0, -1], [-1, -1, 1], [0, 0, 0], [1, -1, NAN]],
                "Human": [[1, 1, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0]],
            }
        ),
        "M1",
        JudgingOptions(samples=200),
    )
    assert list(found.rows) == ["Human", "ours"]
    ours = found.rows["ours"]
    # The last image, with as many for as against, counts half.
    assert ours.interval.score == (1 + 0 + 1 + 0.5) / 4
    assert (ours.images, ours.votes) == (4, 11)
    assert ours.shares == {"better": 3 / 11, "equal": 4 / 11, "worse": 4 / 11}
    assert ours.interval.low <= ours.interval.score <= ours.interval.high
    assert ours.alpha is not None
    assert found.rows["Human"].interval.score == 1


def test_means_are_over_images_of_the_mean_answer() -> None:
    found = judge(
        ratings({"ours": [[5, 5, 5], [1, NAN, NAN]], "b": [[3, 3, 3], [3, 3, 3]]}),
        "M3",
        JudgingOptions(samples=50),
    )
    assert found.rows["ours"].interval.score == 3
    assert found.rows["ours"].votes == 4
    # All answers are equal, so agreement means nothing.
    assert found.rows["b"].alpha is None
    # Two images with equal means are no evidence of a certain mean.
    assert found.rows["b"].interval.low < 1.5 < 4.5 < found.rows["b"].interval.high
    assert found.rows["b"].interval.score == 3


def test_footnotes_name_the_method_the_units_and_the_scale() -> None:
    options = JudgingOptions(samples=50)
    share = judge(ratings({"a": [[1, 1], [0, 1], [0, -1]], "b": [[1, 0], [0, 1], [-1, -1]]}), "M1", options)
    assert share.notes == (
        f"M1: {QUESTIONS['M1'].measures}",
        "In brackets: 95% Wilson intervals over images.",
        "p-value: paired bootstrap of the images (50 samples, seed 0); the smallest possible is 0.2343; not"
        " corrected for the number of comparisons.",
        "Alpha: Krippendorff's alpha (ordinal scale), with 95% bootstrap intervals over images"
        " (50 samples, seed 0).",
    )
    mean = judge(ratings({"a": [[5, 4], [2, 4], [4, 4]], "b": [[1, 1], [1, 1], [1, 1]]}), "M3", options)
    assert mean.notes[1:3] == (
        "In brackets: 95% BCa bootstrap intervals over images (50 samples, seed 0).",
        "With equal values for all images: 95% Wilson intervals over images (b).",
    )
    assert "(interval scale)" in mean.notes[-1]


@pytest.mark.parametrize("question", ["M1", "M2", "M5"])
@pytest.mark.parametrize("images", [1, 4, 100])
def test_no_share_of_0_or_1_is_certain(question: str, images: int) -> None:
    no = min(QUESTIONS[question].answers)
    found = judge(
        ratings({"a": [[1, 1, 1]] * images, "b": [[no, no, no]] * images}),
        question,
        JudgingOptions(samples=20),
    )
    always, never = found.rows["a"].interval, found.rows["b"].interval
    assert (always.score, always.high, never.score, never.low) == (1, 1, 0, 0)
    # By the rule of three, about 3 of 100 could be different.
    assert 1 - always.low == pytest.approx(never.high)
    assert never.high >= min(1, 2.5 / images)


def test_wilson_intervals_of_decided_images_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    for images in (5, 30, 1000):
        yes = np.array([0.0, 1.0, *(rng.random(images - 2) < 0.3)])
        found = judge(ratings({"a": [[each] for each in yes]}), "M2", JudgingOptions(samples=2)).rows["a"]
        # One image of the largest variance is added, and the quantile is that of the t distribution.
        effective = images / (1 + 1 / images)
        score, z = float(yes.mean()), stats.t.ppf(0.975, images - 1)
        level = float(1 - 2 * stats.norm.sf(z))
        wilson = wilson_interval(score, effective, level)
        assert (found.interval.low, found.interval.high) == pytest.approx(wilson, abs=1e-9)
        by_scipy = stats.binomtest(int(yes.sum()), images).proportion_ci(method="wilson")
        assert wilson_interval(score, images) == pytest.approx((by_scipy.low, by_scipy.high))


def test_intervals_of_shares_are_over_images() -> None:
    rng = np.random.default_rng(3)
    likes = rng.random(400) < 0.3
    answers = [[float(like)] * 3 for like in likes]
    found = judge(ratings({"a": answers}), "M2", JudgingOptions(samples=2000, seed=1)).rows["a"]
    value = float(likes.mean())
    assert found.interval.score == pytest.approx(value)
    # The standard error of a share of 400 images; three equal answers of an image are no more than one.
    reach = 1.96 * np.sqrt(value * (1 - value) / 400)
    assert found.interval.low == pytest.approx(value - reach, abs=0.006)
    assert found.interval.high == pytest.approx(value + reach, abs=0.006)
    assert found.votes == 1200


def test_neighbors_are_compared_on_the_same_resamples() -> None:
    rng = np.random.default_rng(3)
    hard = rng.random(300)
    # The second is better on each image by little: only a paired test sees it.
    columns = {name: [[float(1 + 3 * x + better)] for x in hard] for name, better in (("a", 0), ("b", 0.1))}
    found = judge(ratings(columns), "M3", JudgingOptions(samples=500))
    assert list(found.rows) == ["b", "a"]
    assert found.rows["a"].interval.high > found.rows["b"].interval.low
    compared = found.compare("b", "a")
    assert compared.p_value < 0.01
    assert compared.low == pytest.approx(0.1)
    with pytest.raises(OptionError, match="'system' must be one of b, a"):
        found.compare("b", "c")


def test_systems_that_lack_images_are_compared_all_the_same() -> None:
    found = judge(
        ratings({"a": [[1], [0], [1], [1]], "b": [[1], [0], [1]]}), "M5", JudgingOptions(samples=20, seed=2)
    )
    assert found.rows["b"].images == 3


def test_wrong_answers_are_named() -> None:
    with pytest.raises(MismatchError, match=r"answers to M1 must be 1 \(better\), 0 .* \(got 2\)"):
        judge(ratings({"a": [[2]]}), "M1")
    with pytest.raises(MismatchError, match=r"answers to M3 must be from 1 to 5 \(got 0\)"):
        judge(ratings({"a": [[0]]}), "M3")
    with pytest.raises(OptionError, match="'question' must be one of M1"):
        judge(ratings({"a": [[1]]}), "M6")
    twice = Ratings(image_ids=(7, 7), captions=("a", "b"), values=np.ones((2, 1)), systems=("a", "a"))
    with pytest.raises(
        MismatchError, match=r"'a' must have one caption per image \(got several of image 7\)"
    ):
        judge(twice, "M3")
    nobody = Ratings(image_ids=(7,), captions=("a",), values=np.ones((1, 1)))
    with pytest.raises(MismatchError, match="must have a system"):
        judge(nobody, "M3")


def test_points_are_those_of_the_first_five() -> None:
    names = ["a", "b", "c", "d", "e", "f", "Human", "Random"]
    m1 = dict(zip(names, [0.3, 0.2, 0.2, 0.1, 0.05, 0.04, 0.9, 0.0], strict=True))
    m2 = dict(zip(names, [0.1, 0.3, 0.2, 0.05, 0.04, 0.06, 0.9, 0.0], strict=True))
    found = leaderboard_points({"M1": m1, "M2": m2})
    assert [(each.system, each.points["M1"], each.points["M2"], each.place) for each in found] == [
        ("b", 4, 5, 1),
        ("a", 5, 3, 2),
        ("c", 4, 4, 2),
        ("d", 2, 1, 4),
        ("f", 0, 2, 5),
        ("e", 1, 0, 6),
    ]
    with pytest.raises(OptionError, match="must be M1 and M2 .got M1."):  # noqa: RUF043
        leaderboard_points({"M1": m1})
    with pytest.raises(MismatchError, match="have the same systems"):
        leaderboard_points({"M1": m1, "M2": {"a": 1.0}})


def test_thumb_takes_penalties_off() -> None:
    precision, recall = np.array([5.0, 4.0]), np.array([4.0, 2.0])
    assert thumb_score(precision, recall, np.array([-0.5, 0.0]), np.array([-0.1, 0])).tolist() == [3.9, 3.0]
    with pytest.raises(MismatchError, match="penalties must be at most 0"):
        thumb_score(precision, recall, np.array([0.1, 0.0]))


def score(system: str, value: float, release: str = "") -> HumanScore:
    return HumanScore(
        system=system, question="M1", value=value, low=value, high=value, images=1, votes=3, release=release
    )


def test_human_scores_are_read_as_they_were_written() -> None:
    scores = (
        HumanScore(
            submission="12",
            system="=cmd()",
            question="M1",
            value=0.1 + 0.2,
            low=0.25,
            high=1 / 3,
            images=1000,
            votes=3000,
            workers=41,
            alpha=-0.05,
            release="2026-11",
            interval="95% Wilson intervals over images",
            alpha_low=-0.2,
            alpha_high=0.1,
            alpha_scale="ordinal",
            alpha_interval="95% bootstrap intervals over images (1,000 samples, seed 0)",
        ),
        score("b", 0.5),
    )
    text = render_human_scores(scores)
    assert "'=cmd()" in text
    assert load_human_scores(text.encode()) == scores
    header = text.splitlines()[0]
    columns = "submission,system,question,value,low,high,images,votes,workers,alpha,release"
    assert header == f"{columns},interval,alpha_low,alpha_high,alpha_scale,alpha_interval"
    # Releases of early versions have no more columns.
    assert load_human_scores(f"{columns}\n,b,M1,0.5,0.5,0.5,1,3,,,\n".encode()) == (score("b", 0.5),)
    header = columns
    for row, message in (
        (",,M1,1,1,1,1,1,,,", "line 2 must have a system .got none."),
        (",a,M1,x,1,1,1,1,,,", "line 2 must have a finite number in the column 'value' .got 'x'."),
        (",a,M1,nan,1,1,1,1,,,", "line 2 must have a finite number in the column 'value'"),
        (",a,M1,1,1,1,-1,1,,,", "line 2 must have a nonnegative integer in the column 'images'"),
        (",a,M1,1,1,1,1,1,,,\n,a,M1,1,1,1,1,1,,,", "line 3 must have a new combination of system"),
        ("", "at least one value"),
    ):
        with pytest.raises(FormatError, match=message):
            load_human_scores(f"{header}\n{row}\n".encode())


def test_metrics_are_correlated_with_systems_by_question_and_release() -> None:
    metrics = {name: {"CIDEr-D": value, "flat": 1.0} for name, value in (("a", 1.0), ("b", 0.5), ("c", 0.2))}
    judged = [score(name, value) for name, value in (("a", 0.3), ("b", 0.2), ("c", 0.1), ("Human", 0.9))]
    judged += [score(name, value, release="2") for name, value in (("a", 0.1), ("b", 0.2), ("c", 0.3))]
    first, second = correlate_systems(metrics, judged)
    assert (first.release, first.systems, first.without_scores) == ("", ("a", "b", "c"), ("Human",))
    assert first.coefficients["CIDEr-D"] is not None
    assert second.coefficients["CIDEr-D"] is not None
    assert first.coefficients["CIDEr-D"]["tau-b"].score == pytest.approx(1)
    assert second.coefficients["CIDEr-D"]["tau-b"].score == pytest.approx(-1)
    assert first.coefficients["flat"] is None
    with pytest.raises(MismatchError, match="judged systems: 'Human', 'a', 'b' and 1 more"):
        correlate_systems({"z": {"CIDEr-D": 1.0}}, judged)
    with pytest.raises(MismatchError, match="at least three systems with scores"):
        correlate_systems({name: metrics[name] for name in "ab"}, judged)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def written(path: Path, answers: dict[str, list[FloatArray]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("image_id", "caption", "rating_1", "rating_2", "rating_3", "system"))
        for name, rows in answers.items():
            for image, row in enumerate(rows):
                writer.writerow((image, f"a caption {image}", *row.tolist(), name))
    return path


def test_the_command_writes_what_correlation_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    quality = {"good": 0.8, "fair": 0.5, "poor": 0.2, "Human": 0.9, "Random": 0.01}
    m1, m2 = (
        written(
            tmp_path / f"{question}.csv",
            {
                name: [(rng.random(3) < part).astype(float) + low for _ in range(60)]
                for name, part in quality.items()
            },
        )
        for question, low in (("m1", -1.0), ("m2", 0.0))
    )
    out = tmp_path / "out"
    shown = run("judging", f"M1={m1}", f"M2={m2}", "--samples", 50, "--release", "r1", "-o", out)
    assert "M2: share of images with a majority for a caption written by a person" in shown
    assert "In brackets: 95% Wilson intervals over images." in shown
    assert "[0.000, 0.000]" not in shown
    points = [line.split() for line in shown.splitlines() if line[:2] in ("1 ", "2 ", "3 ")]
    assert points == [
        ["1", "good", "5", "5", "10"],
        ["2", "fair", "4", "4", "8"],
        ["3", "poor", "3", "3", "6"],
    ]
    judged = load_human_scores(out / "human.csv")
    assert {(each.question, each.release, each.images, each.votes) for each in judged} == {
        (question, "r1", 60, 180) for question in ("M1", "M2")
    }
    assert {each.system for each in judged} == set(quality)
    references = tmp_path / "references.json"
    words = ["a dog runs on green grass", "two cats sleep on a bed"]
    references.write_text(json.dumps({str(image): [text] for image, text in enumerate(words)}))
    said = {
        "good": words,
        "fair": ["a dog runs on a bed", "two cats on green grass"],
        "poor": ["a plane", "some food"],
    }
    files = []
    for name, captions in said.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({str(image): text for image, text in enumerate(captions)}))
    shown = run("correlation", references, out / "human.csv", *files, "--metrics", "ROUGE-L")
    assert "Not scored, without captions: Human, Random" in shown
    rows = [line.split()[:6] for line in shown.splitlines() if "ROUGE-L" in line]
    assert [row[:4] for row in rows] == [[question, "r1", "3", "ROUGE-L"] for question in ("M1", "M2")]
    assert [float(cell) for row in rows for cell in row[4:]] == [1.0] * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("judging", "M9=a.csv"), "arguments must be QUESTION=FILE, with each question once from M1"),
        (("judging", "M1=a.csv", "M1=b.csv"), "each question once"),
        (
            ("judging", "pairwise=judgments.csv"),
            "count votes on pairs and triplets with 'capeval study votes'",
        ),
        (("judging", "M4=a.csv"), "M4 requires M3"),
        (
            ("correlation", "a.json", "human.csv", "b.json", "--against", "CIDEr-D"),
            "can't be combined with RESULTS",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CapevalError, match=message):
        run(*arguments)


def test_plans_of_pairs_need_their_option(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").touch()
    with pytest.raises(CapevalError, match=r"has no triplets\.csv; for votes on pairs, add '--pairwise'"):
        run("votes", tmp_path, "judgments.csv")
    with pytest.raises(CapevalError, match=r"'PLAN' must be a folder with pairs\.csv \(got a file: "):
        run("votes", tmp_path / "pairs.csv", "judgments.csv")


def test_questions_say_what_they_measure() -> None:
    assert list(QUESTIONS) == ["M1", "M2", "M3", "M4", "M5", "P", "R", "THumB"]
    rows = human_scores(
        [judge(ratings({"a": [[1], [5]]}), "P", JudgingOptions(samples=9))],
        release="x",
        submissions={"a": "3"},
    )
    assert (rows[0].submission, rows[0].question, rows[0].value, rows[0].release) == ("3", "P", 3.0, "x")


OF_TEXT = b"image_id,caption,rating_1,rating_2,system\n'=1.png,'- a dog,'-1,1,'@a\n=2.png,a dog,0,'-1,b\n"


def test_ratings_that_an_early_version_escaped_are_numbers_with_a_warning() -> None:
    with pytest.warns(
        CapevalWarning, match=r"^m1\.csv: 2 ratings begin with an apostrophe \(first in line 2\)"
    ):
        found = load_ratings(OF_TEXT, name="m1.csv")
    assert found.values.tolist() == [[-1, 1], [0, -1]]
    # Text that was escaped is read as it was written.
    assert found.image_ids == ("=1.png", "=2.png")
    assert (found.captions, found.systems) == (("- a dog", "a dog"), ("@a", "b"))


@pytest.mark.filterwarnings("error")
def test_negative_ratings_are_read_without_a_warning() -> None:
    assert load_ratings(OF_TEXT.replace(b"'-1", b"-1")).values.tolist() == [[-1, 1], [0, -1]]


@pytest.mark.parametrize("text", ["'", "'x", "''-1", "'-1+1", "'inf"])
def test_other_text_is_no_rating(text: str) -> None:
    with pytest.raises(FormatError, match=r"line 2 must have a finite number as rating"):
        load_ratings(f"image_id,caption,rating\n1,a dog,{text}\n".encode())


def test_thumb_is_below_zero_for_the_lowest_ratings_with_all_penalties() -> None:
    half = np.array([-0.5])
    worst = thumb_score(np.array([1.0]), np.array([1.0]), half, half, half)
    found = judge(ratings({"ours": [[float(worst[0])], [5]]}), "THumB", JudgingOptions(samples=20))
    assert found.rows["ours"].interval.score == 2.25
