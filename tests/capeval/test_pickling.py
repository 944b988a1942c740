"""Pickling and copying of objects that are sent to other processes."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import (
    Candidates,
    CiderD,
    DocumentFrequencies,
    Evaluator,
    References,
    Tokenizer,
    evaluate,
)
from capeval.errors import FormatError
from capeval.metrics import METRICS
from capeval.tokenizers import TokenizedReferences
from tests.spice_model import METRIC_NAMES
from tests.waiting import PATIENCE

TOKENS = Tokenizer(kind="none")
REFERENCES = {7: ["a dog runs", "the dog"], 3: ["a cat sits on grass"], 5: ["two birds", ""]}
CANDIDATES = {3: "a cat sits on grass", 5: "a bird", 7: "a dog"}


def _pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


COPIES = pytest.mark.parametrize("made_again", [_pickled, copy.copy, copy.deepcopy])


@COPIES
@pytest.mark.parametrize("kind", [References, Candidates])
def test_captions(kind: Any, made_again: Callable[[Any], Any]) -> None:
    captions = kind({"b": ["a dog", "é 😀"], "a": [""]})
    again = made_again(captions)
    assert type(again) is kind
    assert list(again.items()) == list(captions.items())


@COPIES
def test_tokenized_captions(made_again: Callable[[Any], Any]) -> None:
    references = TokenizedReferences(References(REFERENCES), TOKENS)
    again = made_again(references)
    assert again.tokenizer == TOKENS
    assert [again.texts(image) for image in REFERENCES] == list(REFERENCES.values())
    candidates = references.candidates(Candidates(CANDIDATES))
    assert made_again(candidates).texts() == list(CANDIDATES.values())


@COPIES
@pytest.mark.parametrize("stem", [False, True])
def test_frequencies(stem: bool, made_again: Callable[[Any], Any]) -> None:
    frequencies = DocumentFrequencies.of(REFERENCES, tokenizer=TOKENS, stem=stem, name="birds")
    again = made_again(frequencies)
    assert (again.name, again.stem, again.images) == ("birds", stem, 3)
    assert again.counts() == frequencies.counts()


@COPIES
@pytest.mark.parametrize("name", METRIC_NAMES)
def test_prepared_metrics(name: str, made_again: Callable[[Any], Any]) -> None:
    prepared = METRICS[name]().prepare(REFERENCES, tokenizer=TOKENS)
    again = made_again(prepared)
    assert again.metric == prepared.metric
    assert again.signature() == prepared.signature()
    np.testing.assert_array_equal(again.score(CANDIDATES).statistics, prepared.score(CANDIDATES).statistics)


def test_frequencies_go_with_their_metric() -> None:
    metric = CiderD(frequencies=DocumentFrequencies.of(REFERENCES, tokenizer=TOKENS))
    prepared = metric.prepare({1: ["a dog"]}, tokenizer=TOKENS)
    assert _pickled(prepared).score({1: "a dog"}).corpus == prepared.score({1: "a dog"}).corpus


def test_what_is_pickled_together_stays_together() -> None:
    prepared = CiderD().prepare(REFERENCES, tokenizer=TOKENS)
    candidates = prepared.references.candidates(Candidates(CANDIDATES))
    again, candidates_again = _pickled((prepared, candidates))
    assert again.score(candidates_again).corpus == prepared.score(candidates).corpus


@COPIES
def test_evaluators_and_reports(made_again: Callable[[Any], Any]) -> None:
    evaluator = Evaluator(REFERENCES, ["BLEU", "CIDEr-D"], tokenizer=TOKENS)
    report = evaluator.evaluate(CANDIDATES, subsets={"cat": [3]})
    plain = report.to_dict(per_image=True)
    assert made_again(evaluator).evaluate(CANDIDATES, subsets={"cat": [3]}).to_dict(per_image=True) == plain
    assert made_again(report).to_dict(per_image=True) == plain
    assert made_again(report).signatures == report.signatures


def test_a_pickled_report_leaves_the_captions_behind() -> None:
    report = evaluate({1: ["a dog"], 2: ["giraffes"]}, {1: "a dog", 2: "cats"}, ["CIDEr-D"])
    assert b"giraffes" not in pickle.dumps(report)


@COPIES
def test_errors(made_again: Callable[[Any], Any]) -> None:
    error = FormatError("wrong", kind="WrongType", entry="annotations[17]", field="id", line=3, column=4)
    for given in (error, error.with_path(Path("a.json"))):
        again = made_again(given)
        assert type(again) is FormatError
        assert (str(again), again.args) == (str(given), given.args)
        assert vars(again) == vars(given)


def test_another_process_scores_alike(tmp_path: Path) -> None:
    evaluator = Evaluator(REFERENCES, ["BLEU", "ROUGE-L", "CIDEr-D"], tokenizer=TOKENS)
    path = tmp_path / "evaluator.pickle"
    path.write_bytes(pickle.dumps((evaluator, Candidates(CANDIDATES))))
    code = "import pickle, sys; evaluator, candidates = pickle.load(open(sys.argv[1], 'rb')); "
    code += "report = evaluator.evaluate(candidates); print(report.corpus, *report.signatures.values())"
    answer = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    report = evaluator.evaluate(CANDIDATES)
    expected = " ".join(str(part) for part in (report.corpus, *report.signatures.values()))
    assert answer.stdout.strip() == expected
