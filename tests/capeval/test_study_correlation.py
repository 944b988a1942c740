"""Correlation with ratings: coefficients by their definitions, resamples, ratings from files."""

from __future__ import annotations

import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from capeval import CiderD
from capeval.errors import CaptionError, FormatError, MismatchError, OptionError
from capeval.formats.judgments.ratings import Ratings, load_ratings
from capeval.scoring.intervals import correct_p_value
from capeval.studies.correlation import CorrelationOptions, RatedScores, correlate, score_ratings
from capeval.studies.correlation.report import TIES_NOTE, correlation_table, difference_table, dots
from capeval.studies.shared.coefficients import COEFFICIENTS, coefficients
from capeval.studies.shared.system_intervals import compute_system_interval

REFERENCES = {
    "a": ["a dog runs on the grass", "the dog is running outside"],
    "b": ["two cats sleep on a bed", "cats on a bed"],
    "c": ["a red bus drives down the street", "a bus on a city street"],
    "d": ["a man rides a brown horse", "someone on a horse"],
}
ROWS = [
    ("a", "a dog runs outside", "good", [4, 4, 3]),
    ("b", "two cats on a bed", "good", [4, 3, 4]),
    ("c", "a bus drives down a street", "good", [4, 4, 4]),
    ("d", "a man rides a horse", "good", [3, 4, 4]),
    ("a", "a dog", "fair", [2, 3, 2]),
    ("b", "a cat on a bed", "fair", [3, 3, 2]),
    ("c", "a red bus", "fair", [3, 2, 3]),
    ("d", "a man on a horse", "fair", [3, 3, 3]),
    ("a", "two cats", "bad", [1, 1, 2]),
    ("b", "a bus", "bad", [1, 1, 1]),
    ("c", "the dog sleeps", "bad", [1, 2, 1]),
    ("d", "a horse", "bad", [2, 2, 1]),
]


def ratings(rows: list[tuple[str, str, str, list[int]]] = ROWS, *, systems: bool = True) -> Ratings:
    images, captions, names, values = zip(*rows, strict=True)
    return Ratings(
        image_ids=images,
        captions=captions,
        values=np.array(values, dtype=np.float64),
        systems=names if systems else (),
    )


def rated() -> RatedScores:
    return score_ratings(REFERENCES, ratings(), ["BLEU-1", "CIDEr-D"])


def by_definition(x: list[float], y: list[float]) -> dict[str, float]:
    """Each coefficient from its pairs or its ranks, one after the other."""
    pairs = list(itertools.combinations(range(len(x)), 2))
    sign = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in pairs]
    difference = sum(a * b for a, b in sign)
    n, m = len(x), min(len(set(x)), len(set(y)))
    decided = [(a, b) for a, b in sign if b]

    def ranks(values: list[float]) -> list[float]:
        return [sum((v < w) + 0.5 * (v == w) for v in values) for w in values]

    return {
        "tau-b": difference / math.sqrt(sum(bool(a) for a, _ in sign) * sum(bool(b) for _, b in sign)),
        "tau-c": 2 * difference * m / (n**2 * (m - 1)),
        "Spearman": float(np.corrcoef(ranks(x), ranks(y))[0, 1]),
        "Pearson": float(np.corrcoef(x, y)[0, 1]),
        "accuracy": sum(1.0 if a == b else 0.5 if not a else 0.0 for a, b in decided) / len(decided),
    }


OBSERVATIONS = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=2, max_size=25).filter(
    lambda pairs: all(len({pair[side] for pair in pairs}) > 1 for side in (0, 1))
)


@given(OBSERVATIONS)
def test_coefficients_are_those_of_their_definitions(pairs: list[tuple[int, int]]) -> None:
    x, y = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    found = coefficients(np.array(x), np.array(y))
    expected = by_definition(x, y)
    assert tuple(found) == COEFFICIENTS
    for name in COEFFICIENTS:
        assert found[name] == pytest.approx(expected[name], abs=1e-12), name


@given(OBSERVATIONS)
def test_coefficients_agree_with_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    found = coefficients(np.array(x, dtype=float), np.array(y, dtype=float))
    expected = {
        "tau-b": stats.kendalltau(x, y, variant="b").statistic,
        "tau-c": stats.kendalltau(x, y, variant="c").statistic,
        "Spearman": stats.spearmanr(x, y).statistic,
        "Pearson": stats.pearsonr(x, y).statistic,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_coefficients_of_random_scores_agree_with_scipy() -> None:
    rng = np.random.default_rng(7)
    for count in (4, 50, 1_000):
        x, y = rng.standard_normal((2, count))
        found = coefficients(x, x + y)
        for name, value in {
            "tau-b": stats.kendalltau(x, x + y).statistic,
            "tau-c": stats.kendalltau(x, x + y, variant="c").statistic,
            "Spearman": stats.spearmanr(x, x + y).statistic,
            "Pearson": stats.pearsonr(x, x + y).statistic,
        }.items():
            assert found[name] == pytest.approx(value, abs=1e-10), name


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_fisher_intervals_agree_with_scipy(level: float) -> None:
    rng = np.random.default_rng(2)
    for systems in (4, 5, 17, 100):
        x, y = rng.standard_normal((2, systems))
        expected = stats.pearsonr(x, x + y).confidence_interval(confidence_level=level)
        r = coefficients(x, x + y)["Pearson"]
        found = compute_system_interval("Pearson", r, systems, level=level)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_rank_intervals_by_hand() -> None:
    # Without the exchange of two neighbors: 0.6 +- 1.96 standard errors, on the scale of atanh.
    spearman = compute_system_interval("Spearman", 0.6, 50)
    shift, error = 12 / (50 * 2499), math.sqrt((1 + 0.18) / 47)
    assert spearman.low == pytest.approx(math.tanh(math.atanh(0.6 - shift) - 1.959964 * error), abs=1e-6)
    assert spearman.high == pytest.approx(math.tanh(math.atanh(0.6 + shift) + 1.959964 * error), abs=1e-6)
    kendall = compute_system_interval("tau-b", 0.6, 50)
    shift, error = 4 / (50 * 49), math.sqrt(0.437 / 46)
    assert kendall.low == pytest.approx(math.tanh(math.atanh(0.6 - shift) - 1.959964 * error), abs=1e-6)
    accuracy = compute_system_interval("accuracy", 0.8, 50)
    assert (accuracy.low, accuracy.high) == pytest.approx(((1 + kendall.low) / 2, (1 + kendall.high) / 2))


@pytest.mark.parametrize("coefficient", ["tau-b", "tau-c", "Spearman", "accuracy"])
@pytest.mark.parametrize("systems", [5, 17])
def test_perfect_agreement_has_an_interval_with_a_width(coefficient: str, systems: int) -> None:
    found = compute_system_interval(coefficient, 1.0, systems)
    assert found.low < found.high == 1.0
    worst = 0.0 if coefficient == "accuracy" else -1.0
    opposite = compute_system_interval(coefficient, worst, systems)
    assert worst == opposite.low < opposite.high
    with pytest.raises(OptionError, match="'coefficient' must be one of"):
        compute_system_interval("tau", 1.0, systems)


def test_coefficients_by_hand() -> None:
    # Of six pairs, (1,2) and (2,2) tie in the rating; four are in order, one is not.
    found = coefficients(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 1.0, 5.0]))
    # 3 pairs with the last are in order, and 2 of the third with the first two are not.
    assert found["tau-b"] == pytest.approx((3 - 2) / math.sqrt(6 * 5))
    assert found["tau-c"] == pytest.approx(2 * 3 * (3 - 2) / (16 * 2))
    assert found["accuracy"] == pytest.approx(3 / 5)


def test_order_alone_decides_rank_correlation() -> None:
    scores = np.array([0.1, 0.5, 0.2, 0.9, 0.5])
    people = np.array([1.0, 3.0, 2.0, 4.0, 2.0])
    plain, bent = coefficients(scores, people), coefficients(np.exp(5 * scores), people)
    for name in ("tau-b", "tau-c", "Spearman", "accuracy"):
        assert plain[name] == pytest.approx(bent[name], abs=1e-15)
    assert plain["Pearson"] != pytest.approx(bent["Pearson"])
    turned = coefficients(-scores, people)
    assert turned["tau-b"] == pytest.approx(-plain["tau-b"])
    assert turned["accuracy"] == pytest.approx(1 - plain["accuracy"])


@pytest.mark.parametrize(
    ("scores", "people", "message"),
    [
        ([1.0, 1.0], [1.0, 2.0], "at least two different scores"),
        ([1.0, 2.0], [3.0, 3.0], "at least two different scores"),
        ([1.0, 2.0], [3.0], "equal lengths"),
        ([], [], "equal lengths"),
        ([1.0, float("nan")], [1.0, 2.0], "finite"),
    ],
)
def test_undefined_coefficients_are_refused(scores: list[float], people: list[float], message: str) -> None:
    with pytest.raises(MismatchError, match=message):
        coefficients(np.array(scores), np.array(people))


def test_each_rating_is_an_observation_or_their_mean() -> None:
    scored = rated()
    scores = scored.per_caption["CIDEr-D"]
    each = correlate(scored, CorrelationOptions(samples=20))
    assert each.observations == 36
    expected = coefficients(np.repeat(scores, 3), scored.ratings.values.ravel())
    assert {name: found.score for name, found in each.values["CIDEr-D"].items()} == expected
    mean = correlate(scored, CorrelationOptions(raters="mean", samples=20))
    assert mean.observations == 12
    averaged = coefficients(scores, scored.ratings.values.mean(axis=1).round(9))
    assert {name: found.score for name, found in mean.values["CIDEr-D"].items()} == averaged


def test_missing_ratings_do_not_count() -> None:
    given = ratings()
    values = given.values.copy()
    values[0, 0] = values[5, 2] = np.nan
    holes = Ratings(image_ids=given.image_ids, captions=given.captions, values=values)
    scored = score_ratings(REFERENCES, holes, ["BLEU-1"])
    found = correlate(scored, CorrelationOptions(samples=5))
    assert found.observations == 34
    there = ~np.isnan(values).ravel()
    scores = np.repeat(scored.per_caption["BLEU-1"], 3)[there]
    expected = coefficients(scores, values.ravel()[there])
    assert found.values["BLEU-1"]["tau-b"].score == pytest.approx(expected["tau-b"], abs=1e-15)


def test_system_level_correlates_corpus_scores() -> None:
    scored = rated()
    found = correlate(scored, CorrelationOptions(samples=50, system_intervals="images"), level="system")
    assert (found.units, found.unit_count) == ("images", 4)
    assert found.observations == 3
    names = np.array(scored.ratings.systems)
    corpus, people = [], []
    for system in ("bad", "fair", "good"):
        rows = names == system
        corpus.append(scored.metrics[0].aggregate(scored.statistics[0][rows].sum(axis=0))[0])
        people.append(scored.ratings.values[rows].mean())
    expected = coefficients(np.array(corpus), np.array(people).round(9))
    for name in COEFFICIENTS:
        assert found.values["BLEU-1"][name].score == pytest.approx(expected[name], abs=1e-12)


def many_systems(systems: int) -> RatedScores:
    """Return captions of each system for the four images, worse from system to system."""
    rows = []
    for place in range(systems):
        for image, caption in (("a", "a dog runs on grass"), ("b", "cats on a bed"), ("c", "a red bus")):
            # Every third system breaks the order.
            words = " ".join(["thing"] * (place + (3 if place % 3 else 0)))
            rows.append((image, f"{caption} {words}", f"system {place:02}", [20 - place]))
    return score_ratings(REFERENCES, ratings(rows), ["BLEU-1", "ROUGE-L"])


def test_system_level_intervals_are_over_systems_by_default() -> None:
    found = correlate(many_systems(8), CorrelationOptions(samples=50), level="system")
    assert (found.units, found.unit_count, found.observations) == ("systems", 8, 8)
    for name, interval in found.values["ROUGE-L"].items():
        assert interval == compute_system_interval(name, interval.score, 8)
    table = correlation_table(found)
    assert table.notes[0] == (
        "In brackets: 95% Fieller intervals over systems; 95% Bonett-Wright intervals over systems;"
        " 95% Fisher intervals over systems."
    )
    # Intervals over images have the same scores, and do not know that the systems vary.
    images = correlate(
        many_systems(8), CorrelationOptions(samples=50, system_intervals="images"), level="system"
    )
    for name in COEFFICIENTS:
        assert images.values["ROUGE-L"][name].score == found.values["ROUGE-L"][name].score
    assert correlation_table(images).notes[0].startswith("In brackets: 95% bootstrap intervals over images")


def test_tests_at_system_level_resample_systems() -> None:
    found = correlate(many_systems(8), CorrelationOptions(samples=200), level="system")
    compared = found.compare("ROUGE-L", "BLEU-1")["tau-b"]
    # The smallest p-value for 200 samples, corrected for 8 systems.
    assert compared.smallest_p_value == pytest.approx(correct_p_value(2 / 201, 8))
    notes = difference_table(found, {("ROUGE-L", "BLEU-1"): found.compare("ROUGE-L", "BLEU-1")}).notes
    assert notes[0].startswith(
        "Intervals and p-values: paired bootstrap of the 8 systems (200 samples, seed 0)"
    )


def test_fewer_than_four_systems_have_no_interval_and_no_test() -> None:
    found = correlate(rated(), CorrelationOptions(samples=50), level="system")
    assert found.unit_count == 3
    for interval in found.values["BLEU-1"].values():
        assert math.isnan(interval.low)
    table = correlation_table(found)
    assert (
        table.notes[0]
        == "With fewer than 4 systems (5 for tau and accuracy), coefficients have no intervals."
    )
    assert table.rows[0][1].low is None
    compared = found.compare("BLEU-1", "CIDEr-D")
    assert all(math.isnan(each.p_value) for each in compared.values())
    differences = difference_table(found, {("BLEU-1", "CIDEr-D"): compared})
    assert differences.notes[-1] == "With fewer than 4 systems, there is no test."
    assert [cell.low for cell in differences.rows[0]] == [None] * 6


def test_intervals_are_seeded_and_hold_the_score() -> None:
    scored = rated()
    first, again, other = (
        correlate(scored, CorrelationOptions(samples=200, seed=seed)) for seed in (1, 1, 2)
    )
    for name, found in first.values["CIDEr-D"].items():
        assert found == again.values["CIDEr-D"][name]
        assert found.low <= found.score <= found.high
    assert first.values != other.values


def test_a_resample_repeats_all_captions_of_an_image() -> None:
    scored = rated()
    found = correlate(scored, CorrelationOptions(samples=1, seed=3))
    drawn = np.random.default_rng(3).integers(0, 4, 4)
    rows = [
        row for image in drawn for row, name in enumerate(scored.ratings.image_ids) if name == "abcd"[image]
    ]
    scores = np.repeat(scored.per_caption["CIDEr-D"][rows], 3)
    expected = coefficients(scores, scored.ratings.values[rows].ravel())
    assert found.resamples["CIDEr-D"][0] == pytest.approx(list(expected.values()), abs=1e-12)


def test_a_metric_does_not_differ_from_itself() -> None:
    found = correlate(rated(), CorrelationOptions(samples=100))
    for each in found.compare("BLEU-1", "BLEU-1").values():
        assert (each.difference, each.low, each.high, each.p_value) == (0, 0, 0, 1)
    forth, back = found.compare("BLEU-1", "CIDEr-D"), found.compare("CIDEr-D", "BLEU-1")
    for name in COEFFICIENTS:
        assert forth[name].difference == -back[name].difference
        assert forth[name].p_value == back[name].p_value
        assert forth[name].low <= forth[name].difference <= forth[name].high
    with pytest.raises(OptionError, match="CIDEr-X"):
        found.compare("CIDEr-X", "BLEU-1")


def test_document_frequencies_of_rated_captions() -> None:
    """They equal those of references that list each image once a caption."""
    rows = [*ROWS, ("a", "the dog is outside", "good", [4, 4, 4])]
    given = ratings(rows)
    scored = score_ratings(REFERENCES, given, ["CIDEr-D"])
    repeated = {row: REFERENCES[image] for row, (image, *_) in enumerate(rows)}
    expected = CiderD().prepare(repeated).score({row: caption for row, (_, caption, *_) in enumerate(rows)})
    assert scored.per_caption["CIDEr-D"] == pytest.approx(expected.per_image["CIDEr-D"], abs=1e-12)
    once = score_ratings(REFERENCES, given, ["CIDEr-D"], CorrelationOptions(frequencies="references"))
    plain = CiderD().prepare(REFERENCES).score({"a": "a dog"}).per_image["CIDEr-D"][0]
    assert once.per_caption["CIDEr-D"][4] == pytest.approx(plain, abs=1e-12)
    assert once.per_caption["CIDEr-D"][4] != pytest.approx(scored.per_caption["CIDEr-D"][4], abs=1e-6)


def test_rows_keep_their_order() -> None:
    shuffled = [ROWS[place] for place in np.random.default_rng(0).permutation(len(ROWS))]
    forth = rated().per_caption["BLEU-1"]
    back = score_ratings(REFERENCES, ratings(shuffled), ["BLEU-1"]).per_caption["BLEU-1"]
    captions = [row[1] for row in ROWS]
    assert [forth[captions.index(row[1])] for row in shuffled] == back.tolist()


def test_wrong_options_are_named() -> None:
    with pytest.raises(OptionError, match="'level' must be one of segment, system"):
        correlate(rated(), level="word")  # type: ignore[arg-type]


def test_wrong_ratings_are_named() -> None:
    with pytest.raises(MismatchError, match="'z' has no references"):
        score_ratings(REFERENCES, ratings([("z", "a dog", "good", [1])]), ["BLEU-1"])
    with pytest.raises(MismatchError, match="at least two systems"):
        correlate(score_ratings(REFERENCES, ratings(systems=False), ["BLEU-1"]), level="system")
    same = [(image, caption, system, [2]) for image, caption, system, _ in ROWS]
    with pytest.raises(MismatchError, match="ratings two different values"):
        correlate(score_ratings(REFERENCES, ratings(same), ["BLEU-1"]))
    two = [("a", "a dog runs outside", "x", [4]), ("b", "a bus", "y", [1])]
    with pytest.raises(MismatchError, match="2 images are too few"):
        correlate(score_ratings(REFERENCES, ratings(two), ["BLEU-1"]))
    for values in (np.array([[np.nan]]), np.array([[np.inf]])):
        with pytest.raises(CaptionError, match="finite"):
            Ratings(image_ids=("a",), captions=("x",), values=values)
    with pytest.raises(CaptionError, match="must have the same length"):
        Ratings(image_ids=("a",), captions=("x", "y"), values=np.ones((1, 1)))
    with pytest.raises(CaptionError, match="'systems' must be empty or have one system"):
        Ratings(image_ids=("a",), captions=("x",), values=np.ones((1, 1)), systems=("s", "t"))


def test_ratings_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text('image_id,caption,rating,rating_2,system\n1,"a dog, running",3,,x\n2,a cat,1,2.5,y\n')
    found = load_ratings(path)
    assert load_ratings(path.read_bytes()).captions == found.captions
    assert found.image_ids == (1, 2)
    assert found.captions == ("a dog, running", "a cat")
    assert found.systems == ("x", "y")
    np.testing.assert_array_equal(found.values, [[3, np.nan], [1, 2.5]])
    tabs = tmp_path / "ratings.tsv.gz"
    tabs.write_bytes(gzip.compress(b"image_id\tcaption\trating\n01\ta dog, running\t3\n"))
    assert (load_ratings(tabs).image_ids, load_ratings(tabs).systems) == (("01",), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 'image_id' \\(got ''"),
        ("image_id,caption\n1,a\n", "column 'rating'"),
        ("image_id,caption,rating\n", "at least one rating"),
        ("image_id,caption,rating\n1,a\n", "line 2 must have 3 columns"),
        ("image_id,caption,rating\n1,a,2,3\n", "line 2 must have 3 columns"),
        ("image_id,caption,rating\n1,a,two\n", "line 2 must have a finite number as rating \\(got 'two'"),
        ("image_id,caption,rating\n1,a,nan\n", "line 2 must have a finite number as rating"),
        ("image_id,caption,rating\n1,a,\n", "line 2 must have a rating \\(got none"),
        ("image_id,caption,rating,system\n1,a,2,\n", "line 2 must have a system"),
    ],
)
def test_wrong_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        load_ratings(path)
    assert caught.value.path == path
    with pytest.raises(FormatError, match=f"^votes.csv: .*{message}"):
        load_ratings(text.encode(), name="votes.csv")


def test_tables_and_figure() -> None:
    found = correlate(rated(), CorrelationOptions(samples=50))
    table = correlation_table(found)
    assert table.columns == ("Metric", *COEFFICIENTS, "Intervals over")
    assert {row[-1].value for row in table.rows} == {"images"}
    assert table.notes[0] == "In brackets: 95% bootstrap intervals over images (50 samples, seed 0)."
    assert "accuracy: equal scores count half" in table.notes[1].lower()
    assert [row[0].value for row in table.rows] == ["BLEU-1", "CIDEr-D"]
    for column, name in enumerate(COEFFICIENTS, 1):
        best = max(found.values, key=lambda metric: found.values[metric][name].score)
        assert [row[0].value for row in table.rows if row[column].best] == [best]
    differences = difference_table(found, {("BLEU-1", "CIDEr-D"): found.compare("BLEU-1", "CIDEr-D")})
    assert len(differences.rows) == len(COEFFICIENTS)
    assert differences.notes == (
        "Intervals and p-values: paired bootstrap of the 4 images (50 samples, seed 0),"
        " corrected for the number of images and not for the number of comparisons.",
        TIES_NOTE,
    )
    assert len(dots(found.values, "title").axes) == len(COEFFICIENTS) + 1
