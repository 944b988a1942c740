"""The replay of pycocoevalcap 1.2: equal to the Java program and its scorers after line ends in captions."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu as TheirBleu
from pycocoevalcap.cider.cider import Cider as TheirCider
from pycocoevalcap.rouge.rouge import Rouge as TheirRouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer as TheirTokenizer

from capeval import Evaluator, Spice, Tokenizer, evaluate, tokenize
from capeval.data import Candidates, References
from capeval.errors import CapevalWarning, OptionError
from capeval.report import System, create_image_table, create_score_table, to_html
from capeval.scoring.replay import LineEnds, find_line_ends
from capeval.tokenizers import Punctuation
from tests.capeval.test_compat import TheirMeteor
from tests.conformance.tokenizer import compare
from tests.spice_model import NEEDS_MODEL

NEEDS_JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="the reference's tokenizer needs Java")
REPLAYED = Tokenizer(line_ends="reference")
ENDS = ["\n", "\r", "\r\n", "\n\r", "\x0b", "\x0c", "\u2028", "\u2029", "\x85", "\r\r", "\x1c", "\x1e"]
WORDS = [
    "a", "dog", "The", "runs.", "don't", "B.", "etc.", "Co.", ":)", "(or", "two)", "25 1/2", "U.S.", "A",
    "555 1234", "\u00a0", "&amp;", "Mr.", "café", "!", "...", "", " ", "$5", "\u200b", "can't", "ok!", "\t",
]  # fmt: skip
TAGS = ["<a b='", "'>", '<p class="x', '">', "<br>", "<"]

Groups = dict[int, list[str]]


def make_captions(generator: random.Random, count: int, *, tags: bool) -> list[str]:
    """Make captions of which some contain line ends at the start, in the middle and at the end."""
    pool = WORDS + ENDS + (TAGS if tags else [])
    captions = []
    for _ in range(count):
        words = generator.choices(WORDS if generator.random() < 0.6 else pool, k=generator.randint(0, 9))
        captions.append(generator.choice(["", " ", " "]).join(words))
    return captions


def write_lines(folder: Path, files: list[list[str]]) -> list[list[list[str]]]:
    """The tokens of the Java program and of pycocoevalcap's code after it, for the captions of each file."""
    listing = []
    for number, captions in enumerate(files):
        text = "\n".join(caption.replace("\n", " ") for caption in captions)
        (folder / f"{number}.in").write_bytes(text.encode())
        listing.append(f"{folder / f'{number}.in'}\t{folder / f'{number}.out'}\n")
    (folder / "files.txt").write_text("".join(listing))
    compare._run_jar(["-ioFileList", folder / "files.txt"], lowercase=True)
    found = []
    for number, captions in enumerate(files):
        lines = (folder / f"{number}.out").read_bytes().decode().split("\n")
        found.append([compare.drop_punctuation(line) for line in lines[: len(captions)]])
    return found


@NEEDS_JAVA
@pytest.mark.parametrize("tags", [False, True])
def test_random_captions_have_the_tokens_of_the_reference(tmp_path: Path, tags: bool) -> None:
    files = [make_captions(random.Random(seed), 40, tags=tags) for seed in range(200)]
    for captions, expected in zip(files, write_lines(tmp_path, files), strict=True):
        assert tokenize(captions, REPLAYED) == expected


@NEEDS_JAVA
def test_each_line_end_at_each_place(tmp_path: Path) -> None:
    files = []
    for end in ENDS:
        for inside in (
            f"{end}a dog runs.",
            f"a dog{end}runs B.",
            f"a dog runs{end}",
            f"a{end}{end}dog{end} x",
        ):
            files.append(["The cat", inside, "Two birds", inside, "", "Three fish B."])
            files.append([inside])
    expected = write_lines(tmp_path, files)
    assert [tokenize(captions, REPLAYED) for captions in files] == expected


def theirs(references: Groups, candidates: Groups) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The scores of pycocoevalcap 1.2, in the order in which its COCOEvalCap computes them."""
    entries = [{image: [{"caption": text} for text in texts] for image, texts in side.items()}
               for side in (references, candidates)]  # fmt: skip
    gts, res = (TheirTokenizer().tokenize(side) for side in entries)
    corpus, per_image = {}, {}
    with contextlib.redirect_stdout(io.StringIO()):
        bleu, each = TheirBleu(4).compute_score(gts, res)
    for order in range(4):
        corpus[f"BLEU-{order + 1}"], per_image[f"BLEU-{order + 1}"] = bleu[order], each[order]
    scorers: Mapping[str, Any] = {"METEOR": TheirMeteor(), "ROUGE-L": TheirRouge(), "CIDEr-D": TheirCider()}
    for name, scorer in scorers.items():
        corpus[name], values = scorer.compute_score(gts, res)
        per_image[name] = list(values)
    return corpus, per_image


def make_images(seed: int) -> tuple[Groups, dict[int, str]]:
    generator = random.Random(seed)
    words = ["a", "dog", "cat", "runs", "on", "the", "grass", "(sits)", "two", "B.", "The"]

    def caption(*, broken: bool) -> str:
        chosen = generator.choices(words, k=generator.randint(3, 11))
        if broken:
            for _ in range(generator.randint(1, 3)):
                chosen.insert(generator.randint(0, len(chosen)), generator.choice(ENDS[1:8]))
        return " ".join(chosen)

    ids = generator.sample(range(1000), 50)
    references = {
        image: [caption(broken=generator.random() < 0.05) for _ in range(generator.randint(1, 5))]
        for image in ids
    }
    return references, {image: caption(broken=generator.random() < 0.05) for image in ids}


@NEEDS_JAVA
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_reference(seed: int) -> None:
    references, candidates = make_images(seed)
    report = evaluate(references, candidates, "BLEU,METEOR,ROUGE-L,CIDEr-D", replay="pycocoevalcap-1.2")
    corpus, per_image = theirs(references, {image: [text] for image, text in candidates.items()})
    assert report.replay is not None
    replayed = report.replay.report
    assert dict(replayed.corpus) == pytest.approx(corpus, rel=1e-12)
    for name, values in per_image.items():
        np.testing.assert_allclose(replayed.per_image[name], values, rtol=0, atol=1e-9)
    assert not report.replay.is_equal
    assert report["CIDEr-D"] > replayed["CIDEr-D"] + 0.05


@NEEDS_MODEL
def test_spice_reads_the_same_tokens() -> None:
    references = {1: ["a dog\rruns"], 2: ["a red bus"], 3: ["two cats"]}
    candidates = {1: "a dog", 2: "a red bus", 3: "two cats"}
    report = evaluate(references, candidates, ["SPICE"], replay="pycocoevalcap-1.2")
    assert report.replay is not None
    shifted = {1: ["a dog"], 2: ["runs"], 3: ["a red bus"]}
    expected = Spice().prepare(shifted).score(candidates)
    assert report.replay.report.corpus == expected.corpus
    assert report["SPICE"] > expected.corpus["SPICE"]


REFERENCES = {5: ["a dog\rruns", "the dog is here"], 2: ["two cats", "a cat on a bed"], 9: ["a man rides"]}
CANDIDATES = {5: "a dog runs", 2: "two cats on a bed", 9: "a man rides a horse"}
MOVED = {5: ["a dog", "runs"], 2: ["the dog is here", "two cats"], 9: ["a cat on a bed"]}


def test_later_captions_have_the_tokens_of_others() -> None:
    subsets = {"animals": [5, 2]}
    report = evaluate(REFERENCES, CANDIDATES, ["BLEU"], subsets=subsets, replay="pycocoevalcap-1.2")
    expected = evaluate(MOVED, CANDIDATES, ["BLEU"], subsets=subsets)
    replay = report.replay
    assert replay is not None
    assert replay.report.corpus == expected.corpus != report.corpus
    assert replay.report.subsets == expected.subsets
    assert replay.note == (
        "Replay of pycocoevalcap-1.2: 1 reference (image 5) contains a line end other than \\n, such as \\r,"
        " so later captions are scored with the tokens of other captions; capeval reads such a line end as a"
        " space."
    )
    signature = str(replay.report.signatures["BLEU"])
    assert "|tokenizer=ptb-3.4.1-lower-punctuation:reference-line_ends:reference|" in signature


def test_all_outputs_contain_both() -> None:
    report = evaluate(REFERENCES, CANDIDATES, ["BLEU-1"], subsets={"x": [2, 9]}, replay="pycocoevalcap-1.2")
    assert report.replay is not None
    replay, system = report.replay, System(name="Ours", report=report)
    grid = create_score_table([system, System(name="Again", report=report)])
    label = "Ours (pycocoevalcap-1.2)"
    assert [row[0].value for row in grid.rows[:2]] == ["Ours", label]
    assert [row[-1].value for row in grid.rows[:2]] == [report["BLEU-1"], replay.report["BLEU-1"]]
    assert [row[-1].best for row in grid.rows[:4]] == [True, False, True, False]
    assert [row[1].value for row in grid.rows] == ["all"] * 4 + ["x"] * 4
    assert grid.rows[5][-1].value == replay.report.subsets["x"]["BLEU-1"]
    assert grid.notes.count(replay.note) == 1
    images = create_image_table([system])
    assert [row[0].value for row in images.rows] == ["Ours"] * 3 + [label] * 3
    content = report.to_dict(per_image=True)["replay"]
    assert content["program"] == "pycocoevalcap-1.2"
    assert content["line_ends"] == {"references": 1, "candidates": 0}
    assert content["metrics"] == dict(replay.report.corpus)
    assert len(content["per_image"]) == 3
    assert label in to_html([system], brief=True)
    assert "pycocoevalcap-1.2" in report._repr_html_()


def test_without_line_ends_the_scores_are_equal() -> None:
    references = {image: [text.replace("\r", "\n") for text in texts] for image, texts in REFERENCES.items()}
    report = evaluate(references, CANDIDATES, ["BLEU", "CIDEr-D"], replay="pycocoevalcap-1.2")
    assert report.replay is not None
    assert report.replay.is_equal
    assert report.replay.report.corpus == report.corpus
    assert report.replay.note == (
        "Replay of pycocoevalcap-1.2: no caption contains a line end that shifts later captions; the scores"
        " are equal."
    )


def test_a_final_carriage_return_moves_nothing() -> None:
    references = {5: ["a dog runs\r"], 2: ["two cats"]}
    report = evaluate(references, {5: "a dog\r", 2: "two cats"}, ["BLEU"], replay="pycocoevalcap-1.2")
    assert report.replay is not None
    assert report.replay.note == (
        "Replay of pycocoevalcap-1.2: no caption contains a line end that shifts later captions; the scores"
        " are equal."
    )


@NEEDS_JAVA
@pytest.mark.parametrize(("end", "shifts"), [("\r", False), ("\n", False), ("\u2028", True), ("\r\n", True)])
def test_final_line_ends_are_counted_if_they_shift(end: str, shifts: bool) -> None:
    texts = {1: ["a dog runs"], 2: ["two cats"], 3: ["a man"]}
    captions = {image: [f"{text}{end}"] for image, [text] in texts.items()}
    tokens = TheirTokenizer().tokenize({image: [{"caption": text}] for image, [text] in captions.items()})
    assert (tokens != texts) == shifts
    found = find_line_ends(References(captions), Candidates(captions))
    assert found == (LineEnds(references=3, candidates=3, example=1) if shifts else LineEnds())


def test_notes_of_several_systems_have_their_names() -> None:
    evaluator = Evaluator(REFERENCES, ["BLEU-1"], replay="pycocoevalcap-1.2")
    ours = evaluator.evaluate(CANDIDATES).with_intervals(samples=10)
    others = evaluator.evaluate({**CANDIDATES, 2: "two\rcats"})
    grid = create_score_table([System(name="Ours", report=ours), System(name="Theirs", report=others)])
    assert ours.replay is not None
    assert others.replay is not None
    expected = [f"Ours: {ours.replay.note}", f"Theirs: {others.replay.note}"]
    notes = [note for note in grid.notes if "eplay" in note]
    assert notes == [*expected, "Scores of a replay have no intervals."]


def test_tags_may_span_captions_without_line_ends() -> None:
    references = {1: ["x <a b='y"], 2: ["z'> w v"]}
    report = evaluate(references, {1: "x y", 2: "z w v"}, ["BLEU-1"], replay="pycocoevalcap-1.2")
    assert report.replay is not None
    assert not report.replay.is_equal
    assert "a tag with an open quote across several captions" in report.replay.note


def test_such_captions_cause_one_warning() -> None:
    candidates = {**CANDIDATES, 2: "two\u2028cats", 9: "\x0ca man"}
    with pytest.warns(CapevalWarning) as found:
        evaluate(REFERENCES, candidates, ["BLEU"])
    assert [str(each.message) for each in found] == [
        "1 reference and 2 candidates (first: image 5) contain a line end other than \\n, such as \\r, which"
        " is read as a space; pycocoevalcap 1.2 gives later captions the tokens of other captions; to show"
        " its scores too, use replay='pycocoevalcap-1.2' (on the command line: capeval score --replay"
        " pycocoevalcap-1.2)"
    ]


@pytest.mark.parametrize("tokenizer", ["none", "char", Tokenizer(context="caption"), REPLAYED])
def test_other_tokenizers_cause_no_warning(tokenizer: Tokenizer | str) -> None:
    evaluate(REFERENCES, CANDIDATES, ["BLEU"], tokenizer=tokenizer)


def test_invalid_options_are_refused() -> None:
    with pytest.raises(OptionError, match=r"'replay' must be one of pycocoevalcap-1\.2"):
        evaluate(REFERENCES, CANDIDATES, ["BLEU"], replay="pycocoevalcap-1.1")  # type: ignore[arg-type]
    with pytest.raises(
        OptionError, match=r"a replay requires the tokenizer of the reference, .* \(got char\)"
    ):
        Evaluator(REFERENCES, ["BLEU"], tokenizer="char", replay="pycocoevalcap-1.2")
    with pytest.raises(OptionError, match="requires the tokenizer 'ptb' with context='file'"):
        Tokenizer(context="caption", line_ends="reference")
    with pytest.raises(OptionError, match="'line_ends' applies only to the tokenizer 'ptb'"):
        Tokenizer(function=str.split, name="split", line_ends="reference")


@pytest.mark.parametrize("lowercase", [True, False])
def test_other_options_of_the_tokenizer_apply(lowercase: bool) -> None:
    captions = ["A dog (or two)", "can't [see] U.S.", "", "25 1/2 A."]
    for punctuation in get_args(Punctuation):
        plain = Tokenizer(lowercase=lowercase, punctuation=punctuation)
        lines = replace(plain, line_ends="reference")
        assert tokenize(captions, lines) == tokenize(captions, plain)
