"""Mechanical Turk: preview, assignment, work in its frame, submission, bonuses and reconciliation."""

from __future__ import annotations

import csv
import json
import re
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from django.test import Client

from capeval_server.annotation.models import Assignment, Campaign, Participation, Session, Worker
from capeval_server.annotation.workers import external_questions, panels, payments
from capeval_server.annotation.workers.bonuses import bonuses_csv
from capeval_server.annotation.workers.reconciliation import reconcile
from capeval_server.commands import annotation_workers
from capeval_server.core.errors import CampaignError, EntryError
from tests.server.annotation.test_api import Program, user_program
from tests.server.annotation.test_panels import signing
from tests.server.campaigns import make
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

SANDBOX, PRODUCTION = "https://workersandbox.mturk.com", "https://www.mturk.com"
ANCESTORS = "frame-ancestors https://worker.mturk.com https://www.mturk.com https://workersandbox.mturk.com"
RESULTS_HEAD = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds")


def turk(assignment: str = "A1", worker: str = "W1", hit: str = "H1", site: str = SANDBOX) -> dict[str, str]:
    return {"assignmentId": assignment, "hitId": hit, "workerId": worker, "turkSubmitTo": site}


def set_up(campaign: Campaign, **more: Any) -> panels.PanelSettings:
    return panels.set_panel(None, campaign, {"answers": 2, "external_question": {"reward": "0.20"}, **more})


def policy(sent: Any) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in sent.headers["Content-Security-Policy"].split(";"))
    return {name: f"{name} {value}" for name, _, value in parts}


def check_framed(sent: Any, form_action: str = "form-action 'self'") -> str:
    """Check that Mechanical Turk, and nobody else, may show a page in its frame."""
    assert "X-Frame-Options" not in sent.headers
    assert policy(sent)["frame-ancestors"] == ANCESTORS
    assert policy(sent)["form-action"] == form_action
    for cookie in sent.cookies.values():
        assert cookie.OutputString().endswith("; Partitioned")
        assert (cookie["samesite"], cookie["secure"]) == ("None", True)
    text: str = sent.content.decode()
    if sent.status_code == 200:
        usual = {"frame-ancestors": "frame-ancestors 'none'", "form-action": "form-action 'self'"}
        # Only the last page has a form of another site, which the policy names.
        others = form_action.removeprefix("form-action 'self'").strip()
        inside = text.replace(f'action="{others}/mturk/externalSubmit"', "") if others else text
        check_page(inside, "; ".join({**policy(sent), **usual}.values()))
    return text


def answer_all(client: Client, place: str, number: int) -> None:
    for _ in range(number):
        sent = client.get(place)
        lease = re.findall(rf"{place}([0-9a-f-]{{36}})/answer/", check_framed(sent))[0]
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', sent.content.decode())[0]
        form = {"choice": "left", "csrfmiddlewaretoken": token}
        assert client.post(f"{place}{lease}/answer/", form).status_code == 302


def agree(client: Client, place: str) -> None:
    page = check_framed(client.get(place))
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
    client.post(f"{place}agree/", {"texts": "1", "csrfmiddlewaretoken": token})


def test_from_the_preview_to_the_bonus() -> None:
    campaign = make(answers=5, items=4, pay_per_answer="0.125", currency="USD", open_to="panel")
    organizer = Someone("organizer")
    campaign.organizers.add(organizer.user)
    recruiting = f"/campaigns/{campaign.slug}/recruiting/"
    form = organizer.client.get(recruiting).context["form"]
    given = {field.html_name: "" if field.value() is None else field.value() for field in form}
    given |= {"platform": "external_question", "answers": "2", "reward": "0.20", "frame_height": "700"}
    organizer.do(
        recruiting, 302, **given | {"approval_rate": "95", "approved_tasks": "5000", "countries": "US"}
    )
    sent = organizer.client.get(recruiting)
    page = sent.content.decode()
    check_page(page, sent.headers["Content-Security-Policy"])
    settings = panels.panel_settings(campaign)
    assert (settings.name, settings.participant, settings.redirect) == ("mturk", "workerId", "")

    # The files for a HIT.
    files = dict(re.findall(r'href="data:[^,]*,([^"]*)" download="([^"]*)"', page))
    files = {name: unquote(content) for content, name in files.items()}
    question = ElementTree.fromstring(files[f"external-question-{campaign.slug}.xml"])
    schema = (
        "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd}"
    )
    assert [(part.tag, part.text) for part in question] == [
        (f"{schema}ExternalURL", f"https://testserver/annotate/{campaign.slug}/enter/"),
        (f"{schema}FrameHeight", "700"),
    ]
    assert json.loads(files[f"worker-requirements-{campaign.slug}.json"]) == [
        {
            "QualificationTypeId": "000000000000000000L0",
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [95],
            "ActionsGuarded": "Accept",
        },
        {
            "QualificationTypeId": "00000000000000000040",
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [5000],
            "ActionsGuarded": "Accept",
        },
        {
            "QualificationTypeId": "00000000000000000071",
            "Comparator": "In",
            "LocaleValues": [{"Country": "US"}],
            "ActionsGuarded": "Accept",
        },
    ]

    # The preview shows the first item, and nobody has entered.
    place = f"/annotate/{campaign.slug}/"
    client = Client(enforce_csrf_checks=True)
    preview = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H1", "turkSubmitTo": SANDBOX}
    sent = client.get(f"{place}enter/", preview)
    shown = check_framed(sent)
    assert "This is a preview" in shown
    assert "<fieldset disabled" in shown
    assert "a hound" in shown
    assert not Worker.objects.exists()
    assert not Assignment.objects.exists()
    assert f"annotate-{campaign.pk}" not in client.cookies

    # An accepted assignment.
    entered = client.get(f"{place}enter/", turk())
    assert entered.headers["Location"] == place
    check_framed(entered)
    agree(client, place)
    assert "externalSubmit" not in client.get(place).content.decode()
    answer_all(client, place, 2)
    sent = client.get(place)
    last = check_framed(sent, f"form-action 'self' {SANDBOX}")
    (target,) = re.findall(r'<form method="post" action="(https:[^"]*)"', last)
    assert target == f"{SANDBOX}/mturk/externalSubmit"
    code = settings.codes["completed"]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', last))
    assert fields == {"assignmentId": "A1", "completionCode": code}
    # The same assignment again ends at the same form; the next assignment is a new session.
    client.get(f"{place}enter/", turk())
    assert f'value="{code}"' in client.get(place).content.decode()
    client.get(f"{place}enter/", turk("A2", site=PRODUCTION))
    answer_all(client, place, 2)
    last = check_framed(client.get(place), f"form-action 'self' {PRODUCTION}")
    assert f'action="{PRODUCTION}/mturk/externalSubmit"' in last
    assert 'name="assignmentId" value="A2"' in last

    # The bonuses: two answers at 0.125 are 0.25, of which the reward pays 0.20.
    sent = organizer.client.get(f"/campaigns/{campaign.slug}/bonuses.csv")
    rows = list(csv.DictReader(sent.content.decode().splitlines()))
    reason = "2 answers at 0.125 USD, less the reward of 0.20 USD"
    assert [tuple(row.values()) for row in rows] == [("W1", one, "0.05", reason) for one in ("A1", "A2")]
    assert list(rows[0]) == ["WorkerId", "AssignmentId", "BonusAmount", "Reason"]
    by_api = user_program("staff", is_staff=True).client.get(f"/api/campaigns/{campaign.slug}/bonuses")
    assert by_api.content == sent.content

    # The comparison with Turk's results.
    head = ",".join(f'"{name}"' for name in (*RESULTS_HEAD, "Answer.completionCode"))
    lines = [head, f'"H1","A1","W1","Submitted","64","{code}"', '"H1","A3","W3","Submitted","9","CX"']
    found = reconcile(None, campaign, "\n".join(lines).encode())
    assert {(row.submission, row.found, row.suggestion) for row in found.rows} == {
        ("A1", "both", "approve"),
        ("A2", "here", "look at it"),
        ("A3", "export", "look at it"),
    }
    assert found.missing == []


def test_every_other_site_is_refused() -> None:
    campaign = make(answers=5)
    set_up(campaign)
    place = f"/annotate/{campaign.slug}/enter/"
    wrong = [
        "http://www.mturk.com",
        "https://www.mturk.com/",
        "https://www.mturk.com.example.org",
        "https://example.org",
        "https://www.mturk.com:444",
        "javascript:alert(1)",
        "",
    ]
    for site in wrong:
        sent = Client().get(place, turk(site=site))
        assert sent.status_code == 403, site
        assert "must come from Mechanical Turk" in check_framed(sent)
    for missing in ("assignmentId", "hitId", "workerId", "turkSubmitTo"):
        query = {name: value for name, value in turk().items() if name != missing}
        assert Client().get(place, query).status_code == 403
        Program("").ask("POST", f"annotate/{campaign.slug}/enter", {"parameters": query}, 403)
    with pytest.raises(EntryError, match="accept"):
        panels.enter(campaign, turk("ASSIGNMENT_ID_NOT_AVAILABLE"))
    assert not Participation.objects.exists()


def test_pages_are_framed_only_for_workers_of_mechanical_turk() -> None:
    campaign, other = make(answers=5), make(answers=5)
    set_up(campaign)
    panels.set_panel(None, other, {"name": "prolific", "answers": 2})
    user = Someone("ann").client
    for sent in (
        user.get(f"/annotate/{campaign.slug}/"),
        user.get("/"),
        Client().get(f"/annotate/{other.slug}/enter/", turk()),
        Client().get(f"/annotate/{other.slug}/enter/", turk("ASSIGNMENT_ID_NOT_AVAILABLE")),
    ):
        assert sent.headers["X-Frame-Options"] == "DENY"
        assert policy(sent)["frame-ancestors"] == "frame-ancestors 'none'"
    assert user.cookies["csrftoken"]["samesite"] == "Lax"


def test_a_frame_without_cookies_names_the_cause() -> None:
    campaign = make(answers=5)
    set_up(campaign)
    place = f"/annotate/{campaign.slug}/"
    sent = Client().get(place, headers={"Sec-Fetch-Dest": "iframe"})
    assert sent.status_code == 403
    assert "did not store the cookie" in check_framed(sent)
    assert Client().get(place).status_code == 302


def test_a_worker_who_does_not_agree_returns_the_hit() -> None:
    campaign = make(answers=5)
    set_up(campaign)
    place = f"/annotate/{campaign.slug}/"
    client = Client()
    client.get(f"{place}enter/", turk())
    client.post(f"{place}finish/", {"outcome": "no_consent"})
    text = check_framed(client.get(place))
    assert "Please return this HIT" in text
    assert "externalSubmit" not in text


def test_a_worker_who_stops_submits_and_the_requester_decides() -> None:
    campaign = make(answers=5)
    settings = set_up(campaign)
    place = f"/annotate/{campaign.slug}/"
    client = Client()
    client.get(f"{place}enter/", turk())
    client.post(f"{place}agree/", {"texts": "1"})
    client.post(f"{place}finish/", {"outcome": "returned"})
    code = settings.codes["returned"]
    assert f'value="{code}"' in client.get(place).content.decode()
    lines = ["AssignmentId,WorkerId,AssignmentStatus,Answer.completionCode", f"A1,W1,Submitted,{code}"]
    (row,) = reconcile(None, campaign, "\n".join(lines).encode()).rows
    # Mechanical Turk has no returns after a submission.
    assert (row.suggestion, row.reason) == ("look at it", "stopped before the end")
    organizer = Someone("organizer")
    campaign.organizers.add(organizer.user)
    page = organizer.see(f"/campaigns/{campaign.slug}/recruiting/")
    assert "Request a return" not in page
    assert settings.codes["no_consent"] not in page


def test_a_worker_who_withdraws_can_submit() -> None:
    campaign = make(answers=5)
    settings = set_up(campaign)
    place = f"/annotate/{campaign.slug}/"
    client = Client()
    client.get(f"{place}enter/", turk())
    client.post(f"{place}agree/", {"texts": "1"})
    left = check_framed(client.post(f"{place}leave/", {"sure": "yes"}), f"form-action 'self' {SANDBOX}")
    assert 'name="assignmentId" value="A1"' in left
    assert f'value="{settings.codes["withdrew"]}"' in left
    assert not Session.objects.filter(session="A1").exists()


def test_assignments_that_a_worker_opened_in_another_order() -> None:
    campaign = make(answers=5, items=8)
    set_up(campaign)
    place = f"/annotate/{campaign.slug}/"
    client = Client()
    client.get(f"{place}enter/", turk("A1"))
    client.post(f"{place}agree/", {"texts": "1"})
    # A2 is opened before the first answer to A1, and completed; then A1 is opened again.
    client.get(f"{place}enter/", turk("A2"))
    for _ in range(2):
        lease = re.findall(rf"{place}([0-9a-f-]{{36}})/answer/", client.get(place).content.decode())[0]
        client.post(f"{place}{lease}/answer/", {"choice": "left"})
    assert 'name="assignmentId" value="A2"' in client.get(place).content.decode()
    client.get(f"{place}enter/", turk("A1"))
    page = client.get(place).content.decode()
    assert 'id="work"' in page
    lease = re.findall(rf"{place}([0-9a-f-]{{36}})/answer/", page)[0]
    client.post(f"{place}{lease}/answer/", {"choice": "left"})
    # A3 interrupts A1 after an answer, so A1 can't be completed any more.
    client.get(f"{place}enter/", turk("A3"))
    refused = client.get(f"{place}enter/", turk("A1"))
    assert refused.status_code == 403
    assert "return this HIT" in refused.content.decode()
    assert [one.answers for one in payments.lines(campaign)] == [2, 1, 0]


def test_bonuses_need_a_rate_in_dollars(capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (dict[str, Any](), "has no pay per answer"),
        ({"pay_per_answer": "0.1", "currency": "EUR"}, "pays in USD"),
    ):
        campaign = make(answers=5, **options)
        set_up(campaign)
        with pytest.raises(CampaignError, match=message):
            bonuses_csv(None, campaign)
    campaign = make(answers=5, pay_per_answer="0.1", currency="USD")
    with pytest.raises(CampaignError, match="no panel of Mechanical Turk"):
        bonuses_csv(None, campaign)
    set_up(campaign)
    annotation_workers.payments(campaign.slug, bonuses=True)
    assert capsys.readouterr().out.strip() == "WorkerId,AssignmentId,BonusAmount,Reason"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"redirect": "https://example.org/{code}"}, "redirect must be empty"),
        ({"participant": "other"}, "participant must be 'workerId'"),
        ({"signed": signing()}, "does not sign"),
        ({"external_question": {"reward": "0,2"}}, "reward"),
        ({"external_question": {"frame_height": -1}}, "frame_height"),
    ],
)
def test_settings_that_do_not_fit(content: dict[str, Any], message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        set_up(make(answers=5), **content)


def test_the_requirements_of_a_panel_without_conditions() -> None:
    assert external_questions.list_requirements(approval_rate=0, approved_tasks=0, countries=[]) == []
