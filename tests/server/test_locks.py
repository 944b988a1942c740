"""Concurrent changes of the same rows on PostgreSQL: transactions wait but never deadlock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.processes import Postgres, Server
from tests.waiting import PATIENCE

# Everybody does what they do again and again, until each thing was done often; what is raised other than for
# them to read is printed.
CROWD = """
import collections, itertools, json, random, threading, time, traceback
from pathlib import Path
from django.contrib.auth.models import User
from django.db import connection, transaction
from capeval.errors import CapevalError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.challenges.models import Challenge, Phase, ReferenceVersion
from capeval_server.hosting.services import moderation
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.services.leaderboard_selection import set_standing
from capeval_server.teams.services import enrollment
from capeval_server.teams.services import membership
from capeval_server.teams.models import Team

path, numbers = Path(sys.argv[1]), itertools.count()
challenge, phase = Challenge.objects.get(), Phase.objects.get()
users = list(User.objects.order_by("pk"))
olga, movers = users[0], users[1:5]
team = enrollment.team_of(users[5], challenge)
Membership = type(team.memberships.get())
Membership.objects.filter(user__in=movers).delete()
Team.objects.filter(memberships=None).delete()
for _ in range(12):
    made = Submission.objects.create(team=team, user=users[5], phase=phase, state="scored")
    for version in ReferenceVersion.objects.all():
        result = Result.objects.create(submission=made, reference_version=version, metric="BLEU")
        Score.objects.create(result=result, name="BLEU-1", value=0.5)
submissions = list(Submission.objects.filter(team=team))

def stand():
    set_standing(random.choice(submissions), True)

def score():
    with transaction.atomic():
        rows = Submission.objects.filter(team=team)
        list(rows.select_for_update(no_key=True).order_by("pk"))
        rows.update(state="scored")

def rerun():
    moderation.rerun(olga, challenge, random.choice(submissions))

def rerun_baseline():
    moderation.rerun(olga, challenge, Submission.objects.filter(baseline_of__isnull=False).first() or made)

def rerun_all():
    moderation.rerun_all(olga, challenge)

def more():
    moderation.raise_quota(olga, team, phase, per_day=random.randint(0, 5), total=1)

def bring_files():
    text = path.read_text()
    number = next(numbers)
    references = path.parent / "references_c2.json"
    found = json.loads(references.read_text())
    references.write_text(json.dumps({**found, "1": [f"A dog {number}."]}))
    without = path.parent / "without.toml"
    without.write_text(text.replace(', human = "human.json"', "") if number % 2 else text)
    import_challenge(without)

def move():
    user = random.choice(movers)
    if enrollment.team_of(user, challenge):
        membership.leave(user, challenge)
        return
    other = Team.objects.filter(memberships__user__in=movers).first()
    if other and random.random() < 0.8:
        enrollment.join(user, challenge, other.code)
    else:
        enrollment.make_team(user, challenge)

def again(do):
    while time.monotonic() < end and not wrong and min(done[each.__name__] for each in crowd) < OFTEN:
        try:
            do()
            done[do.__name__] += 1
        except CapevalError:
            pass
        except Exception:
            wrong.append(traceback.format_exc())
    connection.close()

OFTEN, end = int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
done, wrong = collections.Counter(), []
crowd = [stand, stand, score, score, rerun, rerun_baseline, rerun_all, more, bring_files, move, move, move]
threads = [threading.Thread(target=again, args=(do,)) for do in crowd]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(dict(done))
print("".join(wrong))
sys.exit(bool(wrong) or min(done[each.__name__] for each in crowd) < OFTEN)
"""
OFTEN = 15
# Workers with different clocks take the same job.
SKEWED = """
from datetime import timedelta
from django.utils import timezone
from capeval_server.jobs import leases
from capeval_server.jobs.models import Job
right = timezone.now
for hours in (-2, 2):
    leases.enqueue(Job(kind="greeting", subject=f"{hours}"))
    for off in (hours, 0, -hours):
        timezone.now = lambda: right() + timedelta(hours=off)
        print(leases.claim(["greeting"], f"{off} hours off"))
"""

# Two organizers go at the same time, by several ways.
LAST = """
import threading
from django.contrib.auth.models import User
from django.db import connection
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import SuccessorError
from capeval_server.hosting.services import moderation

challenge = Challenge.objects.get()
needs_command = lambda user: moderation.remove_organizer(None, challenge, user)
ways = [User.delete, challenge.organizers.remove, needs_command]
for number in range(12):
    both = [User.objects.create(username=f"organizer{number}-{one}") for one in range(2)]
    challenge.organizers.add(*both)
    for user in challenge.organizers.exclude(pk__in=[one.pk for one in both]):
        challenge.organizers.remove(user)
    together, gone = threading.Barrier(2), []

    def go(user, way):
        try:
            together.wait()
            way(user)
            gone.append(user)
        except SuccessorError:
            pass
        finally:
            connection.close()

    chosen = [ways[(number + one) % 3] for one in range(2)]
    threads = [threading.Thread(target=go, args=pair) for pair in zip(both, chosen)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(gone), challenge.organizers.count())
"""


@pytest.fixture
def prepared(postgres: Postgres, tmp_path: Path) -> Server:
    made = Server(tmp_path, postgres.new_database())
    made.prepare()
    return made


def test_leases_go_by_the_clock_of_the_database(prepared: Server) -> None:
    assert prepared.python(SKEWED).splitlines() == ["-2", "None", "None", "2", "None", "None"]


def test_one_of_two_last_organizers_stays(prepared: Server) -> None:
    assert prepared.python(LAST).splitlines() == ["1 1"] * 12


def test_nobody_waits_for_each_other(prepared: Server) -> None:
    files = str(prepared.folder / "small" / "challenge.toml")
    prepared.python(CROWD, files, str(OFTEN), str(PATIENCE))
