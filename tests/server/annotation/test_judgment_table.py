"""The table `judgments` of a release: each answer of the database, read back by other programs."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pyarrow import parquet

from capeval.errors import FormatError
from capeval.formats.judgments.plans import get_plan_paths, load_pair_votes, load_pairs, load_plan, load_votes
from capeval.formats.judgments.ratings import load_ratings
from capeval.toolkit import unescape_cell
from capeval_server.annotation.campaigns.definition import read_items
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.models import Assignment, Campaign, Exclusion, Item, Release, Response, Slot
from capeval_server.annotation.releases import judgment_table, release_files
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.releases.judgment_table import JudgmentRow
from capeval_server.annotation.responses import submit
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.task_types import TASKS, RatingResult
from capeval_server.commands import annotation_releases as commands
from tests.server.annotation.test_results import study, work_all
from tests.server.campaigns import given, hold, join, make
from tests.server.clock import Clock
from tests.server.processes import PROJECT

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
    "＝1",
    "true",
    "\u00e9 \U0001f415",
)
# Keys and classes of items must be printable.
KEYS = [re.sub(r"[\n\r]", "|", text) for text in TEXTS]
NAMES = list(JudgmentRow._fields)


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


def answered(kind: str, clock: Clock) -> Campaign:
    """Return a campaign with two counted answers per item: after 1.25 and after 2.5 seconds."""
    campaign = campaign_of(kind, answers=2, batch=6)
    for seed, worker in enumerate(join(campaign, 2)):

        def answer(held: Assignment, seed: int = seed) -> Mapping[str, str]:
            clock.now += timedelta(seconds=1.25 * (seed + 1))
            return choose(kind, seed)(held)

        work_all(worker, answer)
    return campaign


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    parse: dict[str, Callable[[str], Any]] = dict.fromkeys(NAMES, unescape_cell)
    parse |= dict.fromkeys(("response", "pair", "triplet", "batch", "place", "revision", "texts"), int)
    parse |= dict.fromkeys(("value", "seconds", "browser_seconds"), float)
    parse |= dict.fromkeys(("mirrored", "counted"), {"true": True, "false": False}.__getitem__)
    parse["received"] = datetime.fromisoformat
    return [{name: parse[name](text) if text else None for name, text in row.items()} for row in rows]


def frozen_rows(release: Release) -> list[dict[str, Any]]:
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


def check_rows(campaign: Campaign, rows: list[dict[str, Any]]) -> None:
    """Check that the rows are exactly the answers of the database, all of which count."""
    kind = campaign.kind
    assert list(rows[0]) == NAMES
    by_answer: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_answer.setdefault(row["response"], []).append(row)
    found = {response.pk: response for response in Response.objects.select_related("item", "assignment")}
    assert set(by_answer) == set(found)
    workers = list(campaign.participations.order_by("pk"))
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
            assert row["seconds"] == 1.25 * (workers.index(response.participation) + 1)
            assert (row["texts"], row["revision"], row["counted"], row["reason"]) == (1, 1, True, None)


def check_studies(kind: str, folder: Path) -> None:
    """Check that studies read the same judgments from the table as from their own files."""
    result = TASKS[kind].result
    for table in (folder / "judgments.csv", folder / "judgments.parquet"):
        if isinstance(result, RatingResult):
            for question in result.questions:
                own = load_ratings(folder / f"ratings-{question.name.lower()}.csv")
                read = load_ratings(table, question=question.name)
                assert (read.image_ids, read.captions) == (own.image_ids, own.captions)
                assert read.systems == own.systems
                assert read.values == pytest.approx(own.values)
        elif kind == "triplet":
            plan = load_plan(*get_plan_paths(folder))
            assert load_votes(table, plan) == load_votes(folder / "votes.csv", plan)
        elif kind == "pairwise":
            pairs = load_pairs(get_plan_paths(folder)[0])
            assert load_pair_votes(table, pairs) == load_pair_votes(folder / "pair_votes.csv", pairs)


def check_pandas(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Check that the documented code reads the table with pandas."""
    page = (PROJECT / "docs" / "server" / "annotation.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```py\n(import pandas as pd\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"folder": folder}
    exec(example, names)
    for table in (names["table"], names["same"]):
        records = table.astype(object).to_dict("records")
        found = [{name: None if pd.isna(cell) else cell for name, cell in row.items()} for row in records]
        assert found == rows


@pytest.mark.parametrize("kind", list(TASKS))
def test_each_answer_of_the_database_is_in_the_table(kind: str, clock: Clock) -> None:
    campaign = answered(kind, clock)
    release = release_files.freeze(None, campaign, "1.0")
    rows, folder = frozen_rows(release), release_files.folder_of(release)
    check_rows(campaign, rows)
    check_studies(kind, folder)
    check_pandas(folder, rows)
    assert list(audit(campaign)) == []


def test_commands_read_the_table(tmp_path: Path, clock: Clock) -> None:
    folder = release_files.folder_of(release_files.freeze(None, answered("rating", clock), "1.0"))
    table = folder / "judgments.csv"
    own = study("judging", f"P={folder / 'ratings-p.csv'}", f"R={folder / 'ratings-r.csv'}")
    assert study("judging", f"P={table}", f"R={table}") == own
    references = tmp_path / "references.json"
    references.write_text(json.dumps({TEXTS[image]: [f"{TEXTS[image * 3]} caption"] for image in range(4)}))
    more = ("--metrics", "ROUGE-L", "--samples", 20)
    own = study("correlation", references, folder / "ratings-r.csv", *more)
    assert study("correlation", references, table, "--question", "R", *more) == own
    with pytest.raises(FormatError, match=r"one question; choose one .* \(got P, R, THumB, fluency, conc"):
        study("correlation", references, table, *more)
    with pytest.raises(FormatError, match=r"must have the question 'M3' \(got P, R, THumB"):
        study("judging", f"M3={table}")


class Reasons:
    """A campaign of one answer per item, and the reason for which each answer is not counted."""

    def __init__(self, kind: str, items: int = 2) -> None:
        self.campaign = campaign_of(kind, items, answers=1, reopened_for="everybody", batch=1)
        self.expected: dict[int, str | None] = {}

    def answer(self, reason: str | None) -> Response:
        """Return the answer of a new worker."""
        (worker,) = join(self.campaign)
        held = hold(worker)
        raw = choose(self.campaign.kind, 1)(held)
        response = submit.submit(held, given(dict(raw), seconds=4)).response
        self.expected[response.pk] = reason
        return response

    def store(self, item: Item, reason: str, answer: Mapping[str, str] | None = None) -> Response:
        """Store an answer to an item that is not for counted answers."""
        last = Response.objects.latest("pk")
        same = {"participation": last.participation, "item": item}
        held = Assignment.objects.create(
            **same, lease_until=last.received, state="submitted", batch=9, place=1, opened=last.received
        )
        response = Response.objects.create(
            **same,
            assignment=held,
            revision=1,
            answer=answer or last.answer,
            digest=last.digest,
            may_count=False,
            texts=last.texts,
            key=item.key,
            received=last.received,
        )
        self.expected[response.pk] = reason
        return response


def test_answers_that_are_not_counted_have_the_reason() -> None:
    made = Reasons("m3", 3)
    olga, blocked = User.objects.create(username="olga"), made.answer("blocked")
    moderation.review(olga, blocked, "rejected", reason="copied")
    moderation.block(None, blocked.participation, "a robot")
    withdrawal.withdraw(None, made.answer("withdrawn").participation)
    moderation.redact(None, made.answer("redacted"), "private")
    moderation.review(olga, made.answer("rejected"), "rejected", reason="nonsense")
    excluded = made.answer("excluded")
    about = {"reason": "a test", "who": "olga", "time": excluded.received}
    Exclusion.objects.create(campaign=made.campaign, response=excluded, **about)
    Slot.objects.filter(filled_by=excluded).update(filled_by=None)
    Item.objects.filter(pk=excluded.item_id).update(free=1)
    first = made.answer("revised")
    second = submit.submit(first.assignment, given({"choice": "1"}, revision=2)).response
    made.expected[second.pk] = None
    surplus = made.answer("surplus")
    Slot.objects.filter(filled_by=surplus).update(filled_by=None, closed=True)
    others: dict[str, dict[str, Any]] = {
        "check": {"is_check": True},
        "training": {"is_check": True, "is_training": True},
        "repeated": {"is_check": True, "repeats": first.item},
        "preview": {},
    }
    for reason, about_item in others.items():
        names = {"key": reason, "payload": first.item.payload, "rank": 9}
        made.store(Item.objects.create(campaign=made.campaign, **names, **about_item), reason)
    rows = frozen_rows(release_files.freeze(None, made.campaign, "1.0", leave_out=True))
    assert {row["response"]: row["reason"] for row in rows} == made.expected
    for row in rows:
        assert row["question"] == "M3"
        assert row["counted"] == (row["reason"] is None)
        assert row["rejection"] == {"rejected": "nonsense", "blocked": "copied"}.get(row["reason"])
        removed = row["reason"] in ("withdrawn", "redacted")
        assert (row["choice"] is None) == (row["value"] is None) == removed


def test_rejected_captions_are_not_in_a_file_that_never_changes() -> None:
    made = Reasons("write")
    rejected = made.answer("rejected")
    moderation.review(User.objects.create(username="olga"), rejected, "rejected", reason="offensive")
    kept = [made.answer(None), made.answer(None)]
    names = {"campaign": made.campaign, "rank": 9, "is_check": True, "is_training": True}
    practice = Item.objects.create(key="practice", payload={"keywords": []}, **names)
    quiz = Item.objects.create(key="quiz", payload={"caption": "There is a dog."}, is_quiz=True, **names)
    practiced = made.store(practice, "training")
    quizzed = made.store(quiz, "training", {"choice": "breaks"})
    rows = frozen_rows(release_files.freeze(None, made.campaign, "1.0"))
    assert {row["response"]: row["reason"] for row in rows} == made.expected
    captions = {row["response"]: row["caption"] for row in rows}
    written = {each.pk: each.answer["caption"] for each in kept}
    assert captions == {**written, rejected.pk: None, practiced.pk: None, quizzed.pk: "There is a dog."}
    (row,) = (row for row in rows if row["response"] == quizzed.pk)
    assert (row["question"], row["choice"], row["value"]) == ("quiz", "breaks", None)


def test_without_pyarrow_a_release_has_only_csv(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Reasons("m3", 1)
    made.answer(None)
    monkeypatch.setattr(judgment_table, "find_spec", lambda name: None)
    commands.freeze(made.campaign.slug, "1.0")
    shown = capsys.readouterr().err
    assert shown == (
        "capeval: warning: Without pyarrow, releases have no judgments.parquet:"
        ' pip install "capeval-server[parquet]"\n'
    )
    release = Release.objects.get()
    files = json.loads((release_files.folder_of(release) / "manifest.json").read_bytes())["files"]
    assert {name for name in files if name.startswith("judgments")} == {"judgments.csv"}
    assert release_files.verify(release)
    client.force_login(User.objects.create(username="olga", is_staff=True))
    form = {"name": "1.1", "seed": 0}
    page = client.post(f"/campaigns/{made.campaign.slug}/releases/", form, follow=True).content.decode()
    assert "Froze the release 1.1 with 1 answer." in page
    assert "Without pyarrow, releases have no judgments.parquet" in page


def test_releases_from_before_the_table_can_be_verified_and_downloaded(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Reasons("m3", 1)
    made.answer(None)
    with monkeypatch.context() as before:
        before.setattr(release_files, "_add_judgments", lambda *_: None)
        older = release_files.freeze(None, made.campaign, "1.0")
    newer = release_files.freeze(None, made.campaign, "1.1")
    assert release_files.verify(newer) == release_files.verify(older) + 2
    client.force_login(User.objects.create(username="olga", is_staff=True))
    names = []
    for release in (older, newer):
        sent = client.get(f"/campaigns/{made.campaign.slug}/releases/{release.name}/files.zip")
        with zipfile.ZipFile(io.BytesIO(sent.getvalue())) as archive:
            names.append({name.removeprefix(f"{release.name}/") for name in archive.namelist()})
    assert names[1] - names[0] == {"judgments.csv", "judgments.parquet"}
    assert names[0] < names[1]


def test_the_columns_are_documented() -> None:
    page = (PROJECT / "docs" / "server" / "annotation.md").read_text(encoding="utf-8")
    section = page.partition("\n## Table of judgments\n")[2].partition("\n## ")[0]
    columns = section.partition("| Reason |")[0]
    assert re.findall(r"^\| `(\w+)` \| ", columns, re.MULTILINE) == NAMES
