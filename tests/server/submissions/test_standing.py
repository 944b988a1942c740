"""Submissions on leaderboards: by default the best one of a team, or its choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.utils import timezone

from capeval_server.challenges.models import Phase
from capeval_server.hosting.services import settings
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import PHASE_DEFAULTS, describe_phase, fingerprint
from capeval_server.jobs import worker
from capeval_server.notifications.models import Mail, Told
from capeval_server.notifications.services import notify_outcome
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.services.lifecycle import rerun
from tests.server.kit import CAPTIONS, Participant, Someone, results

pytestmark = pytest.mark.django_db

# Captions that match the references less and less well.
GOOD = dict(CAPTIONS)
FAIR = {**CAPTIONS, 1: "A cat.", 2: "A dog."}
POOR = {image: f"nothing of this {image}" for image in CAPTIONS}


def submit(by: Participant, captions: dict[int, str], name: str = "m") -> str:
    """Submit captions, score them, and return the id of the submission."""
    answer = by.submit(results(captions), method=name)
    assert answer.status_code == 201, answer.content
    assert worker.work_once()
    pk: str = answer.json()["id"]
    assert Submission.objects.get(pk=pk).state == "scored"
    return pk


def standing(by: Participant) -> str | None:
    """Return the id of the submission that a team has on the leaderboard."""
    found = Submission.objects.filter(team=by.team, stands=True).values_list("pk", flat=True)
    assert len(found) <= 1
    return str(found[0]) if found else None


def test_the_best_submission_is_on_the_leaderboard(ann: Participant, bob: Participant) -> None:
    first = submit(ann, FAIR)
    assert standing(ann) == first
    best = submit(ann, GOOD)
    assert standing(ann) == best
    submit(ann, POOR)
    assert standing(ann) == best
    other = submit(bob, POOR)
    assert (standing(ann), standing(bob)) == (best, other)
    board = Client().get("/api/challenges/small/phases/open/leaderboard?split=val&references=c2").json()
    assert [row["submission"] for row in board["rows"]] == [best, other]
    page = ann.see(f"/submissions/{best}/")
    assert "It is the best one of your team." in page
    # The best of the others follows a withdrawn one.
    assert ann.api.delete(f"/api/submissions/{best}").status_code == 200
    assert standing(ann) == first


def test_a_choice_counts_from_then_on(ann: Participant) -> None:
    best, poor = submit(ann, GOOD), submit(ann, POOR)
    assert ann.stand(poor).json()["chosen"] is True
    assert standing(ann) == poor
    fair = submit(ann, FAIR)
    assert standing(ann) == poor
    assert ann.stand(fair).status_code == 200
    assert (standing(ann), ann.read(f"/api/submissions/{poor}")["chosen"]) == (fair, False)
    assert ann.stand(fair, False).json()["stands"] is False
    assert standing(ann) is None
    submit(ann, GOOD, "again")
    assert standing(ann) is None
    assert ann.stand(best).json()["stands"] is True


def test_choices_can_be_dropped(ann: Participant) -> None:
    best, poor = submit(ann, GOOD), submit(ann, POOR)
    drop = "Let the best submission count"
    assert drop not in ann.see(f"/submissions/{poor}/")
    ann.do(f"/submissions/{poor}/stand/", stands="yes")
    ann.do(f"/submissions/{best}/stand/", stands="no")
    assert standing(ann) == poor
    for pk in (best, poor):
        assert drop in ann.see(f"/submissions/{pk}/")
    ann.do(f"/submissions/{poor}/stand/", stands="best")
    assert standing(ann) == best
    assert drop not in ann.see(f"/submissions/{poor}/")
    # By the API too.
    ann.stand(poor)
    assert ann.stand(poor, None).json()["stands"] is False
    assert standing(ann) == best
    ann.stand(poor)
    Phase.objects.update(requires_choice=True)
    refused = ann.stand(poor, None)
    assert (refused.status_code, standing(ann)) == (409, poor)
    assert "phase 'open' requires a choice of the team" in refused.json()["detail"]
    assert drop not in ann.see(f"/submissions/{poor}/")


def test_a_submission_that_is_taken_off_is_not_replaced(ann: Participant) -> None:
    submit(ann, POOR)
    best = submit(ann, GOOD)
    ann.do(f"/submissions/{best}/stand/", stands="no")
    assert standing(ann) is None


def edit_phase(olga: Someone, **changed: object) -> None:
    """Change the phase of the small challenge."""
    phase = Phase.objects.get()
    found = describe_phase(phase)
    settings.edit_phase(
        olga.user, phase.challenge, {**PHASE_DEFAULTS, **found, **changed}, seen=fingerprint(found)
    )


def test_changed_rules_select_again(
    ann: Participant, bob: Participant, olga: Someone, definition: Path
) -> None:
    best, latest = submit(ann, GOOD), submit(ann, POOR)
    chosen = submit(bob, FAIR)
    bob.stand(chosen)
    edit_phase(olga, requires_choice=True)
    assert (standing(ann), standing(bob)) == (None, chosen)
    edit_phase(olga, requires_choice=False)
    assert standing(ann) == best
    edit_phase(olga, blind=True)
    assert standing(ann) == latest
    edit_phase(olga, blind=False)
    assert standing(ann) == best
    # From a file too, with a score that has another order.
    Score.objects.filter(name="BLEU-1", result__submission__pk=latest).update(value=1)
    definition.write_text(definition.read_text().replace('"CIDEr-D"', '"BLEU-1"'))
    import_challenge(definition)
    assert standing(ann) == latest


def _verify_address(someone: Participant) -> None:
    """Give a user an address, to which mails are sent."""
    email = f"{someone.user.username}@example.org"
    EmailAddress.objects.create(user=someone.user, email=email, primary=True, verified=True)


def test_a_phase_may_require_a_choice(ann: Participant) -> None:
    _verify_address(ann)
    Phase.objects.update(requires_choice=True)
    pk = submit(ann, GOOD)
    assert standing(ann) is None
    assert "Put on the leaderboard" in ann.see(f"/submissions/{pk}/")
    assert "choose it on the page below" in Mail.objects.get().text
    ann.stand(pk)
    assert standing(ann) == pk
    # Nothing can be chosen once the results are final.
    other = submit(ann, FAIR)
    Phase.objects.update(final=timezone.now())
    Told.objects.all().delete()
    notify_outcome(submission=Submission.objects.get(pk=other))
    assert "which can't change any more" in Mail.objects.latest("pk").text


def test_a_submission_keeps_its_place_while_it_is_scored_again(ann: Participant) -> None:
    poor, best = submit(ann, POOR), submit(ann, GOOD)
    rerun(Submission.objects.get(pk=best))
    rerun(Submission.objects.get(pk=poor))
    assert standing(ann) == best
    while worker.work_once():
        assert standing(ann) == best


def test_mails_explain_the_next_step(ann: Participant) -> None:
    _verify_address(ann)
    submit(ann, GOOD)
    submit(ann, POOR)
    texts = [text.split("\n\n")[0] for text in Mail.objects.order_by("pk").values_list("text", flat=True)]
    assert texts[0].endswith("was scored. It is on the leaderboard.")
    assert texts[1].endswith("has a better score and stays on the leaderboard.")


def test_the_export_of_a_submission_states_the_choice(ann: Participant) -> None:
    pk = submit(ann, GOOD)
    found = json.loads(ann.api.get(f"/api/submissions/{pk}").content)
    assert (found["stands"], found["chosen"], found["scores_withheld"]) == (True, False, False)
