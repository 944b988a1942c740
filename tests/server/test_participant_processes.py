"""The form that submits and the command that does, on servers of their own: SQLite and PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.server.kit import CAPTIONS, RESULTS, results
from tests.server.processes import Server
from tests.waiting import PATIENCE

# Create a logged-in user with a token, in a team of one.
SOMEBODY = """
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge
from capeval_server.teams.services.enrollment import make_team
user = User.objects.create(username=sys.argv[1])
make_team(user, Challenge.objects.get())
session = SessionStore()
session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session.create()
print(session.session_key, Token.issue(user.pk, "token", "submit"))
"""


def somebody(server: Server, name: str) -> tuple[str, str]:
    """A session and a token of a new user."""
    session, token = server.python(SOMEBODY, name).split()
    return session, token


class Browser:
    """A minimal browser: it keeps cookies and sends back hidden form fields."""

    def __init__(self, server: Server, session: str, opened: ExitStack) -> None:
        self.address = server.root
        self.client = opened.enter_context(httpx.Client(timeout=PATIENCE, cookies={"sessionid": session}))

    def form(self) -> dict[str, str]:
        page = self.client.get(f"{self.address}/small/open/submit/").text
        tokens = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        (key,) = re.findall(r'action="\?key=([^"]+)"', page)
        return {"csrfmiddlewaretoken": tokens[-1], "key": key}

    def submit(self, form: dict[str, str]) -> httpx.Response:
        return self.client.post(
            f"{self.address}/small/open/submit/",
            params={"key": form["key"]},
            data={"csrfmiddlewaretoken": form["csrfmiddlewaretoken"], "declared-method": "m"},
            files={"file": (RESULTS, results())},
        )


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Exit stack that closes the browsers at the end."""
    with ExitStack() as stack:
        yield stack


def test_32_forms_at_once_pass_no_quota(server: Server, opened: ExitStack) -> None:
    session, token = somebody(server, "many")
    server.limit_in_all(5)
    browsers = [Browser(server, session, opened) for _ in range(32)]
    forms = [browser.form() for browser in browsers]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(Browser.submit, browsers, forms))
    statuses = Counter(answer.status_code for answer in answers)
    # A user's uploads come one after the other: one may wait for another, and the rest is refused.
    assert set(statuses) <= {302, 429}
    assert 1 <= statuses[302] <= 5
    found = server.see(token, "/submissions")["submissions"]
    assert len(found) == statuses[302]


def test_a_form_sent_twice_at_once_is_one_submission(server: Server, opened: ExitStack) -> None:
    session, token = somebody(server, "clicker")
    browser = Browser(server, session, opened)
    form = browser.form()
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: browser.submit(form), range(2)))
    assert {answer.status_code for answer in answers} == {302}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    found = server.see(token, "/submissions")["submissions"]
    assert len(found) == 1


def command(server: Server, token: str, file: Path, *more: str) -> subprocess.CompletedProcess[str]:
    arguments = ["--server", server.root, "--challenge", "small", "--phase", "open"]
    return subprocess.run(
        [sys.executable, "-m", "capeval", "submit", str(file), *arguments, *more],
        env={**os.environ, "PYTHONPATH": server.env["PYTHONPATH"], "CAPEVAL_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / RESULTS
    path.write_bytes(results())
    return path


def test_the_command_submits_once_and_waits_for_scores(server: Server, file: Path) -> None:
    _, token = somebody(server, "commander")
    first = command(server, token, file, "--declare", "method=mine")
    assert (first.returncode, first.stderr) == (0, "")
    assert re.fullmatch(r"http://127.0.0.1:\d+/submissions/[0-9a-f-]{36}/ is waiting\n", first.stdout)
    server.run("worker", "--until-empty")
    again = command(server, token, file, "--declare", "method=mine", "--wait")
    assert again.returncode == 0
    assert "continuing with that" in again.stderr
    assert first.stdout.split()[0] in again.stderr
    lines = again.stdout.splitlines()
    names = ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D"]
    assert lines[0].split() == ["Split", "References", "Images", *names]
    assert len([line for line in lines if line.startswith(("val", " val"))]) == 6
    found = json.loads(command(server, token, file, "-d", "method=mine", "-w", "-f", "json").stdout)
    assert found["declared"] == {"method": "mine"}
    assert {result["metric"] for result in found["results"]} == {"BLEU", "METEOR", "ROUGE-L", "CIDEr-D"}
    other = command(server, token, file, "--declare", "method=another")
    assert other.stdout.split()[0] != first.stdout.split()[0]


def test_the_command_checks_against_the_images_of_the_server(server: Server, file: Path) -> None:
    _, token = somebody(server, "checker")
    done = command(server, token, file, "-d", "method=m", "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{RESULTS}: 6 images of split val\nvalid for phase open; nothing was submitted\n"
    few, other = file.with_name("captions_val_few_results.json"), file.with_name("results.json")
    few.write_bytes(results({image: CAPTIONS[image] for image in (1, 2)}))
    other.write_bytes(results())
    for path, more, message in (
        (few, ["-d", "method=m"], f"{few}: 4 images (3, 4, 5, 6) are missing a caption"),
        (
            other,
            ["-d", "method=m"],
            f"{other}: the file must be named 'captions_val_<alg>_results.json'",
        ),
        (file, [], "a submission must declare 'method' (--declare method=...)"),
        (file, ["--wait"], "--check can't be combined with --wait, because nothing is submitted"),
        (file, ["--phase", "other"], "--phase must be one of open (got 'other')"),
    ):
        refused = command(server, token, path, *more, "--check")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == f"capeval: error: {message}\n"
    assert server.see(token, "/submissions")["submissions"] == []


def test_the_command_submits_again_what_was_withdrawn(server: Server, file: Path) -> None:
    _, token = somebody(server, "changer")
    first = command(server, token, file, "-d", "method=m").stdout.split()[0]
    submission = first.rstrip("/").rpartition("/")[2]
    headers = {"Authorization": f"Bearer {token}"}
    assert (
        server.client.delete(f"{server.address}/submissions/{submission}", headers=headers).status_code == 200
    )
    made = [command(server, token, file, "-d", "method=m").stdout.split()[0] for _ in range(2)]
    assert made[0] == made[1] != first


def test_what_the_server_refuses_is_one_line(server: Server, file: Path) -> None:
    _, token = somebody(server, "refused")
    missing = file.with_name("captions_val_few_results.json")
    missing.write_bytes(results({image: CAPTIONS[image] for image in (1, 2)}))
    cases = [
        (command(server, token, missing, "-d", "method=m"), "4 images (3, 4, 5, 6) are missing a caption"),
        (command(server, token, file), "a submission must declare 'method'"),
        (command(server, token, file, "-d", "method=m", "-d", "x=1"), "unknown declared field"),
        (command(server, "capeval_wrong", file, "-d", "method=m"), "rejected the token"),
        (
            command(server, token, file, "-d", "method=m", "--phase", "other"),
            "--phase must be one of open (got 'other')",
        ),
        (
            command(server, token, file, "-d", "method=m", "--challenge", "other"),
            f"--challenge must be one that {server.root} shows to you (got 'other')",
        ),
        (
            command(server, token, file, "-d", "method=m", "--challenge", "other", "--check"),
            f"--challenge must be one that {server.root} shows to you (got 'other')",
        ),
    ]
    server.limit_in_all(5)
    for number in range(5):
        assert command(server, token, file, "-d", f"method={number}").returncode == 0
    cases.append(
        (command(server, token, file, "-d", "method=6"), "the quota of 5 in total is used up; no more")
    )
    for done, message in cases:
        assert (done.returncode, done.stdout) == (2, ""), done
        assert message in done.stderr
        assert done.stderr.startswith("capeval: error: ")
        assert done.stderr.count("\n") == 1
