"""Stopping by confidence: all items of a pair end when its winner is likely enough."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from capeval.errors import OptionError
from capeval.formats.judgments.plans import get_plan_paths, load_plan, load_votes
from capeval.studies.effort import Agreement, Prices
from capeval.studies.votes import count_votes
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.definition import read_definition, read_items
from capeval_server.annotation.campaigns.effort import estimate_effort, measured_agreement
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.core.slots import find_ended_items
from capeval_server.annotation.models import Assignment, Campaign, Item, Response, Slot
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.current_results import get_results
from capeval_server.annotation.releases.human_columns import columns_of, describe_stopping
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.releases.judgments import CountedJudgments
from capeval_server.annotation.releases.result_files import write_results
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import CampaignError
from capeval_server.web.campaigns.presenters import options_in_words
from tests.server.annotation.test_early_stopping import choosing, is_sound
from tests.server.annotation.test_results import by_preference, campaign_of, triplets, votes_of_many, work_all
from tests.server.campaigns import free, given, join, make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def pairs(number: int = 1, of: int = 12, *, kind: str = "triplet", **options: Any) -> Campaign:
    """Create `number` pairs with `of` items each and, by default, one answer per item."""
    made = make(kind, items=0, **{"answers": 1, "confidence": 0.95, **options})
    payload = {"first": "a hound", "second": "a cat", "first_by": "a", "second_by": "b"}
    lines = [
        json.dumps(
            {
                "key": f"{pair}-{place}",
                "group": str(pair),
                **({"reference": f"a dog {place}"} if kind == "triplet" else {"image": "x"}),
                **payload,
            }
        ).encode()
        for pair in range(number)
        for place in range(of)
    ]
    read = read_items("items", lines, task_named(kind))
    add_items(made, [replace(item, image="") for item in read], made.settings["answers"])
    return made


def hold(worker: Any) -> Assignment:
    (found,) = assignment.assign_work(worker).assignments
    return found


def send(held: Assignment, choice: str, **more: Any) -> str:
    return submit.submit(held, given(dict(choosing(choice)(held)), **more)).outcome


def answer(worker: Any, choices: Sequence[str]) -> list[Assignment]:
    """Submit the choices of a worker, one item after the other, and return the assignments."""
    found = []
    for choice in choices:
        found.append(hold(worker))
        assert send(found[-1], choice) == "stored"
    return found


def test_all_items_of_a_pair_end_when_its_winner_is_likely() -> None:
    campaign = pairs()
    worker, other = join(campaign, 2)
    answer(worker, ["first"] * 4)
    assert sum(free(campaign)) == 8
    answer(worker, ["first"])
    assert free(campaign) == [0] * 12
    assert assignment.assign_work(other).why == "There is no work for you now."
    assert Slot.objects.filter(closed=False).count() == 5
    assert (
        find_ended_items(campaign).pairs,
        find_ended_items(campaign).decided,
        get_progress(campaign).ended,
    ) == (1, 0, 7)
    assert is_sound(campaign)
    # It is complete, so it can be frozen, and the release names the rule.
    made = release_files.freeze(None, campaign, "1.0")
    manifest = json.loads((release_files.folder_of(made) / "manifest.json").read_text())
    assert (manifest["confidence"], manifest["confidence_votes"], manifest["curtail"]) == (0.95, 5, False)
    assert manifest["ended"] == {"items_decided": 0, "pairs_confident": 1}
    ended = "A pair ended once its winner had a probability of 0.95, after at least 5 votes."
    assert describe_stopping(manifest).startswith(ended)
    assert any(note.startswith(ended) for note in get_results(campaign).notes)


def test_other_pairs_go_on() -> None:
    campaign = pairs(3)
    (worker,) = join(campaign)
    number = work_all(worker, choosing("first"))
    assert number == 15
    assert free(campaign) == [0] * 36
    assert [item.slots.filter(closed=False).count() for item in Item.objects.all()].count(1) == 15
    assert is_sound(campaign)


def test_a_pair_without_a_likely_winner_takes_all_answers() -> None:
    campaign = pairs()
    (worker,) = join(campaign)
    answer(worker, ["first", "second"] * 6)
    assert not Slot.objects.filter(closed=True).exists()
    assert is_sound(campaign)
    # No note names a rule that ended nothing.
    made = release_files.freeze(None, campaign, "1.0")
    manifest = json.loads((release_files.folder_of(made) / "manifest.json").read_text())
    assert (manifest["confidence"], describe_stopping(manifest)) == (0.95, "")
    notes = get_results(campaign).notes
    assert notes
    assert not any("ended once" in note for note in notes)


def test_what_is_held_when_a_pair_ends_counts_and_can_open_it_again() -> None:
    campaign = pairs()
    worker, *slow = join(campaign, 3)
    held = [hold(one) for one in slow]
    answer(worker, ["first"] * 5)
    assert free(campaign) == [0] * 12
    assert is_sound(campaign)
    # Five of six are not likely enough; six of seven are.
    assert send(held[0], "second") == "stored"
    assert sum(free(campaign)) == 5
    assert is_sound(campaign)
    assert send(held[1], "first") == "stored"
    assert free(campaign) == [0] * 12
    assert Slot.objects.filter(filled_by__isnull=False).count() == 7
    assert is_sound(campaign)


@pytest.mark.parametrize("way", ["skipped", "expired", "reported", "late"])
def test_what_is_given_back_of_a_pair_that_ended_is_given_to_nobody(way: str) -> None:
    campaign = pairs()
    quick, slow, other = join(campaign, 3)
    held = hold(slow)
    answer(quick, ["first"] * 5)
    if way == "skipped":
        assignment.set_aside(held, "skipped")
    elif way == "reported":
        assignment.report_item(held, "other", "it is cut off")
    else:
        Assignment.objects.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(days=1))
        assert assignment.expire_leases(campaign) == 1
        if way == "late":
            assert send(held, "second") == "surplus"
    assert free(campaign) == [0] * 12
    assert assignment.assign_work(other).assignments == []
    assert is_sound(campaign)


def test_a_block_opens_a_pair_again_and_lifting_it_ends_the_pair() -> None:
    campaign = pairs(reopened_for="trusted")
    workers = join(campaign, 2)
    answer(workers[0], ["first"] * 3)
    answer(workers[1], ["first"] * 2)
    exclusion, effect = moderation.block(None, workers[1], "a robot")
    assert effect.answers == 2
    # The two that were emptied are for trusted workers; the others of the pair are for everybody.
    assert sum(free(campaign)) == 7
    assert sum(Item.objects.values_list("free_trusted", flat=True)) == 2
    assert is_sound(campaign)
    moderation.unblock(None, exclusion, "a mistake")
    assert free(campaign) == [0] * 12
    assert is_sound(campaign)


@pytest.mark.parametrize("way", ["revised", "removed", "rejected"])
def test_an_answer_that_changes_opens_a_pair_again(way: str, django_user_model: Any) -> None:
    campaign = pairs(reopened_for="everybody")
    (worker,) = join(campaign)
    mine = answer(worker, ["first"] * 5)[-1]
    response = Response.objects.get(assignment=mine)
    if way == "revised":
        assert send(mine, "second", revision=2) == "stored"
    elif way == "removed":
        moderation.redact(None, response, "it was sent by mistake")
    else:
        rita = django_user_model.objects.create(username="rita")
        moderation.review(rita, response, "rejected", reason="nonsense")
    assert sum(free(campaign)) == (7 if way == "revised" else 8)
    assert is_sound(campaign)
    if way == "rejected":
        moderation.review(rita, response, "fine")
        assert free(campaign) == [0] * 12
        assert is_sound(campaign)


@pytest.mark.parametrize("curtail", [False, True])
def test_triplets_vote_once_each_by_the_majority_of_their_answers(curtail: bool) -> None:
    campaign = pairs(of=6, answers=3, curtail=curtail)
    one, two, three = join(campaign, 3)
    answer(one, ["first"] * 6)
    assert sum(free(campaign)) == 12
    answer(two, ["second"])
    # With eleven answers, four triplets have two that agree, which are their majority, and one is open.
    answer(two, ["first"] * 4)
    assert sum(free(campaign)) == (3 if curtail else 7)
    assert is_sound(campaign)
    # Its third answer is the fifth vote.
    assert find_ended_items(campaign).pairs == 0
    while not find_ended_items(campaign).pairs:
        answer(three, ["first"])
        assert is_sound(campaign)
    assert free(campaign) == [0] * 6
    assert Response.objects.count() < 17
    assert find_ended_items(campaign).decided == (4 if curtail else 0)


def test_each_answer_to_a_pair_with_its_image_is_a_vote() -> None:
    campaign = pairs(2, of=1, kind="pairwise", answers=11, curtail=False)
    for worker in join(campaign, 6):
        work_all(worker, choosing("first"))
    assert [item.slots.filter(filled_by__isnull=False).count() for item in campaign.items.all()] == [5, 5]
    assert is_sound(campaign)


def test_more_or_fewer_answers_decide_anew() -> None:
    campaign = pairs()
    worker, other = join(campaign, 2)
    answer(worker, ["first"] * 5)
    # With three answers to each, none has its majority.
    campaign = lifecycle.set_answers(None, campaign, 3)
    assert sum(free(campaign)) == 36 - 5
    assert is_sound(campaign)
    answer(other, ["second"])
    campaign = lifecycle.set_answers(None, campaign, 1)
    assert free(campaign) == [0] * 12
    assert is_sound(campaign)


def test_the_files_name_the_winners_that_ended_the_pairs(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    campaign.settings |= {"confidence": 0.8, "confidence_votes": 2}
    campaign.save()
    for worker in join(campaign, 3):
        work_all(worker, by_preference)
    assert find_ended_items(campaign).pairs > 0
    assert is_sound(campaign)
    out = tmp_path / "out"
    write_results(campaign, out)
    plan = load_plan(*get_plan_paths(out))
    counted = count_votes(plan, load_votes(out / "votes.csv", plan), complete_only=True)
    order = {"human": 3, "good": 2, "poor": 1, "other": 0}
    expected = [1 if order[pair.first_by or ""] >= order[pair.second_by or ""] else -1 for pair in plan.pairs]
    assert counted.winners.tolist() == expected
    assert CountedJudgments(campaign).count_votes().winners.tolist() == expected


def test_most_winners_are_those_of_all_answers_for_fewer_of_them() -> None:
    chance = random.Random(0)
    preferred = {str(pair): share for pair, share in enumerate((0.1, 0.2, 0.8, 0.9, 0.95, 1.0))}
    campaign = pairs(len(preferred), of=20)

    def choose(held: Assignment) -> Mapping[str, str]:
        choice = "first" if chance.random() < preferred[held.item.group] else "second"
        chosen: Mapping[str, str] = choosing(choice)(held)
        return chosen

    (worker,) = join(campaign)
    number = work_all(worker, choose)
    assert number < 80
    judged = CountedJudgments(campaign)
    for pair, winner in zip(judged.plan.pairs, judged.count_votes().winners.tolist(), strict=True):
        assert pair.first == "a hound"
        assert winner
    expected = [1 if share > 0.5 else -1 for share in preferred.values()]
    assert judged.count_votes().winners.tolist() == expected
    assert is_sound(campaign)


def test_the_audit_finds_a_pair_that_has_ended_and_waits_for_answers() -> None:
    campaign = pairs(2)
    (worker,) = join(campaign)
    work_all(worker, lambda held: choosing("first" if held.item.key < "1-6" else "second")(held))
    assert find_ended_items(campaign).pairs == 1
    assert is_sound(campaign)
    slot = Slot.objects.filter(closed=True)[0]
    slot.closed = False
    slot.save()
    Item.objects.filter(pk=slot.item_id).update(free=1)
    (finding,) = audit(campaign)
    assert finding.rule.startswith("an item that ended early")
    slot.closed = True
    slot.save()
    Item.objects.filter(pk=slot.item_id).update(free=0)
    assert is_sound(campaign)
    # Of the other pair all answers are wanted.
    open_slot = Slot.objects.filter(item__group="1")[0]
    Slot.objects.filter(pk=open_slot.pk).update(closed=True, filled_by=None)
    assert any(found.rule.startswith("an item must have as many slots") for found in audit(campaign))


@pytest.mark.parametrize("kind", [name for name, task in TASKS.items() if task.curtailed is None])
def test_kinds_whose_result_is_a_share_never_end_by_confidence(kind: str) -> None:
    with pytest.raises(
        OptionError,
        match=rf"'confidence' must be 0 but for the kinds .*triplet.* \(got 0.95 for {kind}\): it would bias",
    ):
        CampaignOptions.of_kind(kind, confidence=0.95)
    text = (
        f'[campaign]\nslug = "x"\ntitle = "X"\nkind = "{kind}"\nitems = "i"\n[settings]\nconfidence = 0.95\n'
    )
    with pytest.raises(CampaignError, match=r"campaign.toml: 'confidence' must be 0 but for"):
        read_definition("campaign.toml", lambda name: text.encode())


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [("0.5", "confidence must be 0 or from 0.55"), ("1.0", "less than or equal to 0.9999")],
)
def test_a_confidence_that_says_nothing_is_refused(setting: str, wrong: str) -> None:
    text = (
        '[campaign]\nslug = "x"\ntitle = "X"\nkind = "triplet"\nitems = "i"\n'
        f"[settings]\nconfidence = {setting}\n"
    )
    with pytest.raises(CampaignError, match=wrong):
        read_definition("campaign.toml", lambda name: text.encode())


def test_organizers_are_told_before_a_campaign_is_made() -> None:
    said = options_in_words(task_named("triplet"), CampaignOptions.of_kind("triplet", confidence=0.95))
    sentence = "All items of a pair end when its winner has a probability of 0.95, after at least 5 votes."
    assert sentence in said
    assert not any(
        "probability" in each for each in options_in_words(task_named("m1"), CampaignOptions.of_kind("m1"))
    )


def test_the_forecast_is_of_pairs() -> None:
    prices = Prices(seconds=10, hourly=12)
    agreement = Agreement(yes=0.5, concentration=1)
    campaign = pairs(10, of=24, answers=3)
    said = estimate_effort(campaign, prices, agreement).forecast
    assert said is not None
    assert said.most_answers == 10 * 24 * 3
    assert said.answers == pytest.approx(30 * agreement.votes_until_confident(24))
    assert said.hours == pytest.approx(said.answers * 10 / 3600)
    # How people differ is taken from the votes of pairs, too.
    for worker in join(campaign, 3):
        work_all(worker, lambda held: choosing("first" if int(held.item.group) % 2 else "second")(held))
    measured = measured_agreement(campaign)
    assert measured is not None
    assert measured.concentration < 0.1
    assert measured.yes == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("curtail", "confidence", "answers"),
    [(True, 0.0, 3), (True, 0.0, 2), (False, 0.85, 2), (False, 0.95, 2), (False, 0.0, 2)],
)
def test_the_columns_say_by_which_rule_answers_ended(
    curtail: bool, confidence: float, answers: int, challenge: Challenge, client: Client, tmp_path: Path
) -> None:
    campaign = votes_of_many("pairwise", tmp_path)
    # Each item has two equal answers: they decide it if it needs three, and are all if it needs two. The
    # winner of a pair has a probability of 0.875.
    campaign.settings |= {"curtail": curtail, "confidence": confidence, "answers": answers}
    campaign.settings["confidence_votes"] = 2
    campaign.challenge = challenge
    campaign.save()
    release_files.freeze(None, campaign, "1.0", leave_out=True)
    stopped = {" ".join(column.notes) for column in columns_of(challenge)}
    shown = client.get("/small/judgments/").content.decode()
    if confidence == 0.85:
        assert all("had a probability of 0.85, after at least 2 votes" in text for text in stopped)
        assert "had a probability of 0.85" in shown
    elif answers == 3:
        assert all("could not change its winner" in text for text in stopped)
        assert "could not change its winner" in shown
    else:
        assert not any("winner" in text or "probability" in text for text in stopped)


def test_an_item_without_a_group_is_a_pair_of_its_own() -> None:
    lines = [{"key": str(key), "first": f"a dog {key}", "second": f"a cat {key}"} for key in range(2)]
    campaign = campaign_of("pairwise", lines, 7)
    campaign.settings |= {"curtail": False, "confidence": 0.95}
    campaign.save()
    for worker in join(campaign, 5):
        work_all(worker, choosing("second"))
    assert find_ended_items(campaign).pairs == 2
    assert is_sound(campaign)
