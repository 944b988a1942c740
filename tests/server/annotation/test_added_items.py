"""Items that are added while people work: by API and command line, with early stopping and sampling."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.additions import extend_campaign
from capeval_server.annotation.campaigns.copies import clone_campaign
from capeval_server.annotation.campaigns.item_files import ItemFiles
from capeval_server.annotation.models import Campaign, Response, Slot
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses.adaptive_sampling import replay
from capeval_server.annotation.responses.assignment import assign_work
from capeval_server.core.errors import CampaignError, CampaignFilesError
from tests.server.annotation.test_api import user_program
from tests.server.annotation.test_campaign_api import staff, storage
from tests.server.annotation.test_campaign_commands import refused, run
from tests.server.annotation.test_pages import picture
from tests.server.campaigns import STUDY_LINES, answer, compare_systems, counted, hold, join, make

pytestmark = pytest.mark.django_db
__all__ = ["staff", "storage"]


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def triplet(key: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "reference": "a dog", "first": "a hound", "second": "a cat", **more}


def files(*rows: dict[str, Any]) -> ItemFiles:
    return ItemFiles(table_name="new.jsonl", table=lines(*rows), columns={}, images=None)


def pair(key: str, one: str, other: str) -> dict[str, Any]:
    texts = {"first": "a hound", "second": "a cat"}
    return {"key": key, "group": key, "first_by": one, "second_by": other, **texts, "reference": "a dog"}


def test_by_api(staff: Any) -> None:
    campaign = make(items=2)
    place = f"campaigns/{campaign.slug}/items"
    table = {"name": "new.csv", "content": "reference,near,second\na dog,a hound,a cat\n"}
    wrong = staff.ask("POST", place, table, 422)
    assert "no column for 'first'" in wrong["detail"]
    added = staff.ask("POST", place, {**table, "columns": {"first": "near"}}, 201)
    assert added == {"items": 1, "checks": 0, "training": 0, "images": 0, "wanted": 3}
    wrong = staff.ask(
        "POST", place, {"name": "n.jsonl", "content": lines(triplet("0"), triplet("1")).decode()}, 422
    )
    assert "duplicate 'key' '0' (in the campaign)" in wrong["detail"]
    assert "duplicate 'key' '1' (in the campaign)" in wrong["detail"]
    assert staff.ask("GET", place)["count"] == 3
    lifecycle.change_state(None, campaign, "closed")
    assert (
        "(it is closed)" in staff.ask("POST", place, {**table, "columns": {"first": "near"}}, 422)["detail"]
    )


def encoded(*widths: int) -> dict[str, str]:
    """Images in base64, by name."""
    return {f"{width}.jpg": base64.b64encode(picture(width)).decode() for width in widths}


def test_campaigns_with_images_by_api(staff: Any) -> None:
    definition = '[campaign]\nslug = "w"\ntitle = "W"\nkind = "write"\nimages = "images"\n'
    given = {"files": {"campaign.toml": definition}, "images": encoded(20, 30)}
    assert "Base64" in str(staff.ask("POST", "campaigns", {**given, "images": {"a.jpg": "a"}}, 422))
    wrong = staff.ask("POST", "campaigns", {**given, "images": {"a.jpg": "YQ=="}}, 422)["detail"]
    assert "a.jpg" in wrong
    staff.ask("POST", "campaigns", given, 201)
    images = {image["name"]: image["width"] for image in staff.ask("GET", "campaigns/w/images")["images"]}
    assert images == {"20.jpg": 20, "30.jpg": 30}
    items = {"name": "i.csv", "content": "image\n20.jpg\n40.jpg\n"}
    assert "40.jpg" in staff.ask("POST", "campaigns/w/items", items, 422)["detail"]
    rows = {**items, "content": "key,image\na,20.jpg\nb,40.jpg\n"}
    added = staff.ask("POST", "campaigns/w/items", {**rows, "images": encoded(40)}, 201)
    assert (added["items"], added["images"]) == (2, 1)
    # The same texts and settings with other items, which may name images of the campaign.
    copy: dict[str, Any] = {"slug": "v", "items": {"name": "i.csv", "content": "image\n40.jpg\n50.jpg\n"}}
    assert "50.jpg" in staff.ask("POST", "campaigns/w/copies", copy, 422)["detail"]
    copy["items"]["images"] = encoded(50)
    staff.ask("POST", "campaigns/w/copies", copy, 201)
    assert {item["image"] for item in staff.ask("GET", "campaigns/v/items")["items"]} == {"40.jpg", "50.jpg"}
    given = {"files": {"campaign.toml": definition.replace('"w"', '"v"')}, "images": encoded(60)}
    staff.ask("PUT", "campaigns/v", given)
    assert [image["name"] for image in staff.ask("GET", "campaigns/v/images")["images"]] == ["60.jpg"]


def test_drafts_by_api(staff: Any) -> None:
    definition = '[campaign]\nslug = "d"\ntitle = "{}"\nkind = "triplet"\nitems = "i.jsonl"\n[settings]\n'
    definition += STUDY_LINES
    given = {"campaign.toml": definition.format("Old"), "i.jsonl": lines(triplet("0")).decode()}
    staff.ask("POST", "campaigns", {"files": given}, 201)
    assert staff.ask("POST", "campaigns/d/copies", {"slug": "e"}, 201)["title"] == "Copy of Old"
    assert "is taken" in staff.ask("POST", "campaigns/d/copies", {"slug": "e"}, 422)["detail"]
    given = {"campaign.toml": definition.format("New"), "i.jsonl": lines(triplet("1"), triplet("2")).decode()}
    assert staff.ask("PUT", "campaigns/d", {"files": given})["title"] == "New"
    assert staff.ask("GET", "campaigns/d/items")["count"] == 2
    assert "campaign.slug must be 'e'" in staff.ask("PUT", "campaigns/e", {"files": given}, 422)["detail"]
    staff.ask("PUT", "campaigns/d/state", {"state": "open"})
    assert "it is not a draft" in staff.ask("PUT", "campaigns/d", {"files": given}, 422)["detail"]
    assert "it is not a draft" in staff.ask("DELETE", "campaigns/d", status=422)["detail"]
    staff.ask("DELETE", "campaigns/e", status=204)
    assert list(Campaign.objects.values_list("slug", flat=True)) == ["d"]
    other = user_program("other")
    for method, path, body in (
        ("DELETE", "d", None),
        ("PUT", "d", {"files": given}),
        ("POST", "d/copies", {"slug": "f"}),
    ):
        other.ask(method, f"campaigns/{path}", body, 404)


def test_by_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    (folder / "images").mkdir(parents=True)
    for number in range(3):
        (folder / "images" / f"{number}.jpg").write_bytes(picture(640 + number))
    path = folder / "campaign.toml"
    definition = '[campaign]\nslug = "w"\ntitle = "W"\nkind = "write"\nimages = "images"\n[settings]\n'
    path.write_text(definition + STUDY_LINES)
    assert run("create", path) == ["w: created as a draft; items: 3"]
    (folder / "images" / "3.jpg").write_bytes(picture(643))
    assert run("create", path, "--replace") == ["w: saved as a draft; items: 4"]
    run("state", "w", "open")
    items = tmp_path / "new.csv"
    items.write_text("image,keywords\n2.jpg,cart\n7.jpg,\n")
    assert "no image file '7.jpg'" in refused("add-items", "w", items)
    more = tmp_path / "more"
    more.mkdir()
    (more / "7.jpg").write_bytes(picture(700))
    added = "w: added items: 2; attention checks: 0; training items: 0; images: 1"
    assert run("add-items", "w", items, "--images", more) == [added]
    items.write_text("image\n2.jpg\n8.jpg\n")
    assert "requires '--items'" in refused("copy", "w", "v", "--images", more)
    assert "8.jpg" in refused("copy", "w", "v", "--items", items)
    (more / "8.jpg").write_bytes(picture(800))
    made = run("copy", "w", "v", "--items", items, "--images", more)
    assert made == ["v: created as a draft; items: 2"]
    assert run("copy", "w", "x") == ["x: created as a draft; items: 6"]
    assert "it is not a draft" in refused("delete", "w")
    assert run("delete", "x") == ["x: deleted; items: 6; images: 5; links: 0"]
    assert "it is not a draft" in refused("create", path, "--replace")
    assert run("audit", "w") == ["w: no problems found"]


def test_earlier_answers_and_releases_stay_the_same(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES = tmp_path / "releases"
    campaign = make(items=2, answers=1)
    worker = join(campaign)[0]
    for _ in range(2):
        answer(hold(worker))
    release = release_files.freeze(None, campaign, "1.0")
    before = list(Response.objects.values())
    extend_campaign(None, campaign, files(triplet("n", group="0", category="HC")))
    assert list(Response.objects.values()) == before
    assert counted(campaign) == 2
    answer(hold(worker))
    assert not list(audit(campaign))
    later = release_files.freeze(None, campaign, "1.1")
    assert release.responses.count() == 2
    assert later.responses.count() == 3
    assert release_files.verify(release) == release_files.verify(later) == 8


def test_an_ended_pair_stays_ended() -> None:
    campaign = make(items=4, answers=1, confidence=0.9, confidence_votes=4)
    for worker in join(campaign):
        while found := assign_work(worker).assignments:
            answer(found[0])
    ended = set(campaign.items.filter(free=0).values_list("key", flat=True))
    assert ended == {"0", "1", "2", "3"}
    extend_campaign(None, campaign, files(triplet("4", group="0"), triplet("5", group="9")))
    free = dict(campaign.items.values_list("key", "free"))
    assert Slot.objects.filter(item__campaign=campaign, item__key="4", closed=False).count() == free["4"]
    assert free["5"] == 1
    assert not list(audit(campaign))


def test_adaptive_sampling_chooses_added_systems() -> None:
    campaign = make(items=0, answers=1, next_pairs=2)
    compare_systems(campaign, 6)
    worker = join(campaign)[0]
    while found := assign_work(worker).assignments:
        answer(found[0])
    assert campaign.next_pairs.latest("number").systems == ["a", "b", "c"]
    extend_campaign(
        None, campaign, files(pair("n0", "a", "new"), pair("n1", "new", "b"), pair("n2", "a", "b"))
    )
    while found := assign_work(worker).assignments:
        answer(found[0])
    assert campaign.next_pairs.latest("number").systems == ["a", "b", "c", "new"]
    assert counted(campaign) == 9
    assert all(not each.differs for each in replay(campaign))
    assert not list(audit(campaign))


def test_problems_of_added_items() -> None:
    campaign = make(items=2)
    with pytest.raises(CampaignFilesError) as caught:
        extend_campaign(None, campaign, files(triplet("0"), {"key": "x"}, triplet("y"), triplet("y")))
    assert len(caught.value.problems) == 3
    with pytest.raises(CampaignError, match="the training must have at least 10 items"):
        extend_campaign(None, campaign, files(triplet("t", training=True, expected={"choice": "first"})))
    assert campaign.items.count() == 2


def test_items_are_added_between_an_assignment_and_its_answer() -> None:
    campaign = make(items=3, answers=2)
    workers = join(campaign, 3)
    held = {worker.pk: hold(worker) for worker in workers}
    for number in range(4):
        extend_campaign(None, campaign, files(*(triplet(f"n{number}-{each}") for each in range(2))))
        for worker in workers:
            answer(held[worker.pk])
            held[worker.pk] = hold(worker)
    for worker in workers:
        answer(held[worker.pk])
        while found := assign_work(worker).assignments:
            answer(found[0])
    assert (campaign.items.count(), counted(campaign)) == (11, 22)
    assert Slot.objects.filter(item__campaign=campaign).count() == 22
    assert not list(audit(campaign))
    copy = clone_campaign(None, campaign, "copy")
    order = ("key", "rank", "mirrors_odd")
    rows = [list(one.items.order_by("pk").values_list(*order)) for one in (campaign, copy)]
    assert rows[0] == rows[1]
