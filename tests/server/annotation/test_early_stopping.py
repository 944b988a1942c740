"""Early stopping: an item ends when further answers cannot change its winner."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from capeval.errors import OptionError
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.definition import read_definition
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Assignment, Campaign, Item, Participation, Slot
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.releases.judgments import CountedJudgments
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review.moderation import block, unblock
from capeval_server.annotation.task_types import task_named
from capeval_server.core.errors import CampaignError
from capeval_server.web.campaigns.presenters import options_in_words
from tests.server.annotation.test_results import campaign_of, work_all
from tests.server.campaigns import given, join

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def pairs(number: int = 1, answers: int = 5) -> Campaign:
    lines = [
        {
            "key": str(key),
            "first": f"a dog {key}",
            "second": f"a cat {key}",
            "first_by": "a",
            "second_by": "b",
        }
        for key in range(number)
    ]
    return campaign_of("pairwise", lines, answers)


def choosing(choice: str) -> Any:
    def choose(held: Assignment) -> Mapping[str, str]:
        sides = ("right", "left") if held.mirrored else ("left", "right")
        return {"choice": sides[("first", "second").index(choice)]}

    return choose


def by_key(choices: Mapping[str, str], held: Assignment) -> Mapping[str, str]:
    chosen: Mapping[str, str] = choosing(choices[held.item.key])(held)
    return chosen


def answer(worker: Participation, choice: str) -> int:
    return work_all(worker, choosing(choice))


def is_sound(campaign: Campaign) -> bool:
    return list(audit(campaign)) == []


def test_three_of_five_that_agree_end_an_item() -> None:
    campaign = pairs()
    workers = join(campaign, 4)
    assert [answer(worker, "first") for worker in workers] == [1, 1, 1, 0]
    assert Slot.objects.filter(closed=False).count() == 3
    assert assignment.assign_work(workers[3]).why == "There is no work for you now."
    assert is_sound(campaign)
    # It is complete, so it can be frozen, and the release names the rule.
    made = release_files.freeze(None, campaign, "1.0")
    manifest = json.loads((release_files.folder_of(made) / "manifest.json").read_text())
    assert (manifest["answers"], manifest["curtail"]) == (5, True)
    assert (release_files.folder_of(made) / "pair_votes.csv").read_text().count("first") == 3


def test_an_item_that_is_not_decided_goes_on() -> None:
    campaign = pairs()
    choices = ["first", "second", "first", "second", "second"]
    for worker, choice in zip(join(campaign, 5), choices, strict=True):
        assert answer(worker, choice) == 1
    assert Slot.objects.filter(closed=False).count() == 5
    assert is_sound(campaign)


def test_who_holds_an_item_that_is_decided_answers_it_and_counts() -> None:
    campaign = pairs()
    *quick, slow = join(campaign, 4)
    (held,) = assignment.assign_work(slow).assignments
    for worker in quick:
        answer(worker, "first")
    assert is_sound(campaign)
    outcome = submit.submit(held, given(dict(choosing("second")(held))))
    assert outcome.outcome == "stored"
    assert Slot.objects.filter(filled_by__isnull=False).count() == 4
    assert is_sound(campaign)


@pytest.mark.parametrize("way", ["skipped", "expired", "reported"])
def test_what_is_given_back_of_a_decided_item_is_given_to_nobody(way: str) -> None:
    campaign = pairs()
    *quick, slow, other = join(campaign, 5)
    (held,) = assignment.assign_work(slow).assignments
    for worker in quick:
        answer(worker, "first")
    if way == "skipped":
        assignment.set_aside(held, "skipped")
    elif way == "reported":
        assignment.report_item(held, "other", "it is cut off")
    else:
        Assignment.objects.filter(pk=held.pk).update(lease_until="2000-01-01T00:00:00Z")
        assert assignment.expire_leases(campaign) == 1
    assert Item.objects.get().free == 0
    assert assignment.assign_work(other).assignments == []
    assert is_sound(campaign)


def test_an_item_goes_on_when_an_answer_is_taken_out_and_ends_when_it_is_back() -> None:
    campaign = lifecycle.set_quality(None, pairs(), {"reopened_for": "trusted"})
    workers = join(campaign, 4)
    for worker in workers[:3]:
        answer(worker, "first")
    exclusion, _ = block(None, workers[0], "a robot")
    item = Item.objects.get()
    # The slot that was emptied is for trusted workers; the two that were closed are for everybody.
    assert (item.free, item.free_trusted) == (2, 1)
    assert is_sound(campaign)
    unblock(None, exclusion, "a mistake")
    assert Item.objects.get().free == 0
    assert Slot.objects.filter(closed=False).count() == 3
    assert is_sound(campaign)


def test_a_revision_can_open_an_item_again() -> None:
    campaign = pairs()
    workers = join(campaign, 4)
    for worker in workers[:3]:
        answer(worker, "first")
    mine = Assignment.objects.get(participation=workers[0])
    submit.submit(mine, given(dict(choosing("second")(mine)), revision=2, key="second"))
    assert Item.objects.get().free == 2
    assert is_sound(campaign)
    assert answer(workers[3], "first") == 1
    assert Item.objects.get().free == 0
    assert is_sound(campaign)


def test_more_or_fewer_answers_decide_anew() -> None:
    campaign = pairs()
    for worker in join(campaign, 3):
        answer(worker, "first")
    campaign = lifecycle.set_answers(None, campaign, 7)
    assert Item.objects.get().free == 4
    assert is_sound(campaign)
    campaign = lifecycle.set_answers(None, campaign, 3)
    assert Slot.objects.filter(closed=False).count() == 3
    assert is_sound(campaign)


def test_winners_are_those_of_all_answers_for_fewer_of_them() -> None:
    chance = random.Random(0)
    votes = {
        str(key): ["first" if chance.random() < share else "second" for _ in range(11)]
        for key, share in enumerate((0.5, 0.6, 0.7, 0.8, 0.9, 1.0) * 2)
    }
    campaign = pairs(len(votes), answers=11)
    for number, worker in enumerate(join(campaign, 11)):
        choices = {key: each[number] for key, each in votes.items()}
        work_all(worker, partial(by_key, choices))
    judged = CountedJudgments(campaign, complete_only=True)
    found = {item.key: [one.answer["choice"] for one in judged.counted[item.pk]] for item in judged.items}
    for key, given_votes in votes.items():
        assert (found[key].count("first") > len(found[key]) / 2) == (given_votes.count("first") > 5), key
    assert sum(map(len, found.values())) < 9 * len(votes)
    assert is_sound(campaign)


def test_organizers_are_told_before_a_campaign_is_made() -> None:
    task = task_named("pairwise")
    early = "An item ends early when further answers cannot change its winner."
    said = options_in_words(task, CampaignOptions.of_kind("pairwise"))
    assert said[0] == "Each item needs 11 answers, each from a different person."
    assert early in said
    assert early not in options_in_words(task, CampaignOptions.of_kind("pairwise", curtail=False))


def test_kinds_whose_result_is_a_share_are_not_curtailed() -> None:
    assert CampaignOptions.of_kind("pairwise").curtail
    assert not CampaignOptions.of_kind("triplet").curtail
    assert CampaignOptions.of_kind("triplet", curtail=True).curtail
    with pytest.raises(
        OptionError, match=r"'curtail' must be false but for the kinds .*pairwise.* true for m2"
    ):
        CampaignOptions.of_kind("m2", curtail=True)
    text = '[campaign]\nslug = "x"\ntitle = "X"\nkind = "m2"\nitems = "i"\n[settings]\ncurtail = true\n'
    with pytest.raises(CampaignError, match=r"campaign.toml: 'curtail' must be false"):
        read_definition("campaign.toml", lambda name: text.encode())


def test_a_check_that_is_answered_gets_no_slots() -> None:
    check = {"key": "check", "first": "a dog", "second": "a cat", "expected": {"choice": "first"}}
    campaign = campaign_of("pairwise", [{"key": "0", "first": "a hound", "second": "a bird"}, check], 3)
    (worker,) = join(campaign)
    item, now = Item.objects.get(campaign=campaign, is_check=True), timezone.now()
    held = Assignment.objects.create(
        participation=worker, item=item, lease_until=now + timedelta(hours=1), opened=now, batch=1, place=1
    )
    assert submit.submit(held, given({"choice": "left"})).outcome == "stored"
    assert not Slot.objects.filter(item=item).exists()
