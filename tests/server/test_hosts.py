"""Workers on other hosts; one of them loses its connection during a job and reconnects."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from tests.ports import reserved_port
from tests.server.hosts import Host, Network, ObjectStore, running_network
from tests.server.processes import Postgres, Server, running_postgres
from tests.waiting import wait_until

# Reference sets of the small challenge, with their first versions.
FIRST = {("c1", 1), ("c2", 1)}
# Drop a connection without responses after two seconds instead of half a minute.
IMPATIENT = (
    "?tcp_user_timeout=2000&keepalives_idle=1&keepalives_interval=1&keepalives_count=2"
    "&options=-c%20tcp_user_timeout%3D2000%20-c%20tcp_keepalives_idle%3D1%20-c%20tcp_keepalives_interval%3D1"
    "%20-c%20tcp_keepalives_count%3D2"
)
WAITS_FOR_A_LOCK: LiteralString = (
    "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND client_addr = %s::inet"
)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with running_network() as made:
        yield made


@pytest.fixture(scope="module")
def database(network: Network) -> Iterator[Postgres]:
    with running_postgres(network.address) as made:
        yield made


class Site:
    """A server on this machine, and two hosts that share only the resources named in its settings."""

    def __init__(self, folder: Path, network: Network, database: Postgres, store: ObjectStore | None) -> None:
        self.network = network
        # A job is soon tried again if the store or the database was too slow for a busy machine.
        self.server = Server(folder / "site", database.new_database(), retry_seconds=1)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.server.folder.mkdir()
        files = self.server.folder / "shared"
        files.mkdir()
        self.server.env["CAPEVAL_SERVER_FILES"] = str(files)
        if store is not None:
            self.server.env |= {"CAPEVAL_SERVER_FILES": f"s3://{store.bucket}/{folder.name}", **store.env}
        shared = files if store is None else None
        hosts = folder / "hosts"
        self.first = network.add(hosts / "first", self.server.folder, shared=shared)
        # Its clock is two hours ahead: by that, every lease would have ended.
        self.second = network.add(hosts / "second", self.server.folder, shared=shared, hours=2)
        self.server.prepare()
        # The human baseline is scored first, so later the only child of a worker scores a submission.
        self.server.run("worker", "--until-empty")
        self.server.start()

    def worker(self, host: Host) -> subprocess.Popen[bytes]:
        env = host.environment(self.server.env) | {
            "CAPEVAL_SERVER_DATABASE": f"{self.server.database}{IMPATIENT}"
        }
        if "AWS_ENDPOINT_URL_S3" not in env:
            env["CAPEVAL_SERVER_FILES"] = str(host.shared)
        self.workers.append(self.server.spawn_command(host.command(self.server.command("worker")), env))
        return self.workers[-1]

    def submitted(self, token: str) -> str:
        return str(self.server.submit(token).json()["id"])

    def held(self, worker: subprocess.Popen[bytes], submission: str) -> int:
        """The process in which a worker scores a submission, stopped there."""
        self.server.wait_for_log(f"{submission}, attempt 1: scoring")
        children = wait_until(lambda: _children(worker), lambda: self.server.log)
        os.kill(children[0], signal.SIGSTOP)
        return children[0]

    def owner(self, submission: str) -> str:
        """The host of the worker that has a submission."""
        found = self.ask("SELECT owner FROM jobs_job WHERE subject = %s", submission)
        return str(found[0][0]).partition(":")[0] if found else ""

    def ask(self, question: LiteralString, *values: str) -> list[tuple[object, ...]]:
        assert self.server.database is not None
        with psycopg.connect(self.server.database) as connection:
            return connection.execute(question, values).fetchall()


def _children(worker: subprocess.Popen[bytes]) -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(worker.pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in listed.stdout.split()]


@pytest.fixture(scope="module", params=["folder", "S3"])
def site(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    network: Network,
    database: Postgres,
) -> Iterator[Site]:
    with ExitStack() as stack:
        store = None
        if request.param == "S3":
            reserved, port = reserved_port(network.address)
            stack.enter_context(reserved)
            store = ObjectStore(tmp_path_factory.mktemp("store"), network.address, port)
            stack.callback(store.end)
        made = Site(tmp_path_factory.mktemp("hosts"), network, database, store)
        stack.callback(made.server.stop)
        yield made


@pytest.fixture
def token(site: Site) -> Iterator[str]:
    yield site.server.tokens.pop()
    # A test that fails leaves no worker to the next one, and no host that is cut off.
    for worker in site.workers:
        _end(worker)
    site.workers.clear()
    for host in tuple(site.network.cut):
        site.network.connect(host)


def test_a_host_sees_nothing_of_the_server_but_what_is_shared(site: Site) -> None:
    env = site.first.environment(site.server.env)
    listed = site.first.command(["ls", str(site.server.folder)])
    assert subprocess.run(listed, env=env, capture_output=True, check=True).stdout == b""
    assert (site.server.folder / "data" / "secret-key").exists()


def test_a_worker_cut_off_while_it_scores_does_no_harm(site: Site, token: str) -> None:
    server = site.server
    first = site.worker(site.first)
    submission = site.submitted(token)
    child = site.held(first, submission)
    # A worker with a clock that is ahead takes queued jobs, but not jobs of another host.
    second = site.worker(site.second)
    other = site.submitted(token)
    server.wait_for_state(token, other, "scored")
    assert site.owner(submission) == site.first.name
    site.network.cut_off(site.first)
    server.end_leases()
    server.wait_for_state(token, submission, "scored")
    assert server.scored_by(token, submission) == FIRST
    scored = server.see(token, f"/submissions/{submission}")
    assert scored["results"] == server.see(token, f"/submissions/{other}")["results"]
    # A worker without database ends its child after a while.
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGCONT)
    server.wait_for_log("the database failed")
    _end(second)
    site.network.connect(site.first)
    server.wait_for_log("the database answers again: the worker continues")
    assert server.see(token, f"/submissions/{submission}") == scored
    # It has kept its own data, and takes the next job.
    third = site.submitted(token)
    server.wait_for_state(token, third, "scored")
    assert server.scored_by(token, third) == FIRST


def test_a_worker_cut_off_while_it_writes_holds_nobody_up(site: Site, token: str) -> None:
    server = site.server
    first = site.worker(site.first)
    submission = site.submitted(token)
    child = site.held(first, submission)
    assert server.database is not None
    with psycopg.connect(server.database) as connection:
        connection.execute("SELECT 1 FROM submissions_submission WHERE id = %s FOR UPDATE", [submission])
        os.kill(child, signal.SIGCONT)
        # In the transaction that writes the scores, with other rows locked.
        wait_until(lambda: site.ask(WAITS_FOR_A_LOCK, site.first.address), lambda: server.log)
        site.network.cut_off(site.first)
    second = site.worker(site.second)
    server.end_leases()
    server.wait_for_state(token, submission, "scored")
    assert server.scored_by(token, submission) == FIRST
    scored = server.see(token, f"/submissions/{submission}")
    _end(second)
    site.network.connect(site.first)
    third = site.submitted(token)
    server.wait_for_state(token, third, "scored")
    assert server.see(token, f"/submissions/{submission}") == scored


def _end(worker: subprocess.Popen[bytes]) -> None:
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
