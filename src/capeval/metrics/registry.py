"""Registry of metrics by name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from capeval._internal.plugins import DuplicateNameError, PluginGroup, Registry
from capeval.errors import CapevalWarning, OptionError
from capeval.metrics.base import Metric, make_missing_options_error, require_family
from capeval.metrics.options import list_metric_options, parse_options, split_metrics, split_options

__all__ = [
    "CLASSES",
    "DEFAULT",
    "METRICS",
    "DefaultMetrics",
    "describe_omitted",
    "get_metric",
    "list_alias_notes",
    "list_metric_keys",
    "normalize_name",
    "normalize_score",
    "register",
    "resolve",
]

# The excluded characters separate metrics and their options.
_NAME = re.compile(r"[^\s,()]+")
# The similarity of names that are suggested, as in `difflib.get_close_matches`.
_SIMILAR = 0.6
# Measures of a study, which users may look for among the metrics.
_OF_SEVERAL_CAPTIONS = ("mbleu", "selfcider")
_Class = TypeVar("_Class", bound=type[Metric])
_MakeMetric = Callable[[], Metric]


class _Metrics(Registry[_MakeMetric]):
    """Metric factories by name, also with options as in `CIDEr-D(sigma=6)`.

    Names are spelled in any case, with or without hyphens: `Bleu_4`, `bleu4` and `BLEU-4` are equal.
    """

    def __init__(self, kind: str, plugins: PluginGroup) -> None:
        super().__init__(kind, plugins)
        # Normalized alias to the name of the metric.
        self._aliases: dict[str, str] = {}

    @staticmethod
    def normalize(name: str) -> str:
        return re.sub(r"[\s_-]", "", name).lower()

    def check(self, names: Iterable[str], module: str) -> None:
        names = tuple(names)
        super().check(names, module)
        for name in names:
            if alias := self._aliases.get(self.normalize(name)):
                raise DuplicateNameError(
                    f"metric name {name!r} is another name of {alias}; rename the metric"
                )

    def add_aliases(self, aliases: Mapping[str, str]) -> None:
        """Add other names of registered metrics."""
        self._aliases.update({self.normalize(alias): name for alias, name in aliases.items()})

    def spelling(self, name: str) -> str | None:
        return super().spelling(name) or self._aliases.get(self.normalize(name))

    def __getitem__(self, name: str) -> _MakeMetric:
        if "(" not in name:
            return super().__getitem__(name)
        try:
            base, options = split_options(name)
            make = super().__getitem__(base)
            return partial(make, **parse_options(type(make()), options))
        except OptionError as error:
            raise KeyError(str(error)) from None


_plugins = PluginGroup("capeval.metrics")

CLASSES: Registry[type[Metric]] = Registry("metric's class", _plugins)
"""The registered metric classes, by class name."""

METRICS: _Metrics = _Metrics("metric", _plugins)
"""Metric factories by name, also with options as in `CIDEr-D(sigma=6)`."""


class DefaultMetrics(tuple[str, ...]):
    """Names of metrics to compute if none are selected.

    Metrics without installed data are left out, unless this applies to all of them.

    Example:
        >>> from capeval.metrics import DEFAULT
        >>> DEFAULT
        ('BLEU', 'METEOR', 'ROUGE-L', 'CIDEr-D')
        >>> DEFAULT.omitted
        {}
    """

    __slots__ = ()

    @property
    def omitted(self) -> dict[str, str]:
        """The metrics that are left out, each with the command that installs its data."""
        missing = {
            name: resource.install
            for name in self
            for resource in get_metric(name).resources
            if not resource.is_available
        }
        return {} if len(missing) == len(self) else missing

    @property
    def available(self) -> tuple[str, ...]:
        """The other metrics."""
        omitted = self.omitted
        return tuple(name for name in self if name not in omitted)


DEFAULT = DefaultMetrics(("BLEU", "METEOR", "ROUGE-L", "CIDEr-D"))
"""The default metrics, which the COCO Captions server reports."""


def register(metric: _Class) -> _Class:
    """Register a metric class; use it as a decorator.

    Other distributions register metrics with an entry point in the group `capeval.metrics` that refers to the
    module or the class.

    Raises:
        OptionError: The name of the metric or of a variant is already registered, or contains a space, comma
            or parenthesis; or the metric has no family.

    Example:
        capeval registers ROUGE-N as follows::

            @register
            @dataclass(frozen=True, kw_only=True)
            class RougeN(MeanMetric):
                variants: ClassVar = {f"ROUGE-{n}": {"n": n} for n in range(1, 5)}

        The metric is then available by the name of its class and by the names of its variants:

        >>> from capeval.metrics import CLASSES, METRICS
        >>> CLASSES["RougeN"]
        <class 'capeval.metrics.rouge.RougeN'>
        >>> METRICS["ROUGE-2"]()
        RougeN(n=2)
    """
    require_family(metric)
    variants = {
        name: partial(metric, **options) for name, options in (metric.variants or {metric.family: {}}).items()
    }
    for name in variants:
        if not _NAME.fullmatch(name):
            raise OptionError(
                f"a metric's name must not contain spaces, commas or parentheses (got {name!r})"
            )
    METRICS.check(variants, metric.__module__)
    CLASSES.add({metric.__name__: metric}, metric.__module__)
    METRICS.add(variants, metric.__module__)
    METRICS.add_aliases(metric.aliases)
    return metric


def get_metric(name: str) -> Metric:
    """Return the metric with this name, which may include options: `CIDEr-D(sigma=6)`.

    The name is accepted in any spelling, such as `Bleu_4`, and so are the names of pycocoevalcap: `CIDEr` is
    CIDEr-D, as in papers.

    Raises:
        OptionError: The metric is unknown, or it has no such option.
    """
    return METRICS[normalize_name(name)]()


def normalize_name(text: str) -> str:
    """Return a metric's name in the registry's spelling.

    Options are formatted as in signatures.

    Raises:
        OptionError: The metric is unknown, or it has no such option.
    """
    name, options = split_options(text)
    spelling = METRICS.spelling(name)
    if spelling is None:
        raise OptionError(_describe_unknown(name))
    metric = type(METRICS[spelling]())
    values, known = parse_options(metric, options), list_metric_options(metric)
    shown = ",".join(f"{each}={known[each].show(value)}" for each, value in values.items())
    return f"{spelling}({shown})" if shown else spelling


def resolve(metrics: str | Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Return metric objects for names and metric objects, or for a text such as `BLEU,CIDEr-D`.

    Default metrics without installed data are left out, with a warning.

    Raises:
        OptionError: A name is unknown, there are no metrics, a metric needs an option without a value, or two
            metrics compute scores with the same name.
    """
    if isinstance(metrics, str):
        metrics = split_metrics(metrics)
    if isinstance(metrics, DefaultMetrics):
        for note in describe_omitted(metrics.omitted):
            # The warning's location is this line for all callers, so it is shown once.
            warnings.warn(note, CapevalWarning, stacklevel=1)
        metrics = metrics.available
    if not isinstance(metrics, Iterable):
        raise OptionError(f"'metrics' must be a list of names or metrics (got {metrics!r})")
    resolved = tuple(_resolve_metric(metric) for metric in metrics)
    for metric in resolved:
        if metric.missing_options:
            raise make_missing_options_error(metric)
    if not resolved:
        raise OptionError("'metrics' must contain at least one metric (got none)")
    names = [name for metric in resolved for name in metric.names]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(
                f"'metrics' must compute different scores (got {name} twice); use one run for each variant"
            )
    return resolved


def describe_omitted(omitted: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note on each metric that is left out; the values are the commands that install its data."""
    return tuple(
        f"{name} is left out, because its data is not installed; to add it, run {command}"
        for name, command in omitted.items()
    )


def normalize_score(name: str, scores: Iterable[str]) -> str:
    """Return a score's name in the spelling of `scores`; the name itself if it is not one of them."""
    known = tuple(scores)
    spelling = None if name in known else METRICS.spelling(name)
    return spelling if spelling is not None and spelling in known else name


def list_alias_notes(names: Iterable[str]) -> tuple[str, ...]:
    """Return the notes on the names of metrics that are other names, such as `CIDEr` for CIDEr-D."""
    found: dict[str, None] = {}
    for name, _ in map(split_options, names):
        spelling = METRICS.spelling(name)
        if spelling is not None and METRICS.normalize(spelling) != METRICS.normalize(name):
            found[type(METRICS[spelling]()).alias_note] = None
    return tuple(note for note in found if note)


def list_metric_keys(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the keys of metrics in results.

    The key of a metric with one score is the name of the score. Otherwise it is the metric's family or, if
    several of the metrics belong to that family, the names of its scores joined by commas.

    Example:
        >>> from capeval import Bleu, CiderD
        >>> from capeval.metrics import list_metric_keys
        >>> list_metric_keys([Bleu(), CiderD()])
        ('BLEU', 'CIDEr-D')
        >>> list_metric_keys([Bleu(orders=(1, 2)), Bleu(orders=(4,))])
        ('BLEU-1,BLEU-2', 'BLEU-4')
    """
    families = [metric.family for metric in metrics]
    return tuple(
        ",".join(metric.names)
        if len(metric.names) == 1 or families.count(metric.family) > 1
        else metric.family
        for metric in metrics
    )


def _describe_unknown(name: str) -> str:
    from difflib import SequenceMatcher

    wanted = METRICS.normalize(name)
    if wanted.startswith(_OF_SEVERAL_CAPTIONS):
        return f"{name!r} compares several captions of one image; run 'capeval study diversity'"

    def measure_similarity(other: str) -> float:
        return SequenceMatcher(None, METRICS.normalize(other), wanted).ratio()

    # The first of equally similar names: "CIDErE" is CIDEr-D rather than CIDEr-R.
    near = max(METRICS, key=measure_similarity)
    question = f"; did you mean {near!r}? Run" if measure_similarity(near) >= _SIMILAR else "; run"
    return f"unknown metric {name!r}{question} 'capeval metrics' for the list"


def _resolve_metric(metric: object) -> Metric:
    if isinstance(metric, Metric):
        require_family(type(metric))
        return metric
    if isinstance(metric, str):
        return get_metric(metric)
    raise OptionError(f"'metrics' must contain names or metrics such as Bleu() (got {metric!r})")
