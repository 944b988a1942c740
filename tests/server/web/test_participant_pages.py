"""Pages of participants: permissions, visibility, and invalid form data."""

from __future__ import annotations

import csv
import io
import json
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from capeval_server.accounts.models import Token
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.jobs import worker
from capeval_server.jobs.models import Worker
from capeval_server.submissions.models import ImageScores, Result, Score, Submission, SubmissionFile
from capeval_server.submissions.scoring.score_arrays import packed_values
from capeval_server.teams.models import Membership, Raise, Team
from capeval_server.teams.services.enrollment import join, make_team
from tests.server.clock import Clock
from tests.server.kit import CAPTIONS, MARKER, MARKUP, RESULTS, Participant, Someone, code_of, results, zipped

pytestmark = pytest.mark.django_db

SUBMIT = "/small/open/submit/"


def make_public() -> None:
    """Make all references of the split public, so that its captions can be browsed."""
    ReferenceSet.objects.update(public=True)


def fill_in(someone: Participant, data: bytes | None = None, name: str = RESULTS, **fields: Any) -> Any:
    """The answer to the form with which results are submitted."""
    file = SimpleUploadedFile(name, results() if data is None else data)
    form = {"declared-method": "m", **fields, "file": file}
    return someone.client.post(_sent_to(someone.see(SUBMIT)), form)


def by_form(someone: Participant, **fields: Any) -> Submission:
    """A submission that was made with the form."""
    answer = fill_in(someone, **fields)
    assert answer.status_code == 302, answer.content
    return Submission.objects.get(pk=answer["Location"].split("/")[2])


def _sent_to(page: str) -> str:
    """Return the target of a page's form, with its key; without a form, the default target."""
    found = re.search(r'action="(\?key=[^"]+)"', page)
    return SUBMIT + (found[1] if found else "?key=none")


def body_of(answer: Any) -> bytes:
    """All of an answer, sent as a stream or not."""
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


# Joining


def test_joining_alone_takes_the_rules_and_one_button(challenge: Challenge) -> None:
    carl = Someone("carl")
    assert "Be fair." in carl.see("/small/join/")
    refused = carl.client.post("/small/join/", {"how": "alone"})
    assert refused.status_code == 422
    assert not Membership.objects.exists()
    answer = carl.client.post("/small/join/", {"how": "alone", "accept": "on"})
    assert (answer.status_code, answer["Location"]) == (302, "/small/team/")
    assert Membership.objects.get().team.name == "carl"
    assert "You take part in A small challenge alone." in carl.see("/small/team/")
    dora = Participant("dora", "Bears")
    assert "You are the only member of <bdi>Bears</bdi> so far." in dora.see("/small/team/")
    dora.team.delete()
    # Once is enough.
    assert carl.client.post("/small/join/", {"how": "alone", "accept": "on"})["Location"] == "/small/team/"
    assert Membership.objects.count() == 1


def test_joining_by_the_link_that_the_team_page_shows(ann: Participant) -> None:
    carl = Someone("carl")
    link = re.search(r"http://testserver(/small/join/\?code=[^<]+)</code>", ann.see("/small/team/"))
    assert link
    page = carl.see(link[1])
    assert "You are invited to the team" in page
    assert code_of(ann.team) in page
    form = {"how": "code", "code": ann.team.code, "accept": "on"}
    assert carl.client.post(link[1], form).status_code == 302
    assert {one.user.username for one in ann.team.memberships.all()} == {"ann", "carl"}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"how": "team"}, "Enter a team name"),
        ({"how": "team", "name": "ann"}, "must be new in the challenge"),
        ({"how": "team", "name": "a\u202eb"}, "invisible or unprintable"),
        ({"how": "code"}, "Enter the code of the team"),
        ({"how": "code", "code": "guessed"}, "code of a team of this challenge"),
        ({"how": "other"}, "not one of the available choices"),
    ],
)
def test_what_nobody_can_join_by_is_told(ann: Participant, form: dict[str, str], message: str) -> None:
    carl = Someone("carl")
    answer = carl.client.post("/small/join/", {**form, "accept": "on"})
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert Membership.objects.count() == 1


def test_a_new_code_ends_the_old_one(ann: Participant) -> None:
    old = ann.team.code
    assert ann.client.post("/small/team/code/", {"days": 3}).status_code == 302
    ann.team.refresh_from_db()
    assert ann.team.code != old
    carl = Someone("carl")
    assert carl.client.post("/small/join/", {"how": "code", "code": old, "accept": "on"}).status_code == 422


def test_a_team_ends_with_its_last_member_unless_it_has_submitted(ann: Participant, bob: Participant) -> None:
    assert bob.client.post("/small/team/leave/")["Location"] == "/small/join/"
    assert not Team.objects.filter(name="bob").exists()
    submission = ann.submitted()
    assert "The team keeps its submissions" in ann.see("/small/team/")
    assert ann.client.post("/small/team/leave/")["Location"] == "/small/join/"
    assert not Membership.objects.filter(user=ann.user).exists()
    submission.refresh_from_db()
    assert submission.team == ann.team
    assert ann.client.get(f"/submissions/{submission.pk}/").status_code == 404


@pytest.mark.parametrize("path", ["/small/team/", SUBMIT, "/small/submissions/"])
def test_who_has_not_joined_is_led_there(challenge: Challenge, path: str) -> None:
    carl = Someone("carl")
    assert carl.client.get(path)["Location"] == "/small/join/"
    assert Client().get(path)["Location"].startswith("/accounts/login/?next=")


# Submitting


def test_a_submission_from_the_form_to_its_scores(ann: Participant) -> None:
    Worker.objects.create(name="one")
    page = ann.see(SUBMIT)
    assert "captions_val_&lt;alg&gt;_results.json" in page
    assert "5 of 5" in page
    assert 'name="declared-method" maxlength="2000" required' in page
    submission = by_form(ann, **{"declared-url": "https://example.org/a?b=1"})
    assert submission.declared == {"method": "m", "url": "https://example.org/a?b=1"}
    page = ann.see(f"/submissions/{submission.pk}/")
    assert "It is next." in page
    assert "hx-get" in page
    assert worker.work_once()
    page = ann.see(f"/submissions/{submission.pk}/")
    assert "hx-get" not in page
    value = Score.objects.get(
        result__submission=submission,
        result__reference_version__reference_set__name="c2",
        name="CIDEr-D",
        subset="animals",
    ).value
    assert f"{value:.3f}" in page
    assert "Take off the leaderboard" in page
    assert "<bdi>m</bdi></a>" in ann.see("/small/submissions/")


def test_results_by_file_name_are_scored_and_shown_with_the_rule(ann: Participant) -> None:
    plain = ann.scored()
    rows = [
        {"image_id": f"COCO_val2014_{image:012}.jpg", "caption": text} for image, text in CAPTIONS.items()
    ]
    answer = ann.submit(json.dumps(rows).encode())
    assert answer.status_code == 201, answer.content
    assert worker.work_once()
    named = Submission.objects.exclude(pk=plain.pk).get()
    values = [
        sorted(Score.objects.filter(result__submission=each).values_list("subset", "name", "value"))
        for each in (plain, named)
    ]
    assert values[0] == values[1]
    page = ann.see(f"/submissions/{named.pk}/")
    assert "matched by a rule (numbers in COCO&#x27;s file names)" in page
    assert "as you sent" not in page
    assert "as you sent it" in ann.see(f"/submissions/{plain.pk}/")


def test_the_same_form_twice_is_one_submission(ann: Participant) -> None:
    sent_to, form = _sent_to(ann.see(SUBMIT)), {"declared-method": "m"}
    answers = [
        ann.client.post(sent_to, {**form, "file": SimpleUploadedFile(RESULTS, results())}) for _ in range(2)
    ]
    assert answers[0]["Location"] == answers[1]["Location"]
    assert Submission.objects.count() == 1
    # Another file in the same form, as after the browser's "back", asks first.
    other = SimpleUploadedFile(RESULTS, results(dict.fromkeys(CAPTIONS, "a")))
    answer = ann.client.post(sent_to, {**form, "file": other})
    assert answer.status_code == 409
    assert Submission.objects.count() == 1
    other.seek(0)
    again = ann.client.post(_sent_to(answer.content.decode()), {**form, "file": other})
    assert again.status_code == 302
    assert Submission.objects.count() == 2


BOMB = zipped({RESULTS: b"[" + b" " * 3_000_000 + b"]"})


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("other.json", None, "&#x27;other.json&#x27;: the file must be named"),
        (RESULTS, b"", "must be JSON"),
        (RESULTS, b"{", RESULTS),
        (RESULTS, results({1: "one"}), "missing a caption"),
        ("a.zip", BOMB, "must have at most 2,000,000 bytes"),
        ("a.zip", zipped({f"../{RESULTS}": results()}), f"../{RESULTS}"),
        ("a.zip", zipped({f"C:{RESULTS}": results()}), f"C:{RESULTS}"),
        ("a.zip", zipped({RESULTS: BOMB}), "another archive"),
        ("a.zip", zipped({f"{MARKUP}.json": results(), "a": b""}), "&lt;script&gt;"),
    ],
)
def test_a_wrong_file_is_told_and_not_kept(
    ann: Participant, name: str, data: bytes | None, message: str
) -> None:
    before = _stored()
    answer = fill_in(ann, data, name)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert message in page
    assert MARKUP not in page
    assert not Submission.objects.exists()
    assert _stored() == before
    assert "5 of 5" in page


def _stored() -> set[str]:
    from django.core.files.storage import default_storage

    return set(default_storage.listdir("submissions")[1]) if default_storage.exists("submissions") else set()


def test_messages_are_those_of_capeval_check(ann: Participant, tmp_path: Path) -> None:
    import capeval
    from capeval.errors import FormatError

    path = tmp_path / RESULTS
    path.write_text('[{"image_id": 1, "caption": 5}]')
    with pytest.raises(FormatError) as offline:
        capeval.load_candidates(path)
    answer = fill_in(ann, path.read_bytes())
    assert offline.value.message.replace("'", "&#x27;").replace('"', "&quot;") in answer.content.decode()


def test_what_must_be_declared(ann: Participant) -> None:
    nothing: dict[str, Any] = {"declared-method": " "}
    answer = fill_in(ann, **nothing)
    assert answer.status_code == 422
    assert "This field is required." in answer.content.decode()
    too_long: dict[str, Any] = {"declared-url": "x" * 2001}
    assert fill_in(ann, **too_long).status_code == 422
    assert not Submission.objects.exists()


def test_a_phase_that_is_not_open(ann: Participant) -> None:
    now = timezone.now()
    Phase.objects.update(opens=now + timedelta(hours=3, minutes=30))
    assert "in 3\xa0hours" in ann.see(SUBMIT)
    assert '<input type="file"' not in ann.see(SUBMIT)
    assert fill_in(ann).status_code == 403
    Phase.objects.update(opens=now - timedelta(days=2), closes=now - timedelta(days=1))
    assert "closed" in ann.see(SUBMIT)
    answer = fill_in(ann)
    assert answer.status_code == 403
    assert not Submission.objects.exists()


def test_a_used_up_quota_tells_when_more_comes(ann: Participant, clock: Clock) -> None:
    Phase.objects.update(quota_per_day=1)
    ann.submitted()
    form = {"declared-method": "other", "file": SimpleUploadedFile(RESULTS, results())}
    answer = ann.client.post(f"{SUBMIT}?key=page-other", form)
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) == int((clock.midnight - clock.now).total_seconds()) + 1
    midnight = clock.midnight.strftime("%Y-%m-%d %H:%M UTC")
    assert midnight in answer.content.decode()
    assert midnight in ann.see(SUBMIT)
    Raise.objects.create(team=ann.team, phase=Phase.objects.get(), per_day=1, total=0)
    assert fill_in(ann).status_code == 302
    Phase.objects.update(quota_total=2)
    assert "Your team has used its quota of 2 submissions to this phase." in ann.see(SUBMIT)


def test_a_full_disk_costs_nothing(ann: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("django.core.files.storage.FileSystemStorage._save", full)
    answer = fill_in(ann)
    assert answer.status_code == 503
    assert not Submission.objects.exists()
    assert "5 of 5" in answer.content.decode()


def test_forms_need_their_token(ann: Participant) -> None:
    submission = ann.scored()
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann.user)
    paths = ["/small/join/", "/small/team/code/", "/small/team/leave/", f"{SUBMIT}?key=k"]
    paths += [f"/submissions/{submission.pk}/{part}/" for part in ("stand", "withdraw")]
    for path in paths:
        assert client.post(path, {"stands": "yes"}).status_code == 403, path
    submission.refresh_from_db()
    assert (submission.state, submission.stands) == ("scored", False)


@pytest.mark.parametrize("part", ["stand", "withdraw"])
def test_what_changes_things_is_no_link(ann: Participant, part: str) -> None:
    submission = ann.submitted()
    assert ann.client.get(f"/submissions/{submission.pk}/{part}/").status_code == 405
    for path in ("/small/team/code/", "/small/team/leave/"):
        assert ann.client.get(path).status_code == 405


def test_markup_in_what_is_declared_is_text(ann: Participant, bob: Participant) -> None:
    fields = {"declared-method": MARKUP, "declared-url": f"javascript:alert(1) {MARKUP}"}
    submission = by_form(ann, **fields)
    Submission.objects.update(state="scored", stands=True, mark="flagged", mark_reason=MARKUP)
    make_public()
    for someone in (ann, bob):
        for path in (f"/submissions/{submission.pk}/", f"/submissions/{submission.pk}/examples/"):
            page = someone.see(path)
            assert MARKUP not in page
            assert 'href="javascript' not in page
        assert "&lt;script&gt;" in someone.see(f"/submissions/{submission.pk}/")
    assert MARKUP not in ann.see(SUBMIT)


# Watching


def test_the_state_changes_without_loading_the_page_again(ann: Participant, bob: Participant) -> None:
    Worker.objects.create(name="one")
    bob.submitted()
    submission = ann.submitted()
    path = re.search(r'hx-get="([^"]+)"', ann.see(f"/submissions/{submission.pk}/"))
    assert path
    assert ann.client.get(path[1]).status_code == 204
    worker.work_once()
    part = ann.see(path[1])
    assert "It is next." in part
    following = re.search(r'hx-get="([^"]+)"', part)
    assert following
    worker.work_once()
    part = ann.see(following[1])
    assert "hx-get" not in part
    assert 'id="scores" hx-swap-oob="true"' in part
    assert "CIDEr-D" in part


@pytest.mark.parametrize("state", ["waiting", "running"])
def test_a_submission_says_that_no_worker_runs(ann: Participant, state: str) -> None:
    one = Worker.objects.create(name="one")
    submission = ann.submitted()
    Submission.objects.update(state=state)
    page = ann.see(f"/submissions/{submission.pk}/")
    assert "No worker is running" not in page
    path = re.search(r'hx-get="([^"]+)"', page)
    assert path
    Worker.objects.update(seen=one.seen - timedelta(minutes=2))
    part = ann.see(path[1])
    assert "No worker is running at the moment. The submission is kept" in part
    path = re.search(r'hx-get="([^"]+)"', part)
    assert path
    assert ann.client.get(path[1]).status_code == 204
    Worker.objects.update(seen=one.seen)
    assert "No worker is running" not in ann.see(path[1])
    Submission.objects.update(state="failed")
    Worker.objects.all().delete()
    assert "No worker is running" not in ann.see(f"/submissions/{submission.pk}/")


def test_a_metric_that_failed_stands_alone_with_its_reason(ann: Participant) -> None:
    submission = ann.scored()
    failed = Result.objects.filter(metric="METEOR", reference_version__reference_set__name="c2").get()
    failed.scores.all().delete()
    failed.failure, failed.log = "METEOR was stopped by SIGKILL", f"quotes {MARKER}"
    failed.save()
    page = ann.see(f"/submissions/{submission.pk}/")
    assert "METEOR was stopped by SIGKILL" in page
    assert MARKER not in page
    assert "ROUGE-L" in page


def test_scores_by_replaced_references_are_set_apart(ann: Participant) -> None:
    submission = ann.scored()
    references = ReferenceSet.objects.get(name="c2")
    file = references.versions.get().file
    ReferenceVersion.objects.create(reference_set=references, number=2, file=file.name, sha256="x")
    ReferenceSet.objects.filter(name="c2").update(version=2)
    page = ann.see(f"/submissions/{submission.pk}/")
    assert "version 1, now 2" in page
    assert page.index("Older scores") < page.index("version 1, now 2")
    row = ann.see("/small/submissions/")
    assert '<td class="number"><span class="muted">–</span></td>' in row


def test_the_submissions_of_a_team_are_a_table(ann: Participant, bob: Participant) -> None:
    first, second = ann.scored(stands=True, method="=1+1"), ann.submitted()
    bob.submitted()
    assert 'href="?phase=open&amp;format=csv"' in ann.see("/small/submissions/")
    answer = ann.client.get("/small/submissions/?phase=open&format=csv")
    assert answer["Content-Disposition"] == 'attachment; filename="small-open-submissions.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["id"] for row in rows] == [str(second.pk), str(first.pk)]
    assert [row["state"] for row in rows] == ["waiting", "scored"]
    assert [row["on the leaderboard"] for row in rows] == ["no", "yes"]
    assert (rows[1]["by"], rows[1]["algorithm"], rows[1]["method"]) == ("ann", "mine", "'=1+1")
    value = Score.objects.get(
        result__submission=first,
        result__reference_version__reference_set__name="c2",
        name="CIDEr-D",
        subset="",
    ).value
    assert value is not None
    assert [row["CIDEr-D (val c2)"] for row in rows] == ["", str(round(value, 3))]
    Phase.objects.update(blind=True)
    withheld = ann.client.get("/small/submissions/?format=csv").content.decode().splitlines()
    assert "chosen" in withheld[0]
    assert "CIDEr" not in withheld[0]


# Deciding


def test_standing_and_withdrawing(ann: Participant, bob: Participant) -> None:
    waiting = ann.submitted()
    ann.client.post(f"/submissions/{waiting.pk}/stand/", {"stands": "yes"})
    waiting.refresh_from_db()
    assert not waiting.stands
    worker.work_once()
    first, second = waiting, ann.scored()
    for one in (first, second):
        ann.client.post(f"/submissions/{one.pk}/stand/", {"stands": "yes"})
        assert Submission.objects.get(stands=True).pk == one.pk
    path = f"/submissions/{second.pk}/"
    assert bob.see(path)
    ann.client.post(f"{path}stand/", {"stands": "no"})
    bob.see(path, 404)
    ann.client.post(f"/submissions/{first.pk}/withdraw/")
    first.refresh_from_db()
    assert first.state == "withdrawn"
    assert "Withdraw for good" not in ann.see(f"/submissions/{first.pk}/")


def test_a_mark_and_its_reason_are_seen_by_the_team(ann: Participant, bob: Participant) -> None:
    submission = ann.scored(stands=True)
    path = f"/submissions/{submission.pk}/"
    Submission.objects.update(mark="flagged", mark_reason="trained on val")
    assert "trained on val" in ann.see(path)
    assert "trained on val" in bob.see(path)
    Submission.objects.update(mark="hidden")
    assert "trained on val" in ann.see(path)
    bob.see(path, 404)


# Visibility


PARTS = ["", "state/", "examples/", "files/val/", "stand/", "withdraw/"]


@pytest.mark.parametrize("part", PARTS)
def test_of_others_there_is_nothing(ann: Participant, bob: Participant, part: str) -> None:
    make_public()
    submission = ann.scored()
    path = f"/submissions/{submission.pk}/{part}"
    nothing = f"/submissions/00000000-0000-4000-8000-000000000000/{part}"
    method = "post" if part in ("stand/", "withdraw/") else "get"
    answer, other = getattr(bob.client, method)(path), getattr(bob.client, method)(nothing)
    assert answer.status_code == other.status_code == 404
    # What is others' and what is not there answer alike.
    own_words = r"[0-9a-f-]{36}|csrfmiddlewaretoken\" value=\"\w+"
    assert len({re.sub(own_words, "", page.content.decode()) for page in (answer, other)}) == 1
    assert getattr(Client(), method)(path).status_code in (302, 404)
    submission.refresh_from_db()
    assert (submission.state, submission.stands) == ("scored", False)


@pytest.mark.parametrize(
    ("leaderboard", "closes", "seen"),
    [("public", 1, True), ("after", 1, False), ("after", -1, True), ("hidden", -1, False)],
)
def test_what_stands_is_published_with_its_leaderboard(
    ann: Participant, leaderboard: str, closes: int, seen: bool
) -> None:
    submission = ann.scored(stands=True)
    closing = timezone.now() + timedelta(hours=closes)
    Phase.objects.update(leaderboard=leaderboard, closes=closing)
    for client in (Client(), Someone("dora").client):
        answer = client.get(f"/submissions/{submission.pk}/")
        assert answer.status_code == (200 if seen else 404)
        assert client.get(f"/submissions/{submission.pk}/files/val/").status_code in (302, 404)
        if seen:
            page = answer.content.decode()
            assert "CIDEr-D" in page
            assert not re.search("Withdraw|files/val|Put on|Take off", page)


def test_a_score_is_shown_among_those_of_its_leaderboard(ann: Participant, bob: Participant) -> None:
    mine = ann.scored()
    path = f"/submissions/{mine.pk}/"
    other = bob.scored(stands=True)
    Participant("cat").scored(stands=True)
    # A plot of one or two other submissions shows less than the leaderboard.
    assert "placing" not in ann.see(path)
    Participant("dan").scored(stands=True)
    lower = Score.objects.get(
        result__submission=other, name="CIDEr-D", result__reference_version=_current("c2"), subset=""
    )
    Score.objects.filter(pk=lower.pk).update(value=0.0, low=0.0, high=0.0)
    # As all that changes scores does.
    other.save()
    page = ann.see(path)
    assert page.count('<figure class="placing">') == 2
    assert "CIDEr-D is higher than that of 1 of the 3 others on the leaderboard" in page
    # Equal captions have equal scores.
    assert "CIDEr-D is higher than that of 0 of the 3 others on the leaderboard" in page
    for hidden in ({"leaderboard": "hidden"}, {"leaderboard": "after"}):
        Phase.objects.update(**hidden)
        assert "placing" not in ann.see(path)
    Phase.objects.update(leaderboard="public")
    Submission.objects.filter(pk=other.pk).update(mark="hidden", mark_reason="r")
    assert "placing" not in ann.see(path)


def _current(references: str) -> ReferenceVersion:
    return ReferenceVersion.objects.get(reference_set__name=references)


def test_declared_fields_have_labels_that_read_well(ann: Participant) -> None:
    Challenge.objects.update(fields=[{"name": "training-data", "required": True}])
    submission = by_form(ann, **{"declared-training-data": "none"})
    for path in (SUBMIT, f"/submissions/{submission.pk}/", "/small/rules/"):
        assert "Training data" in ann.see(path)


def test_organizers_see_what_stands_on_leaderboards_that_they_see(ann: Participant, bob: Participant) -> None:
    submission = ann.scored(stands=True)
    Phase.objects.update(leaderboard="hidden")
    path = f"/submissions/{submission.pk}/"
    bob.see(path, 404)
    Challenge.objects.get().organizers.add(bob.user)
    assert "Withdraw" not in bob.see(path)
    bob.see(f"{path}files/val/", 404)
    Submission.objects.update(stands=False)
    bob.see(path, 404)


def test_the_human_baseline_is_shown_where_leaderboards_are(ann: Participant) -> None:
    references = ReferenceSet.objects.get(name="c1")
    baseline = Submission.objects.create(baseline_of=references, algorithm="human", state="scored")
    file = SubmissionFile(submission=baseline, split=references.split)
    file.file.save("human.json", ContentFile(results()))
    path = f"/submissions/{baseline.pk}/"
    assert re.search(r"Human baseline <[^>]*>of val, references c1", ann.see(path))
    make_public()
    mine = ann.scored()
    assert f'href="{path}"' in ann.see(f"/submissions/{mine.pk}/examples/")
    assert shown_images(ann.see(f"{path}examples/")) == [1, 2, 3, 4, 5, 6]
    Phase.objects.update(leaderboard="hidden")
    ann.see(path, 404)
    assert f'href="{path}"' not in ann.see(f"/submissions/{mine.pk}/examples/")


def test_ones_own_file_comes_back_as_it_was_sent(ann: Participant) -> None:
    submission = ann.submitted()
    answer = ann.client.get(f"/submissions/{submission.pk}/files/val/")
    assert body_of(answer) == results()
    assert answer["Content-Disposition"] == f'attachment; filename="{RESULTS}"'
    assert ann.client.get(f"/submissions/{submission.pk}/files/other/").status_code == 404


def test_a_teammate_sees_and_decides_too(ann: Participant) -> None:
    submission = ann.scored()
    carl = Someone("carl")
    join(carl.user, Challenge.objects.get(), code_of(ann.team))
    assert "Put on the leaderboard" in carl.see(f"/submissions/{submission.pk}/")


# Examples


def with_image_scores(submission: Submission, values: list[float], name: str = "CIDEr-D") -> None:
    """Store the given image scores of a submission for all reference sets."""
    for result in Result.objects.filter(submission=submission, metric=name):
        ImageScores.objects.filter(result=result).delete()
        packed = packed_values(np.array(values)[:, None])
        ImageScores.objects.create(result=result, names=[name], values=packed)


def shown_images(page: str) -> list[int]:
    return [int(image) for image in re.findall(r'id="image-(\d+)"', page)]


def test_examples_are_sorted_and_compared(ann: Participant, bob: Participant) -> None:
    make_public()
    mine, other = ann.scored(), bob.scored(stands=True)
    with_image_scores(mine, [0.3, 0.1, float("nan"), 0.2, 0.6, 0.5])
    path = f"/submissions/{mine.pk}/examples/"
    page = ann.see(path)
    assert shown_images(page) == [2, 4, 1, 6, 5, 3]
    assert shown_images(ann.see(f"{path}?order=best")) == [5, 6, 1, 4, 2, 3]
    assert shown_images(ann.see(f"{path}?order=image")) == [1, 2, 3, 4, 5, 6]
    assert f'href="/submissions/{other.pk}/"' in page
    assert "The dog is running outside." in ann.see(f"{path}?references=c2")
    alone = ann.see(f"{path}?chosen=1")
    assert f'href="/submissions/{other.pk}/"' not in alone
    one = ann.see(f"{path}?image=4")
    assert shown_images(one) == [4]
    assert "Number 2 of 6" in one
    for wrong in ("7", "x", "9" * 5000, "-", "\u0664"):
        assert shown_images(ann.see(f"{path}?image={wrong}")) == []
    for nonsense in ("?page=999", "?page=x", "?sort=nothing", "?split=nothing", "?references=no", "?with=x"):
        assert len(shown_images(ann.see(path + nonsense))) == 6


def test_the_spread_of_scores_is_drawn(ann: Participant) -> None:
    make_public()
    mine = ann.scored()
    path = f"/submissions/{mine.pk}/examples/"
    with_image_scores(mine, [0.0, 0.0, 0.0, float("nan"), 1.0, 2.0])
    page = ann.see(path)
    assert "CIDEr-D of 5 images: from 0.000 to 2.000, mean 0.600, median 0.000" in page
    assert [int(count) for count in re.findall(r": (\d+) images?</title>", page)] == [3, 1, 1]
    with_image_scores(mine, [0.5] * 6)
    assert "from 0.500 to 0.500" in ann.see(path)
    with_image_scores(mine, [float("nan")] * 6)
    assert 'class="bar"' not in ann.see(path)


def test_queries_do_not_grow_with_submissions(
    ann: Participant, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    make_public()
    mine = ann.scored(stands=True)
    for number in range(30):
        other = Submission.objects.create(
            team=make_team(User.objects.create(username=f"user{number}"), Challenge.objects.get()),
            phase=Phase.objects.get(),
            algorithm="a",
            state="scored",
            stands=True,
        )
        SubmissionFile.objects.create(
            submission=other, split=Split.objects.get(), file=mine.files.get().file.name
        )
        Submission.objects.create(team=ann.team, phase=Phase.objects.get(), algorithm="a", state="scored")
    for path, most in (
        ("/small/submissions/", 15),
        (f"/submissions/{mine.pk}/", 18),
        (f"/submissions/{mine.pk}/examples/", 32),
    ):
        ann.see(path)
        with django_assert_max_num_queries(most):
            ann.see(path)


def test_unpublished_captions_are_compared_with_by_their_team_alone(
    ann: Participant, bob: Participant
) -> None:
    make_public()
    mine, other = ann.scored(), bob.scored()
    page = ann.see(f"/submissions/{mine.pk}/examples/?chosen=1&with={other.pk}")
    assert str(other.pk) not in page
    second = ann.scored()
    page = ann.see(f"/submissions/{mine.pk}/examples/?chosen=1&with={second.pk}")
    assert f'href="/submissions/{second.pk}/"' in page


def test_a_split_with_private_references_is_not_browsed(ann: Participant, bob: Participant) -> None:
    mine = ann.scored(stands=True)
    path = f"/submissions/{mine.pk}/examples/"
    for someone in (ann, bob):
        page = someone.see(path)
        assert "only if all of its reference sets are public" in page
        assert "A dog runs on grass" not in page
    assert "Browse examples" not in ann.see(f"/submissions/{mine.pk}/")


def by_api(someone: Someone, submission: Submission, query: str, scope: str = "read") -> Any:
    text = Token.issue(someone.user.pk, f"token {uuid.uuid4()}", scope)
    client = Client(headers={"Authorization": f"Bearer {text}"})
    return client.get(f"/api/submissions/{submission.pk}/images?{query}")


def test_scores_of_images_by_api(ann: Participant, bob: Participant) -> None:
    mine = ann.scored()
    with_image_scores(mine, [0.3, 0.1, float("nan"), 0.2, 0.6, 0.5])
    answer = by_api(ann, mine, "split=val&references=c1&offset=1&limit=3")
    assert answer.status_code == 200
    found = answer.json()
    column = found["names"].index("CIDEr-D")
    assert (found["image_ids"], found["images"], found["version"]) == ([2, 3, 4], 6, 1)
    assert [row[column] for row in found["scores"]] == [0.1, None, 0.2]
    # Kept for private references by mistake, they would still not be given.
    assert by_api(ann, mine, "split=val&references=c2").status_code == 404
    assert by_api(bob, mine, "split=val&references=c1").status_code == 404
    Submission.objects.update(stands=True)
    assert by_api(bob, mine, "split=val&references=c1").status_code == 404
    make_public()
    assert by_api(bob, mine, "split=val&references=c1").status_code == 200
    assert by_api(ann, mine, "split=other&references=c1").status_code == 404
    assert by_api(ann, mine, "split=val&references=c1&offset=99").json()["scores"] == []


def test_organizers_have_scores_of_images_by_tokens_to_organize(ann: Participant, bob: Participant) -> None:
    make_public()
    mine = ann.scored(stands=True)
    with_image_scores(mine, [0.3, 0.1, 0.2, 0.2, 0.6, 0.5])
    Phase.objects.update(leaderboard="hidden")
    Challenge.objects.get().organizers.add(bob.user)
    for scope, status in (("read", 404), ("submit", 404), ("organize", 200)):
        assert by_api(bob, mine, "split=val&references=c1", scope).status_code == status


def test_images_may_come_from_their_origin_on_that_page_alone(ann: Participant) -> None:
    make_public()
    mine = ann.scored()
    Split.objects.update(image_url="https://images.example.org:8443/val/{id:012}.jpg")
    answer = ann.client.get(f"/submissions/{mine.pk}/examples/")
    assert 'src="https://images.example.org:8443/val/000000000001.jpg"' in answer.content.decode()
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";") if part)
    assert policy["img-src"].split() == ["'self'", "data:", "https://images.example.org:8443"]
    assert "example.org" not in ann.client.get(f"/submissions/{mine.pk}/")["Content-Security-Policy"]
    for bad in ("https://a.org;script-src *", "https://a b/{id}", "https://{id}.org/"):
        Split.objects.update(image_url=f"{bad}{{id}}")
        policy_text = ann.client.get(f"/submissions/{mine.pk}/examples/")["Content-Security-Policy"]
        assert "script-src 'self'" in policy_text.split("; ")
        assert "*" not in policy_text
