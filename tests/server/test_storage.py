"""What must hold when a disk is full: small disks in memory, which only root can make."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Server


class Disk:
    """A disk of 1 MiB, or more, in memory."""

    def __init__(self, folder: Path, mebibytes: int = 1) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "capeval-tests", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            problem = done.stderr.strip()
        except FileNotFoundError:
            problem = "no mount here"
        if problem:
            pytest.skip(f"LEFT OUT: a small disk can't be mounted here ({problem})")

    def fill(self) -> None:
        """Leaves no byte free."""
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (65536, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        """Takes away what filled it."""
        (self.folder / "filler").unlink()

    def end(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory, database: str | None) -> Iterator[dict[str, Disk]]:
    """Small disks for a new server: its stored files, and scratch for it and for its workers."""
    folder = tmp_path_factory.mktemp("disks")
    made = {}
    try:
        made["files"] = Disk(folder / "data" / "files")
        made["scratch"] = Disk(folder / "scratch")
        made["worker"] = Disk(folder / "worker")
        yield made
    finally:
        for disk in made.values():
            disk.end()


@pytest.fixture(scope="module")
def server(disks: dict[str, Disk], database: str | None) -> Iterator[Server]:
    limits = {"lease_seconds": 2, "retry_seconds": 1, "bootstrap_samples": 100}
    made = Server(disks["files"].folder.parents[1], database, **limits)
    made.env["TMPDIR"] = str(disks["scratch"].folder)
    made.prepare()
    # The human baseline.
    made.run("worker", "--until-empty")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def worker(server: Server, disks: dict[str, Disk], token: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that has scored something: Python looks for a disk with room when it first needs one."""
    server.env["TMPDIR"] = str(disks["worker"].folder)
    process = server.spawn("worker")
    server.env["TMPDIR"] = str(disks["scratch"].folder)
    submission = server.submit(token).json()["id"]
    assert wait_until_over(server, token, submission)["state"] == "scored", submission
    # Nothing of it frees room later, nor do other tests' submissions, which were scored before it.
    while list(disks["worker"].folder.iterdir()):
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


def state(server: Server, token: str, submission: str) -> dict[str, Any]:
    return server.see(token, f"/submissions/{submission}")


def left_today(server: Server, token: str) -> object:
    return server.see(token, "/challenges/small/phases/open/quota")["left_today"]


def wait_until_over(server: Server, token: str, submission: str) -> dict[str, Any]:
    until = time.monotonic() + 90
    while (found := state(server, token, submission))["state"] in ("waiting", "running"):
        assert time.monotonic() < until, (server.folder / "log").read_text()
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("full", ["files", "scratch"])
def test_an_upload_to_a_full_disk_is_refused_and_leaves_nothing(
    server: Server, disks: dict[str, Disk], token: str, full: str
) -> None:
    before = sorted(disks["files"].folder.rglob("*"))
    disks[full].fill()
    try:
        answer = server.submit(token)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
        assert answer.json()["detail"] == "files can't be stored at the moment"
        assert left_today(server, token) == 5
    finally:
        disks[full].free()
    assert sorted(disks["files"].folder.rglob("*")) == before
    assert not server.see(token, "/submissions")["submissions"]
    assert server.submit(token).status_code == 201


@pytest.mark.usefixtures("worker")
def test_a_worker_on_a_full_disk_tries_again(server: Server, disks: dict[str, Disk], token: str) -> None:
    disks["worker"].fill()
    submission = server.submit(token).json()["id"]
    until = time.monotonic() + 60
    while f"{submission}: the system failed" not in (server.folder / "log").read_text():
        assert time.monotonic() < until, (server.folder / "log").read_text()
        time.sleep(0.05)
    disks["worker"].free()
    assert wait_until_over(server, token, submission)["state"] == "scored"
    assert left_today(server, token) == 3


@pytest.mark.usefixtures("worker")
def test_a_worker_whose_disk_stays_full_gives_up_and_costs_nothing(
    server: Server, disks: dict[str, Disk], token: str
) -> None:
    disks["worker"].fill()
    try:
        found = wait_until_over(server, token, server.submit(token).json()["id"])
    finally:
        disks["worker"].free()
    assert (found["state"], found["reason"]) == ("failed", "the system failed 3 times")
    assert left_today(server, token) == 4


def test_a_database_on_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data", mebibytes=4)
    server = Server(tmp_path, None, lease_seconds=2, bootstrap_samples=100)
    try:
        server.prepare()
        server.start()
        token = server.tokens[0]
        accepted = server.submit(token).json()["id"]
        disk.fill()
        answer = server.submit(token)
        assert answer.status_code == 503, answer.text
        worker = server.spawn("worker")
        time.sleep(4)
        disk.free()
        assert wait_until_over(server, token, accepted)["state"] == "scored"
        assert worker.poll() is None
        assert left_today(server, token) == 4
        # Of what was accepted, and of the human baseline.
        assert len(list((disk.folder / "files" / "submissions").iterdir())) == 2
    finally:
        server.stop()
        disk.end()
