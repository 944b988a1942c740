"""Two submissions compared by a paired test, as page and API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from capeval_server.challenges.models import Phase
from capeval_server.jobs import worker
from capeval_server.submissions.models import Result, Submission
from tests.server.boards import around, baseline, score, stand, version
from tests.server.kit import CAPTIONS, Participant, Someone, results
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


def scores_of(ann: Participant, first: Submission, second: Submission) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ann.read(f"/api/submissions/{first.pk}/compare/{second.pk}")["scores"]
    return found


def test_two_submissions_of_ones_own(ann: Participant) -> None:
    first = ann.scored()
    ann.submit(results({**CAPTIONS, 1: "A cat on a bus.", 2: "Something else entirely."}))
    assert worker.work_once()
    second = Submission.objects.exclude(pk=first.pk).get()
    found = scores_of(ann, first, second)
    assert {row["references"] for row in found} == {"c1", "c2"}
    assert {row["subset"] for row in found} == {"", "animals", "things"}
    row = next(
        row for row in found if (row["references"], row["name"], row["subset"]) == ("c1", "ROUGE-L", "")
    )
    # `test_significance.py` compares all numbers with those of the command line.
    assert row["test"] == "randomization"
    assert row["difference"] == pytest.approx(row["first"] - row["second"])
    assert not row["differs"]
    page = ann.see(f"/submissions/{first.pk}/compare/?with={second.pk}")
    assert f"{row['p_value']:.4f}" in page


def test_private_numbers_are_rounded_but_to_organizers(phase: Phase, ann: Participant) -> None:
    one, other = (stand(team, value, samples=around(value)) for team, value in (("a", 0.7331234), ("b", 0.5)))
    score(one, {"METEOR": 0.3333333}, of=version("c1"), samples=around(0.3333333))
    score(other, {"METEOR": 0.2}, of=version("c1"), samples=around(0.2))
    by_set = {row["references"]: row for row in scores_of(ann, one, other)}
    private, public = by_set["c2"], by_set["c1"]
    assert (private["first"], private["difference"]) == (0.733, 0.233)
    assert private["p_value"] in (0.0, 0.01, 0.02)
    assert public["first"] == 0.3333333
    page = ann.see(f"/submissions/{one.pk}/compare/?with={other.pk}")
    assert "rounded to three digits" in page
    assert "0.7331" not in page
    organizer = Someone("olga")
    phase.challenge.organizers.add(organizer.user)
    full = organizer.read(f"/api/submissions/{one.pk}/compare/{other.pk}", "organize")["scores"]
    assert {row["first"] for row in full} == {0.7331234, 0.3333333}
    assert "rounded" not in organizer.see(f"/submissions/{one.pk}/compare/?with={other.pk}")


def test_the_page_offers_what_may_be_seen(phase: Phase, ann: Participant, bob: Participant) -> None:
    own, hidden = ann.scored(), bob.scored()
    standing, human = stand("c", 0.9, samples=around(0.9)), baseline(0.8)
    page = ann.see(f"/submissions/{own.pk}/compare/")
    offered = set(re.findall(r'<option value="([0-9a-f-]{36})"', page))
    assert offered == {str(standing.pk), str(human.pk)}
    # A team may submit the same method to several phases.
    assert f"by c (open, {standing.created:%Y-%m-%d %H:%M})</option>" in page
    ann.see(f"/submissions/{own.pk}/compare/?with={hidden.pk}", 404)
    assert ann.program("read").get(f"/api/submissions/{own.pk}/compare/{hidden.pk}").status_code == 404
    assert Client().get(f"/submissions/{own.pk}/compare/").status_code == 404


def test_submissions_without_a_common_split_are_not_offered(phase: Phase) -> None:
    one, same, other = stand("a", 0.9), stand("b", 0.8), stand("c", 0.7)
    references, current = version().reference_set, version()
    split = references.split
    split.pk, split.name = None, "other"
    split.save()
    references.pk, references.split = None, split
    references.save()
    current.pk, current.reference_set = None, references
    current.save()
    Result.objects.filter(submission=other).update(reference_version=current)
    page = Client().get(f"/submissions/{one.pk}/compare/").content.decode()
    assert f'<option value="{same.pk}"' in page
    assert f'<option value="{other.pk}"' not in page
    assert Client().get(f"/submissions/{one.pk}/compare/?with={other.pk}").status_code == 404


def test_the_page_is_well_made(phase: Phase) -> None:
    one, other = (stand(team, value, samples=around(value)) for team, value in (("a", 0.9), ("b", 0.5)))
    for query in ("", f"?with={other.pk}"):
        answer = Client().get(f"/submissions/{one.pk}/compare/{query}")
        check_page(answer.content.decode(), answer.headers["Content-Security-Policy"])
    html = answer.content.decode()
    assert "<strong>0.400</strong>" in html
    assert "≈</span>" not in html
    assert 'class="differs"' in html


def test_scores_without_resamples_are_left_out(phase: Phase) -> None:
    one, other = stand("a", 0.9, samples=around(0.9)), stand("b", 0.5)
    html = Client().get(f"/submissions/{one.pk}/compare/?with={other.pk}").content.decode()
    assert "These two submissions have no common scores" in html
