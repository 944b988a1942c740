"""Deletion of a challenge: never without an export, and completely."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from capeval_server.annotation.models import Campaign, Response
from capeval_server.audit.models import Action, Export
from capeval_server.challenges.models import Challenge, Phase, ReferenceVersion
from capeval_server.commands.challenges import delete
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.deletion import delete_challenge
from capeval_server.hosting.services.description import state_of
from capeval_server.jobs import worker
from capeval_server.jobs.models import Job
from capeval_server.submissions.models import Score, Submission, SubmissionFile
from capeval_server.teams.models import Team
from tests.server.campaigns import answer, hold, join, make
from tests.server.kit import MARKER, Participant, Someone, write_challenge

pytestmark = pytest.mark.django_db

PAGE = "/small/organize/"


def _export(olga: Someone) -> bytes:
    olga.do(f"{PAGE}export/")
    assert "The export is being prepared: download it" in olga.see(PAGE)
    assert worker.work_once()
    answer = olga.client.get(f"{PAGE}export/")
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    answer.close()
    return content


def _list_files() -> list[str]:
    """Return the names of the stored files of the challenge."""
    found = [*SubmissionFile.objects.values_list("file", flat=True)]
    found += ReferenceVersion.objects.values_list("file", flat=True)
    found += [export.file for export in Export.objects.all()]
    return [str(name) for name in found]


def test_organizers_delete_after_a_download(
    ann: Participant, olga: Someone, django_capture_on_commit_callbacks: Any
) -> None:
    ann.scored(stands=True)
    assert "There is no export" in olga.see(PAGE)
    olga.do(f"{PAGE}delete/", name="small")
    assert Challenge.objects.exists()
    olga.do(f"{PAGE}export/")
    assert worker.work_once()
    assert "Nobody has downloaded the export" in olga.see(PAGE)
    olga.client.get(f"{PAGE}export/").close()
    assert "Delete small" in olga.see(PAGE)
    ann.submitted()
    campaign = make()
    Campaign.objects.filter(pk=campaign.pk).update(challenge=ann.team.challenge)
    # All reasons at once, on the page and in the API.
    reasons = (
        f"close these campaigns first: {campaign.slug}",
        "submissions are not scored yet: wait for their scores",
        "the challenge changed after the export was prepared: prepare and download another one",
    )
    shown = olga.see(PAGE)
    assert all(f"<li>{reason[0].upper()}{reason[1:]}.</li>" in shown for reason in reasons)
    program = olga.program("organize")
    refused = program.post(
        "/api/challenges/small/organize/delete", {"name": "small"}, content_type="application/json"
    )
    assert refused.status_code == 409
    assert refused.json()["detail"] == f"the challenge can't be deleted: {'; '.join(reasons)}"
    Campaign.objects.update(challenge=None)
    assert worker.work_once()
    _export(olga)
    olga.do(f"{PAGE}delete/", name="smal")
    assert Challenge.objects.exists()
    files = _list_files()
    assert len(files) > 3
    assert all(default_storage.exists(name) for name in files)
    with django_capture_on_commit_callbacks(execute=True):
        olga.do(f"{PAGE}delete/", name="small")
    for rows in (Challenge, Phase, Team, Submission, Score, ReferenceVersion):
        assert not rows._default_manager.exists()
    assert not Job.objects.filter(kind="scoring").exists()
    assert not any(default_storage.exists(name) for name in files)
    assert Client().get("/small/").status_code == 404
    assert Action.objects.filter(challenge=None, what="deleted the challenge small").count() == 1


def test_others_delete_nothing(ann: Participant, olga: Someone) -> None:
    _export(olga)
    for user in (ann, Someone("eve")):
        user.do(f"{PAGE}delete/", 404, name="small")
    body: dict[str, Any] = {"content_type": "application/json"}
    path = "/api/challenges/small/organize/delete"
    assert olga.program("submit").post(path, {"name": "small"}, **body).status_code == 403
    assert ann.program("organize").post(path, {"name": "small"}, **body).status_code == 404
    assert Challenge.objects.exists()
    assert olga.program("organize").post(path, {"name": "small"}, **body).status_code == 204
    assert not Challenge.objects.exists()


def test_a_waiting_submission_is_deleted_with_its_job(
    ann: Participant, olga: Someone, tmp_path: Path
) -> None:
    submission = ann.submitted()
    assert Job.objects.filter(subject=str(submission.pk)).exists()
    delete("small", tmp_path / "all.zip", confirm="small")
    assert not Job.objects.filter(subject=str(submission.pk)).exists()
    assert not Submission.objects.exists()


def test_a_submission_during_the_export_is_kept(ann: Participant, challenge: Challenge) -> None:
    began = timezone.now()
    ann.submitted()
    with pytest.raises(ConflictError, match="it changed during the export"):
        delete_challenge(None, challenge, "small", exported=began)
    assert Submission.objects.filter(team__isnull=False).exists()


def test_the_command_writes_everything_first(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    challenge = import_challenge(write_challenge(tmp_path / "files" / "small", human=True))
    before = state_of(challenge)
    target = tmp_path / "all.zip"
    delete("small", target, confirm="small")
    assert not Challenge.objects.exists()
    # Nothing is lost: the archive creates the same challenge again.
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(target) as archive:
        archive.extractall(folder)
    assert MARKER in (folder / "references_val_c2.json").read_text()
    assert state_of(import_challenge(folder / "challenge.toml")) == before


def test_the_export_of_organizers_has_no_references(ann: Participant, olga: Someone, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(_export(olga))
    with zipfile.ZipFile(path) as archive:
        assert not any(MARKER.encode() in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize(("confirm", "message"), [("smal", "'--confirm' must be 'small'"), ("small", "FILE")])
def test_the_command_needs_a_name_and_a_new_file(
    challenge: Challenge, tmp_path: Path, confirm: str, message: str
) -> None:
    target = tmp_path / "all.zip"
    target.write_text("mine")
    with pytest.raises(ValueError, match=message):
        delete(challenge.slug, target, confirm=confirm)
    assert target.read_text() == "mine"
    assert Challenge.objects.exists()


def test_closed_campaigns_are_kept(challenge: Challenge, olga: Someone) -> None:
    campaign = make()
    Campaign.objects.filter(pk=campaign.pk).update(challenge=challenge)
    worker_of_it = join(campaign, 1)[0]
    answer(hold(worker_of_it), "A dog on grass.")
    _export(olga)
    assert f"Close these campaigns first: {campaign.slug}" in olga.see(PAGE)
    olga.do(f"{PAGE}delete/", name="small")
    assert Challenge.objects.exists()
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.CLOSED)
    assert "Campaigns are kept." in olga.see(PAGE)
    olga.do(f"{PAGE}delete/", name="small")
    assert not Challenge.objects.exists()
    kept = Campaign.objects.get()
    assert (kept.challenge, kept.organizers.get()) == (None, olga.user)
    assert Response.objects.filter(item__campaign=kept).count() == 1
    assert campaign.title in olga.see(f"/campaigns/{campaign.slug}/")
