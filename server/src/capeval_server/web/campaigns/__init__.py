"""Pages of campaign managers. They return 404 to everyone else."""

from __future__ import annotations

from typing import Any

from django.urls import path

from capeval_server.web.campaigns import agreement, creation, overview, releases, reviews, workers
from capeval_server.web.campaigns.common import View

__all__ = ["urlpatterns"]


def _at(place: str, view: View, name: str) -> Any:
    return path(f"campaigns/<slug:slug>/{place}", view, name=f"campaign{name and '_'}{name}")


urlpatterns = [
    path("campaigns/", creation.campaigns, name="campaigns"),
    path("new/campaign/", creation.new, name="campaign_new"),
    path("new/campaign/apply/", creation.apply_new, name="campaign_apply_new"),
    path("new/campaign/preview/", creation.preview_texts, name="campaign_preview"),
    path("new/campaign/from/<slug:text>/", creation.new_from_text, name="campaign_new_from"),
    _at("", overview.overview, ""),
    _at("state/", overview.state, "state"),
    _at("answers/", overview.answers, "answers"),
    _at("quality/", overview.quality_settings, "quality"),
    _at("plot.svg", overview.plot, "plot"),
    _at("items/", overview.items, "items"),
    _at("items/<int:pk>/hold/", overview.hold, "hold"),
    _at("agreement/", agreement.agreement, "agreement"),
    _at("agreement/review/", agreement.review_unlike, "review_unlike"),
    _at("plan/", agreement.plan, "plan"),
    _at("workers/", workers.workers, "workers"),
    _at("workers/invite/", workers.invite, "invite"),
    _at("workers/<slug:pseudonym>/", workers.worker, "worker"),
    _at("workers/<slug:pseudonym>/block/", workers.block, "block"),
    _at("workers/<slug:pseudonym>/lift/", workers.lift, "lift"),
    _at("workers/<slug:pseudonym>/resume/", workers.resume, "resume"),
    _at("workers/<slug:pseudonym>/revoke/", workers.revoke, "revoke"),
    _at("payments.csv", workers.payments, "payments"),
    _at("reviews/", reviews.reviews, "reviews"),
    _at("reviews/<int:pk>/", reviews.review, "review"),
    _at("images/<int:pk>/<slug:size>/", reviews.image, "image"),
    _at("releases/", releases.releases, "releases"),
    _at("releases/<str:name>/verify/", releases.verify, "verify"),
    _at("releases/<str:name>/files.zip", releases.download, "download"),
    _at("releases/<str:name>/challenge/", releases.use_in_new, "use_in_new"),
    _at("releases/<str:name>/references/", releases.use_as_references, "use_as_references"),
    _at("results.zip", releases.results, "results"),
]
