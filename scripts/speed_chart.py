"""Chart of the README: seconds of pycocoevalcap and capeval, light and dark.

The numbers are the medians that `make bench` measured, as docs/explanation/benchmarks.md lists them.

Usage: python -m scripts.speed_chart
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["TIMES", "draw", "main"]

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
# Seconds of pycocoevalcap and of capeval.
TIMES = {
    "BLEU, ROUGE-L, CIDEr-D": (32.8, 0.37),
    "the same with METEOR": (71.0, 0.80),
    "SPICE of 3,000 captions": (55.2, 2.4),
}
COLORS = {
    "light": {"text": "#1f2328", "muted": "#59636e", "reference": "#c4c9d0", "capeval": "#0969da"},
    "dark": {"text": "#f0f6fc", "muted": "#9198a1", "reference": "#4b535d", "capeval": "#4493f8"},
}
_WIDTH, _ROW = 480, 72


def draw(colors: dict[str, str]) -> str:
    """Return the chart as SVG, with one pair of bars per task."""
    longest = max(max(pair) for pair in TIMES.values())
    height = _ROW * len(TIMES) + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' height="{height}" role="img" font-family="system-ui, sans-serif" font-size="14">',
        "<title>Seconds to score, pycocoevalcap and capeval</title>",
    ]
    for row, (task, (reference, ours)) in enumerate(TIMES.items()):
        top = row * _ROW
        parts.append(f'<text x="2" y="{top + 17}" font-weight="600" fill="{colors["text"]}">{task}</text>')
        bars = (
            (reference, "reference", f"pycocoevalcap {reference:g} s"),
            (ours, "capeval", f"capeval {ours:g} s, {reference / ours:.0f} times as fast"),
        )
        for number, (seconds, name, label) in enumerate(bars):
            y = top + 24 + 21 * number
            width = max((_WIDTH - 4) * seconds / longest, 3)
            is_inside = width > 150
            x, anchor = (width - 6, "end") if is_inside else (width + 8, "start")
            parts += [
                f'<rect x="2" y="{y}" width="{width:.1f}" height="18" rx="2" fill="{colors[name]}"/>',
                f'<text x="{x:.1f}" y="{y + 14}" text-anchor="{anchor}" fill="{colors["text"]}">'
                f"{label}</text>",
            ]
    parts.append(
        f'<text x="2" y="{height - 6}" font-size="13" fill="{colors["muted"]}">'
        "40,504 images of COCO val2014, whole processes on two cores</text>"
    )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Write both pictures."""
    for theme, colors in COLORS.items():
        (PICTURES / f"speed-{theme}.svg").write_text(draw(colors), encoding="utf-8")


if __name__ == "__main__":
    main()
