"""The API: permissions and sort order."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from ninja import NinjaAPI, Schema

from capeval_server.accounts.models import Token
from capeval_server.api.root import api
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet
from capeval_server.core.errors import SubmissionStateError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import leases, worker
from capeval_server.submissions import jobs
from capeval_server.submissions.models import Result, Submission, SubmissionFile
from capeval_server.submissions.scoring import storage
from capeval_server.submissions.scoring.pipeline import MetricOutcome, ScoringRequest, SubmissionScorer
from capeval_server.submissions.services import lifecycle, submit
from capeval_server.submissions.services.upload_files import read_upload
from capeval_server.teams.models import Raise, Team
from capeval_server.teams.services.enrollment import join as join_team
from tests.server.boards import stand
from tests.server.clock import Clock
from tests.server.kit import CAPTIONS, METRICS, RESULTS, Participant, Someone, code_of, results
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

PHASE = "/api/challenges/small/phases/open"
BOARD = f"{PHASE}/leaderboard?split=val&references=c2"


def test_a_submission_from_upload_to_leaderboard(ann: Participant) -> None:
    answer = ann.submit()
    assert answer.status_code == 201
    submission = answer.json()["id"]
    assert ann.read(f"/api/submissions/{submission}")["state"] == "waiting"
    assert ann.stand(submission).status_code == 409
    assert worker.work_once()
    found = ann.read(f"/api/submissions/{submission}")
    assert found["state"] == "scored"
    assert {(r["references"], r["metric"]) for r in found["results"]} == {
        (references, metric) for references in ("c1", "c2") for metric in METRICS
    }
    numbers = {s["name"]: s for r in found["results"] if r["references"] == "c2" for s in r["scores"]}
    assert set(numbers) == {"BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D"}
    # The best submission of a team is there without a choice.
    assert [row["team"] for row in ann.read(BOARD)["rows"]] == ["ann"]
    assert ann.stand(submission, False).status_code == 200
    assert ann.read(BOARD)["rows"] == []
    assert ann.stand(submission).status_code == 200
    (row,) = Client().get(BOARD).json()["rows"]
    assert (row["rank"], row["team"], row["algorithm"]) == (1, "ann", "mine")


def test_scores_are_those_of_the_library(ann: Participant, definition: Path) -> None:
    import capeval

    submission = str(ann.submitted().pk)
    worker.work_once()
    # All digits are shown.
    ReferenceSet.objects.update(public=True)
    found = ann.read(f"/api/submissions/{submission}")
    for name in ("c1", "c2"):
        references = capeval.load_references(definition.parent / f"references_{name}.json")
        report = capeval.evaluate(references, CAPTIONS, subsets={"animals": [1, 2], "things": [3, 4, 5, 6]})
        got = {
            (s["subset"], s["name"]): s["value"]
            for r in found["results"]
            if r["references"] == name
            for s in r["scores"]
        }
        wanted = {("", score): value for score, value in report.corpus.items()}
        for subset, values in report.subsets.items():
            wanted |= {(subset, score): value for score, value in values.items()}
        assert got == wanted


def test_others_see_nothing_of_it(ann: Participant) -> None:
    submission = str(ann.submitted().pk)
    bob = Participant("bob")
    missing = bob.api.get("/api/submissions/00000000-0000-0000-0000-000000000000")
    answers = [
        bob.api.get(f"/api/submissions/{submission}"),
        bob.stand(submission),
        bob.stand(submission, False),
    ]
    for answer in answers:
        assert (answer.status_code, answer.content) == (404, missing.content)
    assert bob.read("/api/submissions") == {"submissions": []}


def test_a_metric_that_fails_fails_alone(ann: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_CACHE", "")
    submission = str(ann.submitted().pk)
    worker.work_once()
    found = ann.read(f"/api/submissions/{submission}")
    assert found["state"] == "scored"
    failures = {r["metric"]: r["failure"] for r in found["results"]}
    assert failures["METEOR"].startswith("METEOR could not be computed (")
    assert [failures[name] for name in ("BLEU", "ROUGE-L", "CIDEr-D")] == ["", "", ""]
    assert all(r["scores"] for r in found["results"] if r["metric"] != "METEOR")
    assert not Result.objects.filter(by_content=True).exists()


@pytest.mark.parametrize(
    ("system", "costs"), [([], True), (["BLEU"], False), (["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"], False)]
)
def test_a_submission_that_no_metric_can_score_costs_quota_if_its_content_is_why(
    ann: Participant, monkeypatch: pytest.MonkeyPatch, system: list[str], costs: bool
) -> None:
    def fail(_: SubmissionScorer, task: ScoringRequest, __: object) -> list[MetricOutcome]:
        return [
            MetricOutcome(metric=metric, failure=f"{metric} failed", by_content=metric not in system)
            for metric in task.metrics
        ]

    monkeypatch.setattr(SubmissionScorer, "score", fail)
    submission = ann.submitted()
    worker.work_once()
    found = ann.read(f"/api/submissions/{submission.pk}")
    assert (found["state"], found["counts_for_quota"]) == ("failed", costs)
    assert ann.read(f"{PHASE}/quota", "read")["left_today"] == 5 - costs
    page = ann.see(f"/submissions/{submission.pk}/")
    assert ("It cost no quota" in page) == (not costs)
    assert ("counts for the quota" in page) == costs
    # Scored again, and failed by the system this time, it costs nothing.
    lifecycle.rerun(submission)
    system[:] = ["BLEU"]
    worker.work_once()
    assert ann.read(f"{PHASE}/quota", "read")["left_today"] == 5


def test_too_little_memory_ends_the_child_and_nothing_else(ann: Participant, settings: Any) -> None:
    settings.MEMORY_BYTES, settings.MAX_ATTEMPTS = 50_000_000, 1
    submission = str(ann.submitted().pk)
    worker.work_once()
    assert ann.read(f"/api/submissions/{submission}")["state"] == "failed"
    assert ann.read(f"{PHASE}/quota", "read")["left_today"] == 5


def test_new_references_make_old_scores_stale(ann: Participant, definition: Path) -> None:
    submission = str(ann.submitted().pk)
    worker.work_once()
    ann.stand(submission)
    old = Client().get(BOARD).json()["rows"][0]["scores"]
    references = definition.parent / "references_c2.json"
    changed = json.loads(references.read_text())
    changed["1"] = ["Something else."]
    references.write_text(json.dumps(changed))
    import_challenge(definition)
    found = ann.read(f"/api/submissions/{submission}")
    assert found["state"] == "waiting"
    assert {r["stale"] for r in found["results"] if r["references"] == "c2"} == {True}
    (row,) = Client().get(BOARD).json()["rows"]
    assert row["rank"] is None
    assert set(row["scores"].values()) == {None}
    worker.work_once()
    found = ann.read(f"/api/submissions/{submission}")
    assert sorted(r["version"] for r in found["results"] if r["references"] == "c2") == [1] * 4 + [2] * 4
    (row,) = Client().get(BOARD).json()["rows"]
    assert row["scores"] != old
    assert row["rank"] == 1


def test_what_is_withdrawn_is_not_scored_again(ann: Participant) -> None:
    submission = str(ann.submitted().pk)
    assert ann.api.delete(f"/api/submissions/{submission}").status_code == 200
    with pytest.raises(SubmissionStateError, match="withdrawn"):
        lifecycle.rerun(Submission.objects.get())
    assert not worker.work_once()


def test_a_rerun_gives_the_same_scores_once(ann: Participant) -> None:
    submission = str(ann.submitted().pk)
    worker.work_once()
    first = ann.read(f"/api/submissions/{submission}")
    lifecycle.rerun(Submission.objects.get())
    assert ann.read(f"/api/submissions/{submission}")["results"] == []
    worker.work_once()
    assert ann.read(f"/api/submissions/{submission}") == first


@pytest.mark.parametrize("order", ["best", "worst"])
@pytest.mark.parametrize("missing", [None, float("nan"), float("inf")])
def test_a_missing_score_is_never_on_top(challenge: Challenge, order: str, missing: float | None) -> None:
    for name, value in (("a", 1.0), ("b", missing), ("c", 2.0), ("d", 2.0), ("e", 0.5)):
        stand(name, value)
    rows = Client().get(f"{BOARD}&order={order}").json()["rows"]
    ranks = [(row["team"], row["rank"]) for row in rows]
    best = [("c", 1), ("d", 1), ("a", 3), ("e", 4)]
    worst = [("e", 4), ("a", 3), ("c", 1), ("d", 1)]
    assert ranks == [*(best if order == "best" else worst), ("b", None)]


def test_sorting_by_another_score(challenge: Challenge) -> None:
    stand("a", 1.0)
    assert Client().get(f"{BOARD}&sort_by=METEOR").json()["rows"][0]["rank"] is None
    wrong = Client().get(f"{BOARD}&sort_by=SPICE")
    assert wrong.status_code == 422
    assert "must be one of BLEU-1" in wrong.json()["detail"]


def test_csv_has_full_numbers_and_no_formulas(challenge: Challenge) -> None:
    ReferenceSet.objects.update(public=True)
    stand("@ann", 1 / 3, algorithm="-1+1")
    stand("bob", None)
    text = Client().get(f"{BOARD}&format=csv").content.decode()
    first, second = csv.DictReader(io.StringIO(text))
    assert [first[name] for name in ("rank", "team", "algorithm")] == ["1", "'@ann", "'-1+1"]
    assert float(first["CIDEr-D"]) == 1 / 3
    assert [second[name] for name in ("rank", "team", "CIDEr-D")] == ["", "bob", ""]


def test_csv_has_negative_numbers_as_numbers_and_declared_names_as_text(challenge: Challenge) -> None:
    ReferenceSet.objects.update(public=True)
    challenge.fields = [{"name": "=1+1", "type": "text"}]
    challenge.save()
    stand("ann", -1e-05, declared={"=1+1": "-2"})
    text = Client().get(f"{BOARD}&format=csv").content.decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["CIDEr-D"], row["'=1+1"]) == ("-1e-05", "-2")


def test_queries_do_not_grow_with_rows(challenge: Challenge, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        stand(f"user{number}", number)
    with django_assert_max_num_queries(20):
        assert len(Client().get(BOARD).json()["rows"]) == 30


@pytest.mark.parametrize(
    ("leaderboard", "seen_before", "seen_after"), [("after", 403, 200), ("hidden", 403, 403)]
)
def test_hidden_leaderboards(
    challenge: Challenge, leaderboard: str, seen_before: int, seen_after: int
) -> None:
    Phase.objects.update(leaderboard=leaderboard)
    assert Client().get(BOARD).status_code == seen_before
    Phase.objects.update(closes=timezone.now())
    assert Client().get(BOARD).status_code == seen_after


def test_tokens(ann: Participant) -> None:
    refused = Client().get("/api/submissions")
    assert refused.status_code == 401
    assert "send a valid token as 'Authorization: Bearer TOKEN'" in refused.json()["detail"]
    assert Client(headers={"Authorization": "Bearer capeval_x"}).get("/api/submissions").status_code == 401
    reader = ann.program("read")
    assert ann.read("/api/submissions", "read") == {"submissions": []}
    file = SimpleUploadedFile(RESULTS, results())
    assert reader.post(f"{PHASE}/submissions", {"method": "m", "file": file}).status_code == 403
    assert ann.read("/api/challenges/small/team", "read")["code"] is None
    stored = str(list(Token.objects.values_list()))
    for text in ann.tokens.values():
        assert text not in stored
        assert text.removeprefix("capeval_") not in stored
    assert reader.delete("/api/token").status_code == 204
    assert reader.get("/api/submissions").status_code == 401
    Token.objects.filter(user=ann.user).update(expires=timezone.now() - timedelta(seconds=1))
    assert ann.api.get("/api/submissions").status_code == 401


def test_tokens_of_users_who_are_locked_out(ann: Participant) -> None:
    User.objects.update(is_active=False)
    assert ann.api.get("/api/submissions").status_code == 401


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"method": " "}, "a submission must declare 'method'"),
        ({"color": "red"}, r"unknown declared field 'color'; the fields are: method, url"),
        ({"url": "a" * 2001}, "'url' must be a text of at most 2,000 characters"),
    ],
)
def test_what_is_declared_is_checked(ann: Participant, form: dict[str, str], message: str) -> None:
    answer = ann.submit(None, **form)
    assert answer.status_code == 422
    assert answer.json()["detail"] == message


def test_a_wrong_upload_stores_nothing(ann: Participant) -> None:
    before = set(default_storage.listdir("")[0])
    answer = ann.submit(results({1: "a"}))
    assert answer.status_code == 422
    assert answer.json()["entry"] == RESULTS
    assert not Submission.objects.exists()
    assert set(default_storage.listdir("")[0]) == before
    assert ann.read(f"{PHASE}/quota")["left_today"] == 5


def test_files_that_cannot_be_stored_cost_nothing(ann: Participant, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    default = {**settings.STORAGES["default"], "OPTIONS": {"location": tmp_path / "file" / "folder"}}
    settings.STORAGES = {**settings.STORAGES, "default": default}
    answer = ann.submit()
    assert (answer.status_code, answer.json()["detail"]) == (503, "files can't be stored at the moment")
    assert not Submission.objects.exists()
    assert ann.read(f"{PHASE}/quota")["left_today"] == 5


@pytest.mark.parametrize("path", ["/api/challenges/small/team", "/api/challenges/small/organize/rerun"])
def test_half_a_character_is_no_text(challenge: Challenge, ann: Participant, path: str) -> None:
    challenge.organizers.add(ann.user)
    for name in ("code", "phase"):
        body = f'{{"{name}": "\\ud800"}}'
        assert ann.program("organize").post(path, body, content_type="application/json").status_code == 400


def _list_body_types() -> Iterator[tuple[str, type[Schema]]]:
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                for model in operation.models:
                    if model.__ninja_param_source__ in ("body", "form"):
                        for field in model.model_fields.values():
                            assert isinstance(field.annotation, type)
                            yield f"{operation.methods[0]} {prefix}{path}", field.annotation


def test_unknown_fields_of_every_request_body_are_errors(ann: Participant, olga: Someone) -> None:
    found = dict(_list_body_types())
    assert len(found) > 40
    accepting = [place for place, body in found.items() if body.model_config.get("extra") != "forbid"]
    assert accepting == []
    quotas = f"/api/challenges/small/organize/teams/{ann.team.pk}/raises/open"
    answer = olga.program("organize").put(quotas, {"perday": 1}, content_type="application/json")
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert (problem["loc"][-1], problem["type"]) == ("perday", "extra_forbidden")
    # Also in forms.
    asked = {"phase": "open", "kinds": ["m5"], "image": 4}
    answer = olga.program("organize").post("/api/challenges/small/organize/judging", asked)
    assert (answer.status_code, answer.json()["detail"]) == (422, "unknown field 'image'")


def test_a_key_of_another_challenge_at_once(ann: Participant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ann.submit(key="k").status_code == 201
    # As when neither sees the other: each locks a team of its own.
    monkeypatch.setattr(Submission.objects, "filter", _not_by_key(Submission.objects.filter))
    assert ann.submit(key="k").status_code == 409
    monkeypatch.undo()
    assert SubmissionFile.objects.count() == Submission.objects.count() == 1


def _not_by_key(found: Any) -> Any:
    def filtered(*wanted: Any, **named: Any) -> Any:
        return found(*wanted, **named).none() if "idempotency_key" in named else found(*wanted, **named)

    return filtered


def test_phases_open_and_close(ann: Participant) -> None:
    Phase.objects.update(opens=timezone.now() + timedelta(days=1))
    assert "opens at" in ann.submit().json()["detail"]
    Phase.objects.update(opens=timezone.now() - timedelta(days=2), closes=timezone.now())
    closed = ann.submit()
    assert (closed.status_code, closed.json()["detail"]) == (403, "phase 'open' is closed")


def test_the_deadline_is_that_of_the_arrival(
    ann: Participant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, closes = clock.now, clock.now + timedelta(seconds=1)
    Phase.objects.update(closes=closes)

    def take_long(*upload: Any) -> Any:
        clock.now = closes + timedelta(minutes=1)
        return read_upload(*upload)

    monkeypatch.setattr(submit, "read_upload", take_long)
    assert ann.submit().status_code == 201
    assert Submission.objects.get().created == arrived
    assert ann.submit().status_code == 403


def test_a_phase_that_ends_while_an_upload_is_checked(
    ann: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_phase(*upload: Any) -> Any:
        Phase.objects.update(closes=timezone.now() - timedelta(days=1))
        return read_upload(*upload)

    monkeypatch.setattr(submit, "read_upload", end_phase)
    answer = ann.submit()
    assert (answer.status_code, answer.json()["detail"]) == (403, "phase 'open' is closed")
    assert not Submission.objects.exists()


def test_what_arrives_after_midnight_is_of_the_next_day(
    ann: Participant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    Phase.objects.update(quota_per_day=1)
    # Of the same team, since one user has one upload checked at a time.
    carl = Someone("carl")
    join_team(carl.user, ann.team.challenge, code_of(ann.team))
    before, after = clock.midnight - timedelta(seconds=1), clock.midnight + timedelta(seconds=1)

    def take_long(*upload: Any) -> Any:
        monkeypatch.undo()
        Clock(monkeypatch).now = after
        assert ann.submit(by=carl).status_code == 201
        return read_upload(*upload)

    clock.now = before
    monkeypatch.setattr(submit, "read_upload", take_long)
    assert ann.submit().status_code == 201
    assert list(Submission.objects.order_by("created").values_list("created", flat=True)) == [before, after]


def test_a_quota_of_a_day(ann: Participant, clock: Clock) -> None:
    Phase.objects.update(quota_per_day=1)
    clock.now = clock.midnight - timedelta(seconds=30)
    midnight = clock.midnight
    assert ann.submit().status_code == 201
    answer = ann.submit()
    assert answer.status_code == 429
    assert datetime.fromisoformat(answer.json()["allowed_from"]) == midnight
    assert answer.headers["Retry-After"] == "31"
    clock.now = midnight
    assert ann.submit().status_code == 201
    assert ann.submit().status_code == 429


def test_a_quota_in_all(ann: Participant) -> None:
    Phase.objects.update(quota_total=1)
    assert ann.submit().status_code == 201
    answer = ann.submit()
    assert answer.status_code == 429
    assert answer.json() == {
        "detail": "the quota of 1 in total is used up; no more submissions are allowed",
        "allowed_from": None,
    }
    assert "Retry-After" not in answer.headers


def test_a_key_used_again(ann: Participant) -> None:
    first, again = ann.submit(key="k"), ann.submit(key="k")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert ann.submit(results({**CAPTIONS, 1: "Another."}), key="k").status_code == 409


@pytest.mark.usefixtures("clock")
def test_joining_and_leaving(ann: Participant) -> None:
    team = "/api/challenges/small/team"
    bob, eve = Participant("bob"), Participant("eve")

    def join(who: Participant, **choice: Any) -> Any:
        return who.api.post(team, {"accept_rules": True, **choice}, content_type="application/json")

    for refused in (join(bob, accept_rules=False), bob.api.post(team, {}, content_type="application/json")):
        assert refused.status_code == 409
        assert refused.json()["detail"] == (
            "'accept_rules' must be true to accept the rules of the challenge: http://localhost:8000/small/rules/"
        )
    assert join(bob, name="x").status_code == 409
    assert bob.api.delete(team).status_code == 204
    assert bob.api.get(team).status_code == 404
    assert bob.api.delete(team).status_code == 409
    assert bob.submit().status_code == 409
    assert join(bob, code="guessed").status_code == 409
    both = join(bob, name="new", code=ann.read(team)["code"])
    assert (both.status_code, both.json()["detail"][:26]) == (409, "'name' must be absent with")
    for name in ("ann", "a" * 61, "a\u0000b", "a\u202eb"):
        assert join(bob, name=name).status_code == 409, name
    assert join(bob, code=ann.read(team)["code"]).json()["members"] == ["ann", "bob"]
    submission = str(bob.submitted().pk)
    assert ann.read(f"/api/submissions/{submission}")["algorithm"] == "mine"
    assert ann.read(f"{PHASE}/quota")["left_today"] == 4
    assert ann.api.delete(team).status_code == 204
    assert ann.api.get(f"/api/submissions/{submission}").status_code == 404
    assert eve.api.get(f"/api/submissions/{submission}").status_code == 404


def test_what_nobody_foresaw_is_tried_again_and_costs_nothing(
    ann: Participant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAX_ATTEMPTS, settings.RETRY_SECONDS = 2, 0
    submission = str(ann.submitted().pk)

    def fail(*_: object) -> None:
        raise LookupError("unforeseen")

    monkeypatch.setattr(jobs, "write", fail)
    assert worker.work_once()
    assert ann.read(f"/api/submissions/{submission}")["state"] == "waiting"
    assert worker.work_once()
    found = ann.read(f"/api/submissions/{submission}")
    assert (found["state"], found["reason"]) == ("failed", "the system failed 2 times")
    assert ann.read(f"{PHASE}/quota")["left_today"] == 5
    assert "unforeseen" in Submission.objects.get(pk=submission).log


@pytest.mark.usefixtures("clock")
def test_withdrawing(ann: Participant) -> None:
    submission = str(ann.submitted().pk)
    worker.work_once()
    assert ann.stand(submission).status_code == 200
    assert ann.api.delete(f"/api/submissions/{submission}").json()["state"] == "withdrawn"
    assert Client().get(BOARD).json()["rows"] == []
    assert ann.stand(submission).status_code == 409
    assert ann.read(f"{PHASE}/quota")["left_today"] == 4
    waiting = str(ann.submitted().pk)
    assert ann.api.delete(f"/api/submissions/{waiting}").status_code == 200
    assert not worker.work_once()


def test_withdrawn_while_it_is_scored(ann: Participant) -> None:
    submission = str(ann.submitted().pk)
    claimed = leases.claim([lifecycle.SCORING], "here")
    assert claimed is not None
    assert ann.api.delete(f"/api/submissions/{submission}").status_code == 200
    with pytest.raises(leases.LostLeaseError):
        storage.write(claimed, [])
    assert ann.read(f"/api/submissions/{submission}")["state"] == "withdrawn"


@pytest.mark.usefixtures("clock")
def test_a_team_with_more_quota(ann: Participant) -> None:
    Raise.objects.create(team=Team.objects.get(), phase=Phase.objects.get(), per_day=2)
    assert [ann.submit().status_code for _ in range(8)] == [201] * 7 + [429]


def test_one_submission_stands(ann: Participant) -> None:
    first, second = str(ann.submitted().pk), ann.submit().json()["id"]
    worker.work_once()
    worker.work_once()
    for submission in (first, second, second):
        assert ann.stand(submission).status_code == 200
        assert [str(s.pk) for s in Submission.objects.filter(stands=True)] == [submission]
    ann.stand(second, False)
    assert Client().get(BOARD).json()["rows"] == []


def test_every_answer_is_guarded(challenge: Challenge) -> None:
    for path in ("/", "/api/docs", "/api/challenges", "/api/nothing"):
        policy = Client().get(path).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_the_page_of_the_api_loads_nothing_from_elsewhere() -> None:
    page = Client().get("/api/docs").content.decode()
    assert "/static/ninja/" in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_of_the_api_is_one_of_the_site() -> None:
    answer = Client().get("/api/docs")
    check_page(answer.content.decode(), answer.headers["Content-Security-Policy"])
    # Swagger is dark by this program alone.
    assert "/static/capeval/api.js" in answer.content.decode()


def test_the_description_of_the_api_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Client().get("/api/openapi.json").content
    monkeypatch.setattr(NinjaAPI, "get_openapi_schema", None)
    assert Client().get("/api/openapi.json").content == first


def test_operation_ids_are_unique_and_consist_of_method_and_path() -> None:
    paths = Client().get("/api/openapi.json").json()["paths"]
    ids = [operation["operationId"] for operations in paths.values() for operation in operations.values()]
    assert len(set(ids)) == len(ids) > 90
    assert paths["/api/challenges/{slug}/team"]["post"]["operationId"] == "post_challenges_slug_team"
    assert [name for name in ids if "capeval" in name] == []


@pytest.mark.parametrize("path", ["x%00", "a/phases/%00/leaderboard?split=a&references=b", "a" * 60, "ö"])
def test_odd_paths_are_no_failures(challenge: Challenge, path: str) -> None:
    assert 400 <= Client().get(f"/api/challenges/{path}").status_code < 500


@pytest.mark.parametrize("name", ["split", "references", "subset", "sort_by"])
def test_odd_questions_are_no_failures(challenge: Challenge, name: str) -> None:
    question = {"split": "val", "references": "c2", name: "\0"}
    assert 400 <= Client().get(f"{PHASE}/leaderboard", question).status_code < 500
