"""Workers without images that have content warnings, and the record of warnings shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import Assignment, Campaign, Participation
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.responses.content_warnings import (
    avoid_warnings,
    count_warned_images,
    set_warning,
)
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.workers import enrollment
from capeval_server.core.errors import AssignmentError
from tests.server.annotation.test_api import Program
from tests.server.annotation.test_pages import enter, page, picture, write_campaign
from tests.server.campaigns import answer, join, make

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A campaign with six images; the first three have a content warning."""
    pictures = {f"street{number}.jpg": picture(640 + number) for number in range(6)}
    made = make_campaign(None, write_campaign(tmp_path, pictures))
    for number in range(3):
        set_warning(None, made, f"street{number}.jpg", "blood")
    return change_state(None, made, "open")


def names(worker: Participation) -> list[str]:
    found = assignment.assign_work(worker).assignments
    return sorted(one.item.image.name for one in found if one.item.image is not None)


def see(client: Client, held: Assignment, size: str = "small") -> int:
    """The status of the answer with the picture."""
    got = client.get(f"/annotate/streets/{held.lease}/image/{size}/")
    got.close()
    return got.status_code


def test_who_wants_none_is_given_none(campaign: Campaign) -> None:
    avoids, other = join(campaign, 2)
    avoids = avoid_warnings(avoids, avoid=True)
    assert names(avoids) == ["street3.jpg", "street4.jpg", "street5.jpg"]
    assert len(names(other)) == 5
    for one in assignment.assign_work(avoids).assignments:
        answer(one, "a cart in a street at noon")
    assert assignment.assign_work(avoids).why == "There is no work for you now."
    assert not assignment.has_work(avoids)
    avoids.refresh_from_db()
    assert (avoids.answered, avoids.judged, avoids.stage) == (3, 0, "working")
    withdrawal.withdraw(None, other)
    (why,) = get_progress(campaign).waiting
    assert why == (
        "Items that need answers from more workers: 6 (all workers have had them, or avoid images with"
        " warnings)."
    )
    avoids = avoid_warnings(avoids, avoid=False)
    assert names(avoids) == ["street0.jpg", "street1.jpg", "street2.jpg"]
    assert list(audit(campaign)) == []


def test_what_is_held_is_given_back(campaign: Campaign) -> None:
    (worker,) = join(campaign)
    held = assignment.assign_work(worker).assignments
    warned = [one for one in held if one.item.image and one.item.image.warning]
    Assignment.objects.filter(pk=warned[0].pk).update(state="expired")
    before = names(worker)
    assert len(before) == 5
    worker = avoid_warnings(worker, avoid=True)
    assert names(worker) == [name for name in before if name >= "street3"]
    rows = Assignment.objects.filter(pk__in=[one.pk for one in warned])
    assert set(rows.values_list("state", "reason")) == {("returned", "it has a warning")}
    # A late answer counts like any other.
    answer(warned[0], "a cart in a street at noon")
    assert list(audit(campaign)) == []
    withdrawal.withdraw(None, worker)
    with pytest.raises(AssignmentError):
        avoid_warnings(worker, avoid=False)


def test_checks_and_training_with_a_warning_are_not_given_either() -> None:
    campaign = make(
        "pairwise", items=0, answers=1, batch=1, check_every=2, training_items=2, training_right=1
    )
    image = campaign.images.create(
        digest="0", name="a.jpg", width=1, height=1, small="a", large="a", warning="blood"
    )
    rows = [
        ItemDefinition(
            key=f"{'training' if training else 'check'} {number}",
            image="a.jpg" if number % 2 else "",
            group="",
            category="",
            payload={"first": "a hound", "second": "a cat"},
            expected={"choice": "first"},
            training=training,
        )
        for training in (True, False)
        for number in range(4)
    ]
    work = [
        ItemDefinition(key=str(number), image="", group="", category="", payload=rows[0].payload, expected={})
        for number in range(20)
    ]
    add_items(campaign, [*rows, *work], 1)
    (worker,) = join(campaign)
    worker = avoid_warnings(worker, avoid=True)
    for one in assignment.assign_work(worker).assignments:
        answer(one)
    from capeval_server.annotation.workers import training

    worker.refresh_from_db()
    if training.continue_training(worker).stage == "working":
        while held := assignment.assign_work(worker).assignments:
            answer(held[0])
    given = worker.assignments.filter(item__is_check=True)
    assert given.count() >= 2
    assert not given.filter(item__image=image).exists()


def test_at_entry_and_later_by_page(campaign: Campaign) -> None:
    client = enter(campaign)
    assert "Don't show me images with a warning, for example of blood" in page(client, campaign)
    client.post("/annotate/streets/agree/", {"texts": "1", "avoid": "on"})
    worker = campaign.participations.get()
    assert worker.avoids_warnings
    work = page(client, campaign)
    assert (work.count("(1/3)"), work.count("Warning: blood")) == (1, 0)
    mine = client.get("/annotate/streets/leave/").content.decode()
    assert '<input type="checkbox" id="avoid" name="avoid" checked>' in mine
    answer_ = client.post("/annotate/streets/warnings/", {}, follow=True)
    assert "You may see images with a warning." in answer_.content.decode()
    for one in assignment.assign_work(worker).assignments:
        assignment.set_aside(one, Assignment.State.SKIPPED)
    work = page(client, campaign)
    assert work.count("Warning: blood") == 3
    sent = client.post("/annotate/streets/warnings/", {"avoid": "on"}, follow=True)
    assert "You will not see images with a warning." in sent.content.decode()
    assert "Warning: blood" not in page(client, campaign)


def test_by_api(campaign: Campaign) -> None:
    (token,) = enrollment.invite(None, campaign, 1)
    program = Program(token)
    assert program.ask("POST", "annotate/streets/agree", {"texts": 1})["avoids_warnings"] is False
    assert program.ask("PUT", "annotate/streets/warnings", {"avoid": True})["avoids_warnings"] is True
    items = program.ask("POST", "annotate/streets/next", {})["items"]
    assert [item["warning"] for item in items] == [""] * 3
    program.ask("PUT", "annotate/streets/warnings", {}, 422)


def test_a_campaign_without_images_asks_nothing() -> None:
    campaign = make()
    client = enter(campaign)
    assert "warning" not in page(client, campaign)
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1", "avoid": "on"})
    assert not campaign.participations.get().avoids_warnings


def test_what_was_asked_to_be_seen_is_recorded(campaign: Campaign) -> None:
    client = enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    page(client, campaign)
    worker = campaign.participations.get()
    held = assignment.assign_work(worker).assignments
    warned = [one for one in held if one.item.image and one.item.image.warning]
    plain = next(one for one in held if one not in warned)
    for one in (warned[0], plain, warned[0]):
        for size in ("small", "large"):
            assert see(client, one, size) == 200
    shown = Assignment.objects.exclude(warned_shown=None)
    assert [one.pk for one in shown] == [warned[0].pk]
    found = count_warned_images(worker)
    assert (found.given, found.shown) == (len(warned), 1)
    User.objects.create(username="staff", is_staff=True)
    browser = Client()
    browser.force_login(User.objects.get(username="staff"))
    shown_page = browser.get(f"/campaigns/streets/workers/{worker.worker.pseudonym}/").content.decode()
    assert f"{len(warned)} images with a warning assigned, 1 viewed" in shown_page


def test_a_take_down_shows_the_picture_to_nobody(campaign: Campaign) -> None:
    client = enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    page(client, campaign)
    (held, *_) = assignment.assign_work(campaign.participations.get()).assignments
    answer(held, "a cart in a street at noon")
    assert see(client, held) == 200
    moderation.set_hold(None, held.item, held=True, reason="a face")
    assert see(client, held) == 404
