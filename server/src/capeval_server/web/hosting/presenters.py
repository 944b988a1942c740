"""A challenge's definition in the words of the pages: what is made or changed, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capeval_server.challenges.models import Phase
from capeval_server.hosting.services.description import Change
from capeval_server.web.presenters import label

__all__ = ["Section", "in_words"]

_LABELS = {
    "slug": "Name in addresses",
    "fields": "Submitters declare",
    "results": "Names of result files",
    "sort_by": "Score that ranks",
    "least_subset": "Fewest images of a subset that private references score",
    "image_url": "Where an image can be seen",
    "quota_per_day": "Submissions of a team a day",
    "quota_total": "Submissions of a team in all",
    "leaderboard": "Who sees the leaderboard",
    "opens": "Opens (UTC)",
    "closes": "Closes (UTC)",
    "human": "Captions by people",
    "public": "Public",
}
# What the lists of a definition are called, by their keys.
_SECTIONS = {"splits": "Split", "phases": "Phase"}


@dataclass(frozen=True)
class Section:
    """The challenge itself, a split or a phase; each line has a label, what was before and what is after."""

    title: str
    lines: list[tuple[str, str, str]]


def in_words(changes: Sequence[Change]) -> list[Section]:
    """Changes of a definition as sections of labeled lines."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for place, before, after in changes:
        first, *parts = place.split(".")
        title = "Challenge"
        if first in _SECTIONS:
            title = f"{_SECTIONS[first]} {parts.pop(0)}"
        key = parts[-1] if parts else first
        found.setdefault(title, []).append((_label(parts), _value(key, before), _value(key, after)))
    return [Section(title, lines) for title, lines in found.items()]


def _label(parts: Sequence[str]) -> str:
    *above, last = parts or [""]
    # `references.c5.public` is of the references c5, and `subsets.animals` has the name of a subset last.
    where = [f"{kind} {name}" for kind, name in zip(above[::2], above[1::2], strict=False)]
    words = _LABELS.get(last) or label(last)
    if len(above) % 2:
        where.append(f"{above[-1]} {last}")
        words = ""
    text = ", ".join(where)
    if not text:
        return words
    return f"{label(text)}: {words.lower()}" if words else label(text)


def _value(key: str, text: str) -> str:
    if text in ("True", "False"):
        return "yes" if text == "True" else "no"
    if key == "leaderboard":
        return str(dict(Phase.Leaderboard.choices).get(text, text))
    return text.removesuffix("+00:00") if key in ("opens", "closes") else text
