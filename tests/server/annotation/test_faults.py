"""Fault tolerance, one test per fault. Tests with several processes are in other modules here."""

from __future__ import annotations

from datetime import timedelta

import pytest

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import Assignment, Campaign, Response
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation
from capeval_server.annotation.workers import enrollment
from capeval_server.core.errors import AnswerError
from tests.server.campaigns import answer, counted, free, hold, join, make
from tests.server.clock import Clock

pytestmark = pytest.mark.django_db


def check(campaign: Campaign) -> None:
    assert [str(finding) for finding in audit(campaign)] == []


def test_a_slot_is_refilled_and_the_first_worker_comes_back(clock: Clock) -> None:
    campaign = make(answers=1, items=1)
    first, second = join(campaign, 2)
    held = hold(first)
    clock.now += timedelta(hours=1)
    assert answer(hold(second)).outcome == "stored"
    late = answer(held)
    assert late.outcome == "surplus"
    assert "Your answer is stored. It arrived after" in late.text
    assert (counted(campaign), Response.objects.count()) == (1, 2)
    check(campaign)


def test_a_laptop_sleeps_an_hour_and_nobody_took_the_slot(clock: Clock) -> None:
    campaign = make("write", answers=1, items=1)
    (worker,) = join(campaign)
    held = hold(worker)
    assignment.save_draft(held, {"caption": "a cart in"})
    clock.now += timedelta(hours=1)
    assignment.expire_leases(campaign)
    assert free(campaign) == [1]
    assert answer(held).outcome == "stored"
    assert counted(campaign) == 1
    check(campaign)


def test_the_back_button_leads_to_the_own_answer() -> None:
    campaign = make("write", answers=1, items=1)
    held = hold(join(campaign)[0])
    answer(held)
    again = answer(held, "another sentence")
    assert (again.outcome, again.response.answer) == ("answered", {"caption": "a cart in a street"})
    assert "already" in again.text
    check(campaign)


@pytest.mark.parametrize("state", ["paused", "closing", "closed"])
def test_a_campaign_stops_with_leases_out(state: str) -> None:
    campaign = make(answers=1, items=1)
    held = hold(join(campaign)[0])
    lifecycle.change_state(None, campaign, state)
    assert answer(held).outcome == ("surplus" if state == "closed" else "stored")
    assert counted(campaign) == (state != "closed")
    check(campaign)


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_clock_of_another_server_is_wrong(clock: Clock, hours: int) -> None:
    campaign = make(answers=1, items=1)
    first, second = join(campaign, 2)
    held = hold(first)
    clock.now += timedelta(hours=hours)
    found = assignment.assign_work(second).assignments
    assert len(found) == (hours > 0)
    clock.now -= timedelta(hours=hours)
    outcomes = [answer(one).outcome for one in (held, *found)]
    # The first answer fills the slot, regardless of the clocks.
    assert sorted(outcomes) == ["stored", "surplus"][: 1 + len(found)]
    assert counted(campaign) == 1
    lease = Assignment.objects.get(pk=held.pk)
    assert lease.lease_until > lease.opened
    check(campaign)


def test_one_worker_is_left() -> None:
    campaign = make(answers=3, items=2)
    (worker,) = join(campaign)
    for _ in range(2):
        answer(hold(worker))
    assert assignment.assign_work(worker).why == "There is no work for you now."
    assert get_progress(campaign).waiting == (
        "Items that need answers from more workers: 2 (all workers have had them).",
    )


def test_all_workers_are_blocked() -> None:
    campaign = make(answers=1, items=2, reopened_for="trusted")
    assert get_progress(campaign).waiting == ("No workers yet: create invite links, or recruit workers.",)
    enrollment.invite(None, campaign, 2)
    assert get_progress(campaign).waiting == ("No workers yet. People who have not agreed to take part: 2.",)
    (worker,) = join(campaign)
    answer(hold(worker))
    moderation.block(None, worker, "spam")
    assert assignment.assign_work(worker).why == "You can no longer take part in this study."
    waiting = get_progress(campaign).waiting
    assert waiting == (
        "Answers that wait for a trusted worker who has not had the item: 1. A trusted worker has at least 20"
        " judged answers, 95% of them accepted. To let any worker replace the answers, set reopened_for to"
        " everybody in the quality settings.",
        "Items that need answers, while no worker can be assigned any: 1.",
    )
    check(campaign)


def test_no_worker_is_trusted(clock: Clock) -> None:
    campaign = make(answers=1, items=1, reopened_for="trusted")
    slow, bad, other = join(campaign, 3)
    late = hold(slow)
    clock.now += timedelta(hours=1)
    answer(hold(bad))
    moderation.block(None, bad, "spam")
    assert assignment.assign_work(other).assignments == []
    assert len(get_progress(campaign).waiting) == 1
    # A late answer gets no slot that is for trusted workers either.
    assert answer(late).outcome == "surplus"
    assert counted(campaign) == 0
    check(campaign)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> <b>a cart</b>",
        "=HYPERLINK('x')",
        "a cart; DROP TABLE annotation_response",
        "ein Wagen \u00fcber \u4e00 \U0001f6d2",
        "a" * 500,
    ],
)
def test_texts_that_are_stored_as_they_are(text: str) -> None:
    campaign = make("write", answers=1, items=1)
    assert answer(hold(join(campaign)[0]), text).response.answer == {"caption": text}
    check(campaign)


@pytest.mark.parametrize(
    "text", ["", "   ", "\t\n", "a" * 100_000, "a\0b", "a\ud800b", "a \u202ecart\u202c in a street"]
)
def test_texts_that_are_refused(text: str) -> None:
    campaign = make("write", answers=1, items=1)
    held = hold(join(campaign)[0])
    with pytest.raises(AnswerError):
        answer(held, text)
    assert Response.objects.count() == 0
    assert answer(held).outcome == "stored"
    check(campaign)
