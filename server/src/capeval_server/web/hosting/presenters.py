"""Changes of a challenge's definition, described for the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval_server.challenges.models import Phase
from capeval_server.hosting.services.description import Change
from capeval_server.web.presenters import label

__all__ = ["Section", "in_words"]

_LABELS = {
    "slug": "Name in URLs",
    "faq": "FAQ",
    "approval": "Participants must be approved",
    "invitation_only": "Only invited people can join",
    "team_size": "Members per team",
    "fields": "Declared fields",
    "results": "Names of result files",
    "sort_by": "Ranking score",
    "least_subset": "Minimum images per subset for private references",
    "image_url": "Image URL",
    "quota_per_day": "Submissions per team and day",
    "quota_total": "Submissions per team in total",
    "quota_per_month": "Submissions per team and month",
    "quota_per_window": "Submissions per team within the window",
    "quota_window_days": "Window (days)",
    "data_released": "Data released (UTC)",
    "blind": "Scores withheld from teams",
    "final_submissions": "Final submissions per team",
    "requires_choice": "Teams choose the submission on the leaderboard",
    "leaderboard": "Leaderboard visibility",
    "main": "Main leaderboard",
    "captions": "Splits with public captions",
    "captions_by": "Teams with public captions",
    "opens": "Opens (UTC)",
    "closes": "Closes (UTC)",
    "human": "Human captions",
    "public": "Public",
}
# Labels of values, by key.
_CHOICES = {"leaderboard": Phase.Leaderboard.choices, "captions_by": Phase.CaptionsBy.choices}
# Labels of the lists in a definition, by key.
_SECTIONS = {"splits": "Split", "phases": "Phase"}


@dataclass(frozen=True)
class Section:
    """Changes of the challenge itself, a split or a phase.

    Each line has a label, the old value and the new value.
    """

    title: str
    lines: list[tuple[str, str, str]]


def in_words(changes: Sequence[Change]) -> list[Section]:
    """Group the changes of a definition into sections of labeled lines."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for place, before, after in changes:
        first, *parts = place.split(".")
        title = "Challenge"
        if first in _SECTIONS:
            title = f"{_SECTIONS[first]} {parts.pop(0)}"
        key = parts[-1] if parts else first
        found.setdefault(title, []).append(
            (_render_label(parts), _render_value(key, before), _render_value(key, after))
        )
    return [Section(title, lines) for title, lines in found.items()]


def _render_label(parts: Sequence[str]) -> str:
    *above, last = parts or [""]
    # `references.c5.public` belongs to the references c5; `subsets.animals` ends with a subset's name.
    where = [f"{kind} {name}" for kind, name in zip(above[::2], above[1::2], strict=False)]
    words = _LABELS.get(last) or label(last)
    if len(above) % 2:
        where.append(f"{above[-1]} {last}")
        words = ""
    text = ", ".join(where)
    if not text:
        return words
    return f"{label(text)}: {words.lower()}" if words else label(text)


def _render_value(key: str, text: str) -> str:
    if text in ("True", "False"):
        return "yes" if text == "True" else "no"
    if key in _CHOICES:
        return str(dict(_CHOICES[key]).get(text, text))
    return text.removesuffix("+00:00") if key in ("opens", "closes") else text
