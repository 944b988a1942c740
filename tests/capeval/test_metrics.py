"""Metric options, names and signatures, and the validation errors of prepared metrics."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from capeval import (
    Bleu,
    Candidates,
    Cider2015,
    CiderD,
    DocumentFrequencies,
    Meteor,
    References,
    RougeL,
    RougeN,
    RougeS,
    Tokenizer,
    tokenize,
)
from capeval.errors import CaptionError, MismatchError, OptionError
from capeval.metrics import DEFAULT, METRICS, Metric
from capeval.metrics.registry import get_metric, resolve
from capeval.tokenizers import TokenizedReferences
from tests.spice_model import METRIC_NAMES


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (Bleu, {"orders": ()}, r"'orders' must be a tuple of different integers \(got \(\)\)"),
        (Bleu, {"orders": (1, 1)}, "'orders' must be a tuple of different integers"),
        (Bleu, {"orders": [1]}, "'orders' must be a tuple of different integers"),
        (Bleu, {"orders": (5,)}, r"'orders' must be an integer from 1 to 4 \(got 5\)"),
        (Bleu, {"orders": (True,)}, "'orders' must be an integer from 1 to 4"),
        (Bleu, {"brevity": "longest"}, "'brevity' must be one of closest, shortest, average, none"),
        (Bleu, {"level": "word"}, "'level' must be one of corpus, sentence"),
        (RougeL, {"beta": 0}, r"'beta' must be a number above 0, from 1e-100 to 1e100 \(got 0\)"),
        (RougeL, {"beta": float("nan")}, "'beta' must be a number above 0"),
        (RougeL, {"beta": "1"}, "'beta' must be a number above 0"),
        (RougeN, {"n": 0}, "'n' must be an integer from 1 to 4"),
        (RougeN, {"n": 1.0}, "'n' must be an integer from 1 to 4"),
        (RougeS, {"distance": 0}, r"'distance' must be an integer from 1 to 2147483647, or None \(got 0\)"),
        (RougeS, {"distance": True}, "'distance' must be an integer"),
        (RougeS, {"beta": -1}, "'beta' must be a number above 0"),
        (CiderD, {"n": 5}, "'n' must be an integer from 1 to 4"),
        (CiderD, {"n": 2, "order": 3}, r"'order' must be at most n, 2 \(got 3\)"),
        (CiderD, {"order": 0}, "'order' must be an integer from 1 to 4"),
        (CiderD, {"sigma": 0}, "'sigma' must be a number above 0"),
        (CiderD, {"sigma": float("inf")}, "'sigma' must be a number above 0"),
        (CiderD, {"form": "book"}, "'form' must be one of code, paper"),
        (CiderD, {"frequencies": "coco"}, "'frequencies' must be one of references, uniform"),
        (Cider2015, {"pooling": "min"}, "'pooling' must be one of mean, max"),
        (Cider2015, {"weights": "log"}, "'weights' must be one of uniform, exponential"),
        (Bleu, {"orders": ([],)}, r"'orders' must be an integer from 1 to 4 \(got \[\]\)"),
        (RougeL, {"beta": 10**400}, "'beta' must be a number above 0"),
        (RougeL, {"beta": 1e200}, "'beta' must be a number above 0, from 1e-100 to 1e100"),
        (RougeL, {"beta": 1e-200}, "'beta' must be a number above 0, from 1e-100 to 1e100"),
        (RougeS, {"distance": 10**30}, "'distance' must be an integer from 1 to 2147483647, or None"),
        (CiderD, {"sigma": 1e-200}, "'sigma' must be a number above 0, from 1e-100 to 1e100"),
        (Cider2015, {"stem": "no"}, r"'stem' must be True or False \(got 'no'\)"),
        (Meteor, {"stages": ()}, "'stages' must be a tuple of different names"),
        (Meteor, {"stages": ("exact", "exact"), "weights": (1, 1)}, "'stages' must be a tuple of different"),
        (Meteor, {"stages": (["exact"],), "weights": (1,)}, "'stages' must be one of exact, stem, synonym"),
        (Meteor, {"stages": ("stems",), "weights": (1,)}, "'stages' must be one of exact, stem, synonym"),
        (Meteor, {"weights": (1.0,)}, "'weights' must be a tuple with one weight per stage"),
        (Meteor, {"weights": ("a", 1, 1, 1)}, r"'weights' must be a number from 0 to 1 \(got 'a'\)"),
        (Meteor, {"weights": (True, 1, 1, 1)}, r"'weights' must be a number from 0 to 1 \(got True\)"),
        (Meteor, {"weights": (1.5, 1, 1, 1)}, r"'weights' must be a number from 0 to 1 \(got 1.5\)"),
        (Meteor, {"alpha": 10**400}, "'alpha' must be a number from 0 to 1"),
        (Meteor, {"alpha": float("nan")}, "'alpha' must be a number from 0 to 1"),
        (Meteor, {"gamma": -1}, "'gamma' must be a number from 0 to 1"),
        (Meteor, {"delta": "x"}, "'delta' must be a number from 0 to 1"),
        (Meteor, {"beta": 0}, "'beta' must be a number above 0"),
        (Meteor, {"normalize": "no"}, r"'normalize' must be True or False \(got 'no'\)"),
        (Meteor, {"penalize_perfect": 1}, r"'penalize_perfect' must be True or False \(got 1\)"),
        (Tokenizer, {"lowercase": "no"}, r"'lowercase' must be True or False \(got 'no'\)"),
        (Tokenizer, {"kind": "moses"}, "'kind' must be one of ptb, none"),
        (Tokenizer, {"punctuation": "some"}, "'punctuation' must be one of reference, paper, keep"),
    ],
)
def test_options_are_checked(make: Callable[..., object], options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make(**options)


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_registered_metrics_are_found_by_name(name: str) -> None:
    assert get_metric(name.lower()) == get_metric(name) == METRICS[name]()
    metric = METRICS[name]()
    assert metric.names
    assert name in (*metric.names, metric.family)


def test_no_two_registered_metrics_share_a_score() -> None:
    # BLEU gives the scores of BLEU-1 to BLEU-4.
    scores = [score for name, make in METRICS.items() if name != "BLEU" for score in make().names]
    assert len(scores) == len(set(scores))
    assert set(Bleu().names) <= set(scores)


def test_names_are_resolved() -> None:
    assert [metric.family for metric in resolve(DEFAULT)] == list(DEFAULT)
    assert resolve(["bleu-4", RougeL(beta=2)]) == (Bleu(orders=(4,)), RougeL(beta=2))
    with pytest.raises(OptionError, match=r"unknown metric 'SPICE-9'; did you mean 'SPICE'"):
        resolve(["SPICE-9"])
    assert resolve("bleu4, CIDEr-D(n=2)") == (Bleu(orders=(4,)), CiderD(n=2))
    for metrics in (None, Bleu(), 3):
        with pytest.raises(OptionError, match=r"'metrics' must be a list of names or metrics \(got "):
            resolve(metrics)  # type: ignore[arg-type]
    for metric in (Bleu, 3, None):
        with pytest.raises(
            OptionError, match=r"'metrics' must contain names or metrics such as Bleu\(\) \(got"
        ):
            resolve([metric])  # type: ignore[list-item]
    with pytest.raises(OptionError, match="must contain at least one metric"):
        resolve([])
    with pytest.raises(OptionError, match=r"must compute different scores \(got BLEU-4 twice\)"):
        resolve(["BLEU", "BLEU-4"])


def test_signatures_tell_options_apart() -> None:
    references = {1: ["a dog", "the dog"], 2: ["a cat"]}
    signature = CiderD(sigma=2).prepare(references, tokenizer=Tokenizer(kind="none")).signature()
    assert str(signature).startswith(
        "CIDEr-D|n=4|order=None|sigma=2|form=code|tokenizer=none|images=2|references=1-2"
        f"|digest={signature.digest}|df=references|capeval="
    )
    assert RougeL().prepare(references).signature().document_frequencies is None
    frequencies = DocumentFrequencies.of(References(references), name="my corpus")
    source = CiderD(frequencies=frequencies).prepare(references).signature().document_frequencies
    assert source == f"my corpus:{frequencies.digest}"
    assert CiderD(frequencies="uniform").prepare(references).signature().document_frequencies == "uniform"


def test_signatures_tell_all_digits_apart() -> None:
    assert RougeL(beta=1.2).options() == ("beta=1.2",)
    assert RougeL(beta=1.2000004).options() == ("beta=1.2000004",)
    # The same number, however it is written.
    assert CiderD(sigma=6).options() == CiderD(sigma=6.0).options()
    assert "weights=1,0.6,0.8,0.6" in Meteor().options()
    assert Meteor(weights=(1, 0.6, 0.8, 0.6)).options() == Meteor().options()
    assert RougeL(beta=np.float64(1.2)).options() == ("beta=1.2",)


def test_signatures_tell_frequencies_apart() -> None:
    references = {1: ["a dog"], 2: ["a cat"]}
    corpora = [{1: ["a dog"], 2: ["a cat"]}, {1: ["a dog"], 2: ["a dog"]}, {1: ["a dog"], 2: ["dog a"]}]
    signatures = [
        CiderD(frequencies=DocumentFrequencies.of(corpus)).prepare(references).signature()
        for corpus in corpora
    ]
    assert len(set(signatures)) == 3


def test_signatures_tell_references_apart() -> None:
    signatures = [RougeL().prepare({1: [text]}).signature() for text in ("a dog", "a cat", "a dog")]
    assert signatures[0] != signatures[1]
    assert signatures[0] == signatures[2]


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_every_option_is_in_the_signature(name: str) -> None:
    metric = METRICS[name]()
    shown = str(metric.prepare({1: ["a dog"]}).signature())
    for option in metric.options():
        assert f"|{option}|" in shown


def test_tokenized_references_are_shared() -> None:
    tokens = TokenizedReferences(References({1: ["a dog"], 2: ["a cat"]}), Tokenizer(kind="none"))
    for metric in (Bleu(), RougeL(), CiderD()):
        assert metric.prepare(tokens).references is tokens
        assert metric.prepare(tokens, tokenizer=Tokenizer(kind="none")).references is tokens
        with pytest.raises(
            OptionError, match="'tokenizer' must be the tokenizer of the tokenized references"
        ):
            metric.prepare(tokens, tokenizer=Tokenizer())
    assert tokens.texts(2) == ["a cat"]
    for image in (3, True, "2"):
        with pytest.raises(CaptionError, match="is not among the 2 images with references"):
            tokens.texts(image)
    assert len(tokens) == 2
    candidates = tokens.candidates(Candidates({2: "a cat", 1: "dog x"}))
    assert candidates.texts() == ["a cat", "dog x"]
    assert candidates.image_ids == (2, 1)


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_candidates_of_other_references_are_refused(name: str) -> None:
    tokenizer = Tokenizer(kind="none")
    prepared = METRICS[name]().prepare({1: ["a dog"], 2: ["a cat"]}, tokenizer=tokenizer)
    # The same captions in another order: their words have other numbers.
    other = TokenizedReferences(References({2: ["a cat"], 1: ["a dog"]}), tokenizer)
    candidates = other.candidates(Candidates({1: "a dog"}))
    for use in (prepared.score, prepared.statistics):
        with pytest.raises(MismatchError, match="the candidates were tokenized for different references"):
            use(candidates)
    assert prepared.score(prepared.references.candidates(Candidates({1: "a dog"}))).image_ids == (1,)


def test_long_ids_are_shortened() -> None:
    with pytest.raises(MismatchError, match=r"^image 'x{76}\.\.\. is among the candidates") as caught:
        RougeL().prepare({"1": ["a"]}).score({"x" * 100_000: "a"})
    assert len(str(caught.value)) < 200


def test_tokenizers_must_be_tokenizers() -> None:
    tokens = TokenizedReferences(References({1: ["a dog"]}), Tokenizer())
    uses: list[Callable[[Any], object]] = [
        lambda tokenizer: tokenize(["a"], tokenizer),
        lambda tokenizer: RougeL().prepare({1: ["a"]}, tokenizer=tokenizer),
        lambda tokenizer: RougeL().prepare(tokens, tokenizer=tokenizer),
        lambda tokenizer: DocumentFrequencies.of({1: ["a"]}, tokenizer=tokenizer),
    ]
    for use in uses:
        with pytest.raises(OptionError, match=r"'tokenizer' must be a Tokenizer, .* \(got 3\)"):
            use(3)
        with pytest.raises(OptionError, match=r"must be a Tokenizer or one of ptb, .* \(got 'german'\)"):
            use("german")


def test_unknown_images_are_named() -> None:
    prepared = RougeL().prepare({1: ["a"], 2: ["b"]})
    with pytest.raises(MismatchError, match=r"image 7 is among the candidates but not among the references$"):
        prepared.score({1: "a", 7: "b"})
    with pytest.raises(MismatchError, match=r"6 images \(10, 11, 12, 13, 14, ...\) are among the candidates"):
        prepared.score(dict.fromkeys(range(10, 16), "a"))
    with pytest.raises(MismatchError, match=r"references; image ids must be integers \(got strings\)$"):
        prepared.score({"1": "a"})
    with pytest.raises(CaptionError, match="candidates must contain at least one image"):
        prepared.score({})


def test_scores_follow_the_order_of_the_candidates() -> None:
    scores = RougeL().prepare({1: ["a"], 2: ["b"], 3: ["c"]}).score({3: "c", 1: "x"})
    assert scores.image_ids == (3, 1)
    assert scores.per_image["ROUGE-L"].tolist() == [1, 0]
    assert scores.corpus == {"ROUGE-L": 0.5}
    assert scores.statistics.dtype == np.float64
    assert scores.names == ("ROUGE-L",)


def test_tokenize_takes_lists_of_strings() -> None:
    assert tokenize(["a dog", ""], Tokenizer(kind="none"))[0] == ["a", "dog"]
    assert tokenize([]) == []
    with pytest.raises(CaptionError, match=r"captions must be a list of strings \(got one string\)"):
        tokenize("a dog")
    for captions in (b"a dog", {"a": 1}, {"a"}, None, 3):
        with pytest.raises(CaptionError, match=r"captions must be a list of strings \(got \w+\)"):
            tokenize(captions)  # type: ignore[arg-type]
    with pytest.raises(CaptionError, match=r"caption 1 must be a string \(got int\)"):
        tokenize(["a", 1])  # type: ignore[list-item]
    with pytest.raises(CaptionError, match="a caption contains a lone surrogate"):
        tokenize(["a \ud83d"])


METRIC_CLASSES: list[type[Metric]] = sorted(
    {type(make()) for make in METRICS.values()}, key=lambda metric: metric.__name__
)


@pytest.mark.parametrize("metric", METRIC_CLASSES)
def test_options_are_frozen_and_by_name(metric: Any) -> None:
    made = metric()
    assert made == metric()
    assert hash(made) == hash(metric())
    with pytest.raises(TypeError):
        metric(1)
    with pytest.raises(AttributeError):
        made.option = 1
