"""Accounts of one mailbox in a campaign: they are flagged, never blocked, and no address is shown."""

from __future__ import annotations

import csv

import pytest
from allauth.account.models import EmailAddress

from capeval_server.annotation.models import Campaign, Participation
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers.mailboxes import find_same_mailboxes, mailbox_of
from tests.server.annotation.test_api import user_program
from tests.server.campaigns import answer, hold, make
from tests.server.kit import Someone
from tests.server.pages import check_page

SAME = [
    ("ann@example.org", "Ann+2@EXAMPLE.org"),
    ("a.nn@gmail.com", "an.n@gmail.com"),
    ("ann@gmail.com", "a.n.n+x+y@GoogleMail.com"),
    ("+ann@example.org", "+Ann@example.org"),
]
DIFFERENT = [
    ("a.nn@example.org", "ann@example.org"),
    ("ann@googlemail.example.org", "ann@gmail.com"),
    ("ann@mail.gmail.com", "ann@gmail.com"),
    ("ann@example.org", "bob@example.org"),
    ("+ann@example.org", "+bob@example.org"),
    ('"ann@x"@example.org', "ann@example.org"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_addresses_of_one_mailbox(first: str, second: str) -> None:
    assert mailbox_of(first) == mailbox_of(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_addresses_of_two_mailboxes(first: str, second: str) -> None:
    assert mailbox_of(first) != mailbox_of(second)


def work(campaign: Campaign, name: str, *addresses: str, verified: bool = True) -> Participation:
    """Make a user with addresses take part in a campaign."""
    user = Someone(name).user
    for place, address in enumerate(addresses):
        EmailAddress.objects.create(user=user, email=address, verified=verified, primary=not place)
    return enrollment.agree(enrollment.enter_as_user(user, campaign), 1)


@pytest.mark.django_db
def test_accounts_of_one_mailbox_are_flagged_and_continue() -> None:
    campaign = make(answers=8, items=2, pay_per_answer="0.10", currency="EUR")
    ann = work(campaign, "ann", "a.nn@gmail.com", "ann@example.org")
    again = work(campaign, "again", "ann+2@googlemail.com")
    other = work(campaign, "other", "other@example.org")
    work(campaign, "unverified", "ANN@example.org", verified=False)
    (token,) = enrollment.invite(None, campaign, 1)
    linked = enrollment.agree(enrollment.get_invited(campaign, token), 1)
    account = Someone("account").user
    EmailAddress.objects.create(user=account, email="ann+link@example.org", verified=True, primary=True)
    enrollment.link(linked, account)
    # Somebody who only read the texts does not take part yet.
    visitor = Someone("visitor").user
    EmailAddress.objects.create(user=visitor, email="other+1@example.org", verified=True, primary=True)
    enrollment.enter_as_user(visitor, campaign)
    names = {one.pk: one.worker.pseudonym for one in campaign.participations.all()}
    same = {
        ann.pk: [names[again.pk], names[linked.pk]],
        again.pk: [names[ann.pk]],
        linked.pk: [names[ann.pk]],
    }
    assert find_same_mailboxes(campaign) == same
    assert find_same_mailboxes(make(answers=1)) == {}
    for one in (ann, again, other):
        answer(hold(one))

    staff = user_program("staff", is_staff=True)
    organizer = Someone("organizer")
    campaign.organizers.add(organizer.user)
    place = f"/campaigns/{campaign.slug}/workers/"
    sent = organizer.client.get(place)
    page = sent.content.decode()
    check_page(page, sent.headers["Content-Security-Policy"])
    assert page.count("same mailbox</span>") == 3
    own = organizer.see(f"{place}{names[ann.pk]}/")
    assert own.count("the same mailbox as worker") == 2
    assert f'href="{place}{names[again.pk]}/"' in own
    assert "the same mailbox" not in organizer.see(f"{place}{names[other.pk]}/")
    listed = staff.ask("GET", f"campaigns/{campaign.slug}/workers")["workers"]
    assert {one["pseudonym"]: one["same_mailbox"] for one in listed if one["same_mailbox"]} == {
        names[key]: others for key, others in same.items()
    }
    payments = staff.client.get(f"/api/campaigns/{campaign.slug}/payments").content.decode()
    rows = {row["worker"]: row["same_mailbox"] for row in csv.DictReader(payments.splitlines())}
    assert rows == {
        names[ann.pk]: f"{names[again.pk]} {names[linked.pk]}",
        names[again.pk]: names[ann.pk],
        names[other.pk]: "",
    }
    for text in (page, own, str(listed), payments):
        assert "@" not in text.replace("@media", "")
    assert set(campaign.participations.exclude(pk__in=same).values_list("stage", flat=True)) == {
        "working",
        "invited",
    }
    assert set(Participation.objects.filter(pk__in=same).values_list("stage", flat=True)) == {"working"}
