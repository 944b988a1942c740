"""Sentences of captions, and SPICE with `text="sentences"`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from capeval import Candidates, References, Spice, Spider, Tokenizer, evaluate, load_candidates, tokenize
from capeval.errors import OptionError, UnscoredWarning
from capeval.formats import write_candidates, write_references
from capeval.metrics.sentences import split_sentences
from capeval.metrics.spice_parsing import analyze_sentences, list_scene_tuples
from capeval.scoring.saved_reports import load_saved_reports
from tests.capeval.cli.test_cli import output, refusal
from tests.shared_data import shared_data
from tests.spice_model import NEEDS_MODEL

SENTENCES = ("A man rides a red bike.", "Two dogs run on the grass!", "The bus is blue.", "A cat sleeps")
PARAGRAPH = " ".join(SENTENCES)
REFERENCES = References({1: [PARAGRAPH, "A man on a bike. Dogs."], 2: ["A woman in a hat.", "A woman"]})
CANDIDATES = Candidates({1: "A man on a red bike. Two dogs on grass.", 2: "A woman in a red hat."})


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("", []),
        ("A dog runs", ["a dog runs"]),
        ("A dog runs.", ["a dog runs"]),
        ("A dog runs. It barks!! Is it big? Yes", ["a dog runs", "it barks !!", "is it big", "yes"]),
        ("A dog , a cat ; and - a bird: all run", ["a dog a cat and a bird all run"]),
        # Periods of abbreviations and numbers.
        ("It is in the U.S. now.", ["it is in the u.s. now"]),
        ("It is in the U.S. The dog runs.", ["it is in the u.s.", "the dog runs"]),
        ("It costs 3.5 dollars. Mr. Smith pays.", ["it costs 3.5 dollars", "mr. smith pays"]),
        ("Dr. A. B. Smith ran. J. Doe sat.", ["dr. a. b. smith ran", "j. doe sat"]),
        ("It is 5 p.m. A dog runs.", ["it is 5 p.m.", "a dog runs"]),
        ("A dog.It runs.", ["a dog.it runs"]),
        # An ellipsis ends no sentence.
        ("A dog... runs. Wait... It stops.", ["a dog runs", "wait it stops"]),
        # Closing quotes and brackets belong to the sentence before them.
        ('"Go!" he says. (A dog runs.) It runs.', ["go", "he says", "-lrb- a dog runs -rrb-", "it runs"]),
        ("He said 'stop.' She did.", ["he said stop", "she did"]),
        ("\u201cA dog runs.\u201d It barks.", ["a dog runs", "it barks"]),
        ("A dog. . . It runs", ["a dog it runs"]),
        # Only punctuation.
        ("...", []),
        (". . ! ,", []),
        ("A dog.\nA cat.", ["a dog", "a cat"]),
    ],
)
def test_ends_of_sentences(caption: str, expected: list[str]) -> None:
    assert split_sentences([caption], Tokenizer()) == ["\n".join(expected)]


def test_the_tokenizer_decides_on_case_and_punctuation() -> None:
    text = "A (small) dog runs. It barks."
    assert split_sentences([text], Tokenizer(lowercase=False)) == ["A small dog runs\nIt barks"]
    assert split_sentences([text], Tokenizer(punctuation="paper")) == ["a small dog runs\nit barks"]
    assert split_sentences([text], Tokenizer(punctuation="keep")) == [
        "a -lrb- small -rrb- dog runs .\nit barks ."
    ]
    assert split_sentences(["a dog runs . it barks"], Tokenizer(kind="none")) == ["a dog runs .\nit barks"]
    words = Tokenizer(function=str.split, name="words")
    assert split_sentences(["A dog runs . It barks"], words) == ["A dog runs .\nIt barks"]


UNUSUAL = [
    "see http://a.b/c\u00a0",
    "see http://a.b/c\u00a0 .",
    "see http://a.b/c\u00a0 dog. It",
    "<a b='c d'>. It runs!",
    "\u2026 \u201cA\u201d. \U0001f600!",
    "B.",
    "The dog (a \u2018small\u2019 one) [sic] {x}?! Yes.",
]


@pytest.mark.parametrize("context", ["file", "caption"])
def test_only_line_ends_are_added_to_the_tokens(context: Literal["file", "caption"]) -> None:
    rng = random.Random(0)
    texts = [*UNUSUAL, *SENTENCES, *(create_caption(rng) for _ in range(1000))]
    tokenizer = Tokenizer(context=context)
    made = split_sentences(texts, tokenizer)
    expected = [" ".join(tokens) for tokens in tokenize(texts, tokenizer)]
    assert [text.replace("\n", " ") for text in made] == expected
    assert sum("\n" in text for text in made) > 500


@pytest.mark.conformance
def test_captions_of_three_published_systems_are_single_sentences() -> None:
    """Their tokens, and therefore their scores, are those of `text="tokens"`."""
    files = sorted(shared_data("systems_val2014").glob("*.json.gz"))
    assert len(files) == 3
    for file in files:
        texts = [texts[0] for texts in load_candidates(file).values()]
        assert split_sentences(texts, Tokenizer()) == [" ".join(tokens) for tokens in tokenize(texts)]


def create_caption(rng: random.Random) -> str:
    """Create a caption of words and marks, without two periods in a row, which are part of an ellipsis."""
    marks = (". ", "! ", "?! ", '." ', ".) ", "' ", ", ", "... ", " ( ", " ", " ")
    return "".join(
        rng.choice(("The", "dog", "Runs", "it")) + rng.choice(marks) for _ in range(rng.randrange(20))
    )


@NEEDS_MODEL
def test_sentences_end_as_in_the_parser() -> None:
    """SPICE's own splitter, which is native, agrees if it reads the tokens with their punctuation."""
    rng = random.Random(0)
    captions = [text for _ in range(300) if (text := create_caption(rng))]
    made = split_sentences(captions, Tokenizer(punctuation="keep", lowercase=False, context="caption"))
    found = analyze_sentences([text.replace("\n", " ") for text in made])
    assert ["\n".join(" ".join(each.tokens) for each in sentences) for sentences in found] == made


@NEEDS_MODEL
def test_sentences_are_merged_as_those_of_several_references() -> None:
    """A paragraph has the tuples of its sentences, and references in one paragraph score as separate ones."""
    (text,) = split_sentences([PARAGRAPH], Tokenizer())
    assert len(text.split("\n")) == len(SENTENCES)
    metric = Spice(text="sentences", categories=("All", "Object", "Attribute", "Relation"))
    apart = References({1: [*SENTENCES, "A man on a bike.", "Dogs."], 2: REFERENCES[2]})
    assert np.array_equal(
        evaluate(REFERENCES, CANDIDATES, [metric]).scores[0][1].statistics,
        evaluate(apart, CANDIDATES, [metric]).scores[0][1].statistics,
    )
    graph = metric.explain(text, [text]).candidate
    assert {each.name for each in graph.objects} >= {"man", "bike", "dog", "bus", "cat"}
    assert len(list_scene_tuples([text.replace("\n", " ")])[0]) != len(
        [one for each in list_scene_tuples(text.split("\n")) for one in each]
    )


@NEEDS_MODEL
def test_captions_of_one_sentence_have_equal_scores() -> None:
    references = References(
        {1: ["A man rides a red bike.", "a man on a bike"], 2: ["Two dogs run!", "...", "dogs"]}
    )
    candidates = Candidates({1: "A man, on a (red) bike...", 2: ""})
    tokens, sentences = (
        evaluate(references, candidates, [Spice(text=text), Spider(text=text)])
        for text in ("tokens", "sentences")
    )
    for name in ("SPICE", "SPIDEr"):
        assert tokens.per_image[name].tolist() == sentences.per_image[name].tolist()


@NEEDS_MODEL
def test_signatures_reports_and_the_command_line(tmp_path: Path) -> None:
    paths = [tmp_path / "references.json", tmp_path / "results.json"]
    write_references(REFERENCES, paths[0])
    write_candidates(CANDIDATES, paths[1])
    names = "SPICE(text=sentences),SPICE-Object(text=sentences),SPIDEr(text=sentences),CIDEr-D"
    written = json.loads(output("score", *paths, "-m", names, "-f", "json", "--per-image"))
    report = evaluate(REFERENCES, CANDIDATES, [*names.split(",")])
    assert written["metrics"] == pytest.approx(report.corpus, rel=1e-12)
    note = "Not the default options: SPICE(text=sentences), SPIDEr(text=sentences)."
    assert note in output("score", *paths, "-m", names)
    assert report.corpus["SPIDEr"] == (report.corpus["SPICE"] + report.corpus["CIDEr-D"]) / 2
    assert report.corpus["SPICE"] != evaluate(REFERENCES, CANDIDATES, ["SPICE"]).corpus["SPICE"]
    assert "text=sentences" in str(report.signatures["SPICE"])
    assert "text=sentences" in str(report.signatures["SPIDEr"])
    assert "ptb-3.4.1" in str(report.signatures["SPICE"])
    assert "text" not in str(evaluate(REFERENCES, CANDIDATES, ["SPIDEr"]).signatures["SPIDEr"])
    report.save(tmp_path / "report.json")
    (saved,) = load_saved_reports(tmp_path / "report.json")
    assert [metric.input_kind for metric in saved.restore_metrics()] == ["sentences"] * 3 + ["tokens"]
    assert saved.restore_tokenizer() == Tokenizer()
    page = tmp_path / "report.html"
    output("score", *paths, "-m", "SPICE(text=sentences)", "--report", page)
    assert page.read_text().count('<svg class="scene-graph"') == 4
    refused = refusal("study", "human", paths[0], "-m", "SPICE(text=sentences)")
    assert "'metrics' must read tokens" in refused or "--metrics must read tokens" in refused


@NEEDS_MODEL
def test_one_long_sentence_excludes_an_image() -> None:
    long = f"A dog runs. {'a dog and ' * 12} a cat. It sleeps."
    metrics = [Spice(text="sentences", longest=30), Spider(text="sentences", longest=30)]
    with pytest.warns(
        UnscoredWarning, match="image 1 is not scored .* of more than 30 tokens; raise the limit"
    ) as warned:
        report = evaluate(REFERENCES, {1: long, 2: "A woman. " * 400}, metrics)
    assert "text=sentences" not in str(warned[0].message)
    assert np.isnan(report.per_image["SPICE"]).tolist() == [True, False]
    with pytest.raises(OptionError, match="'text' must be one of tokens, sentences, raw"):
        Spice(text="paragraph")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"'text' must be one of tokens, sentences \(got 'raw'\)"):
        Spider(text="raw")  # type: ignore[arg-type]
