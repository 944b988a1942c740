"""Drafts and items of campaigns: copying, editing, deleting, and adding items to an open campaign."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from PIL import Image as Picture

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import make_from_files
from capeval_server.annotation.campaigns.deletion import delete_draft
from capeval_server.annotation.campaigns.images import build_images, insert_images
from capeval_server.annotation.models import Campaign, Image, Participation, Worker
from capeval_server.annotation.text_rules.rules import RULES
from capeval_server.annotation.workers.enrollment import invite
from capeval_server.audit.models import Action
from capeval_server.core.errors import ConflictError
from tests.server.campaigns import STUDY_LINES, join
from tests.server.kit import Someone, zipped
from tests.server.pages import check_page
from tests.server.web.test_new_campaign import Fields, send, storage
from tests.server.web.test_organizer_pages import hidden_fields

pytestmark = pytest.mark.django_db
__all__ = ["storage"]

COLORS = {"red.png": (200, 0, 0), "green.png": (0, 200, 0), "blue.png": (0, 0, 200)}


def paint(color: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Picture.new("RGB", (8, 6), color).save(out, "PNG")
    return out.getvalue()


IMAGES = {name: paint(color) for name, color in COLORS.items()}
ITEMS: list[dict[str, Any]] = [
    {"key": "a", "image": "red.png", "group": "1", "category": "HC", "first": "A", "second": "B"},
    {"key": "b", "image": "red.png", "group": "1", "category": "HM", "first": "C", "second": "D"},
    {"key": "c", "image": "green.png", "group": "2", "first": "E", "second": "F", "first_by": "x"},
    {"key": "d", "image": "green.png", "first": "G", "second": "H", "expected": {"choice": "first"}},
]
TRAINING: list[dict[str, Any]] = [
    {
        "key": f"t{number}",
        "image": "blue.png",
        "first": "I",
        "second": "J",
        "training": True,
        "expected": {"choice": "second"},
        "explanation": "It fits.",
    }
    for number in range(2)
]
DEFINITION = f"""
[campaign]
slug = "pairs"
title = "Pairs"
kind = "pairwise"
items = "items.jsonl"
images = "pictures"
instructions = "instructions.md"

[settings]
answers = 2
batch = 1
seed = 7
check_every = 0
repeat_every = 0
training_items = 2
training_right = 1
{STUDY_LINES}"""


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


@pytest.fixture
def staff() -> Someone:
    return Someone("staff", is_staff=True)


@pytest.fixture
def campaign(staff: Someone) -> Campaign:
    return make(staff.user)


def make(user: User, **changes: str) -> Campaign:
    text = DEFINITION
    for old, new in changes.items():
        text = text.replace(f'{old} = "pairs"', f'{old} = "{new}"')
    files = {"campaign.toml": text.encode(), "items.jsonl": lines([*ITEMS, *TRAINING]), **IMAGES}
    return make_from_files(user, {**files, "instructions.md": b"# Closer\n\nWhich one fits?"})


def describe(campaign: Campaign) -> list[tuple[Any, ...]]:
    """Return the content of all items of a campaign, with their order and sides."""
    parts = ("key", "group", "category", "payload", "expected", "explanation")
    flags = ("is_check", "is_training", "is_quiz", "rank", "mirrors_odd", "free")
    image = ("image__name", "image__digest", "image__large", "image__warning")
    return list(campaign.items.order_by("pk").values_list(*parts, *flags, *image))


def count_slots(campaign: Campaign) -> dict[str, int]:
    return {item.key: item.slots.count() for item in campaign.items.all()}


def open_page(who: Someone, place: str, **form: Any) -> str:
    """Submit a form, follow the redirect, and return the checked page."""
    sent = who.client.post(place, form, follow=True)
    assert sent.status_code == 200, sent.content.decode()
    page = sent.content.decode()
    check_page(page, sent.headers["Content-Security-Policy"])
    # `send` reads the forms of pages.
    return page


def list_files() -> set[str]:
    return set(default_storage.listdir("annotation")[1])


def test_a_draft_is_deleted_with_its_images(
    staff: Someone, campaign: Campaign, django_capture_on_commit_callbacks: Any
) -> None:
    other = make(staff.user, slug="other")
    other.images.filter(name="blue.png").update(small="annotation/none.jpg", large="annotation/none.jpg")
    invite(staff.user, campaign, 2)
    link = f'href="/campaigns/{campaign.slug}/delete/"'
    for place in ("/campaigns/", f"/campaigns/{campaign.slug}/"):
        assert link in staff.client.get(place).content.decode()
    page = staff.client.get(f"/campaigns/{campaign.slug}/delete/").content.decode()
    assert "6 items" in page
    assert "3 images" in page
    assert "2 invite links" in page
    before = list_files()
    blue = {
        Path(file).name for file in campaign.images.filter(name="blue.png").values_list("small", "large")[0]
    }
    with django_capture_on_commit_callbacks(execute=True):
        page = open_page(staff, f"/campaigns/{campaign.slug}/delete/")
        assert list_files() == before
    assert "Deleted the draft pairs." in page
    assert not Campaign.objects.filter(slug="pairs").exists()
    assert list_files() == before - blue
    assert (Image.objects.count(), Worker.objects.count(), other.items.count()) == (3, 0, 6)
    assert Action.objects.filter(what="deleted the draft of a campaign, pairs", user=staff.user).exists()


def test_a_campaign_that_workers_have_entered_is_not_deleted(staff: Someone, campaign: Campaign) -> None:
    lifecycle.change_state(None, campaign, "pilot")
    place = f"/campaigns/{campaign.slug}/"
    assert "it is not a draft (it is pilot)" in open_page(staff, f"{place}delete/")
    join(campaign)
    lifecycle.change_state(None, campaign, "draft")
    overview = staff.client.get(place).content.decode()
    assert f"{place}delete/" not in overview
    assert f"{place}edit/" not in overview
    for action in ("delete", "edit"):
        assert "workers have entered it" in open_page(staff, f"{place}{action}/")
    page = staff.client.get(f"{place}delete/").content.decode()
    assert "Delete the draft</button>" not in page
    assert Participation.objects.filter(campaign=campaign).count() == 1


def test_a_copy_is_equal_item_by_item(staff: Someone, campaign: Campaign) -> None:
    campaign.images.filter(name="red.png").update(warning="blood")
    lifecycle.change_state(None, campaign, "open")
    join(campaign)
    files = list_files()
    page = open_page(staff, f"/campaigns/{campaign.slug}/copy/", items="on")
    values = Fields(page).values
    assert (values["title"], values["slug"], values["answers"]) == ("Copy of Pairs", "", "2")
    assert "# Closer" in values["instructions"]
    page = send(staff, page)
    assert "Create the campaign copy-of-pairs?" in page
    image = re.search(r'<img src="(/new/campaign/image/[^"]+)"', page)
    assert image
    content = b"".join(staff.client.get(html.unescape(image[1])).streaming_content)  # type: ignore[attr-defined]
    assert content.startswith(b"\xff\xd8")
    sent = staff.client.post("/new/campaign/apply/", hidden_fields(page), follow=True)
    assert "Created the campaign." in sent.content.decode()
    made = Campaign.objects.get(slug="copy-of-pairs")
    assert describe(made) == describe(campaign)
    assert count_slots(made) == count_slots(campaign)
    assert list_files() == files
    assert (made.state, made.settings, made.title) == ("draft", campaign.settings, "Copy of Pairs")
    assert [text.instructions for text in made.texts.all()] == ["# Closer\n\nWhich one fits?"]
    assert not made.participations.exists()


def test_a_copy_without_items_needs_files(staff: Someone, campaign: Campaign) -> None:
    page = open_page(staff, f"/campaigns/{campaign.slug}/copy/")
    assert "items.jsonl" not in page
    page = send(staff, page, 422)
    assert "This field is required" in page
    files: dict[str, Any] = {"items": ("new.jsonl", lines(ITEMS[:1])), "pictures": ("p.zip", zipped(IMAGES))}
    assert "<dt>Items</dt><dd>1</dd>" in send(staff, page, **files)


def test_a_copy_keeps_word_lists_and_quiz(staff: Someone) -> None:
    text = '[campaign]\nslug = "w"\ntitle = "W"\nkind = "write"\nquiz = "write-coco"\nimages = "pictures"\n'
    text += "[settings]\ntraining_items = 4\ntraining_right = 3\n"
    text += '[rules]\nshort = "off"\nblocked_words = ["foo"]\n'
    campaign = make_from_files(staff.user, {"campaign.toml": text.encode(), **IMAGES})
    page = send(staff, open_page(staff, f"/campaigns/{campaign.slug}/copy/", items="on"))
    staff.client.post("/new/campaign/apply/", hidden_fields(page))
    made = Campaign.objects.get(slug="copy-of-w")
    assert describe(made) == describe(campaign)
    assert made.items.filter(is_quiz=True).count() > 4
    assert made.texts.get().rules == campaign.texts.get().rules == {"short": "off", "blocked_words": ["foo"]}
    assert "short" in RULES


def test_a_draft_is_edited_in_one_step(
    staff: Someone, campaign: Campaign, django_capture_on_commit_callbacks: Any
) -> None:
    [token] = invite(staff.user, campaign, 1)
    page = open_page(staff, f"/campaigns/{campaign.slug}/edit/")
    assert "Edit the draft pairs" in page
    assert Fields(page).values["title"] == "Pairs"
    # All problems at once, and nothing changes.
    wrong: list[dict[str, Any]] = [
        {**ITEMS[0], "image": "none.png"},
        {"key": "z", "image": "red.png", "first": "A"},
    ]
    page = html.unescape(send(staff, page, 422, title="New", items=("new.jsonl", lines(wrong))))
    assert "2 problems." in page
    assert campaign.items.count() == 6
    new = [{**ITEMS[0], "first": "Z"}, {**ITEMS[0], "key": "n", "image": "new.png"}]
    images = {"new.png": paint((1, 2, 3)), "red.png": paint((9, 9, 9))}
    page = send(staff, page, items=("new.jsonl", lines(new)), pictures=("new.zip", zipped(images)))
    assert "Save the draft pairs?" in page
    before = list_files()
    with django_capture_on_commit_callbacks(execute=True):
        sent = staff.client.post("/new/campaign/apply/", hidden_fields(page), follow=True)
    assert "Saved the draft." in sent.content.decode()
    campaign.refresh_from_db()
    assert (campaign.title, campaign.texts.count(), campaign.state) == ("New", 1, "draft")
    assert [row[0] for row in describe(campaign)] == ["a", "n"]
    assert set(campaign.images.values_list("name", flat=True)) == {"red.png", "new.png"}
    # The old images are gone, and the new ones are stored.
    assert len(list_files()) == 4
    assert not list_files() & before
    assert campaign.participations.get().worker.digest is not None
    assert token
    assert Action.objects.filter(what="edited the draft of the campaign pairs with 2 items").exists()


def test_an_edit_does_not_overwrite_later_changes(staff: Someone, campaign: Campaign) -> None:
    page = send(staff, open_page(staff, f"/campaigns/{campaign.slug}/edit/"), title="Mine")
    lifecycle.set_answers(None, campaign, 5)
    sent = staff.client.post("/new/campaign/apply/", hidden_fields(page), follow=True)
    assert "the draft has changed since you began to edit it" in sent.content.decode()
    campaign.refresh_from_db()
    assert (campaign.title, campaign.settings["answers"], campaign.items.count()) == ("Pairs", 5, 6)


NEW: list[dict[str, Any]] = [
    {"key": "e", "image": "green.png", "group": "2", "first": "K", "second": "L"},
    {"key": "f", "image": "again.png", "group": "2", "first": "M", "second": "N"},
    {"key": "g", "image": "new.png", "first": "O", "second": "P"},
]


def test_items_are_added_while_a_campaign_is_open(staff: Someone, campaign: Campaign) -> None:
    lifecycle.change_state(None, campaign, "open")
    before, slots = describe(campaign), count_slots(campaign)
    add = f"/campaigns/{campaign.slug}/items/add/"
    assert f'href="{add}"' in staff.client.get(f"/campaigns/{campaign.slug}/items/").content.decode()
    # All keys that exist already are reported at once.
    images = zipped({"again.png": IMAGES["red.png"], "new.png": paint((7, 7, 7))})
    files: dict[str, Any] = {"items": ("new.jsonl", lines([*ITEMS[:2], *NEW])), "pictures": ("p.zip", images)}
    page = html.unescape(send(staff, add, 422, **files))
    assert "2 problems." in page
    for key in "ab":
        assert f"duplicate 'key' '{key}' (in the campaign)" in page
    page = send(staff, page, items=("new.jsonl", lines(NEW)))
    assert "<dt>New items</dt><dd>3</dd>" in page
    assert "<dt>New images</dt><dd>1</dd>" in page
    # Checks and training items are no items to answer.
    work = campaign.items.filter(is_check=False).count()
    assert work < campaign.items.count()
    assert f"<dt>Items before</dt><dd>{work}</dd>" in page
    assert describe(campaign) == before
    sent = staff.client.post(f"{add}apply/", hidden_fields(page), follow=True)
    assert "Added 3 items." in sent.content.decode()
    assert describe(campaign)[: len(before)] == before
    assert count_slots(campaign) == {**slots, "e": 2, "f": 2, "g": 2}
    assert campaign.items.filter(image__name="red.png", key="f").exists()
    assert campaign.images.count() == 4
    assert Action.objects.filter(what="added 3 items to the campaign pairs", user=staff.user).exists()
    # The order and the sides are those of a campaign that had all items from the beginning.
    page = send(staff, open_page(staff, f"/campaigns/{campaign.slug}/copy/", items="on"))
    staff.client.post("/new/campaign/apply/", hidden_fields(page))
    assert describe(Campaign.objects.get(slug="copy-of-pairs")) == describe(campaign)


def test_columns_of_added_items_are_assigned(staff: Someone, campaign: Campaign) -> None:
    table = b"photo,one,other\nred.png,A,B\nblue.png,C,D\n"
    page = send(staff, f"/campaigns/{campaign.slug}/items/add/", 422, items=("new.csv", table))
    assert "no column for" in page
    assigned: dict[str, Any] = {
        "part-image": "column:photo",
        "part-first": "column:one",
        "part-second": "column:other",
    }
    page = send(staff, page, **assigned)
    staff.client.post(f"/campaigns/{campaign.slug}/items/add/apply/", hidden_fields(page))
    assert campaign.items.count() == 8
    # Created keys are new.
    page = send(staff, f"/campaigns/{campaign.slug}/items/add/", 422, items=("new.csv", table))
    page = send(staff, page, **assigned)
    staff.client.post(f"/campaigns/{campaign.slug}/items/add/apply/", hidden_fields(page))
    keys = list(campaign.items.order_by("pk").values_list("key", flat=True))
    assert keys[6:] == ["red", "blue", "red-1", "blue-1"]


def test_items_are_not_added_to_a_campaign_that_is_closed(staff: Someone, campaign: Campaign) -> None:
    add = f"/campaigns/{campaign.slug}/items/add/"
    page = send(staff, add, items=("new.jsonl", lines([{**ITEMS[0], "key": "n"}])))
    lifecycle.change_state(None, campaign, "open")
    lifecycle.change_state(None, campaign, "closing")
    sent = staff.client.post(f"{add}apply/", hidden_fields(page), follow=True)
    assert "(it is closing)" in sent.content.decode()
    assert "Reopen the campaign first" in staff.client.get(add).content.decode()
    assert campaign.items.count() == 6


def test_other_users_find_none_of_the_pages(campaign: Campaign) -> None:
    other = Someone("other")
    for page in ("delete/", "copy/", "edit/", "items/add/", "items/add/apply/"):
        assert other.client.post(f"/campaigns/{campaign.slug}/{page}").status_code == 404
    assert campaign.items.count() == 6


def test_files_are_kept_for_campaigns_that_are_created_meanwhile(
    campaign: Campaign, django_capture_on_commit_callbacks: Any
) -> None:
    stored: list[str] = []
    other = Campaign.objects.create(slug="other", title="Other", kind="write", settings={})
    # A second campaign has found the files of the first one, but has no rows yet.
    built = build_images(other, IMAGES, IMAGES.__getitem__, stored, {})
    assert (len(built.rows), stored) == (len(IMAGES), [])
    with django_capture_on_commit_callbacks(execute=True):
        delete_draft(None, campaign)
    with pytest.raises(ConflictError, match="deleted at the same time"):
        insert_images(built.rows, stored)
    # A file without a row belongs to an unfinished deletion, or to a campaign that is not stored yet.
    name = built.rows[0].small
    default_storage.save(name, ContentFile(b"old"))
    again = build_images(other, IMAGES, IMAGES.__getitem__, stored, {})
    assert again.rows[0].small != name
    assert {row.small for row in again.rows} | {row.large for row in again.rows} == set(stored)
