"""CIDEr-R equals the published code, except for captions without words."""

import json
import math
from pathlib import Path

import pytest

from capeval import CiderR
from tests.conformance import reference
from tests.twins.scoring import Score, native, twin

FOLDER = Path(__file__).parent
GOLDEN = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))
# The captions of CIDEr-D's goldens, then those made up for CIDEr-R.
CIDER_D = reference.golden(FOLDER.with_name("cider"))
REFERENCES = [*CIDER_D["references"], *GOLDEN["references"]]
CANDIDATES = [*CIDER_D["candidates"], *GOLDEN["candidates"]]


@pytest.mark.parametrize("score", [native, twin])
def test_goldens(score: Score) -> None:
    scored = score(CiderR(), REFERENCES, CANDIDATES)
    published = [math.nan if value is None else value for value in GOLDEN["per_image"]]
    assert len(published) == len(scored.per_image[0])
    for candidate, expected, found in zip(CANDIDATES, published, scored.per_image[0], strict=True):
        if math.isnan(expected):
            # The published code divides by 0; these captions have no letters or digits.
            assert not any(character.isalnum() for character in candidate)
        else:
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), candidate
    without_nan = [value for value in published if not math.isnan(value)]
    assert len(without_nan) == len(published) - 2


def test_captions_without_words() -> None:
    # An empty candidate shares nothing; for one of symbols, only the penalty for repetition is missing.
    scored = native(CiderR(), [["a dog"], ["& %"]], ["", "& %"])
    assert scored.per_image == [[0, pytest.approx(5, rel=1e-12)]]
