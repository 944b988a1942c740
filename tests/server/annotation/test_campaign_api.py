"""API of campaign managers: a whole campaign up to a verified release, and everything of the pages."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from ninja.operation import PathView

from capeval_server.annotation.campaigns.creation import make_from_files
from capeval_server.annotation.models import Campaign, Image, KnownCaption, Participation, Release, Response
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.workers import enrollment
from capeval_server.api import (
    annotation_campaigns,
    annotation_items,
    annotation_releases,
    annotation_reviews,
    annotation_settings,
    annotation_statistics,
    annotation_workers,
)
from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge
from tests.server.annotation.test_api import Program, files, user_program
from tests.server.annotation.test_pages import picture
from tests.server.annotation.test_releases import PLANS, filled
from tests.server.campaigns import answer, hold, join, make

pytestmark = pytest.mark.django_db
ROUTERS = [
    module.router
    for module in (
        annotation_campaigns,
        annotation_items,
        annotation_releases,
        annotation_reviews,
        annotation_settings,
        annotation_statistics,
        annotation_workers,
    )
]


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}
    settings.RELEASES = tmp_path / "releases"


@pytest.fixture
def staff() -> Program:
    return user_program("staff", is_staff=True)


def load(program: Program, path: str, status: int = 200) -> dict[str, bytes]:
    """Return the files of a downloaded zip."""
    got = program.client.get(f"/api/{path}")
    assert got.status_code == status, got.content
    assert got["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def work(campaign: str, token: str) -> None:
    """Answer all items of a triplet campaign for the hound."""
    worker = Program(token)
    worker.ask("POST", f"annotate/{campaign}/agree", {"texts": 1})
    while batch := worker.ask("POST", f"annotate/{campaign}/next", {})["items"]:
        for item in batch:
            side = "left" if item["shown"]["left"] == "a hound" else "right"
            place = f"annotate/{campaign}/items/{item['lease']}/answer"
            worker.ask("POST", place, {"answer": {"choice": side}, "key": item["lease"]})


def test_a_whole_campaign_up_to_a_verified_release(staff: Program) -> None:
    staff.ask("POST", "campaigns", files(), 201)
    place = "campaigns/similar"
    assert staff.ask("GET", f"{place}/plan")["to_go"] == 4
    staff.ask("PUT", f"{place}/state", {"state": "open"})
    unfinished = staff.ask("GET", f"{place}/items?which=unfinished")
    assert [(one["key"], one["counted"], one["wanted"]) for one in unfinished["items"]] == [
        ("0", 0, 2),
        ("1", 0, 2),
    ]
    for token in staff.ask("POST", f"{place}/invites", {"number": 2}, 201)["tokens"]:
        work("similar", token)
    (listed,) = staff.ask("GET", "campaigns")["campaigns"]
    expected = {"slug": "similar", "kind": "triplet", "state": "open", "counted": 4, "wanted": 4}
    assert {name: listed[name] for name in expected} == expected
    assert staff.ask("GET", f"{place}/items?which=unfinished")["count"] == 0
    assert staff.ask("GET", f"{place}/pace")["classes"] == [
        {"name": "HC", "items": 2, "wanted": 4, "counted": 4}
    ]
    assert "pairs.csv" in load(staff, f"{place}/results.zip")
    staff.ask("PUT", f"{place}/state", {"state": "closed"})
    frozen = staff.ask("POST", f"{place}/releases", {"name": "1.0"}, 201)
    assert (frozen["name"], frozen["answers"], frozen["outdated"], frozen["who"]) == ("1.0", 4, 0, "staff")
    verified = staff.ask("POST", f"{place}/releases/1.0/verify", None)
    found = load(staff, f"{place}/releases/1.0/files.zip")
    # The manifest, and the files that it lists, and provenance.csv.
    listed = json.loads(found["1.0/manifest.json"])["files"]
    assert set(found) == {"1.0/manifest.json", "provenance.csv", *(f"1.0/{name}" for name in listed)}
    assert verified == {"files": len(found), "outdated": 0}
    assert b"a hound" in found["1.0/judgments.csv"]
    assert found["provenance.csv"].count(b"\n") == 5
    assert Action.objects.filter(user__username="staff", what__contains="downloaded the release 1.0").exists()
    (only,) = staff.ask("GET", f"{place}/releases")["releases"]
    assert only == staff.ask("GET", f"{place}/releases/1.0")
    assert frozen == {**only, "warnings": frozen["warnings"]}
    assert "already exists" in staff.ask("POST", f"{place}/releases", {"name": "1.0"}, 422)["detail"]


# Content that operations accept: each of `STRICT` its own, all others those of these fields that they have.
FIELDS = {
    "state": "open",
    "answers": 2,
    "rules": {},
    "pay_per_answer": "1",
    "currency": "EUR",
    "number": 1,
    "image": "x",
    "warning": "",
    "item": "0",
    "held": True,
    "reason": "r",
    "user": "x",
    "verdict": "fine",
    "challenge": "x",
    "split": "x",
    "references": "x",
    "files": {},
    "slug": "copy",
}
STRICT = {
    "quality": {},
    "panel": {"name": "x", "answers": 1},
    "known": {"submissions": True},
    "releases": {"name": "1.0"},
    "items": {"name": "items.csv", "content": ""},
}


def list_body_fields(view: PathView) -> set[str]:
    """Return the names of the fields of the request bodies of a path's operations."""
    return {
        name
        for operation in view.operations
        for model in operation.models
        if model.__ninja_param_source__ == "body"
        for field in model.model_fields.values()
        for name in field.annotation.model_fields
    }


def test_others_find_nothing(staff: Program) -> None:
    campaign = make()
    (worker,) = join(campaign)
    values = {
        "slug": campaign.slug,
        "name": "1.0",
        "pseudonym": worker.worker.pseudonym,
        "number": "1",
        "size": "small",
        "response_id": "1",
    }
    reader = Client(headers={"Authorization": "Bearer none"})
    stranger, asked = user_program("stranger"), 0
    for router in ROUTERS:
        for path, view in router.path_operations.items():
            address = f"/api/campaigns{path.format(**values)}"
            for method in (one for operation in view.operations for one in operation.methods):
                fields = {**FIELDS, "reason": ""} if "reviews" in path else FIELDS
                known = list_body_fields(view)
                fields = {name: value for name, value in fields.items() if name in known}
                body = json.dumps(STRICT.get(path.rpartition("/")[2], fields))
                content = (method, address, body if method != "GET" else "", "application/json")
                assert reader.generic(*content).status_code == 401, content
                if path:
                    answered = stranger.client.generic(*content)
                    assert answered.status_code == 404, (content, answered.content)
                asked += 1
    assert asked > 45
    assert stranger.ask("GET", "campaigns") == {"count": 0, "campaigns": []}
    assert staff.ask("GET", "campaigns")["count"] == 1


def test_releases_of_captions(staff: Program, challenge: Challenge) -> None:
    campaign = filled()
    place = f"campaigns/{campaign.slug}"
    short = {"val": {"images": 9, "references": 2}}
    refused = staff.ask("POST", f"{place}/releases", {"name": "1.0", "plans": short}, 422)["detail"]
    assert "9" in refused
    assert "/" not in refused.split()[0]
    for wrong in ({"name": "1.0", "leaveout": True}, {"name": "../x"}, {}, {"name": "x" * 51}):
        staff.ask("POST", f"{place}/releases", wrong, 422)
    assert not Release.objects.exists()
    made = staff.ask("POST", f"{place}/releases", {"name": "1.0", "plans": PLANS, "seed": 3}, 201)
    assert (made["splits"], made["answers"]) == (["val"], 12)
    assert "challenge.toml" in load(staff, f"{place}/releases/1.0/challenge.zip")
    refused = staff.ask("GET", f"{place}/results.zip", status=422)["detail"]
    assert "the task type must be one of" in refused
    wanted = {"challenge": "small", "split": "val", "references": "c2"}
    # The images of the release are not those of the challenge.
    staff.ask("POST", f"{place}/releases/1.0/references", wanted, 422)
    staff.ask("POST", f"{place}/releases/1.0/references", {**wanted, "references": "none"}, 404)
    missing = staff.ask("POST", f"{place}/releases/2.0/verify", None, 404)
    assert missing == {"detail": "the campaign has no release '2.0'"}
    folder = release_files.folder_of(Release.objects.get())
    (folder / "private" / "captions_val.json").write_text("{}")
    for path, content in (("verify", None), ("references", wanted)):
        problem = staff.ask("POST", f"{place}/releases/1.0/{path}", content, 409)["detail"]
        assert problem.startswith("the release 1.0 has changed since it was frozen: ")
    assert "cannot be used" in staff.ask("GET", f"{place}/releases/1.0/challenge.zip", status=422)["detail"]


def test_agreement_and_plan(staff: Program) -> None:
    campaign = make(answers=2, items=2)
    place = f"campaigns/{campaign.slug}"
    assert staff.ask("GET", f"{place}/agreement") == {"questions": [], "captions": None}
    for worker in join(campaign, 2):
        for _ in range(2):
            answer(hold(worker))
    (found,) = staff.ask("GET", f"{place}/agreement")["questions"]
    assert (found["category"], found["items"], found["answers"]) == ("HC", 2, 4)
    assert sum(found["shares"].values()) == 4
    assert found["alpha"] is None or found["alpha"]["note"].startswith("Alpha: Krippendorff's alpha")
    plan = staff.ask("GET", f"{place}/plan?seconds=36&hourly=10&fee=0.5&workers=1&hours=1")
    assert (plan["wanted"], plan["to_go"], plan["given"]) == (4, 0, 4)
    assert (plan["days"], plan["cost"]) == pytest.approx((0.04, 0.6))
    assert 0 < plan["forecast"]["width"] < 1
    assert plan["agreement"]["yes"] == 0.5
    staff.ask("GET", f"{place}/plan?seconds=0", status=422)
    staff.ask("POST", f"{place}/agreement/reviews", None, 422)
    captions = filled(items=2, answers=4)
    found = staff.ask("GET", f"campaigns/{captions.slug}/agreement")
    assert found["questions"] == []
    assert (found["captions"]["compared"], found["captions"]["captions"]) == (2, 8)
    unlike = found["captions"]["unlike"]
    sent = staff.ask("POST", f"campaigns/{captions.slug}/agreement/reviews", None)
    assert sent == {"captions": unlike}


def test_a_plan_starts_from_the_pay_and_the_assumed_agreement(staff: Program) -> None:
    campaign = make(answers=3, items=4, pay_per_answer="0.10", currency="EUR")
    place = f"campaigns/{campaign.slug}"
    plan = staff.ask("GET", f"{place}/plan?yes=0.7&concentration=0.2")
    assert (plan["measured"], plan["agreement"]) == (False, {"yes": 0.7, "concentration": 0.2})
    assert plan["hourly"] == pytest.approx(0.10 * 3600 / plan["seconds"], abs=0.01)
    assert staff.ask("GET", f"{place}/plan?hourly=7")["hourly"] == 7
    captions = staff.ask("GET", f"campaigns/{make('write').slug}/plan")
    assert (captions["forecast"], captions["agreement"]) == (None, None)


def test_settings_and_lists_of_workers(staff: Program) -> None:
    campaign = make(answers=3, items=2)
    place = f"campaigns/{campaign.slug}"
    settings = staff.ask("GET", f"{place}/settings")["settings"]
    assert settings == campaign.settings
    (worker,) = join(campaign)
    answer(hold(worker))
    (row,) = staff.ask("GET", f"{place}/workers/statistics")["workers"]
    assert (row["pseudonym"], row["counted"], row["stage"]) == (worker.worker.pseudonym, 1, "working")
    assert row["checks"] == {"number": 0, "of": 0}
    (token,) = enrollment.invite(None, campaign, 1)
    invited = enrollment.get_invited(campaign, token).worker.pseudonym
    staff.ask("POST", f"{place}/workers/{invited}/revoke", None, 204)
    Program(token).ask("GET", f"annotate/{campaign.slug}", status=401)
    pseudonym = worker.worker.pseudonym
    for method, path, content, status, text in (
        ("POST", f"{place}/workers/nobody/revoke", None, 404, "the campaign has no worker 'nobody'"),
        ("POST", f"{place}/workers/{pseudonym}/lift", {"reason": "x"}, 422, "this worker is not blocked"),
        ("GET", f"{place}/panel", None, 404, "the campaign has no panel"),
        ("GET", f"{place}/images/7/small", None, 404, "the campaign has no image with the number 7"),
        ("GET", "campaigns/none", None, 404, "there is no campaign 'none' that you manage"),
    ):
        assert staff.ask(method, path, content, status) == {"detail": text}
    other = user_program("other")
    for line, text in (("", "name one as campaign.challenge"), ('challenge = "c"', "challenge 'c' that")):
        file = f'[campaign]\nslug = "a"\ntitle = "A"\nkind = "triplet"\nitems = "items.csv"\n{line}'
        files = {"campaign.toml": file, "items.csv": "reference,first,second\na,b,c\n"}
        assert text in other.ask("POST", "campaigns", {"files": files}, 404)["detail"]


def test_items_and_known_captions(staff: Program, challenge: Challenge) -> None:
    campaign = make("write", items=2, review_first=0, batch=2)
    place = f"campaigns/{campaign.slug}"
    (first, second) = staff.ask("GET", f"{place}/items")["items"]
    assert first["payload"] == {"keywords": ["cart"]}
    assert staff.ask("GET", f"{place}/items?start=1")["items"] == [second]
    staff.ask("PUT", f"{place}/held", {"item": "0", "held": True, "reason": "a face"})
    (held,) = staff.ask("GET", f"{place}/items?which=reported")["items"]
    assert (held["key"], held["held_reason"], held["releases"]) == ("0", "a face", [])
    staff.ask("GET", f"{place}/items?which=other", status=422)
    known = {"captions": {"1": ["A cart."], "": ["nothing to see", "Nothing to see"]}}
    assert staff.ask("POST", f"{place}/known", known) == {"added": 2, "count": 2}
    assert staff.ask("POST", f"{place}/known", known) == {"added": 0, "count": 2}
    assert KnownCaption.objects.filter(key="").count() == 1
    for wrong in ({}, {**known, "submissions": True}, {"captions": {"\0": ["x"]}}, {"other": 1}):
        staff.ask("POST", f"{place}/known", wrong, 422)
    assert "challenge" in staff.ask("POST", f"{place}/known", {"submissions": True}, 422)["detail"]
    Campaign.objects.update(challenge=challenge)
    assert staff.ask("POST", f"{place}/known", {"submissions": True}) == {"added": 0, "count": 2}
    (worker,) = join(campaign)
    answer(hold(worker), "a cart")
    assert staff.ask("GET", f"{place}/reviews")["answers"][0]["reasons"] == [
        "the same as a caption known elsewhere"
    ]


DEFINITION = """
[campaign]
slug = "streets"
title = "Streets"
kind = "write"
items = "items.jsonl"
images = "."
[settings]
review_first = 0
check_every = 0
"""


@pytest.fixture
def streets() -> Campaign:
    """A campaign with one image, which is open."""
    item = json.dumps({"key": "1", "image": "1.jpg", "keywords": []}).encode()
    content = {"campaign.toml": DEFINITION.encode(), "items.jsonl": item, "1.jpg": picture(7)}
    made = make_from_files(None, content)
    Campaign.objects.update(state="open")
    return made


def test_images(staff: Program, streets: Campaign) -> None:
    (listed,) = staff.ask("GET", "campaigns/streets/images")["images"]
    stored = Image.objects.get()
    assert listed == {
        "number": stored.pk,
        "name": "1.jpg",
        "width": stored.width,
        "height": stored.height,
        "license": "",
        "author": "",
        "source": "",
        "warning": "",
    }
    got = staff.client.get(f"/api/campaigns/streets/images/{stored.pk}/small")
    assert (got.status_code, got["Content-Type"]) == (200, "image/jpeg")
    assert b"".join(got).startswith(b"\xff\xd8")
    assert "no-store" in got["Cache-Control"]
    for path in (f"{stored.pk}/huge", f"{stored.pk + 1}/small"):
        assert staff.client.get(f"/api/campaigns/streets/images/{path}").status_code in (404, 422)


def test_a_program_gets_the_image_of_its_item(streets: Campaign) -> None:
    tokens = enrollment.invite(None, streets, 2)
    worker, other = map(Program, tokens)
    for program in (worker, other):
        program.ask("POST", "annotate/streets/agree", {"texts": 1})
    (item,) = worker.ask("POST", "annotate/streets/next", {})["items"]
    for size in ("small", "large"):
        address = item["image"][size]
        assert address == f"http://testserver/api/annotate/streets/items/{item['lease']}/image/{size}"
        got = worker.client.get(address)
        assert (got.status_code, got["Content-Type"]) == (200, "image/jpeg")
        assert b"".join(got).startswith(b"\xff\xd8")
        assert "1.jpg" not in str(got.headers)
        assert "no-store" in got["Cache-Control"]
        assert other.client.get(address).status_code == 404
        assert Client().get(address).status_code == 401
    Image.objects.update(warning="blood")
    worker.client.get(item["image"]["small"]).close()
    held = Participation.objects.get(assignments__lease=item["lease"]).assignments.get()
    assert held.warned_shown is not None
    held.item.held = True
    held.item.save(update_fields=["held"])
    assert worker.client.get(item["image"]["small"]).status_code == 404
    (plain,) = join(make("write", items=1))
    assert hold(plain).item.image is None


def test_items_without_images_have_no_address() -> None:
    campaign = make("write", items=1)
    (token,) = enrollment.invite(None, campaign, 1)
    worker = Program(token)
    worker.ask("POST", f"annotate/{campaign.slug}/agree", {"texts": 1})
    assert worker.ask("POST", f"annotate/{campaign.slug}/next", {})["items"][0]["image"] is None
    assert not Response.objects.exists()
    assert not User.objects.exists()
