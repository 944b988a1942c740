"""The `capeval metrics` command."""

from __future__ import annotations

import inspect
import textwrap
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from capeval._internal.optional_packages import join_install_commands
from capeval.cli.toolkit.click_commands import Argument
from capeval.cli.toolkit.options import FormatOption
from capeval.cli.toolkit.output import deliver, examples, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from capeval.metrics import Metric

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples("capeval metrics", "capeval metrics CIDEr-D", "capeval metrics --format markdown")
_WIDTH = 80


def run(
    name: Annotated[
        str | None,
        Argument(help="Metric to describe, such as CIDEr-D or MODULE:NAME.", show_default="list all"),
    ] = None,
    form: FormatOption = "table",
) -> None:
    """List the metrics, or describe one of them."""
    from capeval.metrics import METRICS
    from capeval.report import Cell, Grid

    metrics = {each: make() for each, make in METRICS.items()} if name is None else _find_metric(name)
    if form == "json":
        import json

        listed = [
            {
                "name": each,
                "scores": metric.names,
                "options": metric.options(),
                "reads": metric.input_kind,
                "needs": [{"name": need.name, "install": need.install} for need in metric.resources],
            }
            for each, metric in metrics.items()
        ]
        deliver(json.dumps(listed, indent=2) + "\n", None)
    elif name is not None and form == "table":
        ((name, metric),) = metrics.items()
        deliver(_describe(name, metric), None)
    else:
        rows = [(Cell(value=each), Cell(value=_summarize(metric))) for each, metric in metrics.items()]
        notes = _describe_missing(metrics)
        render(Grid(columns=("Name", "Description"), rows=tuple(rows), notes=notes), form, None)


def _find_metric(text: str) -> dict[str, Metric]:
    """Return a metric of the registry or of a user's module, by its name."""
    from capeval.cli.toolkit.imported_metrics import find_metric
    from capeval.metrics.registry import get_metric, normalize_name

    found = find_metric(text)
    return {normalize_name(found): get_metric(found)} if isinstance(found, str) else {text: found}


def _summarize(metric: Metric) -> str:
    return inspect.cleandoc(type(metric).__doc__ or "").partition("\n")[0]


def _describe_missing(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Return a note on the metrics without installed data, if any."""
    missing = {
        name: [resource.install for resource in metric.resources if not resource.is_available]
        for name, metric in metrics.items()
    }
    needing = [name for name, commands in missing.items() if commands]
    if not needing:
        return ()
    command = join_install_commands(chain.from_iterable(missing.values()))
    return (f"Data is not installed for {', '.join(needing)}: {command}",)


def _describe(name: str, metric: Metric) -> str:
    """Return the description of a metric: its scores, options, other names and resources."""
    from capeval.metrics.options import list_metric_options

    options = list_metric_options(type(metric))
    better = "" if metric.higher_is_better else "; lower is better"
    if not metric.has_direction:
        better = "; neither higher nor lower is better"
    lines = [f"{name}: {_summarize(metric)}", "", f"Scores: {', '.join(metric.names)}{better}"]
    aliases = [alias for alias, variant in metric.aliases.items() if variant == name]
    if aliases:
        lines.append(f"Other names: {', '.join(aliases)}")
    lines += [
        f"Needs {need.name}: {'installed' if need.is_available else need.install}"
        for need in metric.resources
    ]
    values = {
        each: "..." if each in metric.missing_options else option.show(getattr(metric, each))
        for each, option in options.items()
    }
    if options:
        first = next(iter(options))
        lines += ["", f"Options, such as {name.partition('(')[0]}({first}={values[first]}):"]
    for option in options.values():
        lines.append(f"  {option.name}={values[option.name]}")
        lines += textwrap.wrap(option.help, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines) + "\n"
