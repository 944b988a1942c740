"""Reports: contents, saving, and the validation errors of `evaluate`."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import Bleu, Candidates, Evaluator, References, Report, RougeL, Tokenizer, evaluate
from capeval.errors import CaptionError, DependencyError, MismatchError, OptionError
from capeval.metrics import Prepared
from capeval.scoring.matching import list_problems
from capeval.tokenizers import TokenizedReferences

TOKENS = Tokenizer(kind="none")
REFERENCES = {7: ["a dog runs", "the dog"], 3: ["a cat sits on grass"], 5: ["two birds"]}
CANDIDATES = {3: "a cat sits on grass", 5: "a bird", 7: "a dog"}


def report(**options: Any) -> Report:
    return evaluate(REFERENCES, CANDIDATES, tokenizer=TOKENS, **options)


def test_a_report_is_in_the_order_of_the_references() -> None:
    made = report()
    assert made.image_ids == (7, 3, 5)
    assert list(made.corpus) == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D"]
    assert list(made.per_image) == list(made.corpus)
    assert made.per_image["ROUGE-L"][1:].tolist() == [1, 0]
    assert all(values.shape == (3,) for values in made.per_image.values())
    assert list(made.signatures) == ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"]
    assert [metric.family for metric, _ in made.scores] == ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"]


def test_metrics_are_chosen_by_name_or_object() -> None:
    assert list(report(metrics=["bleu-4", RougeL(beta=2)]).corpus) == ["BLEU-4", "ROUGE-L"]
    assert list(report(metrics=[Bleu(orders=(1, 2))]).signatures) == ["BLEU"]


def test_signatures_of_two_metrics_of_a_family_are_both_there() -> None:
    closest, shortest = Bleu(orders=(1, 2)), Bleu(orders=(3, 4), brevity="shortest")
    made = report(metrics=[closest, shortest, RougeL()])
    assert list(made.signatures) == ["BLEU-1,BLEU-2", "BLEU-3,BLEU-4", "ROUGE-L"]
    assert "brevity=shortest" in made.signatures["BLEU-3,BLEU-4"].options


def test_subsets_are_scored_on_their_own() -> None:
    made = report(subsets={"animals": [7, 3], "birds": {5}})
    assert list(made.subsets) == ["animals", "birds"]
    assert made.subsets["animals"]["ROUGE-L"] == pytest.approx(made.per_image["ROUGE-L"][:2].mean())
    alone = evaluate({5: REFERENCES[5]}, {5: CANDIDATES[5]}, ["BLEU"], tokenizer=TOKENS)
    assert {name: made.subsets["birds"][name] for name in alone.corpus} == alone.corpus


def test_subsets_keep_the_document_frequencies_of_all() -> None:
    # "grass" is in one of three images, also in the subset of one image.
    assert report(subsets={"cat": [3]}).subsets["cat"]["CIDEr-D"] == pytest.approx(10)


@pytest.mark.parametrize(
    ("subsets", "error", "message"),
    [
        ({"odd": [True]}, CaptionError, r"subset 'odd': an image id must be .* \(got True, bool\)"),
        ({"odd": [7.0]}, CaptionError, r"subset 'odd': an image id must be .* \(got 7.0, float\)"),
        ({"odd": [[7]]}, CaptionError, r"subset 'odd': an image id must be .* \(got \[7\], list\)"),
        ({"odd": "ab"}, OptionError, r"subset 'odd' must be a list of image ids \(got str\)"),
        ({"odd": 7}, OptionError, r"subset 'odd' must be a list of image ids \(got int\)"),
        ([7], OptionError, r"'subsets' must be a mapping of names to image ids \(got list\)"),
        ({"none": []}, OptionError, r"subset 'none' must contain at least one image \(got none\)"),
        ({"far": [7, 8]}, MismatchError, "subset 'far': image 8 is not among the references"),
        ({"far": [8, "9"]}, MismatchError, r"subset 'far': 2 images \(8, '9'\) are not among the references"),
    ],
)
def test_subsets_are_checked_before_anything_is_scored(
    subsets: Any, error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prepared, "statistics", lambda *_: pytest.fail("scored already"))
    with pytest.raises(error, match=message):
        report(subsets=subsets)


def test_an_evaluator_scores_system_after_system() -> None:
    evaluator = Evaluator(REFERENCES, ["ROUGE-L", "CIDEr-D"], tokenizer=TOKENS)
    first = evaluator.evaluate(CANDIDATES)
    other = evaluator.evaluate({image: texts[0] for image, texts in REFERENCES.items()})
    assert other.corpus["ROUGE-L"] == 1
    again = evaluator.evaluate(Candidates(CANDIDATES))
    assert first.corpus == again.corpus
    assert evaluator.references == REFERENCES
    assert Evaluator(References(REFERENCES), ["ROUGE-L"]).references == REFERENCES


def test_candidates_are_tokenized_once_for_several_evaluators() -> None:
    tokens = TokenizedReferences(References(REFERENCES), TOKENS)
    evaluators = [Evaluator(tokens, [metric]) for metric in ("ROUGE-L", "CIDEr-D")]
    tokenized = evaluators[0].tokenize(CANDIDATES)
    whole = report(metrics=["ROUGE-L", "CIDEr-D"])
    for evaluator in evaluators:
        found = evaluator.evaluate(tokenized)
        assert found.corpus == {name: whole.corpus[name] for name in found.corpus}
        assert found.signatures == {name: whole.signatures[name] for name in found.signatures}
    with pytest.raises(MismatchError, match="the candidates were tokenized for different references"):
        Evaluator(REFERENCES, ["ROUGE-L"], tokenizer=TOKENS).evaluate(tokenized)
    for others in ({7: "a"}, CANDIDATES, {**CANDIDATES, 7: ["a", "b"]}):
        with pytest.raises(MismatchError, match="one per image, in the order of the references"):
            evaluators[0].evaluate(tokens.candidates(Candidates(others)))
    with pytest.raises(OptionError, match="must be the tokenizer of the tokenized references"):
        Evaluator(tokens, ["ROUGE-L"], tokenizer=Tokenizer())


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ({7: "a", 3: "b"}, "image 5 is among the references but not among the candidates"),
        ({7: "a"}, r"2 images \(3, 5\) are among the references but not among the candidates"),
        (CANDIDATES | {9: "a"}, "image 9 is among the candidates but not among the references"),
        (CANDIDATES | {5: ["a", "b"]}, r"every image must have one candidate \(got 2 for image 5\)"),
        ({"x": "a", "y": "b"}, r"ids of the results such as 'x' must equal ids of the references such as 7"),
    ],
)
def test_images_must_be_the_same(candidates: Any, message: str) -> None:
    with pytest.raises(MismatchError, match=message):
        evaluate(REFERENCES, candidates)


def test_all_problems_are_listed() -> None:
    references = References({1: ["a"], 2: ["b"], 3: ["c"]})
    assert list_problems(references, Candidates({1: "a", 3: "c", 2: "b"})) == []
    expected = [
        "every image must have one candidate (got 2 for image 1)",
        "image 4 is among the candidates but not among the references;"
        " to skip it, set extra='skip' (on the command line: --extra skip)",
        "2 images (2, 3) are among the references but not among the candidates;"
        " to skip them, set missing='skip' (on the command line: --missing skip)",
    ]
    candidates = Candidates({1: ["a", "b"], 4: ["d"]})
    assert list_problems(references, candidates) == expected
    with pytest.raises(MismatchError) as caught:
        evaluate(references, candidates, ["ROUGE-L"])
    assert str(caught.value) == "; ".join(expected)
    swapped = {1: ["a", "b"], 2: ["c", "d"], 3: ["e", "f"]}
    with pytest.raises(MismatchError, match=r"only one reference; did you swap references and results\?$"):
        evaluate(references, swapped, ["ROUGE-L"])


def test_captions_must_be_captions() -> None:
    with pytest.raises(CaptionError, match="references must be a mapping"):
        evaluate(3, CANDIDATES)  # type: ignore[arg-type]
    with pytest.raises(CaptionError, match="candidates must be a mapping"):
        evaluate(REFERENCES, iter("a"))  # type: ignore[arg-type]


def test_to_dict_is_what_save_writes(tmp_path: Path) -> None:
    made = report(subsets={"cat": [3]})
    path = tmp_path / "report.json"
    made.save(path)
    plain = made.to_dict(per_image=True)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(plain))
    assert plain["images"] == 3
    assert plain["metrics"] == made.corpus
    assert plain["subsets"] == {"cat": made.subsets["cat"]}
    assert [entry["image_id"] for entry in plain["per_image"]] == [7, 3, 5]
    assert plain["per_image"][1]["BLEU-4"] == made.per_image["BLEU-4"][1]
    assert plain["signatures"]["CIDEr-D"]["digest"] == str(made.signatures["CIDEr-D"].digest)
    assert plain["signatures"]["CIDEr-D"]["text"] == str(made.signatures["CIDEr-D"])
    made.save(path, per_image=False)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(made.to_dict()))
    assert "per_image" not in made.to_dict()
    assert "subsets" not in report().to_dict()


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("before")
    made = report()
    broken = Report(
        image_ids=made.image_ids,
        corpus={"ROUGE-L": float("inf")},
        per_image={},
        subsets={},
        signatures={},
        scores=(),
    )
    with pytest.raises(ValueError, match="JSON"):
        broken.save(path)
    assert path.read_text() == "before"
    with pytest.raises(FileNotFoundError):
        made.save(tmp_path / "none" / "report.json")
    assert list(tmp_path.iterdir()) == [path]


def test_to_pandas_has_a_row_an_image() -> None:
    frame = report().to_pandas()
    assert frame.index.tolist() == [7, 3, 5]
    assert frame.index.name == "image_id"
    assert list(frame.columns) == ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D"]
    np.testing.assert_array_equal(frame["CIDEr-D"], report().per_image["CIDEr-D"])


def test_to_pandas_says_when_pandas_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DependencyError, match="to_pandas needs pandas: pip install pandas"):
        report().to_pandas()
