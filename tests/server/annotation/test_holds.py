"""Items on hold: attention checks that good workers fail, and takedowns with the affected releases."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from capeval.errors import OptionError
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import LONGEST_NOTE, Assignment, Campaign, Item, Participation
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.audit.models import Action
from capeval_server.commands import annotation_items as commands
from capeval_server.core.errors import CampaignError
from tests.server.annotation.test_api import user_program
from tests.server.campaigns import answer, given, hold, join, make
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


def checked(workers: int, **options: Any) -> tuple[Campaign, list[Participation], Item]:
    """A campaign with seven checks, of which the first that everybody gets is to be failed."""
    settings = {"check_every": 2, "batch": 1, "pause_failed": 0, "check_pass_answers": 5, **options}
    campaign = make(items=30, checks=7, answers=workers, **settings)
    bad = campaign.items.filter(is_check=True).order_by("rank")[0]
    return campaign, join(campaign, workers), bad


def choose(held: Assignment, *, right: bool) -> None:
    left = right != held.mirrored
    submit.submit(held, given({"choice": "left" if left else "right"}))


def work_through(worker: Participation, *failed: Item) -> None:
    """Answers all there is, and fails some checks."""
    while held := assignment.assign_work(worker).assignments:
        choose(held[0], right=held[0].item not in failed)


def outcome(bad: Item) -> tuple[bool, str]:
    bad.refresh_from_db()
    return bad.held, bad.held_reason


def all_but(worker: Participation, bad: Item) -> Assignment:
    """Answers all but one check, which they hold then."""
    kept: Assignment | None = None
    while kept is None:
        for one in assignment.assign_work(worker).assignments:
            if one.item == bad:
                kept = one
            else:
                choose(one, right=True)
    assignment.set_aside(kept, Assignment.State.RETURNED)
    work_through(worker)
    return kept


def test_a_check_that_good_workers_fail_is_taken_out_and_says_so() -> None:
    campaign, workers, bad = checked(6)
    late = [all_but(worker, bad) for worker in workers]
    for number, one in enumerate(late):
        assert outcome(bad) == (False, ""), number
        # Of five, one passes: 80 %.
        choose(one, right=number == 2)
        if number == 4:
            break
    assert outcome(bad) == (True, "4 of 5 reliable workers failed this check")
    assert "Checks on hold, for the reasons in the list of items: 1." in get_progress(campaign).waiting
    assert get_progress(campaign).checks_out == 1
    action = Action.objects.latest("pk")
    assert (action.who, action.user) == ("the server", None)
    assert action.what.endswith("on hold: 4 of 5 reliable workers failed this check")
    # An answer that comes later is stored, and no worker gets the check any more.
    choose(late[5], right=False)
    (fresh,) = join(campaign)
    work_through(fresh)
    assert not fresh.assignments.filter(item=bad).exists()
    assert list(audit(campaign)) == []


def test_a_check_that_is_given_out_again_is_judged_by_what_comes_then() -> None:
    campaign, workers, bad = checked(11, check_pass_share=0.9)
    late = [all_but(worker, bad) for worker in workers]
    for one in late[:5]:
        choose(one, right=False)
    assert outcome(bad)[0]
    moderation.set_hold(None, bad, held=False)
    for one in late[5:9]:
        choose(one, right=False)
    assert outcome(bad) == (False, "")
    choose(late[9], right=False)
    assert outcome(bad) == (True, "5 of 5 reliable workers failed this check")
    assert list(audit(campaign)) == []


def test_who_turns_out_to_be_good_later_counts_too() -> None:
    campaign, workers, bad = checked(5)
    # All get this check before any other, when nothing is known of them.
    for worker in workers:
        while (held := hold(worker)).item != bad:
            choose(held, right=True)
        choose(held, right=False)
    assert outcome(bad) == (False, "")
    for worker in workers:
        work_through(worker)
    assert outcome(bad) == (True, "5 of 5 reliable workers failed this check")
    assert list(audit(campaign)) == []


def test_who_fails_other_checks_too_says_nothing_of_a_check() -> None:
    campaign, workers, bad = checked(6)
    others = list(campaign.items.filter(is_check=True).exclude(pk=bad.pk))
    for worker in workers:
        work_through(worker, bad, *others)
    assert not campaign.items.filter(is_check=True, held=True).exists()


@pytest.mark.parametrize(
    ("options", "fail"), [({"check_pass_share": 0.0}, 6), ({}, 4), ({"check_pass_share": 0.5}, 2)]
)
def test_checks_that_stay(options: dict[str, Any], fail: int) -> None:
    campaign, workers, bad = checked(6, **{"check_pass_answers": 5, **options})
    late = [all_but(worker, bad) for worker in workers]
    for number, one in enumerate(late[: 6 if options else 4]):
        choose(one, right=number >= fail)
    assert outcome(bad) == (False, "")
    assert campaign.items.filter(held=True).count() == 0


def test_who_holds_the_check_loses_it_and_the_audit_holds() -> None:
    campaign, workers, bad = checked(6)
    late = [all_but(worker, bad) for worker in workers[:5]]
    holder = workers[5]
    while (held := hold(holder)).item != bad:
        choose(held, right=True)
    for one in late:
        choose(one, right=False)
    assert outcome(bad)[0]
    held.refresh_from_db()
    assert held.state == "pulled"
    assert list(audit(campaign)) == []
    # It is answered all the same, late, and paid.
    choose(held, right=True)
    assert list(audit(campaign)) == []


def frozen(slug: str = "") -> tuple[Campaign, Item]:
    """A campaign with a release, and an item that is in it."""
    campaign = make(items=2, answers=1)
    (worker,) = join(campaign)
    for _ in range(2):
        held = hold(worker)
        answer(held)
    release_files.freeze(None, campaign, "1.0")
    if slug:
        Campaign.objects.filter(pk=campaign.pk).update(slug=slug)
        campaign.refresh_from_db()
    return campaign, held.item


def test_a_take_down_names_the_releases() -> None:
    campaign, item = frozen()
    assert moderation.set_hold(None, item, held=True, reason="shows a face") == ("1.0",)
    item.refresh_from_db()
    assert (item.held, item.held_reason) == (True, "shows a face")
    assert "shows a face" in Action.objects.latest("pk").what
    # A second hold with a different reason replaces it; one without a reason keeps it.
    moderation.set_hold(None, item, held=True, reason="shows two faces")
    moderation.set_hold(None, item, held=True)
    item.refresh_from_db()
    assert (item.held, item.held_reason) == (True, "shows two faces")
    assert "shows two faces" in Action.objects.latest("pk").what
    assert moderation.set_hold(None, item, held=False) == ("1.0",)
    item.refresh_from_db()
    assert (item.held, item.held_reason) == (False, "")
    release_files.verify(campaign.releases.get())
    with pytest.raises(CampaignError, match="'reason'"):
        moderation.set_hold(None, item, held=True, reason="x" * (LONGEST_NOTE + 1))


def test_a_take_down_by_page_api_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    campaign, item = frozen()
    staff, place = user_program("staff", is_staff=True), f"campaigns/{campaign.slug}/held"
    wanted = {"item": item.key, "held": True, "reason": "a number plate"}
    user_program("somebody").ask("PUT", place, wanted, 404)
    user_program("somebody").ask("GET", place, status=404)
    shown = {"item": item.key, "is_check": False, "reason": "a number plate", "releases": ["1.0"]}
    assert staff.ask("PUT", place, wanted) == shown
    assert staff.ask("GET", place) == {"count": 1, "items": [shown]}
    staff.ask("PUT", place, {**wanted, "item": "none"}, 404)
    staff.ask("PUT", place, {**wanted, "reason": "\0"}, 422)
    assert staff.ask("PUT", place, {"item": item.key, "held": False})["reason"] == ""
    browser = Client()
    browser.force_login(User.objects.get(username="staff"))
    address = f"/campaigns/{campaign.slug}/items/"
    sent = browser.post(f"{address}{item.pk}/hold/", {"held": "on", "reason": "<a face>"}, follow=True)
    check_page(sent.content.decode(), sent.headers["Content-Security-Policy"])
    page = sent.content.decode()
    assert "Existing releases still contain its answers: 1.0." in page
    assert "&lt;a face&gt;" in page
    assert "In releases: 1.0" in page
    sent = browser.post(f"{address}{item.pk}/hold/", {"held": "on", "reason": "x" * 501}, follow=True)
    assert "Nothing changed" in sent.content.decode()
    browser.post(f"{address}{item.pk}/hold/", {})
    commands.hold(campaign.slug, item.key, reason="a face")
    commands.hold(campaign.slug)
    commands.hold(campaign.slug, item.key, give=True)
    commands.hold(campaign.slug)
    for key, reason, give in (("", "", True), ("", "a face", False), (item.key, "a face", True)):
        with pytest.raises(OptionError, match="'--give'"):
            commands.hold(campaign.slug, key, reason, give)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{item.key}: on hold; releases: 1.0",
        f"{item.key}: a face; releases: 1.0",
        f"{item.key}: released; releases: 1.0",
    ]


def test_reports_say_why_an_item_is_out_of_work() -> None:
    campaign = make(items=1, answers=3)
    for worker in join(campaign, 2):
        assignment.report_item(hold(worker), "face")
    item = campaign.items.get()
    assert (item.held, item.held_reason) == (True, "2 workers reported it")
