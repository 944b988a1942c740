"""The chart of the README shows the times of the page of benchmarks."""

from __future__ import annotations

import pytest

from scripts.speed_chart import PICTURES, THEMES, Times, draw, read_times


def test_times_are_those_of_the_benchmarks() -> None:
    times = read_times()
    assert list(times) == ["BLEU, ROUGE-L, CIDEr-D", "The same with METEOR", "SPICE of 3,000 captions"]
    assert times["SPICE of 3,000 captions"] == Times("55.2", "2.4", "23")
    assert all(float(each.reference) > float(each.capeval) for each in times.values())


@pytest.mark.parametrize("theme", THEMES)
def test_pictures_show_the_times(theme: str) -> None:
    text = (PICTURES / f"speed-{theme}.svg").read_text(encoding="utf-8")
    assert text == draw(read_times(), THEMES[theme]), "run `python -m scripts.speed_chart`"
