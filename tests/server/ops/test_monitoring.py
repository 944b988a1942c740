"""Probes, metrics, the access log, and the check of an installation."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from typing import Any

import pytest
from django.core import mail
from django.core.files.storage import Storage
from django.test import Client

from capeval_server.ops import installation_checks, probes
from capeval_server.ops.logging import JsonFormatter, LineFormatter, request_named
from tests.ports import reserved_port
from tests.server.kit import Participant
from tests.server.processes import Server

TOKEN = "a-token-of-this-test"
ELSEWHERE = {"Host": "10.0.0.1"}


@pytest.fixture(autouse=True)
def forget() -> None:
    probes._find_problems.cache_clear()


def test_the_server_is_alive_whatever_its_database_does() -> None:
    # No test without a mark may ask the database.
    answer = Client(headers=ELSEWHERE).get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"the server runs\n")


@pytest.mark.django_db
def test_the_server_is_ready_when_it_can_store(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    answer = Client(headers=ELSEWHERE).get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ready\n")
    settings.DATA = settings.DATA / "missing"
    probes._find_problems.cache_clear()
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"files can't be stored at the moment\n")


class Away(Storage):
    """A store that does not answer."""

    def check(self) -> None:
        raise OSError("it does not answer")


@pytest.mark.django_db
def test_the_server_is_not_ready_when_its_store_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "default_storage", Away())
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"files can't be stored at the moment\n")


@pytest.mark.django_db
def test_metrics_are_for_who_has_the_token(settings: Any, ann: Participant) -> None:
    assert Client().get("/metrics").status_code == 404
    settings.METRICS = TOKEN
    ann.submitted()
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": f"Bearer {TOKEN}\u00e9"}):
        assert Client(headers=headers).get("/metrics").status_code == 401
    answer = Client(headers={"Authorization": f"Bearer {TOKEN}"}).get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    text = answer.content.decode()
    assert 'capeval_submissions{state="waiting"} 1.0' in text
    assert "capeval_workers 0.0" in text
    assert "capeval_database_up 1.0" in text
    assert re.search(r'capeval_requests_total\{method="POST",page="api:\w+",status="201"\} \d', text)
    assert not re.search(r"\bann\b", text)


@pytest.mark.django_db
def test_requests_have_ids_in_the_log_and_no_secrets(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "capeval_server.ops.access_log")
    answer = Client(headers={"X-Request-ID": "invented-by-a-client"}).get("/jobs/?code=secret")
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-ID"])
    Client().get("/accounts/confirm-email/a-secret-key/")
    for path in ("/%0Aforged/", "/static/nothing", "/reached", "/admin/login/", "/api/challenges"):
        Client().get(path)
    assert re.match(r"GET jobs 200 [0-9.]+ ms 127\.0\.0\.1$", caplog.messages[0])
    lines = [message for message in caplog.messages if message.startswith("GET ")]
    assert [line.split()[1:3] for line in lines] == [
        ["jobs", "200"],
        ["account_confirm_email", "200"],
        ["unmatched", "404"],
        ["static", "404"],
        ["reached", "404"],
        ["admin/login/", "302"],
        ["api:challenges", "200"],
    ]
    settings.HTTPS = True
    known = Client(headers={"X-Request-ID": "from-the-proxy", "X-Forwarded-Proto": "https"})
    assert known.get("/jobs/").headers["X-Request-ID"] == "from-the-proxy"
    wrong = Client(headers={"X-Request-ID": "a b\tc-------", "X-Forwarded-Proto": "https"})
    assert re.fullmatch("[0-9a-f]{32}", wrong.get("/jobs/").headers["X-Request-ID"])
    settings.ACCESS_LOG = False
    caplog.clear()
    Client().get("/jobs/")
    assert not [message for message in caplog.messages if message.startswith("GET")]


def test_the_forms_of_the_log() -> None:
    record = logging.LogRecord("a.b", logging.INFO, "path", 1, "said %s", ("\u00e9",), None)
    record.access = {"status": 200}
    with request_named("id-of-it"):
        assert re.fullmatch(r"\S+ \S+ INFO a\.b: said \u00e9 \[id-of-it\]", LineFormatter().format(record))
        found = json.loads(JsonFormatter().format(record))
    assert found.pop("time").endswith("+00:00")
    assert found == {
        "level": "INFO",
        "logger": "a.b",
        "message": "said \u00e9",
        "request": "id-of-it",
        "status": 200,
    }
    assert LineFormatter().format(record).endswith("INFO a.b: said \u00e9")


def test_an_installation_before_and_after_its_start(fresh: Server) -> None:
    done = fresh.done("check", "--before-start")
    assert done.returncode == 1, done.stdout
    assert "problem  database: the database has no tables: run `capeval server migrate`" in done.stdout
    fresh.run("migrate")
    done = fresh.done("check", "--before-start")
    assert done.returncode == 0, done.stdout
    assert "ok       database: SQLite, up to date" in done.stdout
    assert "warning  mail: CAPEVAL_SERVER_EMAIL is not set" in done.stdout
    assert re.search(r"ok       pages: all modules and [12]\d\d templates load", done.stdout)
    fresh.env["CAPEVAL_SERVER_LOG_FORM"] = "json"
    fresh.start()
    # The port of the server is known without a setting.
    done = fresh.done("check")
    assert done.returncode == 1, done.stdout
    assert "problem  workers: no worker was seen within the last minute" in done.stdout
    assert f"ok       {fresh.root}: it answers, and sees this machine as 127.0.0.1" in done.stdout
    assert f"ok       {fresh.root}: uploads of 67,108,864 bytes are accepted" in done.stdout
    lines = [json.loads(line) for line in fresh.log.splitlines() if line.startswith("{")]
    seen = next(line for line in lines if line.get("route") == "reached")
    assert (seen["method"], seen["status"], len(seen["request"])) == ("GET", 200, 32)
    reserved, port = reserved_port()
    fresh.env["CAPEVAL_SERVER_ADDRESS"] = f"http://127.0.0.1:{port}"
    fresh.env["CAPEVAL_SERVER_EMAIL"] = f"smtp://127.0.0.1:{port}"
    done = fresh.done("check")
    assert f"problem  http://127.0.0.1:{port}: no response (" in done.stdout
    assert f"problem  mail: 127.0.0.1:{port} does not accept mail (" in done.stdout
    reserved.close()


BROKEN = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("matplotlib", "nh3"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from capeval_server.commands import app
app.main(["check", "--before-start"])
"""


def test_pages_with_missing_packages_are_named(fresh: Server) -> None:
    """A package that only some pages import is missed before a visitor sees one of them."""
    fresh.migrate()
    done = subprocess.run(
        [sys.executable, "-c", BROKEN], env=fresh.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("problem  pages: ")]
    for name in ("nh3", "matplotlib"):
        (line, *_) = [line for line in lines if f"No module named '{name}'" in line]
        assert line.endswith("install capeval-server and its dependencies again")
    assert "ok       database" in done.stdout


@pytest.mark.parametrize(
    ("address", "hosts", "https", "level", "text"),
    [
        (
            "https://a.example",
            ["b.example"],
            True,
            "problem",
            "CAPEVAL_SERVER_HOSTS does not contain 'a.example'",
        ),
        ("http://a.example", ["a.example"], True, "problem", "CAPEVAL_SERVER_HTTPS is 1, but"),
        ("http://a.example", ["a.example"], False, "warning", "without HTTPS"),
        ("https://a.example", ["*"], True, "warning", "accepts any host name"),
        ("https://a.example", [".example"], True, "ok", "the site's address is https://a.example"),
        ("http://[::1]:8000", ["[::1]"], False, "ok", "http://[::1]:8000"),
    ],
)
def test_settings_that_do_not_fit(
    settings: Any, address: str, hosts: list[str], https: bool, level: str, text: str
) -> None:
    settings.ADDRESS, settings.ALLOWED_HOSTS, settings.HTTPS = address, hosts, https
    (finding,) = installation_checks._check_settings()
    assert finding.level == level
    assert text in finding.text


def test_all_settings_that_do_not_fit_are_named(settings: Any) -> None:
    settings.ADDRESS, settings.ALLOWED_HOSTS, settings.HTTPS = "http://a.example", ["b.example"], True
    found = [(each.level, each.text[:30]) for each in installation_checks._check_settings()]
    assert found == [
        ("problem", "the site's address is http://a"),
        ("problem", "CAPEVAL_SERVER_HTTPS is 1, but"),
    ]


def test_mail_without_a_sender(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    found = [(each.level, each.text) for each in installation_checks._check_mail()]
    sender = "CAPEVAL_SERVER_EMAIL_FROM is not set: the sender of mail is on localhost"
    assert found == [("ok", f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT} answers"), ("warning", sender)]
    settings.DEFAULT_FROM_EMAIL = "capeval@example.org"
    assert {each.level for each in installation_checks._check_mail()} == {"ok"}
    assert not mail.outbox
    # Both problems are reported at once.
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    settings.DEFAULT_FROM_EMAIL = "capeval@localhost"
    assert [each.level for each in installation_checks._check_mail()] == ["problem", "warning"]


def test_a_nearly_full_disk(settings: Any) -> None:
    settings.UPLOAD_BYTES = 2**60
    assert "nearly full" in probes.storage_problem()


@pytest.mark.django_db
def test_nobody_else_asks_how_a_request_arrives() -> None:
    assert Client().get("/reached").status_code == 404
    assert Client().get("/reached?question=cmVhY2hlZA:1:x").status_code == 404


def test_metrics_are_of_all_processes(fresh: Server) -> None:
    fresh.migrate()
    fresh.env["CAPEVAL_SERVER_METRICS"] = TOKEN
    fresh.start(processes=2)
    for _ in range(20):
        # Each is a connection of its own, which any of the processes may take.
        assert fresh.client.get(f"{fresh.root}/jobs/").status_code == 200
    answer = fresh.client.get(f"{fresh.root}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    counted = 'capeval_requests_total{method="GET",page="jobs",status="200"} 20.0'
    assert counted in answer.text
    assert "capeval_database_up 1.0" in answer.text
