"""Operations on the agreement of annotators, and on the time and cost of a campaign."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from capeval.errors import CapevalError
from capeval.studies.effort import Agreement, Forecast
from capeval_server.annotation.campaigns.effort import (
    Effort,
    default_prices,
    estimate_effort,
    measured_agreement,
)
from capeval_server.annotation.core.agreement import (
    CaptionAgreement,
    QuestionAgreement,
    measure_caption_agreement,
    measure_question_agreement,
)
from capeval_server.annotation.responses.text_flags import request_agreement_reviews
from capeval_server.annotation.task_types import task_named
from capeval_server.api.annotation_common import create_router, get_campaign
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem
from capeval_server.core.errors import CampaignError

__all__ = ["router"]

router = create_router()


class AlphaAnswer(Schema):
    """Krippendorff's alpha with its interval. `note` names the scale, the level and the units."""

    alpha: float
    low: float
    high: float
    note: str


@derived_from(QuestionAgreement, without=("alpha",))
class QuestionAgreementAnswer(Schema):
    """Agreement on a question, for the items of a class. `alpha` is null if it is undefined."""

    alpha: AlphaAnswer | None

    @staticmethod
    def resolve_alpha(found: QuestionAgreement) -> dict[str, Any] | None:
        """Return the alpha."""
        if found.alpha is None:
            return None
        interval = found.alpha.interval
        return {
            "alpha": interval.score,
            "low": interval.low,
            "high": interval.high,
            "note": found.alpha.note,
        }


class CaptionAgreementAnswer(Schema):
    """Agreement of captions with the other captions of their image.

    `compared` and `waiting` are the numbers of images with enough captions and with too few. `captions` is
    the number of compared captions, and `unlike` is how many of them differ too much from the others.
    """

    compared: int
    waiting: int
    captions: int
    unlike: int

    @staticmethod
    def resolve_captions(found: CaptionAgreement) -> int:
        """Return the number of compared captions."""
        return len(found.scores)

    @staticmethod
    def resolve_unlike(found: CaptionAgreement) -> int:
        """Return the number of captions that differ too much."""
        return len(found.unlike)


class AgreementAnswer(Schema):
    """Agreement of annotators: of choices by class and question, or of captions."""

    questions: list[QuestionAgreementAnswer]
    captions: CaptionAgreementAnswer | None


class NewReviews(Schema):
    """Number of captions that were sent to review."""

    captions: int


class Assumptions(Schema):
    """Assumptions of a forecast. Omitted ones are measured, or usual for the task type.

    `yes` and `concentration` apply to task types with a share as result, until the agreement is measured.
    """

    seconds: float | None = Field(None, ge=0.1, le=86_400, description="Time per answer, in seconds.")
    hourly: float | None = Field(None, ge=0.01, le=1e6, description="Pay per hour, in any currency.")
    fee: float = Field(0.0, ge=0, le=10, description="Fee of a panel, as a fraction of the pay.")
    workers: int = Field(10, ge=1, le=1_000_000, description="Number of people working in parallel.")
    hours: float = Field(2.0, ge=0.01, le=24, description="Working hours per person and day.")
    yes: float = Field(0.5, ge=0.001, le=0.999, description="Share of answers that are yes.")
    concentration: float = Field(
        1.0, ge=0.01, le=1000, description="Disagreement: 0.2 is low, 1 medium, and 5 near chance."
    )


@derived_from(Forecast)
class ForecastAnswer(Schema):
    """Forecast of the precision of a share."""


@derived_from(Agreement)
class AgreementModel(Schema):
    """Distribution, over images, of the share of yes answers."""


@derived_from(Effort)
class EffortAnswer(Schema):
    """Effort and cost of a campaign, with the time and the prices that they are computed from.

    `agreement` is the agreement that the forecast uses, and `measured` is whether answers of the campaign
    determine it.
    """

    seconds: float
    hourly: float
    fee: float
    agreement: AgreementModel | None
    measured: bool


@router.get("/{slug}/agreement", response={200: AgreementAnswer, (403, 404): Problem})
def agreement(request: HttpRequest, slug: Slug) -> Any:
    """Return the agreement of annotators: by class for choices, by caption for texts."""
    campaign = get_campaign(request, slug)
    if task_named(campaign.kind).choices:
        return {"questions": measure_question_agreement(campaign), "captions": None}
    return {"questions": [], "captions": measure_caption_agreement(campaign)}


@router.post("/{slug}/agreement/reviews", response={200: NewReviews, (403, 404, 422): Problem})
def review_unlike(request: HttpRequest, slug: Slug) -> Any:
    """Send captions that differ too much from the others of their image to review."""
    return {"captions": request_agreement_reviews(get_campaign(request, slug))}


@router.get("/{slug}/plan", response={200: EffortAnswer, (403, 404, 422): Problem})
def plan(request: HttpRequest, slug: Slug, assumed: Annotated[Assumptions, Query()]) -> Any:
    """Forecast the answers, time and cost of a campaign, and the precision of its result."""
    campaign = get_campaign(request, slug)
    measured = measured_agreement(campaign)
    given = assumed.model_dump(exclude={"yes", "concentration"}, exclude_none=True)
    try:
        prices = replace(default_prices(campaign), **given)
        used = measured or Agreement(yes=assumed.yes, concentration=assumed.concentration)
        effort = estimate_effort(campaign, prices, used)
    except CapevalError as error:
        raise CampaignError(str(error)) from None
    about = {"seconds": prices.seconds, "hourly": prices.hourly, "fee": prices.fee}
    return {
        **vars(effort),
        **about,
        "agreement": used if effort.forecast else None,
        "measured": measured is not None,
    }
