"""Leases of a batch: renewed together by activity, and lost without any."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.models import Assignment, Campaign, Participation
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.workers import enrollment
from tests.server.annotation.test_api import Program
from tests.server.campaigns import answer, counted, join, make
from tests.server.clock import Clock

pytestmark = pytest.mark.django_db

LEASE = 180


def batch_of_ten(kind: str = "triplet", **options: Any) -> Campaign:
    return make(kind, answers=1, items=10, batch=10, **{"lease_seconds": LEASE, **options})


def pass_time(clock: Clock, seconds: float) -> None:
    clock.now += timedelta(seconds=seconds)


def gets_nothing(worker: Participation) -> bool:
    return assignment.assign_work(worker).assignments == []


@pytest.mark.parametrize("kind", ["triplet", "write"])
def test_each_answer_keeps_the_rest_of_the_batch(clock: Clock, kind: str) -> None:
    campaign = batch_of_ten(kind)
    judge, other = join(campaign, 2)
    batch = assignment.assign_work(judge).assignments
    for number, held in enumerate(batch):
        pass_time(clock, 25)
        assert gets_nothing(other), f"before answer {number + 1}"
        assert answer(held, f"a cart {number} in a street").outcome == "stored"
    assert counted(campaign) == 10
    assert list(audit(campaign)) == []


def test_whoever_leaves_loses_the_rest_of_the_batch(clock: Clock) -> None:
    campaign = batch_of_ten()
    judge, other = join(campaign, 2)
    first, *rest = assignment.assign_work(judge).assignments
    pass_time(clock, 100)
    answer(first)
    pass_time(clock, LEASE - 1)
    assert gets_nothing(other)
    pass_time(clock, 2)
    taken = assignment.assign_work(other).assignments
    assert {held.item_id for held in taken} == {held.item_id for held in rest}
    answer(taken[0])
    late = next(held for held in rest if held.item_id == taken[0].item_id)
    assert answer(late).outcome == "surplus"


def test_activity_keeps_a_batch_for_the_longest_lease_and_no_longer(clock: Clock) -> None:
    campaign = batch_of_ten(longest_lease_seconds=600)
    judge, other = join(campaign, 2)
    first, *_ = assignment.assign_work(judge).assignments
    for _ in range(5):
        pass_time(clock, 100)
        assignment.renew_all_leases(judge)
        assignment.assign_work(judge)
        assert gets_nothing(other)
    answer(first)
    pass_time(clock, 99)
    assert gets_nothing(other)
    pass_time(clock, 2)
    assert len(assignment.assign_work(other).assignments) == 9


def test_no_renewal_shortens_a_lease(clock: Clock) -> None:
    campaign = batch_of_ten(lease_seconds=7200, longest_lease_seconds=600)
    judge, other = join(campaign, 2)
    assignment.assign_work(judge)
    pass_time(clock, 10)
    assignment.renew_all_leases(judge)
    pass_time(clock, 7000)
    assert gets_nothing(other)
    pass_time(clock, 200)
    assert len(assignment.assign_work(other).assignments) == 10


def test_requests_that_are_activity(clock: Clock) -> None:
    campaign = batch_of_ten("write", longest_lease_seconds=86_400)
    tokens = enrollment.invite(None, campaign, 2)
    for token in tokens:
        enrollment.agree(enrollment.get_invited(campaign, token), 1)
    judge, other = Program(tokens[0]), Program(tokens[1])
    browser = Client()
    browser.get(f"/annotate/{campaign.slug}/enter/{tokens[0]}/")
    place = f"annotate/{campaign.slug}"
    items = judge.ask("POST", f"{place}/next", {})["items"]
    leases = [f"{place}/items/{item['lease']}" for item in items]
    assert browser.get(f"/{place}/renew/").status_code == 405
    activity: dict[str, Callable[[], object]] = {
        "renew": lambda: judge.ask("POST", f"{place}/renew", None, 204),
        "next": lambda: judge.ask("POST", f"{place}/next", {}),
        "draft": lambda: judge.ask("PUT", f"{leases[0]}/draft", {"content": {"caption": "a"}}, 204),
        "skip": lambda: judge.ask("POST", f"{leases[0]}/skip", {}),
        "report": lambda: judge.ask("POST", f"{leases[1]}/report", {"reason": "not loading"}),
        "page": lambda: browser.get(f"/{place}/").status_code == 200,
        "renewal of the page": lambda: browser.post(f"/{place}/renew/").status_code == 204,
    }
    for name, do in activity.items():
        pass_time(clock, LEASE - 1)
        assert do() is not False, name
    pass_time(clock, LEASE - 1)
    held = Assignment.objects.filter(state="held", lease_until__gt=clock.now)
    assert held.count() == 8
    # After a worker returns an item, their other items become free when their leases expire.
    judge.ask("POST", f"{leases[2]}/return", {})
    pass_time(clock, 2)
    assert len(other.ask("POST", f"{place}/next", {})["items"]) == 10
    # Workers cannot renew the leases of other workers.
    until = set(Assignment.objects.values_list("lease_until", flat=True))
    judge.ask("POST", f"{place}/renew", None, 204)
    assert set(Assignment.objects.values_list("lease_until", flat=True)) == until
