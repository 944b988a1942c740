"""The numbers of words of captions, counted by hand."""

import pytest

from capeval import Length, evaluate

CAPTIONS = {
    # Punctuation is removed, a possessive is a word of its own, and a word with a hyphen is one.
    "A dog's well-worn toy, on the grass.": 8,
    "two cats": 2,
    "": 0,
    "...": 0,
}


@pytest.mark.parametrize(("caption", "words"), CAPTIONS.items())
def test_words(caption: str, words: int) -> None:
    assert evaluate({1: ["A dog."]}, {1: caption}, [Length()]).corpus == {"Length": words}
