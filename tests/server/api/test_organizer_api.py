"""The API for organizers, with tokens of their scope."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from capeval_server.accounts.models import Token
from capeval_server.api.hosting import router
from capeval_server.audit.models import COMMAND_LINE, Action
from capeval_server.challenges.models import Challenge
from capeval_server.jobs import worker
from capeval_server.submissions.models import Result, Submission
from capeval_server.teams.models import Raise, Team
from tests.server.kit import Participant, Someone, code_of
from tests.server.web.test_organizer_pages import rows

pytestmark = pytest.mark.django_db

ROOT = "/api/challenges/small/organize"


def program(user: Any, scope: str = "organize") -> Client:
    text = Token.issue(user.pk, f"of {scope}", scope)
    return Client(headers={"Authorization": f"Bearer {text}"})


@pytest.fixture
def olga(challenge: Challenge) -> Client:
    user = Someone("olga").user
    challenge.organizers.add(user)
    return program(user)


def _asked(submission: Submission) -> list[tuple[str, str, Any]]:
    asked: list[tuple[str, str, Any]] = [
        ("get", "/submissions", None),
        ("post", f"/submissions/{submission.pk}/rerun", {}),
        ("post", "/rerun", {"failed": False}),
        ("put", f"/submissions/{submission.pk}/mark", {"mark": "hidden", "reason": "r"}),
        ("get", "/teams", None),
        ("put", f"/teams/{submission.team_id}/raises/open", {"per_day": 1}),
        ("post", "/export", {}),
        ("put", "/phases/open/captions", {"captions": ["val"], "captions_by": "standing"}),
        # Refused while the phase is open.
        ("put", "/phases/open/final", {}),
        ("put", "/splits/val/references/c2/reported/old", {"title": "Old", "content": "team,CIDEr-D\na,1"}),
        ("post", "/judging", {"phase": "open", "kinds": "m5", "images": 2, "preview": True}),
        ("post", "/judging/invites", {"campaigns": ["none"], "number": 1}),
    ]
    assert len(asked) == len(router.path_operations), "ask here for each address of organizers"
    return asked


def _ask(client: Client, asked: tuple[str, str, Any]) -> Any:
    method, place, content = asked
    if place == "/judging":
        return client.post(f"{ROOT}{place}", content)
    return getattr(client, method)(f"{ROOT}{place}", content, content_type="application/json")


def test_others_find_nothing(olga: Client, challenge: Challenge) -> None:
    ann = Participant("ann")
    submission = ann.submitted()
    for asked in _asked(submission):
        assert _ask(Client(), asked).status_code == 401, asked
        assert _ask(ann.api, asked).status_code == 403, asked
        refused = _ask(program(Someone(f"x{uuid4().hex[:8]}").user), asked)
        assert (refused.status_code, refused.json()) == (404, {"detail": "not found"}), asked
    assert not Action.objects.exclude(who=COMMAND_LINE).exists()


def test_a_token_to_organize_has_the_other_scopes(olga: Client) -> None:
    assert olga.get("/api/submissions").status_code == 200


@pytest.mark.usefixtures("clock")
def test_what_they_do(olga: Client) -> None:
    ann = Participant("ann")
    submission = ann.scored(stands=True)
    # The phase is open, the only submission is hidden by then, and there is no such campaign.
    refused = {"/phases/open/final": 409, "/judging": 422, "/judging/invites": 422}
    for asked in _asked(submission):
        answer = _ask(olga, asked)
        wanted = (refused[asked[1]],) if asked[1] in refused else (200, 202)
        assert answer.status_code in wanted, (asked, answer.content)
        assert b"".join(answer), asked
    assert Submission.objects.get().state == "waiting"
    assert rows() == []
    (more,) = Raise.objects.all()
    assert (more.per_day, more.total) == (1, 0)
    assert worker.work_once()
    assert Result.objects.count() == 8
    answer = olga.get(f"{ROOT}/teams").json()
    assert answer["count"] == 1
    assert answer["teams"][0]["quotas"] == [
        {"phase": "open", "today": 1, "per_day": 6, "used": 1, "total": 20}
    ]
    assert code_of(Team.objects.get()) not in str(answer)
    listed = olga.get(f"{ROOT}/submissions?state=scored").json()
    assert [row["id"] for row in listed["submissions"]] == [str(submission.pk)]
    # Two reruns, a mark, a raise, shown captions, rows reported elsewhere, and the export of everything.
    assert Action.objects.exclude(who=COMMAND_LINE).count() == 7


def test_what_is_wrong(olga: Client) -> None:
    ann = Participant("ann")
    submission = ann.submitted()
    team = Team.objects.get()
    for place, content, status in (
        (f"/submissions/{submission.pk}/mark", {"mark": "hidden"}, 409),
        (f"/submissions/{submission.pk}/mark", {"mark": "hidden", "reason": "a" * 501}, 409),
        (f"/submissions/{submission.pk}/mark", {"mark": "x", "reason": "a"}, 422),
        (f"/submissions/{uuid4()}/mark", {"mark": ""}, 404),
        (f"/teams/{team.pk}/raises/open", {"per_day": -1}, 409),
        (f"/teams/{team.pk}/raises/open", {"per_day": 10**30}, 409),
        (f"/teams/{team.pk}/raises/none", {"per_day": 1}, 404),
        (f"/teams/{10**30}/raises/open", {"per_day": 1}, 422),
    ):
        assert _ask(olga, ("put", place, content)).status_code == status, (place, content)
    for phase in ("none", "a\0b"):
        assert _ask(olga, ("post", "/rerun", {"phase": phase})).status_code == 404
    assert not Raise.objects.exists()
    assert not Action.objects.exclude(who=COMMAND_LINE).exists()
