"""Overview of a split: scores by several reference sets, subsets and human judgments in one leaderboard."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from capeval_server.annotation.releases import release_files
from capeval_server.challenges.models import Challenge, Phase, ReferenceVersion, Split
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services import final_results
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import to_toml
from capeval_server.hosting.services.reported_scores import add_reported, reference_set
from capeval_server.leaderboards import ranking
from capeval_server.leaderboards.judgments import list_judgments
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.submissions.models import Submission
from tests.server.annotation.test_human_columns import judged
from tests.server.boards import score, stand, version
from tests.server.kit import Someone, write_challenge
from tests.server.pages import check_page
from tests.shared_data import shared_data

pytestmark = pytest.mark.django_db

PAGE = "/small/open/"
API = "/api/challenges/small/phases/open/leaderboard"
LABELS = ["BLEU-1 (c2)", "CIDEr-D (c2)", "BLEU-1 (c1)", "CIDEr-D (c1)"]


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": tmp_path / "files"}
    settings.STORAGES = {**settings.STORAGES, "default": {**settings.STORAGES["default"], "OPTIONS": options}}


def of(name: str) -> ReferenceVersion:
    return version(name)


def two_sets(team: str, private: float, public: float) -> Submission:
    """A submission with scores by the private c2 and the public c1."""
    made = stand(team, private)
    score(made, {"BLEU-1": private / 3}, of=of("c2"))
    score(made, {"CIDEr-D": public, "BLEU-1": public / 3}, of=of("c1"))
    return made


@pytest.fixture
def boarded(phase: Phase) -> tuple[Submission, Submission]:
    """Two submissions: the first is better by c2, the second by c1."""
    Split.objects.update(columns={"scores": ["BLEU-1", "CIDEr-D"]})
    return two_sets("a", 0.91234567, 0.1), two_sets("b", 0.8, 0.212345678)


def rows_of_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_both_sets_stand_side_by_side(boarded: tuple[Submission, Submission]) -> None:
    found = Client().get(API).json()
    assert (found["layout"], found["references"], found["columns"]) == ("chosen", "c2", LABELS)
    first, second = found["rows"]
    assert [row["team"] for row in (first, second)] == ["a", "b"]
    # Private scores are rounded, and public ones are not.
    assert first["scores"] == {
        "BLEU-1 (c2)": 0.304,
        "CIDEr-D (c2)": 0.912,
        "BLEU-1 (c1)": 0.1 / 3,
        "CIDEr-D (c1)": 0.1,
    }
    assert second["scores"]["CIDEr-D (c1)"] == 0.212345678
    by_c1 = Client().get(f"{API}?references=c1&sort_by=CIDEr-D").json()
    assert [row["team"] for row in by_c1["rows"]] == ["b", "a"]
    assert by_c1["rows"][1]["scores"]["CIDEr-D (c2)"] == 0.912
    (line, _) = rows_of_csv(Client().get(f"{API}?format=csv").content.decode())
    assert (line["CIDEr-D (c2)"], line["CIDEr-D (c1)"]) == ("0.912", "0.1")
    answer = Client().get(PAGE)
    text = answer.content.decode()
    check_page(text, answer.headers["Content-Security-Policy"])
    assert re.findall(r'class="above">([^<]*)<', text) == ["References c2", "References c1"]
    assert "0.9123" not in text
    # Headings of both groups sort.
    assert "references=c1" in text
    assert Client().get(f"{PAGE}?split=val&references=c1&sort_by=BLEU-1").status_code == 200
    # Each score of one set is still there.
    assert Client().get(f"{API}?layout=scores").json()["columns"][0] == "BLEU-1"


def test_columns_keep_their_order_when_another_one_sorts(boarded: tuple[Submission, Submission]) -> None:
    for query, sorting in (("", "CIDEr-D"), ("?sort_by=BLEU-1", "BLEU-1"), ("?references=c1", "CIDEr-D")):
        page = Client().get(f"{PAGE}{query}").content.decode()
        assert re.findall(r'class="above">([^<]*)<', page) == ["References c2", "References c1"]
        heads = re.findall(r'<th scope="col"\s+class="number"([^>]*)><a href="[^"]*">([^<]*)<', page)
        assert [name for _, name in heads] == ["BLEU-1", "CIDEr-D"] * 2
        # Only the sorting column is marked.
        assert [name for mark, name in heads if "aria-sort" in mark] == [sorting]
        assert ("aria-sort" in heads[2][0] or "aria-sort" in heads[3][0]) == ("c1" in query)


def test_columns_of_subsets_sort_the_overview(boarded: tuple[Submission, Submission]) -> None:
    Split.objects.update(columns={"scores": ["CIDEr-D"], "subsets": ["animals"]})
    score(boarded[0], {"CIDEr-D": 0.3}, of=of("c2"), subset="animals")
    score(boarded[1], {"CIDEr-D": 0.4}, of=of("c2"), subset="animals")
    page = Client().get(PAGE).content.decode()
    assert re.findall(r'class="above">([^<]*)<', page) == ["CIDEr-D, c2", "CIDEr-D, c1"]
    (address,) = (
        each
        for each in re.findall(r'href="(/small/open/\?[^"]*)"', page)
        if "subset=animals" in each and "references=c2" in each and "layout=chosen" in each
    )
    sorted_page = Client().get(address.replace("&amp;", "&")).content.decode()
    assert re.findall(r'class="above">([^<]*)<', sorted_page) == ["CIDEr-D, c2", "CIDEr-D, c1"]
    assert sorted_page.index("<bdi>b</bdi>") < sorted_page.index("<bdi>a</bdi>")


def test_sorting_by_a_subset_keeps_the_columns_and_reported_rows(
    boarded: tuple[Submission, Submission],
) -> None:
    Split.objects.update(
        columns={
            "references": ["c2"],
            "scores": ["CIDEr-D", "BLEU-1"],
            "subsets": ["animals"],
            "mean_rank": ["CIDEr-D", "BLEU-1"],
        }
    )
    for made, value in zip(boarded, (0.3, 0.4), strict=True):
        score(made, {"CIDEr-D": value, "BLEU-1": value / 2}, of=of("c2"), subset="animals")
    table = b"team,CIDEr-D,BLEU-1,CIDEr-D (animals)\nfirst,0.5,0.2,0.1\nsecond,0.4,0.1,0.2\nthird,0.3,,\n"
    references = reference_set(Challenge.objects.get(), "val", "c2")
    add_reported(None, references, "paper", "p.csv", table, title="A paper", url="", ranked=False)
    whole = Client().get(API).json()
    by_animals = Client().get(f"{API}?subset=animals&sort_by=CIDEr-D&layout=chosen").json()
    assert by_animals["columns"] == whole["columns"]
    mean_ranks = {"a": 1.0, "b": 2.0}
    for found in (whole, by_animals):
        assert {row["team"]: row["scores"]["Mean rank"] for row in found["rows"]} == mean_ranks
    assert [row["team"] for row in by_animals["rows"]] == ["b", "a"]
    # Rows without a score of the subset come last.
    assert [row["team"] for row in by_animals["reported"]] == ["second", "first", "third"]
    page = Client().get(f"{PAGE}?subset=animals&layout=chosen").content.decode()
    assert re.findall(r'class="above">([^<]*)<', page) == ["Mean rank", "CIDEr-D", "BLEU-1"]
    assert "Reported elsewhere" in page
    links = [each.replace("&amp;", "&") for each in re.findall(r'number"[^>]*><a href="([^"]*)"', page)]
    assert len(links) == 5
    for link in links:
        shown = Client().get(link).content.decode()
        assert shown.count('class="above"') == 3, link
    # All scores of one subset: only the rows with one of them.
    of_animals = Client().get(f"{API}?subset=animals").json()
    assert of_animals["layout"] == "scores"
    assert [row["team"] for row in of_animals["reported"]] == ["second", "first"]


def test_without_a_choice_all_sets_can_be_shown(phase: Phase) -> None:
    two_sets("a", 0.9, 0.1)
    assert Client().get(API).json()["layout"] == "scores"
    found = Client().get(f"{API}?layout=chosen").json()
    assert {"CIDEr-D (c1)", "CIDEr-D (c2)", "ROUGE-L (c1)"} <= set(found["columns"])
    assert "overview" in Client().get(PAGE).content.decode()


def test_the_human_baselines_of_both_sets_are_one_row(boarded: tuple[Submission, Submission]) -> None:
    for name, value in (("c2", 0.5), ("c1", 0.6)):
        references = of(name).reference_set
        human = Submission.objects.create(baseline_of=references, algorithm="human", state="scored")
        score(human, {"CIDEr-D": value}, of=of(name))
    for asked in ("", "?references=c1"):
        rows = [row for row in Client().get(f"{API}{asked}").json()["rows"] if row["baseline"]]
        assert [(row["scores"]["CIDEr-D (c2)"], row["scores"]["CIDEr-D (c1)"]) for row in rows] == [
            (0.5, 0.6)
        ]
    # A change of the other set's baseline shows at once.
    other = Submission.objects.get(baseline_of=of("c1").reference_set)
    Submission.objects.filter(pk=other.pk).update(mark="")
    from capeval_server.submissions.models import Score

    Score.objects.filter(result__submission=other).update(value=0.7)
    other.save()
    (row,) = [row for row in Client().get(API).json()["rows"] if row["baseline"]]
    assert row["scores"]["CIDEr-D (c1)"] == 0.7


def test_final_results_keep_both_sets(boarded: tuple[Submission, Submission]) -> None:
    before = Client().get(API).json()["rows"]
    ended = timezone.now() - timedelta(days=1)
    Phase.objects.update(opens=ended - timedelta(days=1), closes=ended)
    final_results.make_final(None, Phase.objects.select_related("challenge").get())
    found = Client().get(API).json()
    assert found["final"]
    assert [row["scores"] for row in found["rows"]] == [row["scores"] for row in before]


def test_the_definition_chooses_the_columns(tmp_path: Path) -> None:
    path = write_challenge(tmp_path)
    text = path.read_text()
    table = '[splits.columns]\nreferences = ["c1"]\nscores = ["CIDEr", "BLEU-4"]\n'
    table += 'subsets = ["animals"]\njudgments = ["M1"]\nmean_rank = ["CIDEr", "METEOR"]\n'
    path.write_text(text.replace("[[phases]]", f"{table}\n[[phases]]"))
    challenge = import_challenge(path)
    split = challenge.splits.get()
    assert split.columns == {
        "references": ["c1"],
        "scores": ["CIDEr-D", "BLEU-4"],
        "subsets": ["animals"],
        "judgments": ["M1"],
        "mean_rank": ["CIDEr-D", "METEOR"],
    }
    assert "scores = [" in to_toml(challenge)
    board = leaderboard(build_query(Phase.objects.select_related("challenge").get(), references="c1"))
    assert board.columns[0] == "Mean rank"
    assert board.columns[1:] == ["CIDEr-D (all)", "CIDEr-D (animals)", "BLEU-4 (all)", "BLEU-4 (animals)"]
    for wrong, message in (
        ('references = ["c9"]', "'columns.references' must be"),
        ('scores = ["SPICE"]', "'columns.scores' must be"),
        ('subsets = ["cars"]', "'splits.val.columns.subsets' must be"),
        ("scores = []", "scores"),
        ('scores = ["BLEU-1", "BLEU-1"]', "unique"),
        ('mean_rank = ["BLEU-1", "SPICE"]', "'columns.mean_rank' must be"),
        ('mean_rank = ["BLEU-1"]', r"columns\.mean_rank: must list at least 2 scores \(got 1\)"),
    ):
        path.write_text(text.replace("[[phases]]", f"[splits.columns]\n{wrong}\n\n[[phases]]"))
        with pytest.raises(ChallengeError, match=message):
            import_challenge(path)


def judged_by_people(
    challenge: Challenge, found: Mapping[str, Submission], kind: str, values: Mapping[str, str]
) -> None:
    campaign, _ = judged(challenge, kind, values)
    campaign.systems = {name: str(submission.pk) for name, submission in found.items()}
    campaign.save()
    release_files.freeze(None, campaign, "1.0")


@pytest.fixture
def people(challenge: Challenge, phase: Phase) -> dict[str, Submission]:
    """Five submissions that people rated; they disagree with CIDEr-D on one pair."""
    found = {f"team-{number}": two_sets(f"team-{number}", number / 10, 0.5) for number in range(1, 6)}
    values = {
        "Human": "5",
        "Random": "1",
        "team-1": "1",
        "team-2": "3",
        "team-3": "2",
        "team-4": "4",
        "team-5": "5",
    }
    judged_by_people(challenge, found, "m3", values)
    return found


def test_judgments_are_columns(people: dict[str, Submission], phase: Phase) -> None:
    found = Client().get(API).json()
    assert found["columns"][-1] == "M3"
    (source,) = found["judgments"]
    assert (source["column"], source["release"], source["measures"]) == (
        "M3",
        "1.0",
        "mean correctness, 1 to 5",
    )
    assert [(row["team"], row["scores"]["M3"]) for row in found["rows"]] == [
        ("team-5", 5.0), ("team-4", 4.0), ("team-3", 2.0), ("team-2", 3.0), ("team-1", 1.0),
    ]  # fmt: skip
    first = found["rows"][0]
    assert (first["judgments"]["M3"]["images"], first["judgments"]["M3"]["votes"]) == (4, 12)
    low, high = first["intervals"]["M3"]
    assert low <= 5.0 <= high
    by_people = Client().get(f"{API}?sort_by=M3").json()["rows"]
    assert [(row["rank"], row["team"]) for row in by_people] == [
        (1, "team-5"), (2, "team-4"), (3, "team-2"), (4, "team-3"), (5, "team-1"),
    ]  # fmt: skip
    # The tests are those of the release, also in the reverse order and with all digits.
    p_values = {
        each.system: each.p_value for each in list_judgments(phase.splits.get())[0].differences.values()
    }
    # Random, which is not on the leaderboard, is between the last two.
    assert [row["p_value"] for row in by_people] == [
        *(p_values[team] for team in ("team-5", "team-4", "team-2")), None, None,
    ]  # fmt: skip
    assert {row["test"] for row in by_people[:3]} == {"bootstrap"}
    worst = Client().get(f"{API}?sort_by=M3&order=worst").json()["rows"]
    assert [row["p_value"] for row in worst[:4]] == [row["p_value"] for row in by_people[3::-1]]
    page = Client().get(f"{PAGE}?sort_by=M3").content.decode()
    tied = [row["team"] for row in by_people if row["differs_from_next"] is False]
    assert 0 < len(tied) == page.count("not distinguishable from the next row (p =")
    assert "their M3 does not differ significantly (paired bootstrap over images, p > 0.05)" in page
    # Nothing is claimed if a judged system between two rows is not on the leaderboard.
    Submission.objects.filter(pk=people["team-2"].pk).update(mark="hidden")
    by_people = Client().get(f"{API}?sort_by=M3").json()["rows"]
    assert [row["p_value"] is None for row in by_people] == [False, True, True, True]
    Submission.objects.filter(pk=people["team-2"].pk).update(mark="")
    line = rows_of_csv(Client().get(f"{API}?format=csv&sort_by=M3&order=worst").content.decode())[0]
    assert (line["team"], line["M3"], line["M3 images"], line["M3 votes"]) == ("team-1", "1.0", "4", "12")
    for address in (PAGE, f"{PAGE}?sort_by=M3", f"{PAGE}?split=val&references=c2&sort_by=M3&order=worst"):
        answer = Client().get(address)
        text = answer.content.decode()
        check_page(text, answer.headers["Content-Security-Policy"])
        assert "Judged by people" in text
        assert "n 4, " in text
        assert 'href="/small/judgments/"' in text
    assert "<svg" in Client().get("/small/open/plot.svg?split=val&references=c2&sort_by=M3").content.decode()
    assert Client().get("/small/open/cite/?split=val&references=c2&sort_by=M3").status_code == 200
    # Judgments cover no subsets.
    assert Client().get(f"{API}?sort_by=M3&subset=animals").status_code == 422
    assert Client().get(f"{PAGE}?sort_by=M3&layout=both").status_code == 404
    detail = Client().get("/small/judgments/").content.decode()
    assert f'href="/submissions/{people["team-5"].pk}/"' in detail


def test_judgments_before_a_release_are_unknown(people: dict[str, Submission]) -> None:
    before = (timezone.now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert "M3" not in Client().get(f"{API}?as_of={before}").json()["columns"]


def test_metrics_are_compared_with_people(
    people: dict[str, Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = [one for one in Client().get(API).json()["agreement"] if one["metric"] == "CIDEr-D"]
    assert (found["judgment"], found["systems"], found["reported"]) == ("M3", 5, False)
    # Nine of ten pairs have the same order.
    assert found["kendall"] == pytest.approx(0.8)
    assert found["kendall_low"] < 0.8 < found["kendall_high"]
    assert found["pearson"] == pytest.approx(0.9)
    text = Client().get(PAGE).content.decode()
    assert "Agreement of metrics with people" in text
    # The agreement is of the whole leaderboard, on each of its pages.
    monkeypatch.setattr(ranking, "PAGE", 3)
    pages = [Client().get(f"{API}?page={number}").json() for number in (1, 2)]
    assert [len(page["rows"]) for page in pages] == [3, 2]
    assert pages[0]["agreement"] == pages[1]["agreement"] != []
    assert "Agreement of metrics" not in Client().get(f"{PAGE}?page=2").content.decode()
    Submission.objects.filter(pk=people["team-1"].pk).update(stands=False)
    assert Client().get(API).json()["agreement"] == []
    assert "Agreement of metrics" not in Client().get(PAGE).content.decode()


def test_a_hidden_submission_shows_no_judgments(people: dict[str, Submission]) -> None:
    Submission.objects.filter(pk=people["team-5"].pk).update(mark="hidden")
    assert "team-5" not in Client().get(API).content.decode()
    assert "team-5" not in Client().get(f"{API}?sort_by=M3").content.decode()


def test_published_judgments_are_shown(phase: Phase, challenge: Challenge) -> None:
    data = (shared_data("coco_2015") / "cap_challenge2015.json").read_bytes()
    rows, ignored = add_reported(
        None, reference_set(challenge, "val", "c2"), "judged-2015", "cap_challenge2015.json", data,
        title="COCO challenge 2015", url="", ranked=False,
    )  # fmt: skip
    assert (rows, ignored) == (17, [])
    stand("ours", 0.5)
    found = Client().get(f"{API}?sort_by=M1").json()
    published = {row["team"]: row["scores"] for row in found["reported"]}
    assert len(published) == 17
    assert list(published)[:2] == ["Human", "Google"]
    assert (published["Google"]["M1"], published["Google"]["M3"]) == (0.273, 4.107)
    assert (published["Google"]["points"], published["MSR"]["points"]) == (9.0, 9.0)
    assert published["Human"]["points"] is None
    text = Client().get(PAGE).content.decode()
    assert "0.273" in text
    assert ">points<" in text
    lines = rows_of_csv(Client().get(f"{API}?format=csv").content.decode())
    assert {line["team"]: line["M5"] for line in lines}["MSR"] == "0.234"


def test_the_published_boards_of_coco_are_one_table(phase: Phase, challenge: Challenge) -> None:
    Split.objects.update(columns={"scores": ["BLEU-4", "METEOR", "CIDEr-D"]})
    for name, file in (("c2", "cap_c5"), ("c1", "cap_c40"), ("c2", "cap_challenge2015")):
        data = (shared_data("coco_2015") / f"{file}.json").read_bytes()
        place = reference_set(challenge, "val", name)
        add_reported(None, place, file.replace("_", "-"), file, data, title=file, url="", ranked=False)
    found = Client().get(API).json()
    # All 80 rows of c40, and 11 of the 17 judged rows, have a row of c5 with the same method and date.
    assert len(found["reported"]) == 80 + 6
    captivator = next(row for row in found["reported"] if row["team"] == "MSR Captivator")
    assert {name: captivator["scores"][name] for name in ("CIDEr-D (c2)", "CIDEr-D (c1)", "M1")} == {
        "CIDEr-D (c2)": 0.931,
        "CIDEr-D (c1)": 0.937,
        "M1": 0.25,
    }
    agreement = {(one["metric"], one["judgment"]): one for one in found["agreement"]}
    cider = agreement["CIDEr-D (c2)", "M1"]
    assert cider["reported"]
    assert cider["systems"] == 10
    assert -1 < cider["kendall_low"] < cider["kendall"] < cider["kendall_high"] < 1
    page = Client().get(PAGE).content.decode()
    assert "Agreement of metrics with people: scores reported elsewhere" in page


def test_rows_reported_for_both_sets_are_one_row(
    boarded: tuple[Submission, Submission], challenge: Challenge
) -> None:
    for name, value in (("c2", 0.9), ("c1", 0.8)):
        text = f"team,method,CIDEr-D\nGoogle,NIC,{value}\nMSR,,{value / 2}\n"
        add_reported(
            None, reference_set(challenge, "val", name), "paper", "paper.csv", text.encode(),
            title="Paper", url="", ranked=False,
        )  # fmt: skip
    found = Client().get(API).json()["reported"]
    assert [(row["team"], row["scores"]["CIDEr-D (c2)"], row["scores"]["CIDEr-D (c1)"]) for row in found] == [
        ("Google", 0.9, 0.8),
        ("MSR", 0.45, 0.4),
    ]


def test_an_organizer_chooses_the_columns(challenge: Challenge, phase: Phase, olga: Someone) -> None:
    place = "/small/organize/leaderboards/val/"
    page = olga.see(place)
    assert "animals" in page
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    chosen: dict[str, Any] = {
        "references": ["c2", "c1"],
        "scores": ["CIDEr-D"],
        "subsets": ["animals"],
        "judgments": ["M1"],
    }
    olga.do(place, seen=seen, **{**chosen, "scores": ["nothing"]}, status=422)
    olga.do(place, seen=seen, **chosen)
    assert Split.objects.get().columns == chosen
    assert json.dumps(Client().get(API).json()["columns"]).count("CIDEr-D") == 4
    olga.do(place, seen=seen, **chosen, status=409)
    Someone("nobody").see(place, status=404)
