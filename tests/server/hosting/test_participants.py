"""Participants and organizers: approval, removal, blocking, leaving, and transfer of ownership."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import SuccessorError, TeamError
from capeval_server.hosting.services import participants
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Membership, Team
from capeval_server.teams.services import membership
from capeval_server.teams.services.enrollment import invite, join, make_team
from tests.server.clock import Clock
from tests.server.kit import Participant, Someone, write_challenge
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
PEOPLE, ROOT = "/small/organize/participants/", "/api/challenges/small/organize/"
TEAM = "/api/challenges/small/team"


def actions() -> list[str]:
    return list(Action.objects.exclude(user=None).order_by("pk").values_list("what", flat=True))


@pytest.fixture
def approving(challenge: Challenge) -> Challenge:
    Challenge.objects.update(approval=True)
    challenge.refresh_from_db()
    return challenge


@pytest.fixture
def team(ann: Participant, bob: Participant) -> Team:
    """A team of ann, its owner, and bob."""
    membership.leave(bob.user, ann.team.challenge)
    return join(bob.user, ann.team.challenge, str(ann.team.code))


def owner(team: Team) -> str:
    return Membership.objects.get(team=team, owner=True).user.username


# Approval


def test_who_waits_for_approval_can_not_submit(olga: Someone, approving: Challenge) -> None:
    ann = Participant("ann")
    answer = ann.submit()
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "an organizer must approve you before you can submit",
    )
    assert ann.client.get("/small/open/submit/")["Location"] == "/small/team/"
    assert ann.client.get("/small/submissions/")["Location"] == "/small/team/"
    assert "You wait for approval" in ann.see("/small/team/")
    assert ann.read(TEAM)["waiting"] == ["ann"]
    page = olga.see(PEOPLE)
    assert "1 participant, waiting for approval" in page
    assert "1 participant</a> waits for approval" in olga.see("/small/organize/")
    olga.do(PEOPLE, act="approve", username="ann")
    assert ann.submit().status_code == 201
    assert "is already approved" in olga.do(PEOPLE, 422, act="approve", username="ann").content.decode()
    assert actions() == ["approved ann"]


def test_a_member_sees_what_the_team_submitted_once_they_are_approved(
    olga: Someone, ann: Participant
) -> None:
    submission = ann.submitted()
    Challenge.objects.update(approval=True)
    carl = Someone("carl")
    join(carl.user, ann.team.challenge, str(ann.team.code))
    assert carl.client.get(f"/submissions/{submission.pk}/").status_code == 404
    participants.approve(olga.user, ann.team.challenge, "carl")
    assert carl.client.get(f"/submissions/{submission.pk}/").status_code == 200


def test_all_are_approved_at_once_and_when_approval_is_no_longer_asked_for(
    olga: Someone, approving: Challenge, tmp_path: Any
) -> None:
    for name in ("ann", "bob"):
        Participant(name)
    olga.do(PEOPLE, act="approve_all")
    assert actions() == ["approved all participants who waited (2)"]
    Participant("carl")
    assert not Membership.objects.get(user__username="carl").approved
    page = olga.client.get("/small/organize/edit/")
    form = {**page.context["form"].initial}
    form |= {f"{kind}-{end}_FORMS": 0 for kind in ("fields", "pages") for end in ("TOTAL", "INITIAL")}
    left_out = ("fields", "pages", "approval", "slug")
    form = {name: value for name, value in form.items() if name not in left_out}
    olga.do("/small/organize/edit/", **form)
    assert Membership.objects.get(user__username="carl").approved
    assert actions()[-1] == "changed fields and approval of the challenge"


def test_the_definition_says_whether_participants_are_approved(tmp_path: Any) -> None:
    from capeval_server.hosting.services.definition_files import import_challenge
    from capeval_server.hosting.services.description import to_toml

    path = write_challenge(tmp_path)
    path.write_text(path.read_text().replace("[challenge]", "[challenge]\napproval = true"))
    challenge = import_challenge(path)
    assert challenge.approval
    assert "approval = true" in to_toml(challenge)


# Removing and blocking


def test_who_is_removed_leaves_their_submissions(olga: Someone, ann: Participant) -> None:
    submission, code = ann.submitted(), ann.team.code
    olga.do(PEOPLE, act="remove", username="ann")
    submission.refresh_from_db()
    assert submission.team == ann.team
    assert ann.submit().status_code == 409
    with pytest.raises(TeamError, match="expired or been revoked"):
        join(ann.user, ann.team.challenge, str(code))
    # They may come back, with their used quota.
    make_team(ann.user, ann.team.challenge, "again")
    assert ann.read("/api/challenges/small/phases/open/quota")["left"] == 19
    assert actions() == ["removed the participant ann"]


def test_who_is_blocked_can_not_come_back(olga: Someone, ann: Participant, bob: Participant) -> None:
    EmailAddress.objects.create(user=ann.user, email="ann@example.org", verified=True)
    answer = olga.do(PEOPLE, 422, act="block", username="ann", reason=" ")
    assert "which the user sees" in answer.content.decode()
    olga.do(PEOPLE, act="block", username="ann", reason="Copied from others.")
    assert not Membership.objects.filter(user=ann.user).exists()
    answer = ann.client.post("/small/join/", {"how": "alone", "accept": "on"})
    assert "have blocked you in this challenge (Copied from others.)" in answer.content.decode()
    for body in ({}, {"code": bob.team.code}):
        refused = ann.api.post(TEAM, {**body, "accept_rules": True}, content_type="application/json")
        assert (refused.status_code, "Copied" in refused.json()["detail"]) == (409, True)
    # Neither by a new account with the same address.
    ann.user.delete()
    anna = Someone("anna")
    make_team(anna.user, ann.team.challenge)
    membership.leave(anna.user, ann.team.challenge)
    EmailAddress.objects.create(user=anna.user, email="Ann@example.org", verified=True)
    with pytest.raises(TeamError, match="blocked"):
        make_team(anna.user, ann.team.challenge)
    assert "Copied from others." in olga.see(PEOPLE)
    olga.do(PEOPLE, act="unblock", username="ann")
    make_team(anna.user, ann.team.challenge)
    assert actions() == ["blocked ann: Copied from others.", "unblocked ann"]


def test_organizers_are_not_blocked(olga: Someone) -> None:
    answer = olga.do(PEOPLE, 422, act="block", username="olga", reason="r")
    assert "organizes the challenge" in answer.content.decode()
    assert (
        "no user has the name"
        in olga.do(PEOPLE, 422, act="block", username="nobody", reason="r").content.decode()
    )


def test_programs_approve_remove_and_block(olga: Someone, approving: Challenge) -> None:
    ann = Participant("ann")
    program = olga.program("organize")

    def ask(method: str, place: str, status: int = 204, **body: str) -> Any:
        answer = program.generic(method, ROOT + place, json.dumps(body), "application/json")
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    found = ask("GET", "participants", 200)
    assert (found["count"], found["participants"][0]["approved"]) == (1, False)
    ask("POST", "participants/ann/approve")
    ask("POST", "participants/ann/approve", 409)
    assert ann.submit().status_code == 201
    ask("PUT", "blocks/ann", reason="Spam")
    assert ask("GET", "participants", 200)["blocked"][0]["reason"] == "Spam"
    ask("DELETE", "participants/ann", 409)
    ask("DELETE", "blocks/ann")
    ask("DELETE", "blocks/ann", 409)
    assert ask("GET", "organizers", 200) == {"organizers": ["olga"]}
    assert "add another organizer" in ask("DELETE", "organizers/olga", 409)["detail"]
    ask("PUT", "organizers/ann")
    ask("DELETE", "organizers/olga")
    ask("GET", "organizers", 404)
    assert Someone("eve").program("organize").get(f"{ROOT}participants").status_code == 404


# Leaving, removing members, passing on


def test_what_a_team_used_counts_for_who_leaves_it(ann: Participant, bob: Participant) -> None:
    place = "/api/challenges/small/phases/open/quota"
    for _ in range(3):
        ann.submitted()
    submission = bob.submitted()
    challenge = ann.team.challenge
    membership.leave(ann.user, challenge)
    assert bob.read(place)["left"] == 19
    join(ann.user, challenge, str(bob.team.code))
    assert bob.read(place)["left"] == 16
    # Both change teams: the used quota of each team is counted once.
    membership.leave(ann.user, challenge)
    membership.leave(bob.user, challenge)
    new = make_team(ann.user, challenge, "new")
    assert ann.read(place)["left"] == 16
    join(bob.user, challenge, str(new.code))
    assert ann.read(place)["left"] == 16
    submission.refresh_from_db()
    assert submission.team == bob.team


def test_who_comes_back_is_not_counted_twice(ann: Participant, team: Team) -> None:
    place = "/api/challenges/small/phases/open/quota"
    ann.submitted()
    bob = User.objects.get(username="bob")
    membership.leave(bob, team.challenge)
    join(bob, team.challenge, str(team.code))
    assert ann.read(place)["left"] == 19
    membership.leave(bob, team.challenge)
    other = make_team(bob, team.challenge, "other")
    Submission.objects.create(team=other, phase=Phase.objects.get(), user=bob)
    membership.leave(bob, team.challenge)
    join(bob, team.challenge, str(team.code))
    assert ann.read(place)["left"] == 18


def test_the_same_upload_of_another_team_is_another_submission(ann: Participant) -> None:
    first = ann.submit(key="k").json()["id"]
    membership.leave(ann.user, ann.team.challenge)
    make_team(ann.user, ann.team.challenge, "new")
    second = ann.submit(key="k")
    assert (second.status_code, second.json()["id"] != first) == (201, True)


def test_an_owner_removes_members(ann: Participant, bob: Participant, team: Team) -> None:
    assert owner(team) == "ann"
    page = ann.see("/small/team/")
    assert "Remove" in page
    assert "Remove" not in bob.see("/small/team/")
    for act in ("remove", "own"):
        assert bob.client.post("/small/team/members/", {"act": act, "username": "ann"}).status_code == 404
    ann.do("/small/team/members/", act="remove", username="carl")
    assert Membership.objects.filter(team=team).count() == 2
    ann.do("/small/team/members/", act="remove", username="bob")
    assert Membership.objects.filter(team=team).count() == 1
    with pytest.raises(TeamError, match="revoked"):
        join(bob.user, team.challenge, str(team.code))


def test_ownership_passes_on(ann: Participant, bob: Participant, team: Team) -> None:
    ann.do("/small/team/members/", act="own", username="bob")
    assert owner(team) == "bob"
    bob.do("/small/team/leave/")
    assert owner(team) == "ann"
    join(bob.user, team.challenge, str(team.code))
    ann.user.delete()
    assert owner(team) == "bob"
    bob.user.delete()
    assert not Team.objects.filter(pk=team.pk).exists()


def test_programs_manage_a_team(ann: Participant, bob: Participant, team: Team) -> None:
    def ask(method: str, place: str, status: int, by: Participant = ann, **body: Any) -> Any:
        answer = by.api.generic(method, TEAM + place, json.dumps(body), "application/json")
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    assert ask("POST", "/invitation", 409, bob, days=3)["detail"] == "only the owner of a team can do this"
    made = ask("POST", "/invitation", 200, days=3)
    assert made["code"] not in (None, team.code)
    assert "1 to 90" in ask("POST", "/invitation", 409, days=91)["detail"]
    ask("DELETE", "/invitation", 204)
    assert ann.read(TEAM)["code"] is None
    assert "is not a member of your team" in ask("PUT", "/owner", 409, name="carl")["detail"]
    assert ask("PUT", "/owner", 200, name="bob")["owner"] == "bob"
    ask("DELETE", "/members/bob", 409)
    ask("DELETE", "/members/ann", 204, bob)
    assert bob.read(TEAM)["members"] == ["bob"]


# Invitations


def test_invitations_expire_and_are_revoked(ann: Participant, clock: Clock) -> None:
    invite(ann.team, 2)
    place = f"/small/join/?code={ann.team.code}"
    carl = Someone("carl")
    assert "You are invited" in carl.see(place)
    clock.now += timedelta(days=2, seconds=1)
    assert "You are invited" not in carl.see(place)
    form = {"how": "code", "code": str(ann.team.code), "accept": "on"}
    assert "may have expired or been revoked" in carl.do("/small/join/", 422, **form).content.decode()
    assert "There is no link" in ann.see("/small/team/")
    ann.do("/small/team/code/", 422, days=0)
    ann.do("/small/team/code/", days=90)
    ann.team.refresh_from_db()
    assert str(ann.team.code) in ann.see("/small/team/")
    ann.do("/small/team/code/revoke/")
    assert str(ann.team.code) not in ann.see("/small/team/")
    with pytest.raises(TeamError):
        join(carl.user, ann.team.challenge, str(ann.team.code))


# The last organizer


def test_the_last_organizer_can_not_go(olga: Someone, challenge: Challenge) -> None:
    message = "add another organizer first"
    ways: list[Callable[[], Any]] = [
        lambda: challenge.organizers.remove(olga.user),
        challenge.organizers.clear,
        olga.user.challenges.clear,
        olga.user.delete,
        User.objects.filter(pk=olga.user.pk).delete,
    ]
    for way in ways:
        with pytest.raises(SuccessorError, match=message), transaction.atomic():
            way()
    answer = olga.client.post(f"/small/organize/organizers/{olga.user.pk}/remove/", follow=True)
    assert message in answer.content.decode()
    assert challenge.organizers.get() == olga.user


def test_the_last_organizer_can_not_delete_their_account(challenge: Challenge, client: Client) -> None:
    zoe = User.objects.create_user("zoe", password="correct horse 1")
    challenge.organizers.add(zoe)
    client.force_login(zoe)
    client.post("/accounts/reauthenticate/", {"password": "correct horse 1"})
    answer = client.post("/accounts/delete/", {"username": "zoe"})
    assert answer.status_code == 422
    assert "add another organizer first" in answer.content.decode()
    challenge.organizers.add(User.objects.create(username="yan"))
    assert client.post("/accounts/delete/", {"username": "zoe"})["Location"] == "/"
    assert challenge.organizers.get().username == "yan"


@pytest.fixture
def staff(challenge: Challenge) -> Someone:
    return Someone("staff", is_staff=True, is_superuser=True)


def test_staff_can_not_take_the_last_organizer_away(olga: Someone, ann: Participant, staff: Someone) -> None:
    challenge = Challenge.objects.get()
    place = f"/admin/challenges/challenge/{challenge.pk}/change/"
    inline = {"phases-TOTAL_FORMS": 0, "phases-INITIAL_FORMS": 0}
    answer = staff.do(place, 200, **inline)
    assert "A challenge needs an active organizer" in answer.content.decode()
    # One in place of the other.
    staff.do(place, organizers=ann.user.pk, **inline)
    assert challenge.organizers.get() == ann.user
    account = f"/admin/auth/user/{ann.user.pk}/"
    joined: dict[str, Any] = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    answer = staff.do(f"{account}change/", 200, username="ann", **joined)
    assert "add another organizer first" in answer.content.decode()
    answer = staff.do(f"{account}delete/", 200, post="yes")
    assert "last organizer of challenge small" in answer.content.decode()
    assert User.objects.get(username="ann").is_active
    challenge.organizers.add(olga.user)
    staff.do(f"{account}delete/", post="yes")
    assert challenge.organizers.get() == olga.user


def test_the_pages_are_made_as_all_are(olga: Someone, ann: Participant, team: Team) -> None:
    participants.block(olga.user, team.challenge, Someone("eve").user.username, "Spam")
    for someone, place in ((olga, PEOPLE), (ann, "/small/team/"), (Someone("carl"), "/small/join/")):
        answer = someone.client.get(place)
        check_page(answer.content.decode(), answer.headers["Content-Security-Policy"])
