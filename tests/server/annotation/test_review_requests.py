"""Reviews of all answers of a worker, requested by a manager."""

from __future__ import annotations

import pytest

from capeval_server.annotation.models import Campaign, Participation, Response
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.review.moderation import block, list_review_queue, review, unblock
from capeval_server.annotation.review.review_requests import REQUESTED, request_worker_reviews
from capeval_server.audit.models import Action
from tests.server.annotation.test_api import user_program
from tests.server.annotation.test_campaign_commands import refused, run
from tests.server.campaigns import answer, join, make
from tests.server.kit import Someone

pytestmark = pytest.mark.django_db


# So different that no signal sends them to review.
TEXTS = (
    "a cart in a street",
    "two dogs run on green grass",
    "an old boat near some river",
    "people eat lunch under trees",
    "the red bus waits at night",
    "children play with colorful balls",
)


@pytest.fixture
def staff() -> Someone:
    return Someone("staff", is_staff=True)


@pytest.fixture
def campaign() -> Campaign:
    """Two workers with three answers each; the first answer of each waits for a review."""
    made = make("write", answers=2, items=3, review_first=1)
    texts = iter(TEXTS)
    for worker in join(made, 2):
        for held in assignment.assign_work(worker).assignments:
            answer(held, next(texts))
    return made


def worker_of(campaign: Campaign) -> tuple[Participation, str]:
    worker = campaign.participations.earliest("pk")
    return worker, worker.worker.pseudonym


def test_all_answers_without_a_verdict_are_sent_to_review(campaign: Campaign, staff: Someone) -> None:
    worker, _ = worker_of(campaign)
    review(staff.user, worker.responses.earliest("pk"), "fine")
    assert list_review_queue(campaign).count() == 1
    assert request_worker_reviews(staff.user, worker) == 2
    waiting = list_review_queue(campaign).filter(participation=worker)
    assert {each.reason for row in waiting for each in row.review_requests.all()} == {REQUESTED}
    assert Response.objects.count() == 6
    assert "requested reviews of 2 answers" in Action.objects.latest("pk").what
    # Again, there is nothing to do.
    assert request_worker_reviews(staff.user, worker) == 0
    # Nobody needs to read the answers of a blocked worker, unless the block is lifted.
    others = list_review_queue(campaign).exclude(participation=worker).count()
    excluded, _ = block(None, worker, "spam")
    assert list_review_queue(campaign).count() == others
    unblock(None, excluded, "a mistake")
    assert list_review_queue(campaign).count() == others + 2


def test_by_page(campaign: Campaign, staff: Someone) -> None:
    _, name = worker_of(campaign)
    sent = staff.do(f"/campaigns/{campaign.slug}/workers/{name}/reviews/")
    place = sent.headers["Location"]
    assert place == f"/campaigns/{campaign.slug}/reviews/?state=waiting&worker={name}"
    page = staff.see(place)
    assert "Sent 2 answers to review." in page
    assert page.count(REQUESTED) >= 3


def test_by_api_and_command(campaign: Campaign) -> None:
    _, name = worker_of(campaign)
    program = user_program("staff", is_staff=True)
    assert program.ask("POST", f"campaigns/{campaign.slug}/workers/{name}/reviews") == {"answers": 2}
    assert run("recheck", campaign.slug, name) == [f"{name}: 0 answers to review"]
    user_program("other").ask("POST", f"campaigns/{campaign.slug}/workers/{name}/reviews", status=404)


def test_choices_are_not_reviewed(staff: Someone) -> None:
    campaign = make("pairwise")
    (worker,) = join(campaign)
    name = worker.worker.pseudonym
    assert "of the task type pairwise are not reviewed" in refused("recheck", campaign.slug, name)
    place = f"/campaigns/{campaign.slug}/workers/{name}/"
    assert staff.do(f"{place}reviews/").headers["Location"] == place
    assert "Nothing changed: answers of the task type pairwise are not reviewed." in staff.see(place)
