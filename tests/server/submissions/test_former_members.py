"""Quotas after users delete their account and sign up again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.utils import timezone

from capeval_server.challenges.models import Phase
from capeval_server.submissions.models import FormerAddress, FormerMember, Submission
from capeval_server.submissions.quotas.former_members import forget
from capeval_server.teams.services.enrollment import join, make_team
from capeval_server.teams.services.membership import leave
from tests.server.clock import Clock
from tests.server.kit import Participant, Someone, code_of

pytestmark = pytest.mark.django_db

QUOTA = "/api/challenges/small/phases/open/quota"


def address(user: User, email: str, *, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user, email=email, verified=verified)


class Returned(Someone):
    """A user with a new account, not yet part of a challenge."""

    def __init__(self, name: str, *emails: str) -> None:
        super().__init__(name)
        for email in emails:
            address(self.user, email)

    def quota(self) -> Any:
        return self.read(QUOTA)


def test_a_deleted_account_has_no_new_quota(ann: Participant, clock: Clock) -> None:
    Phase.objects.update(quota_per_day=2, quota_total=3)
    address(ann.user, "ann@example.org")
    address(ann.user, "other@example.org")
    address(ann.user, "bob@example.org", verified=False)
    for _ in range(2):
        ann.submitted()
    ann.user.delete()
    for digest in FormerAddress.objects.values_list("digest", flat=True):
        assert "ann" not in digest
    assert FormerAddress.objects.count() == 2

    again = Returned("anna", "ann@example.org", "other@example.org")
    team = make_team(again.user, ann.team.challenge)
    assert (again.quota()["left_today"], again.quota()["left"]) == (0, 1)
    clock.now = clock.midnight
    assert (again.quota()["left_today"], again.quota()["left"]) == (1, 1)
    # And once more: earlier usage is counted only once.
    Submission.objects.create(team=team, phase=Phase.objects.get(), user=again.user, created=clock.now)
    again.user.delete()
    third = Returned("annie", "other@example.org")
    make_team(third.user, ann.team.challenge)
    assert third.quota()["left"] == 0
    assert "0 of 3" in third.see("/small/open/submit/")
    # Others have theirs.
    bob = Returned("bob", "bob@example.org")
    make_team(bob.user, ann.team.challenge)
    assert bob.quota()["left"] == 3


def test_it_counts_for_the_team_that_they_are_in(ann: Participant, bob: Participant) -> None:
    address(ann.user, "ann@example.org")
    ann.submitted()
    ann.user.delete()
    again = Returned("anna", "ann@example.org")
    join(again.user, bob.team.challenge, code_of(bob.team))
    assert bob.read(QUOTA)["left"] == 19
    leave(again.user, bob.team.challenge)
    make_team(again.user, bob.team.challenge)
    assert (again.quota()["left"], bob.read(QUOTA)["left"]) == (19, 20)


def test_a_new_secret_key_forgets_nothing_while_the_server_has_the_old_one(
    ann: Participant, settings: Any
) -> None:
    address(ann.user, "ann@example.org")
    ann.submitted()
    ann.user.delete()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
    again = Returned("anna", "ann@example.org")
    make_team(again.user, ann.team.challenge)
    assert again.quota()["left"] == 19


def test_nothing_is_kept_of_who_did_not_submit_or_when_all_is_over(
    ann: Participant, bob: Participant
) -> None:
    address(bob.user, "bob@example.org")
    bob.user.delete()
    assert not FormerMember.objects.exists()
    address(ann.user, "ann@example.org")
    ann.submitted()
    ann.user.delete()
    forget(timezone.now())
    assert FormerMember.objects.exists()
    Phase.objects.update(closes=timezone.now() - timedelta(days=1), opens=timezone.now() - timedelta(days=2))
    forget(timezone.now())
    assert not FormerMember.objects.exists()


def test_what_was_used_counts_after_the_servers_key_is_rotated(ann: Participant, settings: Any) -> None:
    Phase.objects.update(quota_per_day=2, quota_total=3)
    address(ann.user, "ann@example.org")
    ann.submitted()
    ann.user.delete()
    before = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "x" * 50, [before]
    again = Returned("anna", "ann@example.org")
    make_team(again.user, ann.team.challenge)
    assert again.quota()["left"] == 2
    again.user.delete()
    # Without the earlier key, usage recorded with it is no longer recognized.
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "y" * 50, []
    third = Returned("annie", "ann@example.org")
    make_team(third.user, ann.team.challenge)
    assert third.quota()["left"] == 3
