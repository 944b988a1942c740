"""Tabs of a challenge: the same row of links on all of its pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.template import Context, Library
from django.urls import reverse
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.teams.services.enrollment import team_of

__all__ = ["challenge_tabs", "nearest", "register"]

register = Library()


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A tab."""

    name: str
    text: str
    address: str


@register.inclusion_tag("web/_tabs.html", takes_context=True)
def challenge_tabs(context: Context, current: str) -> dict[str, Any]:
    """Return the context of the tabs of a challenge.

    It includes links to the phases if the current tab has one page per phase.

    Args:
        context: Contains `request` and `challenge`, and `phase` on pages of a phase. Views that already know
            them add `team`, the user's team if they take part, and `organizer`, whether the user organizes
            the challenge, to save queries.
        current: Name of the tab that the page belongs to, or "".
    """
    challenge: Challenge = context["challenge"]
    user, phase, now = context["request"].user, context.get("phase"), timezone.now()
    organizer = context["organizer"] if "organizer" in context else is_organizer(user, challenge)
    phases = nearest(challenge.phases.all(), now)
    shown = [one for one in phases if one.get_state(now) != "upcoming"]
    boards = [one for one in shown if organizer or one.shows_leaderboard(now)]
    accepting = [one for one in phases if one.get_state(now) == "open" and not challenge.is_archived]
    team = context["team"] if "team" in context else user.is_authenticated and team_of(user, challenge)
    places = {
        "leaderboard": _link_phases("leaderboard", challenge, boards),
        "captions": _link_phases("captions", challenge, _filter_with_captions(shown, now)),
        "submit": _link_phases("submit", challenge, accepting),
    }
    of_phases = places.get(current, {})
    return {
        "tabs": list(_list_tabs(challenge, places, member=bool(team), organizer=organizer)),
        "current": current,
        "phases": of_phases if len(of_phases) > 1 else {},
        "phase": phase.name if phase else "",
        "challenge": challenge,
        "organizer": organizer,
    }


def nearest(phases: Iterable[Phase], now: datetime) -> list[Phase]:
    """Sort phases by relevance: with published results, then open, then upcoming, then closed.

    Results are published if they are final, or those of a blind phase. The newest ones come first, but after
    phases that opened since then. Open and upcoming phases are sorted by closing time, closed ones with the
    latest first.
    """
    phases = list(phases)
    results = {
        phase.pk: published
        for phase in phases
        if (published := phase.final or phase.published) and phase.shows_leaderboard(now)
    }
    newest = max(results.values(), default=now)

    def order(phase: Phase) -> tuple[int, float, int]:
        state, closes = phase.get_state(now), phase.closes.timestamp()
        if phase.pk in results:
            return 1, -results[phase.pk].timestamp(), phase.pk
        if state == "open" and phase.opens > newest:
            return 0, closes, phase.pk
        place = ("open", "upcoming", "closed").index(state) + 2
        return place, -closes if state == "closed" else closes, phase.pk

    return sorted(phases, key=order)


def _link_phases(view: str, challenge: Challenge, phases: Iterable[Phase]) -> dict[str, str]:
    return {one.name: reverse(view, args=(challenge.slug, one.name)) for one in phases}


def _filter_with_captions(phases: Iterable[Phase], now: datetime) -> list[Phase]:
    return [one for one in phases if one.captions and one.shows_leaderboard(now)]


def _list_tabs(
    challenge: Challenge, places: dict[str, dict[str, str]], *, member: bool, organizer: bool
) -> Iterable[Tab]:
    def tab(name: str, text: str, view: str) -> Tab:
        return Tab(name=name, text=text, address=reverse(view, args=(challenge.slug,)))

    yield tab("about", "About", "challenge")
    yield tab("data", "Data", "challenge_data")
    yield tab("rules", "Rules", "challenge_rules")
    for page in challenge.pages:
        place = reverse("challenge_page", args=(challenge.slug, page["name"]))
        yield Tab(name=f"page {page['name']}", text=page["title"], address=place)
    if challenge.announcements.exists():
        yield tab("announcements", "Announcements", "announcements")
    if challenge.faq.strip():
        yield tab("faq", "FAQ", "challenge_faq")
    if challenge.contact.strip():
        yield tab("contact", "Contact", "challenge_contact")
    for name, text in (("leaderboard", "Leaderboard"), ("captions", "Captions"), ("submit", "Submit")):
        if places[name]:
            yield Tab(name=name, text=text, address=next(iter(places[name].values())))
    if member:
        yield tab("submissions", "Your submissions", "submissions")
        yield tab("team", "Your team", "team")
    if organizer:
        yield tab("organize", "Organize", "organizer_overview")
