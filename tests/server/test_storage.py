"""Behavior on a full disk: small disks in memory, which need root privileges."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.processes import Server
from tests.waiting import wait_until


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
        """Fill the disk completely."""
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (65536, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        """Delete the file that fills the disk."""
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
    made = Server(disks["files"].folder.parents[1], database)
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
    server.wait_for_log(f"{submission}: done")
    # Nothing of it frees room later, nor do other tests' submissions, which were scored before it.
    scratch = disks["worker"].folder
    wait_until(lambda: not list(scratch.iterdir()), lambda: list(scratch.iterdir()))
    yield process
    process.kill()
    process.wait()


def left(server: Server, token: str) -> object:
    return server.see(token, "/challenges/small/phases/open/quota")["left"]


def test_an_upload_to_a_full_disk_is_refused_and_leaves_nothing(
    server: Server, disks: dict[str, Disk], token: str
) -> None:
    before = sorted(disks["files"].folder.rglob("*"))
    disks["files"].fill()
    try:
        answer = server.submit(token)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
        assert answer.json()["detail"] == "the server's storage is full"
        assert left(server, token) == 20
    finally:
        disks["files"].free()
    assert sorted(disks["files"].folder.rglob("*")) == before
    assert not server.see(token, "/submissions")["submissions"]
    assert server.submit(token).status_code == 201


def test_an_upload_needs_no_scratch(server: Server, disks: dict[str, Disk], token: str) -> None:
    disks["scratch"].fill()
    try:
        assert server.submit(token).status_code == 201
    finally:
        disks["scratch"].free()


@pytest.mark.usefixtures("worker")
def test_a_worker_on_a_full_disk_tries_again(server: Server, disks: dict[str, Disk], token: str) -> None:
    disks["worker"].fill()
    submission = server.submit(token).json()["id"]
    server.wait_for_log(f"{submission}: the system failed")
    disks["worker"].free()
    server.end_pause()
    server.wait_for_state(token, submission, "scored")
    assert left(server, token) == 18


@pytest.mark.usefixtures("worker")
def test_a_worker_whose_disk_stays_full_gives_up_and_costs_nothing(
    server: Server, disks: dict[str, Disk], token: str
) -> None:
    disks["worker"].fill()
    try:
        submission = server.submit(token).json()["id"]
        for _ in range(2):
            server.end_pause()
        found = server.wait_for_state(token, submission, "failed")
    finally:
        disks["worker"].free()
    assert found["reason"] == "the system failed 3 times"
    assert left(server, token) == 19


def test_a_database_on_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data", mebibytes=8)
    # The only worker: if its lease expires, no other worker takes the job.
    server = Server(tmp_path, None, lease_seconds=2)
    try:
        server.prepare()
        server.start()
        token = server.tokens[0]
        accepted = server.submit(token).json()["id"]
        disk.fill()
        answer = server.submit(token)
        assert (answer.status_code, answer.json()["detail"]) == (503, "the server's storage is full")
        # Attempts to sign in are counted in the database.
        address, csrf = f"{server.root}/accounts/login/", "a" * 32
        form = {"login": "user0", "password": "x", "csrfmiddlewaretoken": csrf}
        answer = server.client.post(address, data=form, headers={"Cookie": f"csrftoken={csrf}"})
        assert answer.status_code == 503, answer.text
        assert "The server&#x27;s storage is full." in answer.text
        worker = server.spawn("worker")
        server.wait_for_log("trying again in 2 s: the server's storage is full")
        assert "Traceback" not in server.log
        disk.free()
        server.wait_for_state(token, accepted, "scored")
        assert worker.poll() is None
        assert left(server, token) == 19
        # Of what was accepted, and of the human baseline.
        assert len(list((disk.folder / "files" / "submissions").iterdir())) == 2
    finally:
        server.stop()
        disk.end()
