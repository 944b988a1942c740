"""Figure of chosen images with their captions, as in papers: a column per image, a row per system."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from capeval.errors import OptionError
from capeval.report.figures import COLORS, STYLE
from capeval.tokenizers import Tokenizer, tokenize

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import RendererAgg

__all__ = ["ChosenImage", "draw_captions"]

_WIDTH = 7.0
_COLUMNS = 4
_FONT = 7.5
_LINE = 1.25 * _FONT / 72
_GAP = 0.08
_DOTS_PER_INCH = 300
_MENTIONED: dict[str, Any] = {"color": COLORS[0], "fontweight": "bold"}
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, kw_only=True)
class ChosenImage:
    """Image of the figure.

    Attributes:
        title: The text above the picture, such as the domain; may be empty.
        picture: The file of the picture; None for no picture.
        captions: The caption of each row by the row's name: systems, then people.
        phrases: Phrases to mark in the captions, such as the words that mention required objects.
    """

    title: str
    picture: Path | None
    captions: Mapping[str, str]
    phrases: Sequence[str] = field(default=())


def draw_captions(images: Sequence[ChosenImage], tokenizer: Tokenizer | None = None) -> Figure:
    """Draw the images and their captions, at most four in a row.

    The figure is 7 inches wide, the width of a page with two columns.

    Args:
        images: The images, with the same names of rows.
        tokenizer: The tokenizer that finds the phrases; by default that of COCO.

    Raises:
        OptionError: A picture can't be read.
    """
    # Blocks of equal size: six images are twice three.
    columns = math.ceil(len(images) / math.ceil(len(images) / _COLUMNS))
    blocks = [images[start : start + columns] for start in range(0, len(images), columns)]
    with mpl.rc_context({**STYLE, "font.size": _FONT}):
        ruler = _Ruler()
        names = list(images[0].captions)
        label = max(ruler.measure(name, fontweight="bold") for name in names) + _GAP
        label = min(label, _WIDTH / 4)
        width = (_WIDTH - label) / columns
        drawn = [_Block(block, ruler, label, width, tokenizer or Tokenizer()) for block in blocks]
        height = sum(block.height for block in drawn) + _GAP * 2 * len(drawn)
        figure = Figure(figsize=(_WIDTH, height))
        top = height - _GAP
        for block in drawn:
            block.draw(figure, top, height)
            top -= block.height + 2 * _GAP
        return figure


class _Ruler:
    """Width of texts in inches, in the current style."""

    def __init__(self) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self._figure = Figure(dpi=_DOTS_PER_INCH)
        self._renderer: RendererAgg = FigureCanvasAgg(self._figure).get_renderer()  # type: ignore[no-untyped-call]

    def measure(self, text: str, **style: Any) -> float:
        """Return the width of a text."""
        # Without parsing "$" as mathematics, as captions are plain text.
        shown = Text(0, 0, text, figure=self._figure, parse_math=False, **style)
        return float(shown.get_window_extent(self._renderer).width) / _DOTS_PER_INCH


@dataclass(frozen=True)
class _Run:
    """Words in one line and one style."""

    text: str
    start: float
    mentioned: bool


class _Block:
    """Images next to each other, with the rows of their captions."""

    def __init__(
        self,
        images: Sequence[ChosenImage],
        ruler: _Ruler,
        label: float,
        width: float,
        tokenizer: Tokenizer,
    ) -> None:
        self._images = images
        self._names = list(images[0].captions)
        self._label = label
        self._width = width
        self._pictures = [None if each.picture is None else _read_picture(each.picture) for each in images]
        inner = width - _GAP
        self._title = _LINE + _GAP / 2 if any(each.title for each in images) else 0.0
        # All pictures of a block have one height, and keep their proportions.
        shapes = [picture.shape for picture in self._pictures if picture is not None]
        self._picture = max((min(shape[0] / shape[1], 1.0) * inner for shape in shapes), default=0.0)
        self._lines = [
            [_break_lines(each.captions[name], each.phrases, inner, ruler, tokenizer) for each in images]
            for name in self._names
        ]
        self._rows = [max(len(lines) for lines in row) * _LINE + _GAP for row in self._lines]
        self.height = self._title + self._picture + _GAP + sum(self._rows)

    def draw(self, figure: Figure, top: float, height: float) -> None:
        """Draw at a distance from the lower edge of a figure with a height in inches."""
        for place, each in enumerate(self._images):
            left = self._label + place * self._width
            if each.title:
                _write(figure, left, top, each.title, height, fontweight="bold")
            picture = self._pictures[place]
            if picture is not None:
                self._show_picture(figure, picture, left, top - self._title, height)
        top -= self._title + self._picture + _GAP
        for name, row, size in zip(self._names, self._lines, self._rows, strict=True):
            _write(figure, 0, top, name, height, fontweight="bold")
            for place, lines in enumerate(row):
                left = self._label + place * self._width
                for number, runs in enumerate(lines):
                    for run in runs:
                        style = _MENTIONED if run.mentioned else {}
                        _write(figure, left + run.start, top - number * _LINE, run.text, height, **style)
            top -= size

    def _show_picture(
        self, figure: Figure, picture: NDArray[np.uint8], left: float, top: float, height: float
    ) -> None:
        room = self._width - _GAP
        ratio = picture.shape[0] / picture.shape[1]
        width = min(room, self._picture / ratio)
        tall = width * ratio
        box = (left / _WIDTH, (top - tall) / height, width / _WIDTH, tall / height)
        axes = figure.add_axes(box)
        axes.set_axis_off()
        axes.imshow(picture, aspect="auto", interpolation="auto")


def _write(figure: Figure, left: float, top: float, text: str, height: float, **style: Any) -> None:
    figure.text(left / _WIDTH, top / height, text, va="top", parse_math=False, **style)


def _read_picture(path: Path) -> NDArray[np.uint8]:
    """Return the pixels of a picture, upright, not larger than the figure needs."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            upright = ImageOps.exif_transpose(opened).convert("RGB")
    except FileNotFoundError:
        raise OptionError(f"{path}: no such picture") from None
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise OptionError(f"{path}: not a picture that can be read ({error})") from None
    longest = int(_WIDTH * _DOTS_PER_INCH / 2)
    upright.thumbnail((longest, longest))
    return np.asarray(upright)


def _break_lines(
    caption: str, phrases: Sequence[str], room: float, ruler: _Ruler, tokenizer: Tokenizer
) -> list[list[_Run]]:
    """Return the lines of a caption, each with its runs of equal style."""
    space = ruler.measure("a a") - ruler.measure("aa")
    lines: list[list[_Run]] = [[]]
    end = 0.0
    for word, mentioned in _mark_words(caption, phrases, tokenizer):
        width = ruler.measure(word, **(_MENTIONED if mentioned else {}))
        start = end + space if lines[-1] else 0.0
        if lines[-1] and start + width > room:
            lines.append([])
            start = 0.0
        last = lines[-1][-1] if lines[-1] else None
        if last is not None and last.mentioned == mentioned:
            lines[-1][-1] = _Run(f"{last.text} {word}", last.start, mentioned)
        else:
            lines[-1].append(_Run(word, start, mentioned))
        end = start + width
    return lines


def _mark_words(caption: str, phrases: Sequence[str], tokenizer: Tokenizer) -> Iterator[tuple[str, bool]]:
    """Yield the words of a caption, and whether each belongs to a phrase."""
    words = _WORD.findall(caption)
    # Tokenized one by one, so that each token belongs to a word; punctuation has no tokens.
    tokens = [(place, token) for place, found in enumerate(tokenize(words, tokenizer)) for token in found]
    marked: set[int] = set()
    for phrase in tokenize(phrases, tokenizer):
        for start in range(len(tokens) - len(phrase) + 1):
            if phrase and [token for _, token in tokens[start : start + len(phrase)]] == list(phrase):
                marked |= {place for place, _ in tokens[start : start + len(phrase)]}
    return ((word, place in marked) for place, word in enumerate(words))
