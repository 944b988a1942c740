"""`capeval study effort`: forecast of an annotation campaign."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.output import examples
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.errors import OptionError
from capeval.studies.effort.options import EffortOptions, Prices

if TYPE_CHECKING:
    from capeval.studies.effort import Agreement

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 100
EXAMPLES = examples(
    "capeval study effort 1000 --systems 17 --votes 3 --yes 0.25 --seconds 9 --hourly 12",
    "capeval study effort 1000 --votes 11 --curtail --pilot pilot.csv --seconds 6 --hourly 12 --fee 0.33",
    "capeval study effort 400 --votes 48 --confidence 0.95 --concentration 1 --seconds 8 --hourly 12",
)


@dataclass(frozen=True, kw_only=True)
class PilotOptions:
    """Agreement of annotators: given, or estimated from a pilot."""

    yes: Annotated[
        float | None, Option(help="Share of answers that are yes, or for the first.", show_default="0.5")
    ] = None
    concentration: Annotated[
        float | None,
        Option(help="Disagreement on an image: 0.2 is low, 1 high, 5 close to chance.", show_default="1"),
    ] = None
    pilot: Annotated[
        Path | None, Option(help="CSV of ratings (1: yes), to estimate --yes and --concentration.")
    ] = None

    def agreement(self) -> Agreement:
        """Return the agreement.

        Raises:
            OptionError: An option conflicts with a pilot, or a number is out of range.
        """
        import numpy as np

        from capeval.formats.judgments.ratings import load_ratings
        from capeval.studies.effort import Agreement, estimated_agreement

        if self.pilot is None:
            yes = 0.5 if self.yes is None else self.yes
            return Agreement(yes=yes, concentration=1.0 if self.concentration is None else self.concentration)
        if self.yes is not None or self.concentration is not None:
            raise OptionError("'--yes' and '--concentration' can't be combined with '--pilot'")
        values = load_ratings(self.pilot).values
        return estimated_agreement([row[~np.isnan(row)].astype(int).tolist() for row in values])


def run(
    images: Annotated[int, Argument(help="Number of images or pairs per system.")],
    *,
    options: EffortOptions,
    pilot: PilotOptions,
    prices: Prices,
    output: Folder = None,
) -> None:
    """Forecast the answers, time, cost and precision of an annotation campaign.

    The interval and the smallest detectable difference apply to shares such as M1 and M2: the share of images
    with a majority of yes answers.
    """
    from capeval.studies.effort import forecast
    from capeval.studies.effort.report import report

    agreement = pilot.agreement()
    made = forecast(images=images, agreement=agreement, prices=prices, options=options)
    write_study_report(report(made, agreement), output)
