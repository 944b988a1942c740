"""In-process cache of rendered leaderboards.

A key represents the complete state of a leaderboard. It is looked up for each request, so the cache needs no
invalidation, and each server process can have its own.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Model, prefetch_related_objects

from capeval import __version__
from capeval_server.core.errors import OverloadError
from capeval_server.http.conditional_get import compute_etag
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.leaderboards.query import LeaderboardQuery

__all__ = ["CachedView", "get_or_render", "get_or_render_by_key", "key_of", "replace_time"]

_MOST_BYTES = 64 * 2**20
# Maximum number of threads of a process that compute or wait for views with arbitrary parameters. The other
# threads stay free; by default, a process has eight.
_MOST_VARIED = 3


@dataclass(frozen=True)
class CachedView:
    """Cached view: content, ETag, and the `as_of` time in the content, if any."""

    content: bytes
    etag: str
    as_of: datetime | None = None


def key_of(question: LeaderboardQuery, *, full: bool) -> str:
    """Return the key of a leaderboard's state, which changes with its content.

    The key contains the settings that the query has already loaded, because the leaderboard is computed from
    them. Stamps are looked up each time.

    Args:
        question: The query.
        full: Whether all digits are shown.
    """
    phase, split = question.phase, question.split
    prefetch_related_objects([split], "subsets", "reference_sets")
    subsets = split.get_subset_images()
    sets = [
        (_get_fields(found), tuple(found.scored_subsets(subsets)) if subsets else ())
        for found in sorted(split.reference_sets.all(), key=lambda found: found.pk)
    ]
    # All times between two submissions have the same state. Final results are not read for the key, so each
    # time has its own state.
    as_of = question.as_of is not None if phase.final is None else question.as_of
    asked = (
        *(question.subset, question.sort_by, question.best_first, as_of, question.layout),
        question.declared,
    )
    parts = (
        __version__,
        full or question.reference_set.public,
        asked,
        [_get_fields(row) for row in (phase.challenge, phase, split, question.version)],
        sets,
        question.reference_set.pk,
        [shown.pk for shown in question.shown_versions],
        [
            (one.label, one.judgment.source, one.judgment.campaign)
            for one in question.judgment_columns
            if one.judgment is not None
        ],
        question.split_names,
        _query_state(question),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _get_fields(row: Model) -> list[Any]:
    """Return all fields of a row except image lists, which leaderboards don't show."""
    fields = row._meta.concrete_fields
    return [getattr(row, field.attname) for field in fields if field.attname not in ("image_ids", "part")]


# Raw SQL: it runs in each request, and Django's ORM would take longer to compile it than the database takes
# to run it.
_STANDING = """
SELECT 1, COUNT(*), SUM(submission.stamp), SUM(team.stamp)
FROM submissions_submission submission LEFT JOIN teams_team team ON team.id = submission.team_id
WHERE submission.phase_id = %s {only} {until}
UNION ALL
SELECT 2, COUNT(*), SUM(stamp), 0 FROM submissions_submission submission
WHERE submission.baseline_of_id IN ({sets}) {until}
UNION ALL
SELECT 3, COUNT(*), SUM(stamp), 0 FROM challenges_reported reported
WHERE reported.reference_set_id IN ({sets}) {until_reported}"""


def _query_state(question: LeaderboardQuery) -> list[tuple[int, ...]]:
    """Return counts and stamp sums: submissions and teams, baselines, reported rows.

    For final results, withdrawn and replaced submissions are included, because notes describe them. Scores
    are only written or deleted together with a change of their submission or of the settings above.
    """
    only = "AND submission.stands" if question.phase.final is None else ""
    until, until_reported, times = "", "", []
    if question.as_of is not None:
        until, until_reported = "AND submission.created <= %s", "AND reported.created <= %s"
        times = [connection.ops.adapt_datetimefield_value(question.as_of)]
    sets = [version.reference_set_id for version in question.shown_versions]
    asked = [question.phase.pk, *times, *sets, *times, *sets, *times]
    places = ", ".join(["%s"] * len(sets))
    query = _STANDING.format(only=only, until=until, until_reported=until_reported, sets=places)
    with connection.cursor() as cursor:
        cursor.execute(query, asked)
        return sorted(tuple(int(value or 0) for value in row) for row in cursor.fetchall())


_views: BoundedCache[str, CachedView] = BoundedCache(most=_MOST_BYTES, size_of=lambda view: len(view.content))
# One thread at a time computes common views, and one the others. Requests for the same view wait for it.
_making_common, _making_varied = threading.Lock(), threading.Lock()
_places = threading.BoundedSemaphore(_MOST_VARIED)


@contextmanager
def _wait_for_turn(*, common: bool) -> Iterator[None]:
    """Wait until this thread may compute.

    Raises:
        OverloadError: Too many threads compute or wait already, and the view is not a common one.
    """
    if common:
        with _making_common:
            yield
        return
    if not _places.acquire(blocking=False):
        raise OverloadError
    try:
        with _making_varied:
            yield
    finally:
        _places.release()


def get_or_render(
    question: LeaderboardQuery, form: str, make: Callable[[], bytes], *, full: bool, common: bool = False
) -> CachedView:
    """Return a view of a leaderboard, from the cache or newly computed.

    All times between two submissions share one view: `redated` replaces the time in it. The caller must check
    access for each request.

    Args:
        question: The query.
        form: The kind of view, such as a page of the table, JSON or CSV.
        make: Computes the content.
        full: Whether all digits are shown.
        common: Whether this is one of the few views that are always computed.

    Raises:
        OverloadError: The view is not common, and too many others are being computed.
    """
    return get_or_render_by_key(
        lambda: key_of(question, full=full), form, make, common=common, as_of=question.as_of
    )


def get_or_render_by_key(
    key_now: Callable[[], str],
    form: str,
    make: Callable[[], bytes],
    *,
    common: bool = False,
    as_of: datetime | None = None,
) -> CachedView:
    """Return a view by the key of its state, from the cache or newly computed.

    Args:
        key_now: Looks up the key of the current state.
        form: The kind of view.
        make: Computes the content.
        common: Whether this is one of the few views that are always computed.
        as_of: The time in the content, if any.

    Raises:
        OverloadError: The view is not common, and too many others are being computed.
    """
    key = key_now()
    found = _views.known(key, [form]).get(form)
    if found is None:
        with _wait_for_turn(common=common):
            found = _views.known(key, [form]).get(form)
            if found is None:
                content = make()
                found = CachedView(content, compute_etag(content), as_of)
                # If the state changed during the computation, the view is not cached.
                if key_now() == key:
                    _views.add(key, {form: found})
    return found


def replace_time(found: CachedView, as_of: datetime | None, text: Callable[[datetime], str]) -> CachedView:
    """Return a view with a different time of the same state.

    Args:
        found: The cached view.
        as_of: The requested time.
        text: Formats a time as in the content, with enough context to be unique there.
    """
    if as_of is None or found.as_of is None or as_of == found.as_of:
        return found
    content = found.content.replace(text(found.as_of).encode(), text(as_of).encode())
    return CachedView(content, compute_etag(content), as_of)
