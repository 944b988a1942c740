"""Automatic flags that send captions to review."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval_server.annotation.models import Campaign, Item, KnownCaption, Response, ReviewRequest
from capeval_server.annotation.responses import text_flags
from capeval_server.annotation.review import moderation
from capeval_server.challenges.models import Phase
from capeval_server.core.errors import CampaignError
from capeval_server.submissions.models import Submission
from tests.server.campaigns import answer, hold, join, make
from tests.server.kit import CAPTIONS, Participant

pytestmark = pytest.mark.django_db
FIRST = "a brown dog runs over the green grass near a lake"


def reasons(campaign: Campaign) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for request in ReviewRequest.objects.filter(response__item__campaign=campaign).order_by("pk"):
        found.setdefault(request.response.answer["caption"], []).append(request.reason)
    return found


@pytest.mark.parametrize(
    ("second", "signal"),
    [
        (FIRST, True),
        ("A brown dog runs over the green grass near the lake.", True),
        ("a brown dog runs over the green grass near a red car", False),
        ("two people sit at a table", False),
        ("...", False),
    ],
)
def test_a_worker_who_repeats_a_caption(second: str, signal: bool) -> None:
    campaign = make("write", items=2, answers=2, batch=1)
    worker, other = join(campaign, 2)
    answer(hold(worker), FIRST)
    assert answer(hold(worker), second).text == "Thank you. Your answer is stored."
    # Another person's caption of the same image may be the same.
    answer(hold(other), FIRST)
    assert reasons(campaign) == ({second: [text_flags.REPEATED]} if signal else {})


def test_a_revision_is_no_copy_of_what_it_replaces() -> None:
    campaign = make("write", items=1, answers=1)
    held = hold(join(campaign)[0])
    answer(held, FIRST)
    answer(held, f"{FIRST} today", revision=2)
    assert reasons(campaign) == {}


def test_captions_that_are_known_elsewhere() -> None:
    campaign = make("write", items=2, answers=2, batch=1)
    worker, other = join(campaign, 2)
    held = hold(worker)
    elsewhere = Item.objects.exclude(pk=held.item_id).get()
    known = [(held.item.key, FIRST), (elsewhere.key, "two people sit at a table"), ("", "A cat sleeps.")]
    assert text_flags.add_known(campaign, [*known, *known]) == 3
    assert text_flags.add_known(campaign, known) == 0
    assert not KnownCaption.objects.filter(digest__contains="cat").exists()
    answer(held, "A brown dog runs over the green grass, near a lake!")
    answer(hold(worker), "a cat sleeps")
    # That one is known of the other image.
    assert other.assignments.count() == 0
    first = hold(other)
    answer(first, "two people sit at a table" if first.item_id == held.item_id else "a dog sleeps here")
    assert reasons(campaign) == {
        "A brown dog runs over the green grass, near a lake!": [text_flags.KNOWN],
        "a cat sleeps": [text_flags.KNOWN],
    }
    with pytest.raises(CampaignError, match="that collects captions"):
        text_flags.add_known(make(), [])


def test_captions_of_submitted_systems(ann: Participant, phase: Phase) -> None:
    ann.submitted()
    assert Submission.objects.count() == 1
    campaign = make("write", items=2, answers=2, batch=1)
    with pytest.raises(CampaignError, match="requires a campaign that belongs to a challenge"):
        text_flags.add_submissions(campaign)
    campaign.challenge = phase.challenge
    campaign.save()
    assert text_flags.add_submissions(campaign) == len(CAPTIONS)
    assert text_flags.add_submissions(campaign) == 0


def test_captions_unlike_the_others_of_their_image() -> None:
    campaign = make("write", items=4, answers=4, batch=1)
    texts = [
        "a brown dog runs over the grass",
        "two people sit at a long table",
        "a red bus stands in the street",
        "a cat sleeps on a blue sofa",
    ]
    ranks = {pk: place for place, pk in enumerate(campaign.items.order_by("pk").values_list("pk", flat=True))}
    for number, worker in enumerate(join(campaign, 4)):
        for _ in range(4):
            held = hold(worker)
            wrong = number == 3 and ranks[held.item_id] == 0
            answer(held, "a plane flies above clouds" if wrong else texts[ranks[held.item_id]])
    assert text_flags.request_agreement_reviews(campaign) == 1
    assert text_flags.request_agreement_reviews(campaign) == 0
    assert reasons(campaign) == {"a plane flies above clouds": [text_flags.UNLIKE]}
    (waiting,) = moderation.list_review_queue(campaign)
    assert waiting.answer["caption"] == "a plane flies above clouds"
    with pytest.raises(CampaignError, match="the comparison requires a campaign"):
        text_flags.request_agreement_reviews(make())
    assert Response.objects.filter(filled_slot=None).count() == 0


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from capeval_server.commands import annotation_items as items
    from capeval_server.commands import annotation_reviews as reviews

    campaign = make("write", items=1, answers=1)
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"0": ["a dog", "a hound"], "1": ["a cat"]}))
    items.known(campaign.slug, path)
    items.known(campaign.slug, path, any_image=True)
    reviews.compare(campaign.slug)
    assert capsys.readouterr().out.splitlines() == [
        f"{campaign.slug}: 3 captions added",
        f"{campaign.slug}: 3 captions added",
        f"{campaign.slug}: 0 captions to review",
    ]
