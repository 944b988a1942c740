"""Final results: stored unchanged and shown as final; later events only add notes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet
from capeval_server.core.errors import ChallengeError, SubmissionStateError
from capeval_server.hosting.services import final_results, moderation, settings
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import describe_phase, fingerprint, state_of, to_toml
from capeval_server.jobs import worker
from capeval_server.leaderboards.citation import fingerprint as cited
from capeval_server.leaderboards.entries import Leaderboard
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.submissions.models import Submission
from capeval_server.submissions.services.leaderboard_selection import set_standing
from capeval_server.submissions.services.lifecycle import withdraw
from tests.server.kit import CAPTIONS, Participant, Someone, results, write_challenge
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db
PLACE = "/small/organize/phases/open/"
BOARD = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"


@pytest.fixture
def definition(tmp_path: Any) -> Any:
    """The small challenge, here with its human baseline."""
    return write_challenge(tmp_path, human=True)


@pytest.fixture
def closed(olga: Someone, ann: Participant, bob: Participant) -> Phase:
    """The phase, closed, with three rows on each leaderboard."""
    ann.scored(stands=True, method="First", url="https://ann.example.org/")
    assert bob.submit(results({**CAPTIONS, 1: "A cat."})).status_code == 201
    while worker.work_once():
        pass
    Submission.objects.filter(team__isnull=False).update(stands=True)
    close()
    return Phase.objects.select_related("challenge").get()


def close() -> None:
    before = timezone.now() - timedelta(days=1)
    Phase.objects.update(opens=before - timedelta(days=9), closes=before)


def boards(phase: Phase) -> list[Leaderboard]:
    """Return the leaderboards of a phase in each sort order and layout."""
    phase = Phase.objects.select_related("challenge").get(pk=phase.pk)
    return [
        leaderboard(
            build_query(phase, references=name, layout=layout, order=order, sort_by=by, subset=subset)
        )
        for name in ("c1", "c2")
        for layout in ("scores", "subsets", "both")
        for order in ("best", "worst")
        for by in ("CIDEr-D", "BLEU-1")
        for subset in ("", "animals")
    ]


def rows(found: list[Leaderboard]) -> list[Any]:
    return [[row.__dict__ | {"note": ""} for row in board.rows] for board in found]


def test_a_final_board_is_what_it_was(olga: Someone, closed: Phase) -> None:
    before = boards(closed)
    assert [len(board.rows) for board in before if board.question.reference_set.name == "c2"] == [3] * 24
    assert {row.p_value is None for board in before for row in board.rows} == {True, False}
    final_results.make_final(olga.user, closed)
    after = boards(closed)
    assert rows(after) == rows(before)
    assert [(one.columns, one.total, one.pages) for one in after] == [
        (one.columns, one.total, one.pages) for one in before
    ]
    assert {board.final for board in after} == {Phase.objects.get().final}
    assert {row.note for board in after for row in board.rows} == {""}


def test_nothing_changes_it_and_what_happens_is_a_note(
    olga: Someone, ann: Participant, closed: Phase, definition: Any
) -> None:
    final_results.make_final(olga.user, closed)
    before = rows(boards(closed))
    of_ann = Submission.objects.get(team=ann.team)
    of_bob = Submission.objects.get(team__name="bob")
    challenge = Challenge.objects.get()
    moderation.rerun(olga.user, challenge, of_bob)
    while worker.work_once():
        pass
    withdraw(of_ann)
    # New references, and other captions for the human baseline.
    references = definition.parent / "references_c2.json"
    found = json.loads(references.read_text())
    references.write_text(json.dumps({**found, "1": ["Something else."]}))
    people = definition.parent / "human.json"
    people.write_text(people.read_text().replace("dog", "hound"))
    text = definition.read_text().replace("2026-01-01T00:00:00Z", closed.opens.isoformat())
    definition.write_text(text.replace("2036-01-01T00:00:00Z", closed.closes.isoformat()))
    import_challenge(definition)
    while worker.work_once():
        pass
    assert ReferenceSet.objects.get(name="c2").version == 2
    after = boards(closed)
    assert rows(after) == before
    noted = {row.team: row.note for row in after[-1].rows}
    assert noted == {
        "ann": "withdrawn later by its team",
        "bob": "scored again later",
        "human": "replaced by other captions later",
    }
    moderation.mark(olga.user, challenge, of_bob, "hidden", "Copied")
    noted = {row.team: row.note for row in boards(closed)[-1].rows}
    assert noted["bob"] == "hidden later by the organizers: Copied"
    page = olga.see("/small/open/?references=c2")
    assert "These results have been final since" in page
    assert "withdrawn later by its team" in page
    assert "There are newer references" in page
    answer = olga.read(BOARD, "organize")
    assert (answer["version"], answer["current"], answer["final"] is None) == (1, False, False)
    assert answer["rows"][0]["note"]
    # Scores by the new references are another leaderboard.
    newer = olga.read(f"{BOARD}&version=2", "organize")
    assert (newer["version"], newer["final"], newer["total"]) == (2, None, 1)
    csv = olga.program("organize").get(f"{BOARD}&format=csv").content.decode()
    assert "changed since the results became final" in csv.splitlines()[0]


def test_a_final_phase_takes_nothing_more(olga: Someone, ann: Participant, closed: Phase) -> None:
    final_results.make_final(olga.user, closed)
    of_ann = Submission.objects.get(team=ann.team)
    with pytest.raises(SubmissionStateError, match="the results of phase 'open' are final"):
        set_standing(of_ann, False)
    assert ann.stand(str(of_ann.pk), False).status_code == 409
    olga.do(f"/small/organize/submissions/{of_ann.pk}/off/")
    of_ann.refresh_from_db()
    assert of_ann.stands
    there = describe_phase(Phase.objects.get())
    wanted = {**there, "closes": timezone.now() + timedelta(days=1)}
    with pytest.raises(settings.FieldsError, match="are final"):
        settings.edit_phase(olga.user, closed.challenge, wanted, seen=fingerprint(there))
    # The visibility of the leaderboard may change.
    settings.edit_phase(
        olga.user, closed.challenge, {**there, "leaderboard": "hidden"}, seen=fingerprint(there)
    )
    assert Phase.objects.get().leaderboard == "hidden"
    # Mean ranks would change the order, but they may be chosen from other scores.
    split = closed.challenge.splits.get()
    columns = {"mean_rank": ["BLEU-1", "CIDEr-D"]}
    with pytest.raises(settings.FieldsError, match="'val' can't change: the results of phase 'open' are"):
        settings.edit_columns(olga.user, closed.challenge, "val", columns, seen=fingerprint(split.columns))
    split.columns = {"mean_rank": ["BLEU-1", "BLEU-2"]}
    split.save()
    assert settings.edit_columns(olga.user, closed.challenge, "val", columns, seen=fingerprint(split.columns))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("quota_per_day = 5", "quota_per_day = 6", "quota_per_day of phase 'open' can't change"),
        ("quota_per_day = 5", "quota_per_day = 5\nblind = true", "blind of phase 'open' can't change"),
        ('sort_by = "CIDEr-D"', 'sort_by = "BLEU-1"', "sort_by of split 'val' can't change"),
        (
            'sort_by = "CIDEr-D"',
            'sort_by = "CIDEr-D"\ncolumns = { mean_rank = ["CIDEr-D", "BLEU-1"] }',
            "columns.mean_rank of split 'val' can't change",
        ),
        ('leaderboard = "public"', 'leaderboard = "hidden"', ""),
    ],
)
def test_an_import_keeps_the_settings_of_a_final_phase(
    closed: Phase, definition: Any, old: str, new: str, message: str
) -> None:
    final_results.make_final(None, closed)
    text = definition.read_text().replace("2026-01-01T00:00:00Z", closed.opens.isoformat())
    text = text.replace("2036-01-01T00:00:00Z", closed.closes.isoformat())
    assert text.count(old) == 1
    definition.write_text(text.replace(old, new))
    if message:
        with pytest.raises(ChallengeError, match=f"{message}.* final"):
            import_challenge(definition)
    else:
        import_challenge(definition)
    assert (Phase.objects.get().leaderboard == "hidden") == (not message)


def test_results_are_made_final_once_all_is_over(olga: Someone, ann: Participant) -> None:
    phase = Phase.objects.select_related("challenge").get()
    assert "Make the results final" not in olga.see(PLACE)
    with pytest.raises(SubmissionStateError, match="must be closed first"):
        final_results.make_final(olga.user, phase)
    ann.submitted()
    close()
    phase.refresh_from_db()
    with pytest.raises(SubmissionStateError, match="2 submissions are waiting or being scored"):
        final_results.make_final(olga.user, phase)
    while worker.work_once():
        pass
    page = olga.client.get(PLACE)
    check_page(page.content.decode(), page.headers["Content-Security-Policy"])
    assert "Make the results final" in page.content.decode()
    olga.do(f"{PLACE}final/")
    assert Phase.objects.get().final is None
    olga.do(f"{PLACE}final/", confirm="on")
    assert Phase.objects.get().final is not None
    assert "The results have been final since" in olga.see(PLACE)
    assert Action.objects.order_by("-pk")[0].what == "made the results of phase open final"
    answer = olga.program("organize").put("/api/challenges/small/organize/phases/open/final")
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "the results of phase 'open' are already final",
    )
    assert ann.program("organize").put("/api/challenges/small/organize/phases/open/final").status_code == 404


def test_a_cited_board_is_the_same_when_it_is_final(olga: Someone, closed: Phase) -> None:
    phase = Phase.objects.select_related("challenge").get()
    before = cited(leaderboard(build_query(phase), compared=False))
    final_results.make_final(olga.user, closed)
    assert f"fingerprint={before}" in olga.see("/small/open/cite/").replace("&amp;", "&")
    assert "Nothing has changed" in olga.see(f"/small/open/?fingerprint={before}")


# What was declared


def test_what_the_organizer_does_not_show_only_the_team_and_organizers_see(
    olga: Someone, ann: Participant, bob: Participant
) -> None:
    fields = [{"name": "method", "required": True}, {"name": "contact", "required": False, "shown": False}]
    fields += [{"name": "training-data", "required": False, "shown": True}]
    Challenge.objects.update(fields=fields)
    declared = {"method": "Best", "contact": "ann@secret.example", "training-data": "COCO alone"}
    submission = ann.scored(stands=True, **declared)
    place = f"/submissions/{submission.pk}/"
    for path in (place, "/small/open/", f"{BOARD}", f"{BOARD}&format=csv"):
        page = bob.see(path)
        assert "COCO alone" in page, path
        assert "secret.example" not in page, path
    for page in (ann.see(place), olga.see(f"/small/organize{place}")):
        assert "ann@secret.example" in page
    assert "seen by the organizers only" in bob.see("/small/rules/")
    assert "Visible only to organizers." in bob.see("/small/open/submit/")


def test_the_definition_says_which_fields_are_shown(tmp_path: Any) -> None:
    path = write_challenge(tmp_path / "two")
    path.write_text(path.read_text().replace('{ name = "url" }', '{ name = "url", shown = false }'))
    challenge = import_challenge(path)
    assert challenge.fields[1] == {"name": "url", "shown": False}
    assert "shown = false" in to_toml(challenge)
    assert "url (not shown)" in state_of(challenge)["challenge.fields"]
