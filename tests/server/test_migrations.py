"""Migrations keep the rows of databases that were made by earlier versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.processes import Server

# To a version of a room's tables, and there a program that prints JSON.
AT = """
import json, uuid
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
room, version = sys.argv[1:]
call_command("migrate", room, version, verbosity=0)
executor = MigrationExecutor(connection)
apps = executor.loader.project_state([(room, version)]).apps
def rows(room, model, *names):
    found = apps.get_model(room, model).objects.order_by("pk").values_list(*names)
    return [list(map(str, row)) for row in found]
"""
MAKE_JOBS_ROWS = """
times = timezone.now()
Submission = apps.get_model("submissions", "Submission")
Worker = apps.get_model("submissions", "Worker")
Set = apps.get_model("challenges", "ReferenceSet")
one = dict(baseline_of=Set.objects.first(), algorithm="human", sha256="0")
lease = uuid.uuid4()
Submission.objects.create(state="scored", **one)
Submission.objects.create(state="running", attempt=2, lease=lease, lease_until=times, **one)
Submission.objects.create(state="waiting", **one)
Worker.objects.create(name="here:1", seen=times)
Worker.objects.create(name="there:2", seen=times)
"""
SUBMISSIONS = """
submissions = rows("submissions", "Submission", "pk", "state", "attempt", "lease", "lease_until", "created")
print(json.dumps([submissions, rows("submissions", "Worker", "pk", "name", "started", "seen")]))
"""
JOBS = """
apps = executor.loader.project_state([("submissions", version), ("jobs", "0001_initial")]).apps
jobs = rows("jobs", "Job", "subject", "attempt", "lease", "available_from", "created")
kinds = rows("jobs", "Job", "kind", "priority", "owner")
workers = rows("jobs", "Worker", "pk", "name", "started", "seen")
apps.get_model("jobs", "Worker").objects.create(name="new:3").delete()
print(json.dumps([jobs, kinds, workers, rows("submissions", "Submission", "pk", "state", "created")]))
"""
TWIN_TEAMS = """
challenge = apps.get_model("challenges", "Challenge").objects.get()
for name in ("Same", "SAME", "other"):
    apps.get_model("teams", "Team").objects.create(challenge=challenge, name=name, code=name)
"""
TWIN_USERS = """
for name in ("same", "SAME"):
    apps.get_model("auth", "User").objects.create(username=name)
"""
NAMES = """
from capeval_server.accounts.models import NameKeys
from capeval_server.teams.models import Team
print(*Team.objects.exclude(look=None).order_by("pk").values_list("name", flat=True))
print(*NameKeys.objects.order_by("pk").values_list("user__username", flat=True))
"""

# A campaign with an item, as an earlier version made them.
EARLIER_CAMPAIGN = """
settings = {"answers": 3, "batch": 10, "lease_seconds": 180}
campaign = apps.get_model("annotation", "Campaign").objects.create(
    slug="earlier", title="Earlier", kind="triplet", settings=settings
)
payload = {"reference": "a", "first": "b", "second": "c"}
apps.get_model("annotation", "Item").objects.create(campaign=campaign, key="0", rank=0, payload=payload)
"""
# SQLite takes no column away that a trigger names.
DROP_TRIGGERS = """
from django.db import connection
from capeval_server.annotation.triggers import present
with connection.cursor() as cursor:
    for name in present() if connection.vendor == "sqlite" else ():
        cursor.execute(f"DROP TRIGGER {name}")
"""
# As an earlier version had them.
MAKE_TRIGGER = """
with connection.cursor() as cursor:
    if connection.vendor == "sqlite":
        cursor.execute(
            "CREATE TRIGGER annotation_item_kept BEFORE UPDATE ON annotation_item"
            " WHEN NOT (OLD.key IS NEW.key AND OLD.is_training IS NEW.is_training)"
            " BEGIN SELECT RAISE(ABORT, 'rows are never changed'); END"
        )
"""
CAMPAIGN_NOW = """
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.options import options_of
campaign = Campaign.objects.get(slug="earlier")
options, item = options_of(campaign), campaign.items.get()
print(options.repeat_every, options.check_pass_share, item.key, item.repeats, item.is_quiz)
"""


@pytest.fixture
def made(tmp_path: Path, database: str | None) -> Server:
    server = Server(tmp_path, database)
    server.prepare()
    return server


def at(server: Server, version: str, program: str) -> Any:
    return json.loads(server.python(AT + program, "submissions", version))


def test_what_waited_becomes_a_job_and_back(made: Server) -> None:
    before, workers = at(made, "0001_initial", MAKE_JOBS_ROWS + SUBMISSIONS)
    assert len(before) >= 3
    assert len(workers) == 2
    jobs, kinds, kept_workers, kept = at(made, "0002_jobs", JOBS)
    unfinished = {
        (key, attempt, lease, until, created)
        for key, state, attempt, lease, until, created in before
        if state in ("waiting", "running")
    }
    assert {tuple(job) for job in jobs} == unfinished
    assert len(jobs) == len(unfinished) >= 2
    assert {tuple(kind) for kind in kinds} == {("scoring", "1", "")}
    assert kept_workers == workers
    assert kept == [[key, state, created] for key, state, _, _, _, created in before]
    assert at(made, "0001_initial", SUBMISSIONS) == [before, workers]
    made.run("migrate")
    made.run("worker", "--until-empty")


def test_names_that_look_alike_stay_and_the_first_has_its_look(made: Server) -> None:
    made.python(AT + TWIN_TEAMS, "teams", "0001_initial")
    made.python(AT + TWIN_USERS, "accounts", "0001_initial")
    made.run("migrate")
    all_users = [f"user{number}" for number in range(len(made.tokens))]
    teams, users = made.python(NAMES).splitlines()
    assert (teams.split(), users.split()) == ([*all_users, "Same", "other"], [*all_users, "same"])


def test_campaigns_go_on_as_they_were(made: Server) -> None:
    made.python(DROP_TRIGGERS)
    made.python(AT + EARLIER_CAMPAIGN + MAKE_TRIGGER, "annotation", "0006_report_reasons")
    made.run("migrate")
    # Neither repeats nor checks that are taken out, which did not exist when they were made.
    assert made.python(CAMPAIGN_NOW).split() == ["0", "0.0", "0", "None", "False"]
