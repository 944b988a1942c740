"""Blind phases: no team sees a score, in any place, before the organizers publish the results."""

from __future__ import annotations

import json
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import SubmissionStateError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import to_toml
from capeval_server.hosting.services.final_results import make_final, publish
from capeval_server.jobs import worker
from capeval_server.notifications.models import Delivery, Mail, Webhook
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.services.lifecycle import rerun
from tests.server.kit import Participant, Someone
from tests.server.submissions.test_standing import FAIR, GOOD, POOR, edit_phase, standing, submit

pytestmark = pytest.mark.django_db

BOARD = "split=val&references=c2"


@pytest.fixture(autouse=True)
def blind(phase: Phase) -> Phase:
    """Make the phase of the small challenge blind, with two final submissions."""
    phase.blind, phase.final_submissions = True, 2
    phase.save()
    return phase


def _close() -> None:
    Phase.objects.update(closes=timezone.now())


def _mark_scores() -> str:
    """Give all scores one value, which occurs nowhere else, and return how pages and programs write it."""
    Score.objects.update(value=0.735735, low=0.735735, high=0.735735)
    return "0.735|735735"


def _addresses(pk: str, other: str) -> list[str]:
    return [
        f"/submissions/{pk}/", f"/submissions/{pk}/state/", f"/submissions/{pk}/compare/",
        f"/submissions/{pk}/compare/?with={other}", f"/submissions/{pk}/examples/", "/small/submissions/",
        "/small/open/", f"/small/open/?{BOARD}", f"/small/open/plot.svg?{BOARD}", "/small/open/cite/",
        "/small/open/captions/", "/small/", "/", "/small/team/", "/notices/", "/small/open/submit/", "/jobs/",
        "/small/judgments/", "/api/submissions", f"/api/submissions/{pk}",
        f"/api/submissions/{pk}/images?{BOARD}", f"/api/submissions/{pk}/images?split=val&references=c1",
        f"/api/submissions/{pk}/compare/{other}", f"/api/challenges/small/phases/open/leaderboard?{BOARD}",
        f"/api/challenges/small/phases/open/leaderboard?{BOARD}&format=csv", "/api/challenges/small",
    ]  # fmt: skip


def test_no_team_sees_a_score_before_publication(
    ann: Participant, bob: Participant, olga: Someone, caplog: pytest.LogCaptureFixture
) -> None:
    Webhook.objects.create(challenge=ann.team.challenge, url="https://example.org/hook")
    caplog.set_level(logging.DEBUG)
    first, other = submit(ann, GOOD), submit(ann, POOR)
    submit(bob, FAIR)
    marker = _mark_scores()
    addresses = _addresses(first, other)
    visitors = (ann.client, ann.api, ann.program("organize"), bob.client, bob.api, Client())
    for client in visitors:
        for address in addresses:
            content = client.get(address).content.decode()
            assert not re.search(marker, content), address
    for path in (f"/submissions/{first}/compare/", f"/submissions/{first}/examples/"):
        assert ann.client.get(path).status_code == 404
    found = ann.read(f"/api/submissions/{first}")
    assert (found["results"], found["scores_withheld"], found["stands"]) == ([], True, False)
    assert ann.client.get(f"/small/open/?{BOARD}").status_code == 403
    mails = Mail.objects.values_list("text", flat=True)
    deliveries = Delivery.objects.values_list("body", flat=True)
    assert (len(mails), len(deliveries)) == (0, 3)
    assert not re.search(r"(?<!\d)0\.\d{3}", " ".join((*mails, *deliveries)))
    assert not re.search(marker, caplog.text)
    # Organizers see them.
    board = olga.read(f"/api/challenges/small/phases/open/leaderboard?{BOARD}", "organize")
    assert len(board["rows"]) == 2
    assert re.search(marker, olga.see(f"/small/open/?{BOARD}"))


def test_publication_shows_everything(ann: Participant, olga: Someone, blind: Phase) -> None:
    pk = submit(ann, GOOD)
    assert "Once the phase is closed" in olga.see("/small/organize/phases/open/")
    with pytest.raises(SubmissionStateError, match="phase 'open' must be closed first"):
        publish(olga.user, blind)
    _close()
    page = olga.see("/small/organize/phases/open/")
    assert "Publish the results" in page
    # Without scores that teams see, the results can't be final.
    assert "Make the results final" not in page
    with pytest.raises(SubmissionStateError, match="phase 'open' are withheld: publish its results first"):
        make_final(olga.user, blind)
    assert "withheld until published" in olga.see("/small/organize/")
    olga.do("/small/organize/phases/open/publish/")
    assert ann.read(f"/api/submissions/{pk}")["scores_withheld"] is True
    olga.do("/small/organize/phases/open/publish/", confirm="on")
    assert "Make the results final" in olga.see("/small/organize/phases/open/")
    assert "<td>published</td>" in olga.see("/small/organize/")
    found = ann.read(f"/api/submissions/{pk}")
    assert (found["scores_withheld"], found["stands"]) == (False, True)
    assert found["results"]
    assert [
        row["team"]
        for row in Client().get(f"/api/challenges/small/phases/open/leaderboard?{BOARD}").json()["rows"]
    ] == ["ann"]
    page = ann.see(f"/submissions/{pk}/")
    assert "Scores" in page
    assert "The results are published, so your team can't choose another one." in page
    assert 'name="stands"' not in page
    # From now on, teams know their scores and can't choose by them.
    answer = ann.stand(pk, False)
    assert (answer.status_code, answer.json()["detail"]) == (409, "the results of phase 'open' are published")
    Phase.objects.update(closes=timezone.now() + timedelta(days=1))
    assert ann.submit().status_code == 403
    program = olga.program("organize")
    again = program.put("/api/challenges/small/organize/phases/open/published")
    assert (again.status_code, again.json()["detail"]) == (
        409,
        "the results of phase 'open' are already published",
    )
    blind.refresh_from_db()
    assert blind.published is not None


def test_a_team_chooses_at_most_its_number_of_final_submissions(ann: Participant) -> None:
    page = ann.see("/small/open/submit/")
    assert "Your team may choose up to 2 final submissions; the best one of them counts." in page
    good, fair, poor = submit(ann, GOOD), submit(ann, FAIR), submit(ann, POOR)
    # Without a choice, the latest two are candidates, and the better one of them counts.
    assert standing(ann) == fair
    assert "Until your team chooses, its latest 2 submissions count." in ann.see(f"/submissions/{poor}/")
    for pk in (poor, good):
        assert ann.stand(pk).json()["chosen"] is True
    refused = ann.stand(fair)
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "a team may choose at most 2 submissions: take one off first",
    )
    assert standing(ann) == good
    # No answer reveals which of the chosen ones is better.
    assert {ann.read(f"/api/submissions/{pk}")["stands"] for pk in (good, fair, poor)} == {False}
    pages = [ann.see(f"/submissions/{pk}/") for pk in (good, poor)]
    assert all("Your team chose this submission." in page for page in pages)
    assert all("on the leaderboard of open" not in page for page in pages)
    ann.stand(poor, False)
    ann.stand(fair)
    assert standing(ann) == good


def test_a_blind_phase_is_part_of_the_definition(definition: Any, olga: Someone) -> None:
    text = definition.read_text()
    new = 'leaderboard = "public"\nblind = true\nfinal_submissions = 3\nrequires_choice = true'
    definition.write_text(text.replace('leaderboard = "public"', new))
    challenge = import_challenge(definition)
    exported = to_toml(challenge)
    assert "blind = true\nfinal_submissions = 3\nrequires_choice = true\n" in exported
    phase = next(one for one in Client().get("/api/challenges/small").json()["phases"])
    assert (phase["blind"], phase["published"], phase["final_submissions"]) == (True, None, 3)
    page = olga.see("/small/organize/phases/open/")
    assert 'name="final_submissions" value="3"' in page
    assert "a team may choose 3 submissions" in Client().get("/small/").content.decode()


def test_json_of_a_waiting_submission_has_no_scores_either(ann: Participant) -> None:
    pk = submit(ann, GOOD)
    rerun(Submission.objects.get(pk=pk))
    assert json.loads(ann.api.get(f"/api/submissions/{pk}").content)["results"] == []
    assert worker.work_once()


def test_a_withdrawn_submission_is_not_replaced_after_publication(
    ann: Participant, bob: Participant, olga: Someone, blind: Phase
) -> None:
    """A team that knows its scores can't move a better submission to the leaderboard by withdrawing."""
    submit(ann, GOOD)
    latest = [submit(ann, FAIR), submit(ann, POOR)]
    submit(bob, GOOD)
    chosen = submit(bob, POOR)
    bob.stand(chosen)
    _close()
    publish(olga.user, blind)
    assert (standing(ann), standing(bob)) == (latest[0], chosen)
    for team, pk in ((ann, latest[0]), (ann, latest[1]), (bob, chosen)):
        assert team.api.delete(f"/api/submissions/{pk}").status_code == 200
    assert (standing(ann), standing(bob)) == (None, None)


def test_fewer_final_submissions_keep_the_latest_choices(ann: Participant, olga: Someone) -> None:
    good, poor = submit(ann, GOOD), submit(ann, POOR)
    for pk in (good, poor):
        ann.stand(pk)
    assert standing(ann) == good
    edit_phase(olga, final_submissions=1)
    assert standing(ann) == poor
    assert [ann.read(f"/api/submissions/{pk}")["chosen"] for pk in (good, poor)] == [False, True]
