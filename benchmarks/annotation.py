"""Benchmark of annotation campaigns: creation, assignment, answers, audit, pages.

`python -m benchmarks.annotation` creates a campaign of 4,000 pairs x 48 triplets x 3 votes with
`capeval server annotate create`. It requests items while all slots are open, checks sentences against the
text rules, lets 50 workers answer over HTTP, fills all remaining slots, audits the campaign with `capeval
server annotate audit`, and requests the organizers' pages. CAPEVAL_SERVER_DATABASE selects the database,
which must be empty (default: SQLite).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from benchmarks.measure import describe_machine, format_table, make_command, run, start_server
from capeval_server.commands.common import set_up

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign

PAIRS, TRIPLETS, VOTES, WORKERS = 4000, 48, 3, 50
# Answers per worker, and seconds between two of them.
ANSWERS, PAUSE = 10, 3.0
DEFINITION = f"""
[campaign]
slug = "large"
title = "Large"
kind = "triplet"
items = "items.jsonl"

[settings]
answers = {VOTES}
batch = 1
check_every = 0
reopened_for = "everybody"
"""
# Fills all slots as if the workers had answered: each triplet gets answers from three workers.
FILL = (
    "INSERT INTO annotation_assignment (participation_id, item_id, slot_id, lease, lease_until, state,"
    " mirrored, batch, place, opened, reason)"
    " SELECT (SELECT MIN(id) FROM annotation_participation) + (slot.item_id * 7 + slot.number) % {workers},"
    " slot.item_id, slot.id, {lease}, {now}, 'submitted', FALSE, 1, 1, {now}, '' FROM annotation_slot slot"
    " WHERE slot.filled_by_id IS NULL",
    "INSERT INTO annotation_response (assignment_id, participation_id, item_id, revision, answer, digest,"
    " may_count, texts_id, rules, events, key, received, redacted)"
    " SELECT id, participation_id, item_id, 1, '{answer}', '{digest}', TRUE,"
    " (SELECT MIN(id) FROM annotation_textversion), '{{}}', '{{}}', 'key' || id, {now}, ''"
    " FROM annotation_assignment WHERE state = 'submitted' AND NOT EXISTS"
    " (SELECT 1 FROM annotation_response given WHERE given.assignment_id = annotation_assignment.id)",
    "UPDATE annotation_slot SET filled_by_id = (SELECT response.id FROM annotation_assignment assignment"
    " JOIN annotation_response response ON response.assignment_id = assignment.id"
    " WHERE assignment.slot_id = annotation_slot.id)",
    "UPDATE annotation_item SET free = 0",
    "UPDATE annotation_participation SET batch = 1, answered = (SELECT COUNT(*) FROM annotation_assignment"
    " WHERE participation_id = annotation_participation.id)"
    " WHERE id < (SELECT MIN(id) FROM annotation_participation) + {workers}",
)


def main() -> None:
    """Run the benchmark and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="number of pairs, with 48 triplets each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["CAPEVAL_SERVER_DATA"] = str(folder / "data")
        _write_campaign(folder, arguments.pairs)
        server = make_command("-m", "capeval_server")
        run([*server, "migrate"])
        _print_step("creating the campaign")
        made = run([*server, "annotate", "create", str(folder / "campaign.toml")])
        set_up()
        # At the level INFO, httpx logs each request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        _print_step("assigning items")
        times = _time_assignment()
        verdicts = _time_rules()
        _print_step("answering as workers")
        answered = _time_answers()
        _print_step("filling all slots")
        votes = _fill_slots()
        _print_step("auditing")
        audited = run([*server, "annotate", "audit", "large"])
        _print_step("requesting the organizers' pages")
        seen = _time_pages()
    assert "all holds" in audited.output, audited.output
    print(f"{describe_machine()}; {arguments.pairs * TRIPLETS * VOTES:,} votes\n")
    rows = [
        ["creating the campaign", f"{made.seconds:.1f} s, {made.megabytes:.0f} MB"],
        ["assigning an item, all slots open: median", f"{_format_percentile(times, 50)} ms"],
        ["assigning an item, all slots open: p95", f"{_format_percentile(times, 95)} ms"],
        ["checking a sentence against the text rules: p95", f"{_format_percentile(verdicts, 95)} ms"],
        [f"answer and next item, {WORKERS} workers: median", f"{_format_percentile(answered, 50)} ms"],
        [f"answer and next item, {WORKERS} workers: p95", f"{_format_percentile(answered, 95)} ms"],
        [f"audit of {votes:,} answers", f"{audited.seconds:.1f} s, {audited.megabytes:.0f} MB"],
        *([f"organizers' page: {name}", f"{seconds:.2f} s"] for name, seconds in seen.items()),
    ]
    print(format_table(["measurement", "value"], rows))


def _print_step(what: str) -> None:
    # Each part takes a minute or more, so an interrupted run must show how far it got.
    print(f"  {what}", file=sys.stderr, flush=True)


def _write_campaign(folder: Path, pairs: int) -> None:
    (folder / "campaign.toml").write_text(DEFINITION)
    with (folder / "items.jsonl").open("w") as file:
        for number in range(pairs * TRIPLETS):
            pair, reference = divmod(number, TRIPLETS)
            item = {
                "key": number,
                "group": pair,
                "category": "HC",
                "reference": f"a man rides a brown horse on a long beach near the sea {reference}",
                "first": f"a person is riding a horse along the shore of the sea {pair}",
                "second": f"a brown dog runs after a ball on the green grass of a park {pair}",
            }
            file.write(json.dumps(item) + "\n")


def _open_campaign() -> Campaign:
    from capeval_server.annotation.campaigns import lifecycle
    from capeval_server.annotation.models import Campaign as Campaigns
    from capeval_server.annotation.workers import enrollment

    campaign = Campaigns.objects.get(slug="large")
    campaign = lifecycle.change_state(None, campaign, "open")
    for token in enrollment.invite(None, campaign, WORKERS):
        enrollment.agree(enrollment.get_invited(campaign, token), 1)
    return campaign


def _time_assignment() -> list[float]:
    """Return the seconds to assign an item, for each worker in turn, in 10 rounds."""
    from django.db import transaction

    from capeval_server.annotation.core.slots import update_free_counts
    from capeval_server.annotation.models import Assignment, Item
    from capeval_server.annotation.responses import assignment

    workers = list(_open_campaign().participations.order_by("pk"))
    times = []
    for _ in range(10):
        for worker in workers:
            start = time.perf_counter()
            (held,) = assignment.assign_work(worker).assignments
            times.append(time.perf_counter() - start)
            assignment.set_aside(held, "skipped")
    with transaction.atomic():
        items = list(Assignment.objects.values_list("item", flat=True))
        Assignment.objects.all().delete()
        update_free_counts(items)
    assert not Item.objects.exclude(free=VOTES).exists()
    return times


def _time_rules() -> list[float]:
    """Return the seconds to check a sentence against the text rules, 300 times."""
    from capeval_server.annotation.text_rules.rules import check_captions

    times = []
    for text in ("a brown dog runs over the green grass", "There is a dog", "a dog " * 80) * 100:
        start = time.perf_counter()
        check_captions([text])
        times.append(time.perf_counter() - start)
    return times


def _format_percentile(times: list[float], percentile: int) -> str:
    return f"{1000 * float(np.percentile(times, percentile)):.1f}"


def _time_answers() -> list[float]:
    """Return the seconds to answer and get the next item, over HTTP.

    Each worker sends 1,200 answers per hour.
    """
    from capeval_server.annotation.models import Assignment, Campaign, Item, Response
    from capeval_server.annotation.responses import assignment
    from capeval_server.annotation.workers import enrollment

    campaign = Campaign.objects.get(slug="large")
    tokens = enrollment.invite(None, campaign, WORKERS)
    for token in tokens:
        enrollment.agree(enrollment.get_invited(campaign, token), 1)
    address, server = start_server()
    times: list[float] = []
    try:
        crowd = [
            threading.Thread(
                target=_answer_as_worker, args=(f"{address}/api/annotate/large", token, number, times)
            )
            for number, token in enumerate(tokens)
        ]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert len(times) == WORKERS * ANSWERS == Response.objects.count()
    for held in Assignment.objects.filter(state="held"):
        assignment.set_aside(held, "returned")
    assert Item.objects.filter(free__lt=VOTES).exists()
    return times


def _answer_as_worker(place: str, token: str, number: int, times: list[float]) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    # Spreads the workers over the pause, so that they do not send requests simultaneously.
    due = time.perf_counter() + PAUSE * number / WORKERS
    with httpx.Client(headers=headers, timeout=60) as client:
        time.sleep(PAUSE * number / WORKERS)
        due += PAUSE
        held = _post(client, f"{place}/next", {})["items"][0]["lease"]
        for _ in range(ANSWERS):
            time.sleep(max(due - time.perf_counter(), 0))
            start = time.perf_counter()
            sent = {"answer": {"choice": "left"}, "key": held}
            _post(client, f"{place}/items/{held}/answer", sent)
            held = _post(client, f"{place}/next", {})["items"][0]["lease"]
            times.append(time.perf_counter() - start)
            due += PAUSE


def _post(client: httpx.Client, address: str, content: object) -> Any:
    """Return the server's answer; like the pages, retry while the server is too busy."""
    while (answer := client.post(address, json=content)).status_code == httpx.codes.SERVICE_UNAVAILABLE:
        time.sleep(0.2)
    return answer.raise_for_status().json()


def _fill_slots() -> int:
    from django.db import connection, transaction

    from capeval_server.annotation.core.digests import compute_digest
    from capeval_server.annotation.models import Response

    sqlite = connection.vendor == "sqlite"
    values = {
        "workers": WORKERS,
        "lease": "lower(hex(randomblob(16)))" if sqlite else "gen_random_uuid()",
        "now": "'2026-01-01 00:00:00'",
        "answer": json.dumps({"choice": "first"}),
        "digest": compute_digest({"choice": "first"}),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in FILL:
            cursor.execute(statement.format(**values))
    return Response.objects.count()


def _time_pages() -> dict[str, float]:
    """Return the seconds per page of the completed campaign."""
    from django.contrib.auth.models import User
    from django.test import Client

    from capeval_server.annotation.models import Participation

    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create(username="staff", is_staff=True))
    worker = Participation.objects.exclude(answered=0).order_by("pk")[0].worker.pseudonym
    pages = (
        "",
        "plot.svg",
        "items/",
        "agreement/",
        "plan/",
        "workers/",
        f"workers/{worker}/",
        "reviews/",
        "releases/",
    )
    seconds = {}
    for page in pages:
        start = time.perf_counter()
        answer = client.get(f"/campaigns/large/{page}")
        assert answer.status_code == httpx.codes.OK, page
        answer.close()
        seconds[page.replace(worker, "...") or "overview"] = time.perf_counter() - start
    return seconds


if __name__ == "__main__":
    main()
