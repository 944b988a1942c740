"""Exports of counted answers: files that the library reads, with the same results per system."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from django.test import Client

from capeval.cli.app import app
from capeval.data.captions import ImageId
from capeval.errors import OptionError
from capeval.formats.judgments.human_scores import load_human_differences, load_human_scores
from capeval.formats.judgments.plans import get_plan_paths, load_plan, load_votes, write_plan
from capeval.studies.judging import JudgingOptions
from capeval.studies.plan import PlanOptions, plan_study
from capeval.studies.votes import count_votes
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.definition import read_items
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Assignment, Campaign, Participation, TextVersion
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.judgments import CountedJudgments
from capeval_server.annotation.releases.result_files import plan_items, write_results
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.review.moderation import block
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers import enrollment
from capeval_server.core.errors import CampaignError
from tests.server.campaigns import STUDY, given, join

pytestmark = pytest.mark.django_db
WORDS = ("dog", "cat", "bus", "boat")
CAPTIONS: dict[ImageId, list[str]] = {
    number: [f"a {word}", f"the {word} here", f"one {word}", f"a {word} in a field"]
    for number, word in enumerate(WORDS)
}
MACHINES: dict[str, dict[ImageId, str]] = {
    "good": {number: f"a {word} on grass" for number, word in enumerate(WORDS)},
    "poor": {number: f"some {word}" for number, word in enumerate(WORDS)},
}
Chooser = Callable[[Assignment], Mapping[str, str]]


def campaign_of(kind: str, lines: list[dict[str, Any]], answers: int = 3) -> Campaign:
    """An open campaign with these items, as its file has them. Images are of no matter here."""
    task = task_named(kind)
    made = Campaign.objects.create(
        slug=f"judge-{kind}",
        title="A campaign",
        kind=kind,
        settings=CampaignOptions.of_kind(kind, answers=answers, check_every=0, **STUDY).model_dump(),
    )
    TextVersion.objects.create(campaign=made, number=1, instructions="# Work")
    needed = {"image": "picture.jpg"} if task.needs_image else {}
    read = read_items("items.jsonl", [json.dumps({**line, **needed}).encode() for line in lines], task)
    add_items(made, [replace(item, image="") for item in read], answers)
    return lifecycle.change_state(None, made, "open")


def work_all(worker: Participation, choose: Chooser) -> int:
    """Answers all that a worker can get."""
    number = 0
    while held := assignment.assign_work(worker).assignments:
        for one in held:
            submit.submit(one, given(dict(choose(one)), seconds=4))
            number += 1
    return number


def triplets(tmp_path: Path) -> Campaign:
    counts = {"HC": 3, "HI": 3, "HM": 4, "MM": 3}
    write_plan(plan_study(CAPTIONS, MACHINES, counts, PlanOptions(judgments=3, seed=2)), tmp_path)
    return campaign_of("triplet", list(plan_items(load_plan(*get_plan_paths(tmp_path)), "triplet")))


def by_preference(held: Assignment) -> Mapping[str, str]:
    """The side of the candidate that the simulated electorate likes more, wherever it is shown."""
    order = {"human": 3, "good": 2, "poor": 1, "other": 0}
    payload = held.item.payload
    wanted = "first" if order[payload["first_by"]] >= order[payload["second_by"]] else "second"
    shown = task_named(held.item.campaign.kind).shown(payload, mirrored=held.mirrored)
    return {"choice": "left" if shown["left"] == payload[wanted] else "right"}


def study(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_a_plan_goes_through_a_campaign_and_comes_back(tmp_path: Path) -> None:
    plan_folder, out = tmp_path / "plan", tmp_path / "out"
    plan_folder.mkdir()
    campaign = triplets(plan_folder)
    for worker in join(campaign, 3):
        work_all(worker, by_preference)
    paths = write_results(campaign, out)
    assert [path.name for path in paths] == ["pairs.csv", "triplets.csv", "votes.csv", "winners.csv"]
    # The plan is the one that was imported, to the byte, so its own votes fit it too.
    for mine, theirs in zip(get_plan_paths(out), get_plan_paths(plan_folder), strict=True):
        assert mine.read_bytes() == theirs.read_bytes()
    plan = load_plan(*get_plan_paths(out))
    counted = count_votes(plan, load_votes(out / "votes.csv", plan))
    assert counted.incomplete == ()
    order = {"human": 3, "good": 2, "poor": 1, "other": 0}
    expected = [1 if order[pair.first_by or ""] >= order[pair.second_by or ""] else -1 for pair in plan.pairs]
    assert counted.winners.tolist() == expected
    assert "Agreement" in study("votes", out, out / "votes.csv")


def test_each_candidate_is_left_in_half_of_the_votes_of_a_pair(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    for worker in join(campaign, 3):
        work_all(worker, by_preference)
    left: dict[str, Counter[str]] = {}
    for held in Assignment.objects.filter(item__campaign=campaign).select_related("item"):
        shown = "second" if held.mirrored else "first"
        left.setdefault(held.item.group, Counter())[shown] += 1
    assert len(left) == 13
    for counts in left.values():
        assert abs(counts["first"] - counts["second"]) <= 1


def test_votes_of_mirrored_displays_count_for_the_right_candidate(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    # These workers always choose the left side, so each candidate gets half of the votes.
    for worker in join(campaign, 3):
        work_all(worker, lambda held: {"choice": "left"})
    out = tmp_path / "out"
    write_results(campaign, out)
    plan = load_plan(*get_plan_paths(out))
    votes = load_votes(out / "votes.csv", plan)
    sums: Counter[int] = Counter()
    for triplet, answers in zip(plan.triplets, votes, strict=True):
        sums[triplet.pair] += sum(answers)
    assert set(sums) == set(range(13))
    assert all(abs(total) <= 1 for total in sums.values())
    with (out / "votes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["mirrored"] for row in rows} == {"0", "1"}
    assert {row["seconds"] for row in rows} == {"4"}
    assert len({row["worker"] for row in rows}) == 3


def test_excluded_answers_are_in_no_file(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    workers = join(campaign, 3)
    for worker in workers:
        work_all(worker, by_preference)
    block(None, workers[0], "a robot")
    out = tmp_path / "out"
    write_results(campaign, out)
    with (out / "votes.csv").open(newline="") as file:
        names = {row["worker"] for row in csv.DictReader(file)}
    assert names == {worker.worker.pseudonym for worker in workers[1:]}


def test_pairwise_votes_come_out(tmp_path: Path) -> None:
    write_plan(plan_study(CAPTIONS, MACHINES, {"MM": 4, "HM": 2}, PlanOptions(seed=2)), tmp_path)
    plan = load_plan(*get_plan_paths(tmp_path))
    campaign = campaign_of("pairwise", list(plan_items(plan, "pairwise")), answers=2)
    for worker in join(campaign, 2):
        work_all(worker, by_preference)
    out = tmp_path / "out"
    # Four images are too few for intervals of win rates.
    names = [path.name for path in write_results(campaign, out)]
    assert names == ["pairs.csv", "pair_votes.csv", "winners.csv"]
    shown = study("votes", out, out / "pair_votes.csv", "--pairwise", "--judgments", 2)
    assert "good" in shown
    with (out / "pair_votes.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 12
    with pytest.raises(OptionError, match="'kind' must be one of triplet, pairwise"):
        list(plan_items(plan, "m1"))


SYSTEMS = ("Human", "ours", "Random")


def judged(kind: str, choose: Chooser) -> Campaign:
    texts = {"candidate": "a dog", "human": "one dog"} if kind in ("m1", "m5") else {"caption": "a dog"}
    lines = [
        {"key": f"{system}-{image}", "group": str(image), "system": system, **texts}
        for system in SYSTEMS
        for image in range(4)
    ]
    campaign = campaign_of(kind, lines)
    for worker in join(campaign, 3):
        work_all(worker, choose)
    return campaign


@pytest.mark.parametrize(
    ("kind", "answers", "values"),
    [
        ("m2", {"Human": "person", "ours": "machine", "Random": "machine"}, (1.0, 0.0, 0.0)),
        ("m3", {"Human": "5", "ours": "4", "Random": "1"}, (5.0, 4.0, 1.0)),
        ("m4", {"Human": "3", "ours": "2", "Random": "4"}, (3.0, 2.0, 4.0)),
        ("m5", {"Human": "yes", "ours": "yes", "Random": "no"}, (1.0, 1.0, 0.0)),
    ],
)
def test_answers_become_columns(
    tmp_path: Path, kind: str, answers: dict[str, str], values: tuple[float, ...]
) -> None:
    campaign = judged(kind, lambda held: {"choice": answers[held.item.payload["system"]]})
    write_results(campaign, tmp_path, release="first")
    shown = study(
        "judging",
        f"{kind.upper()}={tmp_path / f'ratings-{kind}.csv'}",
        *([f"M3={tmp_path / 'ratings-m4.csv'}"] if kind == "m4" else []),
    )
    assert "Random" in shown
    scores = {score.system: score for score in load_human_scores(tmp_path / "human.csv")}
    assert tuple(scores[system].value for system in SYSTEMS) == values
    for score in scores.values():
        assert (score.images, score.votes, score.workers, score.release) == (4, 12, 3, "first")
        assert score.low <= score.value <= score.high
        assert score.question == kind.upper()


def test_better_is_the_candidate_s_wherever_it_stands() -> None:
    def choose(held: Assignment) -> Mapping[str, str]:
        # Everybody likes the candidate of "ours", finds Human's equal, and Random's worse.
        candidate, other = ("right", "left") if held.mirrored else ("left", "right")
        return {"choice": {"ours": candidate, "Human": "equal", "Random": other}[held.item.payload["system"]]}

    campaign = judged("m1", choose)
    judgments = CountedJudgments(campaign)
    values = judgments.ratings()["M1"].values
    # In the order of the items' keys: Human, Random, ours.
    assert values.tolist() == [[0] * 3] * 4 + [[-1] * 3] * 4 + [[1] * 3] * 4
    assert {held.mirrored for held in Assignment.objects.all()} == {True, False}
    columns = judgments.columns(JudgingOptions(samples=20))
    scores = {score.system: score.value for score in judgments.scores(columns)}
    assert scores == {"ours": 1.0, "Human": 1.0, "Random": 0.0}


# The answers of one worker about Human, ours and Random, in this order.
ANSWERS = {
    "m1": ("better", "equal", "worse"),
    "m2": ("person", "machine", "machine"),
    "m3": ("5", "3", "1"),
    "m4": ("5", "3", "1"),
    "m5": ("yes", "no", "no"),
    "rating": ("5", "3", "1"),
}
THUMB = {"recall": "1", "fluency": "0.5", "conciseness": "0.5", "inclusive": "0.5"}


def rated_by(kind: str) -> Chooser:
    def choose(held: Assignment) -> Mapping[str, str]:
        wanted = ANSWERS[kind][SYSTEMS.index(held.item.payload["system"])]
        if kind == "rating":
            return {"precision": wanted, **THUMB}
        if kind != "m1" or wanted == "equal":
            return {"choice": wanted}
        return {"choice": "left" if (wanted == "better") != held.mirrored else "right"}

    return choose


@pytest.mark.parametrize("kind", list(ANSWERS))
def test_ratings_of_a_release_are_numbers_for_every_reader(tmp_path: Path, settings: Any, kind: str) -> None:
    settings.RELEASES = tmp_path / "releases"
    release = release_files.freeze(None, judged(kind, rated_by(kind)), "1.0")
    assert release_files.verify(release)
    paths = {
        path.stem.removeprefix("ratings-"): path for path in release_files.folder_of(release).glob("rat*.csv")
    }
    assert sorted(paths) == (["p", "r", "thumb"] if kind == "rating" else [kind])
    for question, path in paths.items():
        table = pd.read_csv(path)
        raters = [name for name in table.columns if name.startswith("rating")]
        assert len(raters) == 3
        assert all(pd.api.types.is_numeric_dtype(table[name]) for name in raters)
        means = table.groupby("system")[raters].mean().mean(axis=1)
        assert means["Random"] <= means["ours"] <= means["Human"]
        assert question != "m1" or means.to_dict() == {"Human": 1, "ours": 0, "Random": -1}
    names = {"thumb": "THumB"}
    files = [f"{names.get(question, question.upper())}={path}" for question, path in paths.items()]
    assert "Random" in study("judging", *files, *([f"M3={paths['m4']}"] if kind == "m4" else []))


def answer_by_api(campaign: Campaign, token: str) -> None:
    """Answers M1: the candidate is better, equal or worse by its number."""
    client = Client(headers={"Authorization": f"Bearer {token}"})
    place = f"/api/annotate/{campaign.slug}"

    def post(path: str, content: dict[str, Any]) -> Any:
        answer = client.post(f"{place}/{path}", json.dumps(content), "application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    post("agree", {"texts": 1})
    while items := post("next", {})["items"]:
        for item in items:
            (side,) = (side for side in ("left", "right") if item["shown"][side].startswith("a "))
            other = "left" if side == "right" else "right"
            choice = {"a dog": side, "a cat": "equal", "a bus": other}[item["shown"][side]]
            sent = {"answer": {"choice": choice}, "key": item["lease"]}
            assert post(f"items/{item['lease']}/answer", sent)["outcome"] == "stored"


def test_worse_than_a_person_s_caption_survives_from_the_answer_to_the_study(
    tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES = tmp_path / "releases"
    captions = {"Human": "a dog", "ours": "a cat", "Random": "a bus"}
    lines = [
        {"key": f"{name}-{image}", "group": str(image), "system": name, "candidate": text, "human": "one dog"}
        for name, text in captions.items()
        for image in range(4)
    ]
    campaign = campaign_of("m1", lines)
    for token in enrollment.invite(None, campaign, 3):
        answer_by_api(campaign, token)
    path = release_files.folder_of(release_files.freeze(None, campaign, "1.0")) / "ratings-m1.csv"
    done = capeval("judging", f"M1={path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert shares(done.stdout) == {"Human": "1.000", "ours": "1.000", "Random": "0.000"}
    # The same file as an early version wrote it.
    early = tmp_path / "ratings-m1.csv"
    early.write_text(path.read_text().replace(",-1", ",'-1"))
    assert early.read_text().count("'-1") == 12
    again = capeval("judging", f"M1={early}")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    (note,) = again.stderr.splitlines()
    assert note.startswith(f"capeval: warning: {early}: 12 ratings begin with an apostrophe (first in line ")


def capeval(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "capeval", "study", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shares(shown: str) -> dict[str, str]:
    """The value of each system in the table of a study."""
    rows = [line.split() for line in shown.splitlines() if line.startswith(SYSTEMS)]
    return {row[0]: row[1] for row in rows}


def votes_of_many(kind: str, tmp_path: Path) -> Campaign:
    captions: dict[ImageId, list[str]] = {
        image: [f"a dog number {image} {person}" for person in range(4)] for image in range(12)
    }
    machines: dict[str, dict[ImageId, str]] = {
        name: {image: f"{name} says {image}" for image in captions} for name in ("good", "poor")
    }
    counts = {"HC": 2, "HI": 12, "HM": 24, "MM": 12}
    write_plan(plan_study(captions, machines, counts, PlanOptions(judgments=2, seed=2)), tmp_path)
    plan = load_plan(*get_plan_paths(tmp_path))
    campaign = campaign_of(kind, list(plan_items(plan, kind)), answers=2)
    for worker in join(campaign, 2):
        work_all(worker, by_preference)
    return campaign


@pytest.mark.parametrize("kind", ["triplet", "pairwise"])
def test_votes_say_how_often_each_system_wins(tmp_path: Path, kind: str) -> None:
    campaign = votes_of_many(kind, tmp_path)
    names = [path.name for path in write_results(campaign, tmp_path / "out", release="first")]
    assert names[-2:] == ["human.csv", "differences.csv"]
    scores = load_human_scores(tmp_path / "out" / "human.csv")
    wins = {score.system: score for score in scores if score.question == "wins"}
    # The order of preference: people, good, poor, captions of other images.
    assert {name: score.value for name, score in wins.items()} == {
        "Human": 1.0,
        "good": 0.5,
        "poor": 0.0,
        "Random": 0.0,
    }
    assert {score.workers for score in scores} == {2}
    assert {score.release for score in scores} == {"first"}
    strengths = [score.value for score in scores if score.question == "Bradley-Terry"]
    assert len(strengths) == 4
    assert strengths == sorted(strengths, reverse=True)
    differences = load_human_differences(tmp_path / "out" / "differences.csv")
    of_wins = {(each.system, each.next): each.p_value for each in differences if each.question == "wins"}
    assert of_wins["Human", "good"] < 0.05
    last = [p_value for pair, p_value in of_wins.items() if set(pair) == {"poor", "Random"}]
    assert last == [1.0]


def test_ratings_are_those_of_thumb(tmp_path: Path) -> None:
    answer = {"precision": "5", "recall": "3", "fluency": "0.1", "conciseness": "0", "inclusive": "0"}
    campaign = judged("rating", lambda held: answer)
    names = [path.name for path in write_results(campaign, tmp_path)]
    ratings = ["ratings-p.csv", "ratings-r.csv", "ratings-thumb.csv"]
    assert names == [*ratings, "winners.csv", "human.csv", "differences.csv"]
    values = {score.question: score.value for score in load_human_scores(tmp_path / "human.csv")}
    assert values == pytest.approx({"P": 5.0, "R": 3.0, "THumB": 3.9})


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    with pytest.raises(CampaignError, match="judge-triplet has no counted answers yet"):
        write_results(campaign, tmp_path)
    campaign.kind = "write"
    with pytest.raises(CampaignError, match=r"the task type must be one of triplet, .* \(got 'write'\)"):
        write_results(campaign, tmp_path)


def test_who_gets_the_same_slot_of_each_item_sees_both_sides() -> None:
    lines = [{"key": str(key), "group": str(key), "first": "a dog", "second": "a cat"} for key in range(40)]
    campaign = campaign_of("pairwise", lines, answers=1)
    (worker,) = join(campaign)
    work_all(worker, lambda _: {"choice": "left"})
    mirrored = Assignment.objects.filter(participation=worker, mirrored=True).count()
    # By chance it is fewer than ten, or more than thirty, once in 500 seeds.
    assert 10 <= mirrored <= 30
