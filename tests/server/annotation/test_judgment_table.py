"""The table `judgments` of a release: each answer of the database, read back by other programs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from django.contrib.auth.models import User
from pyarrow import parquet

from capeval.formats.judgments.plans import get_plan_paths, load_pair_votes, load_pairs, load_plan, load_votes
from capeval.formats.judgments.ratings import load_ratings
from capeval.toolkit import unescape_cell
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.creation import add_items
from capeval_server.annotation.campaigns.definition import read_items
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Assignment, Campaign, Exclusion, Response, TextVersion
from capeval_server.annotation.releases import judgment_table, release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.releases.judgment_table import JudgmentRow
from capeval_server.annotation.responses import submit
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.task_types import TASKS, RatingResult, task_named
from tests.server.annotation.test_results import study, work_all
from tests.server.campaigns import given, hold, join, make

pytestmark = pytest.mark.django_db

TEXTS = (
    "=HYPERLINK(1)",
    "-1",
    "+1 dog",
    "@cat",
    "'=quoted",
    'a "b", c\nand d',
    "a\rb",
    "NA",
    "007",
    "＝1",  # noqa: RUF001 - some spreadsheets run it as a formula.
    "true",
    "\u00e9 \U0001f415",
)
# Keys and classes of items must be printable.
KEYS = [re.sub(r"[\n\r]", "|", text) for text in TEXTS]
NAMES = [field.name for field in fields(JudgmentRow)]


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES = tmp_path / "releases"


def about(number: int) -> tuple[str, str]:
    """Return the image and the system of an item."""
    return TEXTS[number // 3], TEXTS[5 + number % 3]


def lines_of(kind: str) -> list[dict[str, Any]]:
    """Return an item for each text, which is its key and a part of its captions: three systems per image."""
    lines = []
    for number, text in enumerate(TEXTS):
        line = {name: f"{text}{name}" for name in TASKS[kind].example if name != "keywords"}
        image, system = about(number)
        line |= {"system": system} if "system" in line else {}
        if kind in ("triplet", "pairwise"):
            line |= {"first_by": system, "second_by": "other", "group": str(number)}
        line |= {} if kind == "write" else {"image_id": image}
        lines.append({"key": KEYS[number], "category": KEYS[number], **line})
    return lines


def choose(kind: str, seed: int) -> Callable[[Assignment], Mapping[str, str]]:
    """Return answers that differ by worker and item; captions are the hostile texts."""

    def chosen(held: Assignment) -> Mapping[str, str]:
        number = seed + KEYS.index(held.item.key)
        if kind == "write":
            return {"caption": TEXTS[number % len(TEXTS)]}
        questions = TASKS[kind].choices.items()
        return {name: list(each.labels)[number % len(each.labels)] for name, each in questions}

    return chosen


def campaign_of(kind: str, number: int = len(TEXTS), **options: Any) -> Campaign:
    """Return an open campaign with some of the items, without pictures."""
    campaign = make(kind, items=0, **options)
    image = {"image": "picture.jpg"} if TASKS[kind].needs_image else {}
    lines = [json.dumps({**line, **image}).encode() for line in lines_of(kind)[:number]]
    items = [replace(item, image="") for item in read_items("items.jsonl", lines, TASKS[kind])]
    add_items(campaign, items, campaign.settings["answers"])
    return campaign


def answered(kind: str) -> Campaign:
    """Return a campaign whose items have two counted answers each."""
    campaign = campaign_of(kind, answers=2)
    for seed, worker in enumerate(join(campaign, 2)):
        work_all(worker, choose(kind, seed))
    return campaign


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    types = {"int": int, "float": float, "bool": {"true": True, "false": False}.__getitem__}
    types |= {"str": unescape_cell, "datetime": datetime.fromisoformat}
    parse: dict[str, Callable[[str], Any]] = {
        field.name: types[str(field.type).partition(" | ")[0]] for field in fields(JudgmentRow)
    }
    return [{name: parse[name](text) if text else None for name, text in row.items()} for row in rows]


def frozen_rows(release: Any) -> list[dict[str, Any]]:
    """Return the rows of a release, which all readers must agree on."""
    folder = release_files.folder_of(release)
    rows = read_csv(folder / "judgments.csv")
    assert parquet.read_table(folder / "judgments.parquet").to_pylist() == rows
    assert pl.read_parquet(folder / "judgments.parquet").to_dicts() == rows
    files = json.loads((folder / "manifest.json").read_bytes())["files"]
    assert {"judgments.csv", "judgments.parquet"} <= set(files)
    assert release_files.verify(release)
    return rows


def expected_answers(campaign: Campaign, response: Response) -> list[tuple[str, Any, Any]]:
    """Return question, choice and value of each judgment in a stored answer, written by hand."""
    answer, kind = response.answer, campaign.kind
    if kind == "write":
        return [("write", None, None)]
    if kind == "rating":
        parts = {name: float(answer[name]) for name in TASKS["rating"].choices}
        penalty = parts["fluency"] + parts["conciseness"] + parts["inclusive"]
        return [
            ("P", answer["precision"], parts["precision"]),
            ("R", answer["recall"], parts["recall"]),
            ("THumB", None, pytest.approx((parts["precision"] + parts["recall"]) / 2 - penalty)),
            *((name, answer[name], parts[name]) for name in ("fluency", "conciseness", "inclusive")),
        ]
    numbers = {"better": 1, "worse": -1, "equal": 0, "person": 1, "machine": 0, "yes": 1, "no": 0}
    numbers |= {"first": 1, "second": -1, **{str(number): number for number in range(1, 6)}}
    question = kind if kind in ("triplet", "pairwise") else kind.upper()
    return [(question, answer["choice"], numbers[answer["choice"]])]


@pytest.mark.parametrize("kind", list(TASKS))
def test_each_answer_of_the_database_is_in_the_table(kind: str) -> None:
    campaign = answered(kind)
    rows = frozen_rows(release_files.freeze(None, campaign, "1.0"))
    assert list(rows[0]) == NAMES
    by_answer: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_answer.setdefault(row["response"], []).append(row)
    found = {response.pk: response for response in Response.objects.select_related("item", "assignment")}
    assert set(by_answer) == set(found)
    for number, response in found.items():
        key, payload = response.item.key, response.item.payload
        image, system = (key, None) if kind == "write" else about(KEYS.index(key))
        judged = [(row["question"], row["choice"], row["value"]) for row in by_answer[number]]
        assert judged == expected_answers(campaign, response)
        for row in by_answer[number]:
            assert (row["item"], row["image_id"], row["category"]) == (key, image, key)
            assert row["system"] == system
            assert row["second_system"] == ("other" if kind in ("triplet", "pairwise") else None)
            first = response.answer["caption"] if kind == "write" else payload.get("caption")
            assert row["caption"] == (payload["first"] if first is None else first)
            assert row["second_caption"] == payload.get("second")
            assert row["reference"] == payload.get("reference")
            assert row["worker"] == response.participation.worker.pseudonym
            assert (row["batch"], row["place"]) == (response.assignment.batch, response.assignment.place)
            assert row["mirrored"] is response.assignment.mirrored
            assert (row["received"], row["browser_seconds"]) == (response.received, 4.0)
            assert (row["texts"], row["revision"], row["counted"], row["reason"]) == (1, 1, True, None)
    assert list(audit(campaign)) == []


@pytest.mark.parametrize("kind", [kind for kind in TASKS if kind != "write"])
def test_studies_read_the_same_judgments_as_from_their_own_files(kind: str) -> None:
    result = TASKS[kind].result
    campaign = answered(kind)
    folder = release_files.folder_of(release_files.freeze(None, campaign, "1.0"))
    for suffix in ("csv", "parquet"):
        table = folder / f"judgments.{suffix}"
        if isinstance(result, RatingResult):
            for question in result.questions:
                own = load_ratings(folder / f"ratings-{question.name.lower()}.csv")
                read = load_ratings(table, question=question.name)
                assert (read.image_ids, read.captions) == (own.image_ids, own.captions)
                assert (read.systems, read.values.tolist()) == (own.systems, pytest.approx(own.values))
        elif kind == "triplet":
            plan = load_plan(*get_plan_paths(folder))
            assert load_votes(table, plan) == load_votes(folder / "votes.csv", plan)
            assert study("votes", folder, table) == study("votes", folder, folder / "votes.csv")
        else:
            pairs = load_pairs(get_plan_paths(folder)[0])
            assert load_pair_votes(table, pairs) == load_pair_votes(folder / "pair_votes.csv", pairs)


@pytest.mark.parametrize("kind", ["m1", "write"])
def test_pandas_reads_the_csv_as_documented(kind: str) -> None:
    release = release_files.freeze(None, answered(kind), "1.0")
    folder = release_files.folder_of(release)
    page = (Path(__file__).parents[3] / "docs" / "server" / "annotation.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```py\n(import pandas as pd\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"folder": folder}
    exec(example, names)
    rows = frozen_rows(release)
    for table in (names["exact"], names["table"]):
        assert isinstance(table, pd.DataFrame)
        assert list(table.columns) == NAMES
        found = [
            {name: None if pd.isna(value) else value for name, value in row.items()}
            for row in table.astype(object).to_dict("records")
        ]
        assert found == rows


def reasons_of(release: Any) -> dict[int, tuple[bool, str | None]]:
    return {row["response"]: (row["counted"], row["reason"]) for row in frozen_rows(release)}


def test_answers_that_do_not_count_have_the_reason() -> None:
    campaign = campaign_of("m3", lines_of("m3")[:2], answers=1)
    campaign.settings = {**campaign.settings, "reopened_for": "everybody", "batch": 1}
    campaign.save()
    expected: dict[int, tuple[bool, str | None]] = {}

    def work(*reasons: str | None) -> Any:
        (worker,) = join(campaign)
        given_answers = [submit.submit(hold(worker), given({"choice": "5"})) for _ in reasons]
        for outcome, reason in zip(given_answers, reasons, strict=True):
            expected[outcome.response.pk] = (reason is None, reason)
        return worker, given_answers

    blocked, _ = work("blocked")
    moderation.block(None, blocked, "a robot")
    withdrawn, _ = work("withdrawn")
    withdrawal.withdraw(None, withdrawn)
    _, (outcome,) = work("redacted")
    moderation.redact(None, outcome.response, "private")
    _, (outcome,) = work("rejected")
    reviewer = User.objects.create(username="olga")
    moderation.review(reviewer, outcome.response, "rejected", reason="nonsense")
    _, (outcome,) = work("excluded")
    Exclusion.objects.create(
        campaign=campaign, response=outcome.response, reason="a test", who="olga", time=outcome.response.received
    )
    outcome.response.filled_slot.delete()
    release = release_files.freeze(None, campaign, "0.1", leave_out=True)
    assert release
