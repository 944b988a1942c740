"""Replacement of rejected, excluded and withdrawn answers, and the quality settings that decide about it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import make_campaign
from capeval_server.annotation.campaigns.progress import get_progress
from capeval_server.annotation.core.options import QUALITY_SETTINGS, CampaignOptions, get_options
from capeval_server.annotation.models import Campaign, ReviewRequest, Slot
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.trust import is_trusted, may_replace, trust_warnings
from capeval_server.audit.models import Action
from capeval_server.commands import annotation as commands
from capeval_server.commands import annotation_settings
from capeval_server.core.errors import CampaignError
from tests.server.annotation.test_api import FILE, Program, files, user_program
from tests.server.annotation.test_pages import picture, write_campaign
from tests.server.campaigns import answer, join, make
from tests.server.kit import Someone
from tests.server.pages import check_page
from tests.server.web.test_campaign_pages import created, new_form

pytestmark = pytest.mark.django_db

WORDS = ["brown", "red", "small", "tall", "wide", "young", "old", "wet", "dark", "pale", "calm", "loud"]
IMAGES = 12


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


class Study:
    """A campaign of captions with default settings that two writers have finished, and its organizer.

    All of the queue is reviewed and accepted.
    """

    def __init__(self, folder: Path) -> None:
        pictures = {f"{number}.jpg": picture(640 + number) for number in range(IMAGES)}
        self.campaign = make_campaign(None, write_campaign(folder, pictures))
        self.staff = user_program("staff", is_staff=True)
        self.place = "campaigns/streets"
        self.staff.ask("PUT", f"{self.place}/state", {"state": "open"})
        tokens = self.staff.ask("POST", f"{self.place}/invites", {"number": 3}, 201)["tokens"]
        self.writers = [Program(token) for token in tokens]
        for writer in self.writers:
            writer.ask("POST", "annotate/streets/agree", {"texts": 1})
        assert [self.write(number) for number in (0, 1)] == [IMAGES, IMAGES]
        self.review_all()
        assert self.status()["finished"] == IMAGES

    def write(self, number: int) -> int:
        """The number of captions that a writer is given and writes; each counts."""
        writer, written = self.writers[number], 0
        while items := writer.ask("POST", "annotate/streets/next", {})["items"]:
            for item in items:
                first, second = WORDS[written % 12], WORDS[(written + number + 1) % 12]
                text = f"A {first} {second} shape number {written} {number} lies on paper."
                sent = {"answer": {"caption": text}, "key": item["lease"]}
                done = writer.ask("POST", f"annotate/streets/items/{item['lease']}/answer", sent)
                assert done["outcome"] == "stored"
                written += 1
        return written

    def review_all(self) -> None:
        while (queue := self.staff.ask("GET", f"{self.place}/reviews"))["count"]:
            for one in queue["answers"]:
                self.staff.ask("POST", f"{self.place}/reviews/{one['id']}", {"verdict": "fine"})

    def status(self) -> Any:
        return self.staff.ask("GET", self.place)

    def is_finished_by(self, number: int, answers: int) -> None:
        """Check that this number of answers is missing and that one new worker provides all of them."""
        assert self.status()["wanted"] - self.status()["counted"] == answers
        assert self.write(number) == answers
        self.review_all()
        status = self.status()
        assert (status["finished"], status["counted"]) == (IMAGES, 2 * IMAGES)
        assert status["waiting"] == []
        assert list(audit(self.campaign)) == []


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def test_a_new_worker_replaces_the_answers_of_a_blocked_one(study: Study) -> None:
    worker = study.staff.ask("GET", f"{study.place}/workers")["workers"][0]
    block = f"{study.place}/workers/{worker['pseudonym']}/block"
    done = study.staff.ask("POST", block, {"reason": "wrong images"})
    assert (done["answers"], done["items"]) == (IMAGES, IMAGES)
    study.is_finished_by(2, IMAGES)


def test_a_new_worker_replaces_withdrawn_answers(study: Study) -> None:
    study.writers[0].ask("POST", "annotate/streets/withdraw", {})
    study.is_finished_by(2, IMAGES)


def test_a_new_worker_replaces_a_rejected_answer(study: Study) -> None:
    response = Slot.objects.filter(filled_by__isnull=False).earliest("pk").filled_by_id
    rejected = {"verdict": "rejected", "reason": "wrong image"}
    study.staff.ask("POST", f"{study.place}/reviews/{response}", rejected)
    study.is_finished_by(2, 1)


# Trust that nobody can reach


@pytest.mark.parametrize(
    ("kind", "items", "checks", "options", "judged"),
    [
        # Ten first reviews and one in twenty: with one item left, 20 are judged of 210 answers.
        ("write", 12, 0, {}, 10),
        ("write", 210, 0, {}, 19),
        ("write", 211, 0, {}, None),
        ("write", 21, 0, {"review_first": 20}, None),
        ("write", 20, 0, {"review_first": 20}, 19),
        ("write", 12, 0, {"trust_answers": 10}, None),
        ("write", 12, 0, {"reopened_for": "everybody"}, None),
        # Judges are evaluated only by attention checks.
        ("triplet", 60, 0, {"check_every": 15}, 0),
        ("triplet", 60, 30, {"check_every": 15, "batch": 10}, 5),
        ("triplet", 500, 30, {"check_every": 15, "batch": 10}, None),
        ("triplet", 500, 19, {"check_every": 15, "batch": 10}, 19),
        ("triplet", 500, 30, {"check_every": 0, "batch": 10}, 0),
    ],
)
def test_trust_that_nobody_can_reach(
    kind: str, items: int, checks: int, options: dict[str, Any], judged: int | None
) -> None:
    reviews = {"review_first": 10, "review_every": 20}
    campaign = make(
        kind, items=items, checks=checks, answers=1, **{"reopened_for": "trusted", **reviews, **options}
    )
    found = trust_warnings(campaign)
    if judged is None:
        assert found == []
        return
    (text,) = found
    assert f"only {judged} judged answers" in text
    for setting in ("reopened_for", "trust_answers", "check_every"):
        assert setting in text
    assert ("review_first 10, review_every 20" in text) == (kind == "write" and "review_first" not in options)
    assert f"{items} items" in text
    assert (f"trust_answers to at most {judged}" in text) == (judged > 0)


def test_as_many_checks_are_judged_as_are_foreseen() -> None:
    options: dict[str, Any] = {"reopened_for": "trusted", "check_every": 15, "batch": 10, "trust_answers": 20}
    campaign = make("triplet", items=60, checks=30, answers=1, **options)
    (worker,) = join(campaign)
    while batch := assignment.assign_work(worker).assignments:
        for held in batch:
            answer(held)
    worker.refresh_from_db()
    assert 2 <= worker.judged <= 5


def test_creation_warns_by_api_command_and_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "No worker can become trusted, and reopened_for is 'trusted': trust_answers is 20, but a worker"
    staff = Someone("staff", is_staff=True)
    program = user_program("staff")
    made = program.ask("POST", "campaigns", files(), 201)
    assert (made["settings"]["reopened_for"], made["warnings"]) == ("everybody", [])
    trusted = FILE.replace("similar", "trusted") + 'reopened_for = "trusted"\n'
    (text,) = program.ask("POST", "campaigns", files(trusted), 201)["warnings"]
    assert text.startswith(told)
    assert "all but one of the 2 items has only 0 judged answers (check_every 0, 0 checks)" in text
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.jsonl").write_text(files()["files"]["items.jsonl"])
    for name, extra in (("one", ""), ("two", 'reopened_for = "trusted"\n')):
        (folder / "campaign.toml").write_text(FILE.replace("similar", name) + extra)
        commands.create(folder / "campaign.toml")
        assert (f"capeval: warning: {told}" in capsys.readouterr().err) == bool(extra)
    page = staff.see("/new/campaign/from/write-coco/")
    assert '<option value="everybody" selected>' in page
    for chosen in ("everybody", "trusted"):
        form = new_form("words", pictures=2, reopened_for=chosen)
        shown = staff.do("/new/campaign/from/write-coco/", 200, **form).content.decode()
        assert (told.replace("'", "&#x27;") in shown) == (chosen == "trusted")
    assert created(staff, new_form("words", pictures=2)).settings["reopened_for"] == "everybody"


# Quality settings


def reopened(**options: Any) -> Campaign:
    """Create an open caption campaign with all captions from a blocked worker."""
    campaign = make("write", items=4, batch=4, answers=1, reopened_for="trusted", **options)
    (bad,) = join(campaign)
    for held in assignment.assign_work(bad).assignments:
        answer(held)
    moderation.block(None, bad, "spam")
    return campaign


def test_slots_that_wait_for_trusted_workers_are_opened_to_everybody() -> None:
    campaign = reopened()
    staff = user_program("staff", is_staff=True)
    place = f"campaigns/{campaign.slug}"
    token = enrollment.invite(None, campaign, 1)[0]
    worker = Program(token)
    worker.ask("POST", f"annotate/{campaign.slug}/agree", {"texts": 1})
    assert worker.ask("POST", f"annotate/{campaign.slug}/next", {})["items"] == []
    (waiting,) = staff.ask("GET", place)["waiting"]
    assert "a trusted worker who has not had the item: 4." in waiting
    assert "set reopened_for to everybody in the quality settings" in waiting
    before = staff.ask("GET", f"{place}/quality")
    assert before["settings"]["reopened_for"] == "trusted"
    assert before["changes"] == []
    assert "No worker can become trusted" in before["warnings"][0]
    changed = staff.ask("PUT", f"{place}/quality", {"reopened_for": "everybody", "review_first": 3})
    assert changed["warnings"] == []
    assert changed["settings"] == {**before["settings"], "reopened_for": "everybody", "review_first": 3}
    (change,) = changed["changes"]
    assert change["who"] == "staff"
    assert change["what"] == "review_first from 0 to 3, reopened_for from trusted to everybody"
    action = Action.objects.get(what__contains="quality settings")
    assert f"of the campaign {campaign.slug}: review_first from 0" in action.what
    for item in worker.ask("POST", f"annotate/{campaign.slug}/next", {})["items"]:
        sent = {"answer": {"caption": "a cart in a street"}, "key": item["lease"]}
        worker.ask("POST", f"annotate/{campaign.slug}/items/{item['lease']}/answer", sent)
    status = staff.ask("GET", place)
    assert (status["finished"], status["waiting"]) == (4, [])
    assert ReviewRequest.objects.filter(reason=submit.FIRST).count() == 3
    assert list(audit(campaign)) == []


def test_quality_settings_that_are_wrong_change_nothing() -> None:
    campaign = reopened()
    staff = user_program("staff", is_staff=True)
    place = f"campaigns/{campaign.slug}/quality"
    before = staff.ask("GET", place)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"reopened_for": "friends"}, "reopened_for"),
        (
            {"trust_answers": 0, "review_first": 3},
            "trust_answers: Input should be greater than or equal to 1",
        ),
        ({"trust_share": 1.5}, "trust_share: Input should be less than or equal to 1"),
        ({"review_every": -1}, "review_every: Input should be greater than or equal to 0"),
        ({"seed": 3}, "seed"),
        ({"curtail": True}, "curtail"),
        ({"check_every": "often"}, "check_every"),
    ]
    for change, message in wrong:
        assert message in str(staff.ask("PUT", place, change, 422)["detail"]), change
    for change in ({}, {"reopened_for": "trusted"}):
        assert staff.ask("PUT", place, change) == before
    with pytest.raises(
        CampaignError, match=r"'seed' is not a quality setting that can change \(available: reports_to_hold"
    ):
        lifecycle.set_quality(None, campaign, {"seed": 3})
    assert not Action.objects.filter(what__contains="quality settings").exists()
    for method, content in (("GET", None), ("PUT", {"review_first": 3})):
        user_program("somebody").ask(method, place, content, 404)
    assert set(before["settings"]) == set(QUALITY_SETTINGS) <= set(CampaignOptions.model_fields)


def test_quality_settings_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    campaign = reopened()
    annotation_settings.quality(campaign.slug)
    shown = capsys.readouterr()
    assert "reopened_for: trusted\n" in shown.out
    assert "trust_share: 0.95\n" in shown.out
    assert "No worker can become trusted" in shown.err
    annotation_settings.quality(campaign.slug, ["reopened_for=everybody", "trust_share=1", "check_every=5"])
    shown = capsys.readouterr()
    assert "reopened_for: everybody\ntrust_answers: 20\ntrust_share: 1.0\n" in shown.out
    assert shown.err == ""
    (change,) = lifecycle.quality_changes(campaign)
    assert change.who == "the command line"
    for text, message in (("seed=3", "'seed' is not"), ("x", "SETTING=VALUE"), ("pause_of=0", "pause_of: ")):
        with pytest.raises(Exception, match=message):
            annotation_settings.quality(campaign.slug, [text])


def test_quality_settings_by_page() -> None:
    campaign = reopened(pause_failed=3)
    owner = Someone("owner")
    campaign.organizers.add(owner.user)
    place = f"/campaigns/{campaign.slug}/quality/"
    assert f'href="{place}"' in owner.see(f"/campaigns/{campaign.slug}/")
    sent = owner.client.get(place)
    page = sent.content.decode()
    check_page(page, sent.headers["Content-Security-Policy"])
    assert "No worker can become trusted" in page
    assert "No changes since the campaign was created." in page
    # Captions have no sides, so nothing is shown again mirrored.
    assert "repeat_every" not in page
    given = {name: value for name, value in campaign.settings.items() if name in QUALITY_SETTINGS}
    refused = owner.do(place, 422, **{**given, "trust_share": 2}).content.decode()
    assert "less than or equal to 1" in refused
    owner.do(place, 302, **{**given, "reopened_for": "everybody", "pause_failed": 2})
    page = owner.see(place)
    assert "pause_failed from 3 to 2, reopened_for from trusted to everybody" in page
    assert "owner" in page
    assert "No worker can become trusted" not in page
    campaign.refresh_from_db()
    assert (campaign.settings["reopened_for"], campaign.settings["pause_failed"]) == ("everybody", 2)


def test_no_two_checks_follow_each_other_whatever_is_changed() -> None:
    campaign = make("triplet", items=200, checks=60, answers=1, check_every=2, pause_failed=0)
    (worker,) = join(campaign)
    kinds = []
    for step in range(120):
        lifecycle.set_quality(None, campaign, {"check_every": (2, 3, 5)[step % 3]})
        (held,) = assignment.assign_work(worker).assignments
        kinds.append(held.item.is_check)
        answer(held)
    assert sum(kinds) > 10
    assert not any(first and second for first, second in pairwise(kinds))


def test_nobody_is_trusted_without_judged_answers() -> None:
    """Workers with failed checks are not called trusted, even if everybody may replace answers."""
    campaign = make(reopened_for="everybody", trust_answers=2)
    (worker,) = join(campaign)
    options = get_options(campaign)
    for judged, fine, trusted in ((0, 0, False), (2, 0, False), (2, 2, True)):
        worker.judged, worker.fine = judged, fine
        worker.save()
        assert is_trusted(worker, options) == trusted
        assert may_replace(worker, options)
        assert get_progress(campaign).trusted == trusted
