"""References and candidates: contents and validation errors."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval import Candidates, References, Signature
from capeval.data.scores import Digest
from capeval.errors import CaptionError
from tests.twins.text import fingerprint

TEXTS = st.text(st.characters(codec="utf-8"), max_size=9)
CAPTIONS = {3: ["a dog", "the dog"], 1: ["a cat"], 2: ["", "é 😀"]}


def test_references_are_a_mapping_in_the_order_given() -> None:
    references = References(CAPTIONS)
    assert list(references) == [3, 1, 2]
    assert references.image_ids == (3, 1, 2)
    assert references[2] == ["", "é 😀"]
    assert dict(references) == CAPTIONS == references
    assert references == References(CAPTIONS)
    assert references != References({1: ["a cat"]})
    assert len(references) == 3
    assert references.counts.tolist() == [2, 1, 2]
    assert repr(references) == "<References: 5 captions of 3 images>"


def test_captions_made_from_captions_share_their_memory() -> None:
    references = References(CAPTIONS)
    assert References(references).native is references.native
    assert Candidates(references) == references


def test_candidates_may_be_strings_or_lists() -> None:
    assert Candidates({"a.jpg": "a dog", "b.jpg": "a cat"})["a.jpg"] == ["a dog"]
    assert Candidates({1: ["a", "b"], 2: ["c"]}).counts.tolist() == [2, 1]


def test_other_iterables_of_captions_will_do() -> None:
    assert References({1: ("a", "b")})[1] == ["a", "b"]
    captions: Any = {np.int64(7): (text for text in "ab")}
    assert dict(References(captions)) == {7: ["a", "b"]}


@pytest.mark.parametrize("missing", [4, "3", True, 3.0, None])
def test_ids_are_themselves_only(missing: Any) -> None:
    references = References({3: ["a"], 1: ["b"]})
    assert missing not in references
    assert references.get(missing) is None
    with pytest.raises(KeyError):
        references[missing]
    with pytest.raises(CaptionError, match="is not among the 2 images with references"):
        references.select([missing])


def test_integers_of_numpy_are_ids() -> None:
    references = References({3: ["a"], 1: ["b"]})
    assert np.int64(3) in references
    assert references[np.int64(1)] == ["b"]  # type: ignore[index]
    assert list(references.select(np.array([1]))) == [1]


def test_select_keeps_the_order_asked_for() -> None:
    references = References(CAPTIONS)
    assert list(references.select([2, 3])) == [2, 3]
    assert references.select([2])[2] == ["", "é 😀"]
    with pytest.raises(CaptionError, match="image 9 is not among the 3 images with references"):
        references.select([3, 9])
    with pytest.raises(CaptionError, match="3"):
        references.select([3, 3])


@pytest.mark.parametrize("kind", [References, Candidates])
@pytest.mark.parametrize(
    ("captions", "message"),
    [
        ({}, r"must contain at least one image \(got none\)"),
        ([("a", ["b"])], r"of image 0 must be a list \(got tuple\); for pairs of an image id"),
        ([("1", "b")], r"of image 0 must be a list \(got tuple\)"),
        ([["a", 3]], r"caption 1 of image 0 must be a string \(got 3\)"),
        ({1: None}, r"of image 1 must be a list of strings \(got NoneType\)"),
        ({1: 5}, r"of image 1 must be a list of strings \(got int\)"),
        ({1: {"caption": "a dog"}}, r"of image 1 must be a list of strings \(got dict\)"),
        ({1: {"a": 1}.keys()}, r"of image 1 must be a list of strings \(got dict_keys\)"),
        ({1: {"a dog"}}, r"of image 1 must be a list of strings \(got set\)"),
        ({1: frozenset({"a dog"})}, r"of image 1 must be a list of strings \(got frozenset\)"),
        ({1: b"a dog"}, r"of image 1 must be a list of strings \(got bytes\)"),
        ({1: bytearray(b"a dog")}, r"of image 1 must be a list of strings \(got bytearray\)"),
        ({1: []}, "1"),
        ({1: ["a"], 2: []}, "2"),
        ({1: ["a", 5]}, "caption 1 of image 1 must be a string"),
        ({1: [b"a"]}, "caption 0 of image 1 must be a string"),
        ({1: ["\ud83d"]}, "caption 0 of image 1 contains a lone surrogate"),
        ({"\ud83d": ["a"]}, "image id 0 contains a lone surrogate"),
        ({1: ["a"], "2": ["a"]}, r"image id 1 must be an integer, as the first id is \(got '2', str\)"),
        ({"1": ["a"], 2: ["a"]}, r"image id 1 must be a string, as the first id is \(got 2, int\)"),
        ({True: ["a"]}, r"image id 0 must be an integer or a string \(got True, bool\)"),
        ({1.0: ["a"]}, r"image id 0 must be an integer or a string \(got 1.0, float\)"),
        ({None: ["a"]}, r"image id 0 must be an integer or a string \(got None, NoneType\)"),
        ({2**63: ["a"]}, "image id 0 must be an integer of at most 64 bits"),
        ({(1, 2): ["a"]}, "image id 0 must be an integer or a string"),
    ],
)
def test_bad_captions_are_refused_by_name(kind: Any, captions: Any, message: str) -> None:
    with pytest.raises(CaptionError, match=message):
        kind(captions)


def test_references_must_be_lists() -> None:
    with pytest.raises(CaptionError, match=r"references of image 1 must be a list of strings \(got str\)"):
        References({1: "a dog"})


@given(st.dictionaries(st.text(), st.lists(st.text(), min_size=1), min_size=1))
def test_any_text_comes_back(captions: dict[str, list[str]]) -> None:
    assert dict(References(captions)) == captions


@given(st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.lists(st.text(), min_size=1), min_size=1))
def test_any_integer_id_comes_back(captions: dict[int, list[str]]) -> None:
    references = References(captions)
    assert list(references.items()) == list(captions.items())


def test_a_signature_says_all() -> None:
    signature = Signature(
        metric="CIDEr-D",
        options=("n=4", "sigma=6"),
        tokenizer="none",
        images=10,
        references="4-6",
        document_frequencies="references",
        digest=Digest(References({1: ["a dog"]})),
        version="1.2.3",
    )
    assert str(signature) == (
        f"CIDEr-D|n=4|sigma=6|tokenizer=none|images=10|references=4-6|digest={signature.digest}"
        "|df=references|capeval=1.2.3"
    )


def test_a_digest_tells_references_apart() -> None:
    given = {1: ["a dog", "the dog"], 2: ["a cat"]}
    digest = Digest(References(given))
    assert digest == Digest(References({2: given[2], 1: given[1]}))
    assert hash(digest) == hash(Digest(References(given)))
    assert len(str(digest)) == 8
    int(str(digest), 16)
    others: list[Any] = [
        {1: ["a dog", "the dog"], 2: ["a cats"]},
        {1: ["a dogt", "he dog"], 2: ["a cat"]},
        {1: ["a dog"], 2: ["the dog", "a cat"]},
        {1: ["the dog", "a dog"], 2: ["a cat"]},
        {1: ["a dog", "the dog"], 3: ["a cat"]},
        {"1": ["a dog", "the dog"], "2": ["a cat"]},
    ]
    assert len({str(digest), *(str(Digest(References(other))) for other in others)}) == 7
    assert digest != str(digest)
    assert digest.total == sum(fingerprint(image, captions) for image, captions in given.items()) % 2**64
    assert str(digest) == f"{digest.total:016x}"[:8]


@given(
    captions=st.one_of(
        st.dictionaries(
            st.integers(-(2**63), 2**63 - 1), st.lists(TEXTS, min_size=1, max_size=3), min_size=1
        ),
        st.dictionaries(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), min_size=1),
    )
)
def test_each_image_has_its_fingerprint(captions: Any) -> None:
    expected = [fingerprint(image, group) for image, group in captions.items()]
    assert Digest(References(captions)).fingerprints.tolist() == expected


def test_digests_of_parts_add_up() -> None:
    whole = Digest(References({1: ["a dog"], 2: ["a cat"]}))
    parts = [Digest(References({1: ["a dog"]})), Digest(References({2: ["a cat"]}))]
    assert Digest.of_total(sum(part.total for part in parts) % 2**64) == whole
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole
    assert again.fingerprints.tolist() == whole.fingerprints.tolist()
    assert again.counts.tolist() == [1, 1]
    assert pickle.loads(pickle.dumps(Digest.of_total(7))) == Digest.of_total(7)
