"""Operations to judge the submissions of a leaderboard. They return 404 to everyone but organizers."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from ninja import Field, File, Form, Router, Schema, Status
from ninja.files import UploadedFile

from capeval_server.annotation.campaigns import leaderboard_judging as judging
from capeval_server.annotation.campaigns.form_files import unzip_images
from capeval_server.annotation.campaigns.judging_forecast import JudgingForecast, forecast_judging
from capeval_server.annotation.core.options import MOST_ANSWERS
from capeval_server.annotation.core.study_information import STUDY_SETTINGS
from capeval_server.annotation.workers.enrollment import MOST_INVITES, invite_to_all
from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem, RequestBody
from capeval_server.challenges.selectors.access import get_organized_challenge, get_phase
from capeval_server.core.errors import CampaignError
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.leaderboards.query import build_query

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Organizing"])


class JudgingChoices(RequestBody):
    """Choices for judging a leaderboard, as form fields.

    By default, all submissions on the leaderboard of the phase are judged, with the human captions of the
    main leaderboard. `references` is a split and a reference set, such as `test/c5`. One answer in
    `check_every` is to an attention check; 0 turns checks off. `run_by`, `contact`, `license` and `pay_terms`
    are settings of all campaigns that they need to open. With `preview`, only the forecast is returned.
    """

    phase: str
    kinds: list[str]
    submissions: list[UUID] = Field(default_factory=list)
    references: str = ""
    images: Annotated[int, Field(ge=2, le=100_000)] = 100
    answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] | None = None
    check_every: Annotated[int, Field(ge=0, le=1000)] = judging.DEFAULT_CHECK_EVERY
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]*$", max_length=judging.LONGEST_NAME)] = ""
    title: Annotated[str, Field(max_length=judging.LONGEST_TITLE)] = ""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    hourly: Annotated[float, Field(gt=0, le=1e6)] = 12.0
    run_by: str = ""
    contact: str = ""
    license: str = ""
    pay_terms: str = ""
    preview: bool = False


@derived_from(JudgingForecast)
class JudgingForecastAnswer(Schema):
    """Forecast of one campaign."""


class JudgingAnswer(Schema):
    """Forecast of each campaign, and the names of the created campaigns, which are drafts."""

    forecast: list[JudgingForecastAnswer]
    campaigns: list[str]


class BundleInvites(RequestBody):
    """Number of links, each for all of some campaigns."""

    campaigns: Annotated[list[str], Field(min_length=1, max_length=20)]
    number: Annotated[int, Field(ge=1, le=MOST_INVITES)]


class BundleTokens(Schema):
    """Invite tokens: `/annotate/CAMPAIGN/enter/TOKEN/` is the link of a person."""

    tokens: list[str]


@router.post("/judging", response={(200, 201): JudgingAnswer, (404, 422): Problem})
@accepts_uploads
def judge(
    request: HttpRequest,
    slug: Slug,
    wanted: Annotated[JudgingChoices, Form()],
    pictures: Annotated[UploadedFile | None, File()] = None,
) -> Any:
    """Create campaigns in which people judge the submissions of a leaderboard.

    `pictures` is a zip of the images, for task types that show them. Their names end in the image id. By
    default, they are the images of the split that the challenge has. A forecast needs none.
    """
    user = token_of(request).user
    challenge = get_organized_challenge(user, slug)
    # Ninja ignores unknown fields of forms.
    if unknown := {*request.POST, *request.FILES} - {*JudgingChoices.model_fields, "pictures"}:
        raise CampaignError(f"unknown field {min(unknown)!r}")
    phase = get_phase(challenge.slug, wanted.phase)
    split, _, references = wanted.references.partition("/")
    files = {}
    if pictures is not None:
        files = unzip_images(pictures.read(), limit=settings.UNPACKED_BYTES)
    chosen = judging.JudgingRequest(
        phase=phase,
        references=build_query(phase, split=split, references=references).reference_set,
        submissions=wanted.submissions or [one.pk for one in judging.list_judgeable(phase)],
        kinds=judging.check_kinds(wanted.kinds),
        name=wanted.name or judging.default_name(phase),
        title=wanted.title or judging.default_title(phase),
        images=wanted.images,
        answers=wanted.answers,
        check_every=wanted.check_every,
        seed=wanted.seed,
        options={name: getattr(wanted, name) for name in STUDY_SETTINGS},
    )
    judged = judging.collect_captions(chosen, list(files), is_forecast=wanted.preview)
    found = forecast_judging(chosen, judged, hourly=wanted.hourly, fee=0.0)
    if wanted.preview:
        return Status(200, {"forecast": found, "campaigns": []})
    made = judging.create_judging(user, chosen, files)
    return Status(201, {"forecast": found, "campaigns": [campaign.slug for campaign in made]})


@router.post("/judging/invites", response={201: BundleTokens, (404, 422): Problem})
def invite(request: HttpRequest, slug: Slug, wanted: BundleInvites) -> Any:
    """Create invite tokens, one per person, each for all of some campaigns of the challenge."""
    user = token_of(request).user
    challenge = get_organized_challenge(user, slug)
    found = list(challenge.campaigns.filter(slug__in=wanted.campaigns).order_by("pk"))
    if unknown := set(wanted.campaigns) - {campaign.slug for campaign in found}:
        raise CampaignError(f"'campaigns' must be campaigns of the challenge (got {sorted(unknown)[0]!r})")
    return Status(201, {"tokens": invite_to_all(user, found, wanted.number)})
