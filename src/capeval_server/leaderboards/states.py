"""States of leaderboards: what a leaderboard shows is made once for each, and kept in memory.

A key stands for all that a leaderboard depends on. It is looked up anew for each request, so nothing has to
be told that a leaderboard changed, and each process of the server may keep what it made.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model, prefetch_related_objects
from django.utils import timezone

from capeval import __version__
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.conditional import etag_of
from capeval_server.leaderboards.questions import Question

__all__ = ["Kept", "kept", "key_of", "shown_phases"]

_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Kept:
    """What was made of a leaderboard in one state, and its ETag."""

    content: bytes
    etag: str


def shown_phases(challenge: Challenge) -> list[Phase]:
    """The phases whose leaderboards everybody may see now, in their order."""
    now = timezone.now()
    prefetch_related_objects([challenge], "phases")
    found = sorted(challenge.phases.all(), key=lambda phase: (phase.opens, phase.pk))
    return [phase for phase in found if phase.opens <= now and phase.shows_leaderboard(now)]


def key_of(question: Question, *, full: bool) -> str:
    """The key of the state that a leaderboard is in: another one after each change of what it shows.

    The settings are those that the question found, by which the leaderboard is made. Stamps are looked up
    each time.

    Args:
        question: What is asked for.
        full: Whether all digits are shown.
    """
    phase, split = question.phase, question.split
    prefetch_related_objects([split], "subsets", "reference_sets")
    subsets = split.images_of_subsets()
    sets = [
        (_fields(found), tuple(found.scored_subsets(subsets)) if subsets else ())
        for found in sorted(split.reference_sets.all(), key=lambda found: found.pk)
    ]
    asked = (question.subset, question.sort_by, question.best_first, question.as_of, question.layout)
    parts = (
        __version__,
        full or question.reference_set.public,
        asked,
        [_fields(row) for row in (phase.challenge, phase, split, question.version)],
        sets,
        question.reference_set.pk,
        question.split_names,
        [found.name for found in shown_phases(phase.challenge)],
        _standing(question),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _fields(row: Model) -> list[Any]:
    """All fields of a row but those of all its images, which are many, and which leaderboards don't show."""
    fields = row._meta.concrete_fields
    return [getattr(row, field.attname) for field in fields if field.attname not in ("image_ids", "part")]


# Written by hand: it is asked with each request, and Django would take longer to make it than the database to
# run it.
_STANDING = """
SELECT 1, COUNT(*), SUM(submission.stamp), SUM(team.stamp)
FROM submissions_submission submission LEFT JOIN teams_team team ON team.id = submission.team_id
WHERE submission.phase_id = %s {only}
UNION ALL
SELECT 2, COUNT(*), SUM(stamp), 0 FROM submissions_submission WHERE baseline_of_id = %s
UNION ALL
SELECT 3, COUNT(*), SUM(stamp), 0 FROM challenges_reported WHERE reference_set_id = %s"""


def _standing(question: Question) -> list[tuple[int, ...]]:
    """Numbers of rows and sums of stamps: of what stands and its teams, of baselines, of reported rows.

    Beside final results are notes of what happened later, also to what does not stand any more. Scores are
    written, and deleted, together with a change of their submission or of the settings above.
    """
    only = "AND submission.stands" if question.phase.final is None else ""
    references = question.reference_set.pk
    with connection.cursor() as cursor:
        cursor.execute(_STANDING.format(only=only), [question.phase.pk, references, references])
        return sorted(tuple(int(value or 0) for value in row) for row in cursor.fetchall())


class _Memory:
    """What was made, the last that was asked for being dropped last."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, ...], Kept] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...]) -> Kept | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: tuple[str, ...], made: Kept) -> None:
        with self._lock:
            if key not in self._found:
                self._found[key] = made
                self._bytes += len(made.content)
            while self._bytes > _MOST_BYTES:
                _, dropped = self._found.popitem(last=False)
                self._bytes -= len(dropped.content)


_memory = _Memory()
# Who asks while a leaderboard is made waits for it, and does not make it too.
_making = threading.Lock()


def kept(question: Question, form: str, make: Callable[[], bytes], *, full: bool) -> Kept:
    """What is shown of a leaderboard in one form, made if this process has not made it in its state of now.

    A leaderboard of an earlier time is made each time: addresses with times are as many as clients like.
    Who may see the leaderboard is the caller's to check, each time.

    Args:
        question: What is asked for.
        form: Tells apart what is made of the same leaderboard: a page of it, JSON, CSV.
        make: Makes it.
        full: Whether all digits are shown.
    """
    if question.as_of is not None:
        with _making:
            return _new(form, make)
    key = key_of(question, full=full)
    found = _memory.get((key, form))
    if found is None:
        with _making:
            found = _memory.get((key, form)) or _made(question, key, form, make, full=full)
    return found


def _made(question: Question, key: str, form: str, make: Callable[[], bytes], *, full: bool) -> Kept:
    made = _new(form, make)
    # What changed while it was made is not of the key.
    if key_of(question, full=full) == key:
        _memory.put((key, form), made)
    return made


def _new(form: str, make: Callable[[], bytes]) -> Kept:
    content = make()
    return Kept(content, etag_of(form.encode(), content))
