"""Subsets side by side on a leaderboard, as nocaps shows its domains; small ones have no private scores."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Split
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.selectors.score_disclosure import small_groups, unscored_subsets
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.leaderboards.query import build_query
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.scoring import storage
from tests.server.boards import score, stand
from tests.server.kit import Participant, write_challenge
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

BOARD = "/small/open/?split=val&references=c2"
API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
SUBSETS = ["CIDEr-D (all)", "CIDEr-D (animals)", "CIDEr-D (things)"]


@pytest.fixture
def boarded(phase: Phase) -> Phase:
    """Two submissions: the first is better on all images, the second on animals."""
    for team, whole, animals, things in (("a", 0.9, 0.2, 0.5), ("b", 0.8, 0.4, None)):
        submission = stand(team, whole)
        score(submission, {"METEOR": whole / 2})
        for subset, value in (("animals", animals), ("things", things)):
            if value is not None:
                score(submission, {"CIDEr-D": value, "METEOR": value / 2}, subset=subset)
    return phase


def rows(html: str) -> list[list[str]]:
    """The texts of the table's cells, by rows."""
    found = re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in found]
    return [[" ".join(re.sub(r"<[^>]*>", " ", unescape(cell)).split()) for cell in row] for row in cells]


def test_one_score_of_each_subset(boarded: Phase) -> None:
    found = Client().get(f"{API}&layout=subsets").json()
    assert (found["layout"], found["columns"]) == ("subsets", SUBSETS)
    first, second = found["rows"]
    assert (first["team"], list(first["scores"].values())) == ("a", [0.9, 0.2, 0.5])
    assert (second["team"], list(second["scores"].values())) == ("b", [0.8, 0.4, None])
    assert first["intervals"]["CIDEr-D (animals)"] == [pytest.approx(0.1), pytest.approx(0.3)]
    by_animals = Client().get(f"{API}&layout=subsets&subset=animals").json()
    assert [row["team"] for row in by_animals["rows"]] == ["b", "a"]
    assert [row["rank"] for row in by_animals["rows"]] == [1, 2]


def test_each_score_of_each_subset(boarded: Phase) -> None:
    found = Client().get(f"{API}&layout=both&sort_by=METEOR").json()
    assert len(found["columns"]) == 3 * len(build_query(boarded, split="val").columns)
    assert found["rows"][0]["scores"]["METEOR (animals)"] == 0.1
    assert found["rows"][0]["scores"]["BLEU-1 (all)"] is None


def test_csv_has_the_same_columns(boarded: Phase) -> None:
    text = Client().get(f"{API}&layout=subsets&format=csv").content.decode()
    first, _ = csv.DictReader(io.StringIO(text))
    assert [first[name] for name in SUBSETS] == ["0.9", "0.2", "0.5"]


def test_the_page_sorts_by_any_column(boarded: Phase) -> None:
    answer = Client().get(f"{BOARD}&layout=subsets")
    html = answer.content.decode()
    check_page(html, answer.headers["Content-Security-Policy"])
    assert "sorted by CIDEr-D of all images, best first" in html
    head, *lines = rows(html)
    assert [text for text in head if text] == [
        "Rank",
        "Team and method",
        "all images",
        "95% interval",
        "animals",
        "things",
    ]
    assert [[text for text in line if text][:2] for line in lines] == [["1", "a a"], ["2", "b a"]]
    (link,) = re.findall(r'<a href="([^"]*)">animals</a></th>', html)
    by_animals = Client().get(unescape(link)).content.decode()
    assert "sorted by CIDEr-D of subset animals, best first" in by_animals
    assert by_animals.index(">b</bdi></a>") < by_animals.index(">a</bdi></a>")
    # Other scores by the same columns.
    (other,) = re.findall(r'<a href="([^"]*)">METEOR</a></li>', html)
    assert "sorted by METEOR of all images" in Client().get(unescape(other)).content.decode()


def test_the_page_groups_subsets_by_score(boarded: Phase) -> None:
    html = Client().get(f"{BOARD}&layout=both&sort_by=METEOR&subset=things").content.decode()
    above, head, *lines = rows(html)
    # The columns keep their order, and the sorting one has its interval.
    assert [text for text in above if text][:2] == ["BLEU-1", "BLEU-2"]
    spans = [int(span) for span in re.findall(r'scope="colgroup"\s+colspan="(\d+)"', html)]
    assert sum(spans) == len(head) - 2
    assert all(len(line) == len(head) for line in lines)
    assert html.count("aria-sort") == 1


def test_a_layout_that_does_not_exist(boarded: Phase) -> None:
    assert Client().get(f"{BOARD}&layout=x").status_code == 404
    assert Client().get(f"{API}&layout=x").status_code == 422


def test_a_citation_keeps_the_columns(boarded: Phase) -> None:
    html = (
        Client().get(f"/small/open/cite/{BOARD.removeprefix('/small/open/')}&layout=subsets").content.decode()
    )
    assert "layout=subsets" in html


def test_queries_do_not_grow_with_rows(boarded: Phase) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            Client().get(f"{BOARD}&layout=both")
        return len(queries)

    few = count()
    for number in range(5):
        stand(f"more {number}", 0.1 * number)
    assert count() == few


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The small challenge, without scores of private references for subsets of fewer than three images."""
    path = write_challenge(tmp_path)
    path.write_text(path.read_text().replace("least_subset = 1", "least_subset = 3"))
    return path


def subsets_of(submission: Submission, references: str) -> set[str]:
    found = Score.objects.filter(
        result__submission=submission, result__reference_version__reference_set__name=references
    )
    return set(found.values_list("subset", flat=True))


def test_private_references_score_no_small_subset(path: Path) -> None:
    challenge = import_challenge(path)
    submission = Participant("ann").scored(stands=True)
    assert subsets_of(submission, "c1") == {"", "animals", "things"}
    assert subsets_of(submission, "c2") == {"", "things"}
    assert Client().get(f"{API}&subset=animals").status_code == 404
    assert Client().get(f"{API}&layout=subsets").json()["columns"] == [SUBSETS[0], SUBSETS[2]]
    assert ">animals</a>" not in Client().get(BOARD).content.decode()
    # The other references are public.
    public = Client().get(API.replace("c2", "c1") + "&layout=subsets").json()
    assert public["columns"] == SUBSETS
    expected = "subset animals of split val by references c2: fewer than 3 images"
    assert unscored_subsets(challenge) == [expected]
    assert [name for name, _ in small_groups(challenge)] == ["split val", "subset things of split val"]


def test_what_becomes_private_loses_its_small_subsets(path: Path) -> None:
    import_challenge(path)
    submission = Participant("ann").scored()
    path.write_text(path.read_text().replace("public = true", "public = false"))
    import_challenge(path)
    assert subsets_of(submission, "c1") == {"", "things"}


def test_scores_that_were_deleted_are_remembered_by_no_leaderboard(path: Path) -> None:
    definition = path.read_text()
    import_challenge(path)
    Participant("ann").scored(stands=True)
    address = API.replace("c2", "c1") + "&layout=subsets"
    (row,) = Client().get(address).json()["rows"]
    assert None not in row["scores"].values()
    for text in (definition.replace("public = true", "public = false"), definition):
        path.write_text(text)
        import_challenge(path)
    (row,) = Client().get(address).json()["rows"]
    assert [name for name, score in row["scores"].items() if score is None] == ["CIDEr-D (animals)"]


def test_references_that_become_private_while_they_are_scored(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_challenge(path)

    def changed_meanwhile(*given: object) -> None:
        ReferenceSet.objects.update(public=False)
        storage.write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("capeval_server.submissions.jobs.write", changed_meanwhile)
    assert subsets_of(Participant("ann").scored(), "c1") == {"", "things"}


def test_the_least_size_stays_once_there_are_submissions(path: Path) -> None:
    import_challenge(path)
    assert Split.objects.get().least_subset == 3
    Participant("ann").submitted()
    path.write_text(path.read_text().replace("least_subset = 3", "least_subset = 1"))
    with pytest.raises(ChallengeError, match="least_subset of split 'val' can't change"):
        import_challenge(path)


def test_by_default_it_is_a_hundred(path: Path) -> None:
    path.write_text(path.read_text().replace("least_subset = 3\n", ""))
    import_challenge(path)
    assert Split.objects.get().least_subset == 100
    assert Challenge.objects.get().splits.get().reference_sets.get(name="c2").scored_subsets() == {}
