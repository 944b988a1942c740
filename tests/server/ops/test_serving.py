"""A server of several processes: they end with the first one, and one that ends is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from capeval.toolkit import count_processors
from tests.server.processes import Server
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the children of a process")


def _children(process: int) -> set[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return set(map(int, path.read_text().split()))


def _runs(process: int) -> bool:
    try:
        # One that has ended, and that nobody has waited for yet, is a Z.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _serving(server: Server, number: int) -> set[int]:
    return wait_until(
        lambda: found if len(found := _children(server.server.pid)) == number else set(),
        lambda: f"{_children(server.server.pid)} are not {number}:\n{server.log}",
    )


def test_one_process_for_each_processor(fresh: Server) -> None:
    fresh.migrate()
    fresh.start()
    assert len(_serving(fresh, count_processors() if count_processors() > 1 else 0)) != 1


def test_a_process_that_ends_is_started_again(fresh: Server) -> None:
    fresh.migrate()
    fresh.start(processes=3)
    first = _serving(fresh, 3)
    killed = min(first)
    os.kill(killed, signal.SIGKILL)
    wait_until(
        lambda: killed not in (found := _children(fresh.server.pid)) and len(found) == 3,
        lambda: fresh.log,
    )
    assert first - {killed} < _children(fresh.server.pid)
    assert fresh.client.get(f"{fresh.root}/healthz").status_code == 200


FORKING = """
import os, signal, sys, time
from capeval_server.ops.prefork import in_processes
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
in_processes(2, lambda: time.sleep(600))
"""


def test_a_signal_in_the_middle_of_a_fork_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


# As systemd stops it: all processes receive the signal, and the first one just after a wait.
STOPPED = """
import os, signal, sys
from capeval_server.ops.prefork import in_processes
wait = os.wait
os.wait = lambda: (wait(), sys.exit(0))
in_processes(2, lambda: os.kill(os.getpid(), signal.SIGTERM))
"""


def test_processes_that_the_signal_ended_are_no_error() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_all_end_with_the_first_one(fresh: Server, sent: signal.Signals) -> None:
    fresh.migrate()
    fresh.start(processes=2)
    processes = _serving(fresh, 2)
    os.kill(fresh.server.pid, sent)
    assert fresh.server.wait() == (0 if sent == signal.SIGTERM else -signal.SIGKILL)
    if sent == signal.SIGTERM:
        assert not any(map(_runs, processes))
    wait_until(lambda: not any(map(_runs, processes)), lambda: f"{processes} go on:\n{fresh.log}")
