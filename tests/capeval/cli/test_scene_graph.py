"""Scene graphs of captions from the command line."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from capeval import Spice
from capeval.cli.commands import scene_graph
from capeval.metrics.spice_parsing import analyze_sentences, list_scene_tuples
from tests.capeval.cli.test_cli import output, refusal
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL

TEXT = "A man rides a red bike.\n\nTwo dogs sleep."


def test_text_to_read(tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text(TEXT)
    text = output("scene-graph", tmp_path / "captions.txt")
    assert output("scene-graph", "-", input=TEXT.encode()) == text
    lines = text.splitlines()
    assert lines[0] == "A man rides a red bike."
    assert "  (bike, red)" in lines
    assert lines[lines.index("") + 1] == "  no tuples"


def test_a_line_of_json_for_each_line() -> None:
    lines = [
        json.loads(line)
        for line in output("scene-graph", "-", "-f", "jsonl", input=TEXT.encode()).split("\n")[:-1]
    ]
    assert [list(line) for line in lines] == [["caption", "tuples"]] * 3
    assert [line["caption"] for line in lines] == TEXT.split("\n")
    parsed = ["a man rides a red bike", "", "two dogs sleep"]
    assert [line["tuples"] for line in lines] == [
        [list(parts) for parts in each] for each in list_scene_tuples(parsed)
    ]
    assert lines[1]["tuples"] == []


def test_raw_captions_are_parsed_as_they_are_written() -> None:
    raw = output("scene-graph", "-", "-f", "jsonl", "--raw", input=TEXT.encode())
    (man, _, _) = (json.loads(line) for line in raw.splitlines())
    # With its full stop the caption is a sentence to the parser, which tells the verb.
    assert ["man", "bike", "ride"] in man["tuples"]
    assert man["tuples"] == [list(parts) for parts in list_scene_tuples([man["caption"]])[0]]


def test_stages_have_the_usual_forms() -> None:
    caption = "A man sits. Two dogs, and a cat, sleep near the window."
    text = output("scene-graph", "-", "-f", "jsonl", "--stages", "--raw", input=caption.encode())
    first, second = json.loads(text)["sentences"]
    assert first["tokens"] == ["A", "man", "sits", "."]
    assert first["tags"] == ["DT", "NN", "VBZ", "."]
    assert first["lemmas"] == ["a", "man", "sit", "."]
    assert first["tree"] == "(ROOT (S (NP (DT A) (NN man)) (VP (VBZ sits)) (. .)))"
    assert first["score"] < 0
    rows = [line.split("\t") for line in second["conllu"].splitlines()]
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert all(len(row) == 10 for row in rows)
    assert rows[0] == ["1", "Two", "two", "_", "CD", "_", "2", "nummod", "2:nummod", "_"]
    cat = next(row for row in rows if row[1] == "cat")
    # The one head of the basic dependencies, and both of the processed ones.
    assert cat[6:9] == ["2", "conj", "2:conj:and|8:nsubj"]


def test_copies_of_words_are_empty_nodes() -> None:
    caption = "a man walks to and from the store"
    (sentence,) = analyze_sentences([caption])[0]
    assert any(end[1] for _, *ends in sentence.processed for end in ends), (
        "the sentence has no copy of a word"
    )
    conllu = json.loads(output("scene-graph", "-", "-f", "jsonl", "--stages", input=caption.encode()))
    rows = [line.split("\t") for line in conllu["sentences"][0]["conllu"].splitlines()]
    (copy,) = (row for row in rows if "." in row[0])
    number = copy[0].partition(".")[0]
    assert copy[6:8] == ["_", "_"]
    assert copy[9] == f"CopyOf={number}"
    assert copy[8] != "_"
    assert rows[rows.index(copy) - 1][0] == number


def test_what_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "captions.txt"
    path.write_text("a dog\n" + "the " * 399 + "a cat")
    assert (
        f"{path}: line 2: SPICE parses sentences of up to 400 tokens (got one of 401 in the caption"
        in refusal("scene-graph", path)
    )
    path.write_text("a dog near a red cat")
    assert "of up to 5 tokens" in refusal("scene-graph", path, "--longest", "5")
    assert "(cat)" in output("scene-graph", path, "--longest", "6")
    assert "standard input: line 1: SPICE parses sentences of up to 1 tokens" in refusal(
        "scene-graph", "-", "--longest", "1", "--stages", "-f", "jsonl", input=b"a dog"
    )
    path.write_bytes(b"a dog\na \xff")
    assert "line 2 column 3: the byte 0xff is not UTF-8" in refusal("scene-graph", path)
    assert "--stages requires --format jsonl (got --format text)" in refusal("scene-graph", path, "--stages")


def test_sentences_are_parsed_separately() -> None:
    text = b"A man rides a red bike. Two dogs sleep.\nA cat on a bed!"
    lines = output("scene-graph", "-", "--sentences", "--stages", "-f", "jsonl", input=text).split("\n")
    both, cat = (json.loads(line) for line in lines[:-1])
    assert both["tuples"] == [
        list(parts)
        for each in list_scene_tuples(["a man rides a red bike", "two dogs sleep"])
        for parts in each
    ]
    tokens = [sentence["tokens"] for sentence in both["sentences"]]
    assert tokens == [["a", "man", "rides", "a", "red", "bike"], ["two", "dogs", "sleep"]]
    assert cat["tuples"] == [list(parts) for parts in list_scene_tuples(["a cat on a bed"])[0]] != []
    assert "line 1: SPICE parses sentences of up to 5 tokens (got one of 6" in refusal(
        "scene-graph", "-", "--sentences", "--longest", "5", input=text
    )
    assert "--sentences can't be combined with --raw" in refusal(
        "scene-graph", "-", "--sentences", "--raw", input=text
    )


def test_the_longest_sentence_is_that_of_the_metric() -> None:
    assert inspect.signature(scene_graph.run).parameters["longest"].default == Spice.longest
