"""The full export: included data, and data that must never be included."""

from __future__ import annotations

import csv
import io
import json
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from capeval_server.accounts.models import Token
from capeval_server.audit.models import Action, Export
from capeval_server.challenges.models import Challenge, Phase, ReferenceVersion
from capeval_server.hosting import jobs
from capeval_server.hosting.services import export_archive, moderation, participants, pictures
from capeval_server.hosting.services.reported_scores import add_reported, reference_set
from capeval_server.jobs import worker
from capeval_server.jobs.models import Job
from capeval_server.notifications import services, webhooks
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.teams.models import Team
from tests.server.drawings import drawn
from tests.server.kit import MARKER, Participant, Someone, codes, results, write_challenge
from tests.server.processes import Server

pytestmark = pytest.mark.django_db

EXPORT = "/small/organize/export/"
FORMULA = '=HYPERLINK("http://x","y")'
NUMBERS = ["value", "low", "high"]
TABLES = ["actions", "announcements", "blocks", "references", "reported", "results", "scores", "submissions"]
TABLES += ["teams", "webhooks"]


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    """The small challenge, here with its human baseline."""
    return write_challenge(tmp_path, human=True)


def exported(someone: Someone) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(downloaded(someone).data))


def downloaded(someone: Someone) -> Any:
    """The answer with an export that is made for it, read to its end."""
    someone.do(EXPORT)
    work()
    return got(someone)


def work() -> None:
    """Run all queued jobs."""
    while worker.work_once():
        pass


def got(someone: Someone, status: int = 200, **headers: str) -> Any:
    answer: Any = someone.client.get(EXPORT, headers=headers)
    assert answer.status_code == status
    answer.data = b"".join(answer)
    return answer


def table(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(archive.read(f"{name}.json"))
    return found


def cells(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(archive.read(f"{name}.csv").decode())))


def test_everything_is_in_it(olga: Someone, challenge: Challenge, settings: Any) -> None:
    ann = Participant("ann", "Team A")
    submission = ann.scored(stands=True, method="Mine")
    while worker.work_once():
        pass
    moderation.raise_quota(olga.user, Team.objects.get(), Phase.objects.get(), per_day=1, total=2)
    moderation.mark(olga.user, challenge, submission, "flagged", "Why")
    participants.block(olga.user, challenge, Someone("eve").user.username, "Spam")
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    hook = webhooks.add(olga.user, challenge, "https://hooks.example.org/")
    services.announce(olga.user, challenge, "News", "All is *well*.")
    pictures.add(olga.user, challenge, "a.gif", drawn("GIF"))
    rows = b"team,CIDEr-D\nA,1.5\n"
    entry = reference_set(challenge, "val", "c2")
    add_reported(olga.user, entry, "old", "old.csv", rows, title="Old", url="", ranked=False)
    archive = exported(olga)
    assert archive.testzip() is None
    assert archive.read("pictures/a.gif").startswith(b"\x89PNG")
    assert hook.secret.encode() not in b"".join(map(archive.read, archive.namelist()))
    assert [row["url"] for row in table(archive, "webhooks")] == ["https://hooks.example.org/"]
    assert [row["text"] for row in table(archive, "announcements")] == ["All is *well*."]
    names = {f"{name}.{form}" for name in TABLES for form in ("csv", "json")}
    names |= {"README.txt", "challenge.toml", "pictures/a.gif"}
    # What people wrote for the human baseline may be among other references.
    assert set(archive.namelist()) == names | {f"files/{submission.pk}/val.json"}
    assert archive.read(f"files/{submission.pk}/val.json") == results()
    for name in TABLES:
        wide, narrow = table(archive, name), cells(archive, name)
        assert len(wide) == len(narrow) > 0, name
        assert list(narrow[0]) == list(wide[0]), name
    (team,) = table(archive, "teams")
    assert (team["members"], team["owner"], team["waiting"]) == (["ann"], "ann", [])
    (block,) = table(archive, "blocks")
    assert (block["who"], block["reason"]) == ("eve", "Spam")
    assert team["raises"] == [{"phase": "open", "per_day": 1, "total": 2}]
    of_ann, baseline = sorted(table(archive, "submissions"), key=lambda row: str(row["team"]))
    assert of_ann["declared"] == {"method": "Mine"}
    assert (of_ann["mark"], of_ann["mark_reason"], of_ann["stands"]) == ("flagged", "Why", True)
    assert baseline["baseline_of"] == "val/c2"
    assert len(table(archive, "results")) == Result.objects.count() == 12
    scores = {
        (row["submission"], row["references"], row["subset"], row["score"]): (
            row["value"],
            row["low"],
            row["high"],
        )
        for row in table(archive, "scores")
    }
    assert len(scores) == Score.objects.count()
    for row in cells(archive, "scores"):
        key = (row["submission"], row["references"], row["subset"], row["score"])
        assert (
            tuple(float(row[name]) if row[name] else None for name in ("value", "low", "high")) == scores[key]
        )
    definition = tomllib.loads(archive.read("challenge.toml").decode())
    assert definition["challenge"]["slug"] == "small"
    assert definition["splits"][0]["references"][1]["human"] == "human_val_c2.json"
    assert [row["who"] for row in table(archive, "actions")] == ["the command line", *["olga"] * 8]


def test_stale_scores_are_told_apart(olga: Someone) -> None:
    Participant("ann").scored(stands=True)
    version = ReferenceVersion.objects.get(reference_set__name="c2")
    version.reference_set.versions.create(number=2, sha256="0" * 64, file="references/x.json")
    type(version.reference_set).objects.filter(pk=version.reference_set_id).update(version=2)
    archive = exported(olga)
    stale = {(row["references"], row["version"]): row["stale"] for row in table(archive, "scores")}
    assert stale == {("c1", 1): False, ("c2", 1): True}


def test_nothing_secret_is_in_it(olga: Someone, challenge: Challenge) -> None:
    ann = Participant("ann")
    User.objects.update(email="secret@mail.example")
    submission = ann.scored(stands=True)
    Result.objects.update(log=f"{MARKER} in a log")
    Submission.objects.update(log=f"{MARKER} in a log", idempotency_key=None)
    Submission.objects.filter(pk=submission.pk).update(idempotency_key="secret-key-1")
    archive = exported(olga)
    everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    secrets = [*codes(), *Token.objects.values_list("digest", flat=True)]
    stored = [str(version.file.name).split("/")[-1] for version in ReferenceVersion.objects.all()]
    for secret in (MARKER, "secret@mail.example", "secret-key-1", "capeval_", *secrets, *stored):
        assert secret.lower() not in everything.lower(), secret
    assert secrets
    with ReferenceVersion.objects.get(reference_set__name="c2").file.open() as file:
        captions = json.loads(file.read())["3"]
    assert captions
    assert not [caption for caption in captions if caption in everything]


def test_formulas_are_text_in_csv(olga: Someone, challenge: Challenge) -> None:
    ann = Participant("ann", FORMULA)
    submission = ann.submitted(method=FORMULA)
    Submission.objects.filter(pk=submission.pk).update(algorithm="-1+1", reason="@x", mark_reason="\t=1")
    moderation.mark(olga.user, challenge, Submission.objects.get(pk=submission.pk), "hidden", "+1+1")
    archive = exported(olga)
    assert [row["name"] for row in table(archive, "teams")] == [FORMULA]
    assert [row["name"] for row in cells(archive, "teams")] == [f"'{FORMULA}"]
    rows = cells(archive, "submissions")
    (row,) = [row for row in rows if row["submission"] == str(submission.pk)]
    assert (row["entrant"], row["algorithm"], row["reason"]) == (f"'{FORMULA}", "'-1+1", "'@x")
    assert row["mark_reason"] == "'+1+1"
    for name in TABLES:
        for found in cells(archive, name):
            for column, text in found.items():
                number = column in ("value", "low", "high", "version", "team")
                assert number or not text.startswith(("=", "+", "-", "@", "\t", "\r")), (name, column, text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_scores_that_are_no_numbers(olga: Someone, value: float | None) -> None:
    Participant("ann").scored(stands=True)
    work()
    Score.objects.update(value=value)
    archive = exported(olga)
    assert {row["value"] for row in table(archive, "scores")} == {None}
    assert {row["value"] for row in cells(archive, "scores")} == {""}


def test_queries_do_not_grow_with_rows(
    olga: Someone, challenge: Challenge, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        Participant(f"user{number}").submitted()
    with django_assert_max_num_queries(45):
        export_archive.export(challenge, io.BytesIO())


def test_a_disk_that_is_full(olga: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    work()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    olga.do(EXPORT)
    with monkeypatch.context() as patched:
        patched.setattr(jobs, "export", full)
        assert worker.work_once()
    # It is tried again after a pause.
    assert "The export is being prepared." in olga.see("/small/organize/")
    assert not worker.work_once()
    Job.objects.update(available_from=None)
    assert worker.work_once()
    assert zipfile.ZipFile(io.BytesIO(got(olga).data)).testzip() is None


def test_by_token(olga: Someone) -> None:
    ann = Participant("ann")
    place = "/api/challenges/small/organize/export"
    downloaded(olga)
    for scope, status in (("read", 403), ("submit", 403), ("organize", 200)):
        token = Token.issue(olga.user.pk, scope, scope)
        answer: Any = Client(headers={"Authorization": f"Bearer {token}"}).get(place)
        assert answer.status_code == status
        if status == 200:
            assert zipfile.ZipFile(io.BytesIO(b"".join(answer))).testzip() is None
    token = Token.issue(ann.user.pk, "organize", "organize")
    assert Client(headers={"Authorization": f"Bearer {token}"}).get(place).status_code == 404
    assert Client().get(place).status_code == 401


def test_the_commands(tmp_path: Path) -> None:
    server = Server(tmp_path, None)
    server.prepare()
    assert server.run("organizer", "small", "user1") == "user1: an organizer of small\n"
    # The last organizer can't be removed.
    assert server.run("organizer", "small", "user2") == "user2: an organizer of small\n"
    assert server.run("organizer", "small", "user1", "--remove") == "user1: not an organizer of small\n"
    target = tmp_path / "small.zip"
    assert server.run("export", "small", str(target)) == f"{target}\n"
    with zipfile.ZipFile(target) as archive:
        assert "challenge.toml" in archive.namelist()
        assert len(table(archive, "teams")) == len(server.tokens)


# As a job


def test_an_export_is_prepared_by_a_worker(olga: Someone, challenge: Challenge) -> None:
    assert "Prepare an export" in olga.see("/small/organize/")
    assert "there is no export" in olga.client.get(EXPORT, follow=True).content.decode()
    olga.do(EXPORT)
    page = olga.see("/small/organize/")
    assert "The export is being prepared." in page
    assert 'hx-select="#exported"' in page
    assert "the export is being prepared" in olga.client.get(EXPORT, follow=True).content.decode()
    work()
    assert ">Download</a>" in olga.see("/small/organize/")
    first = got(olga)
    assert zipfile.ZipFile(io.BytesIO(first.data)).testzip() is None
    assert int(first["Content-Length"]) == len(first.data) == Export.objects.get().size
    # Another takes its place, also in the storage.
    stored = Export.objects.get().file
    with transaction.atomic():
        assert downloaded(olga)["ETag"] != first["ETag"]
    assert Export.objects.get().file != stored


def test_a_download_goes_on_where_it_was_interrupted(olga: Someone, challenge: Challenge) -> None:
    whole = downloaded(olga)
    data, tag, size = whole.data, whole["ETag"], len(whole.data)
    assert whole["Accept-Ranges"] == "bytes"
    seen = Action.objects.count()
    part = got(olga, 206, Range="bytes=100-", **{"If-Range": tag})
    assert (part.data, part["Content-Range"]) == (data[100:], f"bytes 100-{size - 1}/{size}")
    assert part["Content-Length"] == str(size - 100)
    assert got(olga, 206, Range="bytes=10-19").data == data[10:20]
    assert got(olga, 206, Range="bytes=-5").data == data[-5:]
    assert got(olga, 206, Range=f"bytes=10-{size + 9}").data == data[10:]
    assert got(olga, 416, Range=f"bytes={size}-")["Content-Range"] == f"bytes */{size}"
    # Going on is no other download.
    assert Action.objects.count() == seen + 1
    for headers in ({"Range": "bytes=9-", "If-Range": '"other"'}, {"Range": "bytes=1-2,5-6"}, {"Range": "x"}):
        assert got(olga, 200, **headers).data == data


def test_a_later_part_is_recorded_for_who_has_no_earlier_one(olga: Someone, challenge: Challenge) -> None:
    downloaded(olga)
    second = Someone("second")
    challenge.organizers.add(second.user)
    for _ in range(2):
        got(second, 206, Range="bytes=1-")
        got(second, 200, Range="bytes=1-", **{"If-Range": '"other"'})
    assert Action.objects.filter(user=second.user).count() == 1
    # Another export is another download.
    olga.do(EXPORT)
    work()
    got(second, 206, Range="bytes=1-")
    assert Action.objects.filter(user=second.user).count() == 2


def test_who_asks_again_gets_the_later_one(olga: Someone, challenge: Challenge) -> None:
    olga.do(EXPORT)
    first = Export.objects.get()
    olga.do(EXPORT)
    assert Export.objects.get().pk != first.pk
    work()
    assert Export.objects.get().state == "ready"


def test_an_export_that_fails_is_said(
    olga: Someone, challenge: Challenge, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MAX_ATTEMPTS = 1

    def failing(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(jobs, "export", failing)
    olga.do(EXPORT)
    work()
    page = olga.see("/small/organize/")
    assert "not made, since the system failed" in page
    assert "Prepare another" in page


def test_programs_ask_for_it_too(olga: Someone, challenge: Challenge) -> None:
    program, place = olga.program("organize"), "/api/challenges/small/organize/export"
    assert program.get(place).status_code == 409
    answer = program.post(place)
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    assert program.get(place).json()["detail"] == "the export is being prepared"
    work()
    found: Any = program.get(place, headers={"Range": "bytes=0-1"})
    assert (found.status_code, b"".join(found)) == (206, b"PK")
