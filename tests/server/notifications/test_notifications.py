"""Announcements, mail to participants, webhooks, and the texts and pictures of a challenge."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.mail.backends import locmem
from django.test import Client
from django.utils import timezone

from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge, Phase, Picture
from capeval_server.config import environment
from capeval_server.hosting.services import moderation
from capeval_server.http import safe_client
from capeval_server.jobs import leases, worker
from capeval_server.jobs.handlers import handlers
from capeval_server.jobs.models import Job
from capeval_server.notifications import jobs, services, webhooks
from capeval_server.notifications.models import Announcement, Delivery, Mail, PhaseTold, Webhook
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Membership
from tests.server.clock import Clock
from tests.server.drawings import drawn, pixels
from tests.server.kit import MARKUP, Participant, Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
ROOT, API = "/small/organize/", "/api/challenges/small/organize/"
PNG = drawn()


@pytest.fixture(autouse=True)
def addresses(ann: Participant, bob: Participant) -> None:
    for someone in (ann, bob):
        email = f"{someone.user.username}@example.org"
        EmailAddress.objects.create(user=someone.user, email=email, primary=True, verified=True)


def mailed() -> dict[str, list[str]]:
    """The subjects of the mails that wait, by the users."""
    found: dict[str, list[str]] = {}
    for mail in Mail.objects.select_related("user").order_by("pk"):
        found.setdefault(mail.user.username, []).append(mail.subject)
    return found


# Announcements


def test_an_announcement_is_on_the_page_and_mailed(
    olga: Someone, ann: Participant, bob: Participant, mailoutbox: list[Any], settings: Any
) -> None:
    bob.do("/notices/", submissions="on", phases="on")
    olga.do(f"{ROOT}notices/", title="New data", text=f"See **them** {MARKUP}")
    page = Client().get("/small/announcements/")
    assert "<strong>them</strong> &lt;script&gt;" in page.content.decode()
    check_page(page.content.decode(), page.headers["Content-Security-Policy"])
    assert "New data" in Client().get("/small/").content.decode()
    assert mailed() == {"ann": ["A small challenge: New data"]}
    assert jobs.send() == 1
    assert not Mail.objects.exists()
    (mail,) = mailoutbox
    assert mail.to == ["ann@example.org"]
    assert mail.subject == "[capeval] A small challenge: New data"
    assert f"{settings.ADDRESS}/small/announcements/" in mail.body
    assert mail.extra_headers["List-Unsubscribe"] == f"<{settings.ADDRESS}/notices/>"
    (announcement,) = Client().get("/api/challenges/small/announcements").json()["announcements"]
    assert announcement["title"] == "New data"
    olga.do(f"{ROOT}notices/{Announcement.objects.get().pk}/remove/")
    assert "No announcements yet" in Client().get("/small/announcements/").content.decode()
    told = list(Action.objects.exclude(user=None).order_by("pk").values_list("what", flat=True))
    assert told == ["announced: New data", "took back the announcement: New data"]


def test_mail_links_to_a_server_that_started_after_the_worker(
    olga: Someone, ann: Participant, mailoutbox: list[Any], settings: Any, tmp_path: Path
) -> None:
    settings.DATA, settings.ALLOWED_HOSTS = tmp_path, ["127.0.0.1", "testserver"]
    environment.remember_address(tmp_path, "http://127.0.0.1:8130")
    olga.do(f"{ROOT}notices/", title="New data", text="See them.")
    assert jobs.send() >= 1
    mail = next(one for one in mailoutbox if one.to == ["ann@example.org"])
    assert "http://127.0.0.1:8130/small/announcements/" in mail.body
    assert "http://127.0.0.1:8130/notices/" in mail.body


def test_nothing_is_mailed_about_a_draft(olga: Someone, ann: Participant) -> None:
    ann.submitted()
    Challenge.objects.update(visibility="draft")
    assert worker.work_once()
    done = olga.client.post(f"{ROOT}notices/", {"title": "Secret", "text": "t"}, follow=True)
    assert "It is not mailed, because the challenge is a draft." in done.content.decode()
    assert mailed() == {}


def test_programs_announce(olga: Someone, ann: Participant) -> None:
    place = f"{API}announcements"
    wrong = {"title": " ", "text": "t"}
    assert olga.program("organize").post(place, wrong, content_type="application/json").status_code == 422
    new = {"title": "T", "text": "t"}
    assert ann.program("organize").post(place, new, content_type="application/json").status_code == 404
    assert olga.program("organize").post(place, new, content_type="application/json").status_code == 201
    assert Announcement.objects.get().text == "t"


# Mail about submissions and phases


def test_the_end_of_a_submission_is_told_once(olga: Someone, ann: Participant, bob: Participant) -> None:
    submission = ann.scored()
    assert mailed() == {"ann": ["A small challenge: m was scored"]}
    moderation.rerun(olga.user, ann.team.challenge, submission)
    assert worker.work_once()
    assert mailed() == {"ann": ["A small challenge: m was scored"]}
    bob.do("/notices/")
    bob.scored()
    assert list(mailed()) == ["ann"]


def test_a_failure_is_told_with_its_reason(ann: Participant) -> None:
    submission = ann.submitted()
    job = leases.claim(["scoring"], "w")
    assert job is not None
    with handlers() as opened:
        leases.give_up(job, opened["scoring"], "the system failed 3 times", "secret log")
    mail = Mail.objects.get()
    assert mail.subject == "A small challenge: m failed"
    assert "to phase open failed: the system failed 3 times." in mail.text
    assert f"/submissions/{submission.pk}/" in mail.text
    assert "secret" not in mail.text


def test_who_has_left_or_has_no_address_gets_no_mail(ann: Participant, bob: Participant) -> None:
    EmailAddress.objects.filter(user=bob.user).update(verified=False)
    bob.scored()
    ann.submitted()
    ann.do("/small/team/leave/")
    assert worker.work_once()
    assert mailed() == {}


def test_phases_that_open_and_close_are_told_once(ann: Participant, bob: Participant, clock: Clock) -> None:
    Phase.objects.update(opens=clock.now + timedelta(hours=1), closes=clock.now + timedelta(days=5))
    services.notify_phases()
    assert mailed() == {}
    clock.now += timedelta(hours=2)
    bob.do("/notices/", submissions="on")
    for _ in range(2):
        services.notify_phases()
    assert mailed() == {"ann": ["A small challenge: phase open is open"]}
    clock.now += timedelta(days=4)
    for _ in range(2):
        services.notify_phases()
    assert mailed()["ann"][1:] == ["A small challenge: phase open closes soon"]
    assert "until " in Mail.objects.order_by("-pk")[0].text
    assert "choose" not in Mail.objects.order_by("-pk")[0].text
    # A later deadline is announced again.
    Phase.objects.update(closes=clock.now + timedelta(days=3), blind=True)
    services.notify_phases()
    assert len(mailed()["ann"]) == 2
    clock.now += timedelta(days=2, hours=12)
    services.notify_phases()
    assert len(mailed()["ann"]) == 3
    assert "Your team may choose 1 submission for the final results." in Mail.objects.latest("pk").text


def test_published_results_and_approvals_are_told(olga: Someone, ann: Participant, clock: Clock) -> None:
    Phase.objects.update(blind=True, opens=clock.now - timedelta(days=9), closes=clock.now)
    services.notify_phases()
    assert mailed() == {}
    olga.do("/small/organize/phases/open/publish/", confirm="on")
    for _ in range(2):
        services.notify_phases()
    assert mailed()["ann"] == ["A small challenge: phase open has published results"]
    assert Mail.objects.latest("pk").text.endswith("/small/submissions/?phase=open")
    Mail.objects.all().delete()
    Membership.objects.update(approved=False)
    olga.do("/small/organize/participants/", act="approve_all")
    assert mailed()["ann"] == ["A small challenge: you are approved"]
    Membership.objects.update(approved=False)
    olga.do("/small/organize/participants/", act="approve", username="ann")
    assert len(mailed()["ann"]) == 2
    assert ann.see("/" + Mail.objects.latest("pk").text.split("/", 3)[3])


def test_what_opened_long_ago_is_no_news(ann: Participant) -> None:
    services.notify_phases()
    assert not PhaseTold.objects.exists()


def test_mail_waits_while_the_mail_server_is_away(
    ann: Participant, monkeypatch: pytest.MonkeyPatch, mailoutbox: list[Any], settings: Any
) -> None:
    ann.scored()

    def away(*_: object) -> int:
        raise ConnectionRefusedError("away")

    there = locmem.EmailBackend.send_messages
    monkeypatch.setattr(locmem.EmailBackend, "send_messages", away)
    leases.enqueue(Job(kind="notices", subject="server"))
    assert worker.work_once()
    job = Job.objects.get(kind="notices")
    assert job.attempt == 1
    assert job.available_from is not None
    assert job.available_from > timezone.now()
    assert Mail.objects.count() == 1
    monkeypatch.setattr(locmem.EmailBackend, "send_messages", there)
    Job.objects.update(available_from=None)
    assert worker.work_once()
    assert len(mailoutbox) == 1
    # It recurs.
    assert Job.objects.get(kind="notices").attempt == 0


def test_the_page_of_preferences(ann: Participant) -> None:
    page = ann.client.get("/notices/")
    check_page(page.content.decode(), page.headers["Content-Security-Policy"])
    assert page.content.decode().count("checked") == 4
    ann.do("/notices/", phases="on")
    assert ann.see("/notices/").count("checked") == 1
    assert Client().get("/notices/")["Location"].startswith("/accounts/login/")


# Webhooks


class Receiver(http.server.BaseHTTPRequestHandler):
    """HTTP server that records webhook deliveries."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.taken.append((self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        statuses = self.server.statuses  # type: ignore[attr-defined]
        self.send_response(statuses.pop(0) if statuses else 204)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def receiver(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server for webhooks, allowed by the settings; here, the address of this machine counts as public."""
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.taken, server.statuses = [], []
    settings.WEBHOOK_HOSTS = [f"localhost:{server.server_port}", "hooks.example.org"]
    is_public = safe_client.is_public
    monkeypatch.setattr(safe_client, "is_public", lambda one: one in ("127.0.0.1", "::1") or is_public(one))
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _, port, *__, **___: [(2, 1, 6, "", ("127.0.0.1", port))]
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def tell() -> None:
    """Deliver the pending webhook events, as a worker does."""
    leases.enqueue(Job(kind="webhooks", subject="server"))
    assert worker.work_once()


def test_a_webhook_is_told_what_happens_signed(olga: Someone, ann: Participant, receiver: Any) -> None:
    url = f"http://localhost:{receiver.server_port}/there?x=1"
    page = olga.do(f"{ROOT}webhooks/", 200, url=url).content.decode()
    hook = Webhook.objects.get()
    assert hook.secret in page
    assert hook.secret not in olga.see(f"{ROOT}notices/")
    submission = ann.scored()
    tell()
    ((path, headers, body),) = receiver.taken
    assert path == "/there?x=1"
    assert headers["X-Capeval-Event"] == "submission.scored"
    told = json.loads(body)
    assert (told["event"], told["challenge"], told["submission"]["id"]) == (
        "submission.scored",
        "small",
        str(submission.pk),
    )
    at, digest = headers["X-Capeval-Signature"].removeprefix("t=").split(",sha256=")
    assert digest == webhooks.signature(hook.secret, int(at), body)
    assert digest != webhooks.signature("another", int(at), body)
    assert "status 204, attempt 1" in olga.see(f"{ROOT}notices/")
    tell()
    assert len(receiver.taken) == 1
    olga.do(f"{ROOT}webhooks/{hook.pk}/remove/")
    assert not Delivery.objects.exists()


def test_what_is_not_taken_is_tried_again_later_and_later(
    olga: Someone, ann: Participant, receiver: Any, clock: Clock
) -> None:
    hook = webhooks.add(olga.user, ann.team.challenge, f"http://localhost:{receiver.server_port}/")
    services.announce(olga.user, ann.team.challenge, "T", "t")
    # No other address is followed to.
    receiver.statuses += [302, *[500] * 7]
    pauses = []
    while (delivery := Delivery.objects.get()).due is not None:
        clock.now = max(clock.now, delivery.due)
        webhooks.deliver(delivery)
        delivery.refresh_from_db()
        pauses += [] if delivery.due is None else [(delivery.due - clock.now).total_seconds() / 60]
    assert pauses == [1, 2, 4, 8, 16, 32, 64]
    assert (delivery.attempts, delivery.outcome, len(receiver.taken)) == (8, "status 500", 8)
    assert hook.deliveries.count() == 1


def test_a_host_that_answers_nothing_takes_no_more_than_some_seconds(
    olga: Someone, ann: Participant, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        from django.conf import settings

        settings.WEBHOOK_HOSTS.append(f"localhost:{port}")
        hook = webhooks.add(olga.user, ann.team.challenge, f"http://localhost:{port}/")
        delivery = Delivery.objects.create(webhook=hook, event="e", body="{}")
        webhooks.deliver(delivery)
    assert delivery.attempts == 1
    assert delivery.due is not None
    assert "time" in delivery.outcome or "answer" in delivery.outcome


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://hooks.example.org/", "must be an address with http"),
        ("https://user@hooks.example.org/", "must be an address with http"),
        ("https://hooks.example.org:99999/", "a numeric port"),
        ("https://other.example.org/", "settings allow: hooks.example.org (got"),
        ("https://hooks.example.org:8443/", "settings allow"),
        ("https://hooks.example.org.evil.org/", "settings allow"),
    ],
)
def test_other_hosts_than_those_of_the_settings_are_refused(
    olga: Someone, settings: Any, url: str, message: str
) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    answer = olga.do(f"{ROOT}webhooks/", 422, url=url)
    assert message in answer.content.decode()
    program = olga.program("organize").post(f"{API}webhooks", {"url": url}, content_type="application/json")
    assert (program.status_code, message in program.json()["detail"]) == (422, True)
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1"),
        *("2002:7f00:1::", "64:ff9b::7f00:1", "ff02::1"),
    ],
)
def test_no_private_address_is_connected_to(
    olga: Someone, ann: Participant, settings: Any, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    # One that is public, and one that is not.
    found = [(2, 1, 6, "", ("93.184.215.14", 443)), (2, 1, 6, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    hook = webhooks.add(olga.user, ann.team.challenge, "https://hooks.example.org/")
    delivery = Delivery.objects.create(webhook=hook, event="e", body="{}")
    webhooks.deliver(delivery)
    assert delivery.outcome == f"hooks.example.org must have only public addresses (got {address})"


def test_a_public_address_is_connected_to_itself(
    olga: Someone, ann: Participant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("93.184.215.14", 443))])
    asked: list[Any] = []

    def connect(place: Any, **_: object) -> Any:
        asked.append(place)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket, "create_connection", connect)
    hook = webhooks.add(olga.user, ann.team.challenge, "https://hooks.example.org/")
    delivery = Delivery.objects.create(webhook=hook, event="e", body="{}")
    webhooks.deliver(delivery)
    # Not by the name, which could be another address by now.
    assert asked == [("93.184.215.14", 443)]
    # A host that the settings allow no more is not asked.
    settings.WEBHOOK_HOSTS = []
    webhooks.deliver(delivery)
    assert len(asked) == 1
    assert "settings allow: none" in delivery.outcome


# Texts and pictures


def test_the_texts_of_a_challenge_with_pictures(olga: Someone, ann: Participant) -> None:
    olga.do(f"{ROOT}pictures/", file=SimpleUploadedFile("fig-1.png", PNG))
    assert Picture.objects.get().media_type == "image/png"
    text = f"![A *figure*](fig-1.png) ![other](https://evil.example.org/x.png) ![none](fig-2.png) {MARKUP}"
    Challenge.objects.update(data=text, faq="**Q**", contact="")
    page = Client().get("/small/data/")
    html = page.content.decode()
    check_page(html, page.headers["Content-Security-Policy"])
    assert '<img src="/small/pictures/fig-1.png" alt="A figure">' in html
    assert "evil.example.org" not in html
    assert MARKUP not in html
    assert "<strong>Q</strong>" in Client().get("/small/faq/").content.decode()
    assert Client().get("/small/contact/").status_code == 404
    assert 'href="/small/contact/"' not in Client().get("/small/").content.decode()
    assert 'href="/small/faq/"' in Client().get("/small/").content.decode()
    picture: Any = Client().get("/small/pictures/fig-1.png")
    assert pixels(b"".join(picture)) == ("PNG", (2, 2), (255, 0, 0))
    assert (picture["Content-Type"], picture["X-Content-Type-Options"]) == ("image/png", "nosniff")
    for gone in ("/small/pictures/x.png", "/small/pictures/%00", "/other/pictures/fig-1.png"):
        assert Client().get(gone).status_code == 404


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.svg", b"<svg/>", "must have a name"),
        ("a.png", b"<svg onload='x'/>", "must be JPEG, PNG, WebP or GIF"),
        ("a b.png", PNG, "must have a name"),
        ("a.html", PNG, "must have a name"),
        ("a.png", PNG + b"0" * 2 * 2**20, "at most 2,097,152 bytes"),
    ],
)
def test_what_is_no_picture_is_refused(
    olga: Someone, settings: Any, name: str, data: bytes, message: str
) -> None:
    settings.REQUEST_BYTES = 10 * 2**20
    answer = olga.do(f"{ROOT}pictures/", 422, file=SimpleUploadedFile(name, data))
    assert message in answer.content.decode()
    assert not Picture.objects.exists()


def test_pictures_are_replaced_and_removed(
    olga: Someone, ann: Participant, django_capture_on_commit_callbacks: Any
) -> None:
    program = olga.program("organize")
    first = program.post(f"{API}pictures", {"file": SimpleUploadedFile("a.png", PNG)})
    assert (first.status_code, first.json()) == (201, {"name": "a.png"})
    before = str(Picture.objects.get().file)
    with django_capture_on_commit_callbacks(execute=True):
        program.post(f"{API}pictures", {"file": SimpleUploadedFile("a.png", drawn("JPEG"))})
    assert Picture.objects.get().media_type == "image/jpeg"
    assert not default_storage.exists(before)
    with django_capture_on_commit_callbacks(execute=True):
        assert program.delete(f"{API}pictures/a.png").status_code == 204
    assert program.delete(f"{API}pictures/a.png").status_code == 404
    told = list(Action.objects.exclude(user=None).order_by("pk").values_list("what", flat=True))
    assert told == ["added the picture a.png", "replaced the picture a.png", "removed the picture a.png"]


def test_the_organizers_pages_are_made_as_all_are(olga: Someone, ann: Participant, settings: Any) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    webhooks.add(olga.user, ann.team.challenge, "https://hooks.example.org/")
    services.announce(olga.user, ann.team.challenge, MARKUP, MARKUP)
    olga.do(f"{ROOT}pictures/", file=SimpleUploadedFile("a.png", PNG))
    for place in ("notices/", "pictures/", "edit/"):
        answer = olga.client.get(ROOT + place)
        check_page(answer.content.decode(), answer.headers["Content-Security-Policy"])
        assert MARKUP not in answer.content.decode()
    assert User.objects.count() > 2
    assert Submission.objects.count() == 0
