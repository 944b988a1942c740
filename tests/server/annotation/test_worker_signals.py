"""Signals of workers: an organizer sees the flagged workers with evidence, and no honest one is flagged."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from capeval_server.annotation.models import Assignment, Campaign, Participation, Response
from capeval_server.annotation.review.recorded_answers import find_signals, load_answers
from capeval_server.annotation.review.worker_signals import (
    RecordedAnswer,
    SignalScale,
    find_worker_signals,
    select_looked_at,
)
from capeval_server.annotation.review.worker_summaries import summarize_workers
from capeval_server.annotation.task_types import task_named
from capeval_server.commands.annotation_lists import _list_workers
from tests.server.annotation.test_api import user_program
from tests.server.campaigns import join, make
from tests.server.kit import Someone
from tests.server.pages import check_page
from tests.simulations.worker_signals import HONEST, KINDS, SimulatedCampaign, measure_rates, simulate

SCALE = {"choice": SignalScale(("first", "second"), ("first", "second"))}


def store(made: SimulatedCampaign, kind: str) -> tuple[Campaign, list[Participation]]:
    """Store simulated answers in a campaign, each item in a batch of its own."""
    numbers = {one.item for one in made.answers}
    # The last items are the checks.
    checks = -min(0, *numbers)
    campaign = make(kind, items=1 + max(numbers), checks=checks, answers=made.kind.votes)
    workers = join(campaign, 1 + max(one.worker for one in made.answers))
    items = list(campaign.items.order_by("pk"))
    texts = campaign.texts.get()
    begun = timezone.now() - timedelta(days=1)
    assignments = [
        Assignment(
            participation=workers[one.worker],
            item=items[one.item],
            lease_until=begun + timedelta(days=2),
            state=Assignment.State.SUBMITTED,
            mirrored=one.mirrored,
            batch=number,
            place=1,
            opened=begun,
        )
        for number, one in enumerate(made.answers)
    ]
    Assignment.objects.bulk_create(assignments)
    Response.objects.bulk_create(
        Response(
            assignment=held,
            participation=held.participation,
            item=held.item,
            revision=1,
            answer=one.choices or {"caption": one.caption},
            digest=str(number),
            may_count=not held.item.is_check,
            texts=texts,
            events={"seconds": 9, "pasted": one.pasted},
            key=str(number),
            received=held.opened + timedelta(seconds=one.seconds or 0),
        )
        for number, (held, one) in enumerate(zip(assignments, made.answers, strict=True))
    )
    return campaign, workers


def see(who: Someone, path: str) -> str:
    sent = who.client.get(path)
    text: str = sent.content.decode()
    check_page(text, sent.headers["Content-Security-Policy"])
    return text


def badges(page: str) -> dict[str, list[str]]:
    """The badges with evidence of each worker in the list."""
    rows = re.findall(r'<th scope="row">.*?<code>(\w+)</code>(.*?)</th>', page)
    return {name: re.findall(r'<span class="badge warn" title="[^"]+">([^<]+)<', rest) for name, rest in rows}


@pytest.mark.django_db
def test_an_organizer_sees_who_is_flagged_and_why() -> None:
    made = simulate("pairwise", ("same", "fast"), np.random.default_rng(5), answers_each=30)
    campaign, workers = store(made, "pairwise")
    olga = Someone("olga")
    campaign.organizers.add(olga.user)
    names = [one.worker.pseudonym for one in workers]
    listed = see(olga, f"/campaigns/{campaign.slug}/workers/")
    assert "5 workers with signals" in listed
    found = badges(listed)
    assert [found[name] for name in names[:HONEST]] == [[]] * HONEST
    expected = {"same": "always the same", "fast": "fast"}
    for number, kind in made.bad.items():
        assert expected[kind] in found[names[number]]
    left, quick = (next(one for one in made.bad if made.bad[one] == kind) for kind in ("same", "fast"))
    page = see(olga, f"/campaigns/{campaign.slug}/workers/{names[left]}/")
    assert re.search(
        r"<strong>Always the same.</strong> The left side in 30 of 30 answers; 1\d\.\d expected", page
    )
    assert re.search(r"<dt>Model estimates</dt><dd>\d+ % .*of 30</span>\s+correct \(Dawid-Skene", page)
    page = see(olga, f"/campaigns/{campaign.slug}/workers/{names[quick]}/")
    assert re.search(r"<strong>Fast.</strong> Median time of 0\.\d s per answer, by the server", page)
    assert '<h2 id="signals">' not in see(olga, f"/campaigns/{campaign.slug}/workers/{names[0]}/")
    # Nothing happened to the workers or their answers.
    assert {one.stage for one in Participation.objects.all()} == {"working"}
    page = see(olga, f"/campaigns/{campaign.slug}/reviews/?state=all&worker_signal=fast")
    assert f"{30 * Counter(made.bad.values())['fast']} answers match this filter." in page
    page = see(olga, f"/campaigns/{campaign.slug}/reviews/?state=all&worker_signal=pasted")
    assert "0 answers match this filter." in page
    program = user_program(olga.user.username)
    rows = {
        row["pseudonym"]: row
        for row in program.ask("GET", f"campaigns/{campaign.slug}/workers/statistics")["workers"]
    }
    (signal,) = [one for one in rows[names[quick]]["signals"] if one["name"] == "fast"]
    assert signal["value"] <= signal["threshold"] == 0.2
    assert signal["answers"] == 30
    assert rows[names[0]]["signals"] == []
    assert rows[names[0]]["skill"][1] == 30
    lines = dict(line.split(": ", 1) for line in _list_workers(campaign))
    assert "signal: fast: Median time of 0." in lines[names[quick]]
    assert "signal:" not in lines[names[0]]


@pytest.mark.django_db
def test_attention_checks_reveal_random_choices() -> None:
    made = simulate("triplet", ("random",), np.random.default_rng(8), answers_each=30, check_every=3)
    campaign, workers = store(made, "triplet")
    task = task_named("triplet")
    given = load_answers(campaign, task)
    assert sum(one.is_check for one in given) == 10 * len(workers)
    random = {workers[number].pk for number in made.bad}
    assert find_signals(task, given, {}, None).keys() == random
    assert find_signals(task, [one for one in given if not one.is_check], {}, None).keys() < random
    # Checks are no part of the other statistics.
    assert {one.seconds[1] for one in summarize_workers(campaign) if one.seconds} == {20}


@pytest.mark.django_db
def test_captions_that_are_pasted_or_copied() -> None:
    made = simulate("write", ("same", "pasted"), np.random.default_rng(2), answers_each=15)
    campaign, workers = store(made, "write")
    olga = Someone("olga")
    campaign.organizers.add(olga.user)
    found = badges(see(olga, f"/campaigns/{campaign.slug}/workers/"))
    names = [one.worker.pseudonym for one in workers]
    assert [found[name] for name in names[:HONEST]] == [[]] * HONEST
    expected = {"same": "always the same", "pasted": "pasted"}
    for number, kind in made.bad.items():
        assert expected[kind] in found[names[number]]
    pasting = next(one for one in made.bad if made.bad[one] == "pasted")
    page = see(olga, f"/campaigns/{campaign.slug}/workers/{names[pasting]}/")
    assert "At least half of the characters were pasted in 15 of 15 captions." in page
    assert load_answers(campaign, task_named("write"))[0].browser_seconds == 9


@pytest.mark.parametrize("kind", KINDS)
def test_honest_workers_are_not_flagged_and_bad_ones_are(kind: str) -> None:
    bad = tuple(one for one in KINDS[kind].bad if one != "random")
    rates = measure_rates(kind, bad, trials=1, seed=1, times=(30, 100))
    assert (rates.alarms.total(), rates.missed) == (0, Counter())


@pytest.mark.conformance
def test_the_documented_rates() -> None:
    alarms = honest = 0
    for name, kind in KINDS.items():
        for bad in kind.bad:
            rates = measure_rates(name, (bad,), trials=10)
            alarms, honest = alarms + rates.alarms.total(), honest + rates.honest
            print(f"{name}, {bad}: found {rates.found} of {rates.bad}; false alarms {rates.alarms}")
            # People often disagree on close questions, so that chance needs checks or more than 30 answers.
            chance = bad == "random" and name in ("triplet", "m5")
            assert rates.found >= (0.7 if chance else 0.9) * rates.bad
        if kind.scales:
            rates = measure_rates(name, ("random",), trials=10, check_every=3)
            alarms, honest = alarms + rates.alarms.total(), honest + rates.honest
            print(f"{name}, random, checks: found {rates.found} of {rates.bad}; false alarms {rates.alarms}")
            assert rates.found >= 0.9 * rates.bad
    print(f"false alarms: {alarms} of {honest}")
    assert alarms <= 0.01 * honest


def answers_of(worker: int, choices: str) -> list[RecordedAnswer]:
    names = {"f": "first", "s": "second"}
    return [
        RecordedAnswer(
            worker=worker, item=item, choices={"choice": names[one]}, mirrored=item % 3 == 0, seconds=5
        )
        for item, one in enumerate(choices)
    ]


def flagged(*given: list[RecordedAnswer], **more: Any) -> dict[int, list[str]]:
    answers = [one for rows in zip(*given, strict=True) for one in rows]
    found = find_worker_signals(answers, SCALE, more.get("repeats", {}))
    return {worker: [one.name for one in signals] for worker, signals in found.items()}


def test_a_question_that_all_answer_alike_flags_nobody() -> None:
    assert flagged(*(answers_of(worker, "f" * 30) for worker in range(5))) == {}


def test_few_others_or_few_answers_raise_no_signal() -> None:
    opposite = [answers_of(0, "s" * 30), answers_of(1, "f" * 30), answers_of(2, "f" * 30)]
    assert flagged(*opposite) == {}
    assert flagged(*(answers_of(worker, "sf"[worker > 0] * 14) for worker in range(5))) == {}


def test_a_worker_who_always_contradicts_the_others() -> None:
    right = "fs" * 15
    wrong = answers_of(9, "sf" * 15)
    assert flagged(*(answers_of(worker, right) for worker in range(5)), wrong) == {9: ["disagrees"]}


def test_repeated_items_that_are_answered_differently() -> None:
    known = {worker: [True] * 10 for worker in range(4)}
    given = [answers_of(worker, "fs" * 15) for worker in range(5)]
    assert flagged(*given, repeats={**known, 4: [False] * 10}) == {4: ["inconsistent"]}
    assert flagged(*given, repeats={**known, 4: [False, *[True] * 9]}) == {}


def test_looks_are_few() -> None:
    assert [select_looked_at(number) for number in (14, 15, 29, 30, 99, 100, 199, 200)] == [
        slice(0, 0),
        slice(0, 15),
        slice(0, 15),
        slice(0, 30),
        slice(0, 50),
        slice(0, 100),
        slice(0, 100),
        slice(100, 200),
    ]
