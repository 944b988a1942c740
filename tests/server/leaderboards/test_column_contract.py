"""Contract of leaderboards with registered columns and with lower-is-better metrics."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone
from ninja.responses import NinjaJSONEncoder

from capeval.metrics import registry
from capeval.metrics.base import Kernel, MeanMetric
from capeval.tokenizers import TokenizedCandidates, TokenizedReferences
from capeval_server.api.root import api
from capeval_server.challenges.models import Phase, Reported, Split
from capeval_server.hosting.services import final_results
from capeval_server.leaderboards import columns
from capeval_server.leaderboards.columns import COLUMNS, EntryColumn, register
from capeval_server.leaderboards.entries import Leaderboard
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.submissions.models import FinalBoard, Result, Score, Submission
from capeval_server.submissions.selectors.scores import score_tables
from capeval_server.web.participant.placements import placings
from tests.server.boards import around, baseline, stand, version

pytestmark = pytest.mark.django_db

API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PAGE = "/small/open/?split=val&references=c2"

TOY = EntryColumn(
    name="toy_length",
    title="length of the names",
    kind=int,
    description="Number of characters of the names of method and team.",
    lookups=("algorithm", "team__name"),
    read=lambda algorithm, team: 7000 + len(algorithm + (team or "")),
    default=-1,
    heading="Toy length",
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[EntryColumn]:
    """A column that is registered for the test."""
    monkeypatch.setattr(api, "_description", None)
    yield register(TOY)
    columns._columns.pop(TOY.name)


def current(phase: Phase, **asked: Any) -> Leaderboard:
    """The leaderboard as everybody sees it."""
    phase = Phase.objects.select_related("challenge").get(pk=phase.pk)
    return leaderboard(build_query(phase, references="c2", **asked))


def rows_of_page(page: str) -> list[str]:
    table = page.partition('<table class="board"')[2].partition("</table>")[0]
    return re.findall(r"<tr.*?</tr>", table.partition("<tbody>")[2], re.DOTALL)


def check_shown(column: EntryColumn, board: Leaderboard) -> None:
    """Check the values of a column in API and CSV, and the texts of the teams' rows on the page."""
    values = [column.value(row) for row in board.rows]
    answer = Client().get(API).json()["rows"]
    assert [row[column.name] for row in answer] == json.loads(json.dumps(values, cls=NinjaJSONEncoder))
    table = list(csv.DictReader(io.StringIO(Client().get(f"{API}&format=csv").content.decode())))
    texts = [row.get(column.title) for row in table]
    hidden = column.final_only and board.final is None
    assert texts == ([None] * len(values) if hidden else [column.csv(value) for value in values])
    page = Client().get(PAGE).content.decode()
    assert f'<th scope="col">{column.heading}</th>' in page or not column.heading
    for value, row, shown in zip(values, board.rows, rows_of_page(page), strict=True):
        assert column.page is None or row.baseline or html.escape(column.page(value)) in shown


def test_each_column_is_shown_everywhere(phase: Phase, toy: EntryColumn) -> None:
    assert toy in COLUMNS.values()
    first = stand("first", 2.0, algorithm="method-1", samples=around(2.0))
    stand("second", 1.0, algorithm="method-2", mark="flagged", mark_reason="Trained on <val>.")
    baseline(1.5)
    schema = api.get_openapi_schema()["components"]["schemas"]["LeaderboardRow"]
    before = {}
    for name, column in COLUMNS.items():
        assert name in schema["properties"]
        assert name in schema["required"]
        check_shown(column, current(phase))
        before[name] = [column.value(row) for row in current(phase).rows]
    ended = timezone.now() - timedelta(days=1)
    Phase.objects.update(opens=ended - timedelta(days=1), closes=ended)
    final_results.make_final(None, Phase.objects.select_related("challenge").get())
    Submission.objects.update(finished=timezone.now() - timedelta(days=2))
    final = current(phase)
    for name, column in COLUMNS.items():
        assert [column.value(row) for row in final.rows] == before[name]
    # The submission changes, the final results do not: only a note describes the change.
    Submission.objects.filter(pk=first.pk).update(algorithm="changed", finished=timezone.now())
    noted = current(phase)
    assert noted.rows[0].note
    shown = rows_of_page(Client().get(PAGE).content.decode())
    for name, column in COLUMNS.items():
        assert [column.value(row) for row in noted.rows] == before[name] or column.final_only
        check_shown(column, noted)
        texts = [column.page(column.value(row)) for row in noted.rows] if column.page is not None else []
        found = [html.escape(text) in row for text, row in zip(texts, shown, strict=False) if text]
        assert any(found) or column.page is None, name


def test_a_name_is_registered_once(toy: EntryColumn) -> None:
    with pytest.raises(ValueError, match="a column with the name 'toy_length' is already registered"):
        register(toy)


def test_final_results_of_earlier_versions_are_read(phase: Phase, toy: EntryColumn) -> None:
    submission = stand("now", 9.0)
    stored = {
        "submission": str(submission.pk),
        "team": "then",
        "algorithm": "method",
        "declared": {"method": "Best"},
        "submitted": "2026-01-05T06:07:08.000009+00:00",
        "flag_reason": "",
        "failed": ["METEOR"],
        "scores": [["CIDEr-D", "", 1.5, 1.4, 1.6], ["CIDEr-D", "animals", 2.5, None, None]],
    }
    people = {
        **stored,
        "submission": str(UUID(int=0)),
        "team": "",
        "scores": [["CIDEr-D", "", 1.0, None, None]],
    }
    pair = ["CIDEr-D", "", *sorted([str(submission.pk), str(UUID(int=0))]), 0.25]
    content = json.dumps({"rows": [stored, people], "p_values": [pair]}).encode()
    FinalBoard.objects.create(phase=phase, version=version(), content=zlib.compress(content))
    Phase.objects.update(final=timezone.now())
    rows = current(phase).rows
    assert [(row.rank, row.team, row.baseline, row.p_value) for row in rows] == [
        (1, "then", False, 0.25),
        (None, "human", True, None),
    ]
    row = rows[0]
    assert row.submission == submission.pk
    assert (row.algorithm, row.declared, row.flag_reason) == ("method", {"method": "Best"}, "")
    assert row.submitted == datetime(2026, 1, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert (row.scores["CIDEr-D"], row.intervals["CIDEr-D"], row.failed) == (1.5, (1.4, 1.6), ["METEOR"])
    assert toy.value(row) == -1
    assert current(phase, subset="animals").rows[0].scores["CIDEr-D"] == 2.5


@dataclass(frozen=True, kw_only=True)
class WordErrors(MeanMetric):
    """Share of a candidate's words that no reference contains."""

    family: ClassVar[str] = "WordErrors"
    docs_page: ClassVar[str] = "word-errors"
    higher_is_better: ClassVar[bool] = False

    def kernel(self, references: TokenizedReferences) -> Kernel:
        """Return a function that counts unknown words."""
        known = [{*" ".join(references.texts(image)).split()} for image in references.references]

        def statistics(candidates: TokenizedCandidates) -> Any:
            rows = []
            for text, image in zip(candidates.texts(), candidates.positions.tolist(), strict=True):
                words = text.split()
                rows.append((sum(word not in known[image] for word in words) / max(len(words), 1), 1.0))
            return np.array(rows)

        return statistics


@pytest.fixture
def lower_is_better(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> list[Submission]:
    """Submissions on a leaderboard that ranks by a lower-is-better metric; the best one is last."""
    monkeypatch.setattr(registry.METRICS, "_values", dict(registry.METRICS._values))
    monkeypatch.setattr(registry.METRICS, "_names", dict(registry.METRICS._names))
    registry.METRICS.add({"WordErrors": WordErrors}, __name__)
    Split.objects.filter(name="val").update(metrics=["CIDEr-D", "WordErrors"], sort_by="WordErrors")
    found = [stand(team, state="waiting") for team in ("worst", "tied", "also", "best")]
    for submission, value in zip(found, (0.9, 0.5, 0.5, 0.1), strict=True):
        result = Result.objects.create(
            submission=submission, reference_version=version(), metric="WordErrors", signature="toy"
        )
        Score.objects.create(result=result, subset="", name="WordErrors", value=value)
        Submission.objects.filter(pk=submission.pk).update(state="scored")
    Reported.objects.create(
        reference_set=version().reference_set,
        name="paper",
        title="Paper",
        ranked=True,
        rows=[
            {**dict.fromkeys(("method", "date", "url", "publication"), ""), "team": team, "scores": scores}
            for team, scores in (("far", {"WordErrors": 0.7}), ("near", {"WordErrors": 0.3}))
        ],
    )
    return found


def test_lower_scores_rank_first_if_they_are_better(phase: Phase, lower_is_better: list[Submission]) -> None:
    best = [("best", 1), ("also", 2), ("tied", 2), ("worst", 4)]
    worst = [("worst", 4), ("also", 2), ("tied", 2), ("best", 1)]
    for order, expected, direction in (("best", best, "ascending"), ("worst", worst, "descending")):
        board = current(phase, order=order)
        assert [(row.team, row.rank) for row in board.rows] == expected
        answer = Client().get(f"{API}&order={order}").json()
        assert [(row["team"], row["rank"]) for row in answer["rows"]] == expected
        reported = [(entry["team"], entry["rank"]) for entry in answer["reported"]]
        assert reported == [("near", 2), ("far", 4)][:: 1 if order == "best" else -1]
        text = Client().get(f"{API}&order={order}&format=csv").content.decode()
        table = [(row["team"], int(row["rank"])) for row in csv.DictReader(io.StringIO(text))]
        assert table[:4] == expected
        page = Client().get(f"{PAGE}&order={order}").content.decode()
        assert re.findall(r'aria-sort="(\w+)"><a[^>]*>([\w-]+)<', page) == [(direction, "WordErrors")]
        for (team, rank), row in zip(expected, rows_of_page(page), strict=True):
            assert f"<bdi>{team}</bdi>" in row
            assert f'<td class="rank number">{rank}</td>' in row


def test_other_scores_of_the_same_board_rank_the_highest_first(
    phase: Phase, lower_is_better: list[Submission]
) -> None:
    for submission, value in zip(lower_is_better, (1.0, 2.0, 3.0, 4.0), strict=True):
        result = Result.objects.create(submission=submission, reference_version=version(), metric="CIDEr-D")
        Score.objects.create(result=result, subset="", name="CIDEr-D", value=value)
    assert [(row.team, row.rank) for row in current(phase, sort_by="CIDEr-D").rows] == [
        ("best", 1), ("also", 2), ("tied", 3), ("worst", 4),
    ]  # fmt: skip


def test_a_submission_is_placed_above_those_with_higher_scores(
    phase: Phase, lower_is_better: list[Submission]
) -> None:
    submission = Submission.objects.get(pk=lower_is_better[-1].pk)
    (placing,) = placings(submission, score_tables(submission), timezone.now())
    assert (placing.comparison, placing.worse) == ("lower", 3)
    page = Client().get(f"/submissions/{submission.pk}/").content.decode()
    assert "its WordErrors is lower than that of 3 of the 3 others on the leaderboard" in page
