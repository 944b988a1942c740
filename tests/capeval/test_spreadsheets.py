"""CSV cells: text is escaped against formulas, numbers never are, and reading gives back the same text."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval._internal.csv_escape import escape_cell, escape_row, is_number, unescape_cell

NUMBERS = ["-1", "+1", "0", "-0.5", "-.5", "3.", "-1e-05", "2E+10"]
FORMULAS = [
    "=1+1",
    "+a",
    "-1+1",
    "-1%",
    "@a",
    "\t=1",
    "\r-1",
    "-",
    "- a dog",
    " =1",
    "-1\n",
    "-\u0661",
    "-inf",
    "\uff0b1",
]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_stays_as_it_is(text: str) -> None:
    assert is_number(text)
    assert escape_cell(text) == unescape_cell(text) == text


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    assert not is_number(text)
    assert escape_cell(text) == f"'{text}"


@given(
    st.text(alphabet="'=+-@ \t1.ea", max_size=6)
    | st.text()
    | st.sampled_from([f"'{text}" for text in NUMBERS])
)
def test_reading_gives_back_the_text(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text


@pytest.mark.parametrize("text", [*NUMBERS, *FORMULAS])
def test_cells_of_early_versions_are_read_too(text: str) -> None:
    # They escaped negative numbers as well.
    assert unescape_cell(f"'{text}" if text.startswith(("-", "+")) else escape_cell(text)) == text


def test_a_row_keeps_its_numbers() -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(escape_row([-1, -0.5, "-1", "-1+1", "a dog", None]))
    assert out.getvalue() == "-1,-0.5,-1,'-1+1,a dog,\n"
