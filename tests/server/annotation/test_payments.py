"""Payment lists: amounts per worker, recipients, and the audit log."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.workers import panels, payments
from capeval_server.audit.models import Action
from capeval_server.core.errors import CampaignError
from tests.server.annotation.test_api import user_program
from tests.server.annotation.test_panels import begin, ids, panel
from tests.server.campaigns import answer, counted, hold, join, make
from tests.server.clock import Clock

pytestmark = pytest.mark.django_db


def rows(campaign: Campaign) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(payments.payments_csv(None, campaign))))


def shown(row: dict[str, str], *names: str) -> tuple[str, ...]:
    return tuple(row[name] for name in names)


def test_surplus_and_rejected_answers_and_checks_are_paid_for(clock: Clock) -> None:
    campaign = make(
        "write", answers=1, items=3, batch=2, pay_per_answer="0.12", currency="EUR", review_first=9
    )
    first, second, idle = join(campaign, 3)
    held = assignment.assign_work(first).assignments
    clock.now += timedelta(seconds=700)
    assignment.expire_leases(campaign)
    for one in assignment.assign_work(second).assignments:
        clock.now += timedelta(seconds=20)
        done = answer(one)
    moderation.review(User.objects.create(username="rita"), done.response, "rejected", reason="copied")
    assert [answer(one).outcome for one in held].count("surplus") >= 1
    answer(held[0], "a revised sentence", revision=2)
    found = rows(campaign)
    assert [row["worker"] for row in found] == [first.worker.pseudonym, second.worker.pseudonym]
    assert idle.worker.pseudonym not in str(found)
    names = ("outcome", "answers", "rejected", "seconds", "amount", "currency")
    assert shown(found[0], *names) == ("working", "2", "0", "740", "0.24", "EUR")
    assert shown(found[1], *names) == ("working", "2", "1", "40", "0.24", "EUR")
    moderation.block(None, second, "spam")
    assert shown(rows(campaign)[1], "outcome", "amount") == ("blocked", "0.24")


def test_the_time_of_a_batch_is_at_most_the_longest_lease(clock: Clock) -> None:
    campaign = make(answers=1, items=3, longest_lease_seconds=300)
    (worker,) = join(campaign)
    for seconds in (10, 86_400, 20):
        held = hold(worker)
        clock.now += timedelta(seconds=seconds)
        answer(held)
    (row,) = rows(campaign)
    assert shown(row, "answers", "seconds", "amount") == ("3", str(10 + 300 + 20), "")


def test_a_line_for_each_session_of_a_panel(clock: Clock) -> None:
    campaign = make(answers=9, items=6, pay_per_answer="0.1", currency="GBP")
    panel(campaign)
    worker = begin(campaign, person="=cmd()")

    def work(one: Participation, number: int) -> None:
        for _ in range(number):
            clock.now += timedelta(seconds=5)
            answer(hold(one))
        assignment.assign_work(one)

    work(worker, 2)
    clock.now += timedelta(seconds=60)
    panels.enter(campaign, ids("=cmd()", session="s2"))
    work(worker, 1)
    other = begin(campaign, person="bob")
    work(other, 1)
    withdrawal.withdraw(None, other)
    names = ("panel", "panel_id", "study", "session", "outcome", "answers", "amount")
    assert [shown(row, *names) for row in rows(campaign)] == [
        ("prolific", "'=cmd()", "study1", "s1", "completed", "2", "0.2"),
        ("prolific", "'=cmd()", "study1", "s2", "", "1", "0.1"),
        ("", "", "", "", "withdrew", "1", "0.1"),
    ]
    assert counted(campaign) == 3


def test_who_gets_the_lines_and_that_it_is_recorded() -> None:
    campaign = make(answers=1, items=1)
    (worker,) = join(campaign)
    answer(hold(worker))
    staff, somebody = user_program("staff", is_staff=True), user_program("somebody")
    place = f"campaigns/{campaign.slug}"
    made = staff.ask("PUT", f"{place}/rate", {"pay_per_answer": "0.5", "currency": "USD"})
    assert made["settings"]["currency"] == "USD"
    campaign.refresh_from_db()
    for rate in ({"pay_per_answer": "x", "currency": "USD"}, {"pay_per_answer": "1", "currency": ""}):
        staff.ask("PUT", f"{place}/rate", rate, 422)
    somebody.ask("PUT", f"{place}/rate", {"pay_per_answer": "1", "currency": "USD"}, 404)
    somebody.ask("GET", f"{place}/payments", status=404)
    assert not Action.objects.filter(what__startswith="downloaded the payments").exists()
    by_api = staff.client.get(f"/api/{place}/payments")
    browser = Client()
    assert browser.get(f"/{place}/payments.csv").status_code == 404
    browser.force_login(User.objects.get(username="somebody"))
    assert browser.get(f"/{place}/payments.csv").status_code == 404
    browser.force_login(User.objects.get(username="staff"))
    by_page: Any = browser.get(f"/{place}/payments.csv")
    assert by_api.content == by_page.content == payments.payments_csv(None, campaign).encode()
    assert b",1,0," in by_page.content
    assert b",0.5,USD" in by_page.content
    assert by_page.headers["Content-Disposition"] == f'attachment; filename="payments-{campaign.slug}.csv"'
    whos = Action.objects.filter(what__startswith="downloaded the payments").values_list("who", flat=True)
    assert sorted(whos) == ["staff", "staff", "the command line"]


def test_amounts_that_are_none() -> None:
    campaign = make(answers=1)
    for pay, currency in (
        ("-1", "EUR"),
        ("1,5", "EUR"),
        ("1", "euro"),
        ("", "EUR"),
        ("1" * 7, "EUR"),
        ("NaN", "EUR"),
    ):
        with pytest.raises(CampaignError):
            payments.set_rate(None, campaign, pay, currency)
