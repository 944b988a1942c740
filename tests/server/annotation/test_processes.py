"""Annotation by real processes, on both kinds of database: no slot is given twice, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.processes import DJANGO, Server

# Campaigns, and their workers.
MAKE = """
import json
from django.contrib.auth.models import User
from tests.server.campaigns import compare_systems, join, make
User.objects.get_or_create(username="rita")
kind, options, workers, number = sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:])
for _ in range(number):
    systems = options.get("next_pairs", 0) and options.pop("items")
    campaign = make(kind, **options, **({"items": 0} if systems else {}))
    if systems: compare_systems(campaign, systems)
    join(campaign, workers)
    print(campaign.slug)
"""
# Threads that all ask for the last slot at once, again and again: each round is a campaign of one item.
RUSH = """
import json, threading
from django.db import connection
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.models import Assignment, Campaign
from tests.server.campaigns import answer
number, of, slugs = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
given = []
def ask(campaign, worker, start):
    start.wait()
    try:
        for held in assignment.assign_work(worker).assignments:
            given.append((campaign.slug, answer(held).outcome))
    finally:
        connection.close()
sys.stdin.readline()
for slug in slugs:
    campaign = Campaign.objects.get(slug=slug)
    workers = list(campaign.participations.order_by("pk"))[number::of]
    start = threading.Barrier(len(workers))
    crowd = [threading.Thread(target=ask, args=(campaign, worker, start)) for worker in workers]
    for thread in crowd: thread.start()
    for thread in crowd: thread.join()
print(json.dumps(given))
"""
END = """
import json
from capeval_server.annotation.models import Campaign
from tests.server.campaigns import counted
from tests.server.annotation_robots import check_end
for slug in sys.argv[2:]:
    campaign = Campaign.objects.get(slug=slug)
    check_end(campaign, json.loads(sys.argv[1]))
    print(counted(campaign))
"""
PROCESSES = 4


@pytest.fixture
def made(tmp_path: Path, database: str | None) -> Server:
    """A server with an empty database; its programs can import the tests."""
    server = Server(tmp_path, database)
    server.env["PYTHONPATH"] += f":{Path(__file__).parents[3]}"
    server.migrate()
    return server


def started(server: Server, *command: str) -> subprocess.Popen[str]:
    environment = {**server.env, "DJANGO_SETTINGS_MODULE": "capeval_server.config.settings"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *command], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def outputs(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Return the outputs of processes after all of them have succeeded."""
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    found = [process.communicate() for process in processes]
    for process, (_, errors) in zip(processes, found, strict=True):
        assert process.returncode == 0, errors[-8000:]
    return [printed for printed, _ in found]


def rush(server: Server, rounds: int) -> None:
    """Forty workers in four processes ask at once for the last slot, in each of some rounds."""
    options = json.dumps({"items": 1, "answers": 1})
    slugs = server.python(MAKE, "triplet", options, "40", str(rounds)).split()
    processes = [
        started(server, "-c", DJANGO + RUSH, str(number), str(PROCESSES), *slugs)
        for number in range(PROCESSES)
    ]
    given = [tuple(one) for printed in outputs(processes) for one in json.loads(printed)]
    assert sorted(given) == sorted((slug, "stored") for slug in slugs)
    assert server.python(END, "[]", *slugs).split() == ["1"] * rounds


def test_forty_workers_ask_at_once_for_the_last_slot(made: Server) -> None:
    rush(made, rounds=3)


@pytest.mark.conformance
def test_forty_workers_ask_at_once_for_the_last_slot_a_hundred_times(made: Server) -> None:
    rush(made, rounds=100)


def robots(
    server: Server,
    items: int,
    answers: int,
    workers: int,
    processes: int,
    kind: str = "write",
    part: float = 0.8,
    **more: object,
) -> None:
    """Complete a campaign with robots in several processes, and check that enough is answered."""
    options = {"items": items, "answers": answers, **more}
    options |= {"review_first": 5, "review_every": 20, "reopened_for": "trusted", "trust_answers": 3}
    slug = server.python(MAKE, kind, json.dumps(options), str(workers), "1").strip()
    command = ("-m", "tests.server.annotation_robots", slug, "7")
    found = outputs([started(server, *command, str(number), str(processes)) for number in range(processes)])
    # The last to end may leave something that only robots of a process that has ended can do.
    found += outputs([started(server, *command, "0", "1")])
    acknowledged = " ".join(found).split()
    assert len(set(acknowledged)) >= items * answers * part
    server.python(END, json.dumps(acknowledged[:1000]), slug)


def test_robots_in_several_processes(made: Server) -> None:
    robots(made, items=20, answers=2, workers=10, processes=2)


# Two workers agree on one item of two, in answers that took 4 and 8 seconds; a third has only one of them.
ORGANIZED = """
from collections import Counter
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation
from capeval_server.annotation.core.agreement import measure_question_agreement
from capeval_server.annotation.responses.submit import submit
from capeval_server.annotation.campaigns.effort import measured_agreement
from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.campaigns.progress import items_with_counts, pace_of
from capeval_server.annotation.review.worker_summaries import summarize_workers
from tests.server.campaigns import given
campaign = Campaign.objects.get(slug=sys.argv[1])
one, other, third = campaign.participations.order_by("pk")
def answer(worker, *sides):
    for place, side in enumerate(sides):
        (held,) = assignment.assign_work(worker).assignments
        choice = side if not held.mirrored else {"left": "right", "right": "left"}[side]
        submit(held, given({"choice": choice}, seconds=4 * (1 + place)))
answer(one, "left", "left")
answer(other, "left", "right")
answer(third, "left")
pace = pace_of(campaign)
received = Counter(time.date() for time in Response.objects.values_list("received", flat=True))
print(list(pace.days) == sorted(received.items()), sum(received.values()), pace.seconds)
print([(item.counted, item.wanted) for item in items_with_counts(campaign)])
print([(each.items, each.answers, each.shares) for each in measure_question_agreement(campaign)])
print([(each.agreement, each.seconds, each.counted) for each in summarize_workers(campaign)])
print(round(measured_agreement(campaign).yes, 3), list(moderation.list_review_queue(campaign)))
"""


def test_what_organizers_see(made: Server) -> None:
    options = {"items": 2, "answers": 3, "batch": 1, "curtail": False}
    slug = made.python(MAKE, "triplet", json.dumps(options), "3", "1").strip()
    days, items, agreements, workers, effort = made.python(ORGANIZED, slug).splitlines()
    assert days == "True 5 4.0"
    assert sorted(json.loads(items.replace("(", "[").replace(")", "]"))) == [[2, 3], [3, 3]]
    assert agreements == "[(2, 5, {'first': 4, 'second': 1})]"
    of_both = "(Proportion(number=1, of=2), (6.0, 2), 2)"
    assert workers == f"[{of_both}, {of_both}, (Proportion(number=1, of=1), (4.0, 1), 1)]"
    assert effort == "0.8 []"


# Threads that work to the end: what each answered before is shown again, and all fail one of the checks.
AGAIN = """
import threading
from django.db import connection
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.models import Campaign
from tests.server.annotation.test_holds import choose
campaign = Campaign.objects.get(slug=sys.argv[1])
bad = campaign.items.filter(is_check=True, repeats=None).order_by("rank")[0]
workers = list(campaign.participations.order_by("pk"))[int(sys.argv[2])::int(sys.argv[3])]
start = threading.Barrier(len(workers))
def work(worker):
    start.wait()
    try:
        while held := assignment.assign_work(worker).assignments:
            for one in held: choose(one, right=one.item != bad)
    finally:
        connection.close()
sys.stdin.readline()
crowd = [threading.Thread(target=work, args=(worker,)) for worker in workers]
for thread in crowd: thread.start()
for thread in crowd: thread.join()
"""
SHOWN_AGAIN = """
from capeval_server.annotation.models import Assignment, Campaign
campaign = Campaign.objects.get(slug=sys.argv[1])
given = Assignment.objects.filter(item__repeats__campaign=campaign)
bad = campaign.items.filter(is_check=True, repeats=None).order_by("rank")[0]
items = campaign.items.filter(repeats__isnull=False)
print(given.count(), items.count(), given.values("participation", "item").distinct().count(), bad.held_reason)
"""


def test_items_are_shown_again_and_a_check_is_taken_out_by_several_processes(made: Server) -> None:
    options = {"items": 30, "checks": 5, "answers": 12, "check_every": 2, "repeat_every": 2, "batch": 2}
    options |= {"pause_failed": 0, "check_pass_answers": 2}
    slug = made.python(MAKE, "triplet", json.dumps(options), "12", "1").strip()
    outputs([started(made, "-c", DJANGO + AGAIN, slug, str(number), "3") for number in range(3)])
    given, items, different, why = made.python(SHOWN_AGAIN, slug).strip().split(" ", 3)
    assert int(given) == int(different) >= 24
    assert 1 <= int(items) <= 30
    assert why.endswith("reliable workers failed this check")
    assert made.python(END, "[]", slug).split() == ["360"]


def test_robots_in_several_processes_end_items_that_are_decided(made: Server) -> None:
    # More than half of the answers are enough.
    robots(made, items=10, answers=3, workers=10, processes=2, kind="pairwise", part=0.6)


def test_robots_in_several_processes_end_pairs_whose_winner_is_likely(made: Server) -> None:
    sure = {"confidence": 0.8, "confidence_votes": 2}
    robots(made, items=16, answers=3, workers=10, processes=3, kind="triplet", part=0.3, **sure)


def test_robots_in_several_processes_choose_by_systems(made: Server) -> None:
    options: dict[str, object] = {"next_pairs": 4, "curtail": False}
    robots(made, items=24, answers=2, workers=10, processes=3, kind="pairwise", part=0.8, **options)


# All work on the items of one pair at once, whose winner changes with their answers; an organizer blocks one
# of them, and lifts that.
ONE_PAIR = """
from functools import partial
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review import moderation
from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.campaigns.items import add_items
from tests.server.campaigns import answer, at_once, join, make
from tests.server.annotation_robots import check_end
campaign = make("triplet", items=0, answers=3, batch=4, confidence=0.7, confidence_votes=2)
payload = {"reference": "a dog", "first": "a hound", "second": "a cat"}
add_items(campaign, [
    ItemDefinition(key=str(key), image="", group="one", category="HC", payload=payload, expected={})
    for key in range(24)
], 3)
workers = join(campaign, 8)
given = []
def work(worker):
    while held := assignment.assign_work(worker).assignments:
        # In no order of their keys, and by the side: its winner changes.
        for one in reversed(held):
            given.append(answer(one).response.key)
def manage():
    for _ in range(6):
        exclusion, _ = moderation.block(None, workers[0], "spam")
        moderation.unblock(None, exclusion, "a mistake")
print(*at_once(manage, *(partial(work, worker) for worker in workers)))
for worker in workers: work(worker)
check_end(campaign, given)
"""


def test_answering_one_pair_at_once(made: Server) -> None:
    assert made.python(ONE_PAIR).strip() == ""


# Two workers hold the same slot: the lease of the first ran out. Both answer at once.
TWICE = """
import threading
from django.db import connection
from django.utils import timezone
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.models import Assignment, Campaign, Response
from tests.server.campaigns import answer, counted, join, make
for kind in ("another's", "the same key", "another window"):
    campaign = make("triplet", items=1, answers=1)
    first, second = join(campaign, 2)
    held = [assignment.assign_work(first).assignments[0]]
    if kind == "another's":
        Assignment.objects.update(lease_until=timezone.now() - timezone.timedelta(days=1))
        held += assignment.assign_work(second).assignments
        assert len(held) == 2
    threads, outcomes = 8, []
    start = threading.Barrier(threads)
    def send(number):
        start.wait()
        one = held[number % len(held)]
        key = f"key {number % len(held) if kind != 'another window' else number}"
        try:
            outcomes.append(answer(one, key=key).outcome)
        finally:
            connection.close()
    crowd = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
    for thread in crowd: thread.start()
    for thread in crowd: thread.join()
    stored = Response.objects.filter(item__campaign=campaign).count()
    print(kind, counted(campaign), stored, *sorted(outcomes), sep=",")
"""


def test_several_answer_in_the_same_moment(made: Server) -> None:
    lines = [line.split(",") for line in made.python(TWICE).splitlines()]
    assert lines == [
        ["another's", "1", "2", *["stored"] * 4, *["surplus"] * 4],
        ["the same key", "1", "1", *["stored"] * 8],
        ["another window", "1", "1", *["answered"] * 7, "stored"],
    ]


# An organizer blocks a worker, lifts that and blocks again, and lowers and raises the number of answers,
# while all workers answer.
BLOCKS = """
from functools import partial
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.review import moderation
from tests.server.campaigns import answer, at_once, join, make
from tests.server.annotation_robots import check_end
campaign = make("write", items=30, answers=2, batch=3)
workers = join(campaign, 4)
given = []
def work(worker):
    while held := assignment.assign_work(worker).assignments:
        for one in held:
            given.append(answer(one).response.key)
def manage():
    for number in range(4):
        exclusion, _ = moderation.block(None, workers[0], "spam")
        lifecycle.set_answers(None, campaign, 1 + number % 2)
        moderation.unblock(None, exclusion, "a mistake")
    moderation.block(None, workers[0], "spam")
print(*at_once(manage, *(partial(work, worker) for worker in workers)))
# While fewer answers were wanted, there was nothing to do for a moment, and workers went.
for worker in workers[1:]: work(worker)
campaign.refresh_from_db()
check_end(campaign, given)
"""


def test_blocking_and_lowering_while_they_answer(made: Server) -> None:
    assert made.python(BLOCKS).strip() == ""


# A worker withdraws in two campaigns at once, while they answer in both.
WITHDRAWS = """
import threading, traceback
from django.db import connection
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.review import withdrawal
from capeval_server.annotation.models import Response, Worker
from capeval_server.core.errors import AssignmentError
from django.contrib.auth.models import User
from tests.server.campaigns import answer, counted, make
from tests.server.annotation_robots import check_end
user = User.objects.create(username="wanda")
places = [make("write", items=12, answers=1, batch=3, reopened_for="everybody") for _ in range(2)]
mine = [enrollment.agree(enrollment.enter_as_user(user, place), 1) for place in places]
begun, wrong = threading.Barrier(5), []
def work(worker):
    number = 0
    while held := assignment.assign_work(worker).assignments:
        for one in held:
            number += 1
            if number == 2: begun.wait()
            answer(one, "Ownmarker")
def leave(worker):
    begun.wait()
    withdrawal.withdraw(None, worker, by_worker=True)
def run(do, worker):
    try: do(worker)
    except AssignmentError as error: assert "you have withdrawn" in str(error)
    except Exception: wrong.append(traceback.format_exc())
    finally: connection.close()
crowd = [threading.Thread(target=run, args=(do, worker)) for do in (work, leave) for worker in mine]
for one in crowd: one.start()
begun.wait()
for one in crowd: one.join()
print(*wrong)
assert not Response.objects.filter(answer__caption="Ownmarker").exists()
assert Response.objects.count() >= 2
assert not Worker.objects.exclude(user=None).exists()
assert [counted(place) for place in places] == [0, 0]
for place in places: check_end(place, [])
"""


def test_withdrawing_while_they_answer(made: Server) -> None:
    assert made.python(WITHDRAWS).strip() == ""


# Items are added while workers answer, and a draft is deleted. The database deletes no texts but the draft's.
EXTENDS = """
import json
from functools import partial
from django.db import IntegrityError, connection, transaction
from capeval_server.annotation.campaigns.additions import extend_campaign
from capeval_server.annotation.campaigns.deletion import delete_draft
from capeval_server.annotation.campaigns.item_files import ItemFiles
from capeval_server.annotation.models import Slot, TextVersion
from capeval_server.annotation.responses import assignment
from tests.server.campaigns import answer, at_once, counted, join, make
from tests.server.annotation_robots import check_end
campaign, draft = make("triplet", items=10, answers=2), make("triplet", state="draft")
workers = join(campaign, 3)
given = []
def work(worker):
    while held := assignment.assign_work(worker).assignments:
        for one in held:
            given.append(answer(one).response.key)
def extend():
    for number in range(4):
        texts = {"reference": "a dog", "first": "a hound", "second": "a cat"}
        rows = [{"key": f"{number}-{each}", **texts} for each in range(5)]
        table = "".join(json.dumps(row) + chr(10) for row in rows).encode()
        extend_campaign(None, campaign, ItemFiles(table_name="a.jsonl", table=table, columns={}, images=None))
print(*at_once(extend, partial(delete_draft, None, draft), *(partial(work, worker) for worker in workers)))
for worker in workers: work(worker)
assert (campaign.items.count(), counted(campaign)) == (30, 60)
assert Slot.objects.filter(item__campaign=campaign).count() == 60
check_end(campaign, given)
assert list(TextVersion.objects.values_list("campaign", flat=True)) == [campaign.pk]
truncate = "TRUNCATE annotation_textversion CASCADE" if connection.vendor == "postgresql" else None
for statement in filter(None, ("DELETE FROM annotation_textversion", truncate)):
    try:
        with transaction.atomic(), connection.cursor() as cursor: cursor.execute(statement)
    except IntegrityError as error: assert "once a worker has entered the campaign" in str(error)
    else: print(statement)
"""


def test_extending_while_they_answer(made: Server) -> None:
    assert made.python(EXTENDS).strip() == ""


@pytest.mark.conformance
def test_the_robot_campaign_of_ten_thousand_items(made: Server) -> None:
    robots(made, items=10_000, answers=11, workers=50, processes=2)
