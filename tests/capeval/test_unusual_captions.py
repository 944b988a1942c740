"""SPICE for captions that are empty, extremely long or not text: a score or a clear error."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest

from capeval import Spice
from capeval.compat.spice.spice import Spice as CompatSpice
from capeval.errors import CaptionError, UnscoredWarning
from tests.capeval.cli.test_cli import output, refusal
from tests.spice_model import NEEDS_MODEL

pytestmark = NEEDS_MODEL
REFERENCES = {1: ["a dog runs"]}
LONG = "dog " * 100_000


def scores(caption: str) -> list[float]:
    """By the tokens, as written, and under pycocoevalcap's name."""
    ours = [Spice(text=text).prepare(REFERENCES).score({1: caption}) for text in ("tokens", "raw")]
    theirs, _ = CompatSpice().compute_score(REFERENCES, {1: [caption]})
    return [*(scored.corpus["SPICE"] for scored in ours), float(theirs)]


@pytest.mark.parametrize(("caption", "score"), [("", 0), (" \t", 0), ("dog", 2 / 3), ("a dog\nruns\ton", 1)])
def test_short_captions_have_a_score(caption: str, score: float) -> None:
    assert scores(caption) == [pytest.approx(score)] * 3


def test_a_caption_may_have_any_number_of_sentences() -> None:
    caption = "a dog . " * 3000
    scored = Spice(text="raw").prepare(REFERENCES).score({1: caption})
    assert scored.corpus["SPICE"] == pytest.approx(2 / 3)
    # The tokens are without full stops, and so one sentence.
    with pytest.warns(UnscoredWarning, match="more than 400 tokens"):
        assert isnan(Spice().prepare(REFERENCES).score({1: caption}).corpus["SPICE"])


def test_a_sentence_that_is_too_long_has_no_score() -> None:
    with pytest.warns(UnscoredWarning, match="image 1 is not scored .* more than 400 tokens"):
        assert all(isnan(score) for score in scores(LONG))


def test_a_lone_surrogate_is_refused() -> None:
    caption, message = "a \ud800 dog", "a lone surrogate"
    for text in ("tokens", "raw"):
        with pytest.raises(CaptionError, match=message):
            Spice(text=text).prepare(REFERENCES).score({1: caption})
    with pytest.raises(CaptionError, match=message):
        CompatSpice().compute_score(REFERENCES, {1: [caption]})


def test_the_command_line_names_the_line_of_a_long_caption(tmp_path: Path) -> None:
    path = tmp_path / "captions.txt"
    path.write_text("\x00\x07 dog\n\n" + LONG)
    assert f"{path}: line 3: SPICE parses sentences of up to 400 tokens (got one of 100000" in refusal(
        "scene-graph", path
    )
    path.write_text("\x00\x07 dog\n\ndog")
    assert output("scene-graph", path).count("(dog)") == 2
