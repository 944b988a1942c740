"""Importing files again: everything that they don't name stays, and each change is listed."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from django.apps import apps
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from capeval_server.challenges.models import Challenge, Phase, Picture, Reported, Split
from capeval_server.commands import app
from capeval_server.core.errors import ChallengeError, ConflictError
from capeval_server.examples import write_example
from capeval_server.hosting.services import challenge_import
from capeval_server.hosting.services.definition_files import import_challenge, import_files
from capeval_server.hosting.services.description import describe
from capeval_server.jobs.worker import work_once
from capeval_server.notifications.models import Announcement
from capeval_server.submissions.models import Submission
from tests.server.kit import CAPTIONS, Someone, results
from tests.server.web.test_organizer_pages import ROOT, hidden_fields, sent

pytestmark = pytest.mark.django_db

ROWS = b"team,method,CIDEr-D\nA,a,0.5\nB,b,0.4\n"
REPORTED = "splits.val.references.c2.reported.coco-2015"
# The date that is new.
LATER = ("2036-01-01T00:00:00Z", "2037-01-01T00:00:00Z")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_example("small", tmp_path / "small")


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def command(*arguments: str | Path, given: str | None = None) -> str:
    """The output of a command of the server that succeeds."""
    done = CliRunner().invoke(app, list(map(str, arguments)), input=given, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def dump() -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables."""
    return {
        model._meta.label: [
            {name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()}
            for row in model._base_manager.order_by("pk").values()
        ]
        for model in apps.get_models(include_auto_created=True)
    }


def stored() -> list[str]:
    places = [place for place in ("references", "submissions") if default_storage.exists(place)]
    return [name for place in places for name in sorted(default_storage.listdir(place)[1])]


@pytest.fixture
def added(path: Path) -> Path:
    """A challenge with additions by commands, pages and the API."""
    command("import", path)
    while work_once():
        pass
    rows = path.parent / "coco.csv"
    rows.write_bytes(ROWS)
    command("reported", "small", "val", "c2", "coco-2015", rows, "--title", "COCO", "--ranked")
    command("announce", "small", "News", given="The server is open.")
    olga = Someone("olga")
    command("organizer", "small", "olga")
    about = {
        "title": "A small challenge",
        "description": "Six images, to try the server with.",
        "rules": "Be fair.",
        "faq": "## When?\nNow.",
        "contact": "mail@example.org",
        "pages-TOTAL_FORMS": 0,
        "pages-INITIAL_FORMS": 0,
        "fields-TOTAL_FORMS": 3,
        "fields-INITIAL_FORMS": 2,
        "fields-0-name": "method",
        "fields-0-required": "on",
        "fields-0-shown": "on",
        "fields-1-name": "url",
        "fields-1-shown": "on",
        "fields-2-name": "training-data",
        "seen": hidden_fields(olga.see(f"{ROOT}edit/"))["seen"],
    }
    olga.do(f"{ROOT}edit/", **about)
    answer = olga.program("organize").put(
        "/api/challenges/small/organize/phases/open/captions",
        {"captions": ["val"], "captions_by": "standing"},
        content_type="application/json",
    )
    assert answer.status_code == 200, answer.content
    file = default_storage.save("pictures/a.png", ContentFile(b"\x89PNG"))
    Picture.objects.create(challenge=Challenge.objects.get(), name="a.png", file=file, media_type="image/png")
    return path


def _additions() -> dict[str, Any]:
    """The additions, and everything that could be lost with them."""
    challenge = Challenge.objects.get()
    phase = Phase.objects.get(name="open")
    return {
        "reported": list(Reported.objects.values("pk", "name", "title", "ranked", "rows")),
        "faq": (challenge.faq, challenge.contact),
        "fields": [field["name"] for field in challenge.fields],
        "captions": (phase.captions, phase.captions_by),
        "announcements": list(Announcement.objects.values_list("title", "text")),
        "organizers": [user.username for user in challenge.organizers.all()],
        "pictures": list(Picture.objects.values_list("name", flat=True)),
        "human": list(Submission.objects.filter(baseline_of__isnull=False).values("pk", "state")),
        "subsets": list(Split.objects.get().subsets.order_by("name").values_list("name", "image_ids")),
    }


def test_an_import_for_a_new_date_keeps_all_additions(added: Path) -> None:
    before = _additions()
    assert len(before["reported"][0]["rows"]) == 2
    assert before["human"][0]["state"] == "scored"
    edit(added, *LATER)
    text = command("import", added)
    assert _additions() == before
    assert Phase.objects.get().closes.year == 2037
    assert text.splitlines() == [
        "changed phases.open.closes: 2036-01-01 00:00:00+00:00 -> 2037-01-01 00:00:00+00:00",
        "kept    challenge.fields.training-data (not in the file)",
        "kept    challenge.faq (not in the file)",
        "kept    challenge.contact (not in the file)",
        f"kept    {REPORTED} (not in the file)",
        "small: imported; splits: 1, phases: 1",
    ]


def test_a_definition_of_one_date_changes_only_that(added: Path) -> None:
    before = describe(Challenge.objects.get())
    added.write_text(
        '[challenge]\nslug = "small"\n[[phases]]\nname = "open"\ncloses = 2037-01-01T00:00:00Z\n'
    )
    for each in added.parent.glob("*.json"):
        each.unlink()
    text = command("import", added)
    assert text.startswith("changed phases.open.closes: ")
    assert text.count("changed ") == 1
    after = describe(Challenge.objects.get())
    assert after["phases"][0].pop("closes") != before["phases"][0].pop("closes")
    assert after == before


def test_a_dry_run_changes_nothing(added: Path) -> None:
    edit(added, *LATER)
    edit(added, 'rules = "Be fair."', 'rules = "Be kind."\ndata = "Six images."')
    changed = json.loads((added.parent / "references_c2.json").read_text())
    changed["1"] = ["Another caption."]
    (added.parent / "references_c2.json").write_text(json.dumps(changed))
    (added.parent / "human.json").write_bytes(results({**CAPTIONS, 1: "A puppy."}))
    before, files = dump(), stored()
    assert len(before) > 40
    lines = command("import", "--dry-run", "--delete", REPORTED, added).splitlines()
    assert dump() == before
    assert stored() == files
    assert "add     challenge.data: Six images." in lines
    assert "change  challenge.rules: Be fair. -> Be kind." in lines
    assert any(line.startswith("change  splits.val.references.c2.file: version 1 (sha256") for line in lines)
    assert any(line.startswith("change  splits.val.references.c2.human: sha256") for line in lines)
    assert any(line.startswith(f"delete  {REPORTED}.file: 2 rows (") for line in lines)
    assert "keep    challenge.faq (not in the file)" in lines
    assert lines[-1] == "small: dry run, nothing was changed"
    done = command("import", "--delete", REPORTED, added).splitlines()
    past = {"add    ": "added  ", "change ": "changed", "delete ": "deleted", "keep   ": "kept   "}
    assert done[:-1] == [past.get(line[:7], line[:7]) + line[7:] for line in lines[:-1]]
    assert done[-1] == "small: imported; splits: 1, phases: 1"
    assert dump() != before


def test_a_dry_run_of_a_new_challenge_makes_none(path: Path) -> None:
    before, files = dump(), stored()
    lines = command("import", "--dry-run", path).splitlines()
    assert "add     challenge.title: A small challenge" in lines
    assert dump() == before
    assert stored() == files


def test_the_same_files_again_are_no_change(added: Path) -> None:
    assert command("import", added).startswith("No changes\n")
    assert command("import", "--dry-run", added).startswith("No changes\n")


def test_an_export_imported_again_is_no_change(added: Path, tmp_path: Path) -> None:
    edit(
        added,
        'subsets = "subsets.json"',
        'subsets = "subsets.json"\nlinks = [{ text = "a", url = "https://b.example" }]',
    )
    command("import", added)
    target = tmp_path / "export.zip"
    command("export", "small", target)
    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path / "export")
    before = _additions(), describe(Challenge.objects.get())
    text = command("import", tmp_path / "export" / "challenge.toml")
    assert text.startswith("No changes\n")
    assert (_additions(), describe(Challenge.objects.get())) == before


def _delete_by_option(path: Path, place: str) -> str:
    return command("import", path, "--delete", place)


def _delete_by_file(path: Path, place: str) -> str:
    path.write_text(f'delete = ["{place}"]\n{path.read_text()}')
    return command("import", path)


@pytest.mark.parametrize("delete", [_delete_by_option, _delete_by_file])
def test_only_named_rows_are_deleted(added: Path, delete: Callable[[Path, str], str]) -> None:
    rows = added.parent / "other.csv"
    rows.write_bytes(ROWS)
    command("reported", "small", "val", "c2", "other", rows)
    before = _additions()
    text = delete(added, REPORTED)
    assert f"deleted {REPORTED}.title: COCO" in text
    assert list(Reported.objects.values_list("name", flat=True)) == ["other"]
    assert {**_additions(), "reported": None} == {**before, "reported": None}


@pytest.mark.parametrize(
    ("place", "old", "new", "left"),
    [
        (
            "splits.val.references.c2.human",
            ', human = "human.json"',
            "",
            lambda: Submission.objects.filter(baseline_of__isnull=False),
        ),
        (
            "splits.val.subsets.animals",
            'subsets = "subsets.json"\n',
            "",
            lambda: Split.objects.get().subsets.filter(name="animals"),
        ),
        (
            "challenge.fields.training-data",
            "Be fair.",
            "Be fair.",
            lambda: [field for field in Challenge.objects.get().fields if field["name"] == "training-data"],
        ),
    ],
)
def test_other_entries_are_deleted_by_their_places(
    added: Path, place: str, old: str, new: str, left: Callable[[], Any]
) -> None:
    edit(added, old, new)
    command("import", added)
    assert len(left()) == 1
    command("import", added, "--delete", place)
    assert len(left()) == 0
    with pytest.raises(ChallengeError, match=f"delete: the challenge has no {place}"):
        import_files(added, delete=[place])


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("phases.open", "can't be deleted"),
        ("splits.val", "can't be deleted"),
        ("challenge.faq", "can't be deleted"),
        (f"{REPORTED}.title", "can't be deleted"),
        ("splits.val.references.c2.reported.coco", "the challenge has no"),
        ("splits.other.references.c2.human", "the challenge has no"),
        ("splits.val.subsets.plants", "the challenge has no"),
        ("splits.val.images", "the challenge has no"),
        ("splits.val.references.c2.human", "is also in the definition"),
        ("splits.val.subsets.animals", "is also in subsets.json"),
        ("challenge.fields.method", "is also in the definition"),
    ],
)
def test_deleting_other_places_is_an_error(added: Path, place: str, problem: str) -> None:
    before = dump()
    with pytest.raises(ChallengeError, match=problem):
        import_files(added, delete=[place])
    assert dump() == before


def test_new_entries_join_those_that_are_there(added: Path) -> None:
    (added.parent / "subsets.json").write_text(json.dumps({"plants": [3]}))
    edit(
        added,
        "[[phases]]",
        '[[phases]]\nname = "closed"\nopens = 2026-01-01T00:00:00Z\ncloses = 2027-01-01T00:00:00Z'
        '\nsplits = ["val"]\nquota_per_day = 1\nquota_total = 1\n[[phases]]',
    )
    edit(added, 'name = "open"', 'name = "later"')
    command("import", added)
    assert set(Phase.objects.values_list("name", flat=True)) == {"open", "closed", "later"}
    names = Split.objects.get().subsets.values_list("name", flat=True)
    assert set(names) == {"animals", "things", "plants"}


@pytest.mark.django_db(transaction=True)
def test_a_kept_human_baseline_follows_the_metrics(added: Path) -> None:
    edit(added, ', human = "human.json"', "")
    edit(added, 'sort_by = "CIDEr-D"', 'metrics = ["CIDEr-D", "ROUGE-L"]\nsort_by = "CIDEr-D"')
    command("import", added)
    while work_once():
        pass
    baseline = Submission.objects.get(baseline_of__isnull=False)
    assert set(baseline.results.values_list("metric", flat=True)) == {"CIDEr-D", "ROUGE-L"}


def test_kept_content_of_other_images_is_an_error(added: Path) -> None:
    references = json.loads((added.parent / "references_c2.json").read_text())
    references["7"] = ["A seventh image."]
    (added.parent / "references_c2.json").write_text(json.dumps(references))
    edit(added, '    { name = "c1", file = "references_c1.json", public = true },\n', "")
    before = dump()
    with pytest.raises(
        ChallengeError, match=r"the images of split 'val' change: .*splits\.val\.references\.c1"
    ):
        import_files(added)
    assert dump() == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "c1", file = "references_c1.json"', 'name = "c3"', r"references\.c3\.file must be given"),
        (
            "public = false,",
            'public = false, reported = [{ name = "x", title = "X" }],',
            r"reported\.x\.file must be",
        ),
        (
            'name = "c1", file = "references_c1.json"',
            'name = "c1", partial = true',
            r"c1\.file must be given: partial",
        ),
    ],
)
def test_new_entries_need_their_files(added: Path, old: str, new: str, message: str) -> None:
    edit(added, old, new)
    with pytest.raises(ChallengeError, match=message):
        import_files(added)


def test_columns_of_subsets_are_kept(path: Path) -> None:
    chosen = {"scores": ["CIDEr-D"], "subsets": ["animals"]}
    edit(path, 'name = "val"\n', 'name = "val"\ncolumns = { scores = ["CIDEr-D"], subsets = ["animals"] }\n')
    import_challenge(path)
    assert import_files(path)[1].changes == []
    edit(path, ', subsets = ["animals"]', "")
    import_challenge(path)
    assert Split.objects.get().columns == chosen
    edit(path, 'columns = { scores = ["CIDEr-D"] }\n', "")
    import_challenge(path)
    assert Split.objects.get().columns == chosen


def test_a_change_in_between_is_an_error(added: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(added, *LATER)
    read = challenge_import.read_files

    def meanwhile(*arguments: Any) -> Any:
        found = read(*arguments)
        Challenge.objects.update(contact="other@example.org")
        return found

    monkeypatch.setattr("capeval_server.hosting.services.definition_files.read_files", meanwhile)
    with pytest.raises(ConflictError, match="changed while its files were read"):
        import_challenge(added)
    assert Phase.objects.get().closes.year == 2036


def test_the_page_of_files_keeps_all_additions(added: Path) -> None:
    olga = Someone("otto", is_staff=True, is_superuser=True)
    before = _additions()
    edit(added, *LATER)
    files = {"challenge.toml": added.read_bytes()}
    for each in ("references_c1.json", "references_c2.json", "subsets.json", "human.json"):
        files[each] = (added.parent / each).read_bytes()
    page = olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode()
    assert page.count('<tr><th scope="row">') == 1
    assert "<code>challenge.faq</code>" in page
    assert f"<code>{REPORTED}</code>" in page
    olga.do(f"{ROOT}files/apply/", **hidden_fields(page))
    assert _additions() == before
    assert Phase.objects.get().closes.year == 2037
    # The definition as the page has it stands for the whole challenge.
    files = {"challenge.toml": olga.see(f"{ROOT}files/challenge.toml").encode()}
    assert "nothing would change" in olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode()
    files["challenge.toml"] = f'delete = ["{REPORTED}"]\n'.encode() + added.read_bytes()
    files |= {each.name: each.read_bytes() for each in added.parent.glob("*.json")}
    page = olga.do(f"{ROOT}files/", 200, file=sent(files)).content.decode()
    assert Reported.objects.count() == 1
    olga.do(f"{ROOT}files/apply/", **hidden_fields(page))
    assert Reported.objects.count() == 0
