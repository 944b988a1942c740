"""`capeval server demo` on the real COCO challenge, as `make serve` starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.server.processes import PROJECT, reserved_port
from tests.waiting import PATIENCE, wait_until

OTHERS = ("CAPEVAL_", "DJANGO_")
METHODS = ("copied-reference", "first-six-words", "shuffled-words", "another-image", "one-sentence")


@pytest.mark.conformance
def test_the_demo_is_loaded_scored_and_can_be_entered(tmp_path: Path) -> None:
    reserved, port = reserved_port()
    command = [sys.executable, "-m", "capeval_server", "demo", "--folder", str(tmp_path), "--port", str(port)]
    log = tmp_path / "log"
    with log.open("wb") as output:
        # Without the settings of other tests, which have small limits.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        environment["PYTHONPATH"] = str(PROJECT / "src")
        demo = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        wait_until(lambda: "Listening on" in log.read_text() or demo.poll() is not None, log.read_text)
        assert demo.poll() is None, log.read_text()
        found = re.search(r"Sign in as (\w+) with the password (\S+)", log.read_text())
        assert found is not None
        _enter(f"http://127.0.0.1:{port}", *found.groups())
    finally:
        demo.terminate()
        assert demo.wait(PATIENCE) == 0
        reserved.close()


def _enter(address: str, name: str, password: str) -> None:
    with httpx.Client(base_url=address, follow_redirects=True, timeout=PATIENCE) as client:
        board = client.get("/coco-captions/validation/").text
        assert all(method in board for method in METHODS)
        client.get("/accounts/login/")
        token = client.cookies["csrftoken"]
        form = {"login": name, "password": password, "csrfmiddlewaretoken": token}
        client.post("/accounts/login/", data=form)
        assert client.get("/coco-captions/organise/").status_code == 200
        rows = client.get(
            "/api/challenges/coco-captions/phases/validation/leaderboard",
            params={"split": "val2014", "references": "c5"},
        ).json()["rows"]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    # Copies of references score as high as can be.
    assert rows[0]["team"] == METHODS[0]
    assert rows[0]["scores"]["BLEU-4"] == pytest.approx(1, abs=1e-9)
