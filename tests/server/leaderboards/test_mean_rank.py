"""Mean ranks: the mean of a row's ranks by the scores that the organizers chose."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase, Split
from capeval_server.hosting.services import final_results
from capeval_server.hosting.services.description import to_toml
from capeval_server.hosting.services.reported_scores import add_reported, reference_set
from capeval_server.leaderboards.mean_ranks import MeanRanks, RankedScore
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard, places
from capeval_server.submissions.models import Submission
from tests.server.boards import around, baseline, score, stand
from tests.server.kit import Someone
from tests.server.pages import check_page

db = pytest.mark.django_db
PAGE = "/small/open/?split=val&references=c2"
API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
CHOSEN = {"scores": ["BLEU-1", "CIDEr-D"], "references": ["c2"], "mean_rank": ["BLEU-1", "CIDEr-D"]}
# Rank, team and mean rank. D has no BLEU-1, but has a rank by CIDEr-D.
ROWS = [(1, "b", 1.5), (2, "a", 2.5), (2, "c", 2.5), (4, "e", 3.5), (None, "d", None), (None, "human", None)]


def test_means_and_reported_places() -> None:
    """The lower of the second score is better; the reported row moves the rows behind it."""
    found = MeanRanks(
        [
            RankedScore(name="up", higher_is_better=True, values=[3.0, 2.0, 2.0, None]),
            RankedScore(name="down", higher_is_better=False, values=[3.0, 1.0, 2.0, 0.5]),
        ]
    )
    assert found.values == [2.5, 2.0, 2.5, None]
    # 2 and 1 are better by the first score, and 0.5 by the second: ranks 1 and 2.
    assert found.place_reported({"up": 4.0, "down": 0.7}) == (1.5, 1)
    assert found.place_reported({"up": 2.0, "down": 2.0}) == (2.5, 2)
    assert found.place_reported({"up": 2.0}) is None


@pytest.fixture
def board(phase: Phase) -> Phase:
    """Five teams, two of them with equal mean ranks and one without a mean rank, and a human baseline."""
    Split.objects.update(columns=CHOSEN)
    for team, cider, bleu in (("a", 0.9, 0.1), ("b", 0.8, 0.4), ("c", 0.7, 0.3), ("d", 0.6, None)):
        _add(team, cider, bleu)
    _add("e", 0.5, 0.3)
    baseline(0.95)
    return phase


def _add(team: str, cider: float, bleu: float | None) -> None:
    made = stand(team, cider, samples=around(cider))
    if bleu is not None:
        score(made, {"BLEU-1": bleu}, samples=around(bleu))


def _seen(query: str = "") -> list[tuple[int | None, str, float | None]]:
    rows = Client().get(API + query).json()["rows"]
    return [(row["rank"], row["team"], row["scores"]["Mean rank"]) for row in rows]


@db
def test_a_board_opens_in_the_order_of_mean_ranks(board: Phase) -> None:
    found = Client().get(API).json()
    assert (found["sort_by"], found["columns"]) == ("Mean rank", ["Mean rank", "BLEU-1", "CIDEr-D"])
    assert found["mean_rank_scores"] == ["BLEU-1", "CIDEr-D"]
    assert _seen() == ROWS
    assert [team for _, team, _ in _seen("&order=worst")] == ["e", "a", "c", "b", "d", "human"]
    assert {row["p_value"] for row in found["rows"]} == {None}
    # Other orders show the same means with their own ranks, and have tests.
    by_score = Client().get(f"{API}&sort_by=CIDEr-D").json()["rows"]
    assert [row["team"] for row in by_score] == ["human", "a", "b", "c", "d", "e"]
    assert [row["scores"]["Mean rank"] for row in by_score] == [None, 2.5, 1.5, 2.5, None, 3.5]
    assert by_score[1]["p_value"] is not None
    assert [place.entrant for place in places(build_query(board, references="c2"))] == [
        row[1] for row in ROWS
    ]
    text = Client().get(f"{API}&format=csv").content.decode()
    assert [line["Mean rank"] for line in csv.DictReader(io.StringIO(text))] == [
        "1.5", "2.5", "2.5", "3.5", "", "",
    ]  # fmt: skip
    # A subset and a layout of subsets have no mean ranks, and are sorted by the ranking score.
    for query in ("&subset=animals", "&layout=both"):
        assert Client().get(API + query).json()["sort_by"] == "CIDEr-D"
        assert Client().get(f"{API}{query}&sort_by=Mean rank").status_code == 422


@db
def test_the_page_explains_mean_ranks(board: Phase) -> None:
    answer = Client().get(PAGE)
    page = answer.content.decode()
    check_page(page, answer.headers["Content-Security-Policy"])
    assert "sorted by Mean rank" in page
    assert "ranks on all images by BLEU-1 and CIDEr-D. A lower mean rank is better." in page
    assert "There is no significance test of mean ranks, so ≈ is not shown in this order." in page
    assert page.count("≈") == 1
    assert "95% interval</th>" not in page
    assert ">1.50<" in page
    (by_cider,) = {
        each for each in re.findall(r'href="(/small/open/\?[^"]*)"', page) if "sort_by=CIDEr" in each
    }
    sorted_page = Client().get(by_cider.replace("&amp;", "&")).content.decode()
    assert "sorted by CIDEr-D" in sorted_page
    assert "does not differ significantly" in sorted_page
    assert "no significance test of mean ranks" not in sorted_page
    # All links of both pages work.
    for address in set(
        re.findall(r'href="(/(?:api/challenges|small/open)/[^"]*\?[^"]*)"', page + sorted_page)
    ):
        assert Client().get(address.replace("&amp;", "&")).status_code == 200, address
    assert "BLEU-1, CIDEr-D" in Client().get("/small/data/").content.decode()


@db
def test_reported_rows_have_hypothetical_mean_ranks(board: Phase, challenge: Challenge) -> None:
    data = b"team,CIDEr-D,BLEU-1\nX,0.75,0.35\nY,0.99,\n"
    place = reference_set(challenge, "val", "c2")
    for ranked, expected in (
        (True, [("X", 2, 2.5), ("Y", None, None)]),
        (False, [("X", None, None), ("Y", None, None)]),
    ):
        add_reported(None, place, "paper", "paper.csv", data, title="Paper", url="", ranked=ranked)
        reported = Client().get(API).json()["reported"]
        assert [(row["team"], row["rank"], row["scores"]["Mean rank"]) for row in reported] == expected
    assert _seen() == ROWS


@db
def test_final_results_keep_the_chosen_scores(board: Phase, olga: Someone) -> None:
    Phase.objects.update(closes=timezone.now())
    final_results.make_final(olga.user, Phase.objects.select_related("challenge").get())
    assert _seen() == ROWS
    Split.objects.update(columns={**CHOSEN, "mean_rank": ["CIDEr-D", "METEOR"]})
    Submission.objects.filter(team__name="b").update(mark="hidden")
    assert _seen() == ROWS
    assert Client().get(API).json()["mean_rank_scores"] == ["BLEU-1", "CIDEr-D"]


@db
def test_queries_do_not_grow_with_rows(board: Phase) -> None:
    counts = []
    for number in range(2):
        with CaptureQueriesContext(connection) as caught:
            leaderboard(build_query(board, references="c2"))
        counts.append(len(caught))
        for row in range(5):
            _add(f"more-{number}-{row}", 0.4 + row / 10, 0.2)
    assert counts[0] == counts[1]


@db
def test_an_organizer_chooses_the_scores(challenge: Challenge, olga: Someone) -> None:
    place = "/small/organize/leaderboards/val/"
    seen = olga.see(place).partition('name="seen" value="')[2].partition('"')[0]
    chosen: dict[str, Any] = {
        "references": ["c2", "c1"],
        "scores": ["CIDEr-D"],
        "judgments": ["M1"],
        "mean_rank": ["BLEU-4", "CIDEr-D"],
    }
    page = olga.do(place, seen=seen, **{**chosen, "mean_rank": ["BLEU-4"]}, status=422).content.decode()
    assert "must list at least 2 scores (got 1)" in page
    olga.do(place, seen=seen, **chosen)
    assert Split.objects.get().columns == {**chosen, "subsets": []}
    assert 'mean_rank = [\n    "BLEU-4",\n    "CIDEr-D",\n]' in to_toml(challenge)
    # Without chosen scores, the column ends.
    seen = olga.see(place).partition('name="seen" value="')[2].partition('"')[0]
    olga.do(place, seen=seen, **{**chosen, "mean_rank": []})
    assert Client().get(API).json()["sort_by"] == "CIDEr-D"
