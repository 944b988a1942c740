"""Names of teams and users that look like others, or like nothing."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from capeval_server.accounts.models import NameKeys
from capeval_server.accounts.name_validation import LONGEST_KEY, compute_name_keys, find_name_problem
from capeval_server.accounts.services.users import create_user
from capeval_server.challenges.models import Challenge, ReferenceSet
from capeval_server.core.errors import TeamError
from capeval_server.hosting.services import moderation
from capeval_server.teams.models import Team
from capeval_server.teams.services.enrollment import make_team
from tests.server.kit import Participant, Someone
from tests.server.pages import VOID

ALIKE = [
    ("Bob", "bob"),
    ("Straße", "STRASSE"),
    ("ﬁne", "fine"),
    ("Ｔｅａｍ", "team"),
    # Cyrillic, Greek.
    ("cаt", "cat"),
    ("ΝET", "net"),
    ("Illini", "lllini"),
    ("ILLINI", "illini"),
    ("team 1", "team l"),
    ("Team O", "Team 0"),
    ("modern", "modem"),
    ("é", "e\u0301"),
    ("a  b", "a b"),
    ("𝐓eam", "team"),
]
# In some fonts these differ by little, and in none are they the same.
DIFFERENT = [("net", "vet"), ("bus", "bys"), ("team 1", "team 2"), ("e", "é"), ("ab", "a b"), ("猫", "犬")]
IMPOSSIBLE = {
    "\u3164": "invisible",
    "\u2800\u2800": "invisible",
    "a\u200bb": "invisible",
    "a\u202eb": "invisible",
    "a\ufe0f": "invisible",
    "...": "a letter or a digit",
    "🎉": "a letter or a digit",
    "a" + "\u0301" * 5: "at most 4 combining marks",
    "ﷺ" * 60: "too long",
    "human": "human baseline",
    "HUMAN": "human baseline",
    "hurnan": "human baseline",
    "hυman": "human baseline",
    "humаn": "human baseline",
}
POSSIBLE = [
    "Team 7",
    "42",
    "Ньютон",
    "猫チーム",
    "فريق",
    "ทีมงาน",
    "Zoë & co",
    "humans",
    "superhuman",
    "x" * 60,
]


def twins(one: str, other: str) -> bool:
    return any(
        left == right for left, right in zip(compute_name_keys(one), compute_name_keys(other), strict=True)
    )


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_look_alike(one: str, other: str) -> None:
    assert twins(one, other)
    assert twins(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_names_that_differ(one: str, other: str) -> None:
    assert not twins(one, other)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_names_that_nobody_can_have(name: str) -> None:
    assert IMPOSSIBLE[name] in find_name_problem(name)


@pytest.mark.parametrize("name", POSSIBLE)
def test_names_that_somebody_can_have(name: str) -> None:
    assert find_name_problem(name) == ""


@given(st.text(min_size=1, max_size=60))
def test_any_name_has_keys_or_a_problem(name: str) -> None:
    assert twins(name, name)
    assert find_name_problem(name) or max(map(len, compute_name_keys(name))) <= LONGEST_KEY


# Teams


def rename(staff: Someone, team: Team, name: str) -> Any:
    return staff.client.post(f"/admin/teams/team/{team.pk}/change/", {"name": name, **_INLINES})


_INLINES = {
    f"{kind}-{field}": "0" for kind in ("memberships", "raises") for field in ("TOTAL_FORMS", "INITIAL_FORMS")
}


@pytest.fixture
def staff(db: None) -> Someone:
    return Someone("staff", is_staff=True, is_superuser=True)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["BOB", "bоb", "human", "Hυman", "...", "b\u3164"])
def test_no_team_has_the_look_of_another(bob: Participant, staff: Someone, name: str) -> None:
    carl = Someone("carl")
    with pytest.raises(TeamError, match="'name' must"):
        make_team(carl.user, bob.team.challenge, name)
    form = {"how": "team", "name": name, "accept": "on"}
    answer = carl.client.post("/small/join/", form)
    assert (answer.status_code, Team.objects.count()) == (422, 1)
    assert "must" in answer.content.decode()
    # Nor by a new name in the administration.
    other = make_team(carl.user, bob.team.challenge, "other")
    answer = rename(staff, other, name)
    assert (answer.status_code, "must" in answer.content.decode()) == (200, True)
    other.refresh_from_db()
    assert other.name == "other"
    assert rename(staff, other, "Other").status_code == 302
    assert rename(staff, bob.team, "bob").status_code == 302


@pytest.mark.django_db
def test_the_database_has_no_twins_either(bob: Participant) -> None:
    challenge = bob.team.challenge
    with pytest.raises(IntegrityError), transaction.atomic():
        Team.objects.create(challenge=challenge, name="BOB")
    # In another challenge, it is another team.
    elsewhere = Challenge.objects.create(slug="elsewhere", title="Elsewhere")
    assert Team.objects.create(challenge=elsewhere, name="BOB").pk


# Users

SIGN_UP = {"email": "new@example.org", "password1": "correct horse 1", "password2": "correct horse 1"}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["ANN", "аnn", "human", "...", "_"])
def test_no_user_has_the_look_of_another(staff: Someone, name: str) -> None:
    create_user("ann")
    with pytest.raises(ValidationError):
        create_user(name)
    answer = Client().post("/accounts/signup/", {"username": name, **SIGN_UP})
    assert (answer.status_code, "errorlist" in answer.content.decode()) == (200, True)
    given = {"username": name, "password1": "correct horse 1", "password2": "correct horse 1"}
    answer = staff.client.post("/admin/auth/user/add/", {**given, "usable_password": "true"})
    assert (answer.status_code, "errorlist" in answer.content.decode()) == (200, True)
    assert set(User.objects.values_list("username", flat=True)) == {"ann", "staff"}
    if name != "human" and find_name_problem(name) == "":
        with pytest.raises(IntegrityError), transaction.atomic():
            User.objects.create(username=name)


@pytest.mark.django_db
def test_a_user_who_is_renamed(staff: Someone) -> None:
    ann = create_user("ann")
    given = {"username": "Ann", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on"}
    assert staff.client.post(f"/admin/auth/user/{ann.pk}/change/", given).status_code == 302
    answer = staff.client.post(f"/admin/auth/user/{ann.pk}/change/", {**given, "username": "STAFF"})
    assert "must not look like that of another user" in answer.content.decode()
    assert (
        staff.client.post(f"/admin/auth/user/{ann.pk}/change/", {**given, "username": "eve"}).status_code
        == 302
    )
    # The old name is free again.
    assert create_user("ann").pk


# Names without keys


@pytest.mark.django_db
def test_names_without_keys_stay_and_have_no_more_twins(challenge: Challenge) -> None:
    Team.objects.create(challenge=challenge, name="bob")
    User.objects.create(username="bob")
    # Neither stores the keys of its names.
    Team.objects.bulk_create([Team(challenge=challenge, name="BOB")])
    User.objects.bulk_create([User(username="BOB")])
    assert list(Team.objects.order_by("pk").values_list("name", "look")) == [("bob", "bob"), ("BOB", None)]
    assert list(NameKeys.objects.values_list("user__username", flat=True)) == ["bob"]
    with pytest.raises(TeamError, match=r"must not look like that of another team, 'bob'"):
        make_team(Someone("carl").user, challenge, "Bob")
    with pytest.raises(ValidationError):
        create_user("Bob")
    for team in Team.objects.all():
        team.save(update_fields=["code"])
    for user in User.objects.filter(username="BOB"):
        user.save(update_fields=["last_login"])
        user.save()


# Text of either direction

AMIT = "עמית"


class _Unisolated(HTMLParser):
    """Parser that finds names outside of elements that isolate their text direction."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.isolated = 0
        self.bare: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if AMIT in data and "bdi" in self.open:
            self.isolated += 1
        # These hold nothing but text.
        elif AMIT in data and not {"title", "option", "textarea", "script"} & set(self.open):
            self.bare.append(f"{self.open[-1]}: {data.strip()}")


@pytest.mark.django_db
def test_names_do_not_turn_the_text_around_them(challenge: Challenge, olga: Someone) -> None:
    amit = Participant(AMIT)
    submission = amit.scored(stands=True, method=AMIT)
    moderation.mark(olga.user, challenge, submission, "flagged", AMIT)
    moderation.add_organizer(olga.user, challenge, AMIT)
    ReferenceSet.objects.update(public=True)
    paths = {
        amit: ["/", "/small/open/", "/small/open/submit/", "/small/submissions/", "/small/team/", "/tokens/"]
        + [f"/submissions/{submission.pk}/{part}" for part in ("", "examples/")]
        + ["/accounts/profile/"],
        olga: [f"/small/organize/{part}" for part in ("", "teams/", "submissions/", "organizers/", "trail/")]
        + [f"/small/organize/submissions/{submission.pk}/", f"/small/organize/teams/{amit.team.pk}/"],
        Someone("carl"): [f"/small/join/?code={amit.team.code}", f"/submissions/{submission.pk}/"],
    }
    for someone, addresses in paths.items():
        for address in addresses:
            page = _Unisolated()
            page.feed(someone.see(address))
            assert page.bare == [], address
            assert page.isolated, address
