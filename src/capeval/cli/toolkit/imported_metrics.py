"""Metrics of `--metrics`: names, classes of the user's modules, and files of scores."""

from __future__ import annotations

from inspect import isabstract
from pathlib import Path
from types import ModuleType

from capeval.cli.toolkit.imports import import_user_module
from capeval.errors import OptionError
from capeval.errors.messages import format_names
from capeval.metrics.base import Metric, require_family
from capeval.metrics.given_scores import GivenScores, load_given_scores
from capeval.metrics.options import parse_options, split_options
from capeval.metrics.registry import METRICS

__all__ = ["find_metric"]


def find_metric(text: str) -> str | Metric:
    """Return the metric of a user's module or the scores in a file; for any other text, the text.

    Args:
        text: A name, `MODULE:CLASS`, or the path of a CSV file, each with options if needed. Options may
            name files.

    Raises:
        OptionError: There is no such module or metric, or the metric has no such option.
        FormatError: The file of scores is invalid.
        OSError: The file of scores can't be read.
    """
    base = text.partition("(")[0].strip()
    if base.endswith((".csv", ".csv.gz")):
        file, options = split_options(text)
        return load_given_scores(file, **parse_options(GivenScores, options))
    module, colon, name = base.partition(":")
    if not colon:
        return _create_with_files(text, base) if "(" in text else text
    _, options = split_options(text)
    found = _get_class(import_user_module(module, f"--metrics {base}"), name, base)
    try:
        return found(**(parse_options(found, options, with_files=True) if options else {}))
    except TypeError as error:
        raise OptionError(f"--metrics {text}: {name} can't be created from text: {error}") from error


def _create_with_files(text: str, name: str) -> str | Metric:
    """Return a registered metric with options that name files; the text if there are none."""
    spelling = METRICS.spelling(name)
    if spelling is None:
        return text
    make = METRICS[spelling]
    _, options = split_options(text)
    values = parse_options(type(make()), options, with_files=True)
    if not any(isinstance(value, Path) for value in values.values()):
        return text
    return make(**values)


def _get_class(module: ModuleType, name: str, text: str) -> type[Metric]:
    metrics = {
        each: value
        for each, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Metric) and not isabstract(value)
    }
    if name not in metrics:
        known = format_names(list(metrics)) if metrics else "none"
        raise OptionError(
            f"--metrics {text}: {module.__name__} has no metric class {name} (metrics: {known})"
        )
    require_family(metrics[name])
    return metrics[name]
