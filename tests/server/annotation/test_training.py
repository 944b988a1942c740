"""Training before the work, and being paused by checks that were failed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.campaigns.definition import ItemDefinition, read_items
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.models import Assignment, Campaign, CheckResult, Participation
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import TASKS, task_named
from capeval_server.annotation.workers import enrollment, panels, payments, training
from capeval_server.core.errors import AssignmentError, CampaignError
from tests.server.annotation.test_api import Program, user_program
from tests.server.annotation.test_panels import begin, panel
from tests.server.annotation.test_study_information import consent_page
from tests.server.campaigns import answer, counted, given, hold, join, make, new_items
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
WHY = "Hounds are dogs."


def training_items(number: int) -> list[ItemDefinition]:
    return [
        ItemDefinition(
            key=f"training {index}",
            image="",
            group="",
            category="",
            payload={"reference": f"a dog {index}", "first": "a hound", "second": "a cat"},
            expected={"choice": "first"},
            training=True,
            explanation=WHY,
        )
        for index in range(number)
    ]


def trained(items: int = 4, number: int = 20, **options: Any) -> Campaign:
    campaign = make(items=0, **{"answers": 3, "batch": 2, **options})
    add_items(campaign, [*new_items("triplet", items), *training_items(number)], 3)
    return campaign


def choose(held: Assignment, item_choice: str) -> None:
    """Choose the first or the second sentence, on either side."""
    side = {"first": "left", "second": "right"}[item_choice]
    if held.mirrored:
        side = {"left": "right", "right": "left"}[side]
    from capeval_server.annotation.responses import submit

    submit.submit(held, given({"choice": side}))


def attempt(worker: Participation, right: int) -> training.TrainingAttempt:
    held = assignment.assign_work(worker).assignments
    assert len(held) == 10
    assert all(one.item.is_training for one in held)
    for number, one in enumerate(held):
        choose(one, "first" if number < right else "second")
    worker.refresh_from_db()
    done = training.finished_try(worker)
    assert done is not None
    return done


def test_eight_of_ten_right_lead_to_the_work() -> None:
    campaign = trained(number=60)
    (worker,) = join(campaign)
    assert worker.stage == "training"
    with pytest.raises(AssignmentError, match="answer all items of the training"):
        training.continue_training(worker)
    done = attempt(worker, 8)
    assert (done.right, done.needed, done.passed, done.again) == (8, 8, True, False)
    assert [item.right for item in done.items] == [True] * 8 + [False] * 2
    assert {item.explanation for item in done.items} == {WHY}
    assert [item.given == item.expected for item in done.items] == [item.right for item in done.items]
    for item in done.items:
        (side,) = item.expected.values()
        assert item.shown[{"B": "left", "C": "right"}[side]] == "a hound"
    found = assignment.assign_work(worker)
    assert (found.assignments, found.why) == (
        [],
        "Please read the feedback on your training answers, then continue.",
    )
    assert training.continue_training(worker).stage == "working"
    assert len(assignment.assign_work(worker).assignments) == 2
    assert counted(campaign) == 0
    worker.refresh_from_db()
    assert (worker.answered, worker.judged) == (10, 0)
    assert next(payments.lines(campaign)).answers == 10
    assert list(audit(campaign)) == []
    # The counts for organizers separate the training.
    assignment.assign_work(worker)
    answer(hold(worker))
    staff, place = Someone("staff", is_staff=True), f"/campaigns/{campaign.slug}"
    pages = {
        part: staff.client.get(f"{place}/{part}").content.decode()
        for part in ("items/", f"workers/{worker.worker.pseudonym}/", "workers/", "reviews/")
    }
    assert "4 items, 60 training items" in pages["items/"]
    assert '<a href="?page=2">2</a>' in pages["items/"]
    assert "1; 1 counted; also 10 in the training" in pages[f"workers/{worker.worker.pseudonym}/"]
    assert '<td class="number">1 <span class="muted">+ 10 training</span></td>' in pages["workers/"]
    assert "1 answer matches this filter" in pages["reviews/"]
    training_page = staff.client.get(f"{place}/reviews/?state=training").content.decode()
    assert "10 answers match this filter" in training_page
    assert get_progress(campaign).items == 4


def test_two_tries_with_other_items_and_then_out() -> None:
    campaign = trained()
    (worker,) = join(campaign)
    first = attempt(worker, 7)
    assert (first.passed, first.again) == (False, True)
    assert training.continue_training(worker).stage == "training"
    second = attempt(worker, 7)
    assert (second.passed, second.again) == (False, False)
    texts = [{item.shown["reference"] for item in done.items} for done in (first, second)]
    assert not texts[0] & texts[1]
    assert training.continue_training(worker).stage == "screened out"
    assert "did not qualify" in assignment.assign_work(worker).why
    with pytest.raises(AssignmentError):
        training.continue_training(worker)
    # A block that is lifted is no way around it.
    exclusion, _ = moderation.block(None, worker, "spam")
    moderation.unblock(None, exclusion, "a mistake")
    worker.refresh_from_db()
    assert training.finished_try(worker) is not None
    assert training.continue_training(worker).stage == "screened out"


def test_the_second_try_can_pass_and_what_is_skipped_is_not_right() -> None:
    campaign = trained(training_items=3, training_right=3, number=7)
    (worker,) = join(campaign)
    held = assignment.assign_work(worker).assignments
    choose(held[0], "first")
    assignment.set_aside(held[1], "skipped")
    assert training.finished_try(worker) is None
    choose(held[2], "second")
    # The first answer counts.
    answer(held[2], revision=2)
    worker.refresh_from_db()
    done = training.finished_try(worker)
    assert done is not None
    assert (done.right, done.again) == (1, True)
    training.continue_training(worker)
    for one in assignment.assign_work(worker).assignments:
        choose(one, "first")
    assert training.continue_training(worker).stage == "working"


def test_training_needs_a_whole_try() -> None:
    with pytest.raises(CampaignError, match=r"at least 10 items per attempt \(got 9\)"):
        trained(number=9)
    assert join(make())[0].stage == "working"


def test_the_expected_answer_of_each_kind_in_words() -> None:
    for task in TASKS.values():
        payload = {"first": "a", "second": "b", "caption": "c", "reference": "d", "keywords": []}
        for name, choices in task.choices.items():
            for mirrored in (False, True):
                words = set()
                for value in choices.labels:
                    raw = {other: next(iter(each.labels)) for other, each in task.choices.items()}
                    stored = task.answer(payload, {**raw, name: value}, mirrored=mirrored)
                    shown = task.in_words(payload, {name: stored[name]}, mirrored=mirrored)
                    words.add(shown[choices.label])
                assert words == set(choices.labels.values()), (task.name, name)


def test_items_of_the_training_in_a_file() -> None:
    item = {"key": "0", "reference": "a dog", "first": "a hound", "second": "a cat"}
    plain = {"expected": {"choice": "first"}, "training": True, "explanation": WHY}
    (read,) = read_items("items.jsonl", [json.dumps({**item, **plain}).encode()], task_named("triplet"))
    assert (read.training, read.explanation, read.expected) == (True, WHY, {"choice": "first"})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"training": True}, "requires 'expected'"),
        ({**plain, "training": "yes"}, "must be true or false"),
        ({**plain, "training": False}, "requires 'training'"),
        ({**plain, "explanation": ""}, "'explanation' must be a non-empty text"),
        ({**plain, "explanation": 1}, "'explanation' must be a non-empty text"),
    ]
    for more, message in wrong:
        with pytest.raises(CampaignError, match=message):
            list(read_items("items.jsonl", [json.dumps({**item, **more}).encode()], task_named("triplet")))


def checked(number: int, checks: int) -> Campaign:
    return make(answers=1, items=number, checks=checks, check_every=2, batch=1)


def until_paused(worker: Participation, fail: int) -> list[bool]:
    """Work until no items are left, failing every `fail`-th check; return whether each check failed."""
    found: list[bool] = []
    while held := assignment.assign_work(worker).assignments:
        if held[0].item.is_check:
            found.append(len(found) % fail == 0)
            choose(held[0], "second" if found[-1] else "first")
        else:
            answer(held[0])
    return found


def test_three_failed_of_the_last_ten_checks_pause_until_somebody_looks() -> None:
    campaign = checked(90, 40)
    careless, careful = join(campaign, 2)
    assert until_paused(careless, 3) == [True, False, False, True, False, False, True]
    careless.refresh_from_db()
    assert careless.stage == "paused"
    assert "paused until an organizer" in assignment.assign_work(careless).why
    assert "Workers paused for failed checks" in str(get_progress(campaign).waiting)
    before = counted(campaign)
    staff, place = user_program("staff", is_staff=True), f"campaigns/{campaign.slug}/workers"
    resumed = f"{place}/{careless.worker.pseudonym}/resume"
    staff.ask("POST", resumed, {"reason": " "}, 422)
    user_program("somebody").ask("POST", resumed, {"reason": "fine"}, 404)
    assert staff.ask("POST", resumed, {"reason": "hard checks"})["stage"] == "working"
    staff.ask("POST", resumed, {"reason": "again"}, 422)
    assert staff.ask("GET", place)["workers"][0]["stage"] == "working"
    # Failures that were reviewed do not pause the worker again: three more do.
    assert until_paused(careless, 2) == [True, False, True, False, True]
    assert counted(campaign) >= before
    # One failed of four is never three of ten.
    assert until_paused(careful, 5).count(True) >= 3
    careful.refresh_from_db()
    assert careful.stage == "working"
    assert list(audit(campaign)) == []


def test_failed_training_does_not_pause_and_pausing_can_be_off() -> None:
    campaign = trained(pause_failed=1)
    (worker,) = join(campaign)
    attempt(worker, 8)
    assert training.continue_training(worker).stage == "working"
    never = make(answers=1, items=30, checks=20, check_every=2, batch=1, pause_failed=0)
    (other,) = join(never)
    assert all(until_paused(other, 1))
    other.refresh_from_db()
    assert other.stage == "working"
    assert CheckResult.objects.filter(passed=False).count() > 5


def test_the_pages_and_the_api_of_the_training() -> None:
    campaign = trained()
    codes = panel(campaign, answers=5).codes
    place = f"annotate/{campaign.slug}"
    invited = Program(enrollment.invite(None, campaign, 1)[0]).ask("GET", place)
    assert invited["training"] == {"items": 10, "right": 8, "tries": 2, "practice": 0}
    page = consent_page(campaign)
    assert "Answer at least 8 of 10 questions correctly" in page
    assert "You have 2 attempts." in page
    assert "practice" not in page
    assert "there is a training" not in consent_page(make())
    staged = begin(campaign)
    program, browser = Program(panels.token_of(staged)), Client()
    browser.cookies[f"annotate-{campaign.pk}"] = panels.token_of(staged)

    def shown() -> str:
        got = browser.get(f"/{place}/")
        check_page(got.content.decode(), got.headers["Content-Security-Policy"])
        return got.content.decode()

    program.ask("GET", f"{place}/training", status=404)
    program.ask("POST", f"{place}/training", status=409)
    for _ in range(2):
        page = shown()
        assert "This is the training. You need at least 8 of 10 correct answers" in page
        assert "Only your first answer to each item is graded." in page
        assert "You can change your answers" not in page
        assert WHY not in page
        batch = program.ask("POST", f"{place}/next", {})
        assert batch["training"]
        assert WHY not in str(batch)
        for held in assignment.assign_work(staged).assignments:
            choose(held, "second")
        assert program.ask("GET", f"{place}/training")["right"] == 0
        page = shown()
        assert "Training: 0 of 10 correct" in page
        assert page.count(WHY) == 10
        assert page.count("Your answer: B. ") + page.count("Your answer: C. ") == 10
        assert (
            page.count("<strong>Incorrect</strong> – correct answer: B. ") + page.count("correct answer: C. ")
            == 10
        )
        for side in re.findall(r"<strong>(B|C)</strong> a hound", page):
            assert f"correct answer: {side}. " in page
        assert not any(code in page for code in codes.values())
        answered = browser.post(f"/{place}/training/", follow=True)
    assert codes["screened_out"] in answered.content.decode()
    assert program.ask("POST", f"{place}/next", {})["end"]["outcome"] == "screened_out"
    other = begin(campaign, person="bob")
    program = Program(panels.token_of(other))
    attempt(other, 10)
    assert program.ask("POST", f"{place}/training")["stage"] == "working"
    # The training is paid for, and not of the five answers that the panel asks for.
    for _ in range(4):
        answer(hold(other))
    assert program.ask("POST", f"{place}/next", {})["end"] is None
    assert enrollment.has_agreed(other)
