"""Figures of studies in both themes: all that they show differs from its background."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import Collection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from capeval.report.figures import (
    COLORS,
    DARK,
    LIGHT,
    THEMES,
    Curve,
    Theme,
    get_text_color,
    plot_lines,
    use_theme,
)
from capeval.studies.consensus import SystemWins
from capeval.studies.consensus.figures import win_bars
from capeval.studies.gaming.report import ratio_map
from tests.capeval.study_cases import CASES, write_files

# Texts have the contrast of WCAG 2.2. The smallest contrast of the palette is that of yellow and white.
TEXT = 4.5
DATA = {LIGHT: 1.3, DARK: 3.0}

both_themes = pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


def get_luminance(color: object) -> float:
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in to_rgb(color)]  # type: ignore[arg-type]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def get_contrast(first: object, second: object) -> float:
    low, high = sorted(map(get_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def check_contrasts(figure: Figure, theme: Theme) -> None:
    """Check the texts, lines and areas of a figure."""
    assert get_contrast(figure.get_facecolor(), theme.background) == 1
    cells = {id(text) for panel in figure.axes if panel.images for text in panel.texts}
    for text in figure.findobj(Text):
        if text.get_text() and id(text) not in cells:
            assert get_contrast(text.get_color(), theme.background) >= TEXT, text
    for panel in figure.axes:
        assert get_contrast(panel.get_facecolor(), theme.background) == 1
        drawn: list[object] = [line.get_color() for line in panel.findobj(Line2D) if line in panel.lines]
        drawn += [patch.get_facecolor() for patch in panel.patches if isinstance(patch, Rectangle)]
        drawn += [color for each in panel.collections for color in get_edges(each)]
        for color in drawn:
            assert get_contrast(color, theme.background) >= DATA[theme], color


def get_edges(collection: Collection) -> list[object]:
    """Return the opaque colors of the lines of a collection, such as error bars."""
    edges = np.atleast_2d(np.asarray(collection.get_edgecolor(), dtype=np.float64).reshape(-1, 4))
    return [] if collection.get_array() is not None else [tuple(color) for color in edges if color[3] == 1]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.has_figures])
def test_everything_is_visible_in_each_theme(name: str, files: Path) -> None:
    figures = CASES[name].report(files).figures
    assert figures
    for draw in figures.values():
        for theme in THEMES:
            with use_theme(theme):
                figure = draw()
            check_contrasts(figure, theme)


@both_themes
def test_all_colors_of_the_palette_are_visible(theme: Theme) -> None:
    curves = {str(number): Curve(x=[1, 2], y=[0, number]) for number in range(len(COLORS) + 1)}
    won = SystemWins(fractions={"1": 0.25, "2": 0.75}, correlation=None)
    with use_theme(theme):
        figures = [
            plot_lines(curves, title="Lines", x_label="x", y_label="y"),
            win_bars({str(number): won for number in range(len(COLORS) + 1)}),
        ]
    for figure in figures:
        check_contrasts(figure, theme)
    shown = [line.get_color() for line in figures[0].axes[0].lines]
    assert len(set(shown)) == len(COLORS)


@both_themes
def test_texts_in_cells_have_the_contrast_of_texts(theme: Theme) -> None:
    values = [number / 20 for number in range(41)]
    with use_theme(theme):
        figure = ratio_map([values], ["attack"], [str(value) for value in values])
    panel = figure.axes[0]
    (cells,) = panel.images
    assert len(panel.texts) == len(values)
    for value, text in zip(values, panel.texts, strict=True):
        assert get_contrast(text.get_color(), tuple(cells.to_rgba(np.array([value]))[0])) >= TEXT, value


@pytest.mark.parametrize(
    ("background", "text"),
    [
        ("white", "black"),
        ("black", "white"),
        ("#767676", "black"),
        ("#747474", "white"),
        ("#F0E442", "black"),
    ],
)
def test_the_color_of_text_has_the_higher_contrast(background: str, text: str) -> None:
    assert get_text_color(background) == text
    other = {"black": "white", "white": "black"}[text]
    assert get_contrast(text, background) > get_contrast(other, background)


def test_a_theme_ends_with_its_block() -> None:
    curve = {"a": Curve(x=[1, 2], y=[1, 2])}
    with pytest.raises(RuntimeError), use_theme(DARK):
        raise RuntimeError
    figure = plot_lines(curve, title="Lines", x_label="x", y_label="y")
    assert get_contrast(figure.get_facecolor(), LIGHT.background) == 1
