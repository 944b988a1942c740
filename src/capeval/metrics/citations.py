"""Citation of scores: capeval, and the papers of the metrics."""

from __future__ import annotations

from collections.abc import Iterable

from capeval._native import __version__
from capeval.data.citations import get_bibtex
from capeval.metrics.base import Metric

__all__ = ["cite_metrics"]


def cite_metrics(metrics: Iterable[Metric]) -> str:
    """Return BibTeX of capeval and of the papers of metrics, each entry once."""
    return get_bibtex([_cite_capeval(), *(each for metric in metrics for each in metric.citations)])


def _cite_capeval() -> str:
    """Return the entry of capeval, with its version and, if the package has one, its address."""
    fields = [f"version = {{{__version__}}}"]
    if address := _find_address():
        fields.append(f"url = {{{address}}}")
    return get_bibtex(["capeval"]).replace("\n}", "".join(f",\n  {each}" for each in fields) + "\n}")


def _find_address() -> str:
    """Return the address of the repository, or "" if the package has none or is not installed."""
    # Slow to import, and scoring imports this module.
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("capeval").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return ""
    addresses = dict(str(each).split(", ", 1) for each in urls)
    return addresses.get("Repository", "")
