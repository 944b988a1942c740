"""Cache of rendered leaderboards: one rendering per state, visible only to permitted users."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from capeval_server.api import leaderboards as api
from capeval_server.api.schemas import LeaderboardAnswer, LeaderboardRow
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Split, Subset
from capeval_server.challenges.services.image_lists import as_image_info
from capeval_server.core.errors import OverloadError
from capeval_server.leaderboards import render_cache
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.leaderboards.query import LeaderboardQuery, build_query
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Team
from capeval_server.web.public import images
from capeval_server.web.public import leaderboards as pages
from tests.server.boards import baseline, score_again, stand
from tests.server.kit import Participant, Someone
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.django_db

API = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"
PAGE = "/small/open/?split=val&references=c2"
FORMS = [PAGE, API, f"{API}&format=csv", f"{API}&page=1"]


def key(*, full: bool = True, **asked: Any) -> str:
    phase = Phase.objects.select_related("challenge").get(name="open")
    return render_cache.key_of(build_query(phase, references="c2", **asked), full=full)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[LeaderboardQuery]:
    """Queries of leaderboards that were computed instead of read from the cache."""
    found: list[LeaderboardQuery] = []
    for module in (api, pages):
        make = module.leaderboard

        def noting(question: LeaderboardQuery, make: Any = make, **named: Any) -> Any:
            found.append(question)
            return make(question, **named)

        monkeypatch.setattr(module, "leaderboard", noting)
    return found


CHANGES: dict[str, Callable[[Submission], object]] = {
    "stands": lambda one: Submission.objects.filter(pk=one.pk).update(stands=False),
    "mark": lambda one: Submission.objects.filter(pk=one.pk).update(mark="hidden", mark_reason="x"),
    "state": lambda one: Submission.objects.filter(pk=one.pk).update(state="waiting"),
    "declared": lambda one: Submission.objects.filter(pk=one.pk).update(declared={"method": "other"}),
    "saved": lambda one: one.save(update_fields=["algorithm"]),
    "many": lambda one: Submission.objects.bulk_update([one], ["algorithm"]),
    "deleted": lambda one: one.delete(),
    "scored again": lambda one: score_again(one, {"CIDEr-D": 3.0}),
    "another": lambda _: stand("another", 0.5),
    "baseline": lambda _: baseline(0.5),
    "name of the team": lambda _: Team.objects.update(name="Renamed"),
    "title": lambda _: Challenge.objects.update(title="Other"),
    "fields": lambda _: Challenge.objects.update(fields=[]),
    "closes": lambda _: Phase.objects.update(closes="2100-01-01T00:00:00Z"),
    "hidden": lambda _: Phase.objects.update(leaderboard="hidden"),
    "metrics": lambda _: Split.objects.update(metrics=["CIDEr-D"]),
    "private": lambda _: ReferenceSet.objects.filter(name="c1").update(public=False),
    "subsets": lambda _: Subset.objects.filter(name="animals").delete(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_changes_with_what_is_shown(phase: Phase, change: str) -> None:
    submission = stand("a", 1.0)
    before = key()
    assert key() == before
    CHANGES[change](submission)
    assert key() != before


def test_a_key_changes_with_nothing_else(phase: Phase, ann: Participant) -> None:
    stand("a", 1.0)
    before = key()
    ann.submitted()
    stand("b", 2.0, stands=False)
    other = Phase.objects.get()
    other.pk, other.name, other.leaderboard = None, "other", "hidden"
    other.save()
    stand("c", 2.0, phase=other)
    Client().get(PAGE)
    ann.see("/small/team/")
    assert key() == before
    questions: list[dict[str, Any]] = [
        {},
        {"sort_by": "METEOR"},
        {"order": "worst"},
        {"layout": "both"},
        {"subset": "animals"},
    ]
    assert len({key(**asked) for asked in questions} | {key(full=False)}) == len(questions) + 1


@pytest.mark.parametrize("address", FORMS)
def test_what_is_unchanged_is_made_once(phase: Phase, made: list[LeaderboardQuery], address: str) -> None:
    submission = stand("Firstteam", 1.0)
    first = Client().get(address)
    assert Client().get(address).content == first.content
    assert len(made) == 1
    Submission.objects.filter(pk=submission.pk).update(mark="flagged", mark_reason="Somereason")
    second = Client().get(address)
    assert b"Somereason" in second.content
    assert second["ETag"] != first["ETag"]
    assert len(made) == 2


@pytest.mark.parametrize("address", FORMS)
def test_who_has_it_is_not_sent_it_again(phase: Phase, address: str) -> None:
    submission = stand("a", 1.0)
    client = Client()
    first = client.get(address)
    again = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Cache-Control"] == first["Cache-Control"] == "private, no-cache"
    Submission.objects.filter(pk=submission.pk).update(mark="hidden", mark_reason="x")
    assert client.get(address, headers={"If-None-Match": first["ETag"]}).status_code == 200


@pytest.mark.parametrize("address", FORMS)
def test_what_is_kept_is_for_who_may_see_it(phase: Phase, olga: Someone, address: str) -> None:
    stand("Someteam", 1.0)
    public = Client().get(address)
    assert public.status_code == 200
    Phase.objects.update(leaderboard="hidden")
    for client in (Client(), Someone("eve").client):
        for headers in ({}, {"If-None-Match": public["ETag"]}, {"If-None-Match": "*"}):
            answer = client.get(address, headers=headers)
            assert answer.status_code == 403
            assert b"Someteam" not in answer.content
    assert b"Someteam" in olga.client.get(address).content
    assert Client().get(address).status_code == 403


@pytest.mark.parametrize("address", FORMS[:3])
def test_all_digits_are_for_organizers(phase: Phase, olga: Someone, address: str) -> None:
    ReferenceSet.objects.update(public=False)
    stand("a", 0.123456789)
    for client, shows in ((olga.client, True), (Client(), False), (olga.client, True), (Client(), False)):
        assert (b"0.123456789" in client.get(address).content) == shows


def test_the_head_of_a_page_is_its_readers(phase: Phase, made: list[LeaderboardQuery]) -> None:
    stand("a", 1.0)
    people = [Someone("dora"), Someone("emil")]
    seen = [one.client.get(PAGE) for one in (*people, *people)]
    assert len(made) == 1
    for answer, name in zip(seen, ("dora", "emil") * 2, strict=True):
        assert f"<bdi>{name}</bdi>" in answer.content.decode()
    tokens = [re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', one.content.decode()) for one in seen]
    assert all(len(found) == 1 for found in tokens)
    # What one reader has stands for nothing that another one asks for, nor for what nobody signed in sees.
    last = seen[2]["ETag"]
    assert people[0].client.get(PAGE, headers={"If-None-Match": last}).status_code == 304
    assert people[1].client.get(PAGE, headers={"If-None-Match": last}).status_code == 200
    assert Client().get(PAGE, headers={"If-None-Match": last}).status_code == 200
    people[0].client.logout()
    people[0].client.force_login(people[0].user)
    assert people[0].client.get(PAGE, headers={"If-None-Match": last}).status_code == 200


def test_json_is_as_described(phase: Phase) -> None:
    stand("a", 1.0, mark="flagged", mark_reason="x")
    stand("b", state="waiting")
    baseline(0.5)
    answer = Client().get(API).json()
    LeaderboardAnswer.model_validate(answer)
    assert list(answer) == list(LeaderboardAnswer.model_fields)
    assert all(list(row) == list(LeaderboardRow.model_fields) for row in answer["rows"])
    assert answer["rows"][0]["submitted"].endswith("Z")


def test_what_changed_meanwhile_is_not_kept(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    submission = stand("a", 1.0)
    question = build_query(phase, references="c2")

    def changing() -> bytes:
        Submission.objects.filter(pk=submission.pk).update(mark="hidden", mark_reason="x")
        return b"made while it changed"

    assert (
        render_cache.get_or_render(question, "test", changing, full=True).content == b"made while it changed"
    )
    Submission.objects.filter(pk=submission.pk).update(mark="", mark_reason="")
    assert (
        render_cache.get_or_render(question, "test", lambda: b"made anew", full=True).content == b"made anew"
    )


def test_what_is_kept_has_a_limit(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render_cache._views, "_most", 100)
    question = build_query(phase, references="c2")
    made: list[str] = []

    def make(form: str) -> bytes:
        made.append(form)
        return bytes(40)

    for form in ("1", "2", "1", "3", "1", "2"):
        render_cache.get_or_render(question, form, lambda form=form: make(form), full=True)  # type: ignore[misc]
    assert made == ["1", "2", "3", "2"]


def _at(hour: int) -> str:
    return f"as_of=2026-01-03T{hour:02}:00:00Z"


@pytest.mark.parametrize("address", FORMS)
def test_times_between_submissions_share_a_state(
    phase: Phase, made: list[LeaderboardQuery], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand("a", 1.0, created=datetime(2026, 1, 3, 6, tzinfo=UTC))
    answers = [Client().get(f"{address}&{_at(hour)}").content.decode() for hour in (8, 9, 10, 8)]
    assert len(made) == 1
    # Each has its own time, as a page that is computed for it alone has.
    monkeypatch.setattr(render_cache, "_views", BoundedCache(most=10))
    assert Client().get(f"{address}&{_at(9)}").content.decode() == answers[1]
    assert answers[0] == answers[3]
    assert "format=csv" in address or len(set(answers)) == 3
    made.clear()
    # Earlier than the submission, later than another one, and after the board has changed.
    assert '"a"' not in Client().get(f"{address}&{_at(5)}").content.decode()
    other = stand("b", 2.0, created=datetime(2026, 1, 3, 9, 30, tzinfo=UTC))
    for hour in (9, 10):
        Client().get(f"{address}&{_at(hour)}")
    Submission.objects.filter(pk=other.pk).update(mark="hidden", mark_reason="x")
    for hour in (9, 10):
        Client().get(f"{address}&{_at(hour)}")
    assert len(made) == 3


@pytest.mark.parametrize(
    "address",
    ["/small/open/cite/?references=c2", f"{PAGE}&fingerprint=0123456789abcdef", "/small/open/plot.svg"],
)
def test_citations_and_plots_are_computed_once_for_each_state(
    phase: Phase, made: list[LeaderboardQuery], address: str
) -> None:
    submission = stand("a", 1.0)
    Client().get(address)
    before = len(made)
    assert before
    Client().get(address)
    assert len(made) == before
    Submission.objects.filter(pk=submission.pk).update(mark="hidden", mark_reason="x")
    Client().get(address)
    assert len(made) == 2 * before


def test_no_board_is_computed_for_what_is_no_fingerprint(phase: Phase, made: list[LeaderboardQuery]) -> None:
    stand("a", 1.0)
    Client().get(PAGE)
    made.clear()
    for number in range(3):
        answer = Client().get(f"{PAGE}&fingerprint=x{number}")
        assert "This leaderboard has changed since" in answer.content.decode()
    assert made == []


def test_a_kit_is_made_once_for_each_state(challenge: Challenge, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Split] = []

    def noting(split: Split) -> bytes:
        made.append(split)
        return as_image_info(split)

    monkeypatch.setattr(images, "as_image_info", noting)
    first = Client().get("/small/kit.zip")
    assert Client().get("/small/kit.zip").content == first.content
    again = Client().get("/small/kit.zip", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert len(made) == 1
    challenge.title = "Another title"
    challenge.save()
    assert Client().get("/small/kit.zip").content != first.content


def test_varied_views_take_only_a_few_threads() -> None:
    begun, let_go = threading.Barrier(2), threading.Event()

    def blocked() -> bytes:
        begun.wait(PATIENCE)
        let_go.wait(PATIENCE)
        return b"made"

    def get(name: int, *, common: bool = False) -> bytes:
        return render_cache.get_or_render_by_key(
            lambda: f"key {name}", "test", blocked, common=common
        ).content

    with ThreadPoolExecutor(render_cache._MOST_VARIED) as pool:
        running = [pool.submit(get, number) for number in range(render_cache._MOST_VARIED)]
        begun.wait(PATIENCE)
        wait_until(lambda: render_cache._places._value == 0, lambda: "a thread does not wait")
        with pytest.raises(OverloadError):
            get(100)
        # Common views, and views that were computed before, do not need a place.
        assert (
            render_cache.get_or_render_by_key(lambda: "key", "test", lambda: b"common", common=True).content
            == b"common"
        )
        assert render_cache.get_or_render_by_key(lambda: "key", "test", blocked).content == b"common"
        let_go.set()
        for _ in running[1:]:
            begun.wait(PATIENCE)
        assert [one.result(PATIENCE) for one in running] == [b"made"] * len(running)
    assert render_cache.get_or_render_by_key(lambda: "key 100", "test", lambda: b"later").content == b"later"
