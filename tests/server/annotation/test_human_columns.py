"""Releases of judgments and their columns on a challenge's page."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from capeval.errors import FormatError
from capeval.formats.judgments.human_scores import load_human_scores
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.core.agreement import measure_question_agreement
from capeval_server.annotation.models import Assignment, Campaign
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.human_columns import columns_of, rows_of
from capeval_server.annotation.review.moderation import block
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import CampaignError
from capeval_server.submissions.models import Submission
from tests.server.annotation.test_results import campaign_of, votes_of_many, work_all
from tests.server.campaigns import join
from tests.server.kit import Participant, Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def judged(
    challenge: Challenge, kind: str, choices: Mapping[str, str], workers: int = 3, images: int = 4
) -> tuple[Campaign, list[Any]]:
    lines = [
        {"key": f"{system}-{image}", "group": str(image), "system": system, "caption": "a dog"}
        for system in choices
        for image in range(images)
    ]
    campaign = campaign_of(kind, lines)
    campaign.challenge = challenge
    campaign.save()
    people = join(campaign, workers)
    for worker in people:
        work_all(worker, lambda held: {"choice": choices[held.item.payload["system"]]})
    return campaign, people


M3 = {"Human": "5", "ours": "4", "Random": "1"}
M4 = {"Human": "3", "ours": "2", "Random": "4"}


def test_alpha_is_the_same_on_both_pages(challenge: Challenge) -> None:
    """The page of agreement has the same alpha and interval as the release and its pages."""
    rng = random.Random(3)
    lines = [
        {
            "key": f"{system}-{image}", "group": str(image), "system": system, "caption": "a dog",
            "category": system,
        }
        for image in (7, 30, 4, 12, 9, 101, 55, 2)
        for system in ("Human", "ours")
    ]  # fmt: skip
    campaign = campaign_of("m3", lines)
    campaign.challenge = challenge
    campaign.save()
    for worker in join(campaign, 3):
        work_all(worker, lambda held: {"choice": str(rng.randint(1, 5))})
    release = release_files.freeze(None, campaign, "1.0")
    scores = load_human_scores(release_files.folder_of(release) / "human.csv")
    found = {each.category: each.alpha for each in measure_question_agreement(campaign)}
    for score in scores:
        alpha = found[score.system]
        assert alpha is not None
        expected = (score.alpha, score.alpha_low, score.alpha_high)
        shown = (alpha.value, alpha.interval.low, alpha.interval.high)
        assert shown == pytest.approx(expected, abs=1e-9)


def test_a_release_of_judgments_never_changes(challenge: Challenge) -> None:
    campaign, people = judged(challenge, "m3", M3)
    made = release_files.freeze(None, campaign, "1.0")
    folder = release_files.folder_of(made)
    assert {path.name for path in folder.iterdir()} == {
        "ratings-m3.csv",
        "winners.csv",
        "human.csv",
        "differences.csv",
        "judgments.csv",
        "judgments.parquet",
        "manifest.json",
    }
    assert made.responses.count() == 36
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    block(None, people[0], "a robot")
    # The release is unchanged, and reports how many of its answers no longer count.
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    release_files.verify(made)
    assert release_files.count_outdated_answers(made) == 12
    with pytest.raises(CampaignError, match="must have all"):
        release_files.freeze(None, campaign, "1.1")
    with pytest.raises(CampaignError, match=r"release '1\.0' already exists"):
        release_files.freeze(None, campaign, "1.0")
    with pytest.raises(CampaignError, match="plans require a task type that collects captions"):
        release_files.freeze(None, campaign, "1.1", plans=Path("plans.json"))
    other, _ = judged(challenge, "m2", {"Human": "person", "Random": "machine"})
    with pytest.raises(CampaignError, match="letters, digits"):
        release_files.freeze(None, other, "../x")
    (folder / "human.csv").write_text("changed")
    with pytest.raises(FormatError, match="sha256"):
        release_files.verify(made)


def test_items_that_lack_answers_can_be_left_out(challenge: Challenge) -> None:
    campaign, _ = judged(challenge, "m3", M3, workers=2)
    with pytest.raises(CampaignError, match="judge-m3 has no counted answers yet"):
        release_files.freeze(None, campaign, "1.0", leave_out=True)
    (third,) = join(campaign)
    held = [item for item in campaign.items.all() if item.payload["system"] != "ours"]
    # A third worker rates only two systems.
    campaign.items.filter(key__startswith="ours").update(free=0)
    assert work_all(third, lambda one: {"choice": M3[one.item.payload["system"]]}) == len(held)
    made = release_files.freeze(None, campaign, "1.0", leave_out=True)
    scores = load_human_scores(release_files.folder_of(made) / "human.csv")
    assert {score.system for score in scores} == {"Human", "Random"}
    assert made.responses.count() == sum(score.votes for score in scores) == 24


def test_columns_have_intervals_n_alpha_and_a_release(challenge: Challenge, phase: Phase) -> None:
    campaign, _ = judged(challenge, "m4", M4)
    release_files.freeze(None, campaign, "1.0")
    # M4 is shown only together with M3.
    assert columns_of(challenge) == ()
    assert Client().get("/small/judgments/").status_code == 404
    other, people = judged(challenge, "m3", M3)
    release_files.freeze(None, other, "1.0")
    found = columns_of(challenge)
    assert [(column.question, column.release, column.missing) for column in found] == [
        ("M3", "1.0", ()),
        ("M4", "1.0", ()),
    ]
    assert [row.system for row in rows_of(found)] == ["Human", "ours", "Random"]
    score = found[0].scores["ours"]
    assert (score.value, score.images, score.votes, score.workers) == (4.0, 4, 12, 3)
    assert score.release == "judge-m3 1.0"
    answer = Client().get("/small/judgments/")
    text = answer.content.decode()
    check_page(text, answer.headers["Content-Security-Policy"])
    for shown in (
        "M3",
        "M4",
        '<span class="muted">release 1.0</span>',
        "Human",
        "Random",
        "4.000",
        # All images have the same value, which does not make it certain.
        "2.466 to 4.758",
        "95% Wilson intervals over images",
        "4 images, 12 votes",
        "alpha",
    ):
        assert shown in text
    assert "no longer count" not in text
    block(None, people[0], "a robot")
    assert "12 of its answers no longer count" in Client().get("/small/judgments/").content.decode()
    assert 'href="/small/judgments/"' in Client().get("/small/open/").content.decode()


def test_neighbors_that_people_do_not_tell_apart_are_named(challenge: Challenge, phase: Phase) -> None:
    campaign, _ = judged(challenge, "m3", {"Human": "5", "ours": "4", "theirs": "4", "Random": "1"}, images=6)
    release_files.freeze(None, campaign, "1.0")
    (column,) = columns_of(challenge)
    assert column.tied == {"ours": "theirs"}
    text = Client().get("/small/judgments/").content.decode()
    assert text.count("≈ <bdi>") == 1
    assert "≈ <bdi>theirs</bdi>" in text
    # An older release says nothing of it.
    (release_files.folder_of(campaign.releases.get()) / "differences.csv").unlink()
    assert columns_of(challenge)[0].tied == {}


def test_wins_are_columns_too(challenge: Challenge, phase: Phase, tmp_path: Path) -> None:
    campaign = votes_of_many("triplet", tmp_path)
    campaign.challenge = challenge
    campaign.save()
    release_files.freeze(None, campaign, "1.0")
    found = columns_of(challenge)
    assert [column.question for column in found] == ["wins", "Bradley-Terry"]
    assert [row.system for row in rows_of(found)][:2] == ["Human", "good"]
    text = Client().get("/small/judgments/").content.decode()
    assert "Share of its pairs that the system wins" in text
    # Pairs of one writer alone say nothing of systems.
    other = campaign_of(
        "pairwise", [{"key": "1", "first": "a", "second": "b", "first_by": "human", "second_by": "human"}], 1
    )
    other.challenge = challenge
    other.save()
    (worker,) = join(other)
    work_all(worker, lambda held: {"choice": "left"})
    release_files.freeze(None, other, "1.0")
    assert len(columns_of(challenge)) == 2


def test_a_column_without_human_says_so(challenge: Challenge) -> None:
    campaign, _ = judged(challenge, "m3", {"ours": "4", "theirs": "3"})
    release_files.freeze(None, campaign, "1.0")
    (column,) = columns_of(challenge)
    assert column.missing == ("Human", "Random")
    assert "Without Human and Random." in Client().get("/small/judgments/").content.decode()


def test_who_may_not_see_the_leaderboard_sees_no_judgments(challenge: Challenge, phase: Phase) -> None:
    campaign, _ = judged(challenge, "m3", M3)
    release_files.freeze(None, campaign, "1.0")
    phase.leaderboard = Phase.Leaderboard.HIDDEN
    phase.save()
    assert Client().get("/small/judgments/").status_code == 404
    assert "judgments" not in Client().get("/small/").content.decode()


def test_judgments_of_hidden_submissions_are_hidden(
    challenge: Challenge, phase: Phase, ann: Participant, olga: Someone
) -> None:
    """A public leaderboard does not disclose the judgments of other phases' submissions."""
    blind = Phase.objects.get(pk=phase.pk)
    blind.pk, blind.name, blind.blind = None, "final", True
    blind.save()
    blind.splits.set(phase.splits.all())
    secret, public = (
        Submission.objects.create(
            phase=at, team=ann.team, user=ann.user, algorithm="m", state="scored", sha256=at.name * 10
        )
        for at in (blind, phase)
    )
    campaign, _ = judged(challenge, "m3", {"Human": "5", "theirs": "4", "ours": "4", "Random": "1"}, images=6)
    campaign.systems = {"theirs": str(secret.pk), "ours": str(public.pk)}
    campaign.save()
    release_files.freeze(None, campaign, "1.0")
    visitors: tuple[Client, ...] = (Client(), ann.client)
    for client in visitors:
        text = client.get("/small/judgments/").content.decode()
        assert ("theirs" in text, "ours" in text, "≈ <bdi>" in text) == (False, True, False)
    assert "theirs" in olga.see("/small/judgments/")
    Submission.objects.filter(pk=public.pk).update(mark=Submission.Mark.HIDDEN)
    assert [client.get("/small/judgments/").status_code for client in visitors] == [404, 404]
    blind.published = blind.opens
    blind.save()
    assert "theirs" in ann.see("/small/judgments/")


def test_the_latest_release_of_a_campaign_is_shown(challenge: Challenge) -> None:
    campaign, _ = judged(challenge, "m3", M3)
    for name in ("1.0", "1.1"):
        release_files.freeze(None, campaign, name)
    (column,) = columns_of(challenge)
    assert column.release == "1.1"
    assert Assignment.objects.count() == 36
    lifecycle.change_state(None, campaign, "closed")
