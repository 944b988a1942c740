"""capeval's tokenizer returns the tokens of the Stanford tokenizer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import capeval
from capeval.tokenizers import Punctuation
from tests.conformance.tokenizer import compare, contexts, generate

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="LEFT OUT: the jar needs java")


def tokens(lines: list[str], *, lowercase: bool, punctuation: Punctuation) -> list[list[str]]:
    """Call capeval's tokenizer; the only place with its calling convention.

    The captions of one call are taken for the lines of one file, in this order: the reference
    looks at what follows a caption (see docs/reference/tokenizer.md).
    """
    tokenizer = capeval.Tokenizer(lowercase=lowercase, punctuation=punctuation)
    return capeval.tokenize(lines, tokenizer)


def check(lines: list[str], expected: list[str], *, lowercase: bool) -> None:
    """Compare with output lines of the jar, before and after punctuation is removed."""
    assert lines, "nothing to compare"
    kept = tokens(lines, lowercase=lowercase, punctuation="keep")
    dropped = tokens(lines, lowercase=lowercase, punctuation="reference")
    for line, wanted, one, other in zip(lines, expected, kept, dropped, strict=True):
        assert " ".join(one) == wanted, line
        assert other == compare.drop_punctuation(wanted), line


@pytest.mark.parametrize("lowercase", [True, False])
def test_golden_lines(lowercase: bool) -> None:
    rows = compare.read_golden()
    expected = [lower if lowercase else cased for _, lower, cased in rows]
    check([line for line, _, _ in rows], expected, lowercase=lowercase)


def test_golden_lines_are_those_generated() -> None:
    generated = set(generate.lines(600, 2014))
    assert all(line in generated for line, _, _ in compare.read_golden())


@needs_java
@pytest.mark.parametrize("lowercase", [True, False])
def test_generated_lines(lowercase: bool) -> None:
    lines = [text for line in generate.lines(5_000, 7) for text in (line, compare.BARRIER)]
    check(lines, compare.jar_batch(lines, lowercase=lowercase), lowercase=lowercase)


@needs_java
def test_every_character() -> None:
    lines = [text for line in generate.code_point_lines() for text in (line, compare.BARRIER)]
    check(lines, compare.jar_batch(lines, lowercase=True), lowercase=True)


@needs_java
@pytest.mark.conformance
@pytest.mark.parametrize("lowercase", [True, False])
def test_very_many_generated_lines(lowercase: bool) -> None:
    lines = [text for line in generate.lines(100_000, 2026) for text in (line, compare.BARRIER)]
    assert len(lines) == 200_000
    check(lines, compare.jar_batch(lines, lowercase=lowercase), lowercase=lowercase)


@needs_java
@pytest.mark.conformance
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("split", ["val", "train"])
def test_all_captions_of_coco(split: str, lowercase: bool) -> None:
    captions = compare.coco_captions(split)
    check(captions, compare.jar_batch(captions, lowercase=lowercase), lowercase=lowercase)


@pytest.mark.conformance
def test_captions_that_depend_on_the_next_one_are_listed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "tokenizer.md").read_text(encoding="utf-8")
    assert "\n".join(contexts.table()) in page


def test_paper_mode_drops_lower_case_brackets_too() -> None:
    line = ["(A) {B} [C]."]
    reference = tokens(line, lowercase=True, punctuation="reference")
    assert reference == [["-lrb-", "a", "-rrb-", "-lcb-", "b", "-rcb-", "-lsb-", "c", "-rsb-"]]
    assert tokens(line, lowercase=True, punctuation="paper") == [["a", "b", "-lsb-", "c", "-rsb-"]]


def test_line_ends_inside_a_caption_count_as_spaces() -> None:
    ends = compare.LINE_ENDS
    lines = [f"a{end}dog" for end in ends]
    assert tokens(lines, lowercase=True, punctuation="reference") == [["a", "dog"]] * len(ends)
