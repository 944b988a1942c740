"""Scores worked out by hand, and examples of the papers; capeval and its twins must both meet them."""

import math

import pytest

from capeval import (
    Bleu,
    Cider2015,
    CiderD,
    CiderR,
    DocumentFrequencies,
    References,
    RougeL,
    RougeN,
    RougeS,
    Tokenizer,
)
from capeval.metrics import Metric
from tests.twins.scoring import Score, native, twin

BOTH = pytest.mark.parametrize("score", [native, twin])


def one(score: Score, metric: Metric, candidate: str, references: list[str]) -> float:
    return score(metric, [references], [candidate]).corpus[0]


@BOTH
def test_bleu_clips_counts(score: Score) -> None:
    # Papineni et al. (2002), example 2: "the" counts twice at most, as in the first reference.
    references = ["the cat is on the mat", "there is a cat on the mat"]
    bleu = score(Bleu(orders=(1,)), [references], ["the the the the the the the"])
    assert bleu.corpus == [pytest.approx(2 / 7, rel=1e-8)]


@BOTH
def test_bleu_of_papineni(score: Score) -> None:
    # Papineni et al. (2002), example 1 and section 2.1: 17 of 18 words and 10 of 17 bigrams are matched,
    # and 8 of 14 words and 1 of 13 bigrams.
    references = [
        "it is a guide to action that ensures that the military will forever heed party commands",
        "it is the guiding principle which guarantees the military forces always being under the command of"
        " the party",
        "it is the practical guide for the army always to heed the directions of the party",
    ]
    first = "it is a guide to action which ensures that the military always obeys the commands of the party"
    second = "it is to insure the troops forever hearing the activity guidebook that party direct"
    metric = Bleu(orders=(1, 2), brevity="none")
    assert score(metric, [references], [first]).corpus == pytest.approx(
        [17 / 18, math.sqrt(17 / 18 * 10 / 17)], rel=1e-8
    )
    assert score(metric, [references], [second]).corpus == pytest.approx(
        [8 / 14, math.sqrt(8 / 14 * 1 / 13)], rel=1e-8
    )


@BOTH
@pytest.mark.parametrize(
    ("brevity", "length"),
    # The candidate has 3 words, the references have 1, 5 and 6: 1 and 5 are equally close.
    [("closest", 1), ("shortest", 1), ("average", 4), ("none", 1)],
)
def test_bleu_brevity(score: Score, brevity: str, length: int) -> None:
    references = ["a", "a b c d e", "a b c d e f"]
    metric = Bleu(orders=(1,), brevity=brevity)  # type: ignore[arg-type]
    penalty = math.exp(1 - length / 3) if length > 3 else 1
    assert one(score, metric, "a b c", references) == pytest.approx(penalty, rel=1e-8)


@BOTH
def test_bleu_of_a_corpus_is_not_the_mean_of_its_images(score: Score) -> None:
    references, candidates = [["a"], ["b c d"]], ["a", "b x y"]
    assert score(Bleu(orders=(1,)), references, candidates).corpus == [pytest.approx(2 / 4, rel=1e-8)]
    sentences = score(Bleu(orders=(1,), level="sentence"), references, candidates)
    assert sentences.corpus == [pytest.approx((1 + 1 / 3) / 2, rel=1e-8)]


LIN = "police killed the gunman"


@BOTH
@pytest.mark.parametrize(
    ("candidate", "rouge_2", "rouge_l", "rouge_s"),
    [
        # Lin (2004), sections 3.2 and 5, with beta 1: of 3 bigrams, 4 words and 6 skip bigrams.
        ("police kill the gunman", 1 / 3, 3 / 4, 3 / 6),
        ("the gunman kill police", 1 / 3, 2 / 4, 1 / 6),
        ("the gunman police killed", 2 / 3, 2 / 4, 2 / 6),
    ],
)
def test_rouge_of_lin(score: Score, candidate: str, rouge_2: float, rouge_l: float, rouge_s: float) -> None:
    assert one(score, RougeN(n=2), candidate, [LIN]) == pytest.approx(rouge_2)
    assert one(score, RougeL(beta=1), candidate, [LIN]) == pytest.approx(rouge_l)
    assert one(score, RougeS(distance=None, beta=1), candidate, [LIN]) == pytest.approx(rouge_s)


@BOTH
def test_rouge_takes_the_best_precision_and_the_best_recall(score: Score) -> None:
    # Precision 2/2 is from the first reference, recall 1/1 from the second.
    assert one(score, RougeL(), "a b", ["a x b y", "a"]) == pytest.approx(1)
    # Precision 1/2, recall 1/4: (1 + 1.44) / 8 over 1/4 + 1.44 / 2.
    assert one(score, RougeL(), "a z", ["a x b y"]) == pytest.approx(2.44 / 8 / (0.25 + 0.72))


@BOTH
def test_rouge_n_sums_over_references(score: Score) -> None:
    assert one(score, RougeN(n=1), "a dog runs", ["a dog", "the dog runs fast"]) == pytest.approx(4 / 6)
    # No reference has three words: nothing to recall.
    assert one(score, RougeN(n=3), "a dog runs", ["a dog"]) == 0


@BOTH
def test_skip_bigrams_reach_four_words(score: Score) -> None:
    # 1 of the 14 pairs of 6 words is shared; "a" and "b" are 4 apart, or 5.
    near, far = "a v w x b y", "a v w x y b"
    assert one(score, RougeS(beta=1), "a 1 2 3 b 4", [near]) == pytest.approx(1 / 14)
    assert one(score, RougeS(beta=1), "a 1 2 3 b 4", [far]) == 0
    assert one(score, RougeS(distance=None, beta=1), "a 1 2 3 b 4", [far]) == pytest.approx(1 / 15)


# "a" is in both images and weighs ln(2 / 2) = 0; all else weighs ln 2.
PETS = [["a dog"], ["a cat"]]


@BOTH
@pytest.mark.parametrize(
    ("candidate", "cider_d", "cider"),
    [
        # The reference itself: cosines 1 and 1 for words and bigrams, none for longer n-grams.
        ("a dog", 10 * 2 / 4, 2 / 4),
        # One word: cosine 1, but one bigram short in CIDEr-D.
        ("dog", 10 * math.exp(-1 / 72) / 4, 1 / 4),
        # A word twice: clipped to once, of a vector twice as long. Without clipping the direction is all.
        ("dog dog", 10 * (1 / 2) / 4, 1 / 4),
        # An unknown word makes the vector longer by as much as a known one.
        ("dog zebra", 10 * math.sqrt(1 / 2) / 4, math.sqrt(1 / 2) / 4),
        # A word that all images have weighs nothing.
        ("a", 0, 0),
        ("", 0, 0),
    ],
)
def test_cider_of_two_images(score: Score, candidate: str, cider_d: float, cider: float) -> None:
    candidates = [candidate, "x"]
    assert score(CiderD(), PETS, candidates).per_image[0][0] == pytest.approx(cider_d, abs=1e-12)
    assert score(Cider2015(), PETS, candidates).per_image[0][0] == pytest.approx(cider, abs=1e-12)


@BOTH
def test_cider_d_of_the_paper(score: Score) -> None:
    # "dog" four times. The code clips 4 to 1: 1 / 4, with 3 bigrams against 1. In equation 4 term
    # frequencies are of all n-grams, 4 / 10 and 1 / 3: (1/3)(1/3) / (4/10 * 1/3), with 4 words against 2.
    candidates = ["dog dog dog dog", "x"]
    code, paper = (score(CiderD(form=form), PETS, candidates).per_image[0][0] for form in ("code", "paper"))
    assert code == pytest.approx(2.5 * math.exp(-4 / 72) / 4)
    assert paper == pytest.approx(2.5 * math.exp(-4 / 72) * (1 / 3) / (4 / 10))


@BOTH
def test_cider_compares_stems(score: Score) -> None:
    # CIDEr, section 3: "fishes" and "fishing" are both "fish".
    references, candidates = [["fishes swim"], ["a dog"]], ["fishing swim", "x"]
    assert score(Cider2015(), references, candidates).per_image[0][0] == pytest.approx((1 + 1) / 4)
    # As they are, one of two words is shared.
    words = score(Cider2015(stem=False), references, candidates)
    assert words.per_image[0][0] == pytest.approx((1 / 2) / 4)


@BOTH
def test_cider_variants_of_the_appendix(score: Score) -> None:
    references, candidates = [["dog", "red cat"], ["a"]], ["dog", "x"]

    def first(metric: Metric) -> float:
        return score(metric, references, candidates).per_image[0][0]

    # Words: 1 against the first reference, 0 against the second.
    assert first(Cider2015()) == pytest.approx(1 / 2 / 4)
    assert first(Cider2015(pooling="max")) == pytest.approx(1 / 4)
    assert first(Cider2015(order=1)) == pytest.approx(1 / 2)
    assert first(Cider2015(n=2)) == pytest.approx(1 / 2 / 2)
    e = math.e
    assert first(Cider2015(weights="exponential")) == pytest.approx(1 / 2 / (1 + e + e**2 + e**3))


@BOTH
def test_cider_r_penalizes_repetition_and_relative_length(score: Score) -> None:
    # Equal weights; the counts are 1, 3 and 1 against 1, 1 and 0. "dog", one of three words, occurs twice too
    # often. The lengths are 5 and 2.
    metric = CiderR(frequencies="uniform", order=1)
    penalty = (1 / 3) ** (0.8 / 3) * math.exp(-((3 / 2) ** 2)) ** 0.2
    found = one(score, metric, "a dog dog dog runs", ["a dog"])
    assert found == pytest.approx(10 * (1 + 1) / math.sqrt(11 * 2) * penalty)
    # Words that only the reference repeats have a penalty too: one of two words. The lengths are 2 and 4.
    penalty = (1 / 3) ** (0.8 / 2) * math.exp(-((2 / 4) ** 2)) ** 0.2
    found = one(score, metric, "a dog", ["a dog dog dog"])
    assert found == pytest.approx(10 * (1 + 3) / math.sqrt(2 * 10) * penalty)


@BOTH
def test_no_idf_lets_common_words_count(score: Score) -> None:
    # "a" of "a dog": one of two words.
    uniform = score(Cider2015(frequencies="uniform"), PETS, ["a", "x"])
    assert uniform.per_image[0][0] == pytest.approx(math.sqrt(1 / 2) / 4)
    # A single image is then scored, too.
    assert one(score, CiderD(frequencies="uniform"), "a dog runs far", ["a dog runs far"]) == pytest.approx(
        10
    )


@BOTH
def test_frequencies_of_another_corpus(score: Score) -> None:
    corpus = References({1: ["a dog"], 2: ["a cat"], 3: ["a cat"], 4: ["x"]})
    other = DocumentFrequencies.of(corpus, tokenizer=Tokenizer(kind="none"))
    # "a" weighs ln(4 / 3), "dog" ln 4.
    a, dog = math.log(4 / 3), math.log(4)
    expected = dog / math.hypot(a, dog)
    metric = CiderD(frequencies=other, order=1, sigma=1e9)
    assert one(score, metric, "dog", ["a dog"]) == pytest.approx(10 * expected)
    # A word that the corpus does not have weighs as one that one image has: ln 4.
    assert one(score, metric, "dog zebra", ["dog"]) == pytest.approx(10 * math.sqrt(1 / 2))
