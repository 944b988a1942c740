"""States of a challenge: visitors of its pages, its API and its files.

Every route of a challenge is requested in every state by every kind of visitor.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase, ReferenceSet
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import to_toml
from capeval_server.submissions.models import Submission
from tests.server.kit import Participant, Someone
from tests.server.pages import read_settings

pytestmark = pytest.mark.django_db

SPLIT_IMAGES = "/api/challenges/small/splits/val/images"
BOARD = "/api/challenges/small/phases/open/leaderboard?split=val&references=c2"


def _list_routes(resolver: Any, before: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern).removeprefix("^").removesuffix("$")
        if hasattr(pattern, "url_patterns"):
            yield from _list_routes(pattern, route)
        else:
            yield route


def _list_addresses(submission: Submission) -> list[str]:
    """Return an address of every route of the small challenge and of a submission to it."""
    pk, team = str(submission.pk), str(submission.team_id)
    values = {
        **dict.fromkeys(("challenge:slug", "slug:slug", "slug"), "small"),
        **dict.fromkeys(("slug:name", "slug:phase", "phase"), "open"),
        **dict.fromkeys(("slug:split", "split"), "val"),
        **dict.fromkeys(("slug:references", "references"), "c2"),
        **dict.fromkeys(("uuid:pk", "submission_id", "other_id"), pk),
        **dict.fromkeys(("int:pk", "team_id"), team),
        **dict.fromkeys(("number", "id"), "1"),
        **dict.fromkeys(("str:name", "name"), "x.png"),
        "str:key": "wrong",
        "user": "ann",
    }
    found = []
    for route in _list_routes(get_resolver()):
        is_of_challenge = route.startswith(
            (
                "<challenge:slug>/",
                "<slug:slug>/",
                "api/challenges/<slug>",
                "submissions/<",
                "api/submissions/<",
            )
        )
        if is_of_challenge:
            for name, value in values.items():
                route = route.replace(f"<{name}>", value)
            assert "<" not in route, f"no value for a parameter of {route}"
            found.append(f"/{route}")
    assert len(found) > 80
    return found


def _ask(client: Client, addresses: list[str]) -> dict[str, int]:
    found = {}
    for address in addresses:
        # Programs with a token use only the API.
        if address.startswith("/api/") or "HTTP_AUTHORIZATION" not in client.defaults:
            answer = client.get(address)
            found[address] = answer.status_code
            # Also closes the file that a download sends.
            answer.close()
    return found


@pytest.fixture
def eve() -> Someone:
    """A user without a relation to the challenge."""
    return Someone("eve")


def _set(challenge: Challenge, visibility: str, **values: Any) -> None:
    Challenge.objects.filter(pk=challenge.pk).update(visibility=visibility, link_key="sesame", **values)


def _clients(*, ann: Participant, olga: Someone, eve: Someone) -> dict[str, Client]:
    linked = Client()
    return {
        "anonymous": Client(),
        "with a wrong key": Client(headers={"Challenge-Key": "open"}),
        "with the link": linked,
        "with the key": Client(headers={"Challenge-Key": "sesame"}),
        "other user": eve.client,
        "participant": ann.client,
        "participant's token": ann.program("submit"),
        "organizer": olga.client,
        "organizer's token": olga.program("organize"),
        "organizer's token to read": olga.program("read"),
        "staff": Someone("sam", is_staff=True).client,
    }


ORGANIZERS = {"organizer", "organizer's token", "staff"}
INVITED = {"with the link", "with the key", "participant", "participant's token"}


@pytest.mark.parametrize("visibility", ["draft", "unlisted", "archived"])
def test_every_route_is_hidden_as_a_whole(
    challenge: Challenge, olga: Someone, ann: Participant, eve: Someone, visibility: str
) -> None:
    submission = ann.scored(stands=True)
    addresses = _list_addresses(submission)
    clients = _clients(ann=ann, olga=olga, eve=eve)
    # A selection of those who see the challenge, with different pages.
    see = {
        "draft": {"organizer", "organizer's token", "staff"},
        "unlisted": {"with the link", "participant's token", "organizer"},
        "archived": {"anonymous", "organizer"},
    }[visibility]
    hidden_from = {
        "draft": set(clients) - ORGANIZERS,
        "unlisted": set(clients) - ORGANIZERS - INVITED,
        "archived": set(),
    }[visibility]
    before = {name: _ask(clients[name], addresses) for name in sorted(see)}
    _set(challenge, visibility)
    opened = clients["with the link"].get("/small/link/sesame/")
    assert opened.status_code == (404 if visibility == "draft" else 302)
    for name in sorted(see):
        assert _ask(clients[name], addresses) == before[name], name
    for name in sorted(hidden_from):
        # As if the challenge did not exist.
        after = _ask(clients[name], addresses)
        assert set(after.values()) == {404}, (name, {k: v for k, v in after.items() if v != 404})


def test_a_hidden_challenge_and_a_missing_one_are_alike(challenge: Challenge, eve: Someone) -> None:
    _set(challenge, "draft")
    for client in (Client(), eve.client, eve.program("submit")):
        for path in ("/{}/", "/{}/join/", "/{}/kit.zip", "/api/challenges/{}", "/api/challenges/{}/team"):
            hidden, missing = client.get(path.format("small")), client.get(path.format("smell"))
            assert hidden.status_code == missing.status_code == 404
            if path.startswith("/api"):
                assert hidden.content == missing.content


def test_human_baselines_and_lists_of_a_draft_are_hidden(
    challenge: Challenge, olga: Someone, ann: Participant, eve: Someone
) -> None:
    ann.scored(stands=True)
    references = challenge.splits.get().reference_sets.get(name="c2")
    human = Submission.objects.create(baseline_of=references, algorithm="human", state="scored")
    places = [f"/submissions/{human.pk}/", f"/submissions/{human.pk}/compare/"]
    assert {client.get(place).status_code for client in (Client(), eve.client) for place in places} == {200}
    assert len(ann.read("/api/submissions")["submissions"]) == 1
    _set(challenge, "draft")
    for client in (Client(), eve.client, ann.client):
        assert {client.get(place).status_code for place in places} == {404}
    assert olga.client.get(places[0]).status_code == 200
    assert ann.read("/api/submissions")["submissions"] == []


def test_organizers_see_that_a_challenge_is_hidden(challenge: Challenge, olga: Someone) -> None:
    pages = ("/small/", "/small/open/", "/small/data/", "/small/organize/")
    for visibility, notice in (
        ("draft", "This challenge is a draft: only its organizers and staff see it."),
        ("unlisted", "This challenge is unlisted"),
        ("public", ""),
    ):
        _set(challenge, visibility)
        for page in pages:
            shown = olga.see(page)
            assert notice in shown
            # Each page shows it once.
            assert shown.count("This challenge is") == bool(notice)


def test_lists_name_only_what_is_listed(
    challenge: Challenge, olga: Someone, ann: Participant, eve: Someone
) -> None:
    expected = {
        "draft": (False, False, True), "unlisted": (False, True, True),
        "public": (True, True, True), "archived": (True, True, True),
    }  # fmt: skip
    for visibility, (listed, of_members, of_organizers) in expected.items():
        _set(challenge, visibility)
        slugs = [one["slug"] for one in Client().get("/api/challenges").json()["challenges"]]
        assert ("small" in slugs) == listed
        for user, shown in ((eve, listed), (ann, of_members), (olga, of_organizers)):
            assert ("A small challenge" in user.see("/")) == shown, (visibility, user.user.username)
        assert ("A small challenge" in Client().get("/").content.decode()) == listed


def test_responses_about_hidden_challenges_are_not_cached(challenge: Challenge, olga: Someone) -> None:
    _set(challenge, "draft")
    for path in ("/small/", "/small/open/", "/small/kit.zip", SPLIT_IMAGES, BOARD):
        assert olga.client.get(path).headers["Cache-Control"] == "private, no-store"


def test_a_new_link_replaces_the_earlier_one(challenge: Challenge, olga: Someone) -> None:
    _set(challenge, "unlisted")
    page = olga.see("/small/organize/edit/")
    assert "/small/link/sesame/" in page
    visitor = Client()
    assert visitor.get("/small/").status_code == 404
    assert visitor.get("/small/link/sesame/").status_code == 302
    assert visitor.get("/small/").status_code == 200
    olga.do("/small/organize/link/")
    challenge.refresh_from_db()
    assert visitor.get("/small/").status_code == 404
    assert visitor.get("/small/link/sesame/").status_code == 404
    assert f"/small/link/{challenge.link_key}/" in olga.see("/small/organize/edit/")


def test_a_link_lets_others_join(challenge: Challenge, eve: Someone) -> None:
    _set(challenge, "unlisted")
    assert eve.client.get("/small/join/").status_code == 404
    program = eve.program("submit")
    answer = program.post("/api/challenges/small/team", {}, content_type="application/json")
    assert answer.status_code == 404
    eve.client.get("/small/link/sesame/")
    eve.do("/small/join/", how="alone", accept="on")
    # A participant needs the link no more.
    assert program.get("/api/challenges/small/team").status_code == 200


def test_an_archive_is_only_read(challenge: Challenge, ann: Participant, eve: Someone, phase: Phase) -> None:
    submission = ann.scored()
    _set(challenge, "archived")
    assert "This challenge is archived." in eve.see("/small/")
    # Nothing leads to a form that would be refused, although the phase is open.
    form = "/small/open/submit/"
    for page in ("/", "/small/", "/small/open/", "/small/submissions/", "/small/team/"):
        assert form not in ann.see(page), page
    assert "Invite members" not in ann.see("/small/team/")
    assert "It accepts no submissions." in (page := ann.see(form))
    assert 'type="file"' not in page
    eve.client.post("/small/join/", {"how": "alone", "accept": "on"})
    assert challenge.memberships.count() == 1
    refused = ann.submit()
    assert (refused.status_code, refused.json()["detail"]) == (403, "challenge 'small' is archived")
    assert ann.stand(str(submission.pk)).status_code == 409
    # A team can always withdraw what it submitted.
    assert ann.api.delete(f"/api/submissions/{submission.pk}").status_code == 200
    assert "is archived: nobody can join it" in eve.client.post(
        "/small/join/", {"how": "alone", "accept": "on"}
    ).content.decode().replace("&#x27;", "'")


DATA = (
    "/small/kit.zip",
    "/small/images/val/",
    "/small/images/val.json",
    SPLIT_IMAGES,
    "/api/challenges/small/splits/val/subsets",
    "/api/challenges/small/submission-format",
    "/api/challenges/small/splits/val/references/c1",
)


def test_data_are_released_at_a_time(challenge: Challenge, olga: Someone, ann: Participant) -> None:
    _set(challenge, "public", data_released=timezone.now() + timedelta(days=1))
    for client in (Client(), ann.client, ann.api):
        for path in DATA:
            answer = client.get(path)
            assert answer.status_code == 403
            assert b"image_id" not in answer.content
        assert "image_id" not in client.get("/small/data/").content.decode()
        assert "kit.zip" not in client.get("/small/data/").content.decode()
    assert "image_id" not in ann.see("/small/open/submit/")
    detail = Client().get(SPLIT_IMAGES).json()["detail"]
    assert detail.startswith("the images of the challenge are released at 20")
    ReferenceSet.objects.update(public=True)
    everything = list(DATA)
    assert set(_ask(olga.client, everything).values()) == {200}
    assert set(_ask(olga.program("organize"), everything).values()) == {200}
    _set(challenge, "public", data_released=timezone.now())
    assert set(_ask(Client(), everything).values()) == {200}


def test_the_state_follows_the_phases(challenge: Challenge, phase: Phase) -> None:
    now = timezone.now()
    day = timedelta(days=1)

    def state() -> str:
        text: str = Client().get("/api/challenges/small").json()["state"]
        return text

    for opens, closes, expected in (
        (day, 2 * day, "announced"), (-day, day, "open"), (-2 * day, -day, "closed")
    ):  # fmt: skip
        Phase.objects.update(opens=now + opens, closes=now + closes)
        assert state() == expected
    Phase.objects.update(final=now)
    assert state() == "final"
    _set(challenge, "archived")
    assert state() == "archived"


def test_visibility_is_part_of_the_definition(definition: Path) -> None:
    text = definition.read_text().replace(
        "[challenge]\n", '[challenge]\nvisibility = "unlisted"\ndata_released = 2035-01-01T00:00:00Z\n'
    )
    definition.write_text(text)
    challenge = import_challenge(definition)
    assert challenge.visibility == "unlisted"
    key = challenge.link_key
    assert len(key) == 24
    exported = to_toml(challenge)
    assert 'visibility = "unlisted"' in exported
    assert "data_released = 2035-01-01 00:00:00+00:00" in exported
    assert key not in exported
    definition.write_text(text.replace("unlisted", "public") + "\n")
    assert import_challenge(definition).link_key == key
    # A file without them keeps them; the release is also deleted by name.
    definition.write_text(
        'delete = ["challenge.data_released"]\n'
        + "".join(line for line in text.splitlines(keepends=True) if "data_released" not in line)
    )
    assert import_challenge(definition).data_released is None


def test_visibility_is_changed_on_a_page(challenge: Challenge, olga: Someone) -> None:
    sent = read_settings(olga.client)
    assert sent["visibility"] == "public"
    sent |= {"visibility": "unlisted", "data_released": "2035-01-01T00:00:00"}
    olga.do("/small/organize/edit/", **sent)
    challenge.refresh_from_db()
    assert challenge.visibility == "unlisted"
    assert challenge.data_released == datetime(2035, 1, 1, tzinfo=UTC)
    assert challenge.link_key
    assert Client().get("/small/").status_code == 404
