"""Accuracy of texts about campaigns: pay, states, and the basis of a forecast."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.progress import pace_of
from capeval_server.annotation.models import Campaign, Participation, Response
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.responses.assignment import assign_work
from capeval_server.annotation.text_rules.rules import check_captions
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.payments import set_rate
from capeval_server.web.campaigns.presenters import ACTIONS, pace_in_words
from tests.server.annotation.test_training import attempt, trained
from tests.server.annotation.test_writing import trained as trained_to_write
from tests.server.campaigns import answer, counted, hold, join, make
from tests.server.clock import Clock
from tests.server.kit import Someone
from tests.server.web.test_campaign_pages import see

PAY = re.compile(r"\bpaid\b|\bpay\b")


# Pay


def page_of(worker: Participation, token: str) -> str:
    browser = Client()
    browser.cookies[f"annotate-{worker.campaign_id}"] = token
    return browser.get(f"/annotate/{worker.campaign.slug}/").content.decode()


def agreed(campaign: Campaign) -> tuple[Participation, str]:
    (token,) = enrollment.invite(None, campaign, 1)
    worker = enrollment.agree(
        enrollment.get_invited(campaign, token), enrollment.latest_texts(campaign).number
    )
    return worker, token


@pytest.mark.django_db
@pytest.mark.parametrize("pay", ["", "0.12"])
def test_the_training_is_paid_for_only_with_pay(pay: str) -> None:
    campaign = trained(training_tries=1)
    set_rate(None, campaign, pay, "EUR" if pay else "")
    worker, token = agreed(campaign)
    told = page_of(worker, token)
    assert "This is the training. You need at least 8 of 10 correct answers." in told
    assert bool(PAY.search(told)) == bool(pay)
    attempt(worker, 0)
    told = page_of(worker, token)
    assert "Thank you for completing the training" in told
    assert bool(PAY.search(told)) == bool(pay)


@pytest.mark.django_db
@pytest.mark.parametrize("pay", ["", "0.12"])
def test_practice_is_paid_for_only_with_pay(pay: str) -> None:
    campaign = trained_to_write()
    set_rate(None, campaign, pay, "EUR" if pay else "")
    told = page_of(*agreed(campaign))
    assert "This is practice" in told
    assert bool(PAY.search(told)) == bool(pay)


@pytest.mark.django_db
@pytest.mark.parametrize("pay", ["", "0.12"])
def test_a_surplus_answer_is_paid_for_only_with_pay(clock: Clock, pay: str) -> None:
    campaign = make(answers=1, items=1, pay_per_answer=pay, currency="EUR" if pay else "")
    first, second = join(campaign, 2)
    held = hold(first)
    clock.now += timedelta(hours=1)
    answer(hold(second))
    late = answer(held, key="late")
    assert late.outcome == "surplus"
    paid = "Your answer is stored, and is paid for like any other. It arrived after"
    assert (paid if pay else "Your answer is stored. It arrived after") in late.text
    # The same answer, sent again.
    assert answer(held, key="late").text == late.text


@pytest.mark.django_db
@pytest.mark.parametrize("pay", ["", "0.12"])
def test_a_block_speaks_of_pay_only_with_pay(pay: str, olga: Someone) -> None:
    campaign = make(pay_per_answer=pay, currency="EUR" if pay else "")
    campaign.organizers.add(olga.user)
    (worker,) = join(campaign)
    told = see(olga, f"/campaigns/{campaign.slug}/workers/{worker.worker.pseudonym}/")
    assert "No data is deleted" in told
    assert bool(PAY.search(told)) == bool(pay)


# The name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A ball near Anna on the green grass", "Anna"),
        ("A man rides a Honda along the wide street.", "Honda"),
        ("A dog,  Rex, and a cat sit on grass", "Rex"),
        ("A woman and O'Neil walk with Jean-Luc on grass", "Jean-Luc"),
        ("A man near Zoë’s big dog on grass", "Zoë’s"),
        ("A boy eats at McDonald's on the street today", "McDonald's"),
    ],
)
def test_the_hint_quotes_the_name(text: str, name: str) -> None:
    (findings,) = check_captions([text])
    (hint,) = [each.message for each in findings if each.rule == "name"]
    assert hint == f"Is '{name}' the name of a person? Please do not give people names."


# States


def test_each_change_of_state_is_described_by_itself() -> None:
    for before in Campaign.State.values:
        told = [does for (now, _), (_, does) in ACTIONS.items() if now == before]
        assert len(told) == len(set(told)), before


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "label"), [("paused", "Pause"), ("closing", "Wind down")])
def test_pausing_and_winding_down_do_what_they_say(olga: Someone, state: str, label: str) -> None:
    campaign = make(items=2, answers=1)
    campaign.organizers.add(olga.user)
    first, second = join(campaign, 2)
    held = hold(first)
    button, does = ACTIONS[Campaign.State.OPEN, Campaign.State(state)]
    assert button == label
    page = see(olga, f"/campaigns/{campaign.slug}/")
    assert does in page
    assert f">{label}</button>" in page
    olga.do(f"/campaigns/{campaign.slug}/state/", state=state)
    campaign.refresh_from_db()
    # "There are no new assignments", and workers read why.
    assert "There are no new assignments" in does
    told = assign_work(second)
    assert not told.assignments
    assert f"This campaign is {state}" in told.why
    # "They can finish the items that they have started": the answers count.
    assert "They can finish the items that they have started" in does
    assert [one.pk for one in assign_work(first).assignments] == [held.pk]
    assert answer(held).outcome == "stored"
    assert counted(campaign) == 1
    # A paused campaign can be wound down; the reverse is not offered.
    ways = {after for before, after in ACTIONS if before == state}
    assert ("closing" in ways) == (state == "paused")
    # Both can be undone.
    assert "Resume" in does
    assert f">{ACTIONS[Campaign.State(state), Campaign.State.OPEN][0]}</button>" in see(
        olga, f"/campaigns/{campaign.slug}/"
    )
    olga.do(f"/campaigns/{campaign.slug}/state/", state="open")
    assert assignment.assign_work(second).assignments


@pytest.mark.django_db
def test_closing_now_takes_items_back_and_can_be_undone_with_a_reason() -> None:
    campaign = make(items=1, answers=1)
    (worker,) = join(campaign)
    held = hold(worker)
    _, does = ACTIONS[Campaign.State.OPEN, Campaign.State.CLOSED]
    assert does == (
        "Cancels open assignments. Late answers are kept but not counted. You can reopen the campaign, with a"
        " reason."
    )
    lifecycle.change_state(None, campaign, "closed")
    assert answer(held).outcome == "surplus"
    lifecycle.change_state(None, campaign, "open", reason="too early")
    campaign.refresh_from_db()
    assert campaign.state == "open"


# Forecasts


def told_of(campaign: Campaign, **about: Any) -> str:
    return pace_in_words(pace_of(campaign), is_open=True, **about)


def answered(campaign: Campaign, worker: Participation, number: int) -> None:
    for _ in range(number):
        answer(hold(worker))


@pytest.mark.django_db
def test_ten_answers_in_an_hour_are_not_a_week(clock: Clock, olga: Someone) -> None:
    campaign = make(items=120, answers=1)
    campaign.organizers.add(olga.user)
    (worker,) = join(campaign)
    assert told_of(campaign) == ""
    answered(campaign, worker, 1)
    assert told_of(campaign) == "1 answer in the last hour: too few for a forecast."
    answered(campaign, worker, 9)
    expected = "10 answers in the last hour. Estimate at this rate: done in about 11 hours."
    assert told_of(campaign) == expected
    page = see(olga, f"/campaigns/{campaign.slug}/")
    assert f"110 remaining. {expected}" in page
    assert "last 7 days" not in page
    assert pace_in_words(pace_of(campaign), is_open=False) == "10 answers in the last hour."
    # Hours later, the basis is longer, and the estimate is too.
    clock.now += timedelta(hours=4, minutes=30)
    assert told_of(campaign) == (
        "10 answers in the last 5 hours: less than a day of answers is too little for a forecast."
    )


@pytest.mark.django_db
def test_a_forecast_of_days_needs_days(clock: Clock) -> None:
    campaign = make(items=120, answers=1)
    (worker,) = join(campaign)
    answered(campaign, worker, 10)
    clock.now += timedelta(days=1, hours=18)
    answered(campaign, worker, 10)
    assert told_of(campaign) == "20 answers in the last 2 days. Estimate at this rate: done in about 10 days."
    clock.now += timedelta(days=6)
    # The first ten are older than seven days.
    assert told_of(campaign) == "10 answers in the last 6 days. Estimate at this rate: done in about 60 days."
    clock.now += timedelta(days=2)
    assert told_of(campaign) == "No answers in the last 7 days."


@pytest.mark.django_db
def test_a_few_answers_left(clock: Clock) -> None:
    campaign = make(items=12, answers=1)
    (worker,) = join(campaign)
    answered(campaign, worker, 11)
    assert told_of(campaign).endswith("Estimate at this rate: done in less than an hour.")
    answered(campaign, worker, 1)
    assert told_of(campaign) == ""
    assert Response.objects.count() == 12
