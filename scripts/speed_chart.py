"""Speed chart of the README, for light and dark pages, from the table in docs/explanation/benchmarks.md.

Usage: python -m scripts.speed_chart
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["PICTURES", "THEMES", "Times", "draw", "main", "read_times"]

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "pictures"
# Tasks in the table, and their titles in the chart.
_TASKS = {
    "BLEU, ROUGE-L, CIDEr-D": "BLEU, ROUGE-L, CIDEr-D",
    "The same with METEOR": "The same with METEOR",
    "SPICE tuples of 3,000 captions": "SPICE of 3,000 captions",
}
THEMES = {
    "light": {"text": "#1f2328", "muted": "#59636e", "reference": "#c4c9d0", "capeval": "#0969da"},
    "dark": {"text": "#f0f6fc", "muted": "#9198a1", "reference": "#4b535d", "capeval": "#4493f8"},
}
_WIDTH, _ROW = 480, 72


class Times(NamedTuple):
    """Measured times of a task: seconds of the reference and of capeval, and the speedup, as texts."""

    reference: str
    capeval: str
    speedup: str


def read_times() -> dict[str, Times]:
    """Return the times in the table of benchmarks, by task: those of the first row of capeval."""
    times: dict[str, Times] = {}
    reference = task = ""
    for line in (DOCS / "explanation" / "benchmarks.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0] in _TASKS:
            task, reference = _TASKS[cells[0]], cells[2]
        elif len(cells) == 5 and not cells[0] and task and task not in times:
            times[task] = Times(reference, cells[2], cells[3])
        elif cells[0]:
            task = ""
    return times


def draw(times: dict[str, Times], colors: dict[str, str]) -> str:
    """Return the chart as SVG, with one pair of bars per task."""
    longest = max(float(each.reference) for each in times.values())
    height = _ROW * len(times) + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' height="{height}" role="img" font-family="system-ui, sans-serif" font-size="14">',
        "<title>Seconds to score, pycocoevalcap and capeval</title>",
    ]
    for row, (task, each) in enumerate(times.items()):
        top = row * _ROW
        parts.append(f'<text x="2" y="{top + 17}" font-weight="600" fill="{colors["text"]}">{task}</text>')
        bars = (
            (each.reference, "reference", f"pycocoevalcap {each.reference} s"),
            (each.capeval, "capeval", f"capeval {each.capeval} s, {each.speedup} times as fast"),
        )
        for number, (seconds, name, label) in enumerate(bars):
            y = top + 24 + 21 * number
            width = max((_WIDTH - 4) * float(seconds) / longest, 3)
            is_inside = width > 150
            x, anchor = (width - 6, "end") if is_inside else (width + 8, "start")
            parts += [
                f'<rect x="2" y="{y}" width="{width:.1f}" height="18" rx="2" fill="{colors[name]}"/>',
                f'<text x="{x:.1f}" y="{y + 14}" text-anchor="{anchor}" fill="{colors["text"]}">'
                f"{label}</text>",
            ]
    parts.append(
        f'<text x="2" y="{height - 6}" font-size="13" fill="{colors["muted"]}">'
        "Seconds on two cores; first and second: 40,504 images of COCO val2014</text>"
    )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Write both pictures."""
    times = read_times()
    for theme, colors in THEMES.items():
        (PICTURES / f"speed-{theme}.svg").write_text(draw(times, colors), encoding="utf-8")


if __name__ == "__main__":
    main()
