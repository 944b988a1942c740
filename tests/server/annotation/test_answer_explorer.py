"""The page of answers: filters, blind reviews, bulk actions, undo, exports, and a fixed number of queries."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from pyarrow import parquet

from capeval_server.accounts.models import Token
from capeval_server.annotation.core.slots import update_slots
from capeval_server.annotation.models import (
    Campaign,
    Participation,
    Response,
    Review,
    ReviewRequest,
    Slot,
    TextVersion,
)
from capeval_server.annotation.releases import judgment_table
from capeval_server.annotation.releases.integrity import audit
from capeval_server.annotation.responses import submit
from capeval_server.annotation.review import moderation
from capeval_server.annotation.review.answer_explorer import STATES, AnswerFilter, list_answers
from capeval_server.annotation.task_types import task_named
from capeval_server.core.errors import CampaignError
from capeval_server.web.campaigns import reviews as pages_of_answers
from capeval_server.web.campaigns.answer_cards import build_cards
from tests.server.campaigns import answer, counted, given, hold, join, make
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


SEEN = ("drives a bus", "feeds two cats", "eats pizza", "reads books", "paints walls", "plays chess")


@pytest.fixture
def staff() -> Someone:
    return Someone("staff", is_staff=True)


def written(items: int = 2, workers: int = 2, waiting: int = 3) -> Campaign:
    """A campaign with a caption of each worker for each item, the first of which wait for review."""
    campaign = make("write", items=items, answers=workers)
    for number, worker in enumerate(join(campaign, workers)):
        for place in range(items):
            answer(hold(worker), f"person{number} {SEEN[place]}")
    for row in Response.objects.filter(item__campaign=campaign).order_by("pk")[:waiting]:
        ReviewRequest.objects.create(response=row, reason="drawn at random", time=row.received)
    return campaign


def see(who: Someone, campaign: Campaign, query: str = "", status: int = 200) -> str:
    sent = who.client.get(f"/campaigns/{campaign.slug}/reviews/{query}")
    assert sent.status_code == status
    text: str = sent.content.decode()
    check_page(text, sent.headers["Content-Security-Policy"])
    return text


def post(who: Someone, campaign: Campaign, place: str, status: int = 200, **form: Any) -> dict[str, Any]:
    """Send a form as the page's program does."""
    path = f"/campaigns/{campaign.slug}/reviews/{place}"
    sent = who.client.post(path, form, headers={"Accept": "application/json"})
    assert sent.status_code == status, sent.content
    found: dict[str, Any] = json.loads(sent.content)
    return found


def test_filters(staff: Someone) -> None:
    campaign = written()
    rows = list(Response.objects.order_by("pk"))
    moderation.review(staff.user, rows[0], "fine")
    moderation.review(staff.user, rows[1], "rejected", reason="nonsense")

    def chosen(**asked: Any) -> list[int]:
        found = list_answers(campaign, AnswerFilter(**asked), staff.user)
        return [rows.index(row) for row in found]

    assert chosen() == [3, 2, 1, 0]
    assert {state: chosen(state=state) for state in STATES} == {
        "all": [3, 2, 1, 0],
        "waiting": [2],
        "accepted": [0],
        "rejected": [1],
        "counted": [3, 2, 0],
        "uncounted": [1],
        "training": [],
    }
    assert chosen(signal="drawn at random") == [2, 1, 0]
    assert chosen(category="HC") == [3, 2, 1, 0]
    assert chosen(category="HI") == []
    assert chosen(worker=rows[2].participation.worker.pseudonym) == [3, 2]
    assert chosen(search="Feeds TWO") == [3, 1]
    assert chosen(search="nothing") == []
    with pytest.raises(CampaignError, match="'state' must be one of all, waiting"):
        chosen(state="open")


def test_items_with_different_answers(staff: Someone) -> None:
    campaign = make("triplet", items=2, answers=2)
    for number, worker in enumerate(join(campaign, 2)):
        for _ in range(2):
            held = hold(worker)
            second = number and held.item.key == "1"
            submit.submit(held, given({"choice": "right" if second != held.mirrored else "left"}))
    differing = list_answers(campaign, AnswerFilter(disagreement=True), staff.user)
    assert [row.item.key for row in differing] == ["1", "1"]
    page = see(staff, campaign, "?disagreement=on")
    assert "Answers differ" in page
    assert "data-review" not in page, "answers of this task type are judged by checks"


def test_choices_are_shown_on_the_sides_that_the_worker_saw(staff: Someone) -> None:
    campaign = make("pairwise", items=2, answers=1)
    (worker,) = join(campaign, 1)
    seen = []
    for _ in range(2):
        held = hold(worker)
        submit.submit(held, given({"choice": "left"}))
        seen.append(task_named("pairwise").shown(held.item.payload, mirrored=held.mirrored))
    assert seen[0]["left"] != seen[1]["left"]
    cards = build_cards(
        campaign, list(list_answers(campaign, AnswerFilter(), staff.user)), staff.user, shows_workers=True
    )
    for card, sides in zip(reversed(cards), seen, strict=True):
        assert card.shown == {"Left": sides["left"], "Right": sides["right"]}
        assert card.text == f"The first: {sides['left']}"
    # The list of items has the texts, too.
    page = staff.client.get(f"/campaigns/{campaign.slug}/items/").content.decode()
    assert all(text in page for text in seen[0].values())
    assert page.count("First: ") == page.count("Second: ") == 2
    assert "Left: " not in page, "the sides vary"


def test_waiting_answers_do_not_show_their_workers(staff: Someone) -> None:
    campaign = written()
    names = list(Participation.objects.values_list("worker__pseudonym", flat=True))
    page = see(staff, campaign)
    assert "3 answers to review" in page
    assert not [name for name in names if name in page]
    # The first worker's answers wait, and one of the second's.
    page = see(staff, campaign, "?state=all")
    assert "4 answers match this filter" in page
    last = Response.objects.order_by("-pk")[0].participation.worker.pseudonym
    assert page.count(f"worker={last}") == 1
    assert "person1 feeds two cats" in page
    see(staff, campaign, "?state=invented", 422)
    releases = staff.client.get(f"/campaigns/{campaign.slug}/releases/").content.decode()
    assert "3 counted answers</a> wait for a review" in releases


def test_reasons_of_workers_are_shown(staff: Someone) -> None:
    campaign = make("write", items=1, answers=1)
    TextVersion.objects.create(campaign=campaign, number=2, instructions="# Work")
    (worker,) = join(campaign, 1)
    sent = given({"caption": "a red cat"})
    submit.submit(hold(worker), replace(sent, reasons={"short": "there is nothing else"}))
    page = see(staff, campaign)
    assert "Reason for review: kept although a rule asked" in page
    assert "Rule <code>short</code>, kept because: <bdi>there is nothing else</bdi>" in page


def test_bulk_accept_and_undo(staff: Someone) -> None:
    campaign = written()
    keys = list(Response.objects.order_by("pk").values_list("pk", flat=True))
    sent = post(staff, campaign, "accept/", answer=keys[:2])
    assert sent["message"] == "Accepted 2 answers."
    assert sent["waiting"] == 1
    assert set(sent["cards"]) == set(map(str, keys[:2]))
    assert "Undo the review" in sent["cards"][str(keys[0])]
    rejection: dict[str, Any] = {f"r{keys[2]}-verdict": "rejected", f"r{keys[2]}-reason": "copied"}
    sent = post(staff, campaign, f"{keys[2]}/", **rejection)
    assert "not counted: rejected" in sent["cards"][str(keys[2])]
    assert counted(campaign) == 3
    worker = Participation.objects.get(responses=keys[0])
    assert (worker.judged, worker.fine) == (2, 2)
    sent = post(staff, campaign, "undo/", answer=keys[:3])
    assert sent["message"] == "Undid the review of 3 answers."
    assert sent["waiting"] == 3
    assert counted(campaign) == 4
    worker.refresh_from_db()
    assert (worker.judged, worker.fine) == (0, 0)
    # Nothing is deleted, and nothing can be undone twice.
    assert Review.objects.count() == 6
    assert post(staff, campaign, "undo/", 422, answer=keys[0])["message"].startswith(
        "Not stored: this answer"
    )
    assert post(staff, campaign, "accept/", 422)["message"] == "Select at least one answer."
    assert not list(audit(campaign))


def test_an_undone_rejection_after_the_slot_was_filled_again(staff: Someone) -> None:
    campaign = written(items=1, workers=1, waiting=1)
    first = Response.objects.get()
    moderation.review(staff.user, first, "rejected", reason="nonsense")
    Slot.objects.update(trusted_only=False)
    campaign.settings["reopened_for"] = "everybody"
    campaign.save()
    update_slots([first.item_id], campaign)
    (other,) = join(campaign)
    answer(hold(other), "a cart again")
    moderation.undo_review(staff.user, first)
    assert not Slot.objects.filter(filled_by=first).exists()
    assert "not counted: surplus" in see(staff, campaign, "?state=uncounted")
    assert not list(audit(campaign))


def test_forms_without_the_program(staff: Someone) -> None:
    campaign = written()
    keys = list(Response.objects.order_by("pk").values_list("pk", flat=True))
    place = f"/campaigns/{campaign.slug}/reviews/"
    sent = staff.client.post(f"{place}accept/?state=all&page=1", {"answer": keys[:2]})
    assert (sent.status_code, sent.headers["Location"]) == (302, f"{place}?state=all&page=1")
    assert "Accepted 2 answers." in see(staff, campaign, "?state=accepted")
    staff.client.post(f"{place}undo/", {"answer": [keys[0], "x"]})
    page = see(staff, campaign)
    assert "Undid the review of 1 answer." in page
    assert "accepted by" in page
    assert "undone by" in page
    author = Response.objects.get(pk=keys[1]).participation.worker
    author.user = staff.user
    author.save()
    staff.client.post(f"{place}undo/", {"answer": keys[1]})
    assert "you cannot review your own answers" in see(staff, campaign)


def test_no_answer_is_skipped_on_later_pages(staff: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_of_answers, "_PER_PAGE", 2)
    campaign = written(items=5, workers=1, waiting=5)
    keys = list(Response.objects.order_by("pk").values_list("pk", flat=True))
    query: str | None = ""
    seen: list[int] = []
    while query is not None:
        page = see(staff, campaign, query)
        assert f"{5 - len(seen) + len(seen[::2])} answers to review" in page
        found = [int(key) for key in re.findall(r'id="answer-(\d+)"', page)]
        seen += found
        # Every other answer is left in the queue.
        post(staff, campaign, f"accept/{query}", answer=found[1:] or found)
        link = re.search(r'href="([^"]*)" rel="next"', page)
        query = html.unescape(link[1]) if link else None
    assert seen == keys
    page = see(staff, campaign, f"?after={keys[-1]}")
    assert "Earlier answers still wait for a review" in page
    assert '<a href="?">First answers</a>' in page
    assert f'id="answer-{keys[0]}"' in see(staff, campaign, "?after=x")
    token = Token.issue(staff.user.pk, "a token", "organize")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    sent = client.get(f"/api/campaigns/{campaign.slug}/reviews?after={keys[0]}").json()
    assert (sent["count"], [row["id"] for row in sent["answers"]]) == (2, [keys[2]])


def test_queries_do_not_grow(staff: Someone, django_assert_max_num_queries: Any) -> None:
    few, many = written(items=2, workers=2, waiting=2), written(items=6, workers=4, waiting=15)
    for campaign in (few, many):
        for query in ("", "?state=all"):
            with django_assert_max_num_queries(25):
                staff.client.get(f"/campaigns/{campaign.slug}/reviews/{query}")


def test_exports(staff: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = written()
    rejected = Response.objects.order_by("pk")[0]
    moderation.review(staff.user, rejected, "rejected", reason="nonsense")
    place = f"/campaigns/{campaign.slug}/reviews/answers"

    def rows(query: str) -> list[dict[str, str]]:
        sent = staff.client.get(f"{place}.csv{query}")
        return list(csv.DictReader(io.StringIO(sent.content.decode())))

    assert len(rows("?state=all")) == 4
    assert len(rows("?state=waiting")) == 2
    (row,) = rows("?state=rejected")
    assert (row["response"], row["counted"], row["reason"]) == (str(rejected.pk), "false", "rejected")
    assert row["caption"] == rejected.answer["caption"]
    table = parquet.read_table(io.BytesIO(staff.client.get(f"{place}.parquet?state=all").content))
    assert table.column_names == list(judgment_table.JudgmentRow._fields)
    assert table.num_rows == 4
    assert parquet.read_table(io.BytesIO(staff.client.get(f"{place}.parquet?search=x").content)).num_rows == 0
    token = Token.issue(staff.user.pk, "a token", "organize")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    api = f"/api/campaigns/{campaign.slug}/judgments"
    assert client.get(f"{api}?state=rejected").content.decode().count("\n") == 2
    assert client.get(f"{api}?format=parquet").content[:4] == b"PAR1"
    assert client.get(f"{api}?state=open").status_code == 422
    monkeypatch.setattr(judgment_table, "find_spec", lambda _: None)
    sent = client.get(f"{api}?format=parquet")
    assert sent.status_code == 422
    assert 'pip install \\"capeval-server[parquet]\\"' in sent.content.decode()
    assert staff.client.get(f"{place}.parquet?state=all").status_code == 302
    assert "Parquet requires pyarrow" in see(staff, campaign)
    assert staff.client.get(f"{place}.txt").status_code == 302
