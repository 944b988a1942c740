"""Rules of a challenge: invitations, email domains, size of teams, and quotas of longer times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.utils import timezone

from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import to_toml
from capeval_server.submissions.models import Submission
from capeval_server.teams.services.membership import leave
from tests.server.clock import Clock
from tests.server.kit import Participant, Someone, code_of
from tests.server.pages import read_settings

pytestmark = pytest.mark.django_db

TEAM = "/api/challenges/small/team"
QUOTA = "/api/challenges/small/phases/open/quota"


def _join(user: Someone, headers: dict[str, str] | None = None, **choice: str) -> Any:
    body = {**choice, "accept_rules": True}
    return user.program("submit").post(TEAM, body, content_type="application/json", headers=headers or {})


def _verify(user: Someone, email: str, *, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user.user, email=email, verified=verified)


def _travel(user: Participant, clock: Clock, month: int, day: int, hour: int = 0) -> None:
    """Set the clock to a time in 2030, and sign in again."""
    clock.now = datetime(2030, month, day, hour, tzinfo=UTC)
    # Tokens and sessions of today have expired by then.
    Token.objects.all().delete()
    user.tokens.clear()
    user.api = user.program("submit")
    user.client.force_login(user.user)


def test_only_invited_people_join(challenge: Challenge, ann: Participant, olga: Someone) -> None:
    Challenge.objects.update(invitation_only=True, link_key="sesame")
    eve, bob, cid = Someone("eve"), Someone("bob"), Someone("cid")
    refused = _join(eve)
    assert (refused.status_code, refused.json()["detail"][:23]) == (409, "only invited people can")
    page = eve.client.post("/small/join/", {"how": "alone", "accept": "on"}).content.decode()
    assert "open the link that the organizers sent you" in page
    # By the organizers' link, which their page shows, on pages and in the API; or by a team's code.
    assert "/small/link/sesame/" in olga.see("/small/organize/edit/")
    assert eve.client.get("/small/link/sesame/").status_code == 302
    eve.do("/small/join/", how="alone", accept="on")
    assert _join(bob, {"Challenge-Key": "sesam"}).status_code == 409
    assert _join(bob, {"Challenge-Key": "sesame"}).status_code == 201
    assert _join(cid, code=code_of(ann.team)).status_code == 201
    assert "Only invited people can join" in Client().get("/small/rules/").content.decode()


def test_participants_need_an_address_of_a_domain(challenge: Challenge) -> None:
    Challenge.objects.update(email_domains=["uni.edu", "lab.org"])
    eve = Someone("eve")
    _verify(eve, "eve@uni.edu", verified=False)
    for email in ("eve@notuni.edu", "eve@uni.edu.evil.org"):
        _verify(eve, email)
        refused = _join(eve)
        assert refused.status_code == 409
        assert "verify an email address of uni.edu or lab.org" in refused.json()["detail"]
    _verify(eve, "eve@CS.Uni.edu")
    assert _join(eve).status_code == 201


def test_teams_have_a_maximum_size(ann: Participant) -> None:
    Challenge.objects.update(team_size=2)
    bob, cid = Someone("bob"), Someone("cid")
    assert _join(bob, code=code_of(ann.team)).status_code == 201
    refused = _join(cid, code=code_of(ann.team))
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "team 'ann' is full: a team may have at most 2 members",
    )
    leave(bob.user, ann.team.challenge)
    assert _join(cid, code=code_of(ann.team)).status_code == 201
    Challenge.objects.update(team_size=1)
    assert _join(bob, code=code_of(ann.team)).json()["detail"].endswith("may have at most 1 member")


def test_participants_learn_that_they_take_part_already(ann: Participant) -> None:
    # Also if they repeat a request, which has the name of their own team.
    for choice in ({"name": "ann"}, {"name": "new"}, {"code": "wrong"}, {"code": code_of(ann.team)}):
        refused = _join(ann, headers=None, **choice)
        assert (refused.status_code, refused.json()["detail"]) == (
            409,
            "'ann' already participates in this challenge, in team 'ann'",
        )


def test_a_quota_per_month(ann: Participant, clock: Clock) -> None:
    Phase.objects.update(quota_per_month=2)
    _travel(ann, clock, 1, 30, 12)
    ann.submitted()
    clock.now += timedelta(days=1)
    ann.submitted()
    refused = ann.submit()
    assert refused.status_code == 429
    detail = (
        "the quota of 2 per month is used up; the next submission is allowed from 2030-02-01T00:00:00+00:00"
    )
    assert refused.json()["detail"] == detail
    page = ann.see("/small/open/submit/")
    assert "Your team has used its quota of 2 per month." in page
    assert "<dt>Left this month</dt><dd>0 of 2</dd>" in page
    assert "None left today; 0 of 2 this month, " in ann.see("/small/team/")
    clock.now += timedelta(days=1)
    quota = ann.read(QUOTA)
    assert (quota["left_today"], quota["left_this_month"], quota["left_in_window"]) == (2, 2, None)
    ann.submitted()
    assert "1 left today, 1 of 2 this month, " in ann.see("/small/team/")


def test_a_quota_within_the_last_days(ann: Participant, clock: Clock) -> None:
    Phase.objects.update(quota_per_window=2, quota_window_days=7)
    first = clock.now
    ann.submitted()
    clock.now += timedelta(days=3)
    ann.submitted()
    refused = ann.submit().json()
    assert refused["detail"].startswith("the quota of 2 within 7 days is used up")
    quota = ann.read(QUOTA)
    assert (quota["left_today"], quota["used_up"]) == (0, "2 within 7 days")
    assert (quota["left_this_month"], quota["left_in_window"]) == (None, 0)
    assert "<dt>Left within 7 days</dt><dd>0 of 2</dd>" in ann.see("/small/open/submit/")
    assert quota["allowed_from"][:19] == (first + timedelta(days=7)).isoformat()[:19]
    clock.now = first + timedelta(days=7, seconds=1)
    ann.submitted()
    assert ann.submit().status_code == 429
    # Submissions that cost no quota do not count.
    Submission.objects.update(counts_for_quota=False)
    ann.submitted()


def test_longer_quotas_go_along_to_another_team(ann: Participant, clock: Clock) -> None:
    Phase.objects.update(quota_per_window=2, quota_window_days=30, quota_per_month=2)
    _travel(ann, clock, 1, 2, 12)
    ann.submitted()
    ann.submitted()
    leave(ann.user, ann.team.challenge)
    assert _join(ann, name="fresh").status_code == 201
    assert ann.submit().status_code == 429
    clock.now += timedelta(days=10)
    assert ann.submit().status_code == 429
    # A new month; the window of the quota has not ended.
    _travel(ann, clock, 2, 1)
    assert ann.read(QUOTA)["used_up"] == "2 within 30 days"
    _travel(ann, clock, 2, 2)
    assert ann.submit().status_code == 201


def test_extra_submissions_raise_longer_quotas(ann: Participant, olga: Someone) -> None:
    Phase.objects.update(quota_per_month=1)
    ann.submitted()
    assert ann.submit().status_code == 429
    path = f"/api/challenges/small/organize/teams/{ann.team.pk}/raises/open"
    more = {"per_day": 0, "total": 1}
    answer = olga.program("organize").put(path, more, content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert ann.submit().status_code == 201


RULES = """invitation_only = true
email_domains = ["uni.edu"]
team_size = 3
"""


def test_rules_are_part_of_the_definition(definition: Path) -> None:
    text = definition.read_text()
    new = "quota_per_day = 5\nquota_per_month = 9\nquota_per_window = 3\nquota_window_days = 7\n"
    changed = text.replace("[challenge]\n", f"[challenge]\n{RULES}").replace("quota_per_day = 5\n", new)
    definition.write_text(changed)
    challenge = import_challenge(definition)
    assert challenge.link_key
    exported = to_toml(challenge)
    for line in ("invitation_only = true", "team_size = 3", "quota_per_month = 9", "quota_window_days = 7"):
        assert f"{line}\n" in exported
    about = Client().get("/api/challenges/small").json()
    assert (about["email_domains"], about["team_size"]) == (["uni.edu"], 3)
    page = Client().get("/small/rules/").content.decode()
    assert "A team may have at most 3 members." in page
    assert "3 within 7 days" in page
    # Limits are removed by name.
    definition.write_text('delete = ["challenge.team_size", "phases.open.quota_per_month"]\n' + text)
    assert import_challenge(definition).team_size is None
    assert Phase.objects.get().quota_per_month is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[challenge]\n", '[challenge]\nemail_domains = ["@uni.edu"]\n', "email_domains"),
        ("[challenge]\n", "[challenge]\nteam_size = 0\n", "greater than or equal to 1"),
        ("quota_per_day = 5\n", "quota_per_day = 5\nquota_per_window = 3\n", "must be given together"),
        (
            "quota_per_day = 5\n",
            "quota_per_day = 5\nfinal_submissions = 3\n",
            "must be 1 in a phase that is not",
        ),
    ],
)
def test_wrong_rules_are_named(definition: Path, old: str, new: str, message: str) -> None:
    text = definition.read_text()
    assert old in text
    definition.write_text(text.replace(old, new))
    with pytest.raises(ChallengeError, match=message):
        import_challenge(definition)


def test_rules_are_set_on_pages(challenge: Challenge, olga: Someone) -> None:
    sent = read_settings(olga.client)
    sent |= {"invitation_only": "on", "email_domains": "Uni.edu, lab.org", "team_size": "4"}
    olga.do("/small/organize/edit/", **sent)
    challenge.refresh_from_db()
    assert challenge.invitation_only
    assert "Saved: invitation only, email domains, team size." in olga.see("/small/organize/edit/")
    assert (challenge.email_domains, challenge.team_size) == (["uni.edu", "lab.org"], 4)
    assert 'value="uni.edu lab.org"' in olga.see("/small/organize/edit/")
    form = olga.client.get("/small/organize/phases/open/").context["form"]
    sent = {each.html_name: each.value() for each in form if each.value() not in (None, False)}
    sent |= {"quota_per_window": "3", "quota_window_days": "7", "requires_choice": "on"}
    for name in ("opens", "closes"):
        sent[name] = f"{sent[name]:%Y-%m-%dT%H:%M:%S}"
    olga.do("/small/organize/phases/open/", **sent)
    phase = Phase.objects.get()
    assert (phase.quota_per_window, phase.quota_window_days, phase.requires_choice) == (3, 7, True)
    assert phase.opens < timezone.now()
    # Visitors learn them before they join.
    assert "5 a day, 3 within 7 days, 20 in all" in olga.see("/small/")
    assert "a verified email address of uni.edu or lab.org" in olga.see("/small/join/")
