"""Tokens of training captions: datasets with tokens, vocabularies, and the Karpathy training split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capeval.datasets import coco, karpathy
from capeval.datasets.training_tokens import WordIndices, has_sentences, load_karpathy_train, load_tokens
from capeval.errors import FormatError, FormatErrorKind, OptionError

SENTENCES = [{"tokens": ["a", "dog"], "raw": "A dog."}, {"tokens": [], "raw": "?"}]


def dataset(*splits: str, sentences: Any = SENTENCES) -> bytes:
    return json.dumps({"images": [{"split": split, "sentences": sentences} for split in splits]}).encode()


def test_tokens_of_the_selected_splits_are_read() -> None:
    file = dataset("train", "val", "restval")
    assert has_sentences(file)
    assert dict(load_tokens(file, ("train", "restval"))) == {0: ["a dog", ""], 1: ["a dog", ""]}
    assert len(load_tokens(dataset("test"))) == 1
    assert not has_sentences(b'{"1": ["a dog"]}')
    assert not has_sentences(b"image_id,caption\n1,a dog\n")


@pytest.mark.parametrize(
    ("file", "splits", "kind", "message"),
    [
        (dataset("train", "val"), (), FormatErrorKind.AMBIGUOUS, "has the splits 'train', 'val'; select one"),
        (
            dataset("train"),
            ("dev",),
            FormatErrorKind.UNKNOWN,
            "unknown split 'dev'; the file has the splits 'train'",
        ),
        (
            dataset("train", sentences=[{"raw": "A dog."}]),
            (),
            FormatErrorKind.WRONG_TYPE,
            r"images\[0\].sentences must be a list of objects with a list of strings as 'tokens'",
        ),
        (dataset("train", sentences=[]), (), FormatErrorKind.NO_CAPTIONS, "at least one caption"),
        (b'{"1": ["a dog"]}', (), FormatErrorKind.MISSING_FIELD, "must contain a list 'images'"),
    ],
)
def test_other_files_are_refused(
    file: bytes, splits: tuple[str, ...], kind: FormatErrorKind, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "dataset.json"
    path.write_bytes(file)
    with pytest.raises(FormatError, match=rf"{path}: .*{message}") as error:
        load_tokens(path, splits)
    assert error.value.kind == kind


def test_words_become_indices_with_an_end() -> None:
    vocabulary = WordIndices.load(b'{"ix_to_word": {"1": "a", "7": "UNK", "12": "dog"}, "images": []}')
    assert dict(vocabulary.encode({3: ["a red dog", ""]})) == {3: ["1 7 12 0", "0"]}


def test_unknown_words_need_an_index() -> None:
    vocabulary = WordIndices.load(b'{"ix_to_word": {"1": "a"}}')
    with pytest.raises(OptionError, match="must have the word 'dog', or UNK for unknown words"):
        vocabulary.encode({3: ["a dog"]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (["a"], "expected a JSON object with words by index as 'ix_to_word'"),
        ({"ix_to_word": {"1": 2}}, "expected a JSON object with words by index"),
        ({"ix_to_word": {"1": "a"}, "bpe": "codes"}, r"subwords \('bpe'\) are not supported"),
    ],
)
def test_other_vocabularies_are_refused(content: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cocotalk.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=rf"{path}: .*{message}"):
        WordIndices.load(path)


def test_the_training_split_has_all_other_images() -> None:
    images = set(load_karpathy_train())
    others = {image for split in ("val", "test") for image in karpathy.list_images(split)}
    every = set(coco.load_captions("train2014")) | set(coco.load_captions("val2014"))
    assert len(images) == 113_287
    assert images | others == every
    assert not images & others
