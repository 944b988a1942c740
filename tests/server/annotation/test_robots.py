"""Campaigns with random actions of workers and organizers keep all invariants and finish."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from capeval_server.annotation.core.slots import find_ended_items
from capeval_server.annotation.models import Campaign, Item, NextPairs, Slot
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses.adaptive_sampling import replay
from capeval_server.annotation.review import moderation
from tests.server.annotation_robots import Crowd, check_end
from tests.server.campaigns import answer, compare_systems, hold, join, make


@pytest.mark.django_db
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_robots(seed: int) -> None:
    trust: dict[str, Any] = {"reopened_for": "trusted", "trust_answers": 3}
    campaign = make("write", items=30, answers=3, review_first=5, review_every=5, batch=3, **trust)
    crowd = Crowd(join(campaign, 12), User.objects.create(username="rita"), seed)
    crowd.run(campaign)
    assert crowd.done["answer"] > 60
    assert {"skip", "return", "leave", "fine"} <= set(crowd.done)
    check_end(campaign, crowd.acknowledged)


def rules(campaign: Campaign) -> list[str]:
    return [finding.rule for finding in audit(campaign)]


@pytest.mark.django_db
@pytest.mark.parametrize("seed", [1, 2])
def test_robots_whose_items_end_when_they_are_decided(seed: int) -> None:
    campaign = make("pairwise", items=30, answers=5, batch=3)
    crowd = Crowd(join(campaign, 12), User.objects.create(username="rita"), seed)
    crowd.run(campaign)
    assert {"skip", "return", "leave"} <= set(crowd.done)
    check_end(campaign, crowd.acknowledged)
    # Some have ended before all five answered.
    assert Slot.objects.filter(closed=True).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("seed", [1, 2])
def test_robots_whose_pairs_end_when_their_winner_is_likely(seed: int) -> None:
    sure: dict[str, Any] = {"confidence": 0.8, "confidence_votes": 2}
    campaign = make("triplet", items=32, answers=3, batch=3, curtail=seed == 2, **sure)
    crowd = Crowd(join(campaign, 12), User.objects.create(username="rita"), seed)
    crowd.run(campaign)
    assert {"skip", "return", "leave"} <= set(crowd.done)
    check_end(campaign, crowd.acknowledged)
    # Some pairs have ended before all items had answers.
    assert find_ended_items(campaign).pairs > 0
    assert Slot.objects.filter(closed=True).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("seed", [1, 2])
def test_robots_whose_items_are_chosen_by_systems(seed: int) -> None:
    campaign = make(
        "pairwise", items=0, answers=3, batch=3, next_pairs=5, confidence=0.95 if seed == 2 else 0.0
    )
    compare_systems(campaign, 36)
    crowd = Crowd(join(campaign, 12), User.objects.create(username="rita"), seed)
    crowd.run(campaign)
    assert {"skip", "return", "leave"} <= set(crowd.done)
    check_end(campaign, crowd.acknowledged)
    assert NextPairs.objects.count() >= 8
    assert all(again.differs == () for again in replay(campaign))


@pytest.mark.django_db
@pytest.mark.parametrize("seed", [1, 2])
def test_robots_who_get_checks_and_their_own_items_again(seed: int) -> None:
    campaign = make("pairwise", items=30, checks=10, answers=5, batch=2, check_every=6, repeat_every=4)
    crowd = Crowd(join(campaign, 12), User.objects.create(username="rita"), seed)
    crowd.run(campaign)
    assert Item.objects.filter(repeats__isnull=False, assignments__state="submitted").exists()
    check_end(campaign, crowd.acknowledged)


@pytest.mark.django_db
def test_the_audit_finds_each_changed_row() -> None:
    campaign = make("write", items=6, answers=2, review_first=1, batch=1)
    workers = join(campaign, 2)
    for worker in workers:
        for _ in range(3):
            response = answer(hold(worker)).response
    moderation.review(User.objects.create(username="rita"), response, "fine")
    hold(workers[0])
    assert rules(campaign) == []
    item = Item.objects.filter(campaign=campaign, free__gt=0)[0]
    filled = Slot.objects.exclude(filled_by=None)[0]
    changes: list[tuple[Any, dict[str, Any], str]] = [
        (item, {"free": 0}, "the counts of free slots"),
        (item, {"free_trusted": 7}, "the counts of free slots"),
        (workers[0], {"answered": 9}, "the counts of answers of each worker"),
        (workers[1], {"fine": 9}, "the counts of judged answers"),
        (workers[0], {"stage": "blocked"}, "a blocked worker"),
        (workers[0], {"batch": 99}, "a worker must hold items of only the latest batch"),
        (filled, {"closed": True, "filled_by": None}, "an item must have as many slots"),
    ]
    for row, change, rule in changes:
        row.refresh_from_db()
        before = {name: getattr(row, name) for name in change}
        rows = type(row)._default_manager.filter(pk=row.pk)
        rows.update(**change)
        assert any(found.startswith(rule) for found in rules(campaign)), rule
        rows.update(**before)
    assert rules(campaign) == []
