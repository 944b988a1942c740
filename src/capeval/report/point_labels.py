"""Labels of points in figures that overlap neither each other nor the edge of their panel."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

__all__ = ["PointLabel", "label_points"]

PointLabel = tuple[str, float, float]
"""The text of a label, and the coordinates of its point."""

# The direction of a label from its point: right, left, above, below, and the diagonals.
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_SIDES = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}
_NEAR, _FAR = 3, (3, 9, 16, 24)
# The distance between labels, in pixels.
_PADDING = 1.5
# From this distance on, in points, a line connects a label with its point.
_LINE_FROM = 9


def label_points(
    panel: Axes, chosen: Sequence[PointLabel], others: Sequence[PointLabel] = (), *, size: float
) -> list[str]:
    """Label points of a panel, each label where it overlaps no earlier one.

    The figure must have its final size, and all panels must be drawn.

    Args:
        panel: The panel.
        chosen: Labels that may be far from their points, with lines to them.
        others: Labels that are drawn only next to their points.
        size: The font size.

    Returns:
        The texts of the labels for which there was a place.
    """
    placed: list[Bbox] = []
    texts = []
    for distances, labels in ((_FAR, chosen), ((_NEAR,), others)):
        for label in labels:
            box = _place_label(panel, label, distances, placed, size)
            if box is not None:
                placed.append(box)
                texts.append(label[0])
    return texts


def _place_label(
    panel: Axes, label: PointLabel, distances: Sequence[int], placed: Sequence[Bbox], size: float
) -> Bbox | None:
    """Draw a label at the first free place; return its box in pixels, or None without a free place."""
    figure = panel.get_figure(root=True)
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    for distance in distances:
        for right, up in _DIRECTIONS:
            note = _annotate(panel, label, (right * distance, up * distance), size)
            # Without the line, which may cross other labels.
            note.update_positions(renderer)
            box = Text.get_window_extent(note, renderer).padded(_PADDING)
            inside = panel.bbox.padded(1)
            is_inside = inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1)
            if is_inside and not any(box.overlaps(other) for other in placed):
                return box
            note.remove()
    return None


def _annotate(panel: Axes, label: PointLabel, offset: tuple[int, int], size: float) -> Annotation:
    text, x, y = label
    horizontal, vertical = (_SIDES[(each > 0) - (each < 0)] for each in offset)
    line = {"arrowstyle": "-", "linewidth": 0.4, "color": "#888888", "shrinkA": 0, "shrinkB": 1}
    note = panel.annotate(
        text,
        (x, y),
        offset,
        textcoords="offset points",
        ha=horizontal[0],
        va=vertical[1],
        fontsize=size,
        arrowprops=line if max(map(abs, offset)) >= _LINE_FROM else None,
    )
    note.set_in_layout(False)
    return note
