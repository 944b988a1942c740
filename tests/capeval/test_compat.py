"""Compatibility with pycocoevalcap: the same names, values, types and keys."""

import contextlib
import io
import json
import pickle
import pkgutil
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pycocoevalcap.eval
import pytest
from pycocoevalcap.bleu.bleu import Bleu as TheirBleu
from pycocoevalcap.cider.cider import Cider as TheirCider
from pycocoevalcap.cider.cider_scorer import CiderScorer as TheirCiderScorer
from pycocoevalcap.meteor import meteor
from pycocoevalcap.rouge.rouge import Rouge as TheirRouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer as TheirTokenizer
from pycocotools.coco import COCO

from capeval import DocumentFrequencies, Tokenizer, compat
from capeval.compat import Bleu, Cider, COCOEvalCap, Meteor, PTBTokenizer, Rouge, Spice
from capeval.compat.bleu.bleu import BleuScorer
from capeval.compat.cider.cider import CiderScorer
from capeval.compat.ciderD.ciderD import CiderD
from capeval.errors import CapevalWarning, CaptionError, MismatchError, OptionError, ResourceError
from capeval.metrics import Metric
from capeval.resources import spice
from tests.pycocoevalcap_names import public_names
from tests.spice_model import NEEDS_MODEL

NEEDS_JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="the reference's tokenizer needs Java")

Tokens = dict[Any, list[str]]


def tokens(seed: int = 0, images: int = 60) -> tuple[Tokens, Tokens]:
    generator = random.Random(seed)
    words = ["a", "dog", "cat", "runs", "on", "the", "grass", "25\u00a01/2", "", "sits"]

    def caption() -> str:
        return " ".join(generator.choices(words, k=generator.randint(1, 12)))

    ids = generator.sample(range(1000), images)
    gts = {image: [caption() for _ in range(generator.randint(1, 5))] for image in ids}
    # The reference takes the candidates in any order.
    return gts, {image: [caption()] for image in sorted(ids)}


class TheirMeteor(meteor.Meteor):  # type: ignore[misc]
    """METEOR with all of its pipes closed in the end, which is a warning otherwise."""

    def __del__(self) -> None:
        super().__del__()
        self.meteor_p.stdout.close()
        self.meteor_p.stderr.close()


SCORERS: list[Any] = [
    (Bleu, TheirBleu),
    (lambda: Bleu(2), lambda: TheirBleu(2)),
    (lambda: Bleu(n=1), lambda: TheirBleu(n=1)),
    (Rouge, TheirRouge),
    (Cider, TheirCider),
    (lambda: Cider(n=4, sigma=2.0), lambda: TheirCider(n=4, sigma=2.0)),
    (lambda: Cider(None, None, 4, 6.0), lambda: TheirCider(None, None, 4, 6.0)),
    pytest.param(Meteor, TheirMeteor, marks=NEEDS_JAVA),
]


def shape(value: object) -> object:
    """The types of a result, all the way down."""
    if isinstance(value, list | tuple):
        return type(value), [shape(part) for part in value]
    if isinstance(value, np.ndarray):
        return type(value), value.dtype, value.shape
    return type(value)


@pytest.mark.parametrize(("ours", "theirs"), SCORERS)
def test_scores_and_their_types_equal(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    gts, res = tokens()
    scorer = theirs()
    mine, other = ours().compute_score(gts, res), scorer.compute_score(gts, res)
    assert ours().method() == scorer.method()
    assert shape(mine) == shape(other)
    np.testing.assert_allclose(mine[0], other[0], rtol=1e-12)
    np.testing.assert_allclose(mine[1], other[1], rtol=1e-12, atol=1e-15)


def test_image_ids_can_be_strings() -> None:
    gts, res = ({f"image {image}.jpg": texts for image, texts in part.items()} for part in tokens())
    expected = TheirCider().compute_score(gts, res)[1].tolist()
    assert Cider().compute_score(gts, res)[1].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Bleu(4).compute_score(*tokens(), verbose=1)
    Bleu(4).compute_score(*tokens(), 0)
    assert capsys.readouterr() == ("", "")


MODULES = [
    "eval",
    "bleu.bleu",
    "meteor.meteor",
    "rouge.rouge",
    "cider.cider",
    "spice.spice",
    "tokenizer.ptbtokenizer",
]


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_where_they_are_in_the_reference(module: str) -> None:
    ours, theirs = import_module(f"capeval.compat.{module}"), import_module(f"pycocoevalcap.{module}")
    for name in ours.__all__:
        assert hasattr(theirs, name)
        assert name.endswith("Scorer") or getattr(ours, name) is getattr(compat, name)


@NEEDS_JAVA
def test_the_tokenizer_equals() -> None:
    captions: dict[int, list[dict[str, Any]]] = {
        7: [{"caption": "two dogs  on\nthe grass"}, {"caption": "A cat, (asleep)."}],
        3: [{"caption": ""}],
        5: [],
        4: [{"caption": "a man", "id": 12}, {"caption": "a woman"}, {"caption": "one  child "}],
    }
    assert PTBTokenizer().tokenize(captions) == TheirTokenizer().tokenize(captions)
    assert list(PTBTokenizer().tokenize(captions)) == [7, 3, 4]


class Unscored:
    """Stand-in for SPICE, since its Java program is not available here."""

    def method(self) -> str:
        return "none"

    def compute_score(self, gts: Tokens, res: Tokens) -> tuple[float, list[float]]:
        return 0.0, [0.0] * len(gts)


def coco_pair(images: int = 12) -> tuple[COCO, COCO]:
    generator = random.Random(5)
    words = ["a", "dog", "cat", "runs", "on", "the", "grass", "sits"]
    captions = [" ".join(generator.choices(words, k=8)) for _ in range(3 * images)]
    coco = COCO()
    coco.dataset = {
        "images": [{"id": 100 - image} for image in range(images)],
        "annotations": [
            {"image_id": 100 - place % images, "id": place, "caption": caption}
            for place, caption in enumerate(captions[images:])
        ],
    }
    results = COCO()
    results.dataset = {
        "images": coco.dataset["images"],
        "annotations": [
            {"image_id": 100 - image, "id": image, "caption": captions[image]} for image in range(images)
        ],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
        results.createIndex()
    return coco, results


@NEEDS_JAVA
@pytest.mark.parametrize("wanted", [None, [95, 91, 99]])
def test_cocoevalcap_equals(
    wanted: list[int] | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pycocoevalcap.eval, "Spice", Unscored)
    monkeypatch.setattr(pycocoevalcap.eval, "Meteor", TheirMeteor)
    theirs, ours = pycocoevalcap.eval.COCOEvalCap(*coco_pair()), COCOEvalCap(*coco_pair(), spice=False)
    if wanted is not None:
        theirs.params["image_id"] = ours.params["image_id"] = wanted
    theirs.evaluate()
    capsys.readouterr()
    ours.evaluate()
    assert capsys.readouterr().out == ""

    def compared(scores: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in scores.items() if key != "SPICE"}

    assert 0 < ours.eval["METEOR"] < 1
    assert ours.params == theirs.params
    assert list(ours.eval) == list(compared(theirs.eval))
    assert [type(value) for value in ours.eval.values()] == list(map(type, compared(theirs.eval).values()))
    assert ours.eval == pytest.approx(compared(theirs.eval), rel=1e-12)
    assert list(ours.imgToEval) == list(theirs.imgToEval)
    assert ours.evalImgs == list(ours.imgToEval.values())
    for image, scores in ours.imgToEval.items():
        expected = compared(theirs.imgToEval[image])
        assert set(scores) == set(expected)
        assert {key: type(value) for key, value in scores.items()} == {
            key: type(value) for key, value in expected.items()
        }
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_cocoevalcap_leaves_out_images_without_any_caption() -> None:
    coco, results = coco_pair()
    evaluation = COCOEvalCap(coco, results, spice=False)
    evaluation.params["image_id"] = [100, 5000]
    evaluation.evaluate()
    assert list(evaluation.imgToEval) == [100]


GOLDEN = Path(__file__).parent / "spice_java.json"


@NEEDS_MODEL
def test_spice_equals_java_spice() -> None:
    images = json.loads(GOLDEN.read_text())["images"]
    gts = {image["image_id"]: image["refs"] for image in images}
    res = {image["image_id"]: [image["test"]] for image in reversed(images)}
    average, scores = Spice().compute_score(gts, res)
    # The conversion of the program's output by pycocoevalcap's spice.py.
    expected = {
        image["image_id"]: {
            category: {key: np.nan if value is None else float(value) for key, value in counted.items()}
            for category, counted in image["scores"].items()
        }
        for image in images
    }
    assert type(average) is np.float64
    assert average == np.mean([each["All"]["f"] for each in expected.values()])
    assert list(map(repr, scores)) == [repr(expected[image]) for image in sorted(expected)]
    assert Spice().method() == "SPICE"


@NEEDS_MODEL
def test_cocoevalcap_gives_spice_last_and_to_its_image() -> None:
    evaluation = COCOEvalCap(*coco_pair())
    evaluation.evaluate()
    assert list(evaluation.eval)[-2:] == ["CIDEr", "SPICE"]
    assert type(evaluation.eval["SPICE"]) is np.float64
    # Images from 100 downwards: pycocoevalcap gives the scores of the sorted images to the unsorted ones.
    coco, results = coco_pair()
    tokens = PTBTokenizer()
    gts, res = tokens.tokenize(coco.imgToAnns), tokens.tokenize(results.imgToAnns)
    average, scores = Spice().compute_score(gts, res)
    assert evaluation.eval["SPICE"] == pytest.approx(average, rel=1e-12)
    by_image = dict(zip(sorted(gts), scores, strict=True))
    assert {image: repr(each["SPICE"]) for image, each in evaluation.imgToEval.items()} == {
        image: repr(each) for image, each in by_image.items()
    }


def test_without_spice_s_model_cocoevalcap_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spice, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(spice, "find_packaged_file", lambda *_: None)
    spice.load_model.cache_clear()
    with pytest.raises(ResourceError, match=r"SPICE requires a parser model.*capeval\[spice\]"):
        COCOEvalCap(*coco_pair()).evaluate()


@pytest.mark.parametrize(
    "scorer", [Bleu(), Meteor(), Rouge(), Cider(), pytest.param(Spice(), marks=NEEDS_MODEL)]
)
@pytest.mark.parametrize(
    ("gts", "res", "error", "message"),
    [
        ({1: ["a"]}, {2: ["a"]}, MismatchError, "image 2 is among the candidates but not"),
        ({1: ["a"], 2: ["a"]}, {1: ["a"]}, MismatchError, "image 2 is among the references but not"),
        ({1: ["a"]}, {1: ["a", "b"]}, MismatchError, r"'res' must have one caption for image 1 \(got 2\)"),
        ({1: ["a"]}, {1: []}, MismatchError, r"'res' must have one caption for image 1 \(got 0\)"),
        ({1: ["a"]}, {1: "a"}, CaptionError, "'res' must have a list of strings for image 1"),
        ({1: "a"}, {1: ["a"]}, CaptionError, "references of image 1 must be a list"),
        ({1: []}, {1: ["a"]}, CaptionError, "1"),
        ([["a"]], {1: ["a"]}, CaptionError, "'gts' must be a mapping"),
        ({1: ["a"]}, ["a"], CaptionError, "'res' must be a mapping"),
        ({1: [2]}, {1: ["a"]}, CaptionError, "caption 0 of image 1 must be a string"),
    ],
)
def test_bad_input_is_named(scorer: Any, gts: object, res: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        scorer.compute_score(gts, res)


def test_bad_options_and_annotations_are_named() -> None:
    for n in (0, 5, "4"):
        with pytest.raises(OptionError, match="'n' must be an integer from 1 to 4"):
            Bleu(n)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'sigma' must be"):
        Cider(sigma=0)
    with pytest.raises(CaptionError, match="annotation 1 of image 3 must be a mapping with a 'caption'"):
        PTBTokenizer().tokenize({3: [{"caption": "a"}, {"text": "a"}]})
    with pytest.raises(CaptionError, match="must be a string"):
        PTBTokenizer().tokenize({3: [{"caption": 4}]})


DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "compat.md"


def documented() -> dict[str, str]:
    """Return the documented status of each name of pycocoevalcap."""
    table = DOCUMENT.read_text().split("## Every name")[1]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    found = [(name.strip("`"), here) for names, here in rows for name in names.split(", ")]
    assert len(dict(found)) == len(found)
    return dict(found)


def is_here(name: str) -> bool:
    instances: dict[str, Callable[[], object]] = {
        "bleu.bleu": compat.Bleu,
        "bleu.bleu_scorer": BleuScorer,
        "cider.cider": compat.Cider,
        "cider.cider_scorer": CiderScorer,
        "eval": lambda: compat.COCOEvalCap(*coco_pair(), spice=False),
        "meteor.meteor": compat.Meteor,
        "rouge.rouge": compat.Rouge,
        "spice.spice": compat.Spice,
        "tokenizer.ptbtokenizer": compat.PTBTokenizer,
    }
    module = max((each for each in instances if name.startswith(f"{each}.")), key=len, default=None)
    if module is None:
        folder, file, *_ = name.split(".")
        return (Path(compat.__path__[0]) / folder / f"{file}.py").exists()
    first, _, member = name.removeprefix(f"{module}.").partition(".")
    there = hasattr(import_module(f"capeval.compat.{module}"), first)
    return there and (not member or hasattr(instances[module](), member))


def test_the_document_tells_of_every_public_name() -> None:
    assert sorted(documented()) == sorted(public_names())


@pytest.mark.parametrize(("name", "said"), documented().items())
def test_what_the_document_says_of_a_name_is_so(name: str, said: str) -> None:
    assert said.startswith("yes" if is_here(name) else "no: ")


def test_cider_d_of_the_forks_scores_several_results_of_an_image(tmp_path: Path) -> None:
    gts, res = tokens(images=8)
    results = [{"image_id": image, "caption": caption} for image, caption in res.items()] * 2
    results = results[3:]
    scorer = TheirCiderScorer()
    for result in results:
        scorer += (result["caption"][0], gts[result["image_id"]])
    expected = scorer.compute_score()
    found = CiderD(df="corpus").compute_score(gts, results)
    assert shape(found) == shape(expected)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-15)
    counts = DocumentFrequencies.of(tokens(seed=1)[0], tokenizer=Tokenizer(kind="none"))
    content = {"document_frequency": counts.counts(), "ref_len": counts.images}
    (tmp_path / "coco-df.p").write_bytes(pickle.dumps(content))
    of_object = CiderD(df=counts).compute_score(gts, results)[1].tolist()
    for df in (tmp_path / "coco-df", str(tmp_path / "coco-df.p")):
        assert CiderD(n=4, sigma=6.0, df=df).compute_score(gts, results)[1].tolist() == of_object
        by_image = Cider(df=df).compute_score(gts, res)[1].tolist()
        rows = dict(zip(gts, by_image, strict=True))
        assert [rows[result["image_id"]] for result in results] == pytest.approx(
            of_object, rel=1e-12, abs=1e-15
        )
    assert of_object != found[1].tolist()


@pytest.mark.parametrize(
    ("res", "error", "message"),
    [
        ({1: ["a"]}, CaptionError, r"'res' must be a list of mappings .* \(got a mapping\)"),
        ([{"image_id": 1}], CaptionError, r"res\[0\] must be a mapping with 'image_id' and 'caption'"),
        (
            [{"image_id": 1, "caption": "a"}],
            CaptionError,
            r"caption of res\[0\] must be a list of one string",
        ),
        ([{"image_id": 2, "caption": ["a"]}], MismatchError, r"image 2 of res\[0\] has no references"),
        ([], CaptionError, "at least one"),
    ],
)
def test_wrong_results_are_named(res: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CiderD().compute_score({1: ["a"]}, res)


def test_the_name_of_a_metric_is_not_that_of_a_scorer_by_accident() -> None:
    for module in pkgutil.walk_packages(compat.__path__, "capeval.compat."):
        for name in ("Bleu", "Cider", "CiderD", "Meteor", "Rouge", "Spice"):
            found = getattr(import_module(module.name), name, None)
            assert found is None or not issubclass(found, Metric), module.name


def test_scorers_of_pairs_refuse_what_does_not_fit() -> None:
    scorer = BleuScorer("a dog", ["a dog runs"], n=2)
    with pytest.raises(MismatchError, match="only a BleuScorer with the same n can be added"):
        scorer += BleuScorer("a", ["a"], n=3)
    scorer += BleuScorer("a cat", ["a cat sits"], n=2)
    assert scorer.size() == 2
    with pytest.raises(MismatchError, match="must be 2 candidates"):
        scorer.retest("a dog")
    with pytest.raises(OptionError, match="'option' must be"):
        scorer.compute_score(option="longest")  # type: ignore[arg-type]
    scorer.cook_append(None, ["a"])
    with pytest.raises(CaptionError, match="pair 3 must have a candidate"):
        scorer.compute_score()


def test_meteor_has_no_process_to_end() -> None:
    scorer = Meteor()
    gts, res = tokens(images=2)
    (first, *_), scores = gts, scorer.compute_score(gts, res)[1]
    with scorer.lock:
        scorer.meteor_p.stdin.close()
        scorer.meteor_p.kill()
    assert scorer.meteor_p.wait() == scorer.meteor_p.poll() == 0
    scorer.close()
    assert scorer._score(res[first][0], gts[first]) == scores[0]


def test_ids_of_any_type_are_shown_in_messages() -> None:
    with pytest.raises(MismatchError, match=r"image \"\('v', 1\)\" is among the references but not"):
        Cider().compute_score({("v", 1): ["a"], 2: ["b"]}, {2: ["b"]})
    with pytest.raises(CaptionError, match=r"caption 0 of image \"\('v', 1\)\" must be a string"):
        Cider().compute_score({("v", 1): [3], 2: ["b"]}, {("v", 1): ["a"], 2: ["b"]})  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("", ""),
        ("capeval.compat.install(); ", ""),
        (
            "import pycocoevalcap.bleu.bleu; ",
            "capeval.compat.install() was called too late: ",
        ),
    ],
)
def test_install(before: str, message: str) -> None:
    code = (
        f"import capeval.compat; {before}capeval.compat.install(); from pycocoevalcap.meteor import meteor; "
    )
    code += "import pycocoevalcap.eval as e; assert e.Meteor is meteor.Meteor is capeval.compat.Meteor; "
    # The words of METEOR are in the real package, whose folder is still found.
    code += "from capeval.resources.installed_files import find_installed_folders as f; "
    code += "assert (f()[0] / 'meteor').is_dir()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert message in done.stderr
    assert bool(done.returncode) is bool(message)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["a dog\rruns", "two\u2028cats"],
            "2 captions contain a line end other than .n, such as .r, which is read",
        ),
        (["a dog", "two cats\x0b"], "1 caption contains a line end"),
        (["一只狗在草地上跑", "两只猫"], "use capeval.evaluate with tokenizer='zh'"),
    ],
)
def test_captions_that_differ_from_pycocoevalcap_are_warned_about(texts: list[str], message: str) -> None:
    with pytest.warns(CapevalWarning, match=message):
        PTBTokenizer().tokenize({1: [{"caption": text} for text in texts]})


def test_usual_captions_are_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PTBTokenizer().tokenize({1: [{"caption": "a dog\nruns"}, {"caption": "two cats\r"}, {"caption": ""}]})
