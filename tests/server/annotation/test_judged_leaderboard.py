"""Judging of a leaderboard from its items to its columns, with attention checks, by HTTP alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from capeval.data.captions import ImageId
from capeval_server.annotation.models import Assignment, Campaign, CheckResult, Item, Release
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.task_types import TASKS
from capeval_server.annotation.task_types.judged_captions import JudgedCaptions
from capeval_server.challenges.models import ReferenceSet, ReferenceVersion, Split
from capeval_server.leaderboards.judgments import list_judgments
from tests.server.annotation.test_leaderboard_judging import API, judged, olga, pictures, storage
from tests.server.campaigns import STUDY
from tests.server.kit import CAPTIONS, Someone

__all__ = ["judged", "olga", "storage"]

pytestmark = pytest.mark.django_db

KINDS = ("m2", "m3", "m4", "m5", "rating", "triplet")
# The answers of three workers to three images, by system: a word for each image, a letter for each worker.
ANSWERS = {
    "m2": {"Human": "ppp ppp ppp", "ann": "ppm pmm mmm", "bob": "mmm mmp mmm", "Random": "mmm mmm mmm"},
    "m3": {"Human": "555 554 545", "ann": "443 432 111", "bob": "222 211 333", "Random": "111 111 111"},
    "m4": {"Human": "333 222 444", "ann": "555 455 345", "bob": "112 222 333", "Random": "333 333 345"},
    "m5": {"Human": "yyy yyn nny", "ann": "yyn nyy nnn", "bob": "nnn nnn yyy", "Random": "nnn nnn nnn"},
}
WORDS = {"p": "person", "m": "machine", "y": "yes", "n": "no"}
# All but the last worker prefer the first of two systems in this order; the last worker prefers the second.
PREFERRED = ("human", "bob", "ann", "other")
# By hand: shares of images by majority, and means over images of the mean over workers.
EXPECTED = {
    "M2": {"Human": 3 / 3, "ann": 1 / 3, "bob": 0 / 3, "Random": 0 / 3},
    "M3": {"Human": 43 / 9, "ann": 23 / 9, "bob": 19 / 9, "Random": 9 / 9},
    "M4": {"Human": 27 / 9, "ann": 41 / 9, "bob": 19 / 9, "Random": 30 / 9},
    "M5": {"Human": 2 / 3, "ann": 2 / 3, "bob": 1 / 3, "Random": 0 / 3},
    # The ratings use the answers of M3 as precision and of M4 as recall.
    "P": {"Human": 43 / 9, "ann": 23 / 9, "bob": 19 / 9, "Random": 9 / 9},
    "R": {"Human": 27 / 9, "ann": 41 / 9, "bob": 19 / 9, "Random": 30 / 9},
    # One of three workers takes half a point from bob.
    "THumB": {"Human": 35 / 9, "ann": 32 / 9, "bob": 19 / 9 - 0.5 / 3, "Random": 19.5 / 9},
    # Each system meets each other one once, on three images.
    "wins": {"Human": 3 / 3, "bob": 2 / 3, "ann": 1 / 3, "Random": 0 / 3},
}


def name_of(system: str) -> str:
    """The row of a system in the tables above: teams are called "ann's team"."""
    return system.split("'")[0]


def choose(item: Item, images: Sequence[str], worker: int, shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the answer of a worker to an item, which is a check or about a system."""
    kind, payload = item.campaign.kind, item.payload
    if item.is_check:
        return answer_check(item, passes=worker == 0)
    if kind == "triplet":
        order = sorted(("first", "second"), key=lambda side: PREFERRED.index(name_of(payload[f"{side}_by"])))
        wanted = payload[order[worker == 2]]
        return {"choice": "left" if shown["left"] == wanted else "right"}
    system, place = name_of(payload["system"]), images.index(payload["image_id"])

    def read(table: str) -> str:
        letter = ANSWERS[table][system].split()[place][worker]
        return WORDS.get(letter, letter)

    if kind == "rating":
        fluency = "0.5" if (system, worker) == ("bob", 1) else "0"
        fixed = {"fluency": fluency, "conciseness": "0", "inclusive": "0"}
        return {"precision": read("m3"), "recall": read("m4"), **fixed}
    return {"choice": read(kind)}


def answer_check(item: Item, *, passes: bool) -> dict[str, str]:
    """Return the last accepted answer to a check; or else one that is far from it."""
    found = TASKS[item.campaign.kind].example_answer()
    for name, accepted in item.expected.items():
        values = accepted if isinstance(accepted, list) else [accepted]
        possible = list(TASKS[item.campaign.kind].choices[name].labels)
        far = max(possible, key=lambda each: abs(possible.index(each) - possible.index(values[0])))
        found[name] = values[-1] if passes else far
    return found


def send(client: Client, method: str, address: str, status: int = 200, **content: Any) -> Any:
    answer = getattr(client, method)(address, content, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def work(token: str, slug: str, worker: int) -> int:
    """Answer all items of a campaign as a program does, and return their number."""
    client, place = Client(headers={"Authorization": f"Bearer {token}"}), f"/api/annotate/{slug}"
    send(client, "post", f"{place}/agree", texts=client.get(place).json()["texts"]["number"])
    number = 0
    items = Item.objects.filter(campaign__slug=slug)
    images = sorted({payload["image_id"] for payload in items.values_list("payload", flat=True)})
    while batch := send(client, "post", f"{place}/next")["items"]:
        held = {
            str(each.lease): each.item
            for each in Assignment.objects.filter(item__campaign__slug=slug).select_related("item__campaign")
        }
        for one in batch:
            answer = choose(held[one["lease"]], images, worker, one["shown"])
            place_of = f"{place}/items/{one['lease']}/answer"
            assert send(client, "post", place_of, answer=answer, key=uuid4().hex)["outcome"] == "stored"
            number += 1
    return number


def freeze(organizer: Someone, slug: str) -> Release:
    return release_files.freeze(organizer.user, Campaign.objects.get(slug=slug), "1.0")


def read_scores(release: Release) -> dict[str, dict[str, float]]:
    """Return the values of all systems by question, from a release's human.csv."""
    found: dict[str, dict[str, float]] = {}
    text = (release_files.folder_of(release) / "human.csv").read_text()
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault(row["question"], {})[name_of(row["system"])] = float(row["value"])
    return found


def read_board() -> dict[str, dict[str, float]]:
    """Return the human judgments on the leaderboard by question."""
    rows = Client().get("/api/challenges/small/phases/open/leaderboard").json()["rows"]
    questions = [*EXPECTED, "Bradley-Terry"]
    return {
        question: {name_of(row["team"]): row["scores"][question] for row in rows}
        for question in questions
        if all(row["scores"].get(question) is not None for row in rows)
    }


def test_answers_become_the_expected_columns(olga: Someone) -> None:
    program = olga.program("organize")
    asked = {"phase": "open", "kinds": KINDS, "images": 3, "name": "all", **STUDY}
    upload = SimpleUploadedFile("pictures.zip", pictures(), content_type="application/zip")
    answer = program.post(API, {**asked, "pictures": upload})
    assert answer.status_code == 201, answer.content
    forecast = {each["kind"]: each for each in answer.json()["forecast"]}
    # Four systems on three images; a triplet is about two of them. A worker's second batch has a check.
    numbers = {kind: (each["items"], each["answers"], each["checks"]) for kind, each in forecast.items()}
    rated = (12, 36, 1)
    assert numbers == {
        "m2": rated, "m3": rated, "m4": (12, 36, 0), "m5": rated, "rating": rated, "triplet": (6, 18, 0)
    }  # fmt: skip
    assert "no answer to its question is known" in forecast["m4"]["no_checks"]
    assert "in one batch" in forecast["triplet"]["no_checks"]
    assert forecast["m2"]["no_checks"] == ""
    # The same answers, and three to a check.
    assert forecast["m3"]["hours"] == pytest.approx(forecast["m4"]["hours"] * 39 / 36)
    slugs = answer.json()["campaigns"]
    for slug in slugs:
        send(program, "put", f"/api/campaigns/{slug}/state", state="open")
    tokens = send(program, "post", f"{API}/invites", 201, campaigns=slugs, number=3)["tokens"]
    for worker, token in enumerate(tokens):
        for slug in slugs:
            each = forecast[slug.removeprefix("all-")]
            assert work(token, slug, worker) == each["items"] + each["checks"]
    # M4 is shown only together with M3.
    released = [freeze(olga, "all-m4")]
    assert read_board() == {}
    released += [freeze(olga, slug) for slug in slugs if slug != "all-m4"]
    scores = {question: values for each in released for question, values in read_scores(each).items()}
    strengths = scores.pop("Bradley-Terry")
    assert scores == {name: pytest.approx(values, abs=1e-6) for name, values in EXPECTED.items()}
    # The votes are symmetrical, and so are the strengths.
    assert strengths["Human"] == pytest.approx(-strengths["Random"], abs=1e-6)
    assert strengths["Human"] > strengths["bob"] == pytest.approx(-strengths["ann"], abs=1e-6)
    board = read_board()
    assert board.keys() == {*EXPECTED, "Bradley-Terry"}
    for question, values in EXPECTED.items():
        shown = {"human": values["Human"], "ann": values["ann"], "bob": values["bob"]}
        assert board[question] == pytest.approx(shown, abs=1e-6), question
    # Another split doesn't have these columns, because its images were not judged.
    split = Split.objects.get()
    assert {column.question for column in list_judgments(split)} == board.keys()
    other = Split.objects.create(
        challenge=split.challenge, name="other", results="o", metrics=split.metrics, image_ids=[1001, 1002]
    )
    references = ReferenceSet.objects.create(split=other, name="c5", public=True)
    ReferenceVersion.objects.create(reference_set=references, number=references.version, sha256="0" * 64)
    assert list_judgments(other) == ()
    # The images, of which a split has tens of thousands, are only read once.
    with CaptureQueriesContext(connection) as queries:
        assert list_judgments(other) == ()
        assert list_judgments(split)
    assert not any("image_ids" in query["sql"] for query in queries)
    other.delete()
    # One worker passed each check, and the two others failed it.
    checks = CheckResult.objects.values_list("response__item__campaign__kind", "passed")
    with_checks = ("m2", "m3", "m5", "rating")
    assert sorted(checks) == sorted((kind, passed) for kind in with_checks for passed in (False, False, True))
    chosen = {item.payload["image_id"] for item in Campaign.objects.get(kind="m2").items.all()}
    assert len(chosen) == 3
    assert chosen < set(map(str, CAPTIONS))
    for release in released:
        for path in release_files.folder_of(release).glob("ratings-*.csv"):
            rows = list(csv.DictReader(io.StringIO(path.read_text())))
            assert {row["image_id"] for row in rows} == chosen, path.name
            assert len(rows) == 12


def test_checks_have_known_answers() -> None:
    captions: dict[ImageId, str] = {
        1: "a dog runs on grass",
        2: "two cats asleep on a bed",
        3: "some food on the table",
    }
    people: dict[ImageId, str] = {1: "the dog is running", 2: "cats in bed", 3: "a plate with food"}
    judged = JudgedCaptions(
        systems={"Human": people, "Random": {1: people[2], 2: people[3], 3: people[1]}},
        references={image: [text, f"perhaps {text}"] for image, text in captions.items()},
        pictures={image: f"{image}.jpg" for image in captions},
    )
    about = {"system": "Random", "category": "check"}
    known = [(each.image, each.right, each.wrong) for each in judged.known]
    assert {image: right for image, right, _ in known} == captions
    assert all(wrong in captions.values() and wrong != right for _, right, wrong in known)
    checks = {kind: list(task.list_judging_checks(judged)) for kind, task in TASKS.items()}
    assert {kind: len(found) for kind, found in checks.items()} == {
        kind: 0 if kind in ("write", "m4") else 3 for kind in checks
    }
    for number, (image, right, wrong) in enumerate(known):
        found = {kind: lines[number] for kind, lines in checks.items() if lines}
        picture = {"key": f"check-{number}", "image_id": str(image), "image": f"{image}.jpg"}
        text = {name: picture[name] for name in ("key", "image_id")}
        # Every other check of these task types has the opposite answer.
        odd = number % 2
        assert found["m1"] == {
            **picture, **about, "candidate": wrong, "human": right, "expected": {"choice": "worse"}
        }  # fmt: skip
        backwards = " ".join(wrong.split()[::-1])
        assert found["m2"] == {**picture, **about, "caption": backwards, "expected": {"choice": "machine"}}
        about["system"] = "Human" if odd else "Random"
        caption = right if odd else wrong
        values = ["4", "5"] if odd else ["1", "2"]
        assert found["m3"] == {**picture, **about, "caption": caption, "expected": {"choice": values}}
        assert found["m5"] == {
            **text, **about, "candidate": caption, "human": right,
            "expected": {"choice": "yes" if odd else "no"},
        }  # fmt: skip
        recall = {} if odd else {"recall": values}
        assert found["rating"] == {
            **picture, **about, "caption": caption, "expected": {"precision": values, **recall}
        }  # fmt: skip
        about["system"] = "Random"
        pair = {"category": "check", "second": wrong, "expected": {"choice": "first"}}
        assert found["pairwise"] == {**picture, **pair, "first": right}
        assert found["triplet"] == {**text, **pair, "first": people[image], "reference": right}


def test_similar_captions_make_no_checks() -> None:
    captions: dict[ImageId, str] = {1: "a dog runs on grass", 2: "a dog runs on a lawn"}
    judged = JudgedCaptions(
        systems={"Human": captions}, references={each: [text] for each, text in captions.items()}, pictures={}
    )
    assert judged.known == []
