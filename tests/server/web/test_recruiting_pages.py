"""Recruiting pages: the panel's form, its address and codes, and the comparison with its export."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile

from capeval_server.annotation.models import Campaign, Panel, Session
from capeval_server.annotation.workers import panels
from capeval_server.audit.models import Action
from capeval_server.web.campaigns.recruiting import OUTCOMES
from capeval_server.web.campaigns.recruiting_forms import PROLIFIC_RETURN
from tests.server.annotation.test_panels import AUDIENCE, ids, panel, signed, signing
from tests.server.annotation.test_reconciliation import come, export, row
from tests.server.campaigns import make
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make(answers=3, items=6)


@pytest.fixture
def manager(campaign: Campaign) -> Someone:
    found = Someone("manager")
    campaign.organizers.add(found.user)
    return found


def place(campaign: Campaign) -> str:
    return f"/campaigns/{campaign.slug}/recruiting/"


def see(who: Someone, campaign: Campaign) -> Any:
    sent = who.client.get(place(campaign))
    assert sent.status_code == 200
    check_page(sent.content.decode(), sent.headers["Content-Security-Policy"])
    return sent


def filled(who: Someone, campaign: Campaign, **changes: Any) -> dict[str, Any]:
    """The values of the form as a browser sends them, with changes."""
    form = see(who, campaign).context["form"]
    return {field.html_name: "" if field.value() is None else field.value() for field in form} | changes


def send(who: Someone, campaign: Campaign, status: int = 302, **changes: Any) -> Any:
    sent = who.client.post(place(campaign), filled(who, campaign, **changes))
    assert sent.status_code == status
    if status != 302:
        check_page(sent.content.decode(), sent.headers["Content-Security-Policy"])
    return sent


def test_a_study_of_prolific_is_set_up_with_two_fields(campaign: Campaign, manager: Someone) -> None:
    empty = see(manager, campaign).content.decode()
    assert "No panel yet." in empty
    assert "Completion codes" not in empty
    send(manager, campaign, studies="6740a1\r\n 6740a2, 6740a1", answers="2")
    made = panels.panel_settings(campaign)
    assert (made.name, made.studies, made.answers, made.redirect, made.signed) == (
        "prolific",
        ["6740a1", "6740a2"],
        2,
        PROLIFIC_RETURN,
        None,
    )
    text = see(manager, campaign).content.decode()
    address = (
        f"http://testserver/annotate/{campaign.slug}/enter/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
        "&amp;STUDY_ID={{%STUDY_ID%}}&amp;SESSION_ID={{%SESSION_ID%}}"
    )
    assert f">{address}</code>" in text
    assert all(f"<code>{code}</code>" in text for code in made.codes.values())
    assert set(OUTCOMES) == set(Session.Outcome.values) == set(made.codes)
    assert f"/campaigns/{campaign.slug}/workers/#invite" in text
    assert "The links are not signed" in text
    action = Action.objects.get(what__startswith="set the panel")
    assert action.who == "manager"


def test_codes_are_kept_and_sessions_counted(campaign: Campaign, manager: Someone) -> None:
    codes = panel(campaign, codes={"completed": "MYCODE1"}).codes
    panels.enter(campaign, ids())
    panels.end(panels.enter(campaign, ids("bob")).sessions.get(), "returned")
    send(manager, campaign, answers="5")
    assert panels.panel_settings(campaign).codes == codes
    rows = {row.outcome: row for row in see(manager, campaign).context["codes"]}
    assert {name: row.sessions for name, row in rows.items() if row.sessions} == {"returned": 1}
    assert rows["completed"].code == "MYCODE1"
    text = see(manager, campaign).content.decode()
    assert "2 workers from a panel; 0 with a link or an account." in text
    assert "No unused links." in text


def test_another_panel_with_signed_links(campaign: Campaign, manager: Someone) -> None:
    names: dict[str, Any] = {"participant": "worker_id", "study": "project", "session": "visit"}
    assert filled(manager, campaign)["audience"] == "http://testserver"
    keys = json.dumps(signing()["keys"])
    send(manager, campaign, name="other", redirect="", keys=keys, audience=AUDIENCE, **names)
    text = see(manager, campaign).content.decode()
    assert "?worker_id={worker_id}&amp;project={project}&amp;visit={visit}</code>" in text
    assert f"Only links signed for <code>{AUDIENCE}</code>" in text
    given = {"worker_id": "ann", "project": "p", "visit": "v"}
    assert panels.enter(campaign, signed(given)).sessions.get().verified
    # Saved again without changes, everything is as before.
    before = Panel.objects.get().settings
    send(manager, campaign)
    assert Panel.objects.get().settings == before


def test_conditions_are_stored_and_named_as_in_the_panels(campaign: Campaign, manager: Someone) -> None:
    send(manager, campaign)
    assert "No conditions." in see(manager, campaign).content.decode()
    send(manager, campaign, approval_rate="95", approved_tasks="5000", countries="us, GB  us")
    made = panels.panel_settings(campaign)
    assert (made.approval_rate, made.approved_tasks, made.countries) == (95, 5000, ["US", "GB"])
    text = see(manager, campaign).content.decode()
    for cells in (
        ("at least 95 %", "Approval Rate", "HIT Approval Rate (%) for all Requesters&#x27; HITs"),
        ("at least 5,000", "Number of previous submissions", "Number of HITs Approved"),
        ("US, GB", "Current Country of Residence", "Location"),
    ):
        assert "".join(f"<td>{cell}</td>" for cell in cells) in text
    assert filled(manager, campaign)["countries"] == "US, GB"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("studies", "6740a1 straße", "“straße” is not an id of a study."),
        ("answers", "0", "greater than or equal to 1"),
        ("answers", "", "required"),
        ("approval_rate", "101", "less than or equal to 100"),
        ("countries", "US, Narnia", "“NARNIA” is not the code of a country"),
        ("redirect", "http://x.org/{code}", "must begin with https:// and contain {code} once"),
        ("redirect", "https://x.org/", "must begin with https:// and contain {code} once"),
        ("name", "My Panel", "lower-case letters"),
        ("participant", "a&b", "name of a query parameter"),
        ("session", "STUDY_ID", "must have different names"),
        ("keys", "{", "must be JSON"),
        ("keys", "{}", "must be a JSON Web Key Set"),
        ("keys", json.dumps({"keys": ["x"]}), "must be a JSON Web Key Set"),
        ("audience", "", "Signed links need an audience"),
    ],
)
def test_errors_are_next_to_their_fields_and_nothing_is_lost(
    campaign: Campaign, manager: Someone, field: str, value: str, message: str
) -> None:
    changes = {field: value, "claim": "mine"}
    if field == "audience":
        changes["keys"] = json.dumps(signing()["keys"])
    form = send(manager, campaign, 422, **changes).context["form"]
    assert list(form.errors) == [field]
    assert message in str(form.errors[field])
    assert {name: form[name].value() for name in changes} == changes
    assert form.more_is_wrong == (field not in ("studies", "answers", "redirect"))
    assert not Panel.objects.exists()


def test_a_draft_says_that_nobody_can_enter(manager: Someone) -> None:
    draft = make(answers=1, state="draft")
    draft.organizers.add(manager.user)
    assert "Nobody can enter a draft." in see(manager, draft).content.decode()


def test_an_export_is_compared_and_not_stored(campaign: Campaign, manager: Someone) -> None:
    address = f"{place(campaign)}reconciliation/"
    assert "Set up a panel</a> first" in manager.client.get(address).content.decode()
    panel(campaign)
    come(campaign, "ann", 2)

    def send_export(data: bytes, status: int) -> str:
        sent = manager.client.post(address, {"export": SimpleUploadedFile("export.csv", data)})
        text: str = sent.content.decode()
        assert sent.status_code == status
        assert "no-store" in sent.headers["Cache-Control"]
        check_page(text, sent.headers["Content-Security-Policy"])
        return text

    assert "lacks the columns" in send_export(b"a,b\n", 422)
    text = send_export(export(row("s-ann", "ann"), row("<b>", "Uniquemarker", "C1")), 200)
    assert "Completed here; the code was not entered." in text
    assert "Approve: 1" in text
    assert "&lt;b&gt;" in text
    assert 'href="data:text/csv;charset=utf-8,submission%2Cparticipant' in text
    stored = [str(list(model._default_manager.values_list())) for model in apps.get_models()]
    assert not any("Uniquemarker" in rows for rows in stored)
