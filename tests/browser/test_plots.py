"""Plots of leaderboards while a newer one is made."""

from __future__ import annotations

import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Visitor
from tests.waiting import wait_until

# A team with a submission on the leaderboard and a chosen score.
STAND = """
from capeval_server.challenges.models import Phase, ReferenceVersion
from capeval_server.submissions.models import Result, Score, Submission
from capeval_server.teams.models import Team
phase = Phase.objects.get()
team = Team.objects.create(challenge=phase.challenge, name=sys.argv[1])
made = Submission.objects.create(team=team, phase=phase, algorithm="a", state="scored", stands=True)
for version in ReferenceVersion.objects.all():
    result = Result.objects.create(submission=made, reference_version=version, metric="CIDEr-D")
    Score.objects.create(result=result, name="CIDEr-D", value=0.5, low=0.4, high=0.6)
"""
BOARD = "/small/open/"
PLOTS = "**/plot.svg*"
WORDS, FIRST = "An earlier plot. The current one is being made.", "The plot is being made."
KEPT = "() => Object.values(sessionStorage).filter(text => text.includes('</svg>')).length"


@pytest.fixture
def visitor(visitor: Visitor) -> Visitor:
    """A visitor to a leaderboard that just changed."""
    visitor.site.python(STAND, f"Team {time.monotonic_ns()}")
    return visitor


def _plot(page: Page) -> Locator:
    return page.locator("figure.plot picture img")


def _earlier(page: Page) -> Locator:
    return page.locator("figure.plot .earlier")


def _expect_drawn(plot: Locator) -> None:
    plot.scroll_into_view_if_needed()
    expect(plot).not_to_have_js_property("naturalWidth", 0)


def _held(visitor: Visitor) -> list[Route]:
    """Open the leaderboard and hold the requests for its plot until they are released."""
    held: list[Route] = []
    visitor.page.route(PLOTS, lambda route: held.append(route))
    # A page is loaded once its plot is.
    visitor.page.goto(visitor.site.root + BOARD, wait_until="domcontentloaded")
    visitor.page.locator("figure.plot").scroll_into_view_if_needed()
    return held


def _let_go(visitor: Visitor, held: list[Route]) -> None:
    # Later requests are no longer held; the held ones continue below.
    visitor.page.unroute(PLOTS)
    assert held
    _expect_drawn(_plot(visitor.page))


def test_an_earlier_plot_is_gray_until_the_new_one_is_there(visitor: Visitor) -> None:
    page = visitor.page
    visitor.go(BOARD)
    _expect_drawn(_plot(page))
    wait_until(lambda: page.evaluate(KEPT), lambda: "the plot is not kept")
    visitor.site.python(STAND, f"Team {time.monotonic_ns()}")
    held = _held(visitor)
    expect(_earlier(page)).to_have_count(1)
    _expect_drawn(_earlier(page))
    expect(page.get_by_text(WORDS)).to_be_visible()

    assert not Axe().run(page).response["violations"]
    _let_go(visitor, held)
    expect(_earlier(page)).to_have_count(0)
    expect(page.get_by_text(WORDS)).to_be_hidden()
    visitor.look()


def test_who_saw_no_plot_before_is_told_that_it_is_being_made(visitor: Visitor) -> None:
    held = _held(visitor)
    expect(visitor.page.get_by_text(FIRST)).to_be_visible()
    expect(_earlier(visitor.page)).to_have_count(0)
    _let_go(visitor, held)
    expect(visitor.page.get_by_text(FIRST)).to_be_hidden()
