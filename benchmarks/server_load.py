"""Requests per second of a running server with 1,000 submissions on a leaderboard.

`python -m benchmarks.server_load` makes a server with a small challenge and 1,000 teams whose scores are
drawn at random, starts it as `capeval server start` does, and asks for pages from another process, over
loopback, with one client and with eight. CAPEVAL_SERVER_DATABASE chooses the database, which must be
empty; SQLite by default.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import httpx
import numpy as np

from benchmarks.measure import machine, table

SUBMISSIONS, SAMPLES = 1000, 1000
BOARD = "/small/open/"
API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PATHS = {
    "leaderboard page": BOARD,
    "leaderboard page, last": f"{BOARD}?page=20",
    "leaderboard, API (JSON)": API,
    "leaderboard, API (CSV)": f"{API}&format=csv",
    "jobs page": "/jobs/",
}


def main() -> None:
    """Makes the server, drives it, and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for how long to ask for each page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CAPEVAL_SERVER_DATA"] = folder
        _fill(Path(folder))
        address, server = _start()
        try:
            rows = [
                _row(name, f"{address}{path}", clients, arguments.seconds)
                for name, path in PATHS.items()
                for clients in (1, 8)
            ]
        finally:
            server.kill()
            server.wait()
    print(f"{machine()}; {SUBMISSIONS:,} submissions\n")
    print(table(["page", "clients", "requests/s", "median ms", "99th percentile ms", "KB"], rows))


def _fill(folder: Path) -> None:
    """A challenge, and submissions that are scored and stand."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.settings"
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from capeval_server.challenges.models import ReferenceVersion
    from capeval_server.examples import write_example
    from capeval_server.leaderboards.questions import score_names
    from capeval_server.organising.definition_files import import_challenge
    from capeval_server.submissions.models import Result, Score, Submission
    from capeval_server.teams.models import Membership, Team

    folder.mkdir(exist_ok=True)
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    challenge = import_challenge(write_example("small", folder / "small"))
    phase, split = challenge.phases.get(), challenge.splits.get()
    version = ReferenceVersion.objects.get(reference_set__name="c2")
    chance = np.random.default_rng(0)
    users = User.objects.bulk_create(User(username=f"user{n}") for n in range(SUBMISSIONS))
    teams = Team.objects.bulk_create(Team(challenge=challenge, name=f"Team {n}") for n in range(SUBMISSIONS))
    Membership.objects.bulk_create(
        Membership(team=team, challenge=challenge, user=user) for team, user in zip(teams, users, strict=True)
    )
    declared = {"method": "A method that was made up"}
    submissions = Submission.objects.bulk_create(
        Submission(
            team=team,
            phase=phase,
            user=user,
            algorithm="made",
            declared=declared,
            state="scored",
            stands=True,
        )
        for team, user in zip(teams, users, strict=True)
    )
    for submission in submissions:
        quality = chance.uniform(0.2, 1.2)
        for metric in split.metrics:
            result = Result.objects.create(submission=submission, reference_version=version, metric=metric)
            Score.objects.bulk_create(
                Score(
                    result=result,
                    name=name,
                    value=quality,
                    low=quality - 0.02,
                    high=quality + 0.02,
                    samples=chance.normal(quality, 0.01, SAMPLES).astype(np.float32).tobytes(),
                )
                for name in score_names(split)
                if name.startswith(metric)
            )


def _start() -> tuple[str, subprocess.Popen[bytes]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "capeval_server", "start", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(400):
        try:
            httpx.get(f"{address}/api/challenges")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return address, server
    server.kill()
    raise SystemExit("the server did not start")


def _row(name: str, url: str, clients: int, seconds: float) -> list[str]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    driver = context.Process(target=_drive, args=(url, clients, seconds, sender))
    driver.start()
    times, elapsed, size = receiver.recv()
    driver.join()
    milliseconds = np.asarray(times) * 1000
    return [
        name,
        str(clients),
        f"{len(times) / elapsed:.0f}",
        f"{median(milliseconds):.1f}",
        f"{np.quantile(milliseconds, 0.99):.1f}",
        f"{size / 1000:.0f}",
    ]


def _drive(url: str, clients: int, seconds: float, sender: multiprocessing.connection.Connection) -> None:
    """Asks for a page again and again, and sends how long each answer took."""
    times: list[float] = []
    sizes: set[int] = set()
    begin = time.perf_counter()

    def ask() -> None:
        with httpx.Client() as client:
            client.get(url).raise_for_status()
            while time.perf_counter() < begin + seconds:
                start = time.perf_counter()
                answer = client.get(url)
                times.append(time.perf_counter() - start)
                answer.raise_for_status()
                sizes.add(len(answer.content))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sender.send((times, time.perf_counter() - begin, max(sizes)))


if __name__ == "__main__":
    main()
