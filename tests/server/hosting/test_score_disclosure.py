"""Disclosure of private references by scores: rounding, and warnings about small groups."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.test import Client

from capeval_server.challenges.models import Challenge, ReferenceSet, Subset
from capeval_server.hosting.selectors.score_disclosure import small_groups
from capeval_server.submissions.models import Result, Score, Submission
from tests.server.kit import CAPTIONS, Participant, Someone, results
from tests.server.processes import Server

pytestmark = pytest.mark.django_db

BOARD = "/small/open/?split=val&references="
API = "/api/challenges/small/phases/open/leaderboard?split=val&references="
LONG = re.compile(r"\b0\.\d{4,}")


@pytest.fixture
def precise(ann: Participant, bob: Participant) -> Participant:
    """Two submissions on the leaderboard; their scores have many digits."""
    for participant in (ann, bob):
        participant.scored(stands=True)
    Score.objects.update(value=1 / 3, low=1 / 7, high=2 / 3)
    Score.objects.filter(result__submission__team=bob.team).update(value=1 / 3 + 1e-6)
    return ann


def _shown(who: Client, participant: Participant, references: str) -> dict[str, str]:
    """Return all pages and responses with scores for a reference set, as seen by one client."""
    addresses = {
        "page": f"{BOARD}{references}",
        "plot": f"/small/open/plot.svg?split=val&references={references}",
        "json": f"{API}{references}",
        "csv": f"{API}{references}&format=csv",
    }
    return {name: who.get(address).content.decode() for name, address in addresses.items()}


def test_scores_by_private_references_are_rounded(precise: Participant) -> None:
    for who in (Client(), precise.client):
        seen = _shown(who, precise, "c2")
        for name in ("page", "json", "csv"):
            assert not LONG.search(seen[name]), name
            assert "0.333" in seen[name]
        rows = json.loads(seen["json"])["rows"]
        assert [(row["team"], row["rank"], row["scores"]["CIDEr-D"]) for row in rows] == [
            ("bob", 1, 0.333),
            ("ann", 2, 0.333),
        ]
        assert rows[0]["intervals"]["CIDEr-D"] == [0.143, 0.667]
        assert "rounded to three digits" in seen["page"]
    own = precise.read(f"/api/submissions/{precise.team.submissions.get().pk}")
    by_set = {
        name: {
            score["value"]
            for result in own["results"]
            if result["references"] == name
            for score in result["scores"]
        }
        for name in ("c1", "c2")
    }
    assert by_set == {"c1": {1 / 3}, "c2": {0.333}}
    assert not LONG.search(
        precise.see(f"/submissions/{precise.team.submissions.get().pk}/").partition("<svg")[0]
    )


def _score_again(more: float) -> None:
    """Replace all results by new ones with slightly higher scores, since results are immutable."""
    for result in list(Result.objects.prefetch_related("scores")):
        scores = list(result.scores.all())
        result.delete()
        result.save(force_insert=True)
        for score in scores:
            score.pk, score.result, score.value = None, result, (score.value or 0.0) + more
            score.save(force_insert=True)
    Submission.objects.update()


def test_plots_of_private_references_are_of_rounded_scores(precise: Participant) -> None:
    private, public = (_shown(Client(), precise, references)["plot"] for references in ("c2", "c1"))
    _score_again(1e-5)
    assert _shown(Client(), precise, "c2")["plot"] == private
    assert Client().get("/small/open/plot.svg?split=val&references=c1").content.decode() != public


def test_a_fingerprint_tells_no_more_than_what_is_shown(precise: Participant, olga: Someone) -> None:
    found = set()
    for value in (1 / 3, 1 / 3 + 1e-7):
        Score.objects.update(value=value)
        # As all that changes scores does.
        Submission.objects.update()
        for who in (Client(), olga.client):
            page = who.get("/small/open/cite/?split=val&references=c2").content.decode()
            found.add(re.findall(r"fingerprint=(\w+)", page)[0])
    assert len(found) == 1


def test_organizers_see_all_digits_and_public_references_have_them(
    precise: Participant, olga: Someone
) -> None:
    for seen in (_shown(olga.client, precise, "c2"), _shown(Client(), precise, "c1")):
        for name in ("page", "json", "csv"):
            assert repr(1 / 3) in seen[name], name
        assert "rounded to three digits" not in seen["page"]
        (first, _) = csv.DictReader(io.StringIO(seen["csv"]))
        assert float(first["CIDEr-D"]) == 1 / 3 + 1e-6
    program = olga.program("organize")
    assert repr(1 / 3) in program.get(f"{API}c2").content.decode()
    # A token of another scope is not an organizer's.
    assert not LONG.search(olga.program("submit").get(f"{API}c2").content.decode())


def test_long_captions_are_refused(ann: Participant, settings: object) -> None:
    assert ann.submit(results({**CAPTIONS, 5: "a" * 1000})).status_code == 201
    answer = ann.submit(results({**CAPTIONS, 5: "a" * 1001}))
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith("at most 1,000 characters (got 1,001 for image 5)")
    assert "A caption may have at most 1,000 characters" in ann.see("/small/open/submit/")


def test_small_groups_of_private_splits_are_warned_of(challenge: Challenge, olga: Someone) -> None:
    split = challenge.splits.get()
    assert ("split val", 6) in small_groups(challenge)
    assert "split val: 6 images" in olga.see("/small/organize/")
    split.image_ids = list(range(1, 201))
    split.save()
    Subset.objects.all().delete()
    Subset.objects.create(split=split, name="few", image_ids=list(range(1, 100)))
    Subset.objects.create(split=split, name="many", image_ids=list(range(1, 101)))
    assert small_groups(challenge) == [("subset few of split val", 99)]
    ReferenceSet.objects.update(public=True)
    assert small_groups(challenge) == []
    assert "fewer than 100" not in olga.see("/small/organize/")


def test_the_command_warns_of_small_groups(fresh: Server) -> None:
    fresh.migrate()
    path = Path(fresh.run("example", "small", str(fresh.folder / "small")).strip())
    done = fresh.done("import", str(path))
    assert done.returncode == 0
    assert "note: split val has 6 images, fewer than 100" in done.stderr
