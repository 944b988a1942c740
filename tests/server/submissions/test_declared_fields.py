"""Declared fields with types: on pages, in the API, and as filters of leaderboards."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_files import import_challenge, preview_files
from capeval_server.hosting.services.description import to_toml
from capeval_server.hosting.services.final_results import make_final
from capeval_server.submissions.models import Submission
from tests.server.boards import baseline, stand
from tests.server.kit import RESULTS, Participant, Someone, results, zipped
from tests.server.pages import check_page, read_settings

pytestmark = pytest.mark.django_db

KINDS = ("COCO only", "extra pairs", "ground-truth boxes")
FIELDS = """fields = [
    { name = "method", required = true },
    { name = "training-data", required = true, type = "choice", choices = CHOICES, phase_choices = ACCEPTED },
    { name = "ensemble", type = "boolean" },
    { name = "parameters", type = "number" },
    { name = "code", type = "url" },
    { name = "contact", shown = false },
]
""".replace("CHOICES", '["COCO only", "extra pairs", "ground-truth boxes"]').replace(
    "ACCEPTED", '{ open = ["COCO only", "extra pairs"] }'
)
BOARD = "/small/open/"
API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"


@pytest.fixture
def definition(definition: Path) -> Path:
    """The definition of the small challenge, with fields of each type."""
    lines = definition.read_text().splitlines(keepends=True)
    kept = [FIELDS if line.startswith("fields = ") else line for line in lines]
    assert FIELDS in kept
    definition.write_text("".join(kept))
    return definition


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"training-data": "ground-truth boxes"},
            "'training-data' must be one of 'COCO only', 'extra pairs' (got 'ground-truth boxes');"
            " phase 'open' accepts no other choices",
        ),
        ({"ensemble": "maybe"}, "'ensemble' must be yes or no (got 'maybe')"),
        ({"parameters": "1,5"}, "'parameters' must be a number, such as 1.5 (got '1,5')"),
        ({"parameters": "nan"}, "'parameters' must be a number, such as 1.5 (got 'nan')"),
        ({"parameters": "1_0"}, "'parameters' must be a number"),
        ({"code": "javascript:alert(1)"}, "'code' must be the address of a page, with http:// or https://"),
        ({"code": "https://good.org@evil.org/"}, "'code' must be the address of a page"),
        ({"code": "https://["}, "'code' must be the address of a page"),
        (
            {"training-data": " "},
            "a submission must declare 'training-data' (one of 'COCO only', 'extra pairs')",
        ),
    ],
)
def test_values_of_the_wrong_type_are_rejected(
    ann: Participant, declared: dict[str, str], message: str
) -> None:
    given = {"training-data": "COCO only", **declared}
    answer = ann.submit(**given)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    form = {f"declared-{name}": value for name, value in {"method": "m", **given}.items()}
    file = SimpleUploadedFile(RESULTS, results())
    page = ann.client.post(f"{BOARD}submit/?key=k", {**form, "file": file})
    assert page.status_code == 422
    check_page(page.content.decode(), page.headers["Content-Security-Policy"])
    assert not Submission.objects.exists()


def test_values_are_stored_in_one_form(ann: Participant) -> None:
    page = ann.see(f"{BOARD}submit/")
    assert '<select name="declared-training-data" required' in page
    assert '<option value="extra pairs">extra pairs</option>' in page
    assert '<option value="ground-truth boxes">' not in page
    assert '<input type="url" name="declared-code"' in page
    form = {"method": "m", "training-data": "extra pairs", "ensemble": "yes", "parameters": " 1.5e9 "}
    file = SimpleUploadedFile(RESULTS, results())
    sent = {f"declared-{name}": value for name, value in form.items()} | {"file": file}
    assert ann.client.post(f"{BOARD}submit/?key=k", sent).status_code == 302
    stored = {"method": "m", "training-data": "extra pairs", "ensemble": "yes", "parameters": "1.5e9"}
    assert Submission.objects.get().declared == stored
    # By the API: other letters, and an empty optional value.
    given = {"training-data": "COCO only", "ensemble": "NO", "code": "", "parameters": "7"}
    submission = ann.submitted(**given)
    assert submission.declared == {
        "method": "m",
        "training-data": "COCO only",
        "ensemble": "no",
        "parameters": "7",
    }
    # The next form begins with them.
    assert '<option value="COCO only" selected>' in ann.see(f"{BOARD}submit/")


def _list_teams(path: str) -> list[str]:
    answer = Client().get(path)
    assert answer.status_code == 200, answer.content
    return [row["team"] for row in answer.json()["rows"]]


def _fill(phase: Phase) -> None:
    values = [("a", 1.0, KINDS[0], "no"), ("b", 0.9, KINDS[1], "yes"), ("c", 0.8, KINDS[0], "yes")]
    for team, score, kind, ensemble in values:
        declared = {"training-data": kind, "ensemble": ensemble, "method": f"method {team}"}
        stand(team, score, phase=phase, declared=declared)


def test_a_leaderboard_is_filtered_by_choices(phase: Phase) -> None:
    _fill(phase)
    baseline(2.0)
    assert _list_teams(API) == ["human", "a", "b", "c"]
    only = f"{API}&declared=training-data:COCO only"
    assert _list_teams(only) == ["human", "a", "c"]
    assert _list_teams(f"{only}&declared=ensemble:yes") == ["human", "c"]
    found: Any = Client().get(only).json()
    assert found["declared"] == {"training-data": "COCO only"}
    # Ranks are among the selected rows.
    assert [row["rank"] for row in found["rows"]] == [None, 1, 2]
    rows = list(csv.DictReader(io.StringIO(Client().get(f"{only}&format=csv").content.decode())))
    assert [row["team"] for row in rows] == ["human", "a", "c"]
    assert rows[1]["training-data"] == "COCO only"
    for wrong in ("training-data:mine", "method:method a", "contact:x", "x"):
        assert Client().get(f"{API}&declared={wrong}").status_code == 422
        assert Client().get(f"{BOARD}?declared={wrong}").status_code == 404


def test_the_page_of_a_leaderboard_offers_the_choices(phase: Phase) -> None:
    _fill(phase)
    answer = Client().get(BOARD)
    page = answer.content.decode()
    check_page(page, answer.headers["Content-Security-Policy"])
    assert '<nav aria-label="Training data">' in page
    assert "declared=training-data%3ACOCO+only" in page
    assert '<span class="badge quiet"><bdi>extra pairs</bdi></span>' in page
    # The method is a text, never a choice that is declared first.
    assert '<span title="method a"><bdi>method a</bdi></span>' in page
    filtered = Client().get(f"{BOARD}?declared=training-data:COCO+only").content.decode()
    assert "method a" in filtered
    assert "method b" not in filtered
    # Other links keep the filter: columns, the plot, CSV and citation.
    assert filtered.count("declared=training-data%3ACOCO+only") > 5


def test_final_results_are_filtered_too(phase: Phase) -> None:
    _fill(phase)
    phase.closes = timezone.now()
    phase.save()
    make_final(None, phase)
    assert _list_teams(f"{API}&declared=ensemble:yes") == ["b", "c"]


def test_fields_survive_an_export_and_an_import(challenge: Challenge, definition: Path) -> None:
    before = to_toml(challenge)
    assert 'type = "choice"' in before
    exported = definition.parent / "exported.toml"
    exported.write_text(before)
    assert to_toml(import_challenge(exported)) == before
    changed = before.replace('"extra pairs"', '"more pairs"')
    preview = preview_files(challenge, [zipped({"challenge.toml": changed.encode()})])
    ((place, old, new),) = preview.changes
    assert place == "challenge.fields"
    assert "COCO only | extra pairs | ground-truth boxes" in old
    assert "COCO only | more pairs | ground-truth boxes" in new
    fields = Client().get("/api/challenges/small").json()["fields"]
    assert fields[1]["choices"] == list(KINDS)
    assert fields[1]["phase_choices"] == {"open": ["COCO only", "extra pairs"]}
    assert fields[2] == {
        "name": "ensemble",
        "type": "boolean",
        "choices": [],
        "phase_choices": {},
        "required": False,
        "shown": True,
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"extra pairs"', '"COCO only"', r"choices must have unique names \(got 'COCO only' twice\)"),
        ('"extra pairs"', '" extra"', r"no spaces at their ends \(got ' extra'\)"),
        ('type = "boolean"', 'type = "choice"', r"choices must list at least 2 values .*got 0"),
        ('type = "boolean"', 'choices = ["a", "b"]', "choices must be empty for the type text"),
        ('type = "boolean"', 'type = "date"', r"challenge\.fields\[2\]\.type: Input should be 'text'"),
        ('name = "ensemble"', 'name = "2015"', r"name must contain a letter .*got '2015'"),
        ("{ open = [", "{ final = [", "'phase_choices of field training-data' must be one of open "),
        (
            '{ open = ["COCO only"',
            '{ open = ["mine"',
            "'phase_choices of phase open' must be one of COCO only",
        ),
        ('["COCO only", "extra pairs"] }', "[] }", "phase_choices of phase open must list at least 1"),
    ],
)
def test_a_wrong_definition_of_a_field_is_named(definition: Path, old: str, new: str, message: str) -> None:
    text = definition.read_text()
    assert old in text
    definition.write_text(text.replace(old, new))
    with pytest.raises(ChallengeError, match=message):
        import_challenge(definition)


def test_fields_are_edited_on_a_page(challenge: Challenge, olga: Someone) -> None:
    page = olga.see("/small/organize/edit/")
    assert 'value="choice" selected' in page
    assert "COCO only\nextra pairs" in page.replace("\r", "")
    form = read_settings(olga.client)
    form |= {"fields-2-type": "choice", "fields-2-choices": "one\r\n two \r\n\r\n"}
    olga.do("/small/organize/edit/", **form)
    fields = {field.name: field for field in Challenge.objects.get().declared_fields}
    assert fields["ensemble"].choices == ("one", "two")
    assert fields["training-data"].choices == KINDS
    assert fields["training-data"].phase_choices == {"open": ["COCO only", "extra pairs"]}
    form = {**read_settings(olga.client), "fields-1-phase_choices": "open: extra pairs\r\n"}
    olga.do("/small/organize/edit/", **form)
    fields = {field.name: field for field in Challenge.objects.get().declared_fields}
    assert fields["training-data"].phase_choices == {"open": ["extra pairs"]}
    answer = olga.client.post(
        "/small/organize/edit/",
        {**read_settings(olga.client), "fields-1-phase_choices": "open"},
    )
    assert answer.status_code == 422
    assert (
        "must be lines such as &#x27;test: first choice | second choice&#x27; (got &#x27;open&#x27;)"
        in answer.content.decode()
    )
    wrong = {**read_settings(olga.client), "fields-2-choices": "one"}
    answer = olga.client.post("/small/organize/edit/", wrong)
    assert answer.status_code == 422
    assert "choices must list at least 2 values" in answer.content.decode()
