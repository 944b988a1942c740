"""Load test of a server: 1,000 ranked submissions, and 5,001 of 200 teams.

`python -m benchmarks.server_load` creates a server with two small challenges and random scores, starts it
like `capeval server start`, and requests pages from another process over loopback, with one client and with
eight. For the rows "changed each time", the leaderboard changes before each request, so that no cached page
is available. CAPEVAL_SERVER_DATABASE selects the database, which must be empty (default: SQLite).
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import httpx
import numpy as np

from benchmarks.measure import describe_machine, format_table, start_server

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from capeval_server.challenges.models import Challenge
    from capeval_server.submissions.models import Result

RANKED, SAMPLES = 1000, 1000
TEAMS, SUBMISSIONS = 200, 5001
# Number of changes of a leaderboard.
CHANGES = 30
BOARD = "/small/open/"
API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PATHS = {
    "leaderboard page": BOARD,
    "leaderboard, last page": f"{BOARD}?page=20",
    "leaderboard, API (JSON)": API,
    "leaderboard, API (CSV)": f"{API}&format=csv",
    "jobs page": "/jobs/",
}
TEAM_PATHS = {"submissions of a team": "/many/submissions/"}
ORGANIZER_PATHS = {
    "organizers: overview": "/many/organize/",
    "organizers: submissions": "/many/organize/submissions/",
    "organizers: submissions, last page": "/many/organize/submissions/?page=101",
    "organizers: submissions, failed metrics": "/many/organize/submissions/?failures=on",
    "organizers: teams": "/many/organize/teams/",
    "organizers: audit log": "/many/organize/trail/",
}


def main() -> None:
    """Run the load test and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of the requests for each page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CAPEVAL_SERVER_DATA"] = folder
        # All clients have the same address.
        os.environ["CAPEVAL_SERVER_ANONYMOUS_READS"] = "0"
        member, organizer = _create_challenges(Path(folder))
        # At the level INFO, httpx logs each request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        address, server = start_server()
        asked: list[tuple[str, str, str | None]] = [(name, path, None) for name, path in PATHS.items()]
        asked += [(name, path, member) for name, path in TEAM_PATHS.items()]
        asked += [(name, path, organizer) for name, path in ORGANIZER_PATHS.items()]
        try:
            rows = [
                _measure(name, f"{address}{path}", session, clients, arguments.seconds)
                for name, path, session in asked
                for clients in (1, 8)
            ]
            rows += [
                _measure_changes(name, f"{address}{path}")
                for name, path in PATHS.items()
                if BOARD in path or API in path
            ]
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    print(
        f"{describe_machine()}; {RANKED:,} submissions on the leaderboard; {SUBMISSIONS:,} of {TEAMS} teams\n"
    )
    print(format_table(["page", "clients", "requests/s", "median ms", "99th percentile ms", "KB"], rows))


def _create_challenges(folder: Path) -> tuple[str, str]:
    """Create two challenges; return session keys of a team member and an organizer."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.config.settings"
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from capeval_server.hosting.services.definition_files import import_challenge

    folder.mkdir(exist_ok=True)
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    users = User.objects.bulk_create(User(username=f"user{n}") for n in range(RANKED))
    organizer = User.objects.create(username="organizer")
    chance = np.random.default_rng(0)
    for slug, teams, submissions in (("small", RANKED, RANKED), ("many", TEAMS, SUBMISSIONS)):
        challenge = import_challenge(_write_definition(folder, slug))
        challenge.organizers.add(organizer)
        _fill_challenge(challenge, users[:teams], submissions, chance)
    return _create_session(users[0]), _create_session(organizer)


def _write_definition(folder: Path, slug: str) -> Path:
    from capeval_server.examples import write_example

    path = write_example("small", folder / slug)
    path.write_text(path.read_text().replace('slug = "small"', f'slug = "{slug}"'))
    return path


def _create_session(user: User) -> str:
    """Return the key of a session in which a user is signed in."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "allauth.account.auth_backends.AuthenticationBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def _fill_challenge(
    challenge: Challenge, users: list[User], number: int, chance: np.random.Generator
) -> None:
    """Create one-user teams and scored submissions; rank each team's first one."""
    from capeval_server.submissions.models import Result, Submission
    from capeval_server.teams.models import Membership, Team

    phase, split = challenge.phases.get(), challenge.splits.get()
    version = split.reference_sets.get(name="c2").versions.get()
    teams = Team.objects.bulk_create(Team(challenge=challenge, name=f"Team {user.pk}") for user in users)
    Membership.objects.bulk_create(
        Membership(team=team, challenge=challenge, user=user) for team, user in zip(teams, users, strict=True)
    )
    submissions = Submission.objects.bulk_create(
        Submission(
            team=teams[n % len(teams)],
            phase=phase,
            user=users[n % len(users)],
            algorithm="made",
            declared={"method": "A method that was made up"},
            state="scored",
            stands=n < len(teams),
        )
        for n in range(number)
    )
    results = Result.objects.bulk_create(
        Result(submission=submission, reference_version=version, metric=metric)
        for submission in submissions
        for metric in split.metrics
    )
    # Only submissions on the leaderboard need bootstrap replicates.
    _add_scores(results[: len(teams) * len(split.metrics)], chance)


def _add_scores(results: list[Result], chance: np.random.Generator) -> None:
    from capeval.metrics import METRICS
    from capeval_server.submissions.models import Score

    made = []
    for result in results:
        if result.metric == results[0].metric:
            quality = chance.uniform(0.2, 1.2)
        samples = chance.normal(quality, 0.01, SAMPLES).astype(np.float32).tobytes()
        interval = {"low": quality - 0.02, "high": quality + 0.02}
        made += [
            Score(result=result, name=name, value=quality, samples=samples, **interval)
            for name in METRICS[result.metric]().names
        ]
    Score.objects.bulk_create(made, batch_size=500)


def _measure_changes(name: str, url: str) -> list[str]:
    """Time the first request after each change of a leaderboard."""
    from capeval_server.submissions.models import Submission

    changed = Submission.objects.filter(phase__challenge__slug="small", stands=True).order_by("pk")[:CHANGES]
    times = []
    with httpx.Client() as client:
        client.get(url).raise_for_status()
        for submission in changed:
            submission.algorithm = f"changed {name}"[:64]
            submission.save()
            start = time.perf_counter()
            answer = client.get(url)
            times.append(time.perf_counter() - start)
            answer.raise_for_status()
    return _make_row(f"{name}, changed each time", 1, times, sum(times), len(answer.content))


def _measure(name: str, url: str, session: str | None, clients: int, seconds: float) -> list[str]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    driver = context.Process(target=_request_repeatedly, args=(url, session, clients, seconds, sender))
    driver.start()
    sender.close()
    times, elapsed, size = receiver.recv()
    driver.join()
    return _make_row(name, clients, times, elapsed, size)


def _make_row(name: str, clients: int, times: list[float], elapsed: float, size: int) -> list[str]:
    milliseconds = np.asarray(times) * 1000
    return [
        name,
        str(clients),
        f"{len(times) / elapsed:.0f}",
        f"{median(milliseconds):.1f}",
        f"{np.quantile(milliseconds, 0.99):.1f}",
        f"{size / 1000:.0f}",
    ]


def _request_repeatedly(
    url: str,
    session: str | None,
    clients: int,
    seconds: float,
    sender: multiprocessing.connection.Connection,
) -> None:
    """Request a page repeatedly, and send the duration of each request."""
    times: list[float] = []
    sizes: set[int] = set()
    begin = time.perf_counter()
    cookies = {"sessionid": session} if session else {}

    def ask() -> None:
        with httpx.Client(cookies=cookies) as client:
            client.get(url).raise_for_status()
            own = 0
            while not own or time.perf_counter() < begin + seconds:
                own += 1
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
