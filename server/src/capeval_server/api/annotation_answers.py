"""Operations that read a campaign's answers and results, for its managers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from capeval_server.annotation.campaigns.lifecycle import get_managed_campaign
from capeval_server.annotation.releases.answer_export import EXPORTS, export_answers
from capeval_server.annotation.releases.current_results import (
    CampaignNumber,
    CampaignResults,
    get_results,
    render_results,
)
from capeval_server.annotation.releases.item_winners import ItemWinner
from capeval_server.annotation.review.answer_explorer import AnswerFilter
from capeval_server.api.authentication import ORGANIZE, token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem

__all__ = ["router"]

router = Router(auth=ORGANIZE, tags=["Campaigns"])
ResultFormat = Annotated[Literal["json", "csv"], Query(alias="format")]


@derived_from(CampaignNumber)
class CampaignNumberAnswer(Schema):
    """A number of the results."""


@derived_from(ItemWinner)
class ItemWinnerAnswer(Schema):
    """The winner of an item or of a pair."""


@derived_from(CampaignResults, without=("lengths",))
class ResultsAnswer(Schema):
    """Results of a campaign, from the answers that count now."""


@router.get("/{slug}/results", response={200: ResultsAnswer, (403, 404): Problem})
def results(request: HttpRequest, slug: Slug, form: ResultFormat = "json") -> Any:
    """Return the results of the answers that count now.

    They include scores of systems, wins, shares of answers, agreement, accuracies of metrics, and statistics
    of captions. `format=csv` returns the rows as CSV.
    """
    found = get_results(get_managed_campaign(token_of(request).user, slug))
    if form == "json":
        return found
    answer = HttpResponse(render_results(found), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{slug}-results.csv"'
    return answer


class JudgmentParameters(Schema):
    """Choice of answers, and the form of their table."""

    state: Literal["all", "waiting", "accepted", "rejected", "counted", "uncounted", "training"] = "all"
    signal: Annotated[str, Field(max_length=50)] = ""
    category: Annotated[str, Field(max_length=50)] = ""
    worker: Annotated[str, Field(max_length=16)] = ""
    search: Annotated[str, Field(max_length=200)] = ""
    disagreement: bool = False
    worker_signal: Annotated[str, Field(max_length=50)] = ""
    form: Annotated[Literal["csv", "parquet"], Field(alias="format")] = "csv"


@router.get("/{slug}/judgments", response={200: Any, (403, 404, 422): Problem})
def judgments(request: HttpRequest, slug: Slug, asked: Annotated[JudgmentParameters, Query()]) -> Any:
    """Return the chosen answers as a table with the columns of `judgments.csv`.

    The download is recorded in the history.
    """
    user = token_of(request).user
    chosen = AnswerFilter(**asked.model_dump(exclude={"form"}))
    data = export_answers(user, get_managed_campaign(user, slug), chosen, asked.form)
    answer = HttpResponse(data, content_type=EXPORTS[asked.form])
    answer["Content-Disposition"] = f'attachment; filename="{slug}-answers.{asked.form}"'
    return answer
