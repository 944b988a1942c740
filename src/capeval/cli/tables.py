"""Making METEOR's word tables before they are needed, with a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from capeval.metrics.registry import named
from capeval.resources.meteor import PARAPHRASES, compiled_tables

__all__ = ["needs_tables", "with_meteor_tables"]


def needs_tables(metric: str) -> bool:
    """Whether a metric needs METEOR's tables.

    Raises:
        OptionError: The metric is not known.
    """
    return named(metric).family == "METEOR"


def with_meteor_tables(metrics: Iterable[str]) -> None:
    """Compiles METEOR's tables where a metric needs them and they are not there yet.

    Raises:
        OptionError: A metric is not known.
        ResourceError: What they are made from is missing or damaged.
    """
    if not any(map(needs_tables, metrics)):
        return
    if not sys.stderr.isatty():
        compiled_tables()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Compiling METEOR's word tables (once)", total=PARAPHRASES, visible=False)
        compiled_tables(progress=lambda done: bar.update(task, completed=done, visible=True))
