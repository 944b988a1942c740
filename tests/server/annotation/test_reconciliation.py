"""Comparison of a panel's export of submissions with the sessions of a campaign."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.responses import assignment, session_end
from capeval_server.annotation.review import moderation, withdrawal
from capeval_server.annotation.workers import panels
from capeval_server.annotation.workers.reconciliation import (
    MOST_BYTES,
    SUGGESTIONS,
    Reconciliation,
    read_export,
    reconcile,
    reconciliation_csv,
)
from capeval_server.audit.models import Action
from capeval_server.commands import reconciliation as commands
from capeval_server.core.errors import CampaignError
from tests.server.annotation.test_api import user_program
from tests.server.annotation.test_panels import begin, ids, panel
from tests.server.campaigns import answer, hold, make

HEAD = ("Submission id", "Participant id", "Status", "Started at", "Time taken", "Completion code")
SETTINGS = panels.PanelSettings(name="prolific", answers=2)


def export(*rows: tuple[str, ...], head: tuple[str, ...] = HEAD, separator: str = ",") -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator).writerows([head, *rows])
    return out.getvalue().encode()


def row(session: str, person: str, code: str = "", status: str = "AWAITING REVIEW") -> tuple[str, ...]:
    return session, person, status, "2026-01-01", "812", code


def come(campaign: Campaign, person: str, number: int, **given: str) -> Participation:
    """Let a worker come from the panel and answer some items."""
    worker = begin(campaign, person=person, session=f"s-{person}", **given)
    for _ in range(number):
        answer(hold(worker))
    assignment.assign_work(worker)
    return worker


def advice(result: Reconciliation) -> dict[str, tuple[str, str, str]]:
    return {one.submission: (one.found, one.suggestion, one.reason) for one in result.rows}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_are_found_by_name(separator: str) -> None:
    head = ("status", "PARTICIPANT_ID", "Age", "submission-id", "CompletionCode")
    data = export(("APPROVED", "ann", "33", "s1", "C1"), (), head=head, separator=separator)
    found = read_export(b"\xef\xbb\xbf" + data, SETTINGS)
    (one,) = found.submissions
    assert (one.submission, one.participant, one.status, one.entered) == ("s1", "ann", "APPROVED", "C1")
    assert found.missing == ["Time taken"]
    own = panels.PanelSettings(name="other", answers=2, participant="who", session="visit")
    bare = read_export(export(("v", "w"), head=("Visit", "Who")), own)
    assert bare.submissions[0].participant == "w"
    assert bare.missing == ["Status", "Completion code", "Time taken"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "lacks the columns 'Submission id' and 'Participant id' (found: none)"),
        (
            b"Submission id,a,b,c,d,e\n",
            "lacks the column 'Participant id' (found: 'Submission id', 'a', 'b',",
        ),
        (export(row("s1", "a"), row("s2", "b"), row("s1", "c")), "submission 's1' twice (lines 2 and 4)"),
        (b"PK\x03\x04\xff\xfe", "must be a CSV file in UTF-8"),
        (b'Submission id,Participant id\n"s1', "must be a CSV file"),
        (b"x" * (MOST_BYTES + 1), "at most 20,000,000 bytes"),
    ],
)
def test_an_export_that_cannot_be_read(data: bytes, message: str) -> None:
    with pytest.raises(CampaignError) as caught:
        read_export(data, SETTINGS)
    assert message in str(caught.value)


@pytest.fixture
def campaign() -> Campaign:
    made = make(answers=30, items=4)
    panel(made)
    return made


@pytest.mark.django_db
def test_each_submission_gets_a_suggestion_and_none_is_a_rejection(campaign: Campaign) -> None:
    codes = panels.panel_settings(campaign).codes
    for person in ("done", "nocode", "wrongcode", "timed", "decided", "blocked"):
        come(campaign, person, 2)
    come(campaign, "halfway", 1)
    session_end.end_session(come(campaign, "stopped", 1), "returned")
    session_end.end_session(panels.enter(campaign, ids("declined", "s-declined")), "no_consent")
    moderation.block(None, panels.enter(campaign, ids("blocked", "s-blocked")), "copies")
    withdrawal.withdraw(None, come(campaign, "gone", 1))
    come(campaign, "unlisted", 1)
    come(campaign, "elsewhere", 1, study="study2")
    begin(campaign, person="idle", session="s-idle")
    data = export(
        row("s-done", "done", codes["completed"].lower()),
        row("s-nocode", "nocode", "NOCODE"),
        row("s-wrongcode", "wrongcode", codes["returned"]),
        row("s-timed", "timed", status="TIMED-OUT"),
        row("s-decided", "decided", status="APPROVED"),
        row("s-blocked", "blocked", codes["completed"]),
        row("s-halfway", "halfway"),
        row("s-stopped", "stopped", codes["returned"]),
        row("s-declined", "declined", codes["no_consent"]),
        row("s-gone", "gone", codes["withdrew"]),
        row("s-absent", "absent", codes["completed"]),
        row("s-early", "early", status="RETURNED"),
        row("s-running", "running", status="ACTIVE"),
        row("s-idle", "somebody else"),
    )
    result = reconcile(None, campaign, data)
    found = advice(result)
    assert {name: found[name][:2] for name in found if name != "s-idle"} == {
        "s-done": ("both", "approve"),
        "s-nocode": ("both", "approve"),
        "s-wrongcode": ("both", "look at it"),
        "s-timed": ("both", "look at it"),
        "s-decided": ("both", "nothing"),
        "s-blocked": ("both", "look at it"),
        "s-halfway": ("both", "look at it"),
        "s-stopped": ("both", "ask for return"),
        "s-declined": ("both", "ask for return"),
        "s-gone": ("export", "look at it"),
        "s-absent": ("export", "look at it"),
        "s-early": ("export", "nothing"),
        "s-running": ("export", "nothing"),
        "s-unlisted": ("here", "look at it"),
    }
    assert "entered the code of 'returned'" in found["s-wrongcode"][2]
    assert "may have been shared" in found["s-absent"][2]
    assert "pay for the work done" in found["s-gone"][2]
    assert found["s-stopped"][2] == "stopped before the end (answers: 1)"
    twice = {(one.found, one.suggestion) for one in result.rows if one.submission == "s-idle"}
    assert twice == {("export", "look at it"), ("here", "nothing")}
    assert not any("reject" in name for name in SUGGESTIONS)
    assert result.found == {"both": 9, "export": 5, "here": 2}
    assert result.suggestions == {"look at it": 8, "ask for return": 2, "approve": 2, "nothing": 4}
    assert (result.other_studies, result.withdrawn, result.missing) == (1, 1, [])
    first = next(one for one in result.rows if one.submission == "s-done")
    assert (first.outcome, first.code, first.answers, first.seconds) == (
        "completed",
        codes["completed"],
        2,
        "812",
    )


@pytest.mark.django_db
def test_rejected_answers_are_for_a_person_to_look_at() -> None:
    campaign = make("write", answers=3, items=4, batch=1, review_first=9)
    panel(campaign)
    worker = begin(campaign, person="ann", session="s1")
    first, _ = answer(hold(worker)), answer(hold(worker))
    assignment.assign_work(worker)
    moderation.review(User.objects.create(username="rita"), first.response, "rejected", reason="copied")
    (_, suggestion, reason) = advice(reconcile(None, campaign, export(row("s1", "ann"))))["s1"]
    assert (suggestion, reason) == ("look at it", "completed, but 1 of 2 answers were rejected in review")


@pytest.mark.django_db
def test_formulas_are_escaped_and_numbers_are_not(campaign: Campaign) -> None:
    result = reconcile(None, campaign, export(("=cmd()", "-7", "", "", "-812", "+HYPERLINK()")))
    (line,) = csv.DictReader(io.StringIO(reconciliation_csv(result.rows)))
    assert (line["submission"], line["entered"]) == ("'=cmd()", "'+HYPERLINK()")
    assert (line["participant"], line["seconds"], line["answers"]) == ("-7", "-812", "0")


@pytest.mark.django_db
def test_by_the_api_and_the_command_line(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    come(campaign, "ann", 2)
    data = export(row("s-ann", "ann"))
    staff, somebody = user_program("staff", is_staff=True), user_program("somebody")
    address = f"/api/campaigns/{campaign.slug}/panel/reconciliation"

    def send(who: Any, content: bytes = data) -> Any:
        return who.client.post(address, {"export": SimpleUploadedFile("export.csv", content)})

    got = send(staff).json()
    assert got["suggestions"]["approve"] == 1
    assert got["rows"][0]["reason"] == "completed here; the code was not entered"
    assert send(somebody).status_code == 404
    assert send(staff, b"a,b").status_code == 422
    path, output = tmp_path / "export.csv", tmp_path / "result.csv"
    path.write_bytes(data)
    commands.reconcile(campaign.slug, path, output)
    (line,) = csv.DictReader(io.StringIO(output.read_text()))
    assert (line["submission"], line["suggestion"]) == ("s-ann", "approve")
    assert "approve: 1; nothing: 0" in capsys.readouterr().err
    logged = Action.objects.filter(what__startswith="compared 1 submission of a panel")
    assert sorted(logged.values_list("who", flat=True)) == ["staff", "the command line"]
    other = make(answers=1)
    with pytest.raises(CampaignError, match="has no panel"):
        reconcile(None, other, data)
