"""Pages of organizers: permissions, effects of each action, and confidentiality."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from capeval_server.audit.models import COMMAND_LINE, Action, Export
from capeval_server.challenges.models import Challenge, Phase, Picture, ReferenceSet, ReferenceVersion
from capeval_server.hosting.services import challenge_import, moderation
from capeval_server.jobs import leases, worker
from capeval_server.notifications.models import Announcement, Webhook
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.scoring import storage
from capeval_server.submissions.services import lifecycle
from capeval_server.teams.models import Raise, Team
from capeval_server.teams.services.enrollment import make_team
from capeval_server.web.hosting import urlpatterns
from tests.server.kit import MARKER, MARKUP, Participant, Someone, code_of, make_challenge, zipped
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

BOARD = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
ROOT = "/small/organize/"
# The forms of routes that accept only POST, by the name of the route. All other routes are pages.
FORMS: dict[str, dict[str, str]] = {
    "add_webhook": {"url": "https://hooks.example.org/"},
    "apply": {},
    "apply_new": {},
    "campaigns_act": {},
    "judge_create": {},
    "delete": {"name": "small"},
    "final": {"confirm": "on"},
    "mark": {"mark": "hidden", "reason": "r"},
    "new_link": {},
    "publish": {"confirm": "on"},
    "publish_references": {},
    "remove_organizer": {},
    "remove_picture": {},
    "remove_reported": {},
    "remove_webhook": {},
    "rerun_one": {},
    "send_references": {},
    "take_back": {},
    "take_off": {},
}
NAMES = {"slug": "small", "phase": "open", "split": "val", "references": "c2", "name": "old"}


def actions() -> list[str]:
    """Return the recorded actions of users (a command created the challenge)."""
    by_users = Action.objects.exclude(who=COMMAND_LINE).order_by("pk")
    return list(by_users.values_list("what", flat=True))


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Client().get(BOARD).json()["rows"]
    return found


def changed_references(path: Path) -> bytes:
    references = json.loads((path.parent / "references_c2.json").read_text())
    references["1"] = [f"{MARKER} something else entirely."]
    return json.dumps(references).encode()


def sent(files: dict[str, bytes]) -> SimpleUploadedFile:
    return SimpleUploadedFile("challenge.zip", zipped(files))


def files_of(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}


def hidden_fields(page: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for tag in re.findall(r'<input type="hidden"[^>]*>', page):
        name, value = (re.search(rf'{part}="([^"]*)"', tag) for part in ("name", "value"))
        if name and value and name[1] != "csrfmiddlewaretoken":
            found[name[1]] = value[1]
    return found


def _addresses(submission: Submission, organizer: User) -> dict[str, tuple[str, dict[str, str] | None]]:
    """Return the address and POST data of each organizer route by its name."""
    challenge = submission.challenge
    announcement, _ = Announcement.objects.get_or_create(challenge=challenge, title="New", text="News")
    webhook, _ = Webhook.objects.get_or_create(challenge=challenge, url="https://hooks.example.org/there")
    picture, new = Picture.objects.get_or_create(challenge=challenge, name="a.png", media_type="image/png")
    if new:
        picture.file.save("a", ContentFile(b""))
    sets = ReferenceSet.objects.filter(split__challenge__slug="small", name="c2")
    challenge_import.keep_reported(sets.get(), "old", [], title="Old", url="", ranked=False)
    made, new = Export.objects.get_or_create(challenge=submission.challenge, defaults={"state": "ready"})
    if new:
        default_storage.save(made.file, ContentFile(b"PK"))
    rows = {
        "notices": announcement.pk,
        "organizers": organizer.pk,
        "pictures": picture.pk,
        "submissions": submission.pk,
        "teams": submission.team_id,
        "webhooks": webhook.pk,
    }
    found = {}
    for pattern in urlpatterns:
        place = re.sub(r"(\w+)/<\w+:pk>", lambda match: f"{match[1]}/{rows[match[1]]}", str(pattern.pattern))
        name = pattern.name.removeprefix("organizer_")
        found[name] = "/" + re.sub(r"<\w+:(\w+)>", lambda match: NAMES[match[1]], place), FORMS.get(name)
    assert set(FORMS) <= set(found)
    return found


def test_nobody_else_finds_anything(olga: Someone, ann: Participant, tmp_path: Path) -> None:
    eve = Someone("eve")
    make_challenge(tmp_path / "other", slug="other").organizers.add(eve.user)
    locked = Someone("locked", is_staff=True)
    User.objects.filter(pk=locked.user.pk).update(is_active=False)
    submission = ann.submitted()
    before = list(Submission.objects.values_list())
    for place, form in _addresses(submission, olga.user).values():
        for client in (Client(), ann.client, eve.client, locked.client):
            assert client.get(place).status_code == 404, place
            assert client.post(place, form or {}).status_code == 404, place
    assert list(Submission.objects.values_list()) == before
    assert not actions()


def test_organizers_and_staff_find_all(olga: Someone, ann: Participant) -> None:
    submission = ann.submitted()
    for client in (olga.client, Someone("staff", is_staff=True).client):
        for place, form in _addresses(submission, olga.user).values():
            if form is None and not (client == olga.client and place.startswith("/new/")):
                answer: Any = client.get(place)
                assert answer.status_code == 200, place
                assert "no-store" in answer.headers["Cache-Control"], place
                if answer.headers["Content-Type"].startswith("text/html"):
                    check_page(answer.content.decode(), answer.headers["Content-Security-Policy"])
                else:
                    assert b"".join(answer), place


def test_what_belongs_to_another_challenge_is_not_found(olga: Someone, tmp_path: Path) -> None:
    elsewhere = make_challenge(tmp_path / "other", slug="other")
    user = User.objects.create(username="x")
    team = make_team(user, elsewhere)
    phase = elsewhere.phases.get()
    submission = Submission.objects.create(team=team, user=user, phase=phase, algorithm="a", state="scored")
    olga.see(f"{ROOT}submissions/{submission.pk}/", 404)
    olga.see(f"{ROOT}submissions/{uuid4()}/", 404)
    olga.see(f"{ROOT}teams/{team.pk}/", 404)
    olga.see(f"{ROOT}teams/99999999999999999999/", 404)
    for place in ("rerun/", "off/", "mark/"):
        olga.do(f"{ROOT}submissions/{submission.pk}/{place}", 404, mark="hidden", reason="r")
    olga.do(f"{ROOT}teams/{team.pk}/", 404, phase="open", per_day=1, total=1)
    assert str(submission.pk) not in olga.see(f"{ROOT}submissions/")


def test_requests_of_other_sites_are_refused(olga: Someone, ann: Participant) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(olga.user)
    addresses = _addresses(ann.submitted(), olga.user)
    posted = ["edit", "add_phase", "phase", "files", "rerun", "team", "organizers"]
    posted += [name for name, (_, form) in addresses.items() if form is not None]
    for name in posted:
        if not addresses[name][0].startswith("/new/"):
            assert strict.post(addresses[name][0], addresses[name][1] or {}).status_code == 403, name
    assert not actions()


def test_get_changes_nothing(olga: Someone, ann: Participant) -> None:
    for place, form in _addresses(ann.submitted(), olga.user).values():
        if form is not None and not place.startswith("/new/"):
            assert olga.client.get(place).status_code == 405, place


def test_the_ways_in(olga: Someone, ann: Participant) -> None:
    staff = Someone("staff", is_staff=True)
    for client, organizes, makes in (
        (olga.client, True, False),
        (staff.client, True, True),
        (ann.client, False, False),
        (Client(), False, False),
    ):
        assert (ROOT in client.get("/small/").content.decode()) == organizes
        assert ('href="/new/"' in client.get("/").content.decode()) == makes


def test_the_overview(olga: Someone, ann: Participant) -> None:
    ann.submitted()
    page = olga.see(ROOT)
    assert "<strong>1</strong> waiting" in page
    assert 'hx-get="/small/organize/"' in page
    worker.work_once()
    Submission.objects.update(state="failed", reason="the system failed 3 times")
    page = olga.see(ROOT)
    assert "<strong>1</strong> failed" in page
    assert "Score all failed ones again" in page
    assert "hx-get" not in page


def test_names_are_text(olga: Someone, challenge: Challenge) -> None:
    bob = Participant("bob", team=MARKUP)
    submission = bob.submitted(method=MARKUP, url="javascript:alert(1)")
    Submission.objects.update(mark="flagged", mark_reason=MARKUP, reason=MARKUP, log=MARKUP)
    Challenge.objects.update(title=MARKUP, description=MARKUP, rules=MARKUP)
    Action.objects.create(challenge=challenge, who=MARKUP, what=MARKUP, submission=submission)
    for place, form in _addresses(submission, olga.user).values():
        if (
            form is None
            and not place.startswith("/new/")
            and not place.endswith(("export/", ".toml", ".csv"))
        ):
            page = olga.client.get(place).content.decode()
            assert "&lt;script&gt;" in page, place
            assert MARKUP not in page, place
            assert 'href="javascript' not in page, place


# Editing


def _about(**changes: Any) -> dict[str, Any]:
    """Return the displayed form of texts and fields, with some changes."""
    return {
        "title": "A small challenge",
        "description": "Six images, to try the server with.",
        "rules": "Be fair.",
        "pages-TOTAL_FORMS": 1,
        "pages-INITIAL_FORMS": 0,
        "fields-TOTAL_FORMS": 3,
        "fields-INITIAL_FORMS": 2,
        "fields-0-name": "method",
        "fields-0-required": "on",
        "fields-0-shown": "on",
        "fields-1-name": "url",
        "fields-1-shown": "on",
        **changes,
    }


def _seen(page: str) -> str:
    return str(hidden_fields(page)["seen"])


def test_editing_texts_and_fields(olga: Someone, challenge: Challenge) -> None:
    seen = _seen(olga.see(f"{ROOT}edit/"))
    form = _about(seen=seen, title="Another", rules="*Be* fair.\r\nAnd kind.")
    form |= {"fields-1-name": "", "fields-2-name": "training-data"}
    olga.do(f"{ROOT}edit/", **form)
    challenge.refresh_from_db()
    assert (challenge.title, challenge.rules) == ("Another", "*Be* fair.\nAnd kind.")
    assert challenge.fields == [
        {"name": "method", "required": True, "shown": True},
        {"name": "training-data", "required": False, "shown": False},
    ]
    assert actions() == ["changed title, rules and fields of the challenge"]
    olga.do(f"{ROOT}edit/", **{**form, "seen": _seen(olga.see(f"{ROOT}edit/"))})
    assert len(actions()) == 1


def test_editing_additional_pages(olga: Someone, challenge: Challenge) -> None:
    def edit(pages: dict[str, str], status: int = 302) -> str:
        seen = _seen(olga.see(f"{ROOT}edit/"))
        answer = olga.do(f"{ROOT}edit/", status, **_about(seen=seen, **pages))
        return str(answer.content.decode())

    first = {"pages-0-name": "guidelines", "pages-0-title": "Guidelines", "pages-0-text": "Be **brief**.\r\n"}
    edit(first)
    challenge.refresh_from_db()
    assert challenge.pages == [{"name": "guidelines", "title": "Guidelines", "text": "Be **brief**."}]
    assert actions() == ["changed pages of the challenge"]
    assert "<strong>brief</strong>" in Client().get("/small/pages/guidelines/").content.decode()
    assert 'value="guidelines"' in olga.see(f"{ROOT}edit/")
    two = {"pages-TOTAL_FORMS": "2", "pages-INITIAL_FORMS": "1", **first}
    for changes, message in (
        ({"pages-1-title": "Awards"}, "Enter a name."),
        ({"pages-1-name": "awards", "pages-1-text": "a"}, "Required. To remove the page"),
        (
            {"pages-1-name": "a b", "pages-1-title": "A", "pages-1-text": "a"},
            "pages: no. 2, name: must be letters",
        ),
        (
            {"pages-1-name": "guidelines", "pages-1-title": "A", "pages-1-text": "a"},
            "pages: must have unique names",
        ),
    ):
        page = edit(two | changes, 422)
        assert message in page
        # The entered values stay.
        assert all(value in page for value in changes.values())
    assert len(actions()) == 1
    edit(two | {"pages-1-name": "awards", "pages-1-title": "Awards", "pages-1-text": "None."})
    assert Client().get("/small/pages/awards/").status_code == 200
    edit(two | {"pages-0-name": "", "pages-0-title": ""})
    assert Challenge.objects.get().pages == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ""}, "This field is required"),
        ({"title": "a" * 201}, "at most 200 characters"),
        ({"title": "a\0b"}, "Null characters are not allowed"),
        ({"fields-1-name": "a b"}, "no. 2, name: must be letters"),
        ({"fields-1-name": "method"}, "fields must have unique names (got &#x27;method&#x27; twice)"),
        ({"fields-TOTAL_FORMS": "x"}, "ManagementForm data is missing"),
    ],
)
def test_what_is_wrong_in_texts_is_named(
    olga: Someone, challenge: Challenge, changes: dict[str, str], message: str
) -> None:
    answer = olga.do(f"{ROOT}edit/", 422, **_about(seen=_seen(olga.see(f"{ROOT}edit/")), **changes))
    assert message in answer.content.decode()
    after = Challenge.objects.get()
    assert (after.title, after.fields) == (challenge.title, challenge.fields)
    assert not actions()


def test_an_edit_in_between_is_noticed(olga: Someone, challenge: Challenge) -> None:
    staff = Someone("staff", is_staff=True)
    seen = _seen(olga.see(f"{ROOT}edit/"))
    staff.do(f"{ROOT}edit/", **_about(seen=seen, title="Of staff"))
    answer = olga.do(f"{ROOT}edit/", 409, **_about(seen=seen, title="Of olga"))
    page = answer.content.decode()
    assert "this was changed in the meantime" in page
    assert "Of olga" in page
    assert "Of staff" in page
    assert Challenge.objects.get().title == "Of staff"
    olga.do(f"{ROOT}edit/", **_about(seen=_seen(page), title="Of olga"))
    assert Challenge.objects.get().title == "Of olga"


def _phase(**changes: Any) -> dict[str, Any]:
    return {
        "name": "open",
        "opens": "2026-01-01T00:00:00",
        "closes": "2036-01-01T00:00:00",
        "splits": "val",
        "quota_per_day": "5",
        "quota_total": "20",
        "leaderboard": "public",
        "captions_by": "agreed",
        **changes,
    }


def test_editing_a_phase(olga: Someone, ann: Participant) -> None:
    seen = _seen(olga.see(f"{ROOT}phases/open/"))
    changes = {"closes": "2037-02-03T04:05:06", "quota_per_day": "7", "leaderboard": "hidden"}
    olga.do(f"{ROOT}phases/open/", **_phase(seen=seen, name="renamed", **changes))
    phase = Phase.objects.get()
    assert (phase.name, phase.quota_per_day, phase.leaderboard) == ("open", 7, "hidden")
    assert phase.closes.isoformat() == "2037-02-03T04:05:06+00:00"
    assert phase.splits.get().name == "val"
    assert actions() == ["changed closes, quota per day and leaderboard of phase open"]
    answer = olga.do(f"{ROOT}phases/open/", 409, **_phase(seen=seen))
    assert "2037-02-03 04:05 UTC" in answer.content.decode()
    assert Phase.objects.get().quota_per_day == 7
    assert ann.client.get("/small/open/").status_code in (200, 403, 404)


def test_closing_a_phase_now(olga: Someone) -> None:
    page = olga.see(f"{ROOT}phases/open/")
    assert "Close now" in page
    before = timezone.now()
    olga.do(f"{ROOT}phases/open/", **_phase(seen=_seen(page), act="close"))
    phase = Phase.objects.get()
    assert before - timedelta(seconds=1) <= phase.closes <= timezone.now()
    assert phase.get_state(timezone.now()) == "closed"
    assert actions() == ["changed closes of phase open"]
    page = olga.see(f"{ROOT}phases/open/")
    assert "Closed phase open." in page
    assert "Close now" not in page
    assert "Make the results final" in page


def test_adding_a_phase(olga: Someone) -> None:
    olga.do(f"{ROOT}phases/", **_phase(name="final", opens="2030-01-01T00:00"))
    assert set(Phase.objects.values_list("name", flat=True)) == {"open", "final"}
    assert actions() == ["added phase final"]
    again = olga.do(f"{ROOT}phases/", 422, **_phase(name="final"))
    assert "phase &#x27;final&#x27; already exists" in again.content.decode()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"closes": "2025-01-01T00:00:00"}, "must be after opens"),
        ({"closes": "tomorrow"}, "Enter a valid date/time"),
        ({"quota_per_day": "0"}, "greater than or equal to 1"),
        ({"quota_total": "1000001"}, "less than or equal to 1000000"),
        ({"quota_total": "9" * 30}, "less than or equal to 1000000"),
        ({"splits": "test"}, "test is not one of the available choices"),
        ({"leaderboard": "open"}, "open is not one of the available choices"),
        ({"name": "a b"}, "must be letters, digits, "),
        ({"name": "organize"}, "must not be any of announcements, contact, data, faq"),
    ],
)
def test_what_is_wrong_in_a_phase_is_named(olga: Someone, changes: dict[str, str], message: str) -> None:
    answer = olga.do(f"{ROOT}phases/", 422, **_phase(**{"name": "final", **changes}))
    assert message in answer.content.decode()
    assert Phase.objects.count() == 1
    assert not actions()


def test_all_that_is_wrong_in_a_phase_is_at_its_field(olga: Someone) -> None:
    wrong = {"closes": "2025-01-01T00:00:00", "quota_per_window": "3", "final_submissions": "2"}
    form = olga.do(f"{ROOT}phases/", 422, **_phase(name="final", **wrong)).context["form"]
    assert set(form.errors) == {"closes", "quota_window_days", "final_submissions"}


# References


def _send(someone: Someone, data: bytes, status: int = 200, name: str = "c2.json") -> str:
    file = SimpleUploadedFile(name, data)
    return str(someone.do(f"{ROOT}references/val/c2/", status, file=file).content.decode())


def test_publishing_references(olga: Someone, ann: Participant, definition: Path) -> None:
    submission = ann.scored(stands=True)
    old = rows()[0]["scores"]
    page = _send(olga, changed_references(definition))
    assert "<strong>1 submission</strong> is scored again" in page
    assert ReferenceVersion.objects.filter(reference_set__name="c2").count() == 1
    assert rows()[0]["scores"] == old
    olga.do(f"{ROOT}references/val/c2/publish/", **hidden_fields(page))
    assert [row["rank"] for row in rows()] == [None]
    assert set(rows()[0]["scores"].values()) == {None}
    seen = ann.api.get(f"/api/submissions/{submission.pk}").json()
    assert seen["state"] == "waiting"
    assert {r["stale"] for r in seen["results"] if r["references"] == "c2"} == {True}
    assert worker.work_once()
    assert not worker.work_once()
    versions = list(
        Result.objects.values_list("reference_version__number", flat=True).filter(
            reference_version__reference_set__name="c2"
        )
    )
    assert sorted(versions) == [1] * 4 + [2] * 4
    assert rows()[0]["scores"] != old
    assert rows()[0]["rank"] == 1
    assert actions()[0].startswith("published version 2 of references c2 of split val (sha256 ")
    history = olga.see(f"{ROOT}references/")
    for version in ReferenceVersion.objects.all():
        assert version.sha256 in history
        assert str(version.file.name) not in history
    assert MARKER not in page + history + olga.see(f"{ROOT}submissions/{submission.pk}/") + olga.see(
        f"{ROOT}trail/"
    )


def test_references_published_while_a_submission_is_scored(
    olga: Someone, ann: Participant, definition: Path
) -> None:
    ann.submitted()
    claimed = leases.claim([lifecycle.SCORING], "here")
    assert claimed is not None
    jobs = storage.unscored(Submission.objects.get())
    page = _send(olga, changed_references(definition))
    assert "<strong>1 submission</strong>" in page
    olga.do(f"{ROOT}references/val/c2/publish/", **hidden_fields(page))
    storage.write(claimed, [])
    assert jobs
    assert Submission.objects.get().state == "waiting"


def test_wrong_references_are_refused(olga: Someone, definition: Path) -> None:
    assert "The submitted file is empty" in _send(olga, b"", 422)
    assert "5 images (2, 3, 4, 5, 6) are missing references" in _send(olga, b'{"1": ["a"]}', 422)
    more = {**json.loads(changed_references(definition)), "99": ["a"]}
    assert "image 99 is not in split &#x27;val&#x27;" in _send(olga, json.dumps(more).encode(), 422)
    assert "<dd>" not in _send(olga, b'{"1": ["a"', 422)
    assert "is the current one" in _send(olga, (definition.parent / "references_c2.json").read_bytes())
    olga.do(f"{ROOT}references/val/none/", 404)
    olga.do(f"{ROOT}references/none/c2/", 404)
    assert ReferenceVersion.objects.count() == 2


def test_two_who_publish(olga: Someone, definition: Path) -> None:
    staff = Someone("staff", is_staff=True)
    first = hidden_fields(_send(olga, changed_references(definition)))
    second = hidden_fields(_send(staff, changed_references(definition).replace(b"entirely", b"indeed")))
    olga.do(f"{ROOT}references/val/c2/publish/", **first)
    answer = staff.client.post(f"{ROOT}references/val/c2/publish/", second, follow=True)
    assert "version 2 was published in the meantime" in answer.content.decode()
    again = olga.client.post(f"{ROOT}references/val/c2/publish/", first, follow=True)
    assert "upload it again" in again.content.decode()
    assert ReferenceVersion.objects.filter(reference_set__name="c2").count() == 2


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"sha256": "x", "seen": "1"},
        {"sha256": "0" * 64, "seen": "abc"},
        {"sha256": "0" * 64, "seen": "1"},
    ],
)
def test_a_publication_that_was_not_sent(olga: Someone, form: dict[str, Any]) -> None:
    olga.do(f"{ROOT}references/val/c2/publish/", **form)
    assert ReferenceVersion.objects.count() == 2
    assert not actions()


# Files


def test_changing_a_challenge_by_files(olga: Someone, ann: Participant, definition: Path) -> None:
    ann.scored(stands=True)
    files = files_of(definition)
    files["challenge.toml"] = files["challenge.toml"].replace(b"quota_total = 20", b"quota_total = 30")
    files["references_c2.json"] = changed_references(definition)
    before = sorted(default_storage.listdir("references")[1])
    page = olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode()
    assert "<caption>Phase open</caption>" in page
    assert ">Submissions per team in total<" in page
    assert ">References c2: file<" in page
    assert "<strong>1 submission</strong> is scored again" in page
    assert MARKER not in page
    assert Phase.objects.get().quota_total == 20
    assert Submission.objects.get().state == "scored"
    assert sorted(default_storage.listdir("references")[1]) == before
    olga.do(f"{ROOT}files/apply/", **hidden_fields(page))
    assert Phase.objects.get().quota_total == 30
    assert Submission.objects.get().state == "waiting"
    assert len(actions()) == 1
    assert "phases.open.quota_total" in actions()[0]
    page = olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode()
    assert "nothing would change" in page


def test_a_preview_takes_back_what_it_stored_alone(
    olga: Someone, definition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(default_storage.listdir("references")[1])
    change = challenge_import.change_challenge

    def beside_another(*arguments: Any) -> Challenge:
        challenge_import.publish(ReferenceSet.objects.get(name="c1"), "c1.json", b"of somebody else")
        return change(*arguments)

    monkeypatch.setattr("capeval_server.hosting.services.definition_files.change_challenge", beside_another)
    files = {**files_of(definition), "references_c2.json": changed_references(definition)}
    olga.do(f"{ROOT}files/", 200, file=sent(files))
    (stored,) = set(default_storage.listdir("references")[1]) - before
    with default_storage.open(f"references/{stored}") as file:
        assert file.read() == b"of somebody else"


def test_a_change_after_the_preview_is_noticed(olga: Someone, definition: Path) -> None:
    files = files_of(definition)
    files["challenge.toml"] = files["challenge.toml"].replace(b"quota_total = 20", b"quota_total = 30")
    form = hidden_fields(olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode())
    Phase.objects.update(quota_per_day=6)
    answer = olga.client.post(f"{ROOT}files/apply/", form, follow=True)
    assert "the challenge was changed since the preview" in answer.content.decode()
    assert Phase.objects.get().quota_total == 20


def _replaced(old: bytes, new: bytes) -> Any:
    return lambda files: {**files, "challenge.toml": files["challenge.toml"].replace(old, new)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_replaced(b'slug = "small"', b'slug = "other"'), "challenge.slug must be &#x27;small&#x27;"),
        (
            _replaced(b"[challenge]", b'delete = ["phases.open"]\n[challenge]'),
            "delete: &#x27;phases.open&#x27; can&#x27;t be deleted",
        ),
        (
            _replaced(b'"references_c1.json"', b'"/etc/passwd"'),
            "must contain the file &#x27;/etc/passwd&#x27;",
        ),
        (
            _replaced(b'"references_c1.json"', b'"../../secret-key"'),
            "must contain the file &#x27;../../secret",
        ),
        (_replaced(b'"subsets.json"', b'"none.json"'), "must contain the file &#x27;none.json&#x27;"),
        (_replaced(b'"A small challenge"', b'""'), "challenge.title: String should have at least 1"),
        (_replaced(b"[challenge]", b"x = " + b"[" * 9000), "challenge.toml"),
        (lambda files: {"a.json": b"{}"}, "must contain the file &#x27;challenge.toml&#x27;"),
        (lambda files: {**files, "references_c1.json": b'{"1": 5}'}, "references_c1.json"),
        (lambda files: {**files, "../x": b"a"}, "not a path"),
        (lambda files: {**files, "a/x": b"a"}, "at the top level, or all in one folder"),
        (lambda files: {**files, "references_c1.json": b"\x1f\x8b"}, "must not be another archive"),
        (lambda files: {**files, "references_c1.json": b"PAR1"}, "must be JSON or JSON Lines"),
        (lambda files: {**files, "a" * 250: b"a"}, "at most 200 bytes"),
        (lambda files: {**files, "x.json": b" " * 3_000_000}, "at most"),
    ],
)
def test_wrong_files_are_named_and_change_nothing(
    olga: Someone, definition: Path, change: Any, message: str
) -> None:
    before = sorted(default_storage.listdir("references")[1])
    page = olga.do(f"{ROOT}files/", 422, file=sent(change(files_of(definition)))).content.decode()
    assert message in page
    assert "/tmp" not in page
    assert MARKER not in page
    assert sorted(default_storage.listdir("references")[1]) == before
    assert not actions()


def test_no_zip(olga: Someone) -> None:
    page = olga.do(f"{ROOT}files/", 422, file=SimpleUploadedFile("x.zip", b"text")).content.decode()
    assert "the file is not a zip" in page
    olga.do(f"{ROOT}files/apply/", sha256="0" * 64, seen="1")
    olga.do(f"{ROOT}files/apply/")


def test_files_that_cannot_be_stored(olga: Someone, definition: Path, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    default = {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "file" / "folder"}}
    settings.STORAGES = {**settings.STORAGES, "default": default}
    olga.do(f"{ROOT}files/", 503, file=sent(files_of(definition)))
    olga.do(
        f"{ROOT}references/val/c2/", 503, file=SimpleUploadedFile("a.json", changed_references(definition))
    )


def test_making_a_challenge(challenge: Challenge, definition: Path) -> None:
    maker = Someone("maker")
    maker.user.user_permissions.add(Permission.objects.get(codename="add_challenge"))
    files = files_of(definition)
    assert maker.client.get("/new/").status_code == 200
    taken = maker.client.post("/new/", {"file": sent(files)})
    assert taken.status_code == 422
    assert "must be new on this server" in taken.content.decode()
    files["challenge.toml"] = files["challenge.toml"].replace(b'slug = "small"', b'slug = "mine"')
    page = maker.client.post("/new/", {"file": sent(files)}).content.decode()
    assert "Create the challenge mine?" in page
    assert not Challenge.objects.filter(slug="mine").exists()
    form = hidden_fields(page)
    answer = maker.client.post("/new/apply/", form)
    assert answer["Location"] == "/mine/organize/"
    made = Challenge.objects.get(slug="mine")
    assert list(made.organizers.all()) == [maker.user]
    assert maker.client.get("/mine/organize/").status_code == 200
    maker.see(ROOT, 404)
    assert "upload it again" in maker.client.post("/new/apply/", form, follow=True).content.decode()


def test_the_definition_can_be_sent_back(olga: Someone, ann: Participant, definition: Path) -> None:
    text = olga.see(f"{ROOT}files/challenge.toml")
    files = {
        "challenge.toml": text.encode(),
        "subsets_val.json": (definition.parent / "subsets.json").read_bytes(),
        "references_val_c1.json": (definition.parent / "references_c1.json").read_bytes(),
        "references_val_c2.json": (definition.parent / "references_c2.json").read_bytes(),
    }
    assert "nothing would change" in olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode()


# Submissions


def test_filters(olga: Someone, ann: Participant) -> None:
    bob = Participant("bob")
    first, second = ann.submitted(), bob.submitted()
    Submission.objects.filter(pk=second.pk).update(state="scored", mark="flagged", mark_reason="r")
    version = ReferenceVersion.objects.get(reference_set__name="c1")
    Result.objects.create(submission=second, reference_version=version, metric="METEOR", failure="failed")

    def listed(query: str) -> set[Submission]:
        page = olga.see(f"{ROOT}submissions/?{query}")
        return {each for each in (first, second) if str(each.pk) in page}

    assert listed("") == {first, second}
    for query in ("state=scored", "mark=flagged", "team=BO", "failures=on", "phase=open&state=scored"):
        assert listed(query) == {second}, query
    for query in ("state=waiting", "mark=none", "team=ann"):
        assert listed(query) == {first}, query
    for query in ("state=failed", "mark=hidden", "team=x"):
        assert listed(query) == set(), query
    for query in ("page=x", "page=99"):
        assert listed(query) == {first, second}, query
    for query in ("state=x", "phase=x", "team=%00"):
        refused = olga.client.get(f"{ROOT}submissions/?{query}")
        assert (refused.status_code, "submission/" in refused.content.decode()) == (422, False)


def test_the_filtered_list_as_csv(olga: Someone, ann: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each submission is looked up by a query of its own.
    monkeypatch.setattr("capeval_server.submissions.selectors.scores._BATCH", 1)
    scored = Participant("bob").scored(stands=True)
    ann.submitted()
    page = olga.see(f"{ROOT}submissions/?state=scored&page=1")
    assert 'href="?state=scored&amp;format=csv"' in page
    answer = olga.client.get(f"{ROOT}submissions/?state=scored&format=csv")
    assert answer["Content-Disposition"] == 'attachment; filename="small-submissions.csv"'
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))
    scores = Score.objects.filter(result__submission=scored, name="CIDEr-D", subset="")
    value = scores.get(result__reference_version__reference_set__name="c2").value
    assert row["id"] == str(scored.pk)
    assert [row[name] for name in ("team", "phase", "by", "state", "on the leaderboard", "method")] == [
        "bob", "open", "bob", "scored", "yes", scored.declared["method"],
    ]  # fmt: skip
    # Organizers see all digits, also by private references.
    assert (row["score name"], row["score"]) == ("CIDEr-D", repr(value))
    assert len(olga.see(f"{ROOT}submissions/?format=csv").splitlines()) == 3
    assert "format=csv" not in olga.see(f"{ROOT}submissions/?state=failed")
    wrong = olga.client.get(f"{ROOT}submissions/?state=lost&format=csv")
    assert wrong.status_code == 422
    assert "lost is not one of the available choices" in wrong.content.decode()


def test_failures_with_their_logs(olga: Someone, ann: Participant) -> None:
    submission = ann.submitted()
    Submission.objects.update(state="failed", reason="the system failed", log="Traceback: the whole of it")
    version = ReferenceVersion.objects.get(reference_set__name="c2")
    Result.objects.create(
        submission=submission,
        reference_version=version,
        metric="METEOR",
        failure="METEOR could not be computed (E)",
        log="the log of the metric",
    )
    page = olga.see(f"{ROOT}submissions/{submission.pk}/")
    for text in ("the whole of it", "the log of the metric", "could not be computed", "may quote references"):
        assert text in page
    theirs = ann.api.get(f"/api/submissions/{submission.pk}").content.decode()
    assert "the whole of it" not in theirs
    assert "the log of the metric" not in theirs


def test_a_rerun_scores_once(olga: Someone, ann: Participant) -> None:
    submission = ann.scored(stands=True)
    before = list(Score.objects.order_by("result__metric", "pk").values_list("name", "value", "low", "high"))
    olga.do(f"{ROOT}submissions/{submission.pk}/rerun/")
    assert not Score.objects.exists()
    assert worker.work_once()
    assert not worker.work_once()
    after = list(Score.objects.order_by("result__metric", "pk").values_list("name", "value", "low", "high"))
    assert sorted(map(str, after)) == sorted(map(str, before))
    assert actions() == ["had a submission scored again"]


def test_a_rerun_of_what_is_being_scored(olga: Someone, ann: Participant) -> None:
    submission = ann.submitted()
    claimed = leases.claim([lifecycle.SCORING], "here")
    assert claimed is not None
    olga.do(f"{ROOT}submissions/{submission.pk}/rerun/")
    with pytest.raises(leases.LostLeaseError):
        storage.write(claimed, [])
    assert worker.work_once()
    assert Submission.objects.get().state == "scored"
    assert Result.objects.count() == 8


def test_the_list_of_submissions_has_the_score_of_the_main_leaderboard(
    olga: Someone, ann: Participant
) -> None:
    submission = ann.scored()
    ann.submitted()
    scores = Score.objects.filter(result__submission=submission, name="CIDEr-D", subset="")
    # By the private references, which the phase shows first.
    value = scores.get(result__reference_version__reference_set__name="c2").value
    cells = re.findall(r'<td class="number">(.*?)</td>', olga.see(f"{ROOT}submissions/"))
    assert [re.sub(r"<[^>]*>", "", cell) for cell in cells] == ["–", f"CIDEr-D {value:.3f}"]


def test_a_withdrawn_submission_stays_so(olga: Someone, ann: Participant) -> None:
    submission = ann.submitted()
    assert ann.api.delete(f"/api/submissions/{submission.pk}").status_code == 200
    answer = olga.client.post(f"{ROOT}submissions/{submission.pk}/rerun/", follow=True)
    assert "a withdrawn submission can&#x27;t be scored again" in answer.content.decode()
    olga.do(f"{ROOT}rerun/", which="all")
    assert Submission.objects.get().state == "withdrawn"


@pytest.mark.parametrize(
    ("form", "again"), [({"which": "all", "phase": ""}, 3), ({"which": "failed", "phase": "open"}, 2)]
)
def test_many_again(olga: Someone, ann: Participant, form: dict[str, Any], again: int) -> None:
    first, second, _ = ann.submitted(), ann.submitted(), ann.submitted()
    Submission.objects.update(state="scored")
    Submission.objects.filter(pk=first.pk).update(state="failed", reason="x")
    version = ReferenceVersion.objects.get(reference_set__name="c1")
    Result.objects.create(submission=second, reference_version=version, metric="METEOR", failure="failed")
    asked = "&".join(f"{name}={value}" for name, value in form.items())
    assert f"<strong>{again} submissions</strong> would" in olga.see(f"{ROOT}rerun/?{asked}")
    assert not Submission.objects.filter(state="waiting").exists()
    olga.do(f"{ROOT}rerun/", **form)
    assert Submission.objects.filter(state="waiting").count() == again
    assert actions()[0].endswith(f"scored again ({again})")
    olga.do(f"{ROOT}rerun/", 422, which="x")
    Submission.objects.exclude(pk=first.pk).delete()
    answer = olga.client.post(f"{ROOT}rerun/", {"which": "all", "phase": ""}, follow=True)
    assert "1 submission will be scored again." in answer.content.decode()


def test_hiding(olga: Someone, ann: Participant) -> None:
    submission = ann.scored(stands=True)
    place = f"{ROOT}submissions/{submission.pk}/mark/"
    for mark, reason in (("hidden", ""), ("hidden", " "), ("x", "r"), ("hidden", "a" * 501)):
        olga.do(place, 422, mark=mark, reason=reason)
    assert len(rows()) == 1
    olga.do(place, mark="hidden", reason="Copied from the references.")
    assert rows() == []
    assert "ann" not in Client().get(f"{BOARD}&format=csv").content.decode()
    assert "/submissions/" not in Client().get("/small/open/").content.decode()
    theirs = ann.api.get(f"/api/submissions/{submission.pk}").json()
    assert (theirs["mark"], theirs["mark_reason"]) == ("hidden", "Copied from the references.")
    assert "Copied from the references." in ann.client.get(f"/submissions/{submission.pk}/").content.decode()
    olga.do(place, mark="flagged", reason="Maybe copied.")
    assert len(rows()) == 1
    olga.do(place, mark="", reason="")
    assert Submission.objects.get().mark_reason == ""
    assert actions() == [
        "hid a submission: Copied from the references.",
        "flagged a submission: Maybe copied.",
        "took the mark off a submission",
    ]
    assert "Maybe copied." in olga.see(f"{ROOT}trail/")


def test_taking_off(olga: Someone, ann: Participant) -> None:
    submission = ann.scored(stands=True)
    place = f"{ROOT}submissions/{submission.pk}/"
    # Not offered if the leaderboard can't change any more.
    Challenge.objects.update(visibility="archived")
    assert f"{place}off/" not in olga.see(place)
    Challenge.objects.update(visibility="public")
    assert f"{place}off/" in olga.see(place)
    olga.do(f"{place}off/")
    assert rows() == []
    assert actions() == ["took a submission off the leaderboard"]


# Teams and organizers


@pytest.mark.parametrize(("per_day", "total", "taken"), [(2, 0, 7), (30, 0, 20), (30, 3, 23), (0, 3, 5)])
def test_a_raise_gives_exactly_so_many(
    olga: Someone, ann: Participant, per_day: int, total: int, taken: int
) -> None:
    team = Team.objects.get()
    olga.do(f"{ROOT}teams/{team.pk}/", phase="open", per_day=per_day, total=total)
    codes = [ann.submit().status_code for _ in range(taken + 2)]
    assert codes == [201] * taken + [429] * 2
    page = olga.see(f"{ROOT}teams/")
    assert f"{taken} of {5 + per_day}" in page
    assert f"{taken} of {20 + total}" in page
    bob = Participant("bob")
    assert [bob.submit().status_code for _ in range(6)] == [201] * 5 + [429]


def test_raises_are_checked_and_taken_back(olga: Someone, ann: Participant) -> None:
    place = f"{ROOT}teams/{Team.objects.get().pk}/"
    wrong: list[dict[str, Any]] = [
        {"phase": "x", "per_day": 1, "total": 1},
        {"phase": "open", "per_day": -1, "total": 0},
        {"phase": "open", "per_day": 10_001, "total": 0},
        {"phase": "open", "per_day": 1},
    ]
    for form in wrong:
        olga.do(place, 422, **form)
    assert not Raise.objects.exists()
    olga.do(place, phase="open", per_day=1, total=2)
    olga.do(place, phase="open", per_day=0, total=0)
    assert not Raise.objects.exists()
    assert len(actions()) == 2
    assert code_of(Team.objects.get()) not in olga.see(place) + olga.see(f"{ROOT}teams/")


def test_the_page_of_a_team_has_all_limits(olga: Someone, ann: Participant) -> None:
    ann.submitted()
    place = f"{ROOT}teams/{Team.objects.get().pk}/"
    assert "month" not in olga.see(place)
    Phase.objects.update(quota_per_month=10, quota_per_window=3, quota_window_days=7)
    olga.do(place, phase="open", per_day=0, total=2)
    page = olga.see(place)
    assert "<dt>This month</dt><dd>1 of 12 used</dd>" in page
    assert "<dt>Within 7 days</dt><dd>1 of 5 used</dd>" in page


def test_the_list_of_participants_states_the_rules(olga: Someone, challenge: Challenge) -> None:
    place = f"{ROOT}participants/"
    assert "Participants need no approval. <a" in olga.see(place)
    Challenge.objects.update(approval=True, invitation_only=True, email_domains=["uni.edu", "lab.org"])
    page = olga.see(place)
    assert "An organizer approves each participant before they can submit. Only invited people" in page
    assert "need a verified email address of uni.edu or lab.org." in page
    user = User.objects.create(username="ann")
    Challenge.objects.update(email_domains=[])
    make_team(user, Challenge.objects.get())
    assert "<caption>1 participant, waiting for approval</caption>" in olga.see(place)


def test_organizers_of_organizers(olga: Someone, ann: Participant) -> None:
    answer = olga.do(f"{ROOT}organizers/", 422, username="nobody")
    assert "no user has the name" in answer.content.decode()
    olga.do(f"{ROOT}organizers/", username="ann")
    assert ann.client.get(ROOT).status_code == 200
    assert "is already an organizer" in olga.do(f"{ROOT}organizers/", 422, username="ann").content.decode()
    olga.do(f"{ROOT}organizers/{ann.user.pk}/remove/")
    assert ann.client.get(ROOT).status_code == 404
    answer = olga.client.post(f"{ROOT}organizers/{olga.user.pk}/remove/", follow=True)
    assert "add another organizer first" in answer.content.decode()
    olga.do(f"{ROOT}organizers/{ann.user.pk}/remove/", 404)
    assert actions() == ["made ann an organizer", "removed ann from the organizers"]
    # Staff can't either, without a successor.
    staff = Someone("staff", is_staff=True)
    staff.do(f"{ROOT}organizers/{olga.user.pk}/remove/")
    olga.see(ROOT)
    staff.do(f"{ROOT}organizers/", username="ann")
    staff.do(f"{ROOT}organizers/{olga.user.pk}/remove/")
    olga.see(ROOT, 404)


def test_what_was_done_outlives_who_did_it(olga: Someone, ann: Participant, challenge: Challenge) -> None:
    moderation.rerun(olga.user, challenge, ann.submitted())
    challenge.organizers.add(ann.user)
    User.objects.filter(pk=olga.user.pk).delete()
    assert "<strong><bdi>olga</bdi></strong>" in Someone("staff", is_staff=True).see(f"{ROOT}trail/")


def test_queries_do_not_grow_with_rows(
    olga: Someone, challenge: Challenge, django_assert_max_num_queries: Any
) -> None:
    phase = Phase.objects.get()
    for number in range(30):
        user = User.objects.create(username=f"user{number}")
        team = make_team(user, challenge)
        made = [Submission.objects.create(team=team, user=user, phase=phase) for _ in range(2)]
        moderation.mark(olga.user, challenge, made[0], "flagged", "r")
    # The overview shows all obstacles to a deletion, each of which is a query.
    for place, most in (("", 21), ("submissions/", 19), ("teams/", 19), ("trail/", 19)):
        with django_assert_max_num_queries(most):
            olga.see(ROOT + place)
