"""Releases of captions: immutability, use as references, and the changes listed in the next release."""

from __future__ import annotations

import csv
import json
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client

from capeval.errors import FormatError
from capeval_server.accounts.models import Token
from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.models import Campaign, Image, Participation, Release, Response
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.challenge_files import write_challenge
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation
from capeval_server.annotation.workers import payments
from capeval_server.challenges.models import Challenge, ReferenceSet, ReferenceVersion
from capeval_server.core.errors import AssignmentError, CampaignError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import worker as scorer
from capeval_server.submissions.models import Submission
from capeval_server.teams.services.enrollment import make_team
from tests.server.annotation.test_panels import panel
from tests.server.campaigns import answer, hold, join, make

pytestmark = pytest.mark.django_db

PLANS = {"val": {"images": 4, "references": 2, "private": True, "held_out": True}}


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def filled(items: int = 4, answers: int = 3) -> Campaign:
    """A campaign with all its captions, each different, of as many workers."""
    campaign = make("write", items=items, answers=answers, batch=items, reopened_for="everybody")
    for number, worker in enumerate(join(campaign, answers)):
        write(worker, number)
    return campaign


def write(worker: Participation, number: int) -> None:
    for held in assignment.assign_work(worker).assignments:
        answer(held, f"a man number {number} rides the horse {held.item.key} along a beach")


def plans_in(folder: Path) -> Path:
    path = folder / "plans.json"
    path.write_text(json.dumps(PLANS))
    return path


def captions_of(release: Release) -> set[str]:
    texts = set()
    for path in release_files.folder_of(release).glob("*/*.json"):
        found = json.loads(path.read_text())
        entries = found if isinstance(found, list) else found.get("annotations", [])
        texts |= {entry["caption"] for entry in entries}
    return texts


def test_a_release_has_what_counts_and_never_changes(tmp_path: Path) -> None:
    campaign = filled()
    panel(campaign, approval_rate=95, approved_tasks=5000, countries=["US"])
    release = release_files.freeze(None, campaign, "1.0", plans=plans_in(tmp_path))
    assert captions_of(release) == set(Response.objects.values_list("answer__caption", flat=True))
    assert release.responses.count() == 12
    folder = release_files.folder_of(release)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")} == {
        "manifest.json",
        "private/captions_val.json",
        "private/human_val.json",
        "public/image_info_val.json",
    }
    provenance = (folder.parent / "provenance.csv").read_text().splitlines()
    assert len(provenance) == 13
    assert provenance[0] == "response,image,worker,texts,received"
    assert release_files.verify(release) == 8
    card = (folder / "public" / "README.md").read_text()
    assert "The captions were written by 3 workers" in card
    assert (
        "The panel prolific was asked for workers with an approval rate of at least 95 %, at least 5,000"
        " approved earlier tasks, residence in US." in " ".join(card.split())
    )
    assert "## Pay\n\nWorkers read about their pay: Nobody is paid." in card
    assert "Reviewers read 0 of the 12 captions." in card
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Release.objects.update(name="2.0")
    with pytest.raises(CampaignError, match=r"release '1\.0' already exists"):
        release_files.freeze(None, campaign, "1.0")
    assert list(audit(campaign)) == []
    (folder / "private" / "captions_val.json").write_text("{}")
    with pytest.raises(FormatError):
        release_files.verify(release)
    assert "a release must not change" in str(next(audit(campaign)))


def test_a_release_keeps_the_fields_of_images() -> None:
    campaign = make("write", items=0, answers=1, batch=2)
    Image.objects.create(
        campaign=campaign,
        digest="f" * 64,
        name="beach.jpg",
        width=640,
        height=480,
        license="CC BY 4.0",
        author="A. Author",
        source="https://x.org/beach.jpg",
    )
    items = [
        ItemDefinition(key=key, image=image, group="", category="", payload={"keywords": words}, expected={})
        for key, image, words in (("1", "beach.jpg", ["horse"]), ("2", "", []))
    ]
    add_items(campaign, items, 1)
    (worker,) = join(campaign)
    write(worker, 1)
    release = release_files.freeze(None, campaign, "1.0")
    folder = release_files.folder_of(release) / "public"
    content = json.loads((folder / "image_info_all.json").read_text())
    known = {str(each["id"]): each for each in content["images"]}
    assert known["1"] == {
        "id": 1,
        "keywords": ["horse"],
        "file_name": "beach.jpg",
        "width": 640,
        "height": 480,
        "license": 1,
        "author": "A. Author",
        "coco_url": "https://x.org/beach.jpg",
        "sha256": "f" * 64,
    }
    assert known["2"] == {"id": 2}
    assert content["licenses"] == [{"id": 1, "name": "CC BY 4.0"}]
    rows = [json.loads(line) for line in (folder / "data" / "all.jsonl").read_text().splitlines()]
    assert [(row["file_name"], len(row["captions"])) for row in rows] == [("beach.jpg", 1), (None, 1)]


def test_classes_of_images_become_subsets_of_a_challenge(tmp_path: Path) -> None:
    campaign = make("write", items=0, answers=1, batch=3)
    payload: dict[str, list[str]] = {"keywords": []}
    classes = {"1": "in-domain", "2": "out-domain", "3": "in-domain"}
    items = [
        ItemDefinition(key=key, image="", group="", category=name, payload=payload, expected={})
        for key, name in classes.items()
    ]
    add_items(campaign, items, 1)
    (worker,) = join(campaign)
    write(worker, 1)
    release = release_files.freeze(None, campaign, "1.0")
    path = write_challenge(release, tmp_path / "hosted")
    (split,) = tomllib.loads(path.read_text())["splits"]
    found = json.loads((path.parent / split["subsets"]).read_text())
    assert found == {"in-domain": [1, 3], "out-domain": [2]}
    # Others can be given.
    path = write_challenge(release, tmp_path / "other", {"first": [1]})
    assert json.loads((path.parent / split["subsets"]).read_text()) == {"first": [1]}


def test_the_provenance_and_the_manifest_are_verified_too(tmp_path: Path) -> None:
    release = release_files.freeze(None, filled(), "1.0")
    place = release_files.folder_of(release).parent / "provenance.csv"
    place.write_text(place.read_text() + "\n")
    with pytest.raises(CampaignError, match=r"provenance.csv has changed since"):
        release_files.verify(release)


def test_keys_are_escaped_in_the_provenance_as_in_every_table(tmp_path: Path) -> None:
    campaign = make("write", items=0, answers=1, batch=2)
    keys = ("=cmd|' /C calc'!A0", "-1")
    payload: dict[str, list[str]] = {"keywords": []}
    items = [
        ItemDefinition(key=key, image="", group="", category="", payload=payload, expected={}) for key in keys
    ]
    add_items(campaign, items, 1)
    (worker,) = join(campaign)
    write(worker, 1)
    release = release_files.freeze(None, campaign, "1.0")
    with (release_files.folder_of(release).parent / "provenance.csv").open(newline="") as file:
        assert [row["image"] for row in csv.DictReader(file)] == ["'=cmd|' /C calc'!A0", "-1"]


def test_images_that_lack_captions_are_named_or_left_out() -> None:
    campaign = make("write", items=3, answers=2, batch=3)
    first, second = join(campaign, 2)
    write(first, 1)
    held = hold(second)
    answer(held)
    with pytest.raises(
        CampaignError, match=r"\(missing for '\d', '\d'\); wait for them, or leave out these images"
    ):
        release_files.freeze(None, campaign, "1.0")
    release = release_files.freeze(None, campaign, "1.0", leave_out=True)
    assert release.responses.count() == 2
    with pytest.raises(CampaignError, match="campaign .* has no counted answers yet"):  # noqa: RUF043
        release_files.freeze(None, make(), "1.0", leave_out=True)


@pytest.mark.parametrize("name", ["", ".", "..", ".1", "1/0", "1 0", "1\n", "1" * 51])
@pytest.mark.parametrize("kind", ["write", "triplet"])
def test_names_that_no_release_can_have(kind: str, name: str, tmp_path: Path) -> None:
    campaign = make(kind, items=1, answers=1)
    answer(hold(join(campaign)[0]))
    with pytest.raises(CampaignError, match="a release's name must be 1 to 50 letters"):
        release_files.freeze(None, campaign, name)
    assert not Release.objects.exists()
    assert not (tmp_path / "files").exists()


def test_an_answer_in_a_release_is_not_revised() -> None:
    campaign = make("write", items=1, answers=1)
    held = hold(join(campaign)[0])
    answer(held)
    release = release_files.freeze(None, campaign, "1.0")
    with pytest.raises(AssignmentError, match="part of a frozen release"):
        answer(held, "something else", revision=2)
    assert release_files.verify(release) == 7


def test_the_next_release_lacks_what_was_blocked_and_the_first_stays() -> None:
    campaign = filled(answers=2)
    first = release_files.freeze(None, campaign, "1.0")
    before = {path: path.read_bytes() for path in release_files.folder_of(first).rglob("*.json")}
    bad = Participation.objects.filter(campaign=campaign)[0]
    moderation.block(None, bad, "spam")
    assert release_files.count_outdated_answers(first) == 4
    with pytest.raises(CampaignError, match="each image must have all its captions"):
        release_files.freeze(None, campaign, "1.1")
    write(join(campaign)[0], 7)
    second = release_files.freeze(None, campaign, "1.1")
    assert {path: path.read_bytes() for path in before} == before
    assert release_files.verify(first) == release_files.verify(second) == 7
    assert release_files.count_outdated_answers(second) == 0
    assert len(captions_of(first) - captions_of(second)) == 4
    assert not any("number 0" in caption for caption in captions_of(second))


def submit(challenge: Challenge, images: list[int]) -> Submission:
    """A submission to the challenge that was made of a release."""
    ann = User.objects.create(username="ann")
    make_team(ann, challenge)
    program = Client(headers={"Authorization": f"Bearer {Token.issue(ann.pk, 't', 'submit')}"})
    captions = [{"image_id": image, "caption": f"a man rides the horse {image}"} for image in images]
    file = SimpleUploadedFile("captions_val_mine_results.json", json.dumps(captions).encode())
    declared = {"method": "One sentence", "training-data": "none"}
    sent = program.post(
        f"/api/challenges/{challenge.slug}/phases/test/submissions", {"file": file, **declared}
    )
    assert sent.status_code == 201, sent.content
    while scorer.work_once():
        pass
    return Submission.objects.get(pk=sent.json()["id"])


def test_references_of_a_part_have_a_human_row_too(tmp_path: Path) -> None:
    campaign = filled(items=4, answers=4)
    plans = tmp_path / "plans.json"
    plan = {"images": 4, "references": 2, "held_out": True, "many": 3, "many_images": 2}
    plans.write_text(json.dumps({"val": {**plan, "private": True}}))
    release = release_files.freeze(None, campaign, "1.0", plans=plans)
    challenge = import_challenge(write_challenge(release, tmp_path / "challenge"))
    few, many = ReferenceSet.objects.filter(split__challenge=challenge).order_by("name")
    assert (few.name, few.part, many.name, len(many.part or ())) == ("c2", None, "c3", 2)
    while scorer.work_once():
        pass
    for entry in (few, many):
        baseline = entry.baselines.get()
        assert baseline.state == "scored", entry.name
        (result, *_) = baseline.results.filter(metric="BLEU")
        assert result.scores.get(name="BLEU-4", subset="").value is not None


def test_phases_are_those_of_built_datasets(tmp_path: Path) -> None:
    plans = tmp_path / "plans.json"
    plan = {"images": 2, "references": 2, "many": 2, "many_images": 1}
    plans.write_text(json.dumps({"test": {**plan, "private": True}, "val": plan}))
    release = release_files.freeze(None, filled(items=4, answers=4), "1.0", plans=plans)
    path = write_challenge(release, tmp_path / "challenge")
    made = tomllib.loads(path.read_text())
    built = tomllib.loads((release_files.folder_of(release) / "challenge.toml").read_text())
    period = {"opens": release.time.replace(microsecond=0)}
    period["closes"] = period["opens"] + timedelta(days=365)
    assert made["phases"] == [{**phase, **period} for phase in built["phases"]]
    assert [(phase["name"], phase["splits"]) for phase in made["phases"]] == [
        ("validation", ["val"]),
        ("test", ["test", "val"]),
    ]
    for split in (*made["splits"], *built["splits"]):
        assert [entry["name"] for entry in split["references"]] == ["c2", "many"], split["name"]
    import_challenge(path)


def test_domains_become_subsets_of_a_challenge(tmp_path: Path) -> None:
    release = release_files.freeze(None, filled(), "1.0", plans=plans_in(tmp_path))
    # The ids of the release are integers, because all keys are numbers.
    domains = {"near-domain": ["0", "2", "17"], "out-domain": ["18"]}
    challenge = import_challenge(write_challenge(release, tmp_path / "challenge", domains))
    (split,) = challenge.splits.all()
    assert [subset.name for subset in split.subsets.all()] == ["near-domain"]
    assert json.loads((tmp_path / "challenge" / "subsets_val.json").read_text()) == {"near-domain": [0, 2]}
    with pytest.raises(CampaignError, match="subsets must contain images of the release"):
        write_challenge(release, tmp_path / "other", {"out-domain": [18]})


def test_a_challenge_has_pages_with_the_facts_of_the_campaign(tmp_path: Path) -> None:
    campaign = filled(items=4, answers=4)
    payments.set_rate(None, campaign, "0.12", "EUR")
    plans = tmp_path / "plans.json"
    train = {"images": 2, "references": None, "training": True}
    val = {"images": 2, "references": 2, "private": True, "held_out": True, "many": 3, "many_images": 1}
    plans.write_text(json.dumps({"train": train, "val": val}))
    release = release_files.freeze(None, campaign, "1.0", plans=plans)
    challenge = import_challenge(write_challenge(release, tmp_path / "challenge"))
    assert [split.name for split in challenge.splits.all()] == ["val"]
    assert "| `train` | 2 | c4 | 8 | public | training |" in challenge.data
    assert "| `val` | 1 | c3 | 3 | private | scored |" in challenge.data
    assert "written by 4 workers" in challenge.data
    assert "The pay was 0.12 EUR per answer" in challenge.data
    assert "Reviewers read 0 of the 16 captions." in challenge.data
    assert "## Instructions for annotators\n\n> # Work" in challenge.data
    assert "The captions of `train` are for training." in challenge.rules
    assert "Why are the captions of `val` private?" in challenge.faq
    upload, evaluation = (page["text"] for page in challenge.pages)
    assert "`captions_val_ALG_results.json`" in upload
    assert "`val` has two sets of references" in evaluation
    assert "License of the captions: CC BY 4.0." in challenge.data
    card = (release_files.folder_of(release) / "public" / "README.md").read_text()
    assert "Workers read about their pay: Nobody is paid. The pay was 0.12 EUR per answer" in card
    # Two places are left: the description, and the address of the training captions.
    texts = (challenge.description, challenge.data, challenge.rules, challenge.faq, upload, evaluation)
    assert [text.count("TO BE FILLED IN") for text in texts] == [1, 1, 0, 0, 0, 0]
    only = tmp_path / "only.json"
    only.write_text(json.dumps({"train": {**train, "images": 4}}))
    trained = release_files.freeze(None, campaign, "2.0", plans=only)
    with pytest.raises(CampaignError, match="must have a split to score"):
        write_challenge(trained, tmp_path / "other")


def test_edited_pages_are_those_of_the_challenge(tmp_path: Path) -> None:
    release = release_files.freeze(None, filled(), "1.0", plans=plans_in(tmp_path))
    pages = release_files.folder_of(release) / "pages"
    (pages / "rules.md").write_text("Be fair.")
    for name in ("faq", "upload"):
        (pages / f"{name}.md").unlink()
    challenge = import_challenge(write_challenge(release, tmp_path / "challenge"))
    assert (challenge.rules, challenge.faq) == ("Be fair.", "")
    assert [page["title"] for page in challenge.pages] == ["Evaluation"]


def test_captions_become_a_challenge_whose_references_they_are(tmp_path: Path) -> None:
    campaign = filled()
    release = release_files.freeze(None, campaign, "1.0", plans=plans_in(tmp_path))
    path = write_challenge(release, tmp_path / "challenge")
    challenge = import_challenge(path)
    frozen = (release_files.folder_of(release) / "private" / "captions_val.json").read_bytes()
    version = ReferenceVersion.objects.get(reference_set__split__challenge=challenge)
    with version.file.open() as file:
        assert file.read() == frozen
    submission = submit(challenge, [0, 1, 2, 3])
    assert submission.state == "scored", list(submission.results.values_list("failure", "log"))
    assert submission.results.filter(failure="").count() >= 4
    # A worker is blocked: the next release is the next version, and all is scored again.
    moderation.block(None, Participation.objects.filter(campaign=campaign)[0], "spam")
    write(join(campaign)[0], 7)
    again = release_files.freeze(None, campaign, "1.1", plans=plans_in(tmp_path))
    olga = User.objects.create(username="olga")
    assert release_files.publish(olga, again, "val", ReferenceSet.objects.get()) == 2
    submission.refresh_from_db()
    assert submission.state == "waiting"
    while scorer.work_once():
        pass
    submission.refresh_from_db()
    assert submission.state == "scored"
    versions = submission.results.values_list("reference_version__number", flat=True)
    assert set(versions) == {1, 2}
    assert release_files.verify(release) == 8
