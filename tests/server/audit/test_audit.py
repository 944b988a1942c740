"""Audit log entries: the admin site, the command line, and downloads of private files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User

from capeval_server.accounts.models import Token
from capeval_server.audit.models import COMMAND_LINE, Action
from capeval_server.challenges.models import Challenge
from capeval_server.core.admin import AuditedModelAdmin
from capeval_server.jobs import worker
from tests.server.kit import Participant, Someone
from tests.server.processes import Server

PASSWORD = "correct horse 1"


@pytest.fixture
def staff(challenge: Challenge) -> Someone:
    Action.objects.all().delete()
    return Someone("staff", is_staff=True, is_superuser=True)


def lines(challenge: Challenge | None = None) -> list[tuple[str, str]]:
    return list(Action.objects.filter(challenge=challenge).order_by("pk").values_list("who", "what"))


def inlines(*kinds: str) -> dict[str, Any]:
    return {f"{kind}-{field}": "0" for kind in kinds for field in ("TOTAL_FORMS", "INITIAL_FORMS")}


def test_all_of_the_administration_is_told() -> None:
    assert len(admin.site._registry) > 10
    assert [each for each in admin.site._registry.values() if not isinstance(each, AuditedModelAdmin)] == []


@pytest.mark.django_db
def test_a_team_that_staff_rename(staff: Someone, ann: Participant) -> None:
    place = f"/admin/teams/team/{ann.team.pk}/change/"
    staff.do(place, name="Ann's team", **inlines("memberships", "raises"))
    what = "changed team Ann's team: name from 'ann' to \"Ann's team\", in the administration"
    assert lines(ann.team.challenge) == [("staff", what)]
    assert Action.objects.get().team == ann.team
    # Nothing changed, nothing is told.
    staff.do(place, name="Ann's team", **inlines("memberships", "raises"))
    assert Action.objects.count() == 1


@pytest.mark.django_db
def test_organizers_that_staff_choose(staff: Someone, ann: Participant) -> None:
    challenge = ann.team.challenge
    staff.do(
        f"/admin/challenges/challenge/{challenge.pk}/change/", organizers=ann.user.pk, **inlines("phases")
    )
    (line,) = lines(challenge)
    assert "organizers from () to (ann)" in line[1]


@pytest.mark.django_db
def test_users_that_staff_make_change_and_delete(staff: Someone) -> None:
    passwords: dict[str, Any] = {"password1": PASSWORD, "password2": PASSWORD}
    staff.do("/admin/auth/user/add/", username="eve", usable_password="true", **passwords)
    eve = User.objects.get(username="eve")
    place = f"/admin/auth/user/{eve.pk}"
    joined: dict[str, Any] = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    staff.do(f"{place}/change/", username="eva", is_active="on", is_staff="on", first_name="Secret", **joined)
    staff.do(f"{place}/password/", usable_password="true", **passwords)
    staff.do(f"{place}/delete/", post="yes")
    told = [what for _, what in lines()]
    assert told[0] == "added user eve, in the administration"
    for part in ("username from 'eve' to 'eva'", "is staff from False to True", "first name"):
        assert part in told[1]
    assert "password" in told[2]
    assert told[3] == "deleted user eva, in the administration"
    assert len(told) == 4
    assert not [text for text in told if PASSWORD in text or "Secret" in text]


@pytest.mark.django_db
def test_tokens_factors_addresses_and_groups(staff: Someone, ann: Participant) -> None:
    token = Token.objects.get(user=ann.user)
    EmailAddress.objects.create(user=ann.user, email="ann@example.org", primary=True)
    Authenticator.objects.create(user=ann.user, type="totp", data={})
    Group.objects.create(name="makers")
    for place, row, action in (
        ("accounts/token", token, "revoke"),
        ("account/emailaddress", EmailAddress.objects.get(), "make_verified"),
        ("mfa/authenticator", Authenticator.objects.get(), "delete_selected"),
        ("auth/group", Group.objects.get(), "delete_selected"),
    ):
        staff.do(f"/admin/{place}/", action=action, _selected_action=row.pk, post="yes")
    assert [what for _, what in lines()] == [
        f"{what}, in the administration"
        for what in (
            "revoked the token to submit of ann",
            "verified an email address of ann",
            "deleted a second factor of ann",
            "deleted group makers",
        )
    ]
    assert not Authenticator.objects.exists()
    assert ann.api.get("/api/submissions").status_code == 401
    assert "revoked the token" in staff.see("/admin/organising/action/")
    # Django's own log still has its entries.
    assert LogEntry.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("by", ["page", "API"])
def test_downloads_of_everything(challenge: Challenge, olga: Someone, ann: Participant, by: str) -> None:
    ann.submitted()
    Action.objects.all().delete()
    client: Any = olga.client if by == "page" else olga.program("organize")
    place = "/small/organize/export/" if by == "page" else "/api/challenges/small/organize/export"
    client.post(place)
    while worker.work_once():
        pass
    answer = client.get(place)
    assert b"".join(answer.streaming_content).startswith(b"PK")
    assert lines(challenge) == [
        ("olga", "had everything of the challenge exported"),
        ("olga", "downloaded everything of the challenge"),
    ]
    assert "downloaded everything" in olga.see("/small/organize/trail/")


SEEN = """
from capeval_server.audit.models import Action
for action in Action.objects.order_by("pk"):
    print(action.who, action.what, sep=": ")
"""


def test_the_command_line(fresh: Server, tmp_path: Path) -> None:
    fresh.prepare()
    before = fresh.python(SEEN)
    fresh.run("user", "ann", "--staff")
    text = fresh.run("token", "ann", "laptop", "--scope", "read")
    assert fresh.done("token", "ann", "laptop").returncode == 2
    fresh.run("token", "ann", "laptop", "--revoke")
    fresh.run("export", "small", str(tmp_path / "all.zip"))
    seen = fresh.python(SEEN).removeprefix(before)
    assert seen.splitlines() == [
        f"{COMMAND_LINE}: {what}"
        for what in (
            "made the user ann, who is staff",
            "made the token laptop of ann, which allows to read",
            "revoked the token laptop of ann",
            "wrote everything of the challenge to a file",
        )
    ]
    assert text.strip() not in seen
