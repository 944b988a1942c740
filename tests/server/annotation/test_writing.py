"""Training of caption writers: a quiz on the rules, and practice captions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.campaigns.definition import ItemDefinition, read_definition, read_items
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.campaigns.progress import get_progress, pace_of
from capeval_server.annotation.models import Assignment, Campaign, CheckResult, Participation, ReviewRequest
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.task_types.quiz import quiz_lines, quizzes
from capeval_server.annotation.text_rules.rules import RuleSettings, check_captions
from capeval_server.annotation.workers import enrollment, payments, training
from capeval_server.commands import annotation_items as commands
from capeval_server.core.errors import CampaignError, SentenceError
from tests.server.annotation.test_api import Program
from tests.server.annotation.test_pages import picture
from tests.server.annotation.test_study_information import consent_page
from tests.server.campaigns import STUDY_LINES, answer, counted, given, join, make, new_items
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
MODEL = "a red cart stands in a narrow street"
WHY = "The cart is what others would name, too."


def practice(number: int) -> Iterable[ItemDefinition]:
    for index in range(number):
        yield ItemDefinition(
            key=f"practice {index}",
            image="",
            group="",
            category="",
            payload={"keywords": []},
            expected={"caption": MODEL},
            training=True,
            explanation=WHY,
        )


def quiz(name: str = "write-coco") -> list[ItemDefinition]:
    return list(read_items("quiz", quiz_lines(name), task_named("write")))


def trained(*, questions: Sequence[ItemDefinition] = (), practiced: int = 2, **options: Any) -> Campaign:
    campaign = make("write", items=0, **{"answers": 2, "batch": 2, **options})
    add_items(campaign, [*new_items("write", 4), *questions, *practice(practiced)], 2)
    return campaign


def other(choice: str) -> str:
    return {"breaks": "keeps", "keeps": "breaks"}[choice]


def attempt(worker: Participation, right: int) -> training.TrainingAttempt:
    held = assignment.assign_work(worker).assignments
    assert len(held) == 10
    for number, one in enumerate(held):
        assert one.item.is_quiz
        choice = one.item.expected["choice"]
        submit.submit(one, given({"choice": choice if number < right else other(choice)}))
    return finished(worker)


def write(worker: Participation, texts: Sequence[str]) -> training.TrainingAttempt:
    held = assignment.assign_work(worker).assignments
    assert [one.item.expected for one in held] == [{"caption": MODEL}] * len(texts)
    for one, text in zip(held, texts, strict=True):
        answer(one, text)
    return finished(worker)


def finished(worker: Participation) -> training.TrainingAttempt:
    worker.refresh_from_db()
    done = training.finished_try(worker)
    assert done is not None
    return done


def test_a_quiz_then_practice_then_the_work() -> None:
    campaign = trained(questions=quiz())
    page = consent_page(campaign)
    assert "Answer at least 8 of 10 questions correctly" in page
    assert "You write 2 practice sentences, which are not graded." in page
    (worker,) = join(campaign)
    assert worker.stage == "training"
    first = attempt(worker, 7)
    assert (first.right, first.passed, first.again, first.more, first.practice) == (
        7,
        False,
        True,
        False,
        False,
    )
    assert training.continue_training(worker).stage == "training"
    second = attempt(worker, 8)
    assert (second.right, second.passed, second.again, second.more) == (8, True, False, True)
    assert not {item.shown["caption"] for item in first.items} & {
        item.shown["caption"] for item in second.items
    }
    for item in second.items:
        assert item.explanation
        assert list(item.expected) == ["Does this sentence break a rule?"]
    assert training.continue_training(worker).stage == "training"
    done = write(worker, ["a cart that was red stands there", "a blue cart and two people in a street"])
    assert (done.practice, done.passed, done.again, done.more) == (True, True, False, False)
    assert [[finding.rule for finding in item.findings] for item in done.items] == [["other-times"], []]
    assert [item.written for item in done.items][1] == "a blue cart and two people in a street"
    assert {text for item in done.items for text in item.expected.values()} == {MODEL}
    assert {item.explanation for item in done.items} == {WHY}
    assert training.continue_training(worker).stage == "working"
    held = assignment.assign_work(worker).assignments
    assert not any(one.item.is_training for one in held)
    assert counted(campaign) == 0
    # It is paid, and says nothing: not of trust, not by what is like it, and no review is asked for.
    worker.refresh_from_db()
    assert (worker.answered, worker.judged) == (22, 0)
    assert next(payments.lines(campaign)).answers == 22
    answer(held[0], "a blue cart and two people in a street", seconds=40)
    assert not ReviewRequest.objects.exists()
    assert pace_of(campaign).timed == 1
    assert CheckResult.objects.count() == 20
    assert (get_progress(campaign).items, counted(campaign)) == (4, 1)
    assert list(audit(campaign)) == []


def test_practice_alone_and_a_quiz_alone() -> None:
    campaign = trained(practiced=1)
    (worker,) = join(campaign)
    write(worker, ["a cart in a street"])
    assert training.continue_training(worker).stage == "working"
    campaign = trained(questions=quiz()[:10], practiced=0)
    passes, fails = join(campaign, 2)
    assert not attempt(passes, 10).more
    assert training.continue_training(passes).stage == "working"
    assert not attempt(fails, 7).again
    assert training.continue_training(fails).stage == "screened out"


def test_practice_that_is_out_of_work_keeps_nobody_from_it() -> None:
    campaign = trained(questions=[])
    for item in campaign.items.filter(is_training=True):
        moderation.set_hold(None, item, held=True)
    (worker,) = join(campaign)
    assert worker.stage == "training"
    assert not any(one.item.is_training for one in assignment.assign_work(worker).assignments)
    worker.refresh_from_db()
    assert (worker.stage, len(assignment.assign_work(worker).assignments)) == ("working", 2)
    assert list(audit(campaign)) == []


def test_practice_that_is_set_aside_or_refused() -> None:
    campaign = trained(practiced=2)
    (worker,) = join(campaign)
    held = assignment.assign_work(worker).assignments
    assignment.set_aside(held[0], Assignment.State.SKIPPED)
    # The same rules as for real captions: blocked text must be changed.
    with pytest.raises(SentenceError, match="There is"):
        answer(held[1], "there is a cart in the street")
    answer(held[1], "a cart in the street")
    done = finished(worker)
    assert [item.written for item in done.items] == ["", "a cart in the street"]
    assert [item.findings for item in done.items] == [(), ()]
    assert training.continue_training(worker).stage == "working"


def test_a_trial_has_the_training_too() -> None:
    campaign = trained(questions=quiz(), state="pilot")
    (worker,) = join(campaign)
    assert attempt(worker, 8).passed
    training.continue_training(worker)
    write(worker, [MODEL, MODEL])
    assert training.continue_training(worker).stage == "working"
    assert list(audit(campaign)) == []


def test_too_few_questions_and_too_much_practice() -> None:
    with pytest.raises(CampaignError, match=r"at least 10 items per attempt \(got 9\)"):
        trained(questions=quiz()[:9])
    with pytest.raises(CampaignError, match=r"at most 50 practice items \(got 51\)"):
        trained(practiced=51)


@pytest.mark.parametrize("name", quizzes())
def test_the_quizzes_that_ship(name: str) -> None:
    items = quiz(name)
    # Two tries of ten.
    assert len(items) == len({item.payload["caption"] for item in items}) == 20
    assert 10 <= [item.expected["choice"] for item in items].count("breaks") <= 12
    assert all(item.explanation and item.training and item.is_quiz for item in items)
    kept = [item.payload["caption"] for item in items if item.expected["choice"] == "keeps"]
    levels = task_named("write").text_rules.get(name, {})
    for text, findings in zip(kept, check_captions(kept, RuleSettings(levels=levels)), strict=True):
        assert not findings, (text, findings)


def test_a_quiz_ships_for_each_text_of_captions() -> None:
    assert set(quizzes()) == set(task_named("write").texts)


FILE = """
[campaign]
slug = "streets"
title = "Streets"
kind = "write"
text = "write-pascal"
quiz = "write-pascal"
items = "items.jsonl"
images = "images"
"""


def files(folder: Path, *lines: dict[str, Any], definition: str = FILE) -> Path:
    (folder / "images").mkdir()
    (folder / "images" / "a.jpg").write_bytes(picture(320, 200))
    (folder / "items.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    path = folder / "campaign.toml"
    path.write_text(definition)
    return path


def test_a_campaign_file_names_a_quiz(tmp_path: Path) -> None:
    work = {"key": "0", "image": "a.jpg"}
    tried = {"key": "1", "image": "a.jpg", "training": True, "expected": {"caption": MODEL}}
    own = {"key": "2", "quiz": "A dog.", "training": True, "expected": {"choice": "breaks"}}
    campaign = make_campaign(None, files(tmp_path, work, tried, own))
    rows = campaign.items.filter(is_training=True)
    assert (rows.filter(is_quiz=True).count(), rows.filter(is_quiz=False).get().expected) == (
        21,
        {"caption": MODEL},
    )
    assert campaign.items.get(key="2").payload == {"caption": "A dog."}
    assert (campaign.images.count(), campaign.items.exclude(image=None).count()) == (1, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"quiz": "A dog.", "expected": {"choice": "breaks"}}, "'quiz' requires 'training'"),
        ({"quiz": "A dog.", "training": True}, "'training' requires 'expected'"),
        ({"quiz": "A dog.", "training": True, "expected": {"choice": "no"}}, "one of breaks, keeps"),
        ({"quiz": " ", "training": True, "expected": {"choice": "keeps"}}, "'quiz' must be a non-empty text"),
        ({"quiz": "A dog.", "image": "a.jpg"}, "must not have an 'image'"),
        ({"quiz": "A dog.", "keywords": []}, "unknown part 'keywords'"),
        ({"image": "a.jpg", "training": True}, "'training' requires 'expected'"),
    ],
)
def test_a_wrong_line_of_a_quiz(line: dict[str, Any], message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        list(read_items("items.jsonl", [json.dumps({"key": "0", **line}).encode()], task_named("write")))


def test_a_campaign_file_names_the_sources_of_images(tmp_path: Path) -> None:
    address, license_url = "https://x.org/a.jpg", "https://x.org/by"
    found = {"images": [{"id": 1, "file_name": "a.jpg", "coco_url": address, "license": 3, "author": "Ann"}]}
    info = tmp_path / "info.json"
    info.write_text(json.dumps({**found, "licenses": [{"id": 3, "name": license_url}]}))
    path = files(tmp_path, {"key": "0", "image": "a.jpg"}, definition=FILE + 'image_info = "info.json"\n')
    image = make_campaign(None, path).images.get()
    assert (image.source, image.license, image.author) == (address, license_url, "Ann")
    path.write_text(path.read_text().replace('"streets"', '"paths"'))
    found["images"][0]["coco_url"] = address + "/" * 500
    info.write_text(json.dumps(found))
    with pytest.raises(
        CampaignError, match=r"a.jpg: its source must have at most 500 characters \(got 519\)"
    ):
        make_campaign(None, path)
    info.write_text("[]")
    with pytest.raises(CampaignError, match=r"info.json: "):
        make_campaign(None, path)


def test_a_quiz_that_is_none() -> None:
    def read(definition: str) -> None:
        read_definition("campaign.toml", lambda _: definition.encode())

    with pytest.raises(CampaignError, match="'quiz' must be one of write-nocaps, write-coco, write-pascal"):
        read(FILE.replace('quiz = "write-pascal"', 'quiz = "none"'))
    with pytest.raises(CampaignError, match="quiz requires a task type that collects captions"):
        read(FILE.replace('"write"', '"pairwise"').replace('text = "write-pascal"', ""))


def test_pascals_form_asks_for_no_number_of_words(tmp_path: Path) -> None:
    definition = FILE.replace('quiz = "write-pascal"', "") + f"[settings]\n{STUDY_LINES}"
    work = {"key": "0", "image": "a.jpg"}
    campaign = make_campaign(None, files(tmp_path, work, definition=definition))
    change_state(None, campaign, "open")
    assert enrollment.latest_texts(campaign).rules == {"short": "off"}
    (worker,) = join(campaign)
    assert answer(assignment.assign_work(worker).assignments[0], "A dog plays outside").outcome == "stored"
    stricter = read_definition(
        "campaign.toml", lambda _: (definition + '[rules]\nshort = "block"\n').encode()
    )
    assert stricter.rules == {"short": "block"}


def test_the_command_writes_the_quiz(tmp_path: Path) -> None:
    commands.quiz("write-nocaps", tmp_path / "quiz.jsonl")
    lines = (tmp_path / "quiz.jsonl").read_bytes().splitlines()
    assert lines == list(quiz_lines("write-nocaps"))


def test_the_pages_and_the_api_of_the_training() -> None:
    campaign = trained(questions=quiz())
    (token,) = enrollment.invite(None, campaign, 1)
    program, browser, place = Program(token), Client(), f"annotate/{campaign.slug}"
    browser.cookies[f"annotate-{campaign.pk}"] = token
    worker = enrollment.get_invited(campaign, token)
    program.ask("POST", f"{place}/agree", {"texts": 1})

    def shown() -> str:
        got = browser.get(f"/{place}/")
        check_page(got.content.decode(), got.headers["Content-Security-Policy"])
        return got.content.decode()

    def send(held: Assignment, **raw: str) -> str:
        sent = browser.post(f"/{place}/{held.lease}/answer/", raw, follow=True)
        return sent.content.decode()

    page = shown()
    assert "at least 8 of 10 correct answers" in page
    assert page.count("Does this sentence break a rule?") == 10
    assert "<h1>Which sentences break a rule?</h1>" in page
    batch = program.ask("POST", f"{place}/next", {})
    assert {(item["kind"], *item["shown"]) for item in batch["items"]} == {("quiz", "caption")}
    for held in assignment.assign_work(worker).assignments:
        assert held.item.explanation not in page + str(batch)
        # A question has no rules that look at it.
        assert browser.post(f"/{place}/{held.lease}/check/", {"caption": "a"}).status_code == 404
        program.ask("POST", f"{place}/items/{held.lease}/check", {"caption": "a"}, 404)
        send(held, choice=held.item.expected["choice"])
    page = shown()
    assert "Training: 10 of 10 correct" in page
    assert "then you write some practice sentences" in page
    assert (
        page.count("correct answer: Yes, it breaks a rule. ")
        + page.count("correct answer: No, it keeps all rules. ")
        == 10
    )
    tried = program.ask("GET", f"{place}/training")
    assert (tried["right"], tried["more"], tried["practice"]) == (10, True, False)
    browser.post(f"/{place}/training/")
    page = shown()
    assert "This is practice" in page
    assert page.count("Your sentence") == 2
    batch = program.ask("POST", f"{place}/next", {})
    assert {item["kind"] for item in batch["items"]} == {"write"}
    assert batch["training"]
    assert not [text for text in (MODEL, WHY) if text in page + str(batch)]
    first, second = assignment.assign_work(worker).assignments
    send(first, caption="a cart that was red <b>there</b>")
    send(second, caption="two carts in a street")
    page = shown()
    for text in (
        "<h1>Practice</h1>",
        "a cart that was red &lt;b&gt;",
        MODEL,
        WHY,
        "No rule was broken.",
    ):
        assert text in page
    assert "Describe only what you can see" in page
    tried = program.ask("GET", f"{place}/training")
    assert tried["practice"]
    assert [[each["rule"] for each in item["findings"]] for item in tried["items"]] == [["other-times"], []]
    assert program.ask("POST", f"{place}/training")["stage"] == "working"
    assert "This is practice" not in shown()
