"""Forecasts of annotation campaigns: answers, days, cost, confidence intervals."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.effort.compute import Agreement as Agreement
    from capeval.studies.effort.compute import Forecast as Forecast
    from capeval.studies.effort.compute import Prices as Prices
    from capeval.studies.effort.compute import estimated_agreement as estimated_agreement
    from capeval.studies.effort.compute import forecast as forecast
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.effort.compute")
