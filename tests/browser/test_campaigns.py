"""A campaign's whole loop by browser, from its form to the score of a submission; and its pages' looks."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Visitor
from tests.server.processes import PROJECT, Server

NUMBER = 2
PLANS = {"val": {"images": NUMBER, "references": 1}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that runs, with the small challenge and a worker; its programs know the tests."""
    made = Server(tmp_path_factory.mktemp("campaigns"), None)
    made.env["PYTHONPATH"] += f"{os.pathsep}{PROJECT}"
    made.prepare()
    made.start()
    made.spawn("worker")
    yield made
    made.stop()


@pytest.fixture
def slug() -> str:
    return f"loop-{time.monotonic_ns()}"


def pictures() -> bytes:
    """A zip of pictures, each of its own color."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(1, NUMBER + 1):
            data = io.BytesIO()
            Image.new("RGB", (640, 400), (40 * number, 120, 90)).save(data, "JPEG")
            archive.writestr(f"{number}.jpg", data.getvalue())
    return out.getvalue()


def items() -> bytes:
    """The table of items; their keys are the images' ids."""
    lines = [f"{number},{number}.jpg,cart,street" for number in range(1, NUMBER + 1)]
    return "\n".join(["key,photo,keywords,category", *lines]).encode()


def make(visitor: Visitor, slug: str) -> None:
    """Create a campaign with the form."""
    visitor.go("/campaigns/")
    visitor.press("New campaign", "link")
    visitor.page.get_by_role("listitem").filter(has_text="write-nocaps").get_by_role("link").click()
    visitor.write("Title", "Streets")
    visitor.choose_file("Item file", "items.csv", items())
    visitor.choose_file("Zip of images", "pictures.zip", pictures())
    visitor.write("Answers per item", "1")
    visitor.write("Who runs the study", "Vision Lab")
    visitor.write("Contact", "lab@example.org")
    visitor.write("License of the answers", "CC BY 4.0")
    visitor.write("Pay in words", "Nobody is paid.")
    visitor.page.get_by_text("Advanced").click()
    visitor.write("Name in URLs", slug)
    visitor.write("Consent", "Your sentences are *published*.")
    visitor.tab_to(visitor.page.get_by_role("button", name="Preview the texts"))
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.locator("#preview").get_by_text("published")).to_be_visible()
    visitor.look()
    # The training has a journey of its own.
    visitor.page.get_by_label("Training: quiz on the rules").select_option("None")
    # The table has a column with an unknown name. The files are kept.
    visitor.press("Preview the campaign")
    expect(visitor.page.get_by_text("no column for 'image'")).to_be_visible()
    visitor.look()
    visitor.page.get_by_label("image", exact=True).select_option("photo")
    visitor.press("Preview the campaign")
    expect(visitor.page.get_by_role("img", name="Image of the first item")).to_be_visible()
    visitor.look()
    expect(visitor.page.get_by_role("heading", name=f"Create the campaign {slug}?")).to_be_visible()
    visitor.press("Create the campaign")
    expect(visitor.page.get_by_text("draft", exact=True)).to_be_visible()


def answer(visitor: Visitor, slug: str, sentence: str) -> None:
    """Give consent and write a sentence for each item of the batch."""
    page = visitor.page
    visitor.go(f"/annotate/{slug}/")
    visitor.tab_to(page.get_by_role("button", name="I agree – start"))
    page.keyboard.press("Enter")
    # Until the page's program runs, all items are shown.
    expect(page.get_by_label("Your sentence").locator("visible=true")).to_have_count(1)
    visitor.look()
    for number in range(1, NUMBER + 1):
        expect(page.get_by_text(f"({number}/{NUMBER})")).to_be_visible()
        field = page.get_by_label("Your sentence").locator("visible=true")
        expect(field).to_have_count(1)
        field.fill(f"{sentence} {number}")
        field.press("Enter")
    expect(page.get_by_text(f"You have answered {NUMBER} items.")).to_be_visible()


def frozen(visitor: Visitor, address: str) -> dict[int, str]:
    """The caption of each image in a release that is downloaded."""
    sent = visitor.page.request.get(visitor.site.root + address)
    with zipfile.ZipFile(io.BytesIO(sent.body())) as archive:
        captions = json.loads(archive.read("1.0/public/captions_val.json"))
    return {one["image_id"]: one["caption"] for one in captions["annotations"]}


def test_the_whole_loop(browser: Browser, server: Server, slug: str) -> None:
    manager = Visitor(server, browser.new_context(viewport=DESKTOP, color_scheme="light"))
    name = f"manager{time.monotonic_ns()}"
    server.run("user", name, "--email", f"{name}@example.org", "--staff", "--password-stdin", given=PASSWORD)
    manager.log_in(name)
    make(manager, slug)
    place = f"/campaigns/{slug}/"

    # The organizer tries it, as a worker would: nothing counts.
    manager.press("Start the preview")
    manager.press("Open the preview", "link")
    answer(manager, slug, "a trial of a sentence about the cart in street")
    manager.go(place)
    expect(manager.page.get_by_text(f"{NUMBER} preview answers")).to_be_visible()
    expect(manager.page.get_by_text(f"0 of {NUMBER} answers")).to_be_visible()
    manager.press("Open")

    # A worker without an account follows a link.
    manager.go(f"{place}workers/")
    manager.press("Create links")
    link = manager.page.locator("code.secret").inner_text()
    worker = Visitor(server, browser.new_context(viewport=PHONE, color_scheme="dark"))
    worker.go(link.removeprefix(server.root))
    answer(worker, slug, "a cart with two red wheels stands in street")

    # Each sentence is reviewed.
    manager.go(f"{place}reviews/")
    expect(manager.page.get_by_text("a cart with two red wheels stands in street 1")).to_be_visible()
    expect(manager.page.get_by_text(f"{NUMBER} answers to review")).to_be_visible()
    waiting = manager.page.locator("nav [aria-current] .badge")
    keyboard = manager.page.keyboard
    keyboard.press("j")
    # Keys that are pressed while a review is being stored wait for it.
    for _ in range(NUMBER):
        keyboard.press("a")
    expect(waiting).to_have_text("0")
    # The last review is undone, and then all selected answers are accepted, without a reload.
    keyboard.press("u")
    expect(waiting).to_have_text("1")
    keyboard.press("x")
    keyboard.press("Shift+A")
    expect(waiting).to_have_text("0")
    manager.look()
    # After the last answer of the page come the next ones.
    keyboard.press("j")
    expect(manager.page.get_by_text("No answers to review.")).to_be_visible()
    for tab in ("", "items/", "results/", "agreement/", "plan/", "workers/"):
        manager.go(place + tab)

    # It is frozen, and becomes a challenge.
    manager.go(f"{place}releases/")
    manager.write("Name", "1.0")
    manager.choose_file("Plan file", "plans.json", json.dumps(PLANS).encode())
    manager.press("Freeze")
    manager.press("Verify")
    expect(manager.page.get_by_text("files are unchanged")).to_be_visible()
    captions = frozen(manager, f"{place}releases/1.0/files.zip")
    written = {f"a cart with two red wheels stands in street {number}" for number in range(1, NUMBER + 1)}
    assert set(captions.values()) == written
    manager.press("Use in a new challenge")
    manager.press("Create challenge")

    # A submission is scored against the captions of the worker.
    participant = Visitor(server, browser.new_context(viewport=DESKTOP, color_scheme="dark"))
    participant.enter(f"participant{time.monotonic_ns()}")
    participant.go(f"/{slug}/")
    participant.press("Take part", "link")
    participant.page.get_by_label("I have read and accept the rules.").check()
    participant.press("Join")
    participant.go(f"/{slug}/validation/submit/")
    results = [{"image_id": image, "caption": caption} for image, caption in captions.items()]
    participant.choose_file("File", "captions_val_mine_results.json", json.dumps(results).encode())
    participant.write("Method", "Copies")
    participant.write("Training data", "none")
    participant.press("Submit as")
    expect(participant.page.get_by_text("scored", exact=True).first).to_be_visible()
    # The captions are the references, word for word.
    row = participant.page.get_by_role("row").filter(has_text="BLEU-4")
    expect(row.first).to_contain_text("1.000")


@pytest.mark.parametrize(("scheme", "size"), [("light", PHONE), ("dark", DESKTOP)])
def test_every_page_for_managers(
    browser: Browser, server: Server, slug: str, scheme: str, size: dict[str, int]
) -> None:
    server.python(FILL, slug)
    manager = Visitor(server, browser.new_context(viewport=size, color_scheme=scheme))  # type: ignore[arg-type]
    name = f"manager{time.monotonic_ns()}"
    server.run("user", name, "--email", f"{name}@example.org", "--staff", "--password-stdin", given=PASSWORD)
    manager.log_in(name)
    for kind in ("write", "triplet"):
        place = f"/campaigns/{slug}-{kind}/"
        worker = server.python(WORKER, f"{slug}-{kind}").strip()
        parts = (
            "items/",
            "results/",
            "agreement/",
            "plan/",
            "workers/",
            "releases/",
            "reviews/",
            f"workers/{worker}/",
        )
        for part in ("", *parts):
            manager.go(f"{place}{part}")
    manager.go(f"/campaigns/{slug}-triplet/reviews/")
    manager.page.keyboard.press("j")
    expect(manager.page.locator(".answer").first).to_be_focused()
    # By keyboard, the last answer of a page is followed by the next page.
    manager.go(f"/campaigns/{slug}-write/reviews/?state=all")
    cards = manager.page.locator(".answer")
    expect(cards).to_have_count(20)
    for number in range(20):
        manager.page.keyboard.press("j")
        expect(cards.nth(number)).to_be_focused()
    with manager.page.expect_navigation():
        manager.page.keyboard.press("j")
    expect(cards).to_have_count(4)
    assert manager.page.url.endswith("state=all&page=2")
    for part in ("items/add/", "quality/", "recruiting/", "recruiting/reconciliation/"):
        manager.go(f"/campaigns/{slug}-write/{part}")
    manager.go(f"/campaigns/{slug}-draft/delete/")
    manager.go(f"/campaigns/{slug}-draft/")
    manager.press("Edit")
    for address in ("/new/campaign/", "/new/campaign/from/triplet/", "/small/organize/campaigns/"):
        manager.go(address)


# Campaigns with much to show.
FILL = """
from datetime import timedelta
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.models import Campaign, Participation, Response, ReviewRequest
from tests.server.campaigns import answer, join, make
words = ("dog", "cat", "bus", "boat", "kite", "cart")
texts = ("a {} in a field", "a {} on a field", "the {} in a field", "one {} in grass")
written = make("write", items=6, answers=4, batch=6, review_first=2)
for text, worker in zip(texts, join(written, 4), strict=True):
    for held in assignment.assign_work(worker).assignments:
        answer(held, text.format(words[int(held.item.key)]), seconds=20)
judged = make("triplet", items=40, checks=3, answers=3, batch=4, check_every=4)
for worker in join(judged, 3):
    while found := assignment.assign_work(worker).assignments:
        for held in found:
            answer(held, seconds=4)
Campaign.objects.filter(pk=make(state="draft").pk).update(slug=f"{sys.argv[1]}-draft")
for campaign, kind in ((written, "write"), (judged, "triplet")):
    release_files.freeze(None, campaign, "1.0", leave_out=True)
    worker = Participation.objects.filter(campaign=campaign).order_by("pk")[0]
    moderation.block(None, worker, "copies of others")
    about = {"slug": f"{sys.argv[1]}-{kind}", "title": f"Much to show: {kind}"}
    Campaign.objects.filter(pk=campaign.pk).update(**about)
"""
WORKER = """
from capeval_server.annotation.models import Participation
found = Participation.objects.filter(campaign__slug=sys.argv[1]).order_by("-pk")[0]
print(found.worker.pseudonym)
"""
