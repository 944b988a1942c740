"""`capeval metrics`: what there is to score with."""

from __future__ import annotations

from capeval.cli.console import examples, render
from capeval.cli.options import Format, FormatOption

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "metrics"
EXAMPLES = examples("capeval metrics", "capeval metrics --format markdown")


def run(form: FormatOption = Format.TABLE) -> None:
    """Lists the metrics: the names for --metrics, the scores that each gives, and its options."""
    from capeval.metrics import METRICS
    from capeval.report import Cell, Grid

    metrics = {name: make() for name, make in METRICS.items()}
    if form is Format.JSON:
        import json

        from capeval.cli.console import deliver

        listed = [
            {"name": name, "scores": metric.names, "options": metric.options()}
            for name, metric in metrics.items()
        ]
        deliver(json.dumps(listed, indent=2) + "\n", None)
        return
    rows = tuple(
        tuple(Cell(value=text) for text in (name, ", ".join(metric.names), ", ".join(metric.options())))
        for name, metric in metrics.items()
    )
    render(Grid(columns=("Name", "Scores", "Options"), rows=rows), form, None)
