"""Custom tokenizer functions: other languages and rules."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from capeval import Candidates, CiderD, DocumentFrequencies, References, RougeL, Tokenizer, evaluate, tokenize
from capeval.errors import CaptionError, OptionError
from capeval.studies.diversity import Corpus, DiversityOptions
from capeval.tokenizers import TokenizedReferences

REFERENCES = {7: ["一只狗在跑", "狗在草地上跑"], 3: ["两只猫", "猫在床上睡觉"]}
CANDIDATES = {3: "两只猫在床上", 7: "狗在跑"}
CHARACTERS = Tokenizer(function=list, name="characters")


def spaced(captions: dict[int, Any]) -> dict[int, Any]:
    return {
        image: " ".join(texts) if isinstance(texts, str) else [" ".join(text) for text in texts]
        for image, texts in captions.items()
    }


def test_scores_are_those_of_the_tokens_joined_by_spaces() -> None:
    own = evaluate(REFERENCES, CANDIDATES, ["BLEU", "ROUGE-L", "CIDEr-D"], tokenizer=CHARACTERS)
    tokens = evaluate(
        spaced(REFERENCES),
        spaced(CANDIDATES),
        ["BLEU", "ROUGE-L", "CIDEr-D"],
        tokenizer=Tokenizer(kind="none"),
    )
    assert own.corpus == tokens.corpus
    assert own.corpus["CIDEr-D"] > 1
    for name, scores in tokens.per_image.items():
        assert np.array_equal(own.per_image[name], scores)


def test_tokens_and_captions_as_written_are_both_there() -> None:
    references = TokenizedReferences(References(REFERENCES), CHARACTERS)
    assert references.texts(3) == ["两 只 猫", "猫 在 床 上 睡 觉"]
    assert references.references[3] == REFERENCES[3]
    candidates = references.candidates(Candidates(CANDIDATES))
    assert candidates.texts() == ["两 只 猫 在 床 上", "狗 在 跑"]
    assert candidates.captions() == ["两只猫在床上", "狗在跑"]
    assert tokenize(["狗在跑", ""], CHARACTERS) == [["狗", "在", "跑"], []]


def test_a_caption_without_tokens_is_an_empty_caption() -> None:
    scores = RougeL().prepare({1: ["", "a"]}, tokenizer=CHARACTERS).score({1: ["", "a"]})
    assert scores.per_image["ROUGE-L"].tolist() == [
        *RougeL()
        .prepare({1: ["", "a"]}, tokenizer=Tokenizer(kind="none"))
        .score({1: ["", "a"]})
        .per_image["ROUGE-L"]
    ]


def test_a_batched_function_is_called_once_for_all_captions() -> None:
    calls = []

    def cut(captions: list[str]) -> list[list[str]]:
        calls.append(captions)
        return [list(caption) for caption in captions]

    batched = Tokenizer(function=cut, name="characters", batched=True)
    references = TokenizedReferences(References(REFERENCES), batched)
    assert calls == [["一只狗在跑", "狗在草地上跑", "两只猫", "猫在床上睡觉"]]
    assert references.texts(3) == ["两 只 猫", "猫 在 床 上 睡 觉"]
    assert tokenize([], batched) == []


def test_signatures_name_the_function() -> None:
    report = evaluate(REFERENCES, CANDIDATES, ["CIDEr-D"], tokenizer=Tokenizer(function=list, name="zh-1.0"))
    assert "|tokenizer=function:zh-1.0|" in str(report.signatures["CIDEr-D"])
    frequencies = DocumentFrequencies.of(References(REFERENCES), tokenizer=CHARACTERS)
    assert ("狗", "在") not in frequencies.counts()
    assert frequencies.counts()[("在",)] == 2
    assert CiderD(frequencies=frequencies).prepare(REFERENCES, tokenizer=CHARACTERS).score(CANDIDATES)


def test_a_tokenizer_can_be_copied_and_compared() -> None:
    assert replace(CHARACTERS) == CHARACTERS
    assert pickle.loads(pickle.dumps(CHARACTERS)) == CHARACTERS
    assert Tokenizer(function=list, name="other") != CHARACTERS
    assert Tokenizer(function=tuple, name="characters") != CHARACTERS


def test_the_studies_take_it() -> None:
    options = DiversityOptions(images=2, captions=2, samples=1)
    corpus = Corpus(References(REFERENCES), options, tokenizer=CHARACTERS)
    assert corpus.diversity().unique[0, 0] == len(
        set("".join(caption for group in REFERENCES.values() for caption in group))
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": list}, r"'name' must be .* \(got ''\)"),
        ({"function": list, "name": "a b"}, r"'name' must be .* \(got 'a b'\)"),
        ({"function": list, "name": "a|b"}, r"'name' must be .* \(got 'a\|b'\)"),
        ({"function": list, "name": 3}, r"'name' must be .* \(got 3\)"),
        ({"function": "list", "name": "a"}, r"'function' must be a callable .* \(got 'list'\)"),
        ({"function": list, "name": "a", "batched": 1}, r"'batched' must be True or False \(got 1\)"),
        (
            {"function": list, "name": "a", "kind": "none"},
            r"'kind' and 'function' exclude each other \(got kind",
        ),
        ({"function": list, "name": "a", "lowercase": False}, r"'lowercase' applies only to the tokenizer"),
        (
            {"function": list, "name": "a", "punctuation": "keep"},
            r"'punctuation' applies only to the tokenizer",
        ),
        ({"function": list, "name": "a", "context": "caption"}, r"'context' applies only to the tokenizer"),
        ({"context": "line"}, r"'context' must be one of .*file.*caption.* \(got 'line'\)"),
        ({"kind": "function"}, r"'function' must be a callable .* \(got None\)"),
        ({"name": "a"}, r"'name' requires a 'function' \(got name='a' without a function\)"),
        ({"batched": True}, r"'batched' requires a 'function' \(got batched=True without a function\)"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Tokenizer(**options)


def fails(caption: str) -> list[str]:
    raise KeyError(caption[0])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fails, r"tokenizer 'own' failed on caption '一只狗': KeyError: '一'$"),
        (str.strip, r"tokenizer 'own' must return a list of strings for caption '一只狗' \(got str\)$"),
        (iter, r"tokenizer 'own' must return a list of strings .* \(got str_\w*iterator\)$"),
        (
            lambda _: None,
            r"tokenizer 'own' must return a list of strings for caption '一只狗' \(got NoneType\)$",
        ),
        (lambda _: ["a", 3], r"tokenizer 'own' must return strings for caption '一只狗' \(got 3\)$"),
        (lambda _: ["a", b"b"], r"tokenizer 'own' must return strings for caption '一只狗' \(got b'b'\)$"),
        (lambda _: ["a", "b c"], r"for caption '一只狗' \(got 'b c'\)$"),
        (lambda _: ["a", "\u3000"], r"must return tokens .* contain no white space .* \(got '\\u3000'\)$"),
        (lambda _: ["a", ""], r"must return tokens that are not empty .* \(got ''\)$"),
        (lambda _: ["\ud83d"], r"tokenizer 'own': .*lone surrogate"),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_a_function_that_makes_something_else_is_refused(
    function: Callable[[str], Any], message: str, *, batched: bool
) -> None:
    def of_all(captions: list[str]) -> list[Any]:
        return [function(caption) for caption in captions]

    if batched and function is fails:
        message = r"tokenizer 'own' failed on 1 caption: KeyError: '一'$"
    tokenizer = Tokenizer(function=of_all if batched else function, name="own", batched=batched)
    with pytest.raises(CaptionError, match=message):
        evaluate({1: ["一只狗"]}, {1: "一只狗"}, ["BLEU"], tokenizer=tokenizer)
    with pytest.raises(CaptionError, match=message):
        tokenize(["一只狗"], tokenizer)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([["a"]], r"tokenizer 'own' must return one list of strings for each of 2 captions \(got 1\)$"),
        (iter([["a"], ["b"]]), r"return a list of lists of strings for 2 captions \(got list_iterator\)$"),
        ("ab", r"must return a list of lists of strings for 2 captions \(got str\)$"),
    ],
)
def test_a_batched_function_makes_one_list_a_caption(made: Any, message: str) -> None:
    tokenizer = Tokenizer(function=lambda _: made, name="own", batched=True)
    with pytest.raises(CaptionError, match=message):
        tokenize(["a", "b"], tokenizer)


def test_the_cause_of_a_failure_is_kept() -> None:
    with pytest.raises(CaptionError) as caught:
        tokenize(["a dog"], Tokenizer(function=fails, name="own"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_interrupt_is_no_failure() -> None:
    def interrupted(caption: str) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tokenize(["a dog"], Tokenizer(function=interrupted, name="own"))
