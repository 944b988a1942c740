"""Drawings of scene graphs.

Objects are in a column, with their attributes, and relations are lines. Each relation has a separate row at
its subject, so that labels never overlap. Elements that the other graph contains too are marked by color, a
solid line and a check mark.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from capeval.metrics.scene_graphs import SceneGraph

__all__ = ["draw_graph"]

_LINE, _PADDING, _GAP = 18, 6, 14
# Widths in pixels: a letter of a label, a letter of a name, the smallest and the largest box.
_LETTER, _WIDE_LETTER, _BOX_LEAST, _BOX_MOST = 6.6, 8.4, 90, 240
_LANE, _LABEL_LEAST = 12, 40
# Minimum scale on narrow screens, so that text stays legible; smaller screens scroll.
_SMALLEST = 0.8
_TICK = "\N{CHECK MARK} "


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Positions and sizes in pixels.

    Attributes:
        tops: The y position of the top of each object's box.
        heights: The height of each object's box.
        starts: The y position of each relation at its subject.
        ends: The y position of each relation at its object.
        box: The width of all boxes.
        label: The width of the longest relation.
    """

    tops: list[int]
    heights: list[int]
    starts: list[int]
    ends: list[int]
    box: int
    label: int


def draw_graph(graph: SceneGraph, title: str) -> Markup:
    """Draw a scene graph as SVG for a page.

    Args:
        graph: The graph.
        title: The title of the drawing, for screen readers.
    """
    if not graph.objects:
        return Markup('<p class="empty">SPICE found no objects.</p>')
    layout = _compute_layout(graph)
    width = int(layout.box + layout.label + 24 + _LANE * (len(graph.relations) + 1))
    height = layout.tops[-1] + layout.heights[-1] + 2
    parts = [
        Markup(
            '<svg class="scene-graph" role="img" viewBox="0 0 {} {}" style="max-width:{}px;min-width:{}px">'
        ).format(width, height, width, int(_SMALLEST * width)),
        Markup("<title>{}</title>").format(title),
    ]
    parts += [_draw_relation(graph, layout, number) for number in range(len(graph.relations))]
    parts += [_draw_object(graph, layout, number) for number in range(len(graph.objects))]
    return Markup("").join([*parts, Markup("</svg>")])


def _compute_layout(graph: SceneGraph) -> _Layout:
    tops, heights = [], []
    starts, ends = [0] * len(graph.relations), [0] * len(graph.relations)
    top = 1
    for number, thing in enumerate(graph.objects):
        tops.append(top)
        row = top + _PADDING
        rows = 0
        for place, relation in enumerate(graph.relations):
            for heights_of, end in ((starts, relation.subject), (ends, relation.object)):
                if end == number:
                    heights_of[place] = row + rows * _LINE + _LINE // 2
                    rows += 1
        heights.append(2 * _PADDING + _LINE * max(rows, 1 + len(thing.attributes)))
        top += heights[-1] + _GAP
    names = [thing.name for thing in graph.objects]
    attributes = [attribute.name for thing in graph.objects for attribute in thing.attributes]
    longest = max(_WIDE_LETTER * max(map(len, names)), _LETTER * (3 + max(map(len, attributes), default=0)))
    label = max((len(relation.name) for relation in graph.relations), default=0)
    return _Layout(
        tops=tops,
        heights=heights,
        starts=starts,
        ends=ends,
        box=int(min(max(longest + 36, _BOX_LEAST), _BOX_MOST)),
        label=int(max(_LETTER * (label + 2), _LABEL_LEAST)),
    )


def _draw_object(graph: SceneGraph, layout: _Layout, number: int) -> Markup:
    thing = graph.objects[number]
    top = layout.tops[number]
    box = Markup('<rect class="{}" x="1" y="{}" width="{}" height="{}" rx="6"/>').format(
        _get_css_class(thing.matched), top, layout.box - 1, layout.heights[number]
    )
    lines = [_draw_text(thing.name, thing.matched, 10, top + _PADDING + 13, "name")]
    lines += [
        _draw_text(attribute.name, attribute.matched, 18, top + _PADDING + 13 + _LINE * row, "attribute")
        for row, attribute in enumerate(thing.attributes, start=1)
    ]
    return Markup("").join([box, *lines])


def _draw_relation(graph: SceneGraph, layout: _Layout, number: int) -> Markup:
    relation = graph.relations[number]
    start, end = layout.starts[number], layout.ends[number]
    lane = layout.box + layout.label + 18 + _LANE * number
    path = f"M{layout.box} {start}H{lane}V{end}H{layout.box + 7}"
    head = f"M{layout.box + 8} {end - 4}L{layout.box + 1} {end}L{layout.box + 8} {end + 4}z"
    line = Markup('<path class="{0}" d="{1}"/><path class="{0} head" d="{2}"/>').format(
        _get_css_class(relation.matched), path, head
    )
    return line + _draw_text(relation.name, relation.matched, layout.box + 12, start - 3, "relation")


def _draw_text(text: str, matched: bool, x: int, y: int, kind: str) -> Markup:
    shown = (_TICK if matched else "") + text
    return Markup('<text class="{} {}" x="{}" y="{}">{}</text>').format(
        kind, _get_css_class(matched), x, y, escape(shown)
    )


def _get_css_class(matched: bool) -> str:
    return "matched" if matched else "unmatched"
