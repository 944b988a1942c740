"""`capeval submit` against servers of the tests' own making; tests/server has it against real ones."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from capeval.cli.commands.submit import run
from capeval.cli.toolkit.options import OutputFormat
from capeval.errors import FormatError
from capeval.formats.declared_fields import DeclaredField, check_declared
from tests.waiting import PATIENCE

TOKEN = "capeval_secret"
ID = "43b9476e-9697-4eeb-84fd-fd4d4e2eef56"
SCORED = {
    "id": ID,
    "state": "scored",
    "reason": "",
    "results": [
        {
            "split": "val",
            "references": "c5",
            "stale": stale,
            "metric": metric,
            "failure": failure,
            "scores": []
            if failure
            else [{"subset": "", "name": metric, "value": 0.5, "low": 0.4, "high": 0.6}],
        }
        for metric, failure, stale in (
            ("CIDEr-D", "", False),
            ("METEOR", "METEOR took longer than 600 s", False),
            ("BLEU", "", True),
        )
    ],
}
Answer = tuple[int, dict[str, str], Any]


class Asked:
    """A request as it came in."""

    def __init__(self, method: str, path: str, headers: Message, body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body


class Pretender:
    """A fake server that returns the responses of a test and records the requests."""

    def __init__(self, answer: Callable[[Asked], Answer | None]) -> None:
        asked: list[Asked] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def _any(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                asked.append(Asked(self.command, self.path, self.headers, self.rfile.read(size)))
                given = answer(asked[-1])
                if given is None:
                    # The connection breaks before there is an answer.
                    self.close_connection = True
                    return
                status, headers, content = given
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _any  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self.asked = asked
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def pretend() -> Iterator[Callable[[Callable[[Asked], Answer | None]], Pretender]]:
    made: list[Pretender] = []

    def make(answer: Callable[[Asked], Answer | None]) -> Pretender:
        made.append(Pretender(answer))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "captions_val_mine_results.json"
    path.write_text('[{"image_id": 1, "caption": "a dog"}]')
    return path


def submit(
    address: str, file: Path, *more: str, token: str | None = TOKEN
) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "CAPEVAL_TOKEN"}
    env |= {} if token is None else {"CAPEVAL_TOKEN": token}
    where = ["--server", address, "--challenge", "small", "--phase", "open"]
    command = [sys.executable, "-m", "capeval", "submit", str(file), *where, *more]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("capeval: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def taken(asked: Asked) -> Answer:
    return (201, {}, {"id": ID, "state": "waiting"}) if asked.method == "POST" else (200, {}, SCORED)


def test_what_is_sent(pretend: Callable[..., Pretender], results: Path) -> None:
    server = pretend(taken)
    done = submit(f"{server.address}/", results, "--declare", 'method=a="b"')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{server.address}/submissions/{ID}/ is waiting\n"
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/api/challenges/small/phases/open/submissions")
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
    assert b'name="method"\r\n\r\na="b"\r\n' in asked.body
    assert b'filename="captions_val_mine_results.json"' in asked.body
    assert results.read_bytes() in asked.body


def test_the_same_command_has_the_same_key(pretend: Callable[..., Pretender], results: Path) -> None:
    server = pretend(taken)
    for declared in ("a", "a", "b"):
        submit(server.address, results, "-d", f"method={declared}")
    results.write_text('[{"image_id": 1, "caption": "a cat"}]')
    submit(server.address, results, "-d", "method=a")
    keys = [asked.headers["Idempotency-Key"] for asked in server.asked]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert all(len(key) <= 100 for key in keys)


def test_a_broken_connection_is_gone_on_from(pretend: Callable[..., Pretender], results: Path) -> None:
    # The first answer is lost; the submission was made.
    answers: list[Answer | None] = [None, (200, {}, {"id": ID, "state": "running"})]
    server = pretend(lambda _: answers.pop(0))
    assert "does not respond" in refusal(submit(server.address, results))
    done = submit(server.address, results)
    assert done.returncode == 0
    assert "continuing with that" in done.stderr
    assert server.asked[0].headers["Idempotency-Key"] == server.asked[1].headers["Idempotency-Key"]


@pytest.mark.parametrize("state", ["failed", "withdrawn"])
def test_what_came_to_nothing_is_submitted_again(
    pretend: Callable[..., Pretender], results: Path, state: str
) -> None:
    keys: list[str] = []

    def answer(asked: Asked) -> Answer:
        key = asked.headers["Idempotency-Key"]
        keys.append(key)
        if key == keys[0]:
            return 200, {}, {"id": "old", "state": state}
        return (201 if keys.count(key) == 1 else 200), {}, {"id": ID, "state": "waiting"}

    server = pretend(answer)
    for _ in range(2):
        done = submit(server.address, results)
        assert done.stdout == f"{server.address}/submissions/{ID}/ is waiting\n"
        assert f"is {state}; submitting again" in done.stderr
    assert keys == [keys[0], keys[1], keys[0], keys[1]]


def test_waiting_bears_a_server_that_is_away(pretend: Callable[..., Pretender], results: Path) -> None:
    answers: list[Answer | None] = [
        (201, {}, {"id": ID, "state": "waiting"}),
        (503, {}, b"away"),
        None,
        (200, {}, {**SCORED, "state": "running"}),
        (200, {}, SCORED),
    ]
    server = pretend(lambda _: answers.pop(0))
    done = submit(server.address, results, "--wait", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        '"Split","References","Images","CIDEr-D","CIDEr-D low","CIDEr-D high"',
        '"val","c5","all",0.5,0.4,0.6',
    ]
    assert "val by c5: METEOR took longer than 600 s" in done.stderr


def test_waiting_says_how_far_it_is(pretend: Callable[..., Pretender], results: Path) -> None:
    far = {"elapsed": 12.7, "split": "val", "references": "c5", "metric": "METEOR", "number": 2, "total": 8}
    running = {**SCORED, "state": "running", "wait": None}
    parsing = {"metric": "SPICE", "number": 8, "work": "Parsing captions", "work_total": 1500}
    waiting = {"id": ID, "state": "waiting"}
    answers: list[Answer | None] = [
        (201, {}, waiting),
        (200, {}, {**waiting, "wait": {"ahead": 3, "expected_wait": 41.8}, "scoring": None}),
        (200, {}, {**waiting, "wait": {"ahead": 1, "expected_wait": None}, "scoring": None}),
        (200, {}, {**waiting, "wait": {"ahead": 0, "expected_wait": 0.0}, "scoring": None}),
        (200, {}, {**SCORED, "state": "running", "wait": None, "scoring": far}),
        # No news.
        (200, {}, {**SCORED, "state": "running", "wait": None, "scoring": {**far, "elapsed": 14.0}}),
        *[
            (
                200,
                {},
                {**running, "scoring": {**far, **parsing, "work_done": done}},
            )
            for done in (0, 100, 150, 1300)
        ],
        (200, {}, SCORED),
    ]
    server = pretend(lambda _: answers.pop(0))
    done = submit(server.address, results, "--wait")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith(("waiting", "running"))] == [
        "waiting: 3 before it, about 42 s",
        "waiting: 1 before it",
        "waiting",
        "running: val by c5: METEOR, metric 2 of 8, after 12 s",
        # A line for each tenth of long work.
        "running: val by c5: SPICE, metric 8 of 8 (parsing captions: 0 of 1,500), after 12 s",
        "running: val by c5: SPICE, metric 8 of 8 (parsing captions: 150 of 1,500), after 12 s",
        "running: val by c5: SPICE, metric 8 of 8 (parsing captions: 1,300 of 1,500), after 12 s",
    ]


@pytest.mark.parametrize(("wait", "form"), [(True, "table"), (True, "json"), (False, "table")])
def test_withheld_scores_are_named(
    pretend: Callable[..., Pretender],
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    wait: bool,
    form: OutputFormat,
) -> None:
    blind = {**SCORED, "challenge": "small", "phase": "open", "results": [], "scores_withheld": True}
    phases = [{"name": "other", "final_submissions": 1}, {"name": "open", "final_submissions": 2}]
    challenge = {"phases": phases}
    server = pretend(
        lambda asked: (
            (200, {}, {"id": ID, "state": "scored"})
            if asked.method == "POST"
            else (200, {}, challenge if asked.path == "/api/challenges/small" else blind)
        )
    )
    monkeypatch.setenv("CAPEVAL_TOKEN", TOKEN)
    run(results, challenge="small", phase="open", server=server.address, wait=wait, form=form)
    shown = capfdbinary.readouterr()
    assert shown.err.decode().splitlines()[-1] == (
        "scored; the scores are withheld until the organizers publish them;"
        " your team may choose up to 2 submissions"
    )
    if form == "json":
        assert json.loads(shown.out)["scores_withheld"] is True
    else:
        place = f"{server.address}/submissions/{ID}/"
        assert shown.out.decode() == ("" if wait else f"{place} is scored\n")


def test_missing_choices_are_listed() -> None:
    field = DeclaredField(name="track", type="choice", choices=("a", "b"), required=True)
    with pytest.raises(FormatError, match=r"must declare 'track' \(one of 'a', 'b'\)"):
        check_declared([field], {})


def test_waiting_for_what_fails_is_a_failure(pretend: Callable[..., Pretender], results: Path) -> None:
    failed = {**SCORED, "state": "failed", "reason": "no metric gave a score"}
    server = pretend(lambda asked: (200, {}, failed) if asked.method == "GET" else taken(asked))
    done = submit(server.address, results, "--wait")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the submission is failed (no metric gave a score)" in done.stderr


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (401, {"detail": "Unauthorized"}, "rejected the token"),
        (409, {"detail": "join the challenge 'small' first"}, "join the challenge 'small' first"),
        (422, {"detail": "'x.json': the file must be named"}, "'x.json': the file must be named"),
        (422, {"detail": [{"loc": ["form"]}]}, '[{"loc": ["form"]}]'),
        (429, {"detail": "used up; the next is allowed from 2026"}, "allowed from 2026"),
        (500, b"<html>", "500"),
        (422, {"detail": "a\x1b[31m\nred"}, "\\x1b[31m"),
        (302, b"", "must be the final URL of the server"),
        (200, b"<html>", "must be an evaluation server"),
        (200, [], "must be an evaluation server"),
    ],
)
def test_refusals_are_one_line(
    pretend: Callable[..., Pretender], results: Path, status: int, content: Any, message: str
) -> None:
    server = pretend(
        lambda _: (status, {"Location": "http://127.0.0.1:9/"} if status == 302 else {}, content)
    )
    text = refusal(submit(server.address, results))
    assert message in text
    assert TOKEN not in text
    assert len(server.asked) == 1


def test_the_token_can_be_in_a_file_and_nowhere_else(
    pretend: Callable[..., Pretender], results: Path, tmp_path: Path
) -> None:
    server = pretend(taken)
    token = tmp_path / "token"
    token.write_text("other\n")
    assert submit(server.address, results, "--token-file", str(token), token=None).returncode == 0
    assert server.asked[0].headers["Authorization"] == "Bearer other"
    assert "CAPEVAL_TOKEN must contain an API token" in refusal(submit(server.address, results, token=None))
    token.write_text("two words\nX-Other: 1")
    text = refusal(submit(server.address, results, "--token-file", str(token), token=None))
    assert "must contain only an API token" in text
    assert "words" not in text
    assert submit(server.address, results, "--token", "x").returncode == 2
    assert len(server.asked) == 1


def test_files_are_checked_before_anything_is_sent(
    pretend: Callable[..., Pretender], results: Path, tmp_path: Path
) -> None:
    server = pretend(taken)
    good = results.read_text()
    results.write_text('[{"image_id": 1, "caption": 5}]')
    checked = subprocess.run(
        [sys.executable, "-m", "capeval", "check", str(results)], capture_output=True, text=True, check=False
    )
    assert refusal(submit(server.address, results)) == checked.stderr
    archive = tmp_path / "results.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("captions_a_results.json", good)
        file.writestr("captions_b_results.json", "[")
    assert "'captions_b_results.json'" in refusal(submit(server.address, archive))
    archive.write_bytes(archive.read_bytes()[:-5])
    assert "the file is not a zip, or is truncated" in refusal(submit(server.address, archive))
    archive.write_text(good)
    assert "the file is not a zip (it starts with " in refusal(submit(server.address, archive))
    refusal(submit(server.address, tmp_path / "missing.json"))
    assert not server.asked
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("captions_a_results.json", good)
        file.writestr("captions_b_results.json", good)
    assert submit(server.address, archive).returncode == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--declare", "method"], "must be NAME=VALUE"),
        (["-d", "a=1", "-d", "a=2"], "name each field once"),
        (["-d", "file=x"], "not 'file'"),
        (["--format", "json"], "require --wait"),
        (["--server", "ftp://host"], "must be a URL"),
        (["--server", "host"], "must be a URL"),
        (["--server", "https://me:secret@host"], "without a user name or password"),
    ],
)
def test_wrong_options(results: Path, more: list[str], message: str) -> None:
    assert message in refusal(submit("http://127.0.0.1:9", results, *more))


def test_a_server_that_is_not_there(results: Path) -> None:
    assert "does not respond" in refusal(submit("http://127.0.0.1:9", results))
