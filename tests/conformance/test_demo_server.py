"""The demo server on the real COCO challenge, as `make serve` starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.ports import reserved_port
from tests.server.processes import PROJECT
from tests.waiting import PATIENCE, wait_until

OTHERS = ("CAPEVAL_", "DJANGO_")
METHODS = ("first-six-words", "shuffled-words", "another-image", "one-sentence", "vocabulary-1000")


@pytest.mark.conformance
def test_the_demo_is_loaded_scored_and_can_be_entered(tmp_path: Path) -> None:
    reserved, port = reserved_port()
    first = _started(tmp_path, port, tmp_path / "first")
    second = _started(tmp_path, port, tmp_path / "second")
    reserved.close()
    assert first == second, "the second start keeps the password and the link of the first"


def _started(folder: Path, port: int, log: Path) -> tuple[str, str, str]:
    """Start, use and stop the demo; return its user name, password and visitor link."""
    folder = folder / "demo"
    options = ("--folder", str(folder), "--port", str(port))
    command = [sys.executable, "-m", "examples.demo_server", *options]
    with log.open("wb") as output:
        # Without the settings of other tests, which have small limits.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        environment["PYTHONPATH"] = os.pathsep.join((str(PROJECT / "src"), str(PROJECT / "server" / "src")))
        demo = subprocess.Popen(command, env=environment, cwd=PROJECT, stdout=output, stderr=output)
    try:
        wait_until(lambda: "Listening on" in log.read_text() or demo.poll() is not None, log.read_text)
        assert demo.poll() is None, log.read_text()
        found = re.search(r"Sign in as (\w+) with the password (\S+)", log.read_text())
        entry = re.search(r"\(without an account\): (\S+)", log.read_text())
        assert found is not None
        assert entry is not None
        _enter(f"http://127.0.0.1:{port}", found[1], found[2])
        _work(entry[1])
    finally:
        demo.terminate()
        assert demo.wait(PATIENCE) == 0
    return found[1], found[2], entry[1]


def _enter(address: str, name: str, password: str) -> None:
    with httpx.Client(base_url=address, follow_redirects=True, timeout=PATIENCE) as client:
        board = client.get("/coco-2015/validation/").text
        assert all(method in board for method in METHODS)
        assert "uman" in board
        client.get("/accounts/login/")
        token = client.cookies["csrftoken"]
        form = {"login": name, "password": password, "csrfmiddlewaretoken": token}
        client.post("/accounts/login/", data=form)
        assert client.get("/coco-2015/organize/").status_code == 200
        _robots_work(client)
        assert "by-robots" in client.get("/coco-2015/judgments/").text
        rows = client.get(
            "/api/challenges/coco-2015/phases/validation/leaderboard",
            params={"split": "val2014", "references": "c4"},
        ).json()["rows"]
    assert sorted(row["rank"] for row in rows if row["rank"]) == [1, 2, 3, 4, 5, 6, 7]
    # As the human rows of the papers, of which the references of c4 lack the caption that is scored.
    (human,) = (row for row in rows if not row["rank"])
    assert human["scores"]["CIDEr-D"] == pytest.approx(0.857, abs=0.01)


def _robots_work(client: httpx.Client) -> None:
    """Wait until the robots have submitted another answer."""

    def counted() -> int:
        found = re.findall(r'<td class="number">([\d,]+) of [\d,]+</td>', client.get("/campaigns/").text)
        assert len(found) == 13
        return sum(int(number.replace(",", "")) for number in found)

    before = counted()
    wait_until(lambda: counted() > before, counted)


def _work(entry: str) -> None:
    """Follow the link for visitors."""
    with httpx.Client(follow_redirects=True, timeout=PATIENCE) as client:
        assert "robot-careless" in client.get(entry).text
