"""Organizer pages. They return 404 to everyone else."""

from __future__ import annotations

from typing import Any

from django.urls import path

from capeval_server.web.hosting import (
    campaigns,
    challenge,
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


def _at(place: str, view: View, name: str, *, tab: str = "") -> Any:
    if tab:
        TABS[name] = tab
    return path(f"<slug:slug>/organize/{place}", view, name=f"organizer_{name}")


urlpatterns = [
    path("new/", challenge.new, name="organizer_new"),
    path("new/form/", challenge.new_by_form, name="organizer_new_by_form"),
    path("new/sample.zip", challenge.sample, name="organizer_sample"),
    path("new/apply/", challenge.apply_new, name="organizer_apply_new"),
    _at("", overview.overview_page, "overview", tab="Overview"),
    _at("submissions/", submissions.submissions, "submissions", tab="Submissions"),
    _at("submissions/<uuid:pk>/", submissions.submission, "submission"),
    _at("submissions/<uuid:pk>/rerun/", submissions.rerun_one, "rerun_one"),
    _at("submissions/<uuid:pk>/mark/", submissions.mark, "mark"),
    _at("submissions/<uuid:pk>/off/", submissions.take_off, "take_off"),
    _at("rerun/", submissions.rerun_many, "rerun"),
    _at("teams/", participants.teams, "teams", tab="Teams"),
    _at("teams/<int:pk>/", participants.team, "team"),
    _at("participants/", participants.participants, "participants", tab="Participants"),
    _at("notices/", notifications.notices, "notices", tab="Announcements"),
    _at("notices/<int:pk>/remove/", notifications.take_back, "take_back"),
    _at("webhooks/", notifications.add_webhook, "add_webhook"),
    _at("webhooks/<int:pk>/remove/", notifications.remove_webhook, "remove_webhook"),
    _at("pictures/", pictures.pictures, "pictures"),
    _at("pictures/<int:pk>/remove/", pictures.remove_picture, "remove_picture"),
    _at("edit/", challenge.edit, "edit", tab="Texts and phases"),
    _at("phases/", challenge.phase, "add_phase"),
    _at("phases/<slug:phase>/", challenge.phase, "phase"),
    _at("phases/<slug:phase>/final/", challenge.make_final, "final"),
    _at("references/", references.references, "references", tab="References"),
    _at("references/<slug:split>/<slug:references>/", references.send_references, "send_references"),
    _at(
        "references/<slug:split>/<slug:references>/publish/",
        references.publish_references,
        "publish_references",
    ),
    _at("references/<slug:split>/<slug:references>/reported/", references.import_reported, "reported"),
    _at(
        "references/<slug:split>/<slug:references>/reported/<slug:name>.csv",
        references.reported_file,
        "reported_file",
    ),
    _at(
        "references/<slug:split>/<slug:references>/reported/<slug:name>/remove/",
        references.remove_reported,
        "remove_reported",
    ),
    _at("campaigns/", campaigns.campaigns, "campaigns", tab="Campaigns"),
    _at("files/", challenge.files, "files", tab="Files"),
    _at("files/apply/", challenge.apply_to, "apply"),
    _at("files/challenge.toml", challenge.definition, "definition"),
    _at("export/", overview.export_page, "export"),
    _at("organizers/", participants.organizers, "organizers", tab="Organizers"),
    _at("organizers/<int:pk>/remove/", participants.remove_organizer, "remove_organizer"),
    _at("trail/", overview.trail, "trail", tab="History"),
]
