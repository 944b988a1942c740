"""Flickr8K ratings: parsing, format detection and validation errors."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from capeval.datasets.flickr8k import load_flickr8k, load_flickr8k_crowdflower, load_flickr8k_expert
from capeval.errors import FormatError

CAPTIONS = (
    b"a.jpg#0\tA dog .\na.jpg#1\tDogs .\na.jpg#2\tDogs .\n"
    b"b.jpg#0\tA cat .\nb.jpg#1\tDogs .\nb.jpg#2\tA bird .\n"
)
EXPERTS = b"a.jpg\tb.jpg#0\t1\t2\t1\na.jpg\ta.jpg#1\t4\t4\t4\n"
CROWD = b"a.jpg\ta.jpg#0\t1\t3\t0\na.jpg\tb.jpg#0\t0\t0\t3\nb.jpg\tb.jpg#0\t0.666666666666667\t2\t1\n"


def test_experts_rate_from_1_to_4() -> None:
    references, ratings = load_flickr8k_expert(EXPERTS, CAPTIONS)
    assert references == {"a.jpg": ["A dog .", "Dogs .", "Dogs ."]}
    assert ratings.captions == ("A cat .",)
    assert ratings.values.tolist() == [[1, 2, 1]]


def test_own_captions_are_rated_where_asked_for() -> None:
    _, ratings = load_flickr8k_expert(EXPERTS, CAPTIONS, own=True)
    assert ratings.captions == ("A cat .", "Dogs .")


def test_paths_are_read_and_named(tmp_path: Path) -> None:
    experts, captions = tmp_path / "experts.txt", tmp_path / "captions.txt"
    captions.write_bytes(CAPTIONS)
    experts.write_bytes(EXPERTS)
    assert load_flickr8k(experts, captions)[1].captions == ("A cat .",)
    experts.write_bytes(b"a.jpg\tb.jpg#0\t1\t2\t5\n")
    with pytest.raises(FormatError) as caught:
        load_flickr8k_expert(experts, captions)
    assert caught.value.path == experts


def test_crowdflower_rates_by_the_share_of_yes() -> None:
    references, ratings = load_flickr8k_crowdflower(CROWD, CAPTIONS)
    assert references == {"a.jpg": ["Dogs .", "Dogs ."], "b.jpg": ["Dogs .", "A bird ."]}
    assert ratings.image_ids == ("a.jpg", "a.jpg", "b.jpg")
    assert ratings.captions == ("A dog .", "A cat .", "A cat .")
    assert ratings.values.tolist() == [[1], [0], [0.666666666666667]]


def test_a_candidate_takes_one_equal_caption_a_row() -> None:
    # By its text, also if it belongs to a different image; captions that are already removed are no error.
    row = b"a.jpg\tb.jpg#1\t0\t0\t3\n"
    assert load_flickr8k_crowdflower(row, CAPTIONS)[0] == {"a.jpg": ["A dog .", "Dogs ."]}
    for times in (2, 3):
        assert load_flickr8k_crowdflower(row * times, CAPTIONS)[0] == {"a.jpg": ["A dog ."]}


def test_the_last_caption_of_an_image_is_not_taken() -> None:
    rows = b"".join(b"b.jpg\tb.jpg#%d\t1\t3\t0\n" % number for number in range(3))
    with pytest.raises(FormatError, match=r"line 3 must have a candidate .* 'b.jpg' .*'b.jpg#2'"):
        load_flickr8k_crowdflower(rows, CAPTIONS)


def test_the_first_line_says_which_file_it_is() -> None:
    assert load_flickr8k(EXPERTS, CAPTIONS)[1].values.shape == (1, 3)
    assert load_flickr8k(CROWD, CAPTIONS)[1].values.shape == (3, 1)
    with pytest.raises(FormatError, match=r"line 1 must have three ratings .*, or the share .*got 9, 9, 9"):
        load_flickr8k(b"a.jpg\tb.jpg#0\t9\t9\t9\n", CAPTIONS)


def test_no_line_fits_both_files() -> None:
    for numbers in itertools.product("1234", repeat=3):
        line = "\t".join(("a.jpg", "b.jpg#0", *numbers)).encode()
        load_flickr8k_expert(line, CAPTIONS)
        with pytest.raises(FormatError):
            load_flickr8k_crowdflower(line, CAPTIONS)


@pytest.mark.parametrize("numbers", ["1\t3\t0", "0\t2\t1", "1\t2\t5", "1\t2\t1.5", "1\tx\t1", "1\t\t1"])
def test_ratings_outside_1_to_4_are_refused(numbers: str) -> None:
    rows = EXPERTS + f"a.jpg\tb.jpg#0\t{numbers}\n".encode()
    for load in (load_flickr8k, load_flickr8k_expert):
        with pytest.raises(FormatError, match=r"line 3 must have three ratings from 1 to 4"):
            load(rows, CAPTIONS)


@pytest.mark.parametrize(
    "numbers", ["0.5\t3\t0", "1\t0\t0", "nan\t1\t0", "1\t-3\t0", "1\tx\t0", "0.5\t1.5\t1.5", "1\t1\t1"]
)
def test_shares_of_other_votes_are_refused(numbers: str) -> None:
    rows = CROWD + f"a.jpg\tb.jpg#0\t{numbers}\n".encode()
    for load in (load_flickr8k, load_flickr8k_crowdflower):
        with pytest.raises(FormatError, match=r"line 4 must have the share of yes"):
            load(rows, CAPTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a.jpg\tb.jpg#0\t1\t2\n", "line 1 must have 5 columns"),
        (b"a.jpg\tb.jpg#9\t1\t2\t1\n", "got 'b.jpg#9'"),
        (b"z.jpg\tb.jpg#0\t1\t2\t1\n", "got 'z.jpg'"),
        (b"", "at least one rating"),
    ],
)
def test_wrong_ratings_are_named(text: bytes, message: str) -> None:
    for load in (load_flickr8k, load_flickr8k_expert, load_flickr8k_crowdflower):
        with pytest.raises(FormatError, match=message):
            load(text, CAPTIONS)


def test_wrong_captions_are_named() -> None:
    with pytest.raises(FormatError, match="line 2 must have a new caption id"):
        load_flickr8k(EXPERTS, b"a.jpg#0\tA dog .\na.jpg#0\tDogs .\n")
