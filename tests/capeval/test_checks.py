"""Checks of options and the wording of lists: one phrase for each."""

from collections.abc import Callable

import pytest

from capeval._internal import validation
from capeval.errors import MismatchError, OptionError, messages


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: validation.validate_integer("n", 0, 1), "'n' must be an integer of at least 1 (got 0)"),
        (lambda: validation.validate_integer("n", 1.0, 0), "'n' must be an integer of at least 0 (got 1.0)"),
        (
            lambda: validation.validate_integer("n", True, 0),
            "'n' must be an integer of at least 0 (got True)",
        ),
        (lambda: validation.validate_integer("n", 5, 1, 4), "'n' must be an integer from 1 to 4 (got 5)"),
        (lambda: validation.validate_integer("n", 1, 0, 0), "'n' must be an integer from 0 to 0 (got 1)"),
        (
            lambda: validation.validate_integer("n", "x", 1, 4, or_none=True),
            "'n' must be an integer from 1 to 4, or None (got 'x')",
        ),
        (lambda: validation.checked_order("n", 0), "'n' must be an integer from 1 to 4 (got 0)"),
        (lambda: validation.validate_number("a", 2, 0, 1.5), "'a' must be a number from 0 to 1.5 (got 2)"),
        (
            lambda: validation.validate_positive("a", 0),
            "'a' must be a number above 0, from 1e-100 to 1e100 (got 0)",
        ),
        (lambda: validation.validate_level("a", 1.0), "'a' must be a number between 0 and 1 (got 1.0)"),
        (lambda: validation.validate_flag("a", 1), "'a' must be True or False (got 1)"),
        (lambda: validation.checked_text("a", None), "'a' must be a string (got None)"),
        (lambda: validation.validate_choice("a", [], ("x", "y")), "'a' must be one of x, y (got [])"),
    ],
)
def test_what_is_refused(check: Callable[[], object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        check()
    assert str(caught.value) == message


def test_what_is_right_is_given_back() -> None:
    assert validation.validate_integer("n", 7, 7) == validation.validate_integer("n", 7, 1, 7) == 7
    assert validation.validate_number("a", 0, 0, 1) == 0
    assert validation.validate_positive("a", 2) == 2
    assert validation.validate_level("a", 0.5) == 0.5
    assert validation.validate_flag("a", False) is False
    assert validation.checked_text("a", "") == ""
    assert validation.validate_choice("a", "y", ("x", "y")) == "y"


def test_another_error_can_be_asked_for() -> None:
    with pytest.raises(MismatchError, match="'a' must be one of x"):
        validation.validate_choice("a", "y", ("x",), error=MismatchError)
    with pytest.raises(MismatchError, match="'a' must be an integer of at least 1"):
        validation.validate_integer("a", 0, 1, error=MismatchError)


def test_lists_are_shown_by_their_first_few() -> None:
    assert messages.format_images([7]) == "image 7 is"
    assert messages.format_images(["a", "b"]) == "2 images ('a', 'b') are"
    assert messages.format_images(range(12_000)) == "12,000 images (0, 1, 2, 3, 4, ...) are"
    assert messages.format_names(["a", "b"]) == "'a', 'b'"
    assert messages.format_names(list("abcdefg")) == "'a', 'b', 'c' and 4 more"
    assert messages.shorten("x" * 78) == repr("x" * 78)
    assert messages.shorten("x" * 79) == "'" + "x" * 76 + "..."


def test_types_of_ids_are_told_apart() -> None:
    assert messages.describe_id_types(1, 2) == messages.describe_id_types("a", "b") == ""
    assert messages.describe_id_types("1", 2) == "; image ids must be integers (got strings)"
    assert messages.describe_id_types(1, "2") == "; image ids must be strings (got integers)"


def test_images_that_differ() -> None:
    expected = [1, 2, 3]
    assert messages.describe_image_mismatch({3: "", 1: "", 2: ""}, expected, "split 'a'", "a caption") == ""
    assert (
        messages.describe_image_mismatch([1, 2, 3, 9], expected, "split 'a'", "a caption")
        == "image 9 is not in split 'a'"
    )
    assert (
        messages.describe_image_mismatch([1, 2, 9], expected, "split 'a'", "a caption")
        == "image 9 is not in split 'a'; image 3 is missing a caption"
    )
    assert (
        messages.describe_image_mismatch([], expected, "split 'a'", "a caption")
        == "3 images (1, 2, 3) are missing a caption"
    )
    assert (
        messages.describe_image_mismatch([1], expected, "split 'a'", "a caption")
        == "2 images (2, 3) are missing a caption"
    )
    problem = messages.describe_image_mismatch(["1"], expected, "split 'a'", "a caption")
    assert problem == "image '1' is not in split 'a'; image ids must be integers (got strings)"
