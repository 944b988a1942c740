"""Organizer pages. They return 404 to everyone else."""

from __future__ import annotations

from typing import Any

from django.urls import path

from capeval_server.web.hosting import (
    campaigns,
    challenge,
    judging,
    leaderboards,
    notifications,
    overview,
    participants,
    pictures,
    references,
    submissions,
)
from capeval_server.web.hosting.common import View

__all__ = ["TABS", "urlpatterns"]

TABS: dict[str, str] = {}
"""Labels of the organizer tabs, by route name."""


def _create_route(place: str, view: View, name: str, *, tab: str = "") -> Any:
    if tab:
        TABS[name] = tab
    return path(f"<slug:slug>/organize/{place}", view, name=f"organizer_{name}")


urlpatterns = [
    path("new/", challenge.new, name="organizer_new"),
    path("new/form/", challenge.new_by_form, name="organizer_new_by_form"),
    path("new/sample.zip", challenge.sample, name="organizer_sample"),
    path("new/apply/", challenge.apply_new, name="organizer_apply_new"),
    _create_route("", overview.overview_page, "overview", tab="Overview"),
    _create_route("submissions/", submissions.submissions, "submissions", tab="Submissions"),
    _create_route("submissions/<uuid:pk>/", submissions.submission, "submission"),
    _create_route("submissions/<uuid:pk>/rerun/", submissions.rerun_one, "rerun_one"),
    _create_route("submissions/<uuid:pk>/mark/", submissions.mark, "mark"),
    _create_route("submissions/<uuid:pk>/off/", submissions.take_off, "take_off"),
    _create_route("rerun/", submissions.rerun_many, "rerun"),
    _create_route("teams/", participants.teams, "teams", tab="Teams"),
    _create_route("teams/<int:pk>/", participants.team, "team"),
    _create_route("participants/", participants.participants, "participants", tab="Participants"),
    _create_route("notices/", notifications.notices, "notices", tab="Announcements"),
    _create_route("notices/<int:pk>/remove/", notifications.take_back, "take_back"),
    _create_route("webhooks/", notifications.add_webhook, "add_webhook"),
    _create_route("webhooks/<int:pk>/remove/", notifications.remove_webhook, "remove_webhook"),
    _create_route("pictures/", pictures.pictures, "pictures"),
    _create_route("pictures/<int:pk>/remove/", pictures.remove_picture, "remove_picture"),
    _create_route("edit/", challenge.edit, "edit", tab="Texts and phases"),
    _create_route("link/", challenge.new_link, "new_link"),
    _create_route("phases/", challenge.phase, "add_phase"),
    _create_route("phases/<slug:phase>/", challenge.phase, "phase"),
    _create_route("phases/<slug:phase>/final/", challenge.make_final, "final"),
    _create_route("phases/<slug:phase>/publish/", challenge.publish, "publish"),
    _create_route("leaderboards/<slug:split>/", leaderboards.columns, "columns"),
    _create_route("references/", references.references, "references", tab="References"),
    _create_route(
        "references/<slug:split>/<slug:references>/", references.send_references, "send_references"
    ),
    _create_route(
        "references/<slug:split>/<slug:references>/publish/",
        references.publish_references,
        "publish_references",
    ),
    _create_route(
        "references/<slug:split>/<slug:references>/reported/", references.import_reported, "reported"
    ),
    _create_route(
        "references/<slug:split>/<slug:references>/reported/<slug:name>.csv",
        references.reported_file,
        "reported_file",
    ),
    _create_route(
        "references/<slug:split>/<slug:references>/reported/<slug:name>/remove/",
        references.remove_reported,
        "remove_reported",
    ),
    _create_route("campaigns/", campaigns.campaigns, "campaigns", tab="Campaigns"),
    _create_route("campaigns/act/", campaigns.act, "campaigns_act"),
    _create_route("campaigns/judge/", judging.judge, "judge"),
    _create_route("campaigns/judge/create/", judging.create, "judge_create"),
    _create_route("files/", challenge.files, "files", tab="Files"),
    _create_route("files/apply/", challenge.apply_to, "apply"),
    _create_route("files/challenge.toml", challenge.definition, "definition"),
    _create_route("export/", overview.export_page, "export"),
    _create_route("delete/", overview.delete, "delete"),
    _create_route("organizers/", participants.organizers, "organizers", tab="Organizers"),
    _create_route("organizers/<int:pk>/remove/", participants.remove_organizer, "remove_organizer"),
    _create_route("trail/", overview.trail, "trail", tab="History"),
]
