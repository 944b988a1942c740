"""Results of a running campaign: numbers computed in other ways, on the page, as CSV and by the API."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

import capeval
from capeval.formats.judgments.human_scores import load_human_scores
from capeval.formats.judgments.plans import get_plan_paths, load_plan, load_votes
from capeval.studies.judging.intervals import create_share_interval
from capeval.studies.judging.worker_models import fit_dawid_skene, fit_mace, gather_answers
from capeval.studies.votes import count_votes
from capeval.toolkit import unescape_cell
from capeval_server.accounts.models import Token
from capeval_server.annotation.models import Assignment, Campaign, Response
from capeval_server.annotation.releases.current_results import (
    ALL,
    CampaignNumber,
    CampaignResults,
    get_results,
    render_results,
)
from capeval_server.annotation.releases.result_files import write_results
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.worker_summaries import summarize_workers
from capeval_server.challenges.models import Challenge
from capeval_server.core.svg_plots import theme_named
from capeval_server.web.campaigns.result_tables import build_plot, list_plotted
from tests.server.annotation.test_results import (
    SYSTEMS,
    by_preference,
    campaign_of,
    judged,
    rated_by,
    triplets,
    votes_of_many,
    work_all,
)
from tests.server.campaigns import answer, hold, join, make
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


def numbers(results: CampaignResults, table: str, **wanted: str) -> dict[str, CampaignNumber]:
    """The rows of a table with some values, by name and other name."""
    rows = [row for row in results.select(table) if all(getattr(row, k) == v for k, v in wanted.items())]
    found = {f"{row.name} {row.other}".strip(): row for row in rows}
    assert len(found) == len(rows)
    return found


def see(campaign: Campaign, place: str = "") -> str:
    staff = Someone(f"staff{User.objects.count()}", is_staff=True)
    sent = staff.client.get(f"/campaigns/{campaign.slug}/results{place or '/'}")
    assert sent.status_code == 200
    assert "no-store" in sent.headers["Cache-Control"]
    text: str = sent.content.decode()
    if not place:
        check_page(text, sent.headers["Content-Security-Policy"])
    return text


def test_triplets_while_the_campaign_runs(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    assert "No counted answers yet" in see(campaign)
    (worker, other) = join(campaign, 2)
    work_all(worker, by_preference)
    results = get_results(campaign)
    items = campaign.items.filter(repeats=None).count()
    assert (results.answers, results.items, results.workers) == (items, items, 1)
    # All prefer "good" to "poor": in all pairs of the two.
    (row,) = numbers(results, "wins", category="MM").values()
    assert (row.name, row.other, row.value, row.units) == ("good", "poor", 1.0, 3)
    images = create_share_interval(np.ones(3), np.ones(3), 0.95)
    assert (row.low, row.high) == (images.low, images.high)
    assert all(row.name != row.other for row in results.select("wins"))
    # Nobody answered an item twice, so that there is no agreement, and four images have no intervals.
    assert results.select("agreement") == []
    assert any("on enough images for intervals" in note for note in results.notes)
    answers = Response.objects.filter(filled_slot__isnull=False).values_list("answer", flat=True)
    choices = Counter(one["choice"] for one in answers)
    shares = numbers(results, "choices", category="all")
    assert {name: row.answers for name, row in shares.items()} == choices
    assert shares["first"].value == pytest.approx(choices["first"] / items)
    assert shares["first"].units == 4
    work_all(other, by_preference)
    later = get_results(campaign)
    assert later.answers == 2 * items
    # They agree on all, and both choices occur in all but the pairs of two human captions.
    alphas = {row.category: row.value for row in later.select("agreement")}
    assert alphas == {"HC": None, "HI": 1.0, "HM": 1.0, "MM": 1.0, "all": 1.0}
    assert "Metrics and people" in see(campaign)


def test_accuracy_of_metrics_is_that_of_their_scores() -> None:
    captions = {
        "1": ("a dog runs", "a cat", "a dog runs fast"),
        "2": ("two cats", "a red bus", "one red bus"),
    }
    lines = [
        {
            "key": key, "group": key, "category": kind, "reference": reference, "image_id": key,
            "first": first, "second": second, "first_by": "a", "second_by": "b",
        }
        for key, kind, (first, second, reference) in zip("12", ("x", "y"), captions.values(), strict=True)
    ]  # fmt: skip
    campaign = campaign_of("triplet", lines, answers=1)
    (worker,) = join(campaign)
    work_all(worker, lambda held: {"choice": "right" if held.mirrored else "left"})
    results = get_results(campaign)
    references = {key: [reference] for key, (*_, reference) in captions.items()}
    scored = [
        capeval.evaluate(
            references, {key: each[place] for key, each in captions.items()}, metrics=["CIDEr-D"]
        ).per_image["CIDEr-D"]
        for place in (0, 1)
    ]
    agree = (scored[0] > scored[1]).tolist()
    assert agree == [True, False]
    for category, value in {"x": 1.0, "y": 0.0, "all": 0.5}.items():
        assert numbers(results, "metrics", category=category)["CIDEr-D"].value == value
    assert any("The references are those of the triplets" in note for note in results.notes)


def test_pairs_have_the_references_of_the_challenge(challenge: Challenge) -> None:
    images = [str(image) for image in challenge.splits.get(name="val").image_ids]
    lines = [{"key": key, "group": key, "image_id": key, "first": "a dog", "second": "zzz"} for key in images]
    campaign = campaign_of("pairwise", lines, answers=1)
    (worker,) = join(campaign)
    work_all(worker, lambda held: {"choice": "right" if held.mirrored else "left"})
    alone = get_results(campaign)
    assert alone.select("metrics") == []
    assert any("no reference set of the campaign's challenge covers" in note for note in alone.notes)
    campaign.challenge = challenge
    campaign.save()
    results = get_results(campaign)
    assert any("The references are val " in note for note in results.notes)
    assert numbers(results, "metrics", category="all")["BLEU-1"].units == len(images)


@pytest.mark.parametrize("kind", ["m1", "m3"])
def test_ratings_are_those_of_the_files(tmp_path: Path, kind: str) -> None:
    campaign = judged(kind, rated_by(kind))
    results = get_results(campaign)
    write_results(campaign, tmp_path)
    expected = {score.system: score for score in load_human_scores(tmp_path / "human.csv")}
    found = numbers(results, "systems")
    assert set(found) == set(SYSTEMS) == set(expected)
    for name, row in found.items():
        score = expected[name]
        assert (row.value, row.low, row.high) == pytest.approx((score.value, score.low, score.high))
        assert (row.units, row.answers) == (4, 12)
    assert sum(row.answers or 0 for row in results.select("choices")) == 36
    page = see(campaign)
    assert f"Systems: {kind.upper()}" in page
    assert "<svg" in see(campaign, f"/plot.svg?question={kind.upper()}")
    staff = Someone("other", is_staff=True)
    assert staff.client.get(f"/campaigns/{campaign.slug}/results/plot.svg?question=x").status_code == 404


def test_wins_and_strengths(tmp_path: Path) -> None:
    campaign = votes_of_many("pairwise", tmp_path)
    results = get_results(campaign)
    wins, strengths = (numbers(results, "systems", question=name) for name in ("wins", "Bradley-Terry"))
    assert set(wins) == set(strengths)
    best = max(wins, key=lambda name: wins[name].value or 0)
    assert best == max(strengths, key=lambda name: strengths[name].value or 0)
    assert sum(row.value or 0 for row in strengths.values()) == pytest.approx(0)


def test_a_share_of_wins_has_one_interval_and_is_shown_once() -> None:
    # On half of the images, both pairs are won: 24 pairs are not 24 independent cases.
    lines = [
        {
            "key": f"{image}-{pair}", "group": f"{image}-{pair}", "image_id": str(image), "category": "MM",
            "first": "a dog", "second": "a cat", "first_by": "ours", "second_by": "theirs",
        }
        for image in range(12) for pair in range(2)
    ]  # fmt: skip
    campaign = campaign_of("pairwise", lines, answers=1)
    (worker,) = join(campaign)

    def choose(held: Assignment) -> dict[str, str]:
        first_wins = int(held.item.payload["image_id"]) % 2 == 0
        return {"choice": "left" if first_wins != held.mirrored else "right"}

    work_all(worker, choose)
    results = get_results(campaign)
    score = numbers(results, "systems", question="wins")["ours"]
    (row,) = results.select("wins")
    assert (row.name, row.other, row.value, row.units) == ("ours", "theirs", 0.5, 24)
    assert (row.value, row.low, row.high) == (score.value, score.low, score.high)
    page = see(campaign)
    assert "Systems: wins" in page
    assert "Wins between systems" not in page


def test_captions_and_a_rejection() -> None:
    campaign = make("write", items=2, answers=2)
    for number, worker in enumerate(join(campaign, 2)):
        for _ in range(2):
            answer(hold(worker), ["a cart in a street.", "A cart in a street"][number])
    rows = numbers(get_results(campaign), "captions")
    found = {name: row.value for name, row in rows.items()}
    assert (found["captions"], found["images with captions"], found["different captions"]) == (4, 2, 1)
    assert (found["words"], found["different words"], found["mean words per caption"]) == (20, 4, 5.0)
    page = see(campaign)
    assert "mean words per caption" in page
    assert "4 of 4 required answers" in page
    reviewer = Someone("reviewer", is_staff=True)
    rejected = Response.objects.select_related("participation__worker").order_by("pk")[0]
    moderation.review(reviewer.user, rejected, "rejected", reason="nonsense")
    assert numbers(get_results(campaign), "captions")["captions"].value == 3


def test_csv_and_api_have_the_same_numbers(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    (worker,) = join(campaign)
    work_all(worker, by_preference)
    results = get_results(campaign)
    text = see(campaign, ".csv")
    assert text == render_results(results)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [unescape_cell(row["name"]) for row in rows] == [row.name for row in results.rows]
    staff, eve = Someone("api", is_staff=True), Someone("eve")
    place = f"/api/campaigns/{campaign.slug}/results"

    def ask(who: Someone, query: str = "") -> Any:
        token = Token.issue(who.user.pk, f"{query} token", "organize")
        return Client(headers={"Authorization": f"Bearer {token}"}).get(place + query)

    sent = ask(staff).json()
    assert sent["answers"] == results.answers
    assert [tuple(row.values()) for row in sent["rows"]] == [tuple(row) for row in results.rows]
    assert ask(staff, "?format=csv").content.decode() == text
    assert ask(eve).status_code == 404
    assert ask(staff, "?format=xml").status_code == 422


def test_questions_without_an_interval_have_no_plot() -> None:
    known = CampaignNumber("systems", "wins", ALL, "a", "", 0.5, 0.4, 0.6, 9, 9)
    rows = (known, known._replace(question="M1", low=None, high=None))
    results = CampaignResults(answers=9, items=9, workers=1, rows=rows, notes=())
    assert list_plotted(results, "systems") == {"wins"}
    for question, has_plot in (("wins", True), ("M1", False)):
        drawn = build_plot(results, "systems", question, theme_named(""), narrow=False)
        assert (drawn is not None) == has_plot


def test_winners_by_count_and_by_models(tmp_path: Path) -> None:
    lines = [{"key": str(n), "group": str(n), "system": f"s{n % 2}", "caption": "a dog"} for n in range(40)]
    campaign = campaign_of("m2", lines, answers=5)
    workers = join(campaign, 5)
    careless = Random(3)

    def choose(held: Assignment) -> dict[str, str]:
        # Two workers are always right and two answer at random. On four items, these and the fifth err.
        number, who = int(held.item.key), workers.index(held.participation)
        is_hard = number in (3, 10, 21, 32)
        wrong = (who >= 2 and is_hard) or (who >= 3 and careless.random() < 0.5)
        return {"choice": ("person", "machine")[(number % 2) ^ wrong]}

    for worker in workers:
        work_all(worker, choose)
    results = get_results(campaign)
    write_results(campaign, tmp_path)
    with (tmp_path / "winners.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["item"]: row for row in csv.DictReader(file)}
    assert list(rows) == [line["key"] for line in lines]
    truth = {str(n): ("person", "machine")[n % 2] for n in range(40)}
    assert [key for key, row in rows.items() if row["winner"] != truth[key]] == ["3", "10", "21", "32"]
    assert (rows["3"]["question"], rows["3"]["answers"], rows["3"]["counts"]) == (
        "M2",
        "5",
        "person 3, machine 2",
    )
    # The models trust the careful workers more.
    assert {key: row["dawid_skene"] for key, row in rows.items()} == truth
    assert {key: row["mace"] for key, row in rows.items()} == truth
    answers = gather_answers(
        (one.item.key, str(one.participation_id), one.answer["choice"])
        for one in Response.objects.select_related("item").order_by("pk")
    )
    estimates = {
        "dawid_skene": fit_dawid_skene(answers, one_coin=True).truth,
        "mace": fit_mace(answers).truth,
    }
    for name, truths in estimates.items():
        for key, probabilities in zip(answers.questions, truths, strict=True):
            found = float(rows[str(key)][f"{name}_probability"])
            assert found == pytest.approx(probabilities.max(), abs=1e-3)
    assert [each.item for each in results.disputed] == ["3", "10", "21", "32"]
    shares = {name: row.value for name, row in numbers(results, "winners").items()}
    assert shares == {"with a winner": 1.0, "same by Dawid-Skene": 0.9, "same by MACE": 0.9}
    # All captions of s0 are by people, and none of s1: but by the counts of answers.
    values = {name: row.value for name, row in numbers(results, "models").items()}
    assert values == {"s0 Dawid-Skene": 1.0, "s0 MACE": 1.0, "s1 Dawid-Skene": 0.0, "s1 MACE": 0.0}
    counted = {name: row.value for name, row in numbers(results, "systems").items()}
    assert counted == {"s0": 0.9, "s1": 0.1}
    page = see(campaign)
    assert "Winners that depend on the model" in page
    assert "By MACE" in page


def test_models_find_the_careless_worker_when_one_system_is_always_first() -> None:
    lines = [
        {
            "key": str(n),
            "image": "",
            "first": f"good {n}",
            "second": f"bad {n}",
            "first_by": "a",
            "second_by": "b",
        }
        for n in range(8)
    ]
    campaign = campaign_of("pairwise", lines, 5)
    workers = join(campaign, 3)
    for worker in workers[:2]:
        work_all(worker, lambda held: {"choice": "right" if held.mirrored else "left"})
    work_all(workers[2], lambda _: {"choice": "left"})
    results = get_results(campaign)
    values = {name: row.value for name, row in numbers(results, "models", question="wins").items()}
    assert values == {
        f"{system} {model}": won
        for system, won in (("a", 1.0), ("b", 0.0))
        for model in ("Dawid-Skene", "MACE")
    }
    careful, other, careless = sorted(summarize_workers(campaign), key=lambda one: one.participation.pk)
    assert careful.competence
    assert other.competence
    assert careless.competence
    assert careful.competence[0] == other.competence[0] > 0.95
    assert careless.competence[0] < 0.05


def test_winners_of_pairs_are_those_of_the_votes(tmp_path: Path) -> None:
    campaign = triplets(tmp_path)
    for worker in join(campaign, 3):
        work_all(worker, by_preference)
    out = tmp_path / "out"
    write_results(campaign, out)
    with (out / "winners.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    plan = load_plan(*get_plan_paths(out))
    counted = count_votes(plan, load_votes(out / "votes.csv", plan))
    pairs = {row["pair"]: row for row in rows if not row["item"]}
    assert {int(number): row["winner"] for number, row in pairs.items()} == {
        number: {1: "first", -1: "second", 0: ""}[int(won)]
        for number, won in zip(counted.numbers, counted.winners, strict=True)
    }
    # Everybody agrees, so the models do.
    assert all(row["winner"] == row["dawid_skene"] == row["mace"] for row in rows)
    assert len(rows) == len(pairs) + campaign.items.filter(repeats=None).count()
    results = get_results(campaign)
    assert results.disputed == ()
    assert numbers(results, "winners", category="all")["with a winner"].units == len(pairs)
    assert "Winners: triplet" in see(campaign)
