"""Scores reported elsewhere: shown next to a leaderboard, never part of it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from capeval.errors import FormatError, OptionError
from capeval_server.audit.models import COMMAND_LINE, Action
from capeval_server.challenges.models import Challenge, Phase, Reported
from capeval_server.challenges.reported_scores import read_reported
from capeval_server.commands.challenges import reported
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_files import import_challenge, import_files
from capeval_server.hosting.services.export_archive import export
from capeval_server.hosting.services.reported_scores import add_reported, reference_set, reported_csv
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard, places
from tests.server.boards import baseline, stand
from tests.server.kit import Someone

API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PAGE = "/small/open/?split=val&references=c2"
ORGANIZE = "/small/organize/references/val/c2/reported/"
BY_API = "/api/challenges/small/organize/splits/val/references/c2/reported/old"
NAMES = ["BLEU-1", "BLEU-4", "METEOR", "CIDEr-D"]
# As COCO's own files are, with their signs of HTML, and scores that the small challenge has not.
ENTRY = {
    "leaderboard_id": 5,
    "date": "2015-05-29",
    "description": "CNN &amp;amp; LSTM",
    "url": "http://arxiv.org/abs/1411.4555",
    "team": {"id": 41, "members": "", "name": "3D&amp;CV"},
    "results": json.dumps(
        {"CIDEr": 0.943, "Bleu_4": 0.309, "Bleu_1": 0.713, "METEOR": 0.254, "SPICE": 0.182}
    ),
    "results_details": None,
    "publication": "Show and Tell, CVPR 2015",
}
COCO = json.dumps([ENTRY, {**ENTRY, "team": {"name": ""}, "results": '{"CIDEr": 1.5}', "url": ""}]).encode()
TABLE = b'team,method,CIDEr-D,METEOR\nA,first,1.25,0.2\n"\'=1+1",second,0.5,\n'


def test_cocos_files_are_read() -> None:
    rows, left_out = read_reported("c5.json", COCO, NAMES)
    assert left_out == ["SPICE"]
    assert (rows[0].team, rows[0].method, rows[0].date) == ("3D&CV", "CNN & LSTM", "2015-05-29")
    assert rows[0].scores == {"CIDEr-D": 0.943, "BLEU-4": 0.309, "BLEU-1": 0.713, "METEOR": 0.254}
    assert (rows[1].team, rows[1].url, rows[1].scores) == ("", "", {"CIDEr-D": 1.5})


def test_tables_are_read() -> None:
    rows, left_out = read_reported("paper.csv", TABLE, NAMES)
    assert left_out == []
    assert [(row.team, row.method, row.scores) for row in rows] == [
        ("A", "first", {"CIDEr-D": 1.25, "METEOR": 0.2}),
        ("=1+1", "second", {"CIDEr-D": 0.5}),
    ]


def _coco(**change: Any) -> bytes:
    return json.dumps([{**ENTRY, **change}]).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "paper: "),
        (b"method,CIDEr-D\na,1\n", "the first line must name the column 'team'"),
        (b"team,CIDEr-D,CIDEr-D\na,1,2\n", "the first line must name each column once (got 'CIDEr-D' twice)"),
        (b"team,CIDEr-D\na,high\n", "line 2, CIDEr-D must be a number (got 'high')"),
        (b"team,CIDEr-D\na,nan\n", "line 2, CIDEr-D must be a finite number (got 'nan')"),
        (b"team,CIDEr-D,date\na,1,2015\n", "line 2, date must have the form 2015-05-29 (got '2015')"),
        (b"team,CIDEr-D,url\na,1,javascript:x\n", "line 2, url must begin with http:// or https://"),
        (
            b"team,SPICE\na,1\n",
            "of the leaderboard: BLEU-1, BLEU-4, METEOR, CIDEr-D; or a question of human judgments",
        ),
        (b"team\na\n", "(got none)"),
        (b"team,CIDEr-D\n", "the file must have 1 to 1,000 rows (got 0)"),
        (b"[]", "the file must have 1 to 1,000 rows (got 0)"),
        (b"[1]", "entries[0] must be an object (got 1)"),
        (_coco(team="x"), 'entries[0].team must be an object (got "x")'),
        (_coco(results={}), "entries[0].results must be a string (got {})"),
        (_coco(results="[1]"), "entries[0].results must be an object (got [1])"),
        (_coco(results='{"CIDEr": true}'), "entries[0], CIDEr must be a finite number (got 'True')"),
        (_coco(description=1), "entries[0].method must be a string (got 1)"),
        (_coco(publication="a" * 1001), "publication must have at most 1,000 characters, all printable"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        read_reported("paper", data, NAMES)
    assert str(raised.value).startswith("paper: ")
    assert message in str(raised.value)


def _import(challenge: Challenge, data: bytes = TABLE, **about: Any) -> None:
    about = {"title": "An older leaderboard", "url": "https://example.org/old", "ranked": False, **about}
    add_reported(None, reference_set(challenge, "val", "c2"), "old", "old.csv", data, **about)


@pytest.mark.django_db
def test_they_are_never_mixed_with_what_was_scored(phase: Phase) -> None:
    for team, value in (("x", 2.0), ("y", 1.0)):
        stand(team, value)
    baseline(1.5)
    question = build_query(phase, references="c2")
    before, placed = leaderboard(question, full=True), places(question)
    _import(phase.challenge, ranked=True)
    after = leaderboard(question, full=True)
    assert (after.rows, after.total, places(question)) == (before.rows, before.total, placed)
    assert [(entry.team, entry.rank, entry.scores["CIDEr-D"]) for entry in after.reported] == [
        ("A", 2, 1.25), ("=1+1", 3, 0.5),
    ]  # fmt: skip
    worst = leaderboard(build_query(phase, references="c2", order="worst"), full=True).reported
    assert [(entry.team, entry.rank) for entry in worst] == [("=1+1", 3), ("A", 2)]
    by_meteor = leaderboard(build_query(phase, references="c2", sort_by="METEOR"), full=True).reported
    assert [(entry.team, entry.rank) for entry in by_meteor] == [("A", 1), ("=1+1", None)]
    _import(phase.challenge, ranked=False)
    assert [entry.rank for entry in leaderboard(question).reported] == [None, None]
    assert leaderboard(build_query(phase, references="c2", subset="animals")).reported == []
    assert leaderboard(build_query(phase, references="c1")).reported == []


@pytest.mark.django_db
def test_pages_json_and_csv_mark_them(phase: Phase) -> None:
    stand("x", 2.0)
    before = Client().get(PAGE)
    assert "Reported elsewhere" not in before.content.decode()
    _import(phase.challenge, COCO, ranked=True)
    page = Client().get(PAGE, headers={"If-None-Match": before["ETag"]}).content.decode()
    assert page.count('<span class="badge quiet">reported</span>') == 2
    assert 'href="https://example.org/old" rel="nofollow noopener noreferrer"' in page
    assert "3D&amp;CV" in page
    assert ">(2)<" in page
    answer = Client().get(API).json()
    assert [row["team"] for row in answer["rows"]] == ["x"]
    assert [(row["team"], row["rank"], row["source"]) for row in answer["reported"]] == [
        ("", 2, "An older leaderboard"), ("3D&CV", 2, "An older leaderboard"),
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(Client().get(f"{API}&format=csv").content.decode())))
    assert [(row["team"], row["reported in"], row["submission"] != "") for row in rows] == [
        ("x", "", True), ("", "An older leaderboard", False), ("3D&CV", "An older leaderboard", False),
    ]  # fmt: skip
    assert rows[1]["CIDEr-D"] == "1.5"


@pytest.mark.django_db
def test_a_leaderboard_without_submissions_shows_them(phase: Phase) -> None:
    _import(phase.challenge)
    page = Client().get(PAGE).content.decode()
    assert "No submission is on this leaderboard yet" in page
    assert "The best submission of a team is shown once it is scored" in page
    Phase.objects.update(requires_choice=True)
    assert "its team has put it on the leaderboard" in Client().get(PAGE).content.decode()
    assert "Reported elsewhere" in page


@pytest.mark.django_db
def test_organizers_import_and_remove_them(phase: Phase, olga: Someone) -> None:
    about = {"name": "old", "title": "Old", "url": "https://example.org/"}

    def send(data: bytes, status: int, **more: Any) -> Any:
        return olga.do(ORGANIZE, status, file=SimpleUploadedFile("x.csv", data), **{**about, **more})

    assert "must name the column &#x27;team&#x27;" in send(b"a,b\n1,2\n", 422).content.decode()
    assert "url must be the address of a page" in send(TABLE, 422, url="javascript:x").content.decode()
    assert "name: must be letters" in send(TABLE, 422, name="a b").content.decode()
    assert not Reported.objects.exists()
    send(COCO, 302)
    page = olga.see(ORGANIZE)
    assert (
        "2 rows are now shown with the leaderboards of c2."
        " Ignored scores that the split does not have: SPICE." in page
    )
    assert Reported.objects.get().rows[0]["team"] == "3D&CV"
    text = olga.see(f"{ORGANIZE}old.csv")
    assert read_reported("again", text.encode(), NAMES)[0] == read_reported("first", COCO, NAMES)[0]
    assert "not shown" in page
    olga.do(f"{ORGANIZE}old/remove/")
    assert not Reported.objects.exists()
    assert [action.what for action in Action.objects.filter(user=olga.user).order_by("pk")] == [
        "imported 2 rows reported elsewhere for val/c2: old",
        "removed the rows reported elsewhere for val/c2: old",
    ]
    assert Someone("eve").client.get(ORGANIZE).status_code == 404


@pytest.mark.django_db
def test_programs_import_and_remove_them(phase: Phase, olga: Someone) -> None:
    program = olga.program("organize")
    wanted = {"title": "Old", "content": COCO.decode(), "ranked": True}
    answer = program.put(BY_API, wanted, content_type="application/json")
    assert (answer.status_code, answer.json()) == (200, {"rows": 2, "left_out": ["SPICE"]})
    assert Reported.objects.get().ranked
    answer = program.put(BY_API, {**wanted, "content": "x"}, content_type="application/json")
    assert answer.status_code == 422
    assert program.delete(BY_API).status_code == 204
    assert program.delete(BY_API).status_code == 404


@pytest.mark.django_db
def test_definitions_have_them(definition: Path) -> None:
    text = definition.read_text()
    rows = 'reported = [{ name = "old", title = "Old", file = "old.json", url = "https://example.org/" }]'
    with_rows = text.replace('name = "c2", ', f'name = "c2", {rows}, ')
    assert with_rows != text
    definition.write_text(with_rows)
    (definition.parent / "old.json").write_bytes(COCO)
    challenge = import_challenge(definition)
    found = Reported.objects.get()
    assert (found.title, len(found.rows), found.ranked) == ("Old", 2, False)
    stamp = Action.objects.count()
    import_challenge(definition)
    assert Action.objects.count() == stamp
    target = io.BytesIO()
    export(challenge, target)
    with zipfile.ZipFile(target) as archive:
        assert 'file = "reported_val_c2_old.csv"' in archive.read("challenge.toml").decode()
        found = json.loads(archive.read("reported.json"))
        assert [row["team"] for row in found] == ["3D&CV", ""]
        assert b"3D&CV" not in archive.read("scores.csv") + archive.read("submissions.csv")
    definition.write_text(with_rows.replace("https://example.org/", "example"))
    with pytest.raises(ChallengeError, match="url must be the address of a page"):
        import_challenge(definition)
    definition.write_text(text)
    import_challenge(definition)
    assert Reported.objects.exists()
    import_files(definition, delete=["splits.val.references.c2.reported.old"])
    assert not Reported.objects.exists()


@pytest.mark.django_db
def test_csv_can_be_imported_again(challenge: Challenge) -> None:
    _import(challenge)
    text = reported_csv(Reported.objects.get())
    assert "'=1+1" in text
    assert read_reported("again", text.encode(), NAMES) == read_reported("first", TABLE, NAMES)


@pytest.mark.django_db
def test_the_command_line_imports_and_removes_them(challenge: Challenge, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "cap_c5.json"
    path.write_bytes(COCO)
    reported("small", "val", "c2", "old", path, title="Old", ranked=True)
    out, err = capsys.readouterr()
    assert out == "small: 2 rows are shown with the leaderboards of val, references c2\n"
    assert err.endswith("ignored scores that the split does not have: SPICE\n")
    assert Action.objects.latest("pk").who == COMMAND_LINE
    with pytest.raises(OptionError, match="does not exist"):
        reported("small", "val", "c9", "old", path)
    with pytest.raises(OptionError, match="give either 'FILE' or '--remove'"):
        reported("small", "val", "c2", "old")
    reported("small", "val", "c2", "old", remove=True)
    assert not Reported.objects.exists()


FILTERED = "&declared=training-data:COCO only"


@pytest.mark.django_db
def test_reported_rows_follow_a_filter(phase: Phase, challenge: Challenge) -> None:
    choices = ["COCO only", "more"]
    challenge.fields = [{"name": "training-data", "type": "choice", "choices": choices}]
    challenge.save()
    challenge = Challenge.objects.get()
    stand("ours", 0.5, declared={"training-data": "COCO only"})
    _import(challenge, TABLE)
    found = Client().get(API + FILTERED).json()
    assert (found["reported"], found["reported_undeclared"]) == ([], 2)
    sentence = "2 rows reported elsewhere are hidden, because they do not declare a value of the filter."
    assert sentence in Client().get(PAGE + FILTERED).content.decode()
    _import(challenge, b"team,training-data,CIDEr-D\nA,COCO only,0.9\nB,more,0.8\nC,,0.7\n", ranked=True)
    assert len(Client().get(API).json()["reported"]) == 3
    found = Client().get(API + FILTERED).json()
    assert [(row["team"], row["rank"], row["declared"]) for row in found["reported"]] == [
        ("A", 1, {"training-data": "COCO only"})
    ]
    assert found["reported_undeclared"] == 1
    page = Client().get(PAGE + FILTERED).content.decode()
    assert "1 row reported elsewhere is hidden, because it does not declare a value of the filter." in page
    assert "hidden, because" not in Client().get(PAGE).content.decode()
    assert '<span class="badge quiet"><bdi>more</bdi></span>' in Client().get(PAGE).content.decode()
    text = Client().get(f"{API}{FILTERED}&format=csv").content.decode()
    last = list(csv.DictReader(io.StringIO(text)))[-1]
    assert (last["team"], last["training-data"], last["CIDEr-D"]) == ("A", "COCO only", "0.9")
    # The exported rows can be imported again.
    stored = Reported.objects.get()
    assert reported_csv(stored).startswith("team,method,date,url,publication,training-data,CIDEr-D\r\nA,")
    rows, _ = read_reported("x", reported_csv(stored).encode(), NAMES, challenge.declared_fields)
    assert [row.to_stored() for row in rows] == stored.rows
    with pytest.raises(ChallengeError, match=r"line 2, 'training-data' must be one of 'COCO only', 'more'"):
        _import(challenge, b"team,training-data,CIDEr-D\nA,unknown,0.9\n")
