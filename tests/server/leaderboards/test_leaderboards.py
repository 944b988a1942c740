"""Leaderboards: ranking and visibility."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

import capeval
from capeval.scoring.evaluator import Evaluator
from capeval.scoring.significance import compare, resample
from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Phase, ReferenceVersion
from capeval_server.jobs.models import Worker
from capeval_server.leaderboards import ranking
from capeval_server.leaderboards.citation import bibtex, fingerprint
from capeval_server.leaderboards.csv_export import to_csv
from capeval_server.leaderboards.entries import Leaderboard
from capeval_server.leaderboards.plots import plot
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.submissions.selectors.queue import get_queue_status
from tests.server.boards import around, baseline, score, score_again, stand, version
from tests.server.kit import CAPTIONS

pytestmark = pytest.mark.django_db

API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PAGE = "/small/open/?split=val&references=c2"


def board(phase: Phase, **asked: Any) -> Leaderboard:
    """A leaderboard as organizers see it, with all digits."""
    return leaderboard(build_query(phase, references="c2", **asked), full=True)


def order(found: Leaderboard) -> list[tuple[str, int | None]]:
    return [(row.team, row.rank) for row in found.rows]


def seen(query: str = "") -> tuple[list[str], list[str]]:
    """Return the teams in the order of the rows, from the API and from the page."""
    by_api = [row["team"] for row in Client().get(API + query).json()["rows"]]
    page = Client().get(PAGE + query).content.decode()
    by_page = re.findall(r'class="team"[^>]*>(?:<bdi>)?([^<]*)<', page)
    return by_api, [name.replace("Human", "human") for name in by_page]


def test_ties_and_baseline(phase: Phase) -> None:
    for team, value in (("a", 1.0), ("b", 2.0), ("c", 2.0), ("d", 0.5), ("e", 1.5)):
        stand(team, value)
    baseline(1.5)
    best = [("b", 1), ("c", 1), ("e", 3), ("human", None), ("a", 4), ("d", 5)]
    assert order(board(phase)) == best
    assert order(board(phase, order="worst")) == [
        ("d", 5), ("a", 4), ("e", 3), ("human", None), ("b", 1), ("c", 1),
    ]  # fmt: skip
    assert [row.baseline for row in board(phase).rows] == [False, False, False, True, False, False]
    answer = Client().get(API).json()
    assert [(row["team"], row["rank"]) for row in answer["rows"]] == best
    rows = list(csv.DictReader(io.StringIO(to_csv(board(phase)))))
    assert [(row["team"], row["rank"]) for row in rows] == [(team, str(rank or "")) for team, rank in best]
    assert [row["human baseline"] for row in rows].count("yes") == 1
    assert seen()[0] == seen()[1] == [team for team, _ in best]


def test_a_baseline_is_not_shown_before_it_is_scored(phase: Phase) -> None:
    waits = Submission.objects.create(baseline_of=version().reference_set, algorithm="human")
    assert (board(phase).rows, board(phase).rescoring) == ([], 0)
    score(waits, {"CIDEr-D": 1.0})
    assert order(board(phase)) == [("human", None)]
    assert leaderboard(build_query(phase, references="c1")).rows == []


@pytest.mark.parametrize("missing", [None, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("way", ["best", "worst"])
def test_what_is_missing_comes_last(phase: Phase, way: str, missing: float | None) -> None:
    for team, value in (("a", 1.0), ("b", missing), ("c", -2.0)):
        stand(team, value)
    stand("d", state="failed")
    Result.objects.create(
        submission=stand("e", state="failed"), reference_version=version(), metric="CIDEr-D", failure="x"
    )
    ranked = ["a", "c"] if way == "best" else ["c", "a"]
    assert seen(f"&order={way}") == ([*ranked, "b", "d", "e"],) * 2
    found = board(phase, order=way)
    assert [row.rank for row in found.rows[2:]] == [None] * 3
    assert found.rows[4].failed == ["CIDEr-D"]
    assert [dot.label for dot in plot(found, "light").dots] == [
        {"a": "1  a", "c": "2  c"}[team] for team in ranked
    ]


def test_missing_in_another_column(phase: Phase) -> None:
    score(stand("a", 1.0), {"METEOR": 0.2})
    stand("b", 3.0)
    score(stand("c", 2.0), {"METEOR": 0.3})
    for way, expected in (("best", ["c", "a", "b"]), ("worst", ["a", "c", "b"])):
        assert seen(f"&sort_by=METEOR&order={way}") == (expected, expected)


def test_neighbors(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    stand("a", 3.0, samples=around(3.0))
    stand("b", 2.001, samples=around(2.001, seed=1))
    stand("c", 2.0, samples=around(2.0, seed=2))
    stand("d", 2.0, samples=around(2.0, seed=2))
    stand("e", 1.0)
    stand("f", 0.5, samples=around(0.5)[:50])
    stand("g", 0.1, samples=around(0.1))
    baseline(0.05)
    rows = board(phase).rows
    expected = [True, False, False, None, None, None, None, None]
    assert [row.differs_from_next for row in rows] == expected
    assert rows[0].p_value == pytest.approx(2 / 101)
    assert rows[2].p_value == 1
    answer = Client().get(API).json()["rows"]
    assert [row["differs_from_next"] for row in answer] == expected
    page = Client().get(PAGE).content.decode()
    assert page.count("not distinguishable from the next row</span>") == 2
    # The last row of a page is compared with the first of the next.
    monkeypatch.setattr(ranking, "PAGE", 2)
    pages = [
        leaderboard(build_query(phase, references="c2"), page=number, full=True).rows
        for number in (1, 2, 3, 4)
    ]
    assert [row for rows in pages for row in rows] == rows


def test_neighbors_are_compared_as_capeval_compares(phase: Phase, tmp_path: Path) -> None:
    references = capeval.load_references(tmp_path / "references_c2.json")
    evaluator = Evaluator(references, ["CIDEr-D"])
    captions = [CAPTIONS, {**CAPTIONS, 2: "A dog.", 5: "A plate of food."}]
    reports = [evaluator.evaluate(capeval.Candidates(texts)) for texts in captions]
    for team, report in zip("ab", reports, strict=True):
        stand(team, report.corpus["CIDEr-D"], samples=resample(report, samples=100)["CIDEr-D"].values)
    Score.objects.update(images=len(references))
    expected = compare(*reports, method="bootstrap", samples=100)["CIDEr-D"].p_value
    assert board(phase).rows[0].p_value == expected


def test_versions_are_never_mixed(phase: Phase) -> None:
    first, old = stand("a", 1.0), version()
    second = stand("b", 2.0)
    new = ReferenceVersion.objects.create(reference_set=old.reference_set, number=2, file="x", sha256="y")
    new.reference_set.version = 2
    new.reference_set.save()
    Submission.objects.update(state="waiting")
    score(first, {"CIDEr-D": 5.0}, of=new)
    Submission.objects.filter(pk=first.pk).update(state="scored")
    stand("c", 0.5)
    found = board(phase)
    assert order(found) == [("a", 1), ("c", 2), ("b", None)]
    assert (found.rescoring, [row.rescoring for row in found.rows]) == (1, [False, False, True])
    page = Client().get(PAGE).content.decode()
    assert "1 submission is being scored again with version 2 of the references" in page
    assert "2.000" not in page
    was = board(phase, version=1)
    assert (was.rescoring, order(was)) == (0, [("b", 1), ("a", 2), ("c", None)])
    page = Client().get(f"{PAGE}&version=1").content.decode()
    assert "These scores are by version 1 of the references. The current version is 2" in page
    answer = Client().get(f"{API}&version=1").json()
    assert (answer["version"], answer["current"]) == (1, False)
    assert Client().get(API).json()["version"] == 2
    # One of which only another set of references is new has its scores still.
    Submission.objects.filter(pk=first.pk).update(state="running")
    assert [row.rescoring for row in board(phase).rows] == [False, False, True]
    score(second, {"CIDEr-D": 4.0}, of=new)
    assert board(phase).rescoring == 0


def test_marks(phase: Phase) -> None:
    stand("a", 2.0, mark="hidden", mark_reason="Secretreason")
    stand("b", 1.0, mark="flagged", mark_reason="Trained on the test set.")
    stand("c", 3.0, state="withdrawn", stands=False)
    assert order(board(phase)) == [("b", 1)]
    assert board(phase).rows[0].flag_reason == "Trained on the test set."
    for path in (API, f"{API}&format=csv", PAGE):
        text = Client().get(path).content.decode()
        assert "Trained on the test set." in text
        assert "Secretreason" not in text


def test_subsets_have_scores_of_their_own(phase: Phase) -> None:
    score(stand("a", 1.0), {"CIDEr-D": 9.0}, subset="animals")
    score(stand("b", 2.0), {"CIDEr-D": 8.0}, subset="animals")
    assert [row.team for row in board(phase).rows] == ["b", "a"]
    assert [row.scores["CIDEr-D"] for row in board(phase, subset="animals").rows] == [9.0, 8.0]
    assert seen("&subset=animals") == (["a", "b"],) * 2


def test_as_of(phase: Phase) -> None:
    stand("a", 1.0, created=datetime(2026, 1, 2, tzinfo=UTC))
    stand("b", 2.0)
    assert order(board(phase, as_of=datetime(2026, 1, 3, tzinfo=UTC))) == [("a", 1)]
    assert seen("&as_of=2026-01-03T00:00:00Z") == (["a"],) * 2
    assert Client().get(f"{PAGE}&as_of=20260101T000000Z").status_code == 200


def test_fingerprints(phase: Phase) -> None:
    rescored, second = stand("a", 1.0), stand("b", 2.0)
    first = fingerprint(board(phase))
    assert fingerprint(board(phase, order="worst")) == fingerprint(board(phase, sort_by="BLEU-1")) == first
    score_again(rescored, {"CIDEr-D": 1.0 + 1e-15})
    changed = fingerprint(board(phase))
    Submission.objects.filter(pk=second.pk).update(stands=False)
    assert len({first, changed, fingerprint(board(phase))}) == 3


def test_bibliographies(phase: Phase) -> None:
    phase.challenge.title = "R&D {50%} \\input{x}"
    question = build_query(phase, references="c2")
    entry = bibtex(
        question, rows=0, address="https://x/?a=b", at=datetime(2026, 2, 3, tzinfo=UTC), mark="f00"
    )
    assert entry.startswith("@misc{small-open-2026-02-03,\n")
    assert r"R\&D \{50\%\} \textbackslash{}input\{x\}: leaderboard of phase open" in entry
    assert r"references c2 (version 1)" in entry
    assert r"\url{https://x/?a=b}" in entry
    assert "0 rows; fingerprint f00. Accessed 2026-02-03" in entry


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-a1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "＝1"])
def test_csv_has_no_formulas(phase: Phase, text: str) -> None:
    # A number is no formula.
    written = text if text in ("+1", "-1") else f"'{text}"
    stand("a", 1.0, algorithm=text, declared={"method": text}, mark="flagged", mark_reason=text)
    (row,) = csv.DictReader(io.StringIO(to_csv(board(phase)), newline=""))
    for name in ("algorithm", "method", "flagged because"):
        assert row[name] == written
    assert (row["CIDEr-D"], row["CIDEr-D low"], row["CIDEr-D high"]) == ("1.0", "0.9", "1.1")


def test_pages_by_api(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "PAGE", 2)
    for number in range(5):
        stand(f"t{number}", float(number))
    answers = [Client().get(f"{API}&page={page}").json() for page in (1, 2, 3, 4)]
    assert [[row["rank"] for row in answer["rows"]] for answer in answers] == [[1, 2], [3, 4], [5], []]
    assert {(answer["total"], answer["pages"]) for answer in answers} == {(5, 3)}
    assert len(Client().get(API).json()["rows"]) == 5
    assert Client().get(f"{API}&page=0").status_code == 422


def test_queries_do_not_grow_with_rows(phase: Phase) -> None:
    paths = (
        API,
        f"{API}&format=csv",
        PAGE,
        "/small/open/plot.svg?references=c2",
        "/small/open/cite/?references=c2",
        "/",
        "/small/",
        "/jobs/",
    )
    counts = []
    for rows in (5, 60):
        for number in range(Submission.objects.count(), rows):
            stand(f"t{number}", float(number), samples=around(number), mark="flagged", mark_reason="x")
        counts.append([_queries(path) for path in paths])
        again = [_queries(path) for path in paths]
    assert counts[0] == counts[1]
    # A leaderboard that is made is looked at before and after, to be kept as what it is.
    assert max(counts[0]) <= 20
    assert max(again) <= 13


def _queries(path: str) -> int:
    with CaptureQueriesContext(connection) as caught:
        assert Client().get(path).status_code == 200
    return len(caught)


def test_organizers_see_what_is_hidden(phase: Phase) -> None:
    Phase.objects.update(leaderboard="hidden")
    stand("Someteam", 1.0)
    ann, bob, eve, staff = (User.objects.create(username=name) for name in ("ann", "bob", "eve", "staff"))
    phase.challenge.organizers.add(ann, eve)
    User.objects.filter(pk=eve.pk).update(is_active=False)
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    for user, status in ((ann, 200), (bob, 403), (eve, 403), (staff, 200)):
        client = Client()
        client.force_login(user)
        read, token = (
            Client(headers={"Authorization": f"Bearer {Token.issue(user.pk, scope, scope)}"})
            for scope in ("read", "organize")
        )
        assert read.get(API).status_code == 403
        for answer in (client.get(PAGE), client.get(API), token.get(API), client.get(f"{API}&format=csv")):
            assert answer.status_code == status
            assert (b"Someteam" in answer.content) == (status == 200)


ODD = {
    "version": ("-1", "0", "99", f"{10**30}", "x"),
    "as_of": ("x", "20260101", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    "page": ("x", "0", "2", f"{10**30}", "²"),
    "order": ("up",),
    "sort_by": ("SPICE", "\0"),
    **dict.fromkeys(("split", "references", "subset", "fingerprint", "theme"), ("\x00",)),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in ODD for value in ODD[name]])
def test_odd_questions(phase: Phase, name: str, value: str) -> None:
    asked = {"split": "val", "references": "c2", name: value}
    for path in ("/small/open/", "/small/open/cite/", "/small/open/plot.svg", API.partition("?")[0]):
        assert Client().get(path, asked).status_code in (200, 404, 422)


def test_jobs(phase: Phase) -> None:
    now = datetime(2026, 5, 5, 12, 30, tzinfo=UTC)
    assert get_queue_status(now).expected_wait is None
    for number in range(4):
        done = now - timedelta(minutes=2 * number)
        stand(f"t{number}", 1.0, created=now - timedelta(hours=1), finished=done)
    stand("old", 1.0, created=now - timedelta(days=9), finished=now - timedelta(days=8))
    stand("hour", 1.0, finished=now - timedelta(hours=3))
    stand("w", state="waiting")
    stand("v", state="waiting")
    stand("r", state="running")
    assert get_queue_status(now).expected_wait is None
    Worker.objects.create(name="host:1", started=now - timedelta(days=1), seen=now - timedelta(seconds=59))
    Worker.objects.create(name="host:2", seen=now - timedelta(seconds=61))
    found = get_queue_status(now)
    assert (found.waiting, found.running, found.last_hour, found.last_day) == (2, 1, 4, 5)
    assert found.expected_wait == 3 * 120
    assert [worker.seen for worker in found.workers] == [now - timedelta(seconds=59)]
    assert len(found.by_hour) == 24
    assert [(hour.hour, number) for hour, number in found.by_hour if number] == [(9, 1), (12, 4)]


def test_the_expected_wait_is_without_the_time_before_the_workers(phase: Phase) -> None:
    now = datetime(2026, 5, 5, 12, 30, tzinfo=UTC)
    stand("t", 1.0, created=now - timedelta(minutes=30), finished=now - timedelta(minutes=1))
    stand("w", state="waiting")
    Worker.objects.create(name="host:1", started=now - timedelta(minutes=6), seen=now)
    assert get_queue_status(now).expected_wait == 5 * 60
    # Before they scored anything, earlier times count.
    Worker.objects.update(started=now - timedelta(seconds=30))
    assert get_queue_status(now).expected_wait == 29 * 60


@pytest.mark.usefixtures("clock")
def test_jobs_by_api(phase: Phase) -> None:
    stand("Secretteam", state="waiting")
    Worker.objects.create(name="secret-host:1")
    answer = Client().get("/api/jobs")
    assert answer.json()["waiting"] == 1
    assert len(answer.json()["workers"]) == 1
    assert b"ecret" not in answer.content


def test_plots_are_the_same_for_the_same(phase: Phase) -> None:
    submission = stand("$\\frac{1}{2}$ 日本 <b>", 1.0)
    found = board(phase)
    light, dark = plot(found, "light"), plot(found, "dark")
    assert light.etag == plot(board(phase), "light").etag != dark.etag
    text = light.svg().decode()
    assert "frac{1}{2}" in text
    assert "<b>" not in text
    assert light.svg() != dark.svg()
    score_again(submission, {"CIDEr-D": 2.0})
    assert plot(board(phase), "light").etag != light.etag


def test_a_plot_of_many_and_of_none(phase: Phase) -> None:
    assert b"</svg>" in plot(board(phase), "light").svg()
    for number in range(35):
        stand(f"t{number}", float(number))
    dots = plot(board(phase), "light").dots
    assert [dot.score for dot in dots] == list(np.arange(34.0, 4.0, -1))
