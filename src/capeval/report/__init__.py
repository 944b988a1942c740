"""Reports as tables, JSON, CSV, Markdown, LaTeX and HTML."""

from capeval.report.grids import Cell, Grid, System, comparison, per_image, scores
from capeval.report.html import to_html
from capeval.report.texts import to_csv, to_json, to_latex, to_markdown

__all__ = [
    "Cell",
    "Grid",
    "System",
    "comparison",
    "per_image",
    "scores",
    "to_csv",
    "to_html",
    "to_json",
    "to_latex",
    "to_markdown",
]
