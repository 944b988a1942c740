"""Form field of metrics with their options, from the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from capeval.errors import OptionError
from capeval.metrics import DEFAULT, METRICS, Metric
from capeval.metrics.options import MetricOption, list_metric_options
from capeval.metrics.registry import get_metric, normalize_name

__all__ = ["MetricsField", "list_scores"]

# The submitted text of each option, by metric and option.
_SentOptions = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class _OfferedOption:
    """An option of a metric, as an input of the form."""

    option: MetricOption
    input: str
    value: str

    @property
    def choices(self) -> list[str]:
        """The values to select from, or [] for a text input."""
        return ["true", "false"] if self.option.type == "flag" else list(self.option.choices)

    @property
    def help(self) -> str:
        """The description of the option, without code markup."""
        return self.option.help.replace("`", "")


@dataclass(frozen=True, kw_only=True)
class _OfferedMetric:
    """A metric of the registry, as a checkbox with its options."""

    name: str
    scores: str
    is_chosen: bool
    options: list[_OfferedOption]


def _list_open_options(name: str) -> dict[str, tuple[MetricOption, str]]:
    """Return the options that a registered name does not fix, with defaults as text.

    Options that name files are left out: a challenge has none.
    """
    metric = type(made := METRICS[name]())
    fixed = metric.variants.get(name, {})
    return {
        option.name: (option, option.show(getattr(made, option.name)))
        for option in list_metric_options(metric).values()
        if option.name not in fixed and option.type != "file"
    }


def _sort_metrics() -> dict[str, Metric]:
    """Return all metrics by name: default metrics, other featured ones, then the rest.

    Metrics that need files are left out: a challenge has none.
    """
    found = {name: metric for name, make in METRICS.items() if not (metric := make()).missing_options}
    ranks = {name: place for place, name in enumerate(DEFAULT)}

    def rank(name: str) -> tuple[int, bool]:
        return ranks.get(name, len(ranks)), name not in found[name].featured

    return {name: found[name] for name in sorted(found, key=rank)}


def list_scores() -> list[str]:
    """Return the score names of all metrics, beginning with featured metrics."""
    return list(dict.fromkeys(name for metric in _sort_metrics().values() for name in metric.names))


class _MetricsWidget(forms.Widget):
    """Checkboxes of metrics with their options.

    Metrics that are not featured are under "More metrics".
    """

    template_name = "web/hosting/_metrics.html"
    use_fieldset = True

    def id_for_label(self, id_: str | None) -> str:
        # The legend of the fieldset is its label.
        return ""

    def get_context(
        self, name: str, value: _SentOptions | None, attrs: dict[str, Any] | None
    ) -> dict[str, Any]:
        context = super().get_context(name, None, attrs)
        chosen = value or {}
        featured: list[_OfferedMetric] = []
        others: list[_OfferedMetric] = []
        for each, metric in _sort_metrics().items():
            offered = _OfferedMetric(
                name=each,
                scores="" if metric.names == (each,) else ", ".join(metric.names),
                is_chosen=each in chosen,
                options=list(self._list_options(name, each, chosen.get(each, {}))),
            )
            (featured if each in metric.featured or each in DEFAULT else others).append(offered)
        context["widget"] |= {
            "featured": featured,
            "others": others,
            "is_open": any(each.is_chosen for each in others),
        }
        return context

    def _list_options(self, name: str, metric: str, sent: Mapping[str, str]) -> Iterator[_OfferedOption]:
        for option, default in _list_open_options(metric).values():
            place = f"{name}-{metric}-{option.name}"
            yield _OfferedOption(option=option, input=place, value=sent.get(option.name, default))

    def value_from_datadict(self, data: Any, files: Any, name: str) -> _SentOptions:
        del files
        return {
            metric: {
                option: data[place]
                for option in (_list_open_options(metric) if metric in METRICS else ())
                if (place := f"{name}-{metric}-{option}") in data
            }
            for metric in data.getlist(name)
        }

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        # Browsers send nothing if no checkbox is checked.
        del data, files, name
        return False


class MetricsField(forms.Field):
    """Metrics by their names in definitions, with non-default options."""

    widget = _MetricsWidget

    def __init__(self, **options: Any) -> None:
        # Computed for each form, because data of metrics can be installed later.
        super().__init__(initial=lambda: {name: {} for name in DEFAULT.available}, **options)

    def to_python(self, value: _SentOptions | None) -> list[str]:
        """Return the chosen metrics, such as `CIDEr-D(sigma=3)`.

        Raises:
            ValidationError: A metric is unknown, or an option has an invalid value.
        """
        made = []
        for metric, sent in (value or {}).items():
            try:
                name = normalize_name(metric)
                defaults = _list_open_options(name)
                changed = [
                    f"{option}={text}"
                    for option, text in sent.items()
                    if text.strip() not in ("", defaults[option][1])
                ]
                made.append(normalize_name(f"{name}({','.join(changed)})"))
                get_metric(made[-1])
            except OptionError as error:
                raise forms.ValidationError(f"{metric}: {error}") from None
        return made
