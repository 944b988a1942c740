"""Checks before an upload is read: its size, the quota, and the upload lock of its user."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http.request import HttpRequest

from capeval_server.challenges.models import Phase
from capeval_server.core.errors import BusyError
from capeval_server.submissions.models import RefusedUpload, Submission
from capeval_server.submissions.quotas.upload_locks import acquire_unpacking_slot, lock_user_uploads
from tests.server.clock import Clock
from tests.server.kit import RESULTS, Participant, results
from tests.server.processes import PROJECT

pytestmark = pytest.mark.django_db

SUBMIT = "/small/open/submit/?key=k"
# Acquires the upload lock of a user, prints the result, and runs until it is killed.
HOLDER = """
import sys, time, django
django.setup()
from django.contrib.auth.models import User
from django.conf import settings
from capeval_server.submissions.quotas.upload_locks import lock_user_uploads, acquire_unpacking_slot
settings.DATA = sys.argv[1]
with lock_user_uploads(User(pk=int(sys.argv[2]))) as free, acquire_unpacking_slot():
    print(free, flush=True)
    time.sleep(10_000)
"""


@pytest.fixture(autouse=True)
def no_patience(settings: Any) -> None:
    """Let uploads that must wait for a lock fail at once."""
    settings.TURN_SECONDS = 0


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make reading a request body fail."""

    def fail(*_: object) -> None:
        raise AssertionError("the body was read")

    monkeypatch.setattr(HttpRequest, "_load_post_and_files", fail)


@pytest.fixture
def elsewhere(settings: Any, ann: Participant) -> Iterator[subprocess.Popen[str]]:
    """Another process of the server, which checks an upload of Ann's."""
    command = [sys.executable, "-c", HOLDER, str(settings.DATA), str(ann.user.pk)]
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.server.settings", "PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def by_page(someone: Participant, data: bytes, key: str = "k") -> Any:
    form = {"declared-method": "m", "file": SimpleUploadedFile(RESULTS, data)}
    return someone.client.post(f"/small/open/submit/?key={key}", form)


@pytest.mark.usefixtures("unread")
def test_a_body_is_not_read_once_the_quota_is_used_up(ann: Participant) -> None:
    Phase.objects.update(quota_total=0)
    assert ann.submit().status_code == 429
    answer = by_page(ann, results())
    assert answer.status_code == 429
    assert "used its quota of 0 submissions to this phase" in answer.content.decode()


@pytest.mark.usefixtures("unread")
def test_a_body_is_not_read_when_it_says_that_it_is_too_large(ann: Participant, settings: Any) -> None:
    settings.REQUEST_BYTES = 100
    answer = ann.submit()
    assert answer.status_code == 422
    assert "at most 1,000,000 bytes" in answer.json()["detail"]
    answer = by_page(ann, results())
    assert (answer.status_code, "at most 1,000,000 bytes" in answer.content.decode()) == (422, True)


def test_a_repeated_form_is_answered_when_the_quota_is_used_up(ann: Participant) -> None:
    Phase.objects.update(quota_total=1)
    answers = [by_page(ann, results()) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 302]
    assert answers[0]["Location"] == answers[1]["Location"]
    assert by_page(ann, results(), "another").status_code == 429
    first, again = ann.submit(key="k"), by_page(ann, results({1: "a"}))
    assert (first.status_code, again.status_code) == (200, 422)


@pytest.mark.parametrize("key", ["", "a b", "a" * 101, "\x00"])
def test_the_key_of_a_form_is_in_its_address(ann: Participant, key: str) -> None:
    form = {"declared-method": "m", "file": SimpleUploadedFile(RESULTS, results())}
    answer = ann.client.post("/small/open/submit/", form, query_params={"key": key})
    assert answer.status_code == 400
    assert not Submission.objects.exists()


def test_uploads_that_are_refused_have_a_rate(ann: Participant, bob: Participant, clock: Clock) -> None:
    begun = clock.now
    for number in range(10):
        clock.now = begun + timedelta(seconds=number)
        answer = ann.submit(b"{") if number % 2 else by_page(ann, b"{", f"{number}")
        assert answer.status_code == 422
    for answer in (ann.submit(), by_page(ann, results())):
        assert (answer.status_code, answer["Retry-After"]) == (429, "592")
        assert (
            "10 of your uploads within 10 minutes were invalid or repeated an earlier one"
            in answer.content.decode()
        )
    assert not Submission.objects.exists()
    assert bob.submit().status_code == 201
    clock.now = begun + timedelta(minutes=10)
    assert ann.submit().status_code == 201
    assert ann.submit(b"{").status_code == 422
    # What is older than it counts is deleted.
    assert RefusedUpload.objects.filter(user=ann.user).count() == 10


def test_what_the_server_fails_at_does_not_count(ann: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    assert ann.submit().status_code == 201
    monkeypatch.setattr("django.core.files.storage.FileSystemStorage._save", full)
    assert ann.submit().status_code == 503
    assert by_page(ann, results()).status_code == 503
    assert not RefusedUpload.objects.exists()


def test_wrong_fields_do_not_count(ann: Participant) -> None:
    for _ in range(11):
        assert ann.submit(unknown="x").status_code == 422
        wrong = {"file": SimpleUploadedFile(RESULTS, results())}
        assert ann.client.post("/small/open/submit/?key=k", wrong).status_code == 422
    assert not RefusedUpload.objects.exists()
    assert ann.submit().status_code == 201


def test_a_repeated_upload_counts_as_one_that_made_nothing(ann: Participant) -> None:
    assert [ann.submit(key="k").status_code for _ in range(12)] == [201] + 10 * [200] + [429]


@pytest.mark.usefixtures("elsewhere", "clock")
def test_one_upload_of_a_user_at_a_time(ann: Participant, bob: Participant) -> None:
    for answer in (ann.submit(), by_page(ann, results())):
        assert (answer.status_code, answer["Retry-After"]) == (429, "6")
        assert "another upload of yours is being checked" in answer.content.decode()
    assert not RefusedUpload.objects.exists()
    assert bob.submit().status_code == 201


def test_a_turn_ends_with_its_process(ann: Participant, elsewhere: subprocess.Popen[str]) -> None:
    assert ann.submit().status_code == 429
    elsewhere.send_signal(signal.SIGKILL)
    elsewhere.wait()
    assert ann.submit().status_code == 201


@pytest.mark.usefixtures("elsewhere")
def test_only_some_uploads_are_unpacked_at_once(bob: Participant, settings: Any) -> None:
    settings.UNPACKED_AT_ONCE = 1
    answer = bob.submit()
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert answer.json()["detail"] == "the server is checking other uploads"
    answer = by_page(bob, results())
    assert (answer.status_code, "checking other uploads" in answer.content.decode()) == (503, True)
    assert not RefusedUpload.objects.exists()
    settings.UNPACKED_AT_ONCE = 2
    assert bob.submit().status_code == 201


def test_a_second_upload_waits_for_the_first(settings: Any, tmp_path: Path) -> None:
    # Killed processes of other tests leave their files in the folder of all tests.
    settings.DATA = tmp_path
    user = User(pk=1)
    with lock_user_uploads(user) as first, lock_user_uploads(user) as second:
        assert (first, second) == (True, False)
    with lock_user_uploads(user) as again:
        assert again
    with (
        acquire_unpacking_slot(),
        acquire_unpacking_slot(),
        pytest.raises(BusyError),
        acquire_unpacking_slot(),
    ):
        pass
    assert not list((settings.DATA / "turns").iterdir())
