"""Pages of campaign managers. They return 404 to everyone else."""

from __future__ import annotations

from typing import Any

from django.urls import path

from capeval_server.web.campaigns import (
    additions,
    agreement,
    creation,
    drafts,
    overview,
    previews,
    reconciliation,
    recruiting,
    releases,
    results,
    reviews,
    workers,
)
from capeval_server.web.campaigns.common import View

__all__ = ["urlpatterns"]


def _create_route(place: str, view: View, name: str) -> Any:
    return path(f"campaigns/<slug:slug>/{place}", view, name=f"campaign{name and '_'}{name}")


urlpatterns = [
    path("campaigns/", creation.campaigns, name="campaigns"),
    path("new/campaign/", creation.new, name="campaign_new"),
    path("new/campaign/apply/", creation.apply_new, name="campaign_apply_new"),
    path("new/campaign/preview/", creation.preview_texts, name="campaign_preview"),
    path("new/campaign/columns/", previews.columns, name="campaign_columns"),
    path("new/campaign/image/", previews.preview_image, name="campaign_preview_image"),
    path("new/campaign/from/<slug:text>/", creation.new_from_text, name="campaign_new_from"),
    _create_route("", overview.overview, ""),
    _create_route("state/", overview.state, "state"),
    _create_route("answers/", overview.answers, "answers"),
    _create_route("quality/", overview.quality_settings, "quality"),
    _create_route("plot.svg", overview.plot, "plot"),
    _create_route("delete/", drafts.delete, "delete"),
    _create_route("copy/", drafts.copy, "copy"),
    _create_route("edit/", drafts.edit, "edit"),
    _create_route("items/", overview.items, "items"),
    _create_route("items/add/", additions.add, "add_items"),
    _create_route("items/add/apply/", additions.apply, "apply_items"),
    _create_route("items/<int:pk>/hold/", overview.hold, "hold"),
    _create_route("agreement/", agreement.agreement, "agreement"),
    _create_route("agreement/review/", agreement.review_unlike, "review_unlike"),
    _create_route("plan/", agreement.plan, "plan"),
    _create_route("recruiting/", recruiting.recruiting, "recruiting"),
    _create_route("recruiting/reconciliation/", reconciliation.reconcile, "reconciliation"),
    _create_route("workers/", workers.workers, "workers"),
    _create_route("workers/invite/", workers.invite, "invite"),
    _create_route("workers/<slug:pseudonym>/", workers.worker, "worker"),
    _create_route("workers/<slug:pseudonym>/block/", workers.block, "block"),
    _create_route("workers/<slug:pseudonym>/lift/", workers.lift, "lift"),
    _create_route("workers/<slug:pseudonym>/resume/", workers.resume, "resume"),
    _create_route("workers/<slug:pseudonym>/reviews/", workers.request_reviews, "request_reviews"),
    _create_route("workers/<slug:pseudonym>/revoke/", workers.revoke, "revoke"),
    _create_route("payments.csv", workers.payments, "payments"),
    _create_route("bonuses.csv", recruiting.bonuses, "bonuses"),
    _create_route("reviews/", reviews.reviews, "reviews"),
    _create_route("reviews/<int:pk>/", reviews.review, "review"),
    _create_route("reviews/accept/", reviews.accept, "accept"),
    _create_route("reviews/undo/", reviews.undo, "undo"),
    _create_route("reviews/answers.<str:form>", reviews.export, "answers_export"),
    _create_route("images/<int:pk>/<slug:size>/", reviews.image, "image"),
    _create_route("releases/", releases.releases, "releases"),
    _create_route("releases/<str:name>/verify/", releases.verify, "verify"),
    _create_route("releases/<str:name>/files.zip", releases.download, "download"),
    _create_route("releases/<str:name>/challenge/", releases.use_in_new, "use_in_new"),
    _create_route("releases/<str:name>/references/", releases.use_as_references, "use_as_references"),
    _create_route("results/", results.results, "results"),
    _create_route("results/plot.svg", results.plot, "results_plot"),
    _create_route("results.csv", results.table, "results_table"),
    _create_route("results.zip", results.files, "result_files"),
]
