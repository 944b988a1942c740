"""Annotation API: the complete workflow without a browser, and permissions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from capeval_server.accounts.models import Token
from capeval_server.annotation.models import Campaign, Participation, Response
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge
from capeval_server.teams.services.enrollment import make_team
from tests.server.campaigns import STUDY_LINES, counted, join, make

pytestmark = pytest.mark.django_db

FILE = f"""
[campaign]
slug = "similar"
title = "Which sentence is closer?"
kind = "triplet"
items = "items.jsonl"

[settings]
answers = 2
check_every = 0
{STUDY_LINES}"""
ITEMS = [
    {"key": "0", "group": "1", "category": "HC", "reference": "a dog", "first": "a hound", "second": "a cat"},
    {"key": "1", "group": "1", "category": "HC", "reference": "a cat", "first": "a hound", "second": "a pet"},
]


class Program:
    """A program with a token."""

    def __init__(self, token: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def ask(self, method: str, path: str, content: Any = None, status: int = 200) -> Any:
        data = json.dumps(content) if content is not None else ""
        answer = self.client.generic(method, f"/api/{path}", data, "application/json")
        assert answer.status_code == status, (path, answer.content)
        return answer.json() if answer.content else None


def user_program(name: str, **kind: bool) -> Program:
    user, _ = User.objects.get_or_create(username=name, defaults=kind)
    return Program(Token.issue(user.pk, f"token {Token.objects.count()}", "organize"))


@pytest.fixture
def staff() -> Program:
    return user_program("staff", is_staff=True)


def files(definition: str = FILE, items: list[dict[str, Any]] = ITEMS) -> dict[str, Any]:
    lines = "\n".join(json.dumps(item) for item in items)
    return {"files": {"campaign.toml": definition, "items.jsonl": lines}}


def test_the_whole_loop_without_a_browser(staff: Program) -> None:
    made = staff.ask("POST", "campaigns", files(), 201)
    assert (made["state"], made["settings"]["answers"]) == ("draft", 2)
    assert made["settings"]["lease_seconds"] == 180
    staff.ask("PUT", "campaigns/similar/state", {"state": "open"})
    tokens = staff.ask("POST", "campaigns/similar/invites", {"number": 2}, 201)["tokens"]
    for token in tokens:
        worker = Program(token)
        entered = worker.ask("GET", "annotate/similar")
        assert entered["stage"] == "invited"
        assert "more similar to sentence A?" in entered["texts"]["instructions"]
        assert "agree" in worker.ask("POST", "annotate/similar/next", {})["why"]
        worker.ask("POST", "annotate/similar/agree", {"texts": entered["texts"]["number"]})
        while (batch := worker.ask("POST", "annotate/similar/next", {}))["items"]:
            for item in batch["items"]:
                assert set(item["shown"]) == {"reference", "left", "right"}
                side = "left" if item["shown"]["left"] == "a hound" else "right"
                sent = {"answer": {"choice": side}, "key": item["lease"]}
                place = f"annotate/similar/items/{item['lease']}"
                assert worker.ask("POST", f"{place}/answer", sent)["outcome"] == "stored"
                assert worker.ask("POST", f"{place}/answer", sent)["outcome"] == "stored"
        assert batch["why"] == "There is no work for you now."
    status = staff.ask("GET", "campaigns/similar")
    assert (status["finished"], status["counted"], status["wanted"]) == (2, 4, 4)
    assert set(Response.objects.values_list("answer__choice", flat=True)) == {"first"}
    staff.ask("PUT", "campaigns/similar/state", {"state": "closed"})


def test_what_else_a_worker_does(staff: Program) -> None:
    campaign = make("write", answers=1, items=5, batch=5)
    (token,) = enrollment.invite(None, campaign, 1)
    worker = Program(token)
    place = f"annotate/{campaign.slug}"
    worker.ask("POST", f"{place}/agree", {"texts": 1})
    items = worker.ask("POST", f"{place}/next", {})["items"]
    assert [(item["place"], item["of"]) for item in items] == [(number, 5) for number in range(1, 6)]
    leases = [f"{place}/items/{item['lease']}" for item in items]
    worker.ask("PUT", f"{leases[0]}/draft", {"content": {"caption": "a ca"}}, 204)
    assert worker.ask("POST", f"{place}/next", {})["items"][0]["draft"] == {"caption": "a ca"}
    worker.ask("POST", f"{place}/renew", None, 204)
    assert worker.ask("POST", f"{leases[1]}/skip", {"reason": "too dark"}) == {"state": "skipped"}
    assert worker.ask("POST", f"{leases[2]}/return", {}) == {"state": "returned"}
    assert worker.ask("POST", f"{leases[3]}/report", {"reason": "not loading"}) == {"state": "reported"}
    caption = {"answer": {"caption": "a cart in a street"}, "key": "one", "events": {"keys": 18}}
    assert worker.ask("POST", f"{leases[0]}/answer", caption)["revision"] == 1
    again = {"answer": {"caption": "a red cart in a street"}, "key": "two", "revision": 2}
    assert worker.ask("POST", f"{leases[0]}/answer", again)["revision"] == 2
    assert counted(campaign) == 1
    for wrong in ({"caption": ""}, {"caption": "a\0b"}, {"choice": "left"}, {}):
        worker.ask("POST", f"{leases[4]}/answer", {"answer": wrong, "key": "x"}, 422)
    for events in ({"keys": -1}, {"KEYS": 1}, {"keys": "many"}):
        sent = {**caption, "key": "x", "events": events}
        worker.ask("POST", f"{leases[4]}/answer", sent, 422)
    worker.ask("PUT", f"{leases[4]}/draft", {"content": {"caption": "a\0b"}}, 422)
    assert worker.ask("POST", f"{leases[4]}/report", {"reason": "boring"}, 422)


def test_an_item_is_its_workers_own() -> None:
    campaign, other = make(answers=2), make(answers=2)
    tokens = enrollment.invite(None, campaign, 2) + enrollment.invite(None, other, 1)
    programs = [Program(token) for token in tokens]
    place = f"annotate/{campaign.slug}"
    for program in programs[:2]:
        program.ask("POST", f"{place}/agree", {"texts": 1})
    (item,) = programs[0].ask("POST", f"{place}/next", {})["items"]
    sent = {"answer": {"choice": "left"}, "key": "k"}
    nothing = "00000000-0000-0000-0000-000000000000"
    for program in programs[1:]:
        program.ask("POST", f"{place}/items/{item['lease']}/answer", sent, 404)
    programs[0].ask("POST", f"{place}/items/{nothing}/answer", sent, 404)
    programs[2].ask("GET", place, status=404)
    for token in ("work_invented", "capeval_invented", tokens[0][:-1]):
        Program(token).ask("GET", place, status=401)
    enrollment.revoke(None, enrollment.get_invited(campaign, tokens[0]))
    programs[0].ask("GET", place, status=401)


def test_users_of_the_server_work_too_but_do_not_judge_what_they_compete_with(challenge: Challenge) -> None:
    campaign = make()
    ann = user_program("ann")
    assert ann.ask("GET", f"annotate/{campaign.slug}")["stage"] == "invited"
    assert ann.ask("POST", f"annotate/{campaign.slug}/agree", {"texts": 1})["stage"] == "working"
    assert ann.ask("GET", f"annotate/{campaign.slug}")["stage"] == "working"
    Campaign.objects.update(challenge=challenge)
    make_team(User.objects.get(username="ann"), challenge)
    refused = ann.ask("POST", f"annotate/{campaign.slug}/next", {}, 409)
    assert refused["detail"] == "participants of the challenge can't judge its captions"
    draft = make(state="draft")
    user_program("bob").ask("GET", f"annotate/{draft.slug}", status=404)


def test_reviewing_and_blocking(staff: Program) -> None:
    campaign = make("write", answers=1, items=3, review_first=2, batch=3, reopened_for="trusted")
    (token,) = enrollment.invite(None, campaign, 1)
    worker = Program(token)
    worker.ask("POST", f"annotate/{campaign.slug}/agree", {"texts": 1})
    for number, item in enumerate(worker.ask("POST", f"annotate/{campaign.slug}/next", {})["items"]):
        sent = {"answer": {"caption": f"cart {number}"}, "key": f"{number}"}
        worker.ask("POST", f"annotate/{campaign.slug}/items/{item['lease']}/answer", sent)
    place = f"campaigns/{campaign.slug}"
    waiting = staff.ask("GET", f"{place}/reviews")
    assert waiting["count"] == 2
    pseudonym = Participation.objects.get().worker.pseudonym
    assert pseudonym not in json.dumps(waiting)
    first, second = waiting["answers"]
    assert (first["answer"], first["item"]) == ({"caption": "cart 0"}, {"keywords": ["cart"]})
    staff.ask("POST", f"{place}/reviews/{first['id']}", {"verdict": "fine"})
    staff.ask("POST", f"{place}/reviews/{second['id']}", {"verdict": "rejected"}, 422)
    rejected = {"verdict": "rejected", "reason": "wrong image", "note": "no cart"}
    assert staff.ask("POST", f"{place}/reviews/{second['id']}", rejected) == {"waiting": 0}
    staff.ask("POST", f"{place}/reviews/{10**6}", rejected, 404)
    (row,) = staff.ask("GET", f"{place}/workers")["workers"]
    expected = {"stage": "working", "answered": 3, "judged": 2, "fine": 1, "trusted": False}
    assert row == {
        "pseudonym": pseudonym,
        "repeats": 0,
        "repeated": 0,
        "same_mailbox": [],
        **expected,
    }
    assert staff.ask("GET", f"{place}/workers/{pseudonym}/block") == {
        "answers": 2,
        "items": 2,
        "releases": [],
    }
    assert counted(campaign) == 2
    staff.ask("POST", f"{place}/workers/{pseudonym}/block", {"reason": ""}, 422)
    done = staff.ask("POST", f"{place}/workers/{pseudonym}/block", {"reason": "spam"})
    assert done == {"answers": 2, "items": 2, "releases": []}
    assert "trusted worker" in staff.ask("GET", place)["waiting"][0]
    lifted = staff.ask("POST", f"{place}/workers/{pseudonym}/lift", {"reason": "a mistake"})
    assert lifted == {"answers": 2}
    staff.ask("POST", f"{place}/workers/{pseudonym}/lift", {"reason": "again"}, 422)
    assert staff.ask("PUT", f"{place}/answers", {"answers": 2})["settings"]["answers"] == 2


def test_only_who_manages_a_campaign_sees_it(staff: Program, challenge: Challenge) -> None:
    campaign = make()
    (worker,) = join(campaign)
    olga, otto, owner = user_program("olga"), user_program("otto"), user_program("owner")
    challenge.organizers.add(User.objects.get(username="olga"))
    Campaign.objects.update(challenge=challenge)
    campaign.organizers.add(User.objects.get(username="owner"))
    place = f"campaigns/{campaign.slug}"
    for program, status in ((olga, 200), (owner, 200), (staff, 200), (otto, 404)):
        program.ask("GET", place, status=status)
        program.ask("GET", f"{place}/workers", status=status)
        program.ask("GET", f"{place}/workers/{worker.worker.pseudonym}/block", status=status)
    otto.ask("POST", "campaigns", files(), 404)
    of_challenge = FILE.replace('kind = "triplet"', 'kind = "triplet"\nchallenge = "small"')
    otto.ask("POST", "campaigns", files(of_challenge), 404)
    olga.ask("POST", "campaigns", files(of_challenge), 201)


def test_files_that_are_wrong(staff: Program) -> None:
    item = ITEMS[0]
    wrong: list[tuple[str, Any, str]] = [
        (FILE.replace("triplet", "unknown"), ITEMS, "'kind' must be one of"),
        (FILE.replace("answers = 2", "answers = 0"), ITEMS, "settings.answers: Input should be greater"),
        (FILE.replace("answers = 2", "other = 2"), ITEMS, "settings.other: Extra inputs"),
        (FILE.replace("answers = 2", 'kind = "m1"'), ITEMS, "settings.kind: Extra inputs"),
        ("settings = 3\n" + FILE.split("[settings]")[0], ITEMS, "settings must be a table (got 3)"),
        (FILE.replace("closer?", r"closer\u0000"), ITEMS, "campaign.title: must be one line"),
        (
            FILE + "[more]\n",
            ITEMS,
            "unknown part 'more' (allowed: campaign, settings, rules, systems, columns)",
        ),
        ("[campaign", ITEMS, "campaign.toml must be TOML in UTF-8"),
        (FILE.replace('title = "Which sentence is closer?"', ""), ITEMS, "campaign.title: Field required"),
        (FILE.replace("items.jsonl", "none.jsonl"), ITEMS, "missing file 'none.jsonl'"),
        (FILE.replace("[settings]", 'text = "no"\n[settings]'), ITEMS, "'text' must be one of"),
        (FILE, [], "items.jsonl: the file contains no items"),
        (FILE, [item, item], "items.jsonl, line 2: duplicate 'key' '0'"),
        (
            FILE,
            [{**item, "image": "x"}],
            "items.jsonl, line 1: 0: an item of the task type triplet must not have",
        ),
        (FILE, [{**item, "by": "x"}], "items.jsonl, line 1: 0: unknown part 'by' (allowed: reference, "),
        (FILE, [{**item, "first": ""}], "items.jsonl, line 1: 0: 'first' must be a non-empty text"),
        (FILE, [{"key": 0}], "items.jsonl, line 1: 0: missing part 'reference'"),
        (FILE, [{**item, "key": ""}], "items.jsonl, line 1: 'key' must be a printable text"),
        (FILE, [{**item, "expected": "x"}], "items.jsonl, line 1: 0: 'expected' must be a JSON object"),
        (
            FILE,
            [{**item, "expected": {"choice": "left"}}],
            "in terms of the item: 'choice' must be one of first, second (got 'left')",
        ),
        (FILE, [{**item, "expected": {"choice": ["left"]}}], "must be one of first, second (got ['left'])"),
        (FILE, [{**item, "expected": {"choice": []}}], "must be one of first, second (got [])"),
        (
            FILE,
            [{**item, "expected": {"choice": ["first", "second"]}}],
            "'choice' must not accept all answers: first, second",
        ),
        (FILE, [{**item, "expected": {"side": "first"}}], "unknown part 'side' (allowed: choice)"),
        (FILE, [[]], "items.jsonl: the file contains no items"),
        (FILE, [item, []], "items.jsonl, line 2: an item must be a JSON object (got list)"),
        (FILE, [{"key": 0}, {"key": 1}], "line 1: 0: missing part 'reference'; line 2: 1: missing part"),
        (FILE + "[columns]\nfirst = 1\n", ITEMS, "columns.first must be the name of a column"),
    ]
    for definition, items, message in wrong:
        refused = staff.ask("POST", "campaigns", files(definition, items), 422)
        assert message in str(refused["detail"]), (message, refused)
    assert not Campaign.objects.exists()
    staff.ask("POST", "campaigns", files(), 201)
    assert "must be new on this server" in staff.ask("POST", "campaigns", files(), 422)["detail"]
