"""Names of forks of CIDEr and coco-caption: places of files, and invalid input.

Whether their scores equal those of the forks is tested in tests/clients/test_forks.py.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import DocumentFrequencies, Tokenizer, compat
from capeval.compat import evaluation
from capeval.compat.eval_spice import COCOEvalCapSpice, SpiceEval
from capeval.compat.frequencies import resolve_frequencies
from capeval.compat.pyciderevalcap.cider.cider import Cider
from capeval.compat.pyciderevalcap.ciderD.ciderD import CiderD
from capeval.compat.pyciderevalcap.ciderD.ciderD_scorer import CiderScorer
from capeval.compat.pyciderevalcap.eval import CIDErEvalCap
from capeval.compat.pyciderevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from capeval.errors import (
    CapevalWarning,
    CaptionError,
    FormatError,
    MismatchError,
    OptionError,
    ResourceError,
)
from tests.capeval.test_compat import coco_pair
from tests.spice_model import NEEDS_MODEL

GTS = {1: ["a dog runs", "the dog"], 2: ["two cats", "a cat sleeps"], 3: ["a bus"]}


def frequencies() -> DocumentFrequencies:
    return DocumentFrequencies.of(GTS, tokenizer=Tokenizer(kind="none"))


def test_frequencies_are_found_where_forks_find_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    frequencies().save_pickle("data/coco-train-idxs.p")
    # The folder comes first, as in the forks, which look nowhere else.
    DocumentFrequencies.of({1: ["a"]}).save_pickle("coco-train-idxs.p")
    found = resolve_frequencies("coco-train-idxs")
    assert isinstance(found, DocumentFrequencies)
    assert (found.images, found.name) == (3, "coco-train-idxs")
    for df in ("data/coco-train-idxs", "data/coco-train-idxs.p", tmp_path / "data" / "coco-train-idxs"):
        assert CiderD(df=df).cider_scorer.frequencies.images == 3  # type: ignore[union-attr]


def test_frequencies_that_are_not_found_are_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = (
        r"document frequencies 'coco-train-idxs' not found \(looked for data/coco-train-idxs.p,"
        rf" coco-train-idxs, coco-train-idxs.p in {tmp_path}\); write them with"
        r" `capeval resources frequencies dataset_coco.json data/coco-train-idxs.p --tokenized"
        r" --split train,restval --vocabulary cocotalk.json`, or use df='corpus'"
    )
    for kind in (CiderD, Cider):
        with pytest.raises(ResourceError, match=message):
            kind(df="coco-train-idxs")


def test_the_pickle_of_the_first_fork_has_the_images_of_val2014(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "coco-val-df.p").write_bytes(pickle.dumps(frequencies().counts()))
    found = CiderD(df="coco-val-df").cider_scorer.frequencies
    assert found is not None
    assert found.images == 40_504
    (tmp_path / "data" / "other.p").write_bytes(pickle.dumps(frequencies().counts()))
    with pytest.raises(OptionError, match="does not contain the number of images"):
        CiderD(df="other")
    (tmp_path / "data" / "other.p").write_bytes(b"damaged")
    with pytest.raises(FormatError, match="expected a pickled mapping"):
        CiderD(df="other")


def test_both_places_of_cider_d_have_one_class() -> None:
    assert import_module("capeval.compat.ciderD.ciderD").CiderD is CiderD


def test_samples_may_be_ragged_and_ids_repeated() -> None:
    scorer = CiderD(df=frequencies())
    groups = [["a dog", "the dog runs"], ["a cat"], ["a bus", "two cats", "a bus"]]
    mean, scores = scorer.my_compute_score(GTS.values(), groups)
    assert [each.shape for each in scores] == [(2,), (1,), (3,)]
    listed = [
        {"image_id": image, "caption": [text]}
        for image, texts in zip(GTS, groups, strict=True)
        for text in texts
    ]
    expected, by_result = scorer.compute_score(GTS, listed)
    assert mean == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(np.concatenate(scores), by_result, rtol=1e-12)
    same = scorer.my_compute_score([GTS[1], GTS[2]], [["a dog"], ["a cat"]])[1]
    assert isinstance(same, np.ndarray)
    assert same.shape == (2, 1)


def test_a_caption_is_most_similar_to_itself() -> None:
    (matrix,) = Cider(df=frequencies()).my_self_cider([["a dog runs", "two cats"]])
    # Neither caption has four words, so the share of 4-grams is 0.
    assert matrix.tolist() == [[7.5, 0.0], [0.0, 5.0]]


# Values of wrong types.
BOTH: Any = "both"
LIST: Any = ["a dog"]
NUMBER: Any = 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: CiderD().my_self_cider([["a"]]),
            OptionError,
            r"need document frequencies; set df to a pickle",
        ),
        (lambda: CiderD(n=5), OptionError, "'n' must be an integer from 1 to 4"),
        (lambda: CiderD(sigma=0), OptionError, "'sigma' must be"),
        (
            lambda: CiderD(df=frequencies()).my_compute_score([["a"]], []),
            MismatchError,
            r"same number of images \(got 1 and 0\)",
        ),
        (lambda: CiderD(df=frequencies()).my_self_cider([]), CaptionError, "at least one"),
        (lambda: CiderD().compute_score(GTS, [{"image_id": 9, "caption": ["a"]}]), MismatchError, "image 9"),
        (lambda: CiderScorer().compute_doc_freq(), CaptionError, "at least one"),
        (lambda: setattr(CiderScorer(), "ref_len", 3.0), OptionError, r"after compute_doc_freq\(\)"),
        (
            lambda: CiderScorer(test=None, refs=["a"]).compute_score(),
            CaptionError,
            "pair 1 must have a candidate",
        ),
        (lambda: PTBTokenizer(BOTH), OptionError, "'_source' must be one of gts, res"),
        (
            lambda: PTBTokenizer("res").tokenize([{"caption": "a"}]),
            CaptionError,
            r"res\[0\] must be a mapping",
        ),
        (
            lambda: CIDErEvalCap({}, [{"image_id": 1, "caption": "a"}], "corpus").evaluate(),
            MismatchError,
            "image 1",
        ),
        (lambda: evaluation.Cider(LIST), CaptionError, "'gts' must be a mapping"),
        (lambda: evaluation.compute_scores(GTS, {1: ["a"]}), MismatchError, r"images \(2, 3\)"),
        (lambda: evaluation.PTBTokenizer.tokenize("a dog"), CaptionError, r"mapping or a list \(got str\)"),
        (lambda: evaluation.PTBTokenizer.tokenize([NUMBER]), CaptionError, "captions of image 0 must be"),
    ],
)
def test_invalid_input_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_tokenizer_of_evaluation_reads_what_data_loaders_give() -> None:
    tokenize = evaluation.PTBTokenizer.tokenize
    assert tokenize(["A dog.", "Two cats!"]) == {0: ["a dog"], 1: ["two cats"]}
    assert tokenize((["A dog.", "It runs"], ["A cat"])) == {0: ["a dog", "it runs"], 1: ["a cat"]}
    assert tokenize({"3_0": ["A, dog"], "4_0": []}) == {"3_0": ["a dog"]}
    assert tokenize([]) == {}


def test_training_references_of_evaluation_may_have_ids_of_any_type() -> None:
    scorer = evaluation.Cider({(image, 0): texts for image, texts in GTS.items()})
    assert scorer.ref_len == np.log(3)
    assert scorer.compute_score(GTS, {image: texts[:1] for image, texts in GTS.items()})[0] > 1
    assert (evaluation.Cider().ref_len, evaluation.Cider().doc_frequency) == (None, None)


def test_references_that_pycocoevalcap_s_cider_ignores_give_a_warning() -> None:
    with pytest.warns(CapevalWarning, match=r"use Cider of capeval\.compat\.evaluation") as caught:
        compat.Cider(GTS)
    assert caught[0].filename == __file__


@NEEDS_MODEL
def test_spice_alone_has_the_scores_of_all_metrics() -> None:
    from capeval.compat import COCOEvalCap

    both = COCOEvalCap(*coco_pair(6)), COCOEvalCapSpice(*coco_pair(6))
    for each in both:
        each.evaluate()
    every, alone = both
    assert list(alone.eval) == ["SPICE"]
    assert alone.eval["SPICE"] == every.eval["SPICE"]
    assert [image["image_id"] for image in alone.evalImgs] == sorted(every.imgToEval)
    for image, scores in alone.imgToEval.items():
        assert repr(scores["SPICE"]) == repr(every.imgToEval[image]["SPICE"])
    coco, results = coco_pair(6)
    mean, by_image = SpiceEval().evaluate(coco.imgToAnns, results.imgToAnns)
    assert mean == alone.eval["SPICE"]
    assert repr(by_image[100]["spice"]) == repr(alone.imgToEval[100]["SPICE"])


@NEEDS_MODEL
def test_spice_refuses_several_results_of_an_image() -> None:
    gts, res = {1: [{"caption": "a dog"}]}, {1: [{"caption": "a dog"}, {"caption": "a cat"}]}
    with pytest.raises(MismatchError, match=r"'res' must have one caption for image 1 \(got 2\)"):
        SpiceEval().evaluate(gts, res)


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("names", "replaced"),
    [
        ("", ["pycocoevalcap.cider.cider", "pyciderevalcap.ciderD.ciderD", "pyciderevalcap.cider.cider"]),
        ("'pyciderevalcap'", ["pyciderevalcap.eval"]),
        (
            "'evaluation', 'pyciderevalcap'",
            ["evaluation", "evaluation.cider.cider", "pyciderevalcap.cider.cider"],
        ),
    ],
)
def test_install_replaces_the_packages(names: str, replaced: list[str], tmp_path: Path) -> None:
    # A package of the user, which is replaced only on request.
    (tmp_path / "evaluation.py").write_text("mine = True\n")
    code = f"import capeval.compat\nfor _ in range(2): capeval.compat.install({names})\nimport sys\n"
    code += "".join(f"import {name}\nassert {name}.__doc__, 'capeval'\n" for name in replaced)
    code += "import evaluation\nprint(hasattr(evaluation, 'mine'), 'pycocoevalcap' in sys.modules)\n"
    done = run_python(code, tmp_path)
    assert done.stderr == ""
    assert done.stdout.split() == [str("evaluation" not in names), str(not names)]


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("pyciderevalcap", "from pyciderevalcap.ciderD.ciderD import CiderD"),
        ("pyciderevalcap", "import pyciderevalcap.ciderD.ciderD"),
        ("evaluation", "try:\n    from evaluation.ciderD.ciderD import run\nexcept ImportError:\n    pass"),
    ],
)
def test_a_late_install_names_the_module_that_imported_the_package(
    package: str, source: str, tmp_path: Path
) -> None:
    (tmp_path / package / "ciderD").mkdir(parents=True)
    (tmp_path / package / "ciderD" / "ciderD.py").write_text("class CiderD: ...\ndef run(): ...\n")
    file = tmp_path / "rewards.py"
    file.write_text(source)
    done = run_python(f"import rewards, capeval.compat; capeval.compat.install({package!r})", tmp_path)
    expected = (
        f"MismatchError: capeval.compat.install() was called too late: '{package}.ciderD.ciderD' is already"
        f" imported by 'rewards' ({file}); call it before that import, such as in the first"
        f" lines of the program, or import from capeval.compat.{package} instead of {package}\n"
    )
    assert done.stderr.endswith(expected)


def test_a_late_install_changes_nothing(tmp_path: Path) -> None:
    code = (
        "import pycocoevalcap.bleu.bleu, capeval.compat\n"
        "try: capeval.compat.install('pyciderevalcap', 'pycocoevalcap')\n"
        "except capeval.errors.MismatchError as error: assert \"by '__main__';\" in str(error), error\n"
        "assert 'pyciderevalcap' not in sys.modules\n"
        "try: capeval.compat.install('nlgeval')\n"
        "except capeval.errors.OptionError as error: print(error)\n"
    )
    done = run_python(code, tmp_path)
    assert done.stderr == ""
    assert done.stdout.startswith("'packages' must be one of pycocoevalcap, pyciderevalcap, evaluation")
