"""The admin site: pages and actions for staff, and protection against inconsistent data."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from capeval_server.accounts.models import Token
from capeval_server.audit.models import COMMAND_LINE, Action
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.jobs import worker
from capeval_server.jobs.models import Worker
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Team
from tests.server.kit import MARKER, MARKUP, Participant, Someone, code_of, codes
from tests.server.pages import check_policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(challenge: Challenge) -> Client:
    return Someone("staff", is_staff=True, is_superuser=True).client


def _server_models() -> list[Any]:
    found = [model for model in admin.site._registry if model.__module__.startswith("capeval_server.")]
    assert len(found) >= 6, "the scan found nothing"
    return found


def _place(model: Any, rest: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{rest}"


def _row_of_each(ann: Participant) -> None:
    submission = ann.scored(stands=True, method=MARKUP)
    Submission.objects.filter(pk=submission.pk).update(algorithm=MARKUP, reason=MARKUP)
    Worker.objects.get_or_create(name=MARKUP)
    Action.objects.create(challenge=Challenge.objects.get(), who=MARKUP, what=MARKUP, submission=submission)


def test_every_page_keeps_to_the_policy(staff: Client) -> None:
    ann = Participant("ann", MARKUP)
    _row_of_each(ann)
    secrets = [*Token.objects.values_list("digest", flat=True), *codes()]
    for model in [*_server_models(), User]:
        pages = ["", "?q=x"]
        pages += [f"{each.pk}/change/" for each in model.objects.all()[:3]]
        for page in pages:
            answer = staff.get(_place(model, page))
            assert answer.status_code == 200, (model, page)
            text = answer.content.decode()
            check_policy(text, answer["Content-Security-Policy"])
            assert MARKUP not in text
            assert MARKER not in text
            assert not [secret for secret in secrets if secret in text], (model, page)


def test_nothing_is_added_here(staff: Client) -> None:
    for model in _server_models():
        assert staff.get(_place(model, "add/")).status_code == 403, model
        assert staff.post(_place(model, "add/"), {}).status_code == 403, model


@pytest.mark.parametrize("field", ["state", "lease", "lease_until", "attempt", "stands", "mark", "log"])
def test_the_state_of_a_submission_is_not_edited(staff: Client, field: str) -> None:
    submission = Participant("ann").submitted()
    before = Submission.objects.filter(pk=submission.pk).values().get()
    place = _place(Submission, f"{submission.pk}/change/")
    assert f'name="{field}"' not in staff.get(place).content.decode()
    assert staff.post(place, {field: "scored", "_save": "Save"}).status_code == 403
    assert staff.post(_place(Submission, f"{submission.pk}/delete/"), {"post": "yes"}).status_code == 403
    listed = {"action": "delete_selected", "_selected_action": str(submission.pk), "post": "yes"}
    staff.post(_place(Submission), listed)
    assert Submission.objects.filter(pk=submission.pk).values().get() == before


def test_staff_have_submissions_scored_again(staff: Client) -> None:
    ann = Participant("ann")
    submission, withdrawn = ann.scored(stands=True), ann.submitted()
    ann.api.delete(f"/api/submissions/{withdrawn.pk}")
    chosen = [str(submission.pk), str(withdrawn.pk)]
    answer = staff.post(_place(Submission), {"action": "rerun", "_selected_action": chosen}, follow=True)
    assert "1 waiting to be scored again" in answer.content.decode()
    states = dict(Submission.objects.values_list("pk", "state"))
    assert states == {submission.pk: "waiting", withdrawn.pk: "withdrawn"}
    assert Action.objects.exclude(who=COMMAND_LINE).get().who == "staff"
    assert worker.work_once()


def test_a_challenge_has_other_organizers_and_nothing_else_changes(staff: Client) -> None:
    found, user = Challenge.objects.get(), User.objects.create(username="olga")
    form: dict[str, Any] = {"organizers": [user.pk], "slug": "x", "title": "x"}
    for prefix, number in (("phases", 1),):
        form |= {f"{prefix}-TOTAL_FORMS": number, f"{prefix}-INITIAL_FORMS": number}
        form |= {f"{prefix}-0-id": Phase.objects.get().pk, f"{prefix}-0-quota_total": 1}
    assert staff.post(_place(Challenge, f"{found.pk}/change/"), form).status_code == 302
    after = Challenge.objects.get()
    assert (after.slug, after.title, list(after.organizers.all())) == ("small", found.title, [user])
    assert Phase.objects.get().quota_total == 20
    assert staff.post(_place(Challenge, f"{found.pk}/delete/"), {"post": "yes"}).status_code == 403


def test_tokens_are_revoked_and_not_read(staff: Client) -> None:
    ann = Participant("ann")
    token = Token.objects.get()
    page = staff.get(_place(Token, f"{token.pk}/change/")).content.decode()
    assert token.digest not in page
    assert "digest" not in page
    assert staff.get(f"{_place(Token)}?digest__startswith={token.digest[:2]}").status_code == 400
    assert staff.get(f"{_place(Team)}?code__startswith={code_of(ann.team)[:2]}").status_code == 400
    staff.post(_place(Token), {"action": "revoke", "_selected_action": [token.pk]})
    assert ann.api.get("/api/submissions").status_code == 401


def test_who_is_no_staff_sees_nothing(staff: Client) -> None:
    ann = Participant("ann")
    for model in _server_models():
        assert ann.client.get(_place(model)).status_code == 302, model
        assert Client().get(_place(model)).status_code == 302, model
    helper = Someone("helper", is_staff=True)
    for model in _server_models():
        assert helper.client.get(_place(model)).status_code == 403, model


def test_secrets_of_second_factors_are_not_shown(staff: Client) -> None:
    ann = Participant("ann")
    factor = Authenticator.objects.create(user=ann.user, type="totp", data={"secret": MARKER})
    for page in ("", f"{factor.pk}/change/", f"{factor.pk}/delete/", "?data__secret__startswith=X"):
        answer = staff.get(f"/admin/mfa/authenticator/{page}")
        assert answer.status_code == (400 if page.startswith("?") else 200)
        assert MARKER not in answer.content.decode()
    assert staff.post(f"/admin/mfa/authenticator/{factor.pk}/change/", {"type": "x"}).status_code == 403
    staff.post(f"/admin/mfa/authenticator/{factor.pk}/delete/", {"post": "yes"})
    assert not Authenticator.objects.exists()
