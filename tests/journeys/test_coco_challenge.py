"""The COCO captioning challenge, from an empty folder to final results with judgments by people.

The organizer uses the command line, one team the browser, the other team the command line and the API, and
two judges their links. All scores are compared with pycocoevalcap's.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

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
from tests.journeys.people import get_reference_scores
from tests.waiting import PATIENCE

IMAGES = 60
SPLITS = ("val2014", "test2014")
# The columns of the test phase, by reference set.
COLUMNS = ("CIDEr-D", "ROUGE-L", "BLEU-1", "BLEU-4")


def _shrink(folder: Path) -> dict[str, Captions]:
    """Keep some images of each split, with references of c40 for a fifth of them; return all captions."""
    kept: dict[str, Captions] = {}
    for split in SPLITS:
        images = sorted(read_captions(folder / f"{split}_human.json"))[: 5 * IMAGES : 5]
        if split == "test2014":
            many = [
                image for image in sorted(read_captions(folder / "test2014_c40.json")) if image not in images
            ]
            images = [*images[: IMAGES - len(many[:12])], *many[:12]]
        for path in sorted(folder.glob(f"{split}*.json")):
            content = json.loads(path.read_text())
            if isinstance(content, dict):
                for name, key in (("images", "id"), ("annotations", "image_id")):
                    if name in content:
                        content[name] = [row for row in content[name] if row[key] in images]
            else:
                content = [row for row in content if row["image_id"] in images]
            path.write_text(json.dumps(content))
            kept[path.stem] = read_captions(path)
    return kept


def _write_zip(path: Path, name: str, captions: Mapping[str, Mapping[int, str]]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for split, texts in captions.items():
            rows = [{"image_id": image, "caption": text} for image, text in texts.items()]
            archive.writestr(f"captions_{split}_{name}_results.json", json.dumps(rows))


def test_from_nothing_to_final_results(user: User, browser: Browser, tmp_path: Path) -> None:
    user.run("capeval server migrate")
    user.run("capeval server example coco-2015 coco")
    captions = _shrink(tmp_path / "coco")
    user.run("capeval server import coco/challenge.toml")
    user.run("capeval server user olga --email olga@example.org --staff")
    user.run("capeval server organizer coco-2015 olga")

    # One team submits its own captions; the other those of another person.
    human = {split: {i: t[0] for i, t in captions[f"{split}_human"].items()} for split in SPLITS}
    few = {"val2014": captions["val2014_c4"], "test2014": captions["test2014_c5"]}
    ours = {split: {image: texts[0] for image, texts in few[split].items()} for split in SPLITS}
    plain = {split: dict.fromkeys(few[split], "a person and a dog") for split in SPLITS}
    _write_zip(tmp_path / "ours.zip", "ours", ours)
    _write_zip(tmp_path / "plain.zip", "plain", plain)
    with running(user) as site:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        site.sign_up(page, "ann")
        site.join(page, "coco-2015")
        declared = {"Method": "People", "Training data": "none"}
        site.submit(page, "coco-2015/test", tmp_path / "ours.zip", declared)

        user.run("capeval server user bob --email bob@example.org")
        (tmp_path / "token").write_text(user.read("capeval server token bob upload"))
        token = (tmp_path / "token").read_text().strip()
        site.request("POST", "/challenges/coco-2015/team", token, json={"name": "bob", "accept_rules": True})
        challenge = "--challenge coco-2015 --phase test --token-file token"
        options = f"{challenge} --declare method=plain --declare training-data=none"
        user.run(f"capeval submit plain.zip --server {site.root} {options} --check")
        user.run(f"capeval submit plain.zip --server {site.root} {options} --wait")

        expected = {
            (team, references): get_reference_scores(
                captions[f"test2014_{references}"], results["test2014"], captions[f"test2014_{references}"]
            )
            for team, results in {"ann": ours, "bob": plain, "human": human}.items()
            for references in ("c5", "c40")
        }
        board = site.read_board("coco-2015", "test")
        assert set(board) == {"ann", "bob", "human"}
        for (team, references), scores in expected.items():
            for name in COLUMNS:
                # Scores by private references are shown with three digits.
                assert board[team]["scores"][f"{name} ({references})"] == pytest.approx(
                    scores[name], abs=5.1e-4
                ), (team, references, name)

        _judge(user, site, browser, human["test2014"], ours["test2014"])
        board = site.read_board("coco-2015", "test")
        judged = {team: {name: row["scores"][name] for name in ("M2", "M3")} for team, row in board.items()}
        assert judged == {
            "human": {"M2": 1.0, "M3": 5.0},
            "ann": {"M2": 1.0, "M3": 4.0},
            "bob": {"M2": 0.0, "M3": 1.0},
        }
        assert {row["judgments"]["M2"]["votes"] for row in board.values()} == {8}

        _close(tmp_path / "coco" / "challenge.toml")
        user.run("capeval server import coco/challenge.toml")
        user.run("capeval server final coco-2015 test")
        final = site.read_board("coco-2015", "test")
        assert {team: row["scores"] for team, row in final.items()} == {
            team: row["scores"] for team, row in board.items()
        }
        page.goto(f"{site.root}/coco-2015/test/")
        expect(page.get_by_text("These results have been final since")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV", exact=True).click()
        with download.value.path().open(encoding="utf-8", newline="") as file:
            ranks = {row["team"]: row["rank"] for row in csv.DictReader(file)}
        assert {team: ranks[team] for team in board} == {"ann": "1", "bob": "2", "human": ""}
        page.context.close()


def _judge(
    user: User, site: Site, browser: Browser, human: Mapping[int, str], ours: Mapping[int, str]
) -> None:
    pictures = user.folder / "pictures"
    pictures.mkdir()
    for number, image in enumerate(human):
        (pictures / f"COCO_train2014_{image:012}.jpg").write_bytes(draw_picture(number))
    command = "capeval server annotate leaderboard coco-2015/test m2 m3 --pictures pictures --images 4"
    assert "m2: 16 items, 32 answers" in user.read(f"{command} --answers 2 --forecast")
    study = {"run_by": "Lab", "contact": "lab@example.org", "license": "CC0", "pay_terms": "Unpaid"}
    given = " ".join(f"--setting {name}={value}" for name, value in study.items())
    made = user.read(f"{command} --answers 2 --workers 2 --name judged {given}")
    links = [line.strip() for line in made.splitlines() if "/enter/work_" in line]
    assert len(links) == 2
    for kind in ("m2", "m3"):
        user.run(f"capeval server annotate state judged-{kind} open")
    by_text = dict.fromkeys(map(normalize, human.values()), "human")
    by_text |= dict.fromkeys(map(normalize, ours.values()), "ann")

    def decide(choices: Mapping[str, str]) -> Callable[[Sequence[str]], str]:
        return lambda sentences: choices[by_text.get(normalize(sentences[0]), "bob")]

    correctness = {
        "human": "correct: all of it fits",
        "ann": "mostly correct: a detail is wrong",
        "bob": "incorrect: it does not fit the image",
    }
    judges = {
        "judged-m2": decide({"human": "A person", "ann": "A person", "bob": "A machine"}),
        "judged-m3": decide(correctness),
    }
    for link in links:
        judge(browser, site.root + link[link.index("/annotate/") :], judges)
    for kind in ("m2", "m3"):
        user.run(f"capeval server annotate freeze judged-{kind} 1.0")


def _close(path: Path) -> None:
    """Let the test phase end now."""
    before, name, test = path.read_text().partition('name = "test"\n')
    now = datetime.now(UTC).isoformat(timespec="seconds")
    path.write_text(f"{before}{name}{test.replace('2036-01-01T00:00:00Z', now)}")
