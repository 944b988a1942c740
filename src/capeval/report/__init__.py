"""Reports as tables, JSON, CSV, Markdown, LaTeX and HTML."""

from capeval.report.exporters import to_csv, to_json, to_latex, to_markdown
from capeval.report.html import to_html
from capeval.report.tables import Cell, Grid, System, comparison, per_image, scores

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
