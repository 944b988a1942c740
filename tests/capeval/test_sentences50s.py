"""All sentences of PASCAL-50S and ABSTRACT-50S."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from capeval.datasets.sentences50s import load_sentences
from capeval.errors import FormatError


def images(*names: str, sentences: object = ("a dog", "a cat", "a bus")) -> list[dict[str, Any]]:
    return [{"name": name, "sentences": np.array(sentences, dtype=object)} for name in names]


@pytest.mark.parametrize("variable", ["train_sent_final", "abs_sent"])
def test_sentences_of_both_datasets(tmp_path: Path, variable: str) -> None:
    path = tmp_path / "sentences.mat"
    savemat(path, {variable: images("https://example.org/a/1.jpg", "2.jpg")})
    assert load_sentences(path) == {
        "1.jpg": ["a dog", "a cat", "a bus"],
        "2.jpg": ["a dog", "a cat", "a bus"],
    }
    assert load_sentences(path, most=1) == {"1.jpg": ["a dog"], "2.jpg": ["a dog"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"other": [1]}, "must have a variable 'train_sent_final'"),
        ({"abs_sent": [{"name": "1.jpg"}]}, "abs_sent.0. must have 'sentences'"),
        ({"abs_sent": images("a/1.jpg", "b/1.jpg")}, "abs_sent.1. must be a new image .got '1.jpg' again"),
        ({"abs_sent": images("1.jpg", sentences=(1.5, 2.5))}, "a list of strings, at least one"),
    ],
)
def test_invalid_files(tmp_path: Path, content: dict[str, object], message: str) -> None:
    path = tmp_path / "sentences.mat"
    savemat(path, content)
    with pytest.raises(FormatError, match=message):
        load_sentences(path)
