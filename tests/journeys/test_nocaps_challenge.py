"""The nocaps challenge, from an empty folder to final results with judgments by people.

The organizer uses the browser, one team the browser, the other team the API, and two judges their links. All
scores are compared with pycocoevalcap's.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import browser as browser
from tests.journeys.challenge import (
    Captions,
    Site,
    draw_picture,
    judge,
    normalize,
    read_captions,
    running,
)
from tests.journeys.challenge import user as user
from tests.journeys.installation import User
from tests.journeys.people import get_reference_image_scores, get_reference_scores, write_results
from tests.waiting import PATIENCE, wait_until

# Images of each domain in each split. Private references score no smaller subset.
IMAGES = 100
DOMAINS = ("in-domain", "near-domain", "out-domain")
FILES = ("references", "human")
# The information about a study that campaigns need to open.
STUDY = {
    "Who runs the study": "Vision Lab",
    "Contact": "lab@example.org",
    "License of the answers": "CC BY 4.0",
    "Pay in words": "Nobody is paid.",
}


def _shrink(folder: Path) -> dict[str, Captions]:
    """Keep some images of each domain, and return the captions of the test split."""
    kept: dict[str, Captions] = {}
    for split in ("val", "test"):
        path = folder / f"domains_{split}.json"
        domains = {name: images[:IMAGES] for name, images in json.loads(path.read_text()).items()}
        path.write_text(json.dumps(domains))
        images = {image for each in domains.values() for image in each}
        for file in FILES:
            path = folder / f"{file}_{split}.json"
            content = json.loads(path.read_text())
            if isinstance(content, dict):
                content["images"] = [row for row in content["images"] if row["id"] in images]
                rows = [row for row in content["annotations"] if row["image_id"] in images]
                content["annotations"] = rows
            else:
                content = [row for row in content if row["image_id"] in images]
            path.write_text(json.dumps(content))
            kept[path.stem] = read_captions(path)
    return kept


def test_from_nothing_to_final_results(user: User, browser: Browser, tmp_path: Path) -> None:
    user.run("capeval server migrate")
    user.run("capeval server example nocaps nocaps")
    captions = _shrink(tmp_path / "nocaps")
    domains = json.loads((tmp_path / "nocaps" / "domains_test.json").read_text())
    user.run("capeval server import nocaps/challenge.toml")
    assert "No changes" in user.read("capeval server import nocaps/challenge.toml")
    references = captions["references_test"]
    ours = {image: texts[1] for image, texts in references.items()}
    write_results(tmp_path / "best run of May.json", ours)
    plain = dict.fromkeys(references, "a person and a dog")
    human = {image: texts[0] for image, texts in captions["human_test"].items()}
    with running(user) as site:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        site.sign_up(page, "ann")
        site.join(page, "nocaps")
        site.submit(
            page,
            "nocaps/nocaps-test",
            tmp_path / "best run of May.json",
            {"Method": "Mentions more", "Training data": "COCO only"},
        )
        page.context.close()
        _submit_by_program(user, site, plain)

        board = site.read_board("nocaps", "nocaps-test")
        every_score = site.read_board("nocaps", "nocaps-test", layout="scores")
        assert set(board) == {"ann", "bob", "human"}
        for team, results in {"ann": ours, "bob": plain, "human": human}.items():
            # Scores by private references are shown with three digits.
            expected = get_reference_scores(references, results)
            scores = every_score[team]["scores"]
            assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=5.1e-4), team
            by_image = get_reference_image_scores(references, results)
            for name, images in {"all": references, **domains}.items():
                mean = sum(by_image[image] for image in images) / len(images)
                shown = board[team]["scores"][f"CIDEr-D ({name})"]
                assert shown == pytest.approx(mean, abs=5.1e-4), (team, name)

        olga = browser.new_page()
        olga.set_default_timeout(PATIENCE * 1000)
        site.sign_up(olga, "olga")
        user.run("capeval server organizer nocaps olga")
        _judge(olga, site, browser, sorted(references)[:6], {normalize(text) for text in ours.values()})
        judged = site.read_board("nocaps", "nocaps-test")
        # A person's captions win against one team twice, and lose against the other team and a caption of
        # another image.
        wins = {"ann": 1.0, "bob": 0.0, "human": 0.5}
        assert {team: row["scores"]["wins"] for team, row in judged.items()} == wins
        assert {team: judged[team]["scores"]["M1"] for team in ("ann", "bob")} == {"ann": 1.0, "bob": 0.0}

        _make_final(olga, site)
        final = site.read_board("nocaps", "nocaps-test")
        assert {team: row["scores"] for team, row in final.items()} == {
            team: row["scores"] for team, row in judged.items()
        }
        _look_at_the_board(olga, site)
        olga.context.close()


def _submit_by_program(user: User, site: Site, captions: dict[int, str]) -> None:
    """Submit results by the API, and wait for the scores."""
    user.run("capeval server user bob --email bob@example.org")
    token = user.read("capeval server token bob upload").strip()
    site.request("POST", "/challenges/nocaps/team", token, json={"name": "bob", "accept_rules": True})
    write_results(user.folder / "run-7.json", captions)
    submission = site.request(
        "POST",
        "/challenges/nocaps/phases/nocaps-test/submissions",
        token,
        data={"method": "plain", "training-data": "extra pairs"},
        files={"file": ("run-7.json", (user.folder / "run-7.json").read_bytes())},
    )
    assert submission["state"] == "waiting"

    def scored() -> dict[str, Any] | None:
        found: dict[str, Any] = site.request("GET", f"/submissions/{submission['id']}", token)
        return found if found["state"] == "scored" else None

    wait_until(scored, lambda: site.request("GET", f"/submissions/{submission['id']}", token))


def _judge(page: Page, site: Site, browser: Browser, images: Sequence[int], ours: set[str]) -> None:
    """Let two people compare captions: they prefer one team's, and like the other team's least."""
    page.goto(f"{site.root}/nocaps/organize/campaigns/")
    page.get_by_role("link", name="Judge a leaderboard").click()
    page.get_by_role("navigation", name="Phase").get_by_role("link", name="nocaps-test").click()
    for kind in ("M1", "Choose the better description"):
        page.get_by_label(kind).check()
    page.get_by_label("Images", exact=True).fill("4")
    page.get_by_label("Answers per item").fill("1")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, image in enumerate(images):
            archive.writestr(f"{image}.jpg", draw_picture(number))
    page.get_by_label("Zip of the images").set_input_files(
        {"name": "images.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}
    )
    page.get_by_label("Name in URLs").fill("judged")
    for label, text in STUDY.items():
        page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Show the forecast").click()
    page.get_by_role("button", name="Create the campaigns").click()
    page.get_by_role("button", name="Open the drafts").click()
    page.get_by_label("Number of links").fill("2")
    page.get_by_role("button", name="Create links").click()
    links = page.get_by_role("textbox", name="Links").input_value().split()
    assert len(links) == 2

    def rank(sentence: str) -> tuple[int, str]:
        return 0 if normalize(sentence) in ours else 2 if sentence == "a person and a dog" else 1, sentence

    def prefer(sentences: Sequence[str]) -> str:
        return min(sentences, key=rank)

    for link in links:
        judge(browser, link, {"judged-m1": prefer, "judged-pairwise": prefer})
    for kind in ("m1", "pairwise"):
        page.goto(f"{site.root}/campaigns/judged-{kind}/releases/")
        page.get_by_label("Name").fill("1.0")
        page.get_by_role("button", name="Freeze").click()
        expect(page.get_by_role("heading", name="1.0")).to_be_visible()


def _make_final(page: Page, site: Site) -> None:
    page.goto(f"{site.root}/nocaps/organize/phases/nocaps-test/")
    now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds").partition("+")[0]
    page.get_by_label("Closes (UTC)").fill(now)
    page.get_by_role("button", name="Save").click()
    page.goto(f"{site.root}/nocaps/organize/phases/nocaps-test/")
    page.get_by_label("I understand that this cannot be undone").check()
    page.get_by_role("button", name="Make the results final").click()
    expect(page.get_by_text("The results have been final since")).to_be_visible()


def _look_at_the_board(page: Page, site: Site) -> None:
    page.goto(f"{site.root}/nocaps/nocaps-test/")
    expect(page.get_by_text("These results have been final since")).to_be_visible()
    expect(page.get_by_text("partition of the paper's first version").first).to_be_visible()
    page.get_by_role("link", name="COCO only").click()
    expect(page.get_by_text("Mentions more").first).to_be_visible()
    expect(page.get_by_text("plain", exact=True)).to_have_count(0)
