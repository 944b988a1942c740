"""Secrets that no response to a worker may reveal: attention checks and hidden fields of items."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.models import Assignment, Campaign
from capeval_server.annotation.workers import enrollment
from tests.server.annotation.test_pages import enter
from tests.server.campaigns import answer, hold, join, make

pytestmark = pytest.mark.django_db
SECRET = "Secretmarker"
# For each task type without an image: the fields that workers see, the hidden fields, and a raw answer.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "triplet": (
        {"reference": "a dog", "first": "a hound", "second": "a cat"},
        {"first_by": SECRET, "second_by": SECRET, "image_id": SECRET, "on_the_left": "first"},
        {"choice": "left"},
    ),
    "m5": ({"first": "a hound", "second": "a cat"}, {"system": SECRET}, {"choice": "yes"}),
    "write": ({"keywords": ["cart"]}, {}, {"caption": "a cart in a street"}),
}


def campaign_of(kind: str) -> Campaign:
    """Create a campaign with items and attention checks that look the same and have secret fields."""
    shown, secret, raw = KINDS[kind]
    campaign = make("write" if kind == "write" else "triplet", items=0, batch=1, check_every=2, answers=3)
    campaign.kind = kind
    campaign.save()
    expected = raw if kind == "write" else {"choice": "first" if kind == "triplet" else "yes"}
    add_items(
        campaign,
        [
            ItemDefinition(
                key=f"{SECRET} {number}",
                image="",
                group="" if kind == "write" else f"{SECRET} {number}",
                category=SECRET,
                payload={**shown, **secret},
                expected=expected if number % 2 else {},
            )
            for number in range(20)
        ],
        3,
    )
    return campaign


def plain(content: bytes) -> bytes:
    """Remove the parts of a page that differ per request: leases, tokens, sides and numbers of answers."""
    content = re.sub(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"LEASE", content)
    content = re.sub(rb'data-answered="\d+">\d+ answered', b"ANSWERED", content)
    content = re.sub(rb'name="csrfmiddlewaretoken" value="\w+"', b"TOKEN", content)
    return re.sub(rb"a hound|a cat", b"TEXT", content)


@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_tells_a_check_from_an_item(kind: str) -> None:
    campaign = campaign_of(kind)
    client = enter(campaign)
    client.post(f"/annotate/{campaign.slug}/agree/", {"texts": "1"})
    pages: dict[bool, set[bytes]] = {True: set(), False: set()}
    answers: dict[bool, set[bytes]] = {True: set(), False: set()}
    number = {True: 0, False: 0}
    for _ in range(16):
        page = client.get(f"/annotate/{campaign.slug}/").content
        held = Assignment.objects.select_related("item").get(state="held")
        check = held.item.is_check
        number[check] += 1
        pages[check].add(plain(page))
        done = client.post(
            f"/annotate/{campaign.slug}/{held.lease}/answer/",
            # Right in terms of the item: who fails checks is paused, and told so.
            {"choice": "right"} if kind == "triplet" and held.mirrored else KINDS[kind][2],
            headers={"Accept": "application/json"},
        )
        assert done.status_code == 200
        answers[check].add(done.content)
        assert SECRET.encode() not in page + done.content
    assert min(number.values()) >= 5
    assert len(pages[True]) == 1
    assert pages[True] == pages[False]
    assert answers[True] == answers[False]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_beside_what_is_shown_is_sent(kind: str) -> None:
    campaign = campaign_of(kind)
    # Another worker's caption, and the reason for its review.
    if kind == "write":
        answer(hold(join(campaign)[0]), f"{SECRET} in a street")
    (token,) = enrollment.invite(None, campaign, 1)
    program = Client(headers={"Authorization": f"Bearer {token}"})
    place = f"/api/annotate/{campaign.slug}"
    sent = [program.get(place), program.post(f"{place}/agree", {"texts": 1}, "application/json")]
    for number in range(6):
        given = program.post(f"{place}/next", {}, "application/json")
        (item,) = given.json()["items"]
        lease = f"{place}/items/{item['lease']}"
        raw = KINDS[kind][2]
        sent += [
            given,
            program.put(f"{lease}/draft", {"content": {"caption": "a"}}, "application/json"),
            program.post(f"{lease}/check", {"caption": "a cart"}, "application/json"),
            program.post(
                f"{lease}/answer", {"answer": {"choice": SECRET[:5]}, "key": "x"}, "application/json"
            ),
            program.post(f"{lease}/answer", {"answer": raw, "key": f"{number}"}, "application/json"),
            program.post(f"{lease}/skip", {}, "application/json"),
            program.post(f"{lease}/report", {"reason": "other"}, "application/json"),
        ]
    assert len(sent) == 44
    for one in sent:
        assert one.status_code < 500
        assert SECRET.encode() not in one.content, one.request["PATH_INFO"]
        assert SECRET not in str(one.headers)
