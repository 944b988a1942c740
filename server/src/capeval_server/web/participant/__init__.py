"""Participant pages: teams, submitting, and submissions with their scores."""

from django.urls import path

from capeval_server.web.participant import comparison, examples, notifications, submissions, teams, upload

__all__ = ["urlpatterns"]

_SUBMISSION = "submissions/<uuid:pk>/"
urlpatterns = [
    path("notices/", notifications.notices, name="notices"),
    path(_SUBMISSION, submissions.submission, name="submission"),
    path(f"{_SUBMISSION}examples/", examples.examples, name="submission_examples"),
    path(f"{_SUBMISSION}compare/", comparison.compare, name="submission_compare"),
    path(f"{_SUBMISSION}state/", submissions.state, name="submission_state"),
    path(f"{_SUBMISSION}stand/", submissions.stand, name="submission_stand"),
    path(f"{_SUBMISSION}withdraw/", submissions.take_back, name="submission_withdraw"),
    path(f"{_SUBMISSION}files/<slug:split>/", submissions.download, name="submission_file"),
    path("<slug:slug>/join/", teams.join, name="join"),
    path("<slug:slug>/team/", teams.team, name="team"),
    path("<slug:slug>/team/code/", teams.renew_code, name="team_code"),
    path("<slug:slug>/team/code/revoke/", teams.revoke_code, name="team_revoke_code"),
    path("<slug:slug>/team/members/", teams.members, name="team_members"),
    path("<slug:slug>/team/captions/", teams.captions, name="team_captions"),
    path("<slug:slug>/team/leave/", teams.leave, name="team_leave"),
    path("<slug:slug>/submissions/", submissions.submissions, name="submissions"),
    path("<slug:slug>/<slug:name>/submit/", upload.submit, name="submit"),
]
