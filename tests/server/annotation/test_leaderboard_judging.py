"""Judging a leaderboard in one step: items, forecast, links for all campaigns, and columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from capeval.cli.app import app
from capeval.errors import OptionError
from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge
from capeval_server.challenges.services.image_archives import store_image_archive
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import worker
from capeval_server.submissions.models import Submission
from tests.server.annotation.test_pages import picture
from tests.server.annotation.test_results import work_all
from tests.server.campaigns import STUDY
from tests.server.kit import CAPTIONS, Participant, Someone, results, write_challenge, zipped
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

PLACE = "/small/organize/campaigns/"
API = "/api/challenges/small/organize/judging"
KINDS = ("m1", "m3", "m5", "pairwise", "triplet")


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


@pytest.fixture
def judged(tmp_path: Path) -> Challenge:
    """The small challenge with its human baseline and two submissions on the leaderboard."""
    challenge = import_challenge(write_challenge(tmp_path, human=True))
    while worker.work_once():
        pass
    Participant("ann").scored(stands=True)
    bob = Participant("bob")
    bob.submitted()
    own = Submission.objects.exclude(team=None).latest("created")
    file = own.files.get()
    file.file.delete(save=False)
    texts = {image: f"{text} Again." for image, text in CAPTIONS.items()}
    file.file.save("bob.json", SimpleUploadedFile("bob.json", results(texts)))
    assert worker.work_once()
    Submission.objects.filter(pk=own.pk).update(stands=True)
    return challenge


@pytest.fixture
def olga(judged: Challenge) -> Someone:
    olga = Someone("olga")
    judged.organizers.add(olga.user)
    return olga


def pictures() -> bytes:
    return zipped({f"COCO_val_{image:012}.jpg": picture(300 + image) for image in CAPTIONS})


def hidden(page: str, name: str) -> str:
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]


def test_an_organizer_judges_a_leaderboard_on_the_pages(judged: Challenge, olga: Someone) -> None:
    answer = olga.client.get(f"{PLACE}judge/")
    page = answer.content.decode()
    check_page(page, answer.headers["Content-Security-Policy"])
    ids = re.findall(r'name="submissions" value="([^"]+)"', page)
    assert len(ids) == 2
    form = {
        "submissions": ids, "kinds": KINDS, "references": "val/c2", "images": 4, "answers": 3,
        "name": "first", "title": "First judging", "hourly": 12, "fee": 0, "phase": "open",
        "check_every": 15, **STUDY,
    }  # fmt: skip
    # Task types with images need pictures, but their forecast doesn't.
    missing = olga.do(f"{PLACE}judge/", **form, status=200).content.decode()
    assert ">48<" in missing
    assert "The challenge has no image files of this split." in missing
    assert "Create the campaigns" not in missing
    sha256 = hidden(missing, "sha256")
    refused = olga.do(f"{PLACE}judge/create/", sha256=sha256, seen="0", status=422).content.decode()
    assert "for the task types m1, m3, pairwise (got none)" in refused
    found = olga.do(
        f"{PLACE}judge/", **form, status=200,
        pictures=SimpleUploadedFile("pictures.zip", pictures(), content_type="application/zip"),
    ).content.decode()  # fmt: skip
    assert Campaign.objects.count() == 0
    assert "Create the campaigns" in found
    for text in ("Answers to checks", "Smallest visible difference", "Human", "Random", "percentage points"):
        assert text in found
    # Four systems on four images, three answers each.
    assert ">48<" in found
    assert "private references" in found
    created = olga.do(f"{PLACE}judge/create/", sha256=hidden(found, "sha256"), seen="0")
    # The new campaigns are chosen for the next step, and their names are taken.
    assert olga.see(created.headers["Location"]).count(" checked") == len(KINDS)
    taken = olga.do(f"{PLACE}judge/", **form, status=422).content.decode()
    assert "there is already a campaign first-m1." in taken
    made = {campaign.kind: campaign for campaign in Campaign.objects.all()}
    assert {kind: campaign.slug for kind, campaign in made.items()} == {
        kind: f"first-{kind}" for kind in KINDS
    }
    systems = {item.payload["system"] for item in made["m1"].items.filter(is_check=False)}
    assert len(systems) == 4
    assert {"Human", "Random"} <= systems
    for kind in ("m1", "m3", "m5"):
        assert made[kind].items.filter(is_check=False).count() == 16
        assert all(item.payload["image_id"].isdecimal() for item in made[kind].items.all())
    assert set(made["m1"].systems.values()) == set(ids)
    slugs = [campaign.slug for campaign in made.values()]
    olga.do(f"{PLACE}act/", campaigns=slugs, act="open")
    assert set(Campaign.objects.values_list("state", flat=True)) == {"open"}
    shown = olga.do(f"{PLACE}act/", campaigns=slugs, act="links", number=3, status=200).content.decode()
    links = re.findall(r"http://testserver(/annotate/\S+?/enter/work_\S+/)", shown)
    assert len(links) == 3
    people = [Client() for _ in links]
    for person, link in zip(people, links, strict=True):
        assert person.get(link).status_code == 302
        # One link is for all campaigns.
        for slug in slugs:
            assert person.get(f"/annotate/{slug}/").status_code == 200
    assert Participation.objects.count() == 3 * len(KINDS)
    first = Participation.objects.filter(campaign=made["m3"]).earliest("pk")
    enrollment.agree(first, 1)
    first.refresh_from_db()
    # One answer is to a check.
    assert work_all(first, lambda held: {"choice": "3"}) == 17
    nothing = people[0].get("/annotate/first-m3/").content.decode()
    assert "Your link is also for" in nothing
    assert "/annotate/first-m1/" in nothing
    # A campaign is not listed after they have answered all its items.
    second = first.worker.participations.get(campaign=made["m5"])
    assert "/annotate/first-m5/" in nothing
    enrollment.agree(second, 1)
    second.refresh_from_db()
    work_all(second, lambda held: {"choice": "yes"})
    nothing = people[0].get("/annotate/first-m3/").content.decode()
    assert "/annotate/first-m1/" in nothing
    assert "/annotate/first-m5/" not in nothing


def test_bundles_that_cannot_open_say_where_to_add_the_information(judged: Challenge, olga: Someone) -> None:
    form = {
        "submissions": re.findall(r'name="submissions" value="([^"]+)"', olga.see(f"{PLACE}judge/")),
        "kinds": ["m5", "triplet"], "references": "val/c2", "images": 4, "answers": 3, "name": "bare",
        "title": "Bare", "hourly": 12, "fee": 0, "phase": "open", "check_every": 0, "run_by": "Vision Lab",
    }  # fmt: skip
    lacking = (
        "the contact (contact), the license of the answers (license), the pay (pay_terms or pay_per_answer)"
    )
    found = olga.do(f"{PLACE}judge/", **form, status=200).content.decode()
    assert f"The campaigns cannot open without information for their workers: {lacking}." in found
    sha256 = hidden(found, "sha256")
    # The choices can be changed, with everything that was chosen.
    again = olga.do(f"{PLACE}judge/create/", sha256=sha256, seen="0", change="1", status=200).content.decode()
    for text in ('value="bare"', 'value="Vision Lab"'):
        assert text in again
    assert not Campaign.objects.exists()
    created = olga.do(f"{PLACE}judge/create/", sha256=sha256, seen="0")
    page = olga.see(created.headers["Location"])
    for kind in ("m5", "triplet"):
        assert f'{lacking}. <a href="/campaigns/bare-{kind}/quality/#id_run_by">Add the information' in page
    # None of several drafts opens if one can't.
    (first, second) = Campaign.objects.order_by("pk")
    Campaign.objects.filter(pk=first.pk).update(settings={**first.settings, **STUDY})
    refused = olga.do(f"{PLACE}act/", campaigns=[first.slug, second.slug], act="open", status=422)
    assert f"the campaign {second.slug} cannot open" in refused.content.decode()
    assert set(Campaign.objects.values_list("state", flat=True)) == {"draft"}
    # The next bundle begins with the information of the organizer's last campaign.
    Campaign.objects.update(settings={**first.settings, **STUDY})
    assert 'value="lab@example.org"' in olga.see(f"{PLACE}judge/")


def test_a_program_judges_a_leaderboard(judged: Challenge, olga: Someone) -> None:
    program = olga.program("organize")
    asked = {"phase": "open", "kinds": ["m5", "triplet"], "images": 4, "name": "again"}
    preview = program.post(API, {**asked, "preview": "true"})
    assert (preview.status_code, preview.json()["campaigns"]) == (200, [])
    assert [each["kind"] for each in preview.json()["forecast"]] == ["m5", "triplet"]
    assert 0 < preview.json()["forecast"][0]["difference"] < 1
    answer = program.post(API, asked)
    assert (answer.status_code, answer.json()["campaigns"]) == (201, ["again-m5", "again-triplet"])
    sent = {"campaigns": ["again-m5", "again-triplet"], "number": 2}
    tokens = program.post(f"{API}/invites", sent, content_type="application/json").json()["tokens"]
    assert len(tokens) == 2
    assert [campaign.slug for campaign in enrollment.list_invited(tokens[0])] == ["again-m5", "again-triplet"]
    wrong = {"campaigns": ["nothing"], "number": 2}
    assert program.post(f"{API}/invites", wrong, content_type="application/json").status_code == 422
    for change, message in (
        ({"images": 7}, "must be at most 6"),
        ({"kinds": ["write"]}, "must be one of"),
        ({"kinds": ["m1"]}, "for the task types m1 (got none)"),
        ({"submissions": ["00000000-0000-0000-0000-000000000000"]}, "on the leaderboard"),
    ):
        found = program.post(API, {**asked, "name": "more", **change})
        assert found.status_code == 422, found.content
        assert message in found.content.decode()
    assert Campaign.objects.count() == 2
    # A name that is taken changes nothing.
    assert program.post(API, {**asked, "kinds": ["pairwise", "m5"]}).status_code == 422
    assert Campaign.objects.count() == 2
    other = Someone("other")
    assert other.program("organize").post(API, asked).status_code == 404


def test_the_images_of_the_challenge_are_judged(judged: Challenge, olga: Someone) -> None:
    split = judged.splits.get()
    files = {f"photos/{image}.png": picture(300 + image) for image in (1, 2, 4)}
    store_image_archive(split, zipped(files), [])
    ids = re.findall(r'name="submissions" value="([^"]+)"', olga.see(f"{PLACE}judge/"))
    form = {
        "submissions": ids, "kinds": ["m1", "m5"], "references": "val/c2", "images": 3, "answers": 3,
        "name": "page", "title": "Page", "hourly": 12, "fee": 0, "phase": "open", "check_every": 0,
    }  # fmt: skip
    found = olga.do(f"{PLACE}judge/", **form, status=200).content.decode()
    olga.do(f"{PLACE}judge/create/", sha256=hidden(found, "sha256"), seen="0")
    asked = {"phase": "open", "kinds": ["m1"], "images": 3, "name": "program"}
    assert olga.program("organize").post(API, asked).status_code == 201
    command = ["server", "annotate", "leaderboard", "small/open", "m1", "--images", "3", "--name", "line"]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.output
    for slug in ("page-m1", "program-m1", "line-m1"):
        campaign = Campaign.objects.get(slug=slug)
        assert campaign.images.count() == 3
        assert {item.payload["image_id"] for item in campaign.items.all()} == {"1", "2", "4"}
    # Only images with a file are drawn.
    assert "must be at most 3" in olga.program("organize").post(API, asked | {"images": 4}).content.decode()
    archive = split.image_archive
    archive.file.delete(save=False)
    archive.file.save("damaged.zip", SimpleUploadedFile("damaged.zip", b"no zip"))
    olga.do(f"{PLACE}judge/", **form | {"name": "other"}, status=503)


def test_pairs_are_balanced(judged: Challenge, olga: Someone) -> None:
    program = olga.program("organize")
    assert (
        program.post(API, {"phase": "open", "kinds": ["triplet"], "images": 6, "name": "x"}).status_code
        == 201
    )
    items = Campaign.objects.get().items.filter(is_check=False)
    writers = [tuple(sorted((item.payload["first_by"], item.payload["second_by"]))) for item in items]
    counts = {pair: writers.count(pair) for pair in writers}
    # Two pairs on each of six images, of six possible pairs.
    assert len(writers) == 12
    assert set(counts.values()) == {2}


def test_the_command_judges_a_leaderboard(judged: Challenge, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for image in CAPTIONS:
        (folder / f"{image}.jpg").write_bytes(picture(300 + image))
    asked = ["server", "annotate", "leaderboard", "small/open", "m3", "m5", "--images", "4"]
    found = CliRunner().invoke(app, [*asked, "--forecast"])
    missing = CliRunner().invoke(app, asked)
    assert "for the task types m3 (got none)" in str(missing.exception)
    (tmp_path / "pictures.zip").write_bytes(pictures())
    packed = CliRunner().invoke(app, [*asked, "--pictures", str(tmp_path / "pictures.zip"), "--forecast"])
    assert (packed.exit_code, packed.output) == (found.exit_code, found.output)
    assert found.exit_code == 0, found.output
    assert "m3: 16 items, 48 answers" in found.output
    assert Campaign.objects.count() == 0
    found = CliRunner().invoke(
        app, [*asked, "--pictures", str(folder), "--workers", "2", "--name", "by-hand"]
    )
    assert found.exit_code == 0, found.output
    assert "by-hand-m3: created as a draft; items: 16" in found.output
    assert found.output.count("/annotate/by-hand-m3/enter/work_") == 2
    wrong = CliRunner().invoke(app, ["server", "annotate", "leaderboard", "small/nothing", "m3"])
    assert isinstance(wrong.exception, OptionError)
    assert "must exist" in str(wrong.exception)
    assert len(Campaign.objects.get(kind="m3").systems) == 2


def test_others_find_nothing(judged: Challenge) -> None:
    ann, stranger = Participant("eve"), Someone("stranger")
    asked = {"phase": "open", "kinds": ["m5"], "images": 4, "name": "theirs"}
    sent = {"campaigns": ["theirs-m5"], "number": 1}
    as_json: dict[str, Any] = {"content_type": "application/json"}
    requests: list[tuple[str, Any, dict[str, Any]]] = [(API, asked, {}), (f"{API}/invites", sent, as_json)]
    for place, content, kind in requests:
        assert Client().post(place, content, **kind).status_code == 401
        assert ann.api.post(place, content, **kind).status_code == 403
        assert stranger.program("organize").post(place, content, **kind).status_code == 404
    for client in (Client(), ann.client, stranger.client):
        assert client.get(f"{PLACE}judge/").status_code == 404
        for place in (f"{PLACE}judge/", f"{PLACE}judge/create/", f"{PLACE}act/"):
            assert client.post(place, {"campaigns": "x", "act": "links"}).status_code == 404
        assert client.get("/small/organize/leaderboards/val/").status_code == 404
        assert client.post("/small/organize/leaderboards/val/", {}).status_code == 404
    assert not Campaign.objects.exists()


def test_the_form_keeps_its_values_and_the_zip_after_errors(judged: Challenge, olga: Someone) -> None:
    ids = re.findall(r'name="submissions" value="([^"]+)"', olga.see(f"{PLACE}judge/"))
    form = {
        "submissions": ids[:1], "kinds": ["m1"], "references": "val/c2", "images": 40, "name": "kept",
        "title": "A title of mine", "hourly": 17, "fee": 25, "phase": "open", "check_every": 9,
    }  # fmt: skip
    sent = SimpleUploadedFile("pictures.zip", pictures(), content_type="application/zip")
    wrong = olga.do(f"{PLACE}judge/", **form, pictures=sent, status=422).content.decode()
    for text in ('value="A title of mine"', 'value="17"', 'value="25"', 'value="9"', 'value="40"'):
        assert text in wrong
    assert wrong.count(" checked") == 2
    assert "The zip of the images is kept." in wrong
    kept = hidden(wrong, "kept")
    # Only the wrong value changes. The zip is not sent again.
    found = olga.do(f"{PLACE}judge/", **form | {"images": 3}, kept=kept, status=200).content.decode()
    Submission.objects.filter(pk=ids[0]).update(stands=False)
    refused = olga.do(
        f"{PLACE}judge/create/", sha256=hidden(found, "sha256"), seen="0", status=422
    ).content.decode()
    check_page(refused, olga.client.get(f"{PLACE}judge/").headers["Content-Security-Policy"])
    assert "No campaign was created" in refused
    for text in ('value="A title of mine"', 'value="17"', 'value="9"', 'value="3"', f'value="{kept}"'):
        assert text in refused
    Submission.objects.filter(pk=ids[0]).update(stands=True)
    again = olga.do(f"{PLACE}judge/", **form | {"images": 3}, kept=kept, status=200).content.decode()
    olga.do(f"{PLACE}judge/create/", sha256=hidden(again, "sha256"), seen="0")
    assert Campaign.objects.get().slug == "kept-m1"
    # A zip that is gone is asked for again.
    gone = olga.do(
        f"{PLACE}judge/", **form | {"images": 3, "name": "next"}, kept=kept, status=422
    ).content.decode()
    assert "upload it again" in gone
    assert not hidden(gone, "kept")


def test_the_forecast_explains_ties(judged: Challenge, olga: Someone) -> None:
    ids = re.findall(r'name="submissions" value="([^"]+)"', olga.see(f"{PLACE}judge/"))
    form = {
        "submissions": ids, "references": "val/c2", "images": 4, "name": "ties", "title": "Ties",
        "hourly": 12, "fee": 0, "phase": "open", "check_every": 0,
    }  # fmt: skip
    text = "With an even number of answers per item, an image with a tie counts half."
    for kind, is_share in (("m5", True), ("m4", False)):
        sent = SimpleUploadedFile("pictures.zip", pictures(), content_type="application/zip")
        shown = olga.do(f"{PLACE}judge/", **form, kinds=[kind], pictures=sent, status=200).content.decode()
        assert (text in shown) == is_share
