"""Digits of shown scores and p-values."""

from __future__ import annotations

import pytest

from capeval_server.submissions.selectors.precision import round_p_value, shown


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0002, 0.01), (0.01, 0.01), (0.0401, 0.05), (0.07, 0.07), (0.29, 0.29), (1.0, 1.0), (None, None)],
)
def test_private_p_values_are_rounded_up(value: float | None, expected: float | None) -> None:
    assert round_p_value(value, full=False) == expected
    assert round_p_value(value, full=True) == value


def test_private_scores_have_three_digits() -> None:
    assert (shown(0.123456, full=False), shown(0.123456, full=True)) == (0.123, 0.123456)
    assert shown(float("nan"), full=True) is None
