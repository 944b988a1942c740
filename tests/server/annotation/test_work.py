"""Assignment of work and storage of answers in a single process: slots, assignments and answers."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.core import slots, triggers
from capeval_server.annotation.core.digests import compute_digest
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import (
    Assignment,
    CheckResult,
    Draft,
    Exclusion,
    Item,
    Response,
    Review,
    ReviewRequest,
    Slot,
    TextVersion,
)
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.trust import is_trusted
from capeval_server.audit.models import Action
from capeval_server.core.errors import (
    AnswerError,
    AssignmentError,
    CampaignError,
    NotFoundError,
    RepeatedKeyError,
)
from tests.server.campaigns import answer, counted, free, given, hold, join, make, raw_answer
from tests.server.clock import Clock

pytestmark = pytest.mark.django_db


def test_the_database_has_all_triggers() -> None:
    assert triggers.present() == triggers.expected()
    assert len(triggers.expected()) == 21


def test_answers_are_never_changed_or_deleted_but_for_a_redaction() -> None:
    campaign = make(answers=1, items=1)
    response = answer(hold(join(campaign)[0])).response
    changes: list[dict[str, Any]] = [
        {"answer": {"choice": "second"}},
        {"revision": 7},
        {"redacted": "gone"},
        {"answer": {}, "redacted": "gone", "key": "other"},
        {"digest": "0"},
        {"answer": {}},
    ]
    for change in changes:
        with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
            Response.objects.filter(pk=response.pk).update(**change)
    with (
        pytest.raises(IntegrityError, match="never deleted"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("DELETE FROM annotation_response")
    moderation.redact(None, response, "asked to")
    response.refresh_from_db()
    assert (response.answer, response.redacted) == ({}, "asked to")
    assert response.digest == compute_digest({"choice": "first"}) or response.digest == compute_digest(
        {"choice": "second"}
    )
    assert counted(campaign) == 0
    what = "removed the text of an answer"
    assert Action.objects.filter(what__startswith=what, what__endswith="asked to").count() == 1
    with pytest.raises(CampaignError, match="already been removed"):
        moderation.redact(None, response, "again")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Response.objects.filter(pk=response.pk).update(redacted="another reason")


def test_other_records_are_never_changed_or_deleted() -> None:
    campaign = make("write", answers=1, items=2, review_first=2, batch=1)
    (worker,) = join(campaign)
    reviewer = User.objects.create(username="rita")
    response = answer(hold(worker)).response
    review = moderation.review(reviewer, response, "fine")
    other = hold(worker)
    report = assignment.report_item(other, "offensive")
    check = CheckResult.objects.create(response=response, passed=True, expected={})
    exclusion, _ = moderation.block(None, worker, "spam")
    moderation.unblock(None, exclusion, "a mistake")
    rows: list[tuple[Any, dict[str, Any]]] = [
        (review, {"verdict": "rejected"}),
        (report, {"reason": "other"}),
        (check, {"passed": False}),
        (exclusion, {"reason": "other"}),
        (exclusion, {"lifted": None}),
        (ReviewRequest.objects.get(), {"reason": "other"}),
        (TextVersion.objects.get(campaign=campaign), {"instructions": "other"}),
        (Item.objects.filter(campaign=campaign)[0], {"payload": {"first": "other"}}),
        (Item.objects.filter(campaign=campaign)[0], {"rank": 3}),
    ]
    for row, change in rows:
        with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
            type(row)._default_manager.filter(pk=row.pk).update(**change)
        if not isinstance(row, Item):
            with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
                type(row)._default_manager.filter(pk=row.pk)._raw_delete("default")


def test_a_deleted_account_leaves_what_its_owner_did() -> None:
    campaign = make("write", answers=1, items=1, review_first=1)
    response = answer(hold(join(campaign)[0])).response
    rita = User.objects.create(username="rita")
    moderation.review(rita, response, "fine")
    rita.delete()
    assert Review.objects.get().who == "rita"


def test_an_item_is_given_to_as_many_workers_as_it_needs() -> None:
    campaign = make(answers=2, items=1)
    first, second, third = join(campaign, 3)
    held = [hold(first), hold(second)]
    assert {one.slot.number for one in held if one.slot} == {1, 2}
    assert assignment.assign_work(third).why == "There is no work for you now."
    assert [answer(one).outcome for one in held] == ["stored", "stored"]
    assert assignment.assign_work(first).assignments == []
    assert counted(campaign) == 2


def test_items_that_lack_the_fewest_answers_come_first() -> None:
    campaign = make(answers=2, items=20)
    first, second = join(campaign, 2)
    begun = []
    for _ in range(5):
        held = hold(first)
        begun.append(held.item_id)
        answer(held)
    finished = []
    for _ in range(5):
        held = hold(second)
        finished.append(held.item_id)
        answer(held)
    assert finished == begun


def test_items_are_chosen_in_the_order_of_an_index() -> None:
    (worker,) = join(make(answers=2, items=20))
    for name in ("free", "free_trusted"):
        plan = assignment.list_candidates(worker, name)[:1].explain()
        assert "item_choice" in plan
        assert "B-TREE" not in plan


def test_free_slots_are_looked_up_by_their_item() -> None:
    """An index on `filled_by` would not help: a new campaign has 600,000 slots, all of them unfilled."""
    plan = slots.free_slots(trusted=False).filter(item__in=[1]).explain()
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + slots._RECOUNT % "1")
        recounting = "\n".join(row[-1] for row in cursor.fetchall())
    for found in (plan, recounting):
        assert "filled_by_id=?" not in found
        assert "item_id=?" in found


def test_a_batch_is_held_until_it_is_done() -> None:
    campaign = make("write", answers=1, items=7)
    (worker,) = join(campaign)
    batch = assignment.assign_work(worker).assignments
    assert [one.place for one in batch] == [1, 2, 3, 4, 5]
    answer(batch[0])
    assert assignment.assign_work(worker).assignments == batch[1:]
    for one in batch[1:]:
        answer(one)
    assert len(assignment.assign_work(worker).assignments) == 2


def test_only_who_agreed_gets_work() -> None:
    campaign = make(answers=1)
    (token,) = enrollment.invite(None, campaign, 1)
    worker = enrollment.get_invited(campaign, token)
    assert "agree" in assignment.assign_work(worker).why
    with pytest.raises(AssignmentError, match="instructions have changed"):
        enrollment.agree(worker, 2)
    enrollment.agree(worker, 1)
    assert assignment.assign_work(worker).assignments
    enrollment.revoke(None, worker)
    with pytest.raises(NotFoundError):
        enrollment.get_invited(campaign, token)


def test_a_lifted_block_does_not_agree_for_anybody() -> None:
    campaign = make(answers=1)
    (token,) = enrollment.invite(None, campaign, 1)
    worker = enrollment.get_invited(campaign, token)
    exclusion, _ = moderation.block(None, worker, "a link that got out")
    moderation.unblock(None, exclusion, "a mistake")
    assert "agree" in assignment.assign_work(worker).why
    enrollment.agree(worker, 1)
    assert assignment.assign_work(worker).assignments


@pytest.mark.parametrize(
    ("state", "why"),
    [("draft", "not open yet"), ("paused", "paused"), ("closing", "closing"), ("closed", "closed")],
)
def test_a_campaign_gives_out_work_only_while_it_is_open(state: str, why: str) -> None:
    campaign = make(state="draft" if state == "draft" else "open")
    (worker,) = join(campaign)
    if state != "draft":
        lifecycle.change_state(None, campaign, state)
    found = assignment.assign_work(worker)
    assert found.assignments == []
    assert why in found.why


def test_the_states_of_a_campaign() -> None:
    campaign = make()
    with pytest.raises(CampaignError, match="'open' can only change to 'paused' or 'closing' or 'closed'"):
        lifecycle.change_state(None, campaign, "draft")
    lifecycle.change_state(None, campaign, "closed")
    with pytest.raises(CampaignError, match="'reason' is required"):
        lifecycle.change_state(None, campaign, "open")
    assert lifecycle.change_state(None, campaign, "open", reason="more is needed").state == "open"


def test_a_pilot_counts_in_nothing() -> None:
    campaign = make(answers=1, items=2, state="pilot")
    first, second, third = join(campaign, 3)
    answer(hold(first))
    answer(hold(second))
    left = hold(third)
    assert free(campaign) == [1, 1]
    lifecycle.change_state(None, campaign, "open")
    left.refresh_from_db()
    assert left.state == "pulled"
    assert answer(left).response.may_count is False
    assert counted(campaign) == 0
    assert not Slot.objects.exclude(filled_by=None).exists()


def test_revise_within_the_batch_alone() -> None:
    campaign = make("write", answers=1, items=3, batch=1)
    (worker,) = join(campaign)
    held = hold(worker)
    first = answer(held).response
    second = answer(held, "a red cart in a street", revision=2).response
    assert Slot.objects.get(item=held.item).filled_by == second
    assert first.answer != second.answer
    with pytest.raises(AssignmentError, match="'revision' must be at most 3"):
        answer(held, revision=4)
    assert answer(held, revision=1).outcome == "answered"
    hold(worker)
    with pytest.raises(AssignmentError, match="next batch"):
        answer(held, revision=3)


def test_an_answer_that_was_reviewed_is_not_revised() -> None:
    campaign = make("write", answers=1, items=3, review_first=1)
    held = hold(join(campaign)[0])
    moderation.review(User.objects.create(username="rita"), answer(held).response, "fine")
    with pytest.raises(AssignmentError, match="has been reviewed"):
        answer(held, revision=2)


def test_a_key_is_of_one_answer() -> None:
    campaign = make(answers=1, items=2)
    (worker,) = join(campaign)
    first = hold(worker)
    made = answer(first, key="k").response
    assert answer(first, key="k").response == made
    second = hold(worker)
    with pytest.raises(RepeatedKeyError):
        answer(second, key="k")
    assert Response.objects.count() == 1


def test_skipping_and_returning_free_the_slot() -> None:
    campaign = make(answers=1, items=1)
    first, second = join(campaign, 2)
    held = hold(first)
    assert free(campaign) == [0]
    assignment.set_aside(held, "skipped", "too hard")
    assignment.set_aside(held, "skipped", "too hard")
    assert free(campaign) == [1]
    assert assignment.assign_work(first).assignments == []
    assert answer(hold(second)).outcome == "stored"
    with pytest.raises(AssignmentError, match="already skipped"):
        assignment.set_aside(held, "returned")
    assert Response.objects.count() == 1


def test_two_reports_take_an_item_out_of_work() -> None:
    campaign = make(answers=3, items=1)
    first, second, third, fourth = join(campaign, 4)
    held = [hold(first), hold(second), hold(third)]
    assignment.report_item(held[0], "not loading")
    assert free(campaign) == [1]
    assignment.report_item(held[1], "offensive", "blood")
    assert assignment.report_item(held[1], "offensive", "blood").note == "blood"
    held[2].refresh_from_db()
    assert held[2].state == "pulled"
    assert free(campaign) == [0]
    assert assignment.assign_work(fourth).assignments == []
    assert answer(held[2]).outcome == "surplus"
    assert Response.objects.count() == 1


def test_a_draft_goes_with_its_answer() -> None:
    campaign = make("write", answers=1, items=1)
    held = hold(join(campaign)[0])
    assignment.save_draft(held, {"caption": "a ca"})
    assignment.save_draft(held, {"caption": "a cart"})
    assert Draft.objects.get().content == {"caption": "a cart"}
    answer(held)
    assignment.save_draft(held, {"caption": "late"})
    assert not Draft.objects.exists()


def test_what_is_not_valid_stores_nothing() -> None:
    campaign = make("write", answers=1, items=1)
    held = hold(join(campaign)[0])
    with pytest.raises(AnswerError, match="must not be empty"):
        answer(held, " ")
    held.refresh_from_db()
    assert held.state == "held"
    assert Response.objects.count() == 0


def test_an_assignment_is_found_by_its_worker_alone() -> None:
    campaign = make(answers=2, items=1)
    first, second = join(campaign, 2)
    held = hold(first)
    assert assignment.get_assignment(first, held.lease) == held
    for worker, lease in ((second, held.lease), (first, uuid4())):
        with pytest.raises(NotFoundError):
            assignment.get_assignment(worker, lease)


def test_a_lease_that_runs_out_frees_the_slot_and_is_taken_again(clock: Clock) -> None:
    campaign = make(answers=1, items=1)
    first, second = join(campaign, 2)
    held = hold(first)
    clock.now += timedelta(seconds=100)
    assignment.renew_all_leases(first)
    clock.now += timedelta(seconds=100)
    assert assignment.assign_work(second).assignments == []
    clock.now += timedelta(seconds=100)
    assignment.expire_leases(campaign)
    held.refresh_from_db()
    assert (held.state, free(campaign)) == ("expired", [1])
    assert hold(first) == held
    assert free(campaign) == [0]
    # Activity alone renews a lease for at most half an hour.
    for _ in range(20):
        clock.now += timedelta(seconds=100)
        assignment.renew_all_leases(first)
    assert hold(second).item == held.item


def test_blocking_frees_slots_for_trusted_workers_and_lifting_restores_what_is_free() -> None:
    campaign = make("write", answers=1, items=6, batch=2, reopened_for="trusted", trust_answers=1)
    bad, good, other = join(campaign, 3)
    for _ in range(2):
        for one in assignment.assign_work(bad).assignments:
            answer(one)
    still_held = assignment.assign_work(bad).assignments
    assert moderation.effect_of_blocking(bad) == moderation.BlockEffect(answers=4, items=4, releases=())
    exclusion, effect = moderation.block(None, bad, "spam")
    assert effect == moderation.BlockEffect(answers=4, items=4, releases=())
    assert counted(campaign) == 0
    assert Slot.objects.filter(trusted_only=True).count() == 4
    assert sorted(free(campaign)) == [0, 0, 0, 0, 1, 1]
    for one in still_held:
        one.refresh_from_db()
        assert one.state == "pulled"
        assert answer(one).outcome == "surplus"
    for one in assignment.assign_work(other).assignments:
        answer(one)
    assert assignment.assign_work(other).assignments == []
    good.judged = good.fine = 1
    good.save()
    assert is_trusted(good, get_options(campaign))
    filled = assignment.assign_work(good).assignments
    assert len(filled) == 2
    answer(filled[0])
    with pytest.raises(CampaignError, match="already blocked"):
        moderation.block(None, bad, "again")
    # One slot is filled and one is held by another.
    assert moderation.unblock(None, exclusion, "a mistake") == 2
    with pytest.raises(CampaignError, match="already been lifted"):
        moderation.unblock(None, exclusion, "again")
    assert counted(campaign) == 2 + 1 + 2
    assert Exclusion.objects.get().lifted_who == "the command line"
    moderation.block(None, bad, "once more")
    assert counted(campaign) == 3


def test_a_rejected_answer_frees_its_slot_and_a_second_look_restores_it() -> None:
    campaign = make("write", answers=1, items=1, review_first=1, reopened_for="trusted")
    (worker,) = join(campaign)
    response = answer(hold(worker)).response
    rita = User.objects.create(username="rita")
    assert list(moderation.list_review_queue(campaign)) == [response]
    for verdict, reason in (("rejected", ""), ("fine", "copied"), ("good", ""), ("rejected", "bad")):
        with pytest.raises(CampaignError):
            moderation.review(rita, response, verdict, reason=reason)
    moderation.review(rita, response, "rejected", reason="copied")
    assert counted(campaign) == 0
    assert Slot.objects.get().trusted_only
    assert list(moderation.list_review_queue(campaign)) == []
    worker.refresh_from_db()
    assert (worker.judged, worker.fine) == (1, 0)
    moderation.review(rita, response, "fine")
    worker.refresh_from_db()
    assert (worker.judged, worker.fine) == (1, 1)
    assert counted(campaign) == 1


def test_nobody_reviews_their_own() -> None:
    campaign = make("write", answers=1, items=1, review_first=1)
    rita = User.objects.create(username="rita")
    worker = enrollment.agree(enrollment.enter_as_user(rita, campaign), 1)
    with pytest.raises(CampaignError, match="review your own answers"):
        moderation.review(rita, answer(hold(worker)).response, "fine")


def test_the_first_ten_and_one_in_twenty_are_reviewed() -> None:
    campaign = make("write", answers=1, items=410, batch=1, review_first=10, review_every=20)
    (worker,) = join(campaign)
    for number in range(410):
        # None is like another: that would be a signal.
        answer(hold(worker), f"cart{number} street{number}")
    reasons = list(ReviewRequest.objects.order_by("pk").values_list("reason", flat=True))
    assert reasons[:10] == ["one of the worker's first"] * 10
    assert set(reasons[10:]) == {"drawn at random"}
    assert 8 <= len(reasons[10:]) <= 35


def test_checks_are_given_now_and_then_and_count_in_nothing() -> None:
    campaign = make(answers=1, items=80, checks=20, check_every=10, pause_failed=0)
    (worker,) = join(campaign)
    was_check = []
    while found := assignment.assign_work(worker).assignments:
        was_check.append(found[0].item.is_check)
        assert answer(found[0]).outcome == "stored"
    assert counted(campaign) == 80
    assert 6 <= sum(was_check) <= 12
    assert not any(one and other for one, other in itertools.pairwise(was_check))
    assert CheckResult.objects.count() == sum(was_check)
    worker.refresh_from_db()
    assert worker.judged == sum(was_check)
    assert worker.fine == CheckResult.objects.filter(passed=True).count()


def test_sides_are_balanced_in_each_group_and_count_for_the_right_one() -> None:
    campaign = make(answers=3, items=8)
    for worker in join(campaign, 3):
        while found := assignment.assign_work(worker).assignments:
            answer(found[0])
    for group in ("0", "1"):
        # All chose the left side, so first and second win equally often.
        answers = Response.objects.filter(item__group=group).values_list("answer__choice", flat=True)
        assert sorted(answers) == ["first"] * 6 + ["second"] * 6


def test_fewer_and_more_answers() -> None:
    campaign = make(answers=3, items=2)
    workers = join(campaign, 4)
    for worker in workers[:2]:
        answer(hold(worker))
    late = hold(workers[2])
    lifecycle.set_answers(None, campaign, 1)
    assert counted(campaign) == 1
    assert answer(late).outcome == "surplus"
    assert Response.objects.count() == 3
    lifecycle.set_answers(None, campaign, 4)
    assert sorted(free(campaign)) == [3, 4]
    assert Slot.objects.filter(closed=True).count() == 0
    with pytest.raises(CampaignError, match="'answers' must be from 1"):
        lifecycle.set_answers(None, campaign, 0)
    assert raw_answer(campaign) == {"choice": "left"}
    assert given({}).revision == 1
    assert Assignment.objects.count() == 3


@pytest.mark.parametrize(
    ("kind", "options", "number"),
    [
        # Participation; texts with campaign; items; assignment with slot, draft and clock; then the answer,
        # its slot, its assignment, the worker's count, and the leases of the other items.
        ("triplet", {}, 9),
        # And the slots of the items that it can end.
        ("pairwise", {}, 10),
        ("pairwise", {"confidence": 0.95}, 10),
        # And the worker's earlier captions, and known ones.
        ("write", {}, 11),
        # And the number of reviewed answers, and the request for this review.
        ("write", {"review_first": 5, "review_every": 20}, 13),
    ],
)
def test_an_answer_needs_few_queries(
    kind: str, options: dict[str, Any], number: int, django_assert_num_queries: Any
) -> None:
    campaign = make(kind, items=8, **options)
    for worker in join(campaign, 2):
        held = hold(worker)
        sent = given(raw_answer(campaign))
        # A savepoint takes the place of the transaction and is released at its end.
        with django_assert_num_queries(number + 2):
            submit.submit(held, sent)


def test_texts_are_deleted_only_while_nobody_has_entered() -> None:
    unused, entered = make(state="draft"), make(state="draft")
    enrollment.invite(None, unused, 1)
    join(entered)
    texts = TextVersion.objects.filter(campaign=entered)
    with pytest.raises(IntegrityError, match="once a worker has entered the campaign"), transaction.atomic():
        texts._raw_delete("default")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        TextVersion.objects.filter(campaign=unused).update(instructions="other")
    TextVersion.objects.filter(campaign=unused)._raw_delete("default")
    assert (texts.count(), TextVersion.objects.filter(campaign=unused).count()) == (1, 0)
