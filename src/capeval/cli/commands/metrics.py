"""The `capeval metrics` command."""

from __future__ import annotations

from capeval.cli.toolkit.options import FormatOption
from capeval.cli.toolkit.output import examples, render

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples("capeval metrics", "capeval metrics --format markdown")


def run(form: FormatOption = "table") -> None:
    """List the metrics for --metrics with their scores, options and resources."""
    from capeval.metrics import METRICS
    from capeval.report import Cell, Grid

    metrics = {name: make() for name, make in METRICS.items()}
    if form == "json":
        import json

        from capeval.cli.toolkit.output import deliver

        listed = [
            {
                "name": name,
                "scores": metric.names,
                "options": metric.options(),
                "reads": metric.input_kind,
                "needs": [{"name": each.name, "install": each.install} for each in metric.resources],
            }
            for name, metric in metrics.items()
        ]
        deliver(json.dumps(listed, indent=2) + "\n", None)
        return
    rows = []
    for name, metric in metrics.items():
        needs = ", ".join(f"{each.name} ({each.install})" for each in metric.resources)
        texts = (name, ", ".join(metric.names), ", ".join(metric.options()), needs)
        rows.append(tuple(Cell(value=text) for text in texts))
    render(Grid(columns=("Name", "Scores", "Options", "Needs"), rows=tuple(rows)), form, None)
