"""People's agreement on words."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from capeval import Candidates
from capeval.errors import FormatError, MismatchError, OptionError, ResourceError
from capeval.formats.word_classes import load_word_classes
from capeval.formats.word_scores import load_word_scores
from capeval.resources.wordnet import classify_words
from capeval.scoring.resampling import draw_resamples
from capeval.studies.words import (
    WordAgreement,
    WordCounts,
    WordsOptions,
    WordStudy,
    coco_word_classes,
    human_agreement,
    model_precision,
    precision_at_recall,
    study_words,
    word_counts,
)
from capeval.studies.words.figure import word_agreement
from capeval.studies.words.intervals import WordResamples, resample_words
from capeval.studies.words.report import report
from capeval.studies.words.tagging import tag_words

CAPTIONS = {
    1: ["A dog runs, a dog!", "The dog sleeps", "a cat"],
    2: ["a cat", "A bird sings", "bird", "the bird and the cat"],
    3: ["nobody", "a dog", "nobody"],
}


def of(counts: list[int], captions: list[int]) -> WordCounts:
    """One word in some captions of each image."""
    return WordCounts(
        image_ids=tuple(range(len(counts))),
        captions=np.array(captions),
        words=("word",),
        counts=np.array([counts], dtype=np.uint8),
    )


def test_captions_with_a_word_are_counted() -> None:
    counts = word_counts(CAPTIONS, ["dog", "bird", "cat"])
    assert dict(zip(counts.words, counts.counts.tolist(), strict=True)) == {
        "dog": [2, 0, 1],
        "bird": [0, 3, 0],
        "cat": [1, 2, 0],
    }
    # "dog" is there four times, "bird" and "cat" three times.
    assert counts.words == ("dog", "bird", "cat")
    assert word_counts(CAPTIONS, 2).words == ("a", "dog")


@pytest.mark.parametrize("k", [1, 2, 3])
def test_agreement_is_the_mean_over_all_choices(k: int) -> None:
    """Every person against every k others, one by one."""
    having, captions = [0, 1, 2, 4, 5, 3], [4, 5, 4, 4, 5, 7]
    true = false = weight = 0.0
    for with_word, of_all in zip(having, captions, strict=True):
        said = [i < with_word for i in range(of_all)]
        ways = [
            (person, others)
            for person in range(of_all)
            for others in itertools.combinations([i for i in range(of_all) if i != person], k)
        ]
        for person, others in ways:
            votes = sum(said[i] for i in others)
            true += said[person] * votes / len(ways)
            false += (said[person] and votes == 0) / len(ways)
            weight += votes / len(ways)
    made = human_agreement(of(having, captions), k)
    assert made.precision[0] == pytest.approx(true / (true + false))
    assert made.recall[0] == pytest.approx(true / weight)


def test_people_who_behave_as_the_model_agree_as_it_says() -> None:
    chance = np.random.default_rng(0)
    for p in (0.2, 0.7):
        there = chance.random(200_000) < 0.3
        counts = of((chance.binomial(5, p, 200_000) * there).tolist(), [5] * 200_000)
        for k in (1, 2, 4):
            made = human_agreement(counts, k)
            assert made.recall[0] == pytest.approx(p, abs=0.005)
            expected = model_precision(np.array([p]), k)[0]
            assert made.precision[0] == pytest.approx(expected, abs=0.005)


def test_the_model_is_the_papers_formula() -> None:
    assert model_precision(np.array([0.0, 0.5, 1.0]), 4) == pytest.approx([0, 2 / (2 + 0.5**4), 1])
    assert model_precision(np.array([0.3]), 1) == pytest.approx([0.3])


def test_precision_at_recall_by_hand() -> None:
    counts = of([3, 0, 1, 0], [4, 4, 4, 4])
    # Weights of k = 2: positives 1.5, 0, 0.5, 0; negatives 0, 1, 3 * 2 / (4 * 3) = 0.5, 1.
    scores: dict[str, dict[int | str, float]] = {"word": {0: 0.9, 1: 0.5, 2: 0.5}}
    assert precision_at_recall(counts, scores, {"word": 0.75}, 2).precision == {"word": 1.0}
    # One of the two tied images reaches the recall: half of 0.5 true and of 1.5 false positives.
    assert precision_at_recall(counts, scores, {"word": 0.76}, 2).precision == {"word": 1.75 / 2.5}
    assert precision_at_recall(counts, scores, {"word": 1.0}, 2).precision == {"word": 2 / 3.5}
    # Only image 2 has a score; all others are tied after it, with 1.5 true and 2 false positives.
    late: dict[str, dict[int | str, float]] = {"word": {2: 0.0}}
    assert precision_at_recall(counts, late, {"word": 0.25}, 2).precision == {"word": 0.5}
    assert precision_at_recall(counts, late, {"word": 0.3}, 2).precision == pytest.approx(
        {"word": 1 / 2.1667}, abs=1e-4
    )


def test_ties_count_as_the_mean_of_all_orders() -> None:
    """Every order of six tied images, one by one."""
    having = [4, 0, 2, 0, 0, 1]
    counts = of(having, [4] * 6)
    positive = [2 * each / 4 for each in having]
    negative = [math.comb(4 - each, 2) / math.comb(4, 2) for each in having]
    for taken in range(1, 7):
        orders = list(itertools.permutations(range(6), taken))
        true, false = (
            sum(sum(weights[image] for image in order) for order in orders) / len(orders)
            for weights in (positive, negative)
        )
        scores: dict[str, dict[int | str, float]] = {"word": dict.fromkeys(range(6), 1.0)}
        made = precision_at_recall(counts, scores, {"word": true / sum(positive)}, 2).precision
        assert made == pytest.approx({"word": true / (true + false)})


def test_captions_of_a_system_are_measured_like_a_persons() -> None:
    captions = {1: ["A dog runs.", "A dog."], 2: ["A dog and cat.", "A cat."], 3: ["A bus.", "Cars."]}
    counts = word_counts(captions, ["dog", "cat", "bus"])
    system = Candidates({1: "dog", 2: "A cat", 3: "a dog"})
    made = precision_at_recall(counts, system, {"dog": 0.6, "cat": 1.0, "bus": 1.0}, 1)
    assert made.captions is not None
    words = {
        word: (round(p, 3), round(r, 3))
        for word, p, r in zip(made.captions.words, made.captions.precision, made.captions.recall, strict=True)
    }
    # "dog": 1 true positive, 1 false one, of a weight of 1.5; "bus" is never used.
    assert (words["dog"], words["cat"]) == ((0.5, 0.667), (1.0, 1.0))
    assert np.isnan(words["bus"][0])
    assert words["bus"][1] == 0
    # All three images are tied for "bus", one of which has it in half of its captions.
    assert made.precision["bus"] == pytest.approx(0.5 / 3)
    with pytest.raises(MismatchError, match="image 3 is missing a caption of the system"):
        precision_at_recall(counts, Candidates({1: "a", 2: "b"}), {}, 1)


def test_intervals_contain_the_shares_of_a_model() -> None:
    """The interval contains the share 0.3 with which people use a word, in most of 40 samples."""
    found = 0
    for seed in range(40):
        chance = np.random.default_rng(seed)
        having = chance.binomial(5, 0.3, 60)
        study = resample_words(of(having.tolist(), [5] * 60), (1, 4), {}, samples=200, seed=seed)
        made = human_agreement(of(having.tolist(), [5] * 60), 4)
        interval = study.interval(study.recall, float(made.recall[0]), 0.9)
        found += interval.low <= 0.3 <= interval.high
        assert interval.low < interval.score < interval.high
    assert found >= 32


def test_resamples_are_agreement_with_repeated_images() -> None:
    having, captions = [3, 0, 1, 2, 5], [4, 5, 4, 6, 5]
    counts = of(having, captions)
    scores: dict[str, dict[int | str, float]] = {"word": {0: 0.9, 1: 0.5, 4: 0.5}}
    system = precision_at_recall(counts, scores, {"word": 0.5}, 2)
    made = resample_words(counts, (2,), {"x": system.rankings}, samples=20, seed=3)
    drawn = np.concatenate(list(draw_resamples(5, 20, 3))).astype(int)
    for sample, times in enumerate(drawn):
        images = np.repeat(np.arange(5), times)
        repeated = of(np.array(having)[images].tolist(), np.array(captions)[images].tolist())
        if not repeated.counts.any():
            assert np.isnan(made.recall[0, sample])
            continue
        people = human_agreement(repeated, 2)
        assert made.recall[0, sample] == pytest.approx(people.recall[0])
        assert made.precision[0][0, sample] == pytest.approx(people.precision[0])
        known: dict[int | str, float] = {
            i: scores["word"][image] for i, image in enumerate(images.tolist()) if image in scores["word"]
        }
        again = precision_at_recall(repeated, {"word": known}, {"word": float(people.recall[0])}, 2)
        assert made.systems["x"][0, sample] == pytest.approx(again.precision["word"])


def test_words_that_are_not_counted_are_ignored_and_named() -> None:
    counts = word_counts(CAPTIONS, 2)
    assert counts.words == ("a", "dog")
    assert {"cat", "bird", "nobody"} < counts.others
    scores: dict[str, dict[int | str, float]] = {"cat": {1: 1.0}, "dog": {1: 1.0}, "bird": {9: 1.0}}
    made = precision_at_recall(counts, scores, {"dog": 0.5}, 2)
    assert (list(made.precision), made.ignored) == (["dog"], ("cat", "bird"))
    scores |= {word: {1: 1.0} for word in ("Dog", "zebra", "yak", "emu")}
    with pytest.raises(MismatchError, match=r"4 of 7 do not: 'Dog', 'zebra', 'yak' and 1 more"):
        precision_at_recall(counts, scores, {"dog": 0.5}, 2)
    with pytest.raises(
        MismatchError, match=r"at least one counted word must have scores .got scores only for 'cat'"
    ):
        precision_at_recall(counts, {"cat": {1: 1.0}}, {"dog": 0.5}, 2)


def test_words_and_captions_that_are_not_there() -> None:
    with pytest.raises(MismatchError, match="'zebra' does not"):
        word_counts(CAPTIONS, ["dog", "zebra"])
    counts = word_counts(CAPTIONS, ["dog"])
    with pytest.raises(MismatchError, match=r"at least 4 captions .got 3 for image 1"):
        human_agreement(counts, 3)
    for scores, message in [
        ({"zebra": {1: 1.0}}, "'zebra'"),
        ({"dog": {9: 1.0}}, "image 9 is not among the images"),
        ({"dog": {1: float("nan")}}, "must be finite"),
    ]:
        with pytest.raises(MismatchError, match=message):
            precision_at_recall(counts, scores, {"dog": 0.5}, 2)  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="got none for 'dog'"):
        precision_at_recall(counts, {"dog": {1: 1.0}}, {}, 2)


def test_options_out_of_range() -> None:
    counts = word_counts(CAPTIONS, ["dog"])
    for words in (0, True, [], ["dog", "dog"], "dog"):
        with pytest.raises(OptionError, match="'words' must be"):
            word_counts(CAPTIONS, words)
    with pytest.raises(OptionError, match="'references' must be an integer"):
        human_agreement(counts, 0)
    with pytest.raises(OptionError, match="'p' must be probabilities"):
        model_precision(np.array([1.5]), 4)


def test_word_scores_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(
        '{"image_id": 7, "scores": {"dog": 0.9, "cat": 1}}\n\n{"image_id": 8, "scores": {"dog": 0}}'
    )
    assert load_word_scores(path) == {"dog": {7: 0.9, 8: 0}, "cat": {7: 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ('{"image_id": 1, "scores": {}}', "contain at least one score"),
        ("nothing", "line 1 column 2 is not JSON"),
        ("[1]", r"line 1 must be an object \(got \[1\]\)"),
        ('{"image_id": 1.5, "scores": {}}', r"line 1: image_id must be an integer or a string \(got 1\.5\)"),
        ('{"image_id": 1, "scores": {"dog": "1"}}', "words and numbers"),
        ('{"image_id": 1, "scores": {"dog": NaN}}', r'words and numbers \(got \{"dog": NaN\}\)'),
        (
            '{"image_id": 1, "scores": {"a": 1}}\n{"image_id": 1, "scores": {}}',
            "line 2: duplicate image_id",
        ),
    ],
)
def test_word_scores_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        load_word_scores(path)


def test_the_classes_of_cocos_words() -> None:
    classes = coco_word_classes()
    chosen = {word: classes.get(word) for word in ("elephant", "standing", "bright", "building", "with")}
    assert chosen == {
        "elephant": "noun",
        "standing": "verb",
        "bright": "adjective",
        "building": "noun",
        "with": None,
    }


def dictionary(folder: Path) -> Path:
    """A dictionary in WordNet's layout."""
    files = {
        "index.noun": "  1 (license)\nbuilding n 2 1 @ 2 1 00000001\nman n 1 1 @ 1 1 00000002\n"
        "as n 1 1 @ 1 0 00000008",
        "index.verb": "build v 1 1 @ 1 1 00000003\nsit v 1 1 @ 1 1 00000004\nman v 1 1 @ 1 1 00000005",
        "index.adj": "red a 1 1 & 1 1 00000006",
        "index.adv": "outdoors r 1 1 ! 1 1 00000007",
        "noun.exc": "men man",
        "verb.exc": "sat sit",
        "adj.exc": "",
        "adv.exc": "",
        "cntlist.rev": "building%1:06:00:: 1 50\nbuild%2:36:00:: 1 149\nsit%2:35:00:: 1 9\n"
        "man%1:18:00:: 1 99\n"
        "red%5:00:00:chromatic:00 1 40\noutdoors%4:02:00:: 1 3",
    }
    for name, text in files.items():
        (folder / name).write_text(text + "\n")
    return folder


def test_classes_by_wordnets_counts(tmp_path: Path) -> None:
    words = ["building", "men", "sitting", "sat", "red", "outdoors", "as", "unknown", "man"]
    assert classify_words(words, dictionary(tmp_path)) == {
        # Three quarters of 50 as a noun, a quarter of 149 as a verb.
        "building": "noun",
        "men": "noun",
        "sitting": "verb",
        "sat": "verb",
        "red": "adjective",
        "man": "noun",
    }


def test_a_folder_without_wordnet(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"must contain cntlist\.rev"):
        classify_words(["dog"], tmp_path)
    (dictionary(tmp_path) / "index.noun").write_text("<html>\n")
    with pytest.raises(ResourceError, match="must contain WordNet's dictionary"):
        classify_words(["dog"], tmp_path)


def test_a_list_of_classes(tmp_path: Path) -> None:
    path = tmp_path / "classes.tsv"
    path.write_text("# words\ndog\tnoun\n\nred\tadjective\n")
    assert load_word_classes(path) == {"dog": "noun", "red": "adjective"}
    for text, message in [
        ("dog noun", "line 1 must be a word"),
        ("a\tnoun\na\tverb", "line 2: duplicate word 'a"),
    ]:
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_word_classes(path)
    path.write_bytes(b"\xff\tnoun")
    with pytest.raises(FormatError, match="0xff is not UTF-8"):
        load_word_classes(path)


@pytest.mark.system
def test_classes_by_the_parsers_tags() -> None:
    captions = {
        1: ["A man bears a heavy load.", "Two bears sit in the green grass.", "A bear is standing."],
        2: ["A stuffed bear on a bed.", "The bears are quickly running.", "The tall tree."],
    }
    words = ["bears", "bear", "green", "tall", "standing", "sit", "quickly", "two", "the"]
    assert tag_words(captions, words, seed=0) == {
        "bears": "noun",
        "bear": "noun",
        "green": "adjective",
        "tall": "adjective",
        "standing": "verb",
        "sit": "verb",
    }


@pytest.mark.parametrize("wide", [False, True])
def test_labels_of_the_figure_do_not_overlap(wide: bool) -> None:
    study = WordStudy(
        people=(
            WordAgreement(
                words=tuple(f"word-{number}" for number in range(60)),
                references=2,
                recall=np.linspace(0.02, 0.98, 60),
                precision=np.linspace(0.1, 0.95, 60) ** 0.7,
            ),
        ),
        classes={f"word-{number}": ("noun", "adjective", "verb")[number % 3] for number in range(60)},
        systems={},
        resamples=WordResamples(recall=np.empty(0), precision=(), systems={}, images=1, seed=0),
        level=0.95,
    )
    for labels in ((), tuple(f"word-{number}" for number in range(0, 30, 3))):
        figure = word_agreement(study, labels, wide=wide)
        renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
        assert figure.get_size_inches()[0] == (7.0 if wide else 3.3)
        shown = set()
        for panel in figure.axes[:3]:
            boxes = {text.get_text(): Text.get_window_extent(text, renderer) for text in panel.texts}
            assert all(not a.overlaps(b) for a, b in itertools.combinations(boxes.values(), 2))
            shown |= set(boxes)
        # Most automatic labels fit, and each chosen one does.
        assert shown == set(labels) if labels else len(shown) >= 15
    with pytest.raises(MismatchError, match=r"among the 60 counted words \(got 'zebra'\)"):
        report(study, labels=("zebra",))


def test_the_figure_has_five_panels() -> None:
    study = study_words(
        CAPTIONS,
        {"dog": "noun", "bird": "noun", "cat": "adjective"},
        WordsOptions(words=4, references=2, samples=20),
        systems={"Ours": Candidates({1: "a dog", 2: "a cat", 3: "a dog"})},
    )
    figure = word_agreement(study)
    titles = [panel.get_title(loc="left") for panel in figure.axes[:5]]
    assert titles[3:] == ["All 4 words, k = 2", "By number of others"]
    assert titles[:3] == ["Nouns (2)", "Adjectives (1)", "Verbs (0)"]
    assert [len(panel.lines) for panel in figure.axes] == [1, 1, 1, 3, 4, 0]
    legend = figure.axes[5].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["people", "Ours", "model", "k = 1", "k = 2"]
