"""Adaptive sampling: the next items compare the systems with the most uncertain ranking."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from capeval.errors import OptionError
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.definition import read_items
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    Image,
    Item,
    NextPairs,
    Participation,
    Response,
)
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.human_columns import columns_of
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.responses.adaptive_sampling import replay
from capeval_server.annotation.responses.content_warnings import avoid_warnings, set_warning
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.challenges.models import Challenge
from capeval_server.commands import annotation
from capeval_server.core.errors import CampaignError
from capeval_server.web.campaigns.forms import NewCampaignForm
from capeval_server.web.campaigns.presenters import options_in_words
from tests.server.annotation.test_early_stopping import choosing, is_sound
from tests.server.annotation.test_results import work_all
from tests.server.campaigns import given, join, make

pytestmark = pytest.mark.django_db

STRENGTH = {"best": 3, "close": 2, "near": 2, "worst": 1}


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def comparing(images: int = 20, *, pictures: bool = False, **options: Any) -> Campaign:
    """Each two systems on each image, in either order, as a campaign of pairs; with pictures or without."""
    chosen = {"answers": 1, "curtail": False, "next_pairs": 12, **options}
    made = make("pairwise", items=0, **chosen)
    names = sorted(STRENGTH)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    lines = [
        {"key": f"{image}-{one}-{other}", "image_id": str(image), "first_by": one, "second_by": other}
        for image in range(images)
        for one, other in (pairs if image % 2 else [pair[::-1] for pair in pairs])
    ]
    for name in map(str, range(images if pictures else 0)):
        Image.objects.create(campaign=made, digest=name, name=name, width=1, height=1)
    add(made, lines, pictures=pictures)
    return made


def add(campaign: Campaign, lines: list[dict[str, str]], *, pictures: bool = False) -> None:
    whole = [{"first": "a dog", "second": "a cat", "image": "x", **line} for line in lines]
    read = read_items("items", [json.dumps(line).encode() for line in whole], task_named("pairwise"))
    items = list(read)
    for item in items:
        object.__setattr__(item, "image", item.payload["image_id"] if pictures else "")
    add_items(campaign, items, campaign.settings["answers"])


def by_strength(held: Assignment) -> Mapping[str, str]:
    """The stronger system; of two that are as strong, by the image."""
    payload = held.item.payload
    first, second = (STRENGTH[payload[name]] for name in ("first_by", "second_by"))
    closer = int(payload["image_id"]) % 4 < 2
    chosen: Mapping[str, str] = choosing(
        "first" if first > second or (first == second and closer) else "second"
    )(held)
    return chosen


def answer(worker: Participation, number: int) -> list[Assignment]:
    done = []
    for _ in range(number):
        (held,) = assignment.assign_work(worker).assignments
        assert submit.submit(held, given(dict(by_strength(held)))).outcome == "stored"
        done.append(held)
    return done


def compared(assignments: list[Assignment]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(sorted(held.item.payload[name] for name in ("first_by", "second_by"))) for held in assignments
    )


def replays(campaign: Campaign) -> list[tuple[str, ...]]:
    return [again.differs for again in replay(campaign)]


def test_the_first_choice_is_even_and_later_ones_are_where_least_is_certain() -> None:
    campaign = comparing()
    (worker,) = join(campaign)
    first = answer(worker, 12)
    assert set(compared(first).values()) == {2}
    assert NextPairs.objects.count() == 1
    later = answer(worker, 60)
    found = compared(later)
    assert max(found, key=found.__getitem__) == ("close", "near")
    assert found["close", "near"] >= 15
    # A floor for all: a fifth of twelve is spread evenly, in each choice.
    assert min(found.values()) >= 1
    assert len(found) == 6
    choices = list(NextPairs.objects.order_by("number"))
    # A pair of which few are left makes a choice shorter.
    assert [choice.number for choice in choices] == list(range(1, 8))
    assert all(sum(pair["number"] for pair in choice.pairs) == 12 for choice in choices)
    shares = [pair["share"] for choice in choices for pair in choice.pairs if pair["going_on"]]
    assert min(shares) >= 0.2 / 6 - 1e-9
    assert replays(campaign) == [()] * 7
    assert is_sound(campaign)


def test_all_items_are_answered_in_the_end() -> None:
    campaign = comparing(images=6, answers=2, next_pairs=7)
    workers = join(campaign, 2)
    for worker in workers:
        work_all(worker, by_strength)
    assert Response.objects.count() == 72
    assert Item.objects.filter(up_next=False).count() == 0
    assert assignment.assign_work(workers[0]).why == "There is no work for you now."
    assert 6 <= NextPairs.objects.count() <= 12
    assert is_sound(campaign)


def test_who_has_had_what_was_chosen_makes_the_next_choice() -> None:
    campaign = comparing(answers=2, next_pairs=4)
    one, other = join(campaign, 2)
    answer(one, 4)
    assert NextPairs.objects.count() == 1
    answer(one, 1)
    assert NextPairs.objects.count() == 2
    # The other begins with what was chosen first, and lacks one answer each.
    assert {held.item_id for held in answer(other, 5)} == {held.item_id for held in one.assignments.all()}
    assert NextPairs.objects.count() == 2
    assert is_sound(campaign)


def test_who_avoids_warnings_is_given_what_a_later_choice_has() -> None:
    campaign = comparing(images=8, next_pairs=2, pictures=True)
    worker, other = join(campaign, 2)
    worker = avoid_warnings(worker, avoid=True)
    (held,) = assignment.assign_work(other).assignments
    chosen = set(campaign.items.filter(up_next=True).values_list("image__name", flat=True))
    # All that the first choice took has a warning, and of the others all but one image.
    seen = next(str(number) for number in range(8) if str(number) not in chosen)
    for number in range(8):
        set_warning(None, campaign, str(number), "" if str(number) == seen else "blood")
    left = campaign.items.filter(image__name=seen)
    assert {one.item_id for one in answer(worker, 6)} == set(left.values_list("pk", flat=True))
    assert assignment.assign_work(worker).why == "There is no work for you now."
    assert assignment.get_assignment(other, held.lease).state == "held"
    assert replays(campaign) == [()] * NextPairs.objects.count()


def test_excluded_and_rejected_answers_choose_nothing(django_user_model: Any) -> None:
    campaign = comparing(answers=2, next_pairs=6, reopened_for="everybody")
    spammer, worker, other = join(campaign, 3)
    answer(spammer, 6)
    rejected = answer(worker, 1)[0].responses.get()
    moderation.review(
        django_user_model.objects.create(username="rita"), rejected, "rejected", reason="nonsense"
    )
    exclusion, _ = moderation.block(None, spammer, "spam")
    answer(worker, 5)
    answer(other, 6)
    assert NextPairs.objects.count() == 1
    answer(other, 1)
    choice = NextPairs.objects.get(number=2)
    assert choice.left_out == {"participations": [spammer.pk], "responses": [rejected.pk]}
    counted = Response.objects.filter(item__campaign=campaign, pk__lte=choice.last_response)
    of_others = counted.exclude(participation=spammer).exclude(pk=rejected.pk)
    # A pair that both answered counts once.
    assert sum(map(sum, choice.wins)) == of_others.values("item").distinct().count()
    # What is lifted or rejected later changes no choice that was made.
    moderation.unblock(None, exclusion, "a mistake")
    assert all(differs == () for differs in replays(campaign))
    assert is_sound(campaign)


def test_answers_that_were_removed_are_named_and_the_rest_is_made_again() -> None:
    campaign = comparing()
    (worker,) = join(campaign)
    answer(worker, 30)
    response = Response.objects.order_by("pk")[0]
    moderation.redact(None, response, "it was sent by mistake")
    again = list(replay(campaign))
    assert [each.removed for each in again] == [0, 1, 1]
    assert all(each.differs == () for each in again)
    assert is_sound(campaign)


def test_a_revision_before_a_choice_counts_in_it() -> None:
    campaign = comparing(next_pairs=2)
    (worker,) = join(campaign)
    _, second = answer(worker, 2)
    submit.submit(second, given(dict(choosing("second")(second)), revision=2))
    answer(worker, 3)
    assert replays(campaign) == [()] * 3
    assert is_sound(campaign)


def test_the_audit_and_the_command_find_a_choice_that_does_not_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = comparing()
    (worker,) = join(campaign)
    answer(worker, 25)
    assert is_sound(campaign)
    choice = NextPairs.objects.get(number=3)
    # The database refuses to change or delete it.
    for change in (lambda: NextPairs.objects.update(seed=9), NextPairs.objects.all().delete):
        with pytest.raises(IntegrityError, match="never"), transaction.atomic():
            change()
    changes: list[tuple[str, Any, str]] = [
        ("wins", [[9.0] * 4] * 4, "the wins differ; the shares differ"),
        ("pairs", [{**pair, "share": 1 / 6} for pair in choice.pairs], "the shares differ"),
        ("pairs", [{**pair, "number": 2} for pair in choice.pairs], "the numbers of items differ"),
        ("seed", 10**6, "the numbers of items differ"),
    ]
    from_database: Any = NextPairs.from_db
    loaded = from_database.__func__
    for name, value, said in changes:

        def from_db(cls: Any, db: Any, fields: Any, values: Any, name: str = name, value: Any = value) -> Any:
            row = loaded(cls, db, fields, values)
            if row.pk == choice.pk:
                setattr(row, name, value)
            return row

        monkeypatch.setattr(NextPairs, "from_db", classmethod(from_db))
        differs = "; ".join(replays(campaign)[2])
        assert said in differs, name
        (finding, *_) = audit(campaign)
        assert finding.rule.startswith("a choice of adaptive sampling must")
        monkeypatch.undo()
    Item.objects.filter(pk=Item.objects.filter(up_next=False).order_by("pk")[0].pk).update(up_next=True)
    (finding,) = audit(campaign)
    assert finding.rule.startswith("an item must be marked as chosen")


def test_the_command_says_what_each_choice_was() -> None:
    campaign = comparing()
    (worker,) = join(campaign)
    answer(worker, 13)
    with pytest.raises(SystemExit) as end:
        annotation.replay(campaign.slug)
    assert end.value.code == 0


def test_chosen_items_are_given_out_in_the_order_of_an_index() -> None:
    campaign = comparing()
    (worker,) = join(campaign)
    rows = assignment.list_candidates(worker, "free").filter(up_next=True)
    plan = rows[:1].explain()
    assert "item_up_next" in plan
    assert "B-TREE" not in plan


def test_kinds_that_compare_no_systems_choose_none() -> None:
    for kind, task in TASKS.items():
        if task.curtailed is None:
            with pytest.raises(
                OptionError, match="'next_pairs' must be 0 but for the kinds triplet, pairwise"
            ):
                CampaignOptions.of_kind(kind, next_pairs=10)
    campaign = make("pairwise", items=0, next_pairs=10)
    with pytest.raises(CampaignError, match="1: 'first_by' and 'second_by' are required with 'next_pairs'"):
        add(campaign, [{"key": "1", "first_by": "a"}])
    said = options_in_words(task_named("pairwise"), CampaignOptions.of_kind("pairwise", next_pairs=50))
    assert any(
        each.startswith("Adaptive sampling chooses 50 items at a time: 20% of them evenly") for each in said
    )


def test_a_preview_chooses_too_and_its_answers_say_nothing() -> None:
    campaign = comparing(state="pilot")
    (worker,) = join(campaign)
    for _ in range(14):
        (held,) = assignment.assign_work(worker).assignments
        submit.submit(held, given(dict(by_strength(held))))
    assert NextPairs.objects.count() == 2
    assert not any(sum(map(sum, choice.wins)) for choice in NextPairs.objects.all())
    campaign = lifecycle.change_state(None, campaign, "open")
    assert is_sound(campaign)


def test_strengths_come_first_on_the_board_and_say_why(challenge: Challenge) -> None:
    campaign = comparing(images=12)
    (worker,) = join(campaign)
    work_all(worker, by_strength)
    campaign.challenge = challenge
    campaign.save()
    made = release_files.freeze(None, campaign, "1.0")
    release_files.verify(made)
    stored = json.loads((release_files.folder_of(made) / "next_pairs.json").read_text())
    assert stored["floor"] == 0.2
    assert [choice["number"] for choice in stored["choices"]] == list(range(1, NextPairs.objects.count() + 1))
    assert json.loads((release_files.folder_of(made) / "manifest.json").read_text())["next_pairs"] == 12
    strengths, wins = columns_of(challenge)
    assert (strengths.question, wins.question) == ("Bradley-Terry", "wins")
    said = wins.notes[-1]
    assert "shares of wins are not comparable between systems. Compare strengths." in said
    assert strengths.notes[-1].endswith("strengths take this into account.")
    shown = Client().get("/small/judgments/").content.decode()
    assert said in shown
    assert shown.index("Bradley-Terry") < shown.index(">wins")


def test_the_form_asks_for_it_where_systems_are_compared(django_user_model: Any) -> None:
    user = django_user_model.objects.create_superuser("olga")
    names = {"confidence", "confidence_votes", "next_pairs", "next_pairs_floor"}
    for kind in ("triplet", "pairwise", "m1", "write"):
        found = names & set(NewCampaignForm(user, task_named(kind)).fields)
        assert found == (names if kind in ("triplet", "pairwise") else set()), kind


def test_organizers_see_the_latest_choice(django_user_model: Any, client: Client) -> None:
    campaign = comparing()
    client.force_login(django_user_model.objects.create_superuser("olga"))
    page = client.get(f"/campaigns/{campaign.slug}/").content.decode()
    assert "Next comparisons" not in page
    (worker,) = join(campaign)
    answer(worker, 25)
    latest = NextPairs.objects.get(number=3)
    page = client.get(f"/campaigns/{campaign.slug}/").content.decode()
    (table,) = re.findall(r"Next comparisons.*?</table>", page, re.DOTALL)
    assert len(re.findall(r"<tr><th scope=.row.>", table)) == 6
    most = max(latest.pairs, key=lambda pair: pair["share"])
    assert f"{100 * most['share']:.1f} %" in table
    assert table.index("close") < table.index("worst")


def test_a_pair_of_triplets_is_one_comparison() -> None:
    campaign = make("triplet", items=0, answers=1, next_pairs=6)
    lines = [
        {"key": f"{pair}-{place}", "group": str(pair), "reference": f"a bird {place}", "image_id": "1"}
        | {"first": "a dog", "second": "a cat", "first_by": "close", "second_by": "best"}
        for pair in range(4)
        for place in range(3)
    ]
    read = read_items("items", [json.dumps(line).encode() for line in lines], task_named("triplet"))
    add_items(campaign, read, 1)
    (worker,) = join(campaign)
    choices = {"0-0": "first", "0-1": "first", "0-2": "second", "1-0": "first", "1-1": "second"}
    for _ in range(7):
        (held,) = assignment.assign_work(worker).assignments
        choice = choices.get(held.item.key, "second")
        submit.submit(held, given(dict(choosing(choice)(held))))
    expected = [0.0, 0.0]
    rows = list(Response.objects.order_by("pk").select_related("item")[:6])
    for pair in range(4):
        votes = [row.answer["choice"] for row in rows if row.item.group == str(pair)]
        lead = votes.count("first") - votes.count("second")
        if votes:
            expected[0] += 0.5 if not lead else float(lead > 0)
            expected[1] += 0.5 if not lead else float(lead < 0)
    latest = NextPairs.objects.get(number=2)
    assert latest.systems == ["best", "close"]
    assert latest.wins == [[0.0, expected[1]], [expected[0], 0.0]]
    assert sum(expected) < 6
    assert replays(campaign) == [(), ()]
    assert is_sound(campaign)
