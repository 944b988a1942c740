"""Reports as tables, JSON, CSV, Markdown, LaTeX and HTML."""

from capeval.report.comparison_tables import create_comparison_table, create_pair_table, create_system_table
from capeval.report.exporters import to_json
from capeval.report.html import to_html
from capeval.report.tables import System, create_image_table, create_score_table
from capeval.scoring.grid_formats import to_csv, to_latex, to_markdown
from capeval.scoring.grids import Cell, Grid, scale_table

__all__ = [
    "Cell",
    "Grid",
    "System",
    "create_comparison_table",
    "create_image_table",
    "create_pair_table",
    "create_score_table",
    "create_system_table",
    "scale_table",
    "to_csv",
    "to_html",
    "to_json",
    "to_latex",
    "to_markdown",
]
