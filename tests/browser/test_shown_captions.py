"""The page of captions on a server, which looks and is used as the page that `capeval browse` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import BOTH_SCREENS, Visitor
from tests.server.processes import Server

IMAGES = range(1, 46)
PAGE = "/shown/open/captions/"
DEFINITION = """
[challenge]
slug = "shown"
title = "What systems say"

[[splits]]
name = "val"
results = "captions_val_<alg>_results.json"
metrics = ["BLEU", "ROUGE-L"]
sort_by = "ROUGE-L"
subsets = "subsets.json"
constraints = "constraints.json"
image_url = "http://127.0.0.1:9/{id}.jpg"
references = [{ name = "c2", file = "references.json", public = true }]

[[phases]]
name = "open"
opens = 2026-01-01T00:00:00Z
closes = 2036-01-01T00:00:00Z
splits = ["val"]
quota_per_day = 5
quota_total = 20
captions = ["val"]
captions_by = "standing"
"""
METHODS = """
import json
from django.contrib.auth.models import User
from capeval_server.challenges.models import Phase
from capeval_server.jobs import worker
from capeval_server.submissions.services import submit
from capeval_server.submissions.services import leaderboard_selection
from capeval_server.submissions.models import Submission
from capeval_server.teams.services.enrollment import make_team
phase = Phase.objects.get(challenge__slug="shown")
for name, captions in json.loads(sys.argv[1]).items():
    user = User.objects.create(username=name)
    make_team(user, phase.challenge)
    entries = [{"image_id": int(image), "caption": text} for image, text in captions.items()]
    data = json.dumps(entries).encode()
    submit.submit(user, phase, f"captions_val_{name}_results.json", [data], declared={}, key=name)
worker.run(until_empty=True)
for submission in Submission.objects.filter(phase=phase):
    leaderboard_selection.set_standing(submission, True)
"""


def _methods() -> dict[str, dict[int, str]]:
    """Captions of three methods; the first mentions all required objects, the second half of them."""
    return {
        "good": {image: f"a man number {image} rides a horse" for image in IMAGES},
        "half": {image: "a man rides a horse" if image % 2 else "a man" for image in IMAGES},
        "odd": dict.fromkeys(IMAGES, "</script><img src=x onerror='window.stolen = 1'> nobody"),
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with captions that everybody may read."""
    folder: Path = tmp_path_factory.mktemp("shown")
    files = folder / "files"
    files.mkdir()
    references = {str(image): [f"a man number {image} rides a horse", "a horse"] for image in IMAGES}
    subsets = {"near": list(IMAGES)[:30], "far": list(IMAGES)[30:]}
    objects = [{"name": "horse", "phrases": ["horse"]}, {"name": "person", "phrases": ["man", "men"]}]
    constraints = [{"image_id": image, "constraints": objects} for image in list(IMAGES)[:40]]
    for name, content in (("references", references), ("subsets", subsets), ("constraints", constraints)):
        (files / f"{name}.json").write_text(json.dumps(content))
    (files / "challenge.toml").write_text(DEFINITION)
    made = Server(folder, None)
    made.migrate()
    made.run("import", str(files / "challenge.toml"))
    made.python(METHODS, json.dumps(_methods()))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def visitor(context: object, shown: Server) -> Visitor:
    found = Visitor(shown, context)  # type: ignore[arg-type]
    # Nothing answers at the address of the images.
    found.page.route("http://127.0.0.1:9/**", lambda route: route.fulfill(status=200, body=b""))
    return found


def images(captions: Locator) -> list[str]:
    return [
        text.removeprefix("Image ") for text in captions.locator("h3 > span:first-child").all_text_contents()
    ]


def opened(visitor: Visitor, query: str = "") -> Locator:
    visitor.go(PAGE + query)
    captions = visitor.page.get_by_role("region", name="Captions")
    expect(captions).to_be_visible()
    return captions


@BOTH_SCREENS
def test_methods_side_by_side(visitor: Visitor) -> None:
    captions = opened(visitor, "?order=file")
    expect(captions.locator("article")).to_have_count(20)
    first = captions.locator("article").first
    expect(first.locator("h4").first).to_have_text("good")
    expect(first.locator("mark.mentioned")).to_have_text(["man", "horse", "man", "horse"])
    second = captions.locator("article").nth(1)
    expect(second.locator(".objects").nth(1)).to_contain_text("\u2717 horse")
    expect(second.locator(".objects").nth(1)).to_contain_text("\u2713 person")
    expect(captions.locator("article").first).to_contain_text("<img src=x")
    assert visitor.page.evaluate("window.stolen") is None
    visitor.look()


def test_filters(visitor: Visitor) -> None:
    captions = opened(visitor)
    captions.get_by_role("combobox", name="Mentioned").select_option("not all objects")
    captions.get_by_role("combobox", name="of", exact=True).select_option("half")
    captions.get_by_role("combobox", name="minus that of").select_option("good")
    captions.get_by_role("combobox", name="Domain").select_option("near")
    captions.get_by_role("combobox", name="Order").select_option("as in the split")
    visitor.press("Show")
    assert images(captions) == [str(image) for image in range(2, 31, 2)]
    expect(captions.locator(".difference").first).to_contain_text("ROUGE-L half \u2212 good")
    expect(captions.get_by_role("combobox", name="Mentioned")).to_have_value("some")
    captions.get_by_label("Search").fill("zebra")
    visitor.press("Show")
    expect(captions).to_contain_text("No images match.")
    visitor.look()


def test_keys(visitor: Visitor) -> None:
    captions = opened(visitor, "?order=file")
    visitor.tab_to(captions.locator("article").first)
    visitor.page.keyboard.press("ArrowDown")
    expect(captions.locator("article").nth(1)).to_be_focused()
    with visitor.page.expect_navigation():
        visitor.page.keyboard.press("ArrowRight")
    expect(captions.locator("article").first).to_be_focused()
    assert images(captions) == [str(image) for image in range(21, 41)]
    visitor.look()
    with visitor.page.expect_navigation():
        visitor.page.keyboard.press("ArrowLeft")
    expect(captions.locator("article").first).to_be_focused()
    assert images(captions)[0] == "1"
    visitor.press("Next", role="link")
    assert images(captions)[0] == "21"
