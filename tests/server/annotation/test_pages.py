"""Annotator pages without JavaScript, and their images."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.test import Client
from PIL import Image as Pillow

from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.models import (
    Assignment,
    Campaign,
    Draft,
    Image,
    Participation,
    Report,
    Response,
)
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.responses.content_warnings import set_warning
from capeval_server.annotation.workers import enrollment
from capeval_server.audit.models import Action
from capeval_server.core.errors import CampaignError, NotFoundError
from tests.server.campaigns import STUDY_LINES, counted, make
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

FILE = f"""
[campaign]
slug = "streets"
title = "Streets"
kind = "write"
consent = "consent.md"
items = "items.jsonl"
images = "images"

[rules]
short = "off"

[settings]
answers = 2
{STUDY_LINES}"""


def picture(width: int = 640, height: int = 400, kind: str = "JPEG", **more: Any) -> bytes:
    out = io.BytesIO()
    Pillow.new("RGB", (width, height), (200, 30, 30)).save(out, kind, **more)
    return out.getvalue()


def write_campaign(folder: Path, pictures: dict[str, bytes]) -> Path:
    (folder / "images").mkdir()
    lines = []
    for number, (name, content) in enumerate(pictures.items()):
        (folder / "images" / name).write_bytes(content)
        lines.append(f'{{"key": "{number}", "image": "{name}", "keywords": ["cart", "person"]}}\n')
    (folder / "items.jsonl").write_text("".join(lines))
    (folder / "consent.md").write_text("Your sentences are published.")
    (folder / "campaign.toml").write_text(FILE)
    return folder / "campaign.toml"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    pictures = {f"street{number}.jpg": picture(640 + number) for number in range(6)}
    return change_state(None, make_campaign(None, write_campaign(tmp_path, pictures)), "open")


def enter(campaign: Campaign) -> Client:
    (token,) = enrollment.invite(None, campaign, 1)
    client = Client()
    answer = client.get(f"/annotate/{campaign.slug}/enter/{token}/", follow=True)
    assert answer.redirect_chain == [(f"/annotate/{campaign.slug}/", 302)]
    return client


def page(client: Client, campaign: Campaign) -> str:
    answer = client.get(f"/annotate/{campaign.slug}/")
    assert answer.status_code == 200
    text = answer.content.decode()
    check_page(text, answer.headers["Content-Security-Policy"])
    return text


def test_from_the_link_to_the_last_answer_without_an_account(campaign: Campaign) -> None:
    client = enter(campaign)
    texts = page(client, campaign)
    assert "Describe all the <strong>important parts</strong> of the scene." in texts
    assert "Your sentences are published." in texts
    assert Assignment.objects.count() == 0
    client.post("/annotate/streets/agree/", {"texts": "7"})
    assert "instructions have changed" in page(client, campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    work = page(client, campaign)
    assert "Keywords: cart, person" in work
    assert "(1/5)" in work
    assert "<kbd>Alt</kbd>+<kbd>K</kbd>" in work
    assert 'alt="Image 1 of 5, to be described"' in work
    assert "street" not in work.replace("streets", "")
    for held in Assignment.objects.order_by("place"):
        place = f"/annotate/streets/{held.lease}"
        refused = client.post(f"{place}/answer/", {"caption": " "}, follow=True)
        assert "Not stored: the sentence must not be empty." in refused.content.decode()
        done = client.post(f"{place}/answer/", {"caption": "a cart stands in a street"}, follow=True)
        assert "Your answer is stored." in done.content.decode()
    assert counted(campaign) == 5
    assert "(1/1)" in page(client, campaign)
    (last,) = Assignment.objects.filter(state="held")
    client.post(f"/annotate/streets/{last.lease}/aside/", {"reason": "not loading", "note": "gray"})
    assert "You have answered 5 items." in page(client, campaign)


def test_answers_of_the_batch_can_be_changed_on_a_new_page(campaign: Campaign) -> None:
    client = enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    page(client, campaign)
    held = Assignment.objects.order_by("place")[1]
    place = f"/annotate/streets/{held.lease}/answer/"
    client.post(place, {"caption": "a cart stands in a street"})
    work = page(client, campaign)
    assert ">a cart stands in a street</textarea>" in work
    assert re.findall(r'data-revision="(\d)"', work) == ["0", "1", "0", "0", "0"]
    assert "1 answered" in work
    client.post(place, {"caption": "a red cart stands in a street", "revision": "2"})
    assert ">a red cart stands in a street</textarea>" in page(client, campaign)
    assert counted(campaign) == 1


def test_a_choice_is_shown_on_its_side_again() -> None:
    campaign = make(answers=1, items=4, batch=4, pay_per_answer="0.25", currency="GBP")
    client = Client()
    (token,) = enrollment.invite(None, campaign, 1)
    client.get(f"/annotate/{campaign.slug}/enter/{token}/")
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})
    page(client, campaign)
    for held in Assignment.objects.order_by("place")[:2]:
        client.post(f"/annotate/{campaign.slug}/{held.lease}/answer/", {"choice": "right"})
    work = page(client, campaign)
    pressed = re.findall(r'value="(left|right)" class="option" data-place="\d" aria-pressed="true"', work)
    assert pressed == ["right", "right"]
    assert {held.mirrored for held in Assignment.objects.all()} == {True, False}
    assert "2 answered" in work
    assert "0.50 GBP" in work


def test_what_the_script_sends(campaign: Campaign) -> None:
    client = enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    page(client, campaign)
    held = Assignment.objects.order_by("place")[0]
    place = f"/annotate/streets/{held.lease}"
    assert client.post(f"{place}/draft/", {"caption": "a ca"}).status_code == 204
    assert Draft.objects.get().content == {"caption": "a ca"}
    assert ">a ca</textarea>" in page(client, campaign)
    script: dict[str, Any] = {"headers": {"Accept": "application/json"}}
    refused = client.post(f"{place}/answer/", {"caption": ""}, **script)
    assert (refused.status_code, refused.json()) == (422, {"detail": "the sentence must not be empty"})
    events = '{"keys": 20, "pastes": 0, "seconds": 3, "other": "x", "pasted": -1}'
    sent = {"caption": "a cart stands in a street", "events": events}
    for _ in range(2):
        done = client.post(f"{place}/answer/", sent, **script)
        assert (done.status_code, done.json()["outcome"]) == (200, "stored")
    assert Response.objects.get().events == {"keys": 20, "pastes": 0, "seconds": 3}
    other = client.post(f"{place}/answer/", {"caption": "another window"}, **script)
    assert other.json()["outcome"] == "answered"
    again = client.post(f"{place}/answer/", {"caption": "a red cart", "revision": "2"}, **script)
    assert again.json()["revision"] == 2
    for events in ("[", "[1]", "[" * 100_000, "1"):
        assert client.post(f"{place}/answer/", {**sent, "events": events}, **script).status_code == 200
    for revision in ("0", "-1", "x", "9" * 5000):
        wrong = client.post(f"{place}/answer/", {**sent, "revision": revision}, **script)
        assert wrong.status_code == 422


def test_pictures_are_for_who_holds_the_item(campaign: Campaign) -> None:
    client, other = enter(campaign), enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    page(client, campaign)
    held = Assignment.objects.order_by("place")[0]
    place = f"/annotate/streets/{held.lease}/image"
    for size, longest in (("small", 480), ("large", 640)):
        sent = client.get(f"{place}/{size}/")
        content = b"".join(sent)
        assert longest <= max(Pillow.open(io.BytesIO(content)).size) <= longest + 5
        assert sent.headers["Content-Disposition"] == 'inline; filename="image"'
        assert sent.headers["X-Content-Type-Options"] == "nosniff"
        assert "private" in sent.headers["Cache-Control"]
    for somebody in (other, Client()):
        assert somebody.get(f"{place}/small/").status_code == 404
    assert client.get(f"{place}/original/").status_code == 404
    participation = Participation.objects.get(pk=held.participation_id)
    assignment.set_aside(assignment.get_assignment(participation, held.lease), "skipped")
    assert client.get(f"{place}/small/").status_code == 404


def test_a_picture_with_a_warning_is_hidden_until_asked_for(campaign: Campaign) -> None:
    first, *others = campaign.images.order_by("pk")
    for image in others:
        set_warning(None, campaign, image.name, "blood <b>")
    client = enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    work = page(client, campaign)
    shown = Assignment.objects.exclude(item__image=first).count()
    assert work.count("Warning: blood &lt;b&gt;. Show the image</summary>") == shown > 0
    # A browser does not fetch images in a closed part of the page.
    assert work.count('loading="lazy"') == shown
    assert 'width="645" height="400"' in work
    set_warning(None, campaign, others[0].name, " ")
    assert page(client, campaign).count("Warning: ") == shown - 1
    with pytest.raises(NotFoundError):
        set_warning(None, campaign, "other.jpg", "blood")
    for text in ("x" * 201, "a\nb", "\0", "\ud800"):
        with pytest.raises(CampaignError, match="'warning' must be a line"):
            set_warning(None, campaign, first.name, text)
    assert Action.objects.filter(what__endswith="blood <b>").count() == 5


def test_authors_and_licenses_of_images_are_named_after_the_answers(campaign: Campaign) -> None:
    client = Client()
    (token,) = enrollment.invite(None, campaign, 1)
    texts = client.get(f"/annotate/{campaign.slug}/enter/{token}/", follow=True).content.decode()
    assert "To take part, you must be able to see images." in texts
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})
    place = f"/annotate/{campaign.slug}/"
    assert "Authors and licenses" not in client.get(place).content.decode()
    held = Assignment.objects.order_by("place")[1]
    Image.objects.filter(pk=held.item.image_id or 0).update(
        author="A. <Author>", license="CC BY 2.0", source="https://images.example.org/street1_o.jpg"
    )
    page = client.get(place).content.decode()
    end = page.partition('id="finished"')[2]
    assert re.findall(r"<li>(Image .*)</li>", end) == ["Image 2: A. &lt;Author&gt;, CC BY 2.0"]
    assert "images.example.org" not in page


def test_what_can_be_reported(campaign: Campaign) -> None:
    client = enter(campaign)
    client.post("/annotate/streets/agree/", {"texts": "1"})
    work = page(client, campaign)
    for reason, text in (
        ("not loading", "The image doesn't load"),
        ("number plate", "It shows a number plate"),
    ):
        assert f'<option value="{reason}">{text}</option>' in work.replace("&#x27;", "'")
    for held, reason in zip(Assignment.objects.order_by("place"), Report.Reason.values, strict=False):
        client.post(f"/annotate/streets/{held.lease}/aside/", {"reason": reason})
    assert set(Report.objects.values_list("reason", flat=True)) == set(Report.Reason.values[:5])


def test_links_and_users(campaign: Campaign) -> None:
    visitor = Client()
    for place in ("/annotate/streets/", "/annotate/other/"):
        sent = visitor.get(place)
        assert (sent.status_code, sent.headers["Location"]) == (302, f"/accounts/login/?next={place}")
    assert "If you have an invite link" in visitor.get("/accounts/login/").content.decode()
    assert Client().get("/annotate/streets/enter/work_invented/").status_code == 404
    client = enter(campaign)
    enrollment.revoke(None, Participation.objects.get())
    assert client.get("/annotate/streets/").status_code == 404
    user = Client()
    user.force_login(User.objects.create(username="ann"))
    assert "I agree" in page(user, campaign)


def test_pairs_and_triplets_have_pages() -> None:
    for kind in ("triplet", "pairwise"):
        campaign = make(kind, answers=1, items=1)
        client = enter(campaign)
        client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})
        assert "a hound" in page(client, campaign)
        held = Assignment.objects.get(item__campaign=campaign)
        client.post(f"/annotate/{campaign.slug}/{held.lease}/answer/", {"choice": "left"})
        assert counted(campaign) == 1


def test_pictures_lose_their_metadata_and_stand_upright(tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "Secretmarker"
    pictures = {
        "a.jpg": picture(800, 400, exif=exif.tobytes()),
        "b.png": picture(kind="PNG"),
        "c.webp": picture(kind="WEBP"),
        "d.gif": picture(kind="GIF"),
    }
    made = make_campaign(None, write_campaign(tmp_path, pictures))
    first = made.images.get(name="a.jpg")
    assert (first.width, first.height) == (400, 800)
    for row in made.images.all():
        for name in (row.small, row.large):
            with default_storage.open(name) as file:
                content = file.read()
            assert b"Secretmarker" not in content
            assert b"Exif" not in content
            assert not dict(Pillow.open(io.BytesIO(content)).getexif())


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'


def test_files_that_are_no_pictures(tmp_path: Path) -> None:
    bomb = picture(20_000, 20_000, kind="PNG")
    same = picture()
    exif = Pillow.Exif()
    exif[0x0112], exif[0x010E] = 6, "x"
    # A description becomes a width, which is no text.
    damaged = exif.tobytes().replace(b"\x01\x0e\x00\x02", b"\x01\x00\x00\x02")
    wrong: dict[str, tuple[dict[str, bytes], str]] = {
        "svg": ({"a.svg": SVG}, "a.svg: an image must be JPEG, PNG, WebP or GIF"),
        "svg by another name": ({"a.jpg": SVG}, "a.jpg: an image must be JPEG"),
        "wide": ({"a.png": picture(8000, 7000, kind="PNG")}, "must have at most 50,000,000 pixels"),
        "bomb": ({"a.png": bomb}, "a.png: an image must have at most 50,000,000 pixels"),
        "cut": ({"a.jpg": picture()[:900]}, "a.jpg: an image can't be read"),
        "damaged": ({"a.jpg": picture(exif=damaged)}, "a.jpg: an image can't be read"),
        "empty": ({"a.jpg": b""}, "a.jpg: an image must be JPEG"),
        "large": ({"a.jpg": b"x" * 20_000_001}, "a.jpg: an image must have at most 20,000,000 bytes"),
        "bmp": ({"a.bmp": picture(kind="BMP")}, "a.bmp: an image must be JPEG"),
        "twice": ({"a.jpg": same, "b.jpg": same}, "b.jpg: the image is the same as a.jpg"),
    }
    for name, (pictures, message) in wrong.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        path = write_campaign(folder, pictures)
        with pytest.raises(CampaignError, match=re.escape(message)):
            make_campaign(None, path)
    assert not Campaign.objects.exists()
    assert not Image.objects.exists()


def test_a_picture_from_elsewhere(tmp_path: Path) -> None:
    path = write_campaign(tmp_path, {"a.jpg": picture()})
    (tmp_path / "secret.jpg").write_bytes(picture())
    (tmp_path / "images" / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    for name in ("../secret.jpg", "link.jpg", str(tmp_path / "secret.jpg")):
        (tmp_path / "items.jsonl").write_text(f'{{"key": "0", "image": "{name}"}}\n')
        with pytest.raises(CampaignError, match="'image' must be a file in"):
            make_campaign(None, path)


def test_a_link_that_a_participant_opens_stays_valid(campaign: Campaign) -> None:
    """A signed-in worker of the second of two links opens the first one."""
    first, second = (enrollment.invite(None, campaign, 1)[0] for _ in range(2))
    ann, place = User.objects.create(username="ann"), f"/annotate/{campaign.slug}/"
    browser = Client()
    browser.force_login(ann)
    browser.get(f"{place}enter/{second}/")
    browser.post(f"{place}agree/", {"texts": "1"})
    for _ in range(2):
        refused = browser.get(f"{place}enter/{first}/")
        assert refused.status_code == 409
        assert "the link was not used, and is still valid for somebody else" in html.unescape(
            refused.content.decode()
        )
    # The own work continues, and another person begins with the link.
    assert browser.get(place).status_code == 200
    assert Participation.objects.get(worker__account=ann).stage == "working"
    other = Client()
    assert other.get(f"{place}enter/{first}/").status_code == 302
    other.post(f"{place}agree/", {"texts": "1"})
    assert other.get(place).status_code == 200
    assert Participation.objects.filter(stage="working").count() == 2
