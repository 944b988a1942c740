"""Repeated items: at a set rate, workers get their earlier items mirrored; these answers never count."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client, RequestFactory

from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import Assignment, Campaign, CheckResult, Item, Participation
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.worker_summaries import measure_consistency, summarize_workers
from capeval_server.annotation.workers import payments
from tests.server.annotation.test_api import user_program
from tests.server.campaigns import counted, given, join, make, new_items
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


def side_of(held: Assignment, chosen: str) -> str:
    """Return the side that shows the first or the second sentence."""
    sides = ("right", "left") if held.mirrored else ("left", "right")
    return sides[chosen == "second"]


def work_through(worker: Participation, choose: Any) -> list[Assignment]:
    """Answer all assignments by a function; return the assignments of repeated items."""
    again = []
    while held := assignment.assign_work(worker).assignments:
        for one in held:
            submit.submit(one, given({"choice": choose(one)}))
            if one.item.repeats_id is not None:
                again.append(one)
    return again


def test_one_in_fifty_is_an_earlier_item_mirrored() -> None:
    campaign = make(items=400, answers=1, batch=10, repeat_every=50)
    (worker,) = join(campaign)
    again = work_through(worker, lambda held: side_of(held, "first"))
    # 40 batches and the repeats among them, in stretches of five batches.
    assert len(again) == 8
    for one in again:
        first = worker.assignments.get(item=one.item.repeats_id)
        assert first.mirrored != one.mirrored
        assert first.batch < one.batch - 1
        assert one.item.payload == first.item.payload
        assert one.slot is None
    assert len({one.item.repeats_id for one in again}) == 8
    assert counted(campaign) == 400
    progress = get_progress(campaign)
    assert (progress.items, progress.wanted, progress.finished) == (400, 400, 400)
    worker.refresh_from_db()
    assert (worker.answered, worker.judged, CheckResult.objects.count()) == (408, 0, 0)
    assert next(payments.lines(campaign)).answers == 408
    (summary,) = summarize_workers(campaign)
    assert (summary.repeats.number, summary.repeats.of, summary.same_side) == (8, 8, 0)
    # Repeated items are not included in any other number.
    assert (summary.left.of, summary.counted) == (400, 400)
    assert list(audit(campaign)) == []


def test_who_always_presses_the_same_side_does_not_agree_with_themselves() -> None:
    campaign = make(items=200, answers=1, batch=10, repeat_every=20)
    (worker,) = join(campaign)
    again = work_through(worker, lambda _: "left")
    (summary,) = summarize_workers(campaign)
    assert summary.repeats.of == len(again) >= 8
    assert (summary.repeats.number, summary.same_side) == (0, len(again))


def test_nothing_is_repeated_where_it_is_off_in_a_trial_and_without_sides() -> None:
    campaigns = [
        make(items=60, answers=1, batch=2, repeat_every=0),
        make(items=60, answers=1, batch=2, repeat_every=4, state="pilot"),
    ]
    for campaign in campaigns:
        (worker,) = join(campaign)
        assert work_through(worker, lambda _: "left") == []
        assert campaign.items.count() == 60
    writing = make("write", items=20, answers=1, batch=2, repeat_every=4)
    (worker,) = join(writing)
    while held := assignment.assign_work(worker).assignments:
        for one in held:
            submit.submit(one, given({"caption": "a cart in a street"}))
    assert writing.items.count() == 20


def test_an_item_is_repeated_by_one_row_for_all_workers_and_once_to_each() -> None:
    campaign = make(items=12, answers=8, batch=1, repeat_every=2)
    workers = join(campaign, 8)
    shown = Counter(
        (one.participation_id, one.item.repeats_id)
        for worker in workers
        for one in work_through(worker, lambda held: side_of(held, "second"))
    )
    assert len(shown) > 12
    assert set(shown.values()) == {1}
    repeats = campaign.items.filter(repeats__isnull=False)
    assert repeats.count() == len({item for _, item in shown})
    assert list(audit(campaign)) == []
    original = repeats[0].repeats
    assert original is not None
    with pytest.raises(IntegrityError), transaction.atomic():
        Item.objects.create(campaign=campaign, key="x", payload={}, rank=0, repeats=original)
    with pytest.raises(IntegrityError), transaction.atomic():
        Item.objects.create(campaign=campaign, key=original.key, payload={}, rank=0)


def test_checks_and_repeats_in_the_same_campaign() -> None:
    campaign = make(items=300, checks=40, answers=1, batch=5, check_every=15, repeat_every=20)
    (worker,) = join(campaign)
    again = work_through(worker, lambda held: side_of(held, "first"))
    results = CheckResult.objects.filter(response__participation=worker)
    # Repeated items are never attention checks, and attention checks are never repeated.
    assert len(again) > 10
    assert results.count() > 15
    assert not results.filter(response__item__repeats__isnull=False).exists()
    firsts = Item.objects.filter(pk__in=[one.item.repeats_id for one in again])
    assert not firsts.filter(is_check=True).exists()
    worker.refresh_from_db()
    assert worker.judged == worker.fine == results.count()
    assert list(audit(campaign)) == []


def test_no_check_or_repeat_gets_slots_where_items_end_when_decided() -> None:
    campaign = make(
        "pairwise", items=30, checks=9, answers=3, batch=1, check_every=4, repeat_every=4, curtail=True
    )
    for worker in join(campaign, 3):
        work_through(worker, lambda held: side_of(held, "first"))
    uncounted = campaign.items.filter(is_check=True)
    assert uncounted.filter(repeats__isnull=False, assignments__state="submitted").exists()
    assert uncounted.filter(repeats=None, assignments__state="submitted").exists()
    assert not uncounted.filter(slots__isnull=False).exists()
    # Two of three decide: the third is not asked for.
    progress = get_progress(campaign)
    assert (progress.items, progress.finished, progress.wanted, progress.counted) == (30, 30, 60, 60)
    assert list(audit(campaign)) == []


def test_the_audit_finds_what_is_shown_again_to_others_or_not_mirrored() -> None:
    campaign = make(items=40, answers=2, batch=1, repeat_every=2)
    worker, other = join(campaign, 2)
    again = work_through(worker, lambda _: "left")[0]
    rows = Assignment.objects.filter(pk=again.pk)
    rule = "a repeated item must be mirrored, for a worker who had it before"
    for change in ({"mirrored": not again.mirrored}, {"participation": other}):
        rows.update(**change)
        assert rule in [finding.rule for finding in audit(campaign)]
        rows.update(mirrored=again.mirrored, participation=worker)
    assert list(audit(campaign)) == []


def test_what_is_taken_out_is_not_shown_again() -> None:
    campaign = make(items=30, answers=1, batch=1, repeat_every=2)
    (worker,) = join(campaign)
    while True:
        (held,) = assignment.assign_work(worker).assignments
        if held.item.repeats_id is not None:
            break
        submit.submit(held, given({"choice": "left"}))
    first = Item.objects.get(pk=held.item.repeats_id)
    moderation.set_hold(None, first, held=True, reason="shows a face")
    held.refresh_from_db()
    assert held.state == "pulled"
    assert set(Item.objects.filter(held=True)) == {first, held.item}
    assert all(one.item.repeats_id != first.pk for one in work_through(worker, lambda _: "left"))
    moderation.set_hold(None, first, held=False)
    assert not Item.objects.filter(held=True).exists()
    assert list(audit(campaign)) == []


def test_revising_and_the_kinds_whose_answers_are_no_sides() -> None:
    campaign = make(items=0, kind="pairwise")
    Campaign.objects.filter(pk=campaign.pk).update(
        kind="m5", settings={**campaign.settings, "answers": 1, "repeat_every": 2, "curtail": False}
    )
    campaign.refresh_from_db()
    add_items(campaign, list(new_items("pairwise", 12)), 1)
    worker, other = join(campaign, 2)
    again = 0
    while held := assignment.assign_work(worker).assignments:
        (one,) = held
        again += one.item.repeats_id is not None
        # A revision does not count: it may come from having seen that it was shown before.
        choice = "no" if one.item.repeats_id is not None else "yes"
        submit.submit(one, given({"choice": choice}))
        submit.submit(one, given({"choice": "yes"}, revision=2))
    (found,) = measure_consistency(campaign).values()
    assert measure_consistency(campaign, worker) == {worker.pk: found}
    assert measure_consistency(campaign, other) == {}
    assert again > 2
    assert (found[0].number, found[0].of, found[1]) == (0, again, 0)


def test_the_organizers_pages_and_the_api() -> None:
    campaign = make(items=60, answers=1, batch=1, repeat_every=4)
    (worker,) = join(campaign)
    again = len(work_through(worker, lambda held: side_of(held, "first")))
    staff = user_program("staff", is_staff=True)
    (row,) = staff.ask("GET", f"campaigns/{campaign.slug}/workers")["workers"]
    assert (row["repeats"], row["repeated"]) == (again, again)
    browser = Client()
    browser.force_login(User.objects.get(username="staff"))
    pages = {}
    for place in ("workers/", f"workers/{worker.worker.pseudonym}/", "items/", "items/?which=repeats", ""):
        got = browser.get(f"/campaigns/{campaign.slug}/{place}")
        check_page(got.content.decode(), got.headers["Content-Security-Policy"])
        pages[place] = " ".join(got.content.decode().split())
    assert "Self-consistency" in pages["workers/"]
    assert (
        f"of {again} repeated, mirrored items; 0 with the same side as before"
        in pages[f"workers/{worker.worker.pseudonym}/"]
    )
    assert "60 items" in pages["items/"]
    assert f"{again} items" in pages["items/?which=repeats"]
    assert "one of their own items again, mirrored. That answer is not counted" in pages[""]


def test_a_worker_is_not_told_what_is_shown_again() -> None:
    campaign = make(items=30, answers=1, batch=1, repeat_every=2)
    (worker,) = join(campaign)
    keys = set()
    from capeval_server.api.annotation_work import _serialize_item

    request = RequestFactory().get("/")
    while held := assignment.assign_work(worker).assignments:
        shown = _serialize_item(request, worker, held[0], 1)
        keys.add((held[0].item.repeats_id is not None, tuple(shown)))
        outcome = submit.submit(held[0], given({"choice": "left"}))
        assert (outcome.outcome, outcome.text) == ("stored", "Thank you. Your answer is stored.")
    assert len(keys) == 2
    assert len({names for _, names in keys}) == 1
