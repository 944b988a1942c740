"""Template context of a leaderboard table: texts and links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from django.urls import reverse

from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import ReferenceSet
from capeval_server.leaderboards.columns import COLUMNS
from capeval_server.leaderboards.entries import Interval, Leaderboard, LeaderboardEntry
from capeval_server.leaderboards.layouts import (
    MEAN_RANK,
    Layout,
    LeaderboardColumn,
    default_layout,
    default_sort,
    shows_all_images,
)
from capeval_server.leaderboards.query import LeaderboardQuery
from capeval_server.leaderboards.reported_entries import POINTS, ReportedEntry
from capeval_server.submissions.selectors.method_names import choose_method
from capeval_server.submissions.selectors.scores import score_names
from capeval_server.web.presenters import label

__all__ = ["address", "current", "near_pages", "table", "time_asked"]

_STRIP_WIDTH = 132
_LONGEST_METHOD = 200
# Decimal places of columns that are not scores of a metric.
_DIGITS = {POINTS: 0, MEAN_RANK: 2}


class ChoiceLink(NamedTuple):
    """A link that selects a value of a filter."""

    text: str
    address: str
    chosen: bool
    note: str = ""


def query(question: LeaderboardQuery, *, pinned: bool = False, **changes: str) -> str:
    """Return the query string of a leaderboard.

    Args:
        question: The query.
        pinned: Whether to include parameters with default values, so that the meaning never changes.
        changes: Additional or replaced parameters. Empty ones are omitted.
    """
    default = default_layout(question.split, changes.get("subset", question.subset))
    sorted_by_default = question.sort_by == question.default_sort and not pinned
    asked: dict[str, str | list[str]] = {
        "split": question.split.name,
        "references": question.reference_set.name,
        "version": str(question.version.number) if pinned or not question.current else "",
        "subset": question.subset,
        "sort_by": "" if sorted_by_default else question.sort_by,
        "order": "" if question.best_first else "worst",
        "layout": "" if question.layout == default else question.layout,
        "as_of": "" if question.as_of is None else _format_time(question.as_of),
        "declared": [f"{name}:{value}" for name, value in question.declared],
    }
    return urlencode({name: value for name, value in (asked | changes).items() if value}, doseq=True)


def time_asked(time: datetime) -> str:
    """Return the query parameter that selects the leaderboard at a time."""
    return f"as_of={_format_time(time)}"


def _format_time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def address(
    question: LeaderboardQuery, *, pinned: bool = False, view: str = "leaderboard", **changes: str
) -> str:
    """Return the URL of a page of a leaderboard."""
    return f"{_get_place(question, view)}?{query(question, pinned=pinned, **changes)}"


def _get_place(question: LeaderboardQuery, view: str) -> str:
    return reverse(view, args=(question.phase.challenge.slug, question.phase.name))


def current(question: LeaderboardQuery) -> str:
    """Return the URL of the current leaderboard by the current references."""
    return _current_url(question, question.split.name, question.reference_set.name, question.subset)


def table(board: Leaderboard) -> dict[str, Any]:
    """Return the texts and links of a leaderboard for its template."""
    question = board.question
    phase = question.phase
    api = reverse("api:show_leaderboard", args=(phase.challenge.slug, phase.name))
    own_headings = [column.heading for column in COLUMNS.values() if column.heading]
    tests = any(row.p_value is not None for row in board.rows)
    return {
        "columns": _list_headings(question),
        "own_headings": own_headings,
        "before_scores": 2 + len(own_headings) + tests,
        "grouped": _is_grouped(question),
        "lines": _build_rows(board),
        "choices": _list_choices(question),
        "pages": _list_pages(board),
        "plot": address(question, view="leaderboard_plot"),
        # Without any score, the plot would be empty. Mean ranks have no intervals to show.
        "plotted": not question.is_sorted_by_mean_rank
        and any(row.scores[question.sorted_column] is not None for row in board.rows),
        "cite": address(question, view="cite"),
        "csv": f"{api}?{query(question, format='csv')}",
        "json": f"{api}?{query(question)}",
        "tests": tests,
        "test": _describe_tests(board),
        "reported": [_build_reported_row(entry, board) for entry in board.reported],
        "reported_names": _list_reported_names(board),
        "agreement": _build_agreement(board) if board.page in (None, 1) else [],
        # The query string for scores by the current references.
        "newer": urlencode(
            {
                "split": question.split.name,
                "references": question.reference_set.name,
                "version": question.reference_set.version,
            }
        ),
    }


def _describe_tests(board: Leaderboard) -> str:
    """Return the test of neighboring rows, with its units."""
    randomization = "paired randomization of the captions of each image"
    bootstrap = "paired bootstrap over images"
    used = {row.test for row in board.rows} - {None}
    if len(used) > 1:
        return f"{randomization}; {bootstrap} for scores that an earlier version of this server stored"
    return bootstrap if used == {"bootstrap"} else randomization


def _is_grouped(question: LeaderboardQuery) -> bool:
    """Return whether the table has a row of headings above groups of columns."""
    columns = question.columns
    sets = {column.references for column in columns}
    has_subsets = any(column.subset for column in columns)
    return question.layout == "both" or len(sets) > 1 or (question.layout == "chosen" and has_subsets)


def _name_group(question: LeaderboardQuery, column: LeaderboardColumn) -> str:
    if column.is_judged:
        return "Judged by people"
    if question.layout == "both":
        return column.name
    sets = {one.references for one in question.score_columns}
    if any(one.subset for one in question.columns) and question.layout == "chosen":
        return f"{column.name}, {column.references}" if len(sets) > 1 else column.name
    return f"References {column.references}"


def _list_headings(question: LeaderboardQuery) -> list[dict[str, Any]]:
    """Return the headings of the scores.

    A heading in `above` spans the columns up to the next column with an `above`.
    """
    heads = []
    named_by_subset = question.layout in ("subsets", "both") or (
        question.layout == "chosen" and any(one.subset for one in question.score_columns)
    )
    for group, members in groupby(question.columns, lambda column: _name_group(question, column)):
        columns = list(members)
        chosen = [column.label == question.sorted_column for column in columns]
        # The interval of the ranking score has its own column.
        has_interval = any(chosen) and not question.is_sorted_by_mean_rank
        for place, column in enumerate(columns):
            name = column.subset or "all images" if named_by_subset else column.name
            heads.append(
                {
                    "name": column.label if column.is_judged else name,
                    "address": _sort_url(question, column, chosen[place]),
                    "sort": ("descending" if question.descending else "ascending") if chosen[place] else "",
                    "above": "" if place else group,
                    "has_interval": chosen[place] and has_interval,
                    "width": len(columns) + has_interval,
                }
            )
    return heads


def _list_reported_names(board: Leaderboard) -> list[str]:
    """Return the headings of scores reported elsewhere."""
    sets = {column.references for column in board.question.score_columns}
    names = []
    for column in _list_reported_columns(board):
        name = f"{column.name}, {column.subset}" if column.subset else column.name
        names.append(f"{name} ({column.references})" if len(sets) > 1 and column.references else name)
    return [*names, *board.reported_only]


def _list_reported_columns(board: Leaderboard) -> list[LeaderboardColumn]:
    """Return the columns with at least one score that was reported elsewhere."""
    given = {label for entry in board.reported for label, value in entry.scores.items() if value is not None}
    return [column for column in board.question.columns if column.label in given]


def _build_agreement(board: Leaderboard) -> list[dict[str, Any]]:
    """Return the tables of agreement: one for submissions, and one for scores reported elsewhere."""
    tables = []
    for reported in (False, True):
        found = [one for one in board.agreement if one.reported == reported]
        judgments = list(dict.fromkeys(one.judgment for one in found))
        cells = {(one.metric, one.judgment): one for one in found}
        rows = [
            (metric, [cells.get((metric, judgment)) for judgment in judgments])
            for metric in dict.fromkeys(one.metric for one in found)
        ]
        if rows:
            tables.append({"reported": reported, "judgments": judgments, "rows": rows})
    return tables


def _sort_url(question: LeaderboardQuery, column: LeaderboardColumn, chosen: bool) -> str:
    changes: dict[str, Any] = {
        "order": "worst" if chosen and question.best_first else "",
        "sort_by": column.label,
        "subset": "",
    }
    if not column.is_judged:
        default = default_sort(question.split, column.subset, question.layout)
        changes["sort_by"] = "" if column.name == default else column.name
        changes |= {"references": column.references, "subset": column.subset}
        # Scores by another reference set have their own version.
        changes |= {} if column.references == question.reference_set.name else {"version": ""}
    return f"{_get_place(question, 'leaderboard')}?{query(question, **changes)}"


def _list_choices(question: LeaderboardQuery) -> list[tuple[str, list[ChoiceLink]]]:
    """Return the filter links of the leaderboard, by filter.

    The filters are splits, references, columns and subsets with more than one value. The tabs of the
    challenge link to the other phases.
    """
    split, references, subset = question.split, question.reference_set, question.subset
    images = split.get_subset_images()
    subsets = ["", *references.scored_subsets(images)]
    names = score_names(split) if question.layout == "subsets" else []

    def to(split: str, references: str = "", *, subset: str = "") -> str:
        return _current_url(question, split, references, subset)

    def by(references: ReferenceSet) -> str:
        scored = subset in references.scored_subsets(images)
        return to(split.name, references.name, subset=subset if scored else "")

    choices = [
        ("Split", [ChoiceLink(name, to(name), name == split.name) for name in question.split_names]),
        (
            "References",
            [
                ChoiceLink(one.name, by(one), one == references, "" if one.public else "private")
                for one in sorted(split.reference_sets.all(), key=lambda one: one.pk)
            ],
        ),
        ("Columns", _list_layouts(question, has_subsets=len(subsets) > 1)),
        (
            "Score",
            [
                ChoiceLink(name, _build_url(question, sort_by=name), name == question.sort_by)
                for name in names
            ],
        ),
        (
            "Images",
            [ChoiceLink(name or "all", _build_url(question, subset=name), name == subset) for name in subsets]
            if question.layout == "scores"
            else [],
        ),
        *_list_declared(question),
    ]
    return [(what, links) for what, links in choices if len(links) > 1]


def _list_declared(question: LeaderboardQuery) -> list[tuple[str, list[ChoiceLink]]]:
    """Return the filters by declared fields with a fixed list of values."""
    found = []
    for field in question.phase.challenge.declared_fields:
        if not (field.shown and field.values):
            continue
        others = tuple(each for each in question.declared if each[0] != field.name)
        links = [ChoiceLink("any", _build_url(question, declared=others), others == question.declared)]
        for value in field.values:
            chosen = (*others, (field.name, value))
            links.append(
                ChoiceLink(
                    value,
                    _build_url(question, declared=tuple(sorted(chosen))),
                    question.declared_values.get(field.name) == value,
                )
            )
        found.append((label(field.name), links))
    return found


def _list_layouts(question: LeaderboardQuery, *, has_subsets: bool) -> list[ChoiceLink]:
    texts: dict[Layout, str] = {"scores": "each score"}
    if question.split.columns or len(question.split.reference_sets.all()) > 1:
        texts = {"chosen": "overview", **texts}
    if has_subsets:
        texts |= {"subsets": "each subset", "both": "each score and subset"}
    return [
        ChoiceLink(text, _build_url(question, layout=one), one == question.layout)
        for one, text in texts.items()
    ]


def _build_url(question: LeaderboardQuery, **changes: Any) -> str:
    """Return the URL of a changed query, which keeps the order if possible."""
    changed = replace(question, **changes)
    is_possible = changed.is_sorted_by_score or (
        not changed.subset and shows_all_images(changed.subset, changed.layout)
    )
    if "sort_by" not in changes and (question.sort_by == question.default_sort or not is_possible):
        changed = replace(changed, sort_by=changed.default_sort)
    return address(changed)


def _current_url(question: LeaderboardQuery, split: str, references: str, subset: str) -> str:
    """Return the URL of a current leaderboard of the phase.

    It keeps the order if possible.
    """
    known = split == question.split.name and question.sort_by != question.default_sort
    known = known and (question.is_sorted_by_score or not subset)
    return address(
        question,
        split=split,
        references=references,
        version="",
        subset=subset,
        sort_by=question.sort_by if known else "",
        as_of="",
    )


def near_pages(page: int, pages: int) -> list[int]:
    """Return the first, last and nearest page numbers, or [] for a single page."""
    return sorted({1, pages, *range(max(1, page - 2), min(pages, page + 2) + 1)}) if pages > 1 else []


def _list_pages(board: Leaderboard) -> list[ChoiceLink]:
    here = board.page or 1
    return [
        ChoiceLink(str(page), address(board.question, page=str(page)), page == here)
        for page in near_pages(here, board.pages)
    ]


def _build_rows(board: Leaderboard) -> list[dict[str, Any]]:
    name = board.question.sorted_column
    ends = [
        end
        for row in board.rows
        if (score := row.scores[name]) is not None
        for end in (score, *(row.intervals[name] or ()))
    ]
    low, high = (min(ends), max(ends)) if ends else (0.0, 0.0)
    return [_build_row(row, board, low, high) for row in board.rows]


def _build_row(row: LeaderboardEntry, board: Leaderboard, low: float, high: float) -> dict[str, Any]:
    """Return the texts and links of a row. Its method is the first declared text."""
    columns = COLUMNS.values()
    texts = {column.name: column.page(column.value(row)) for column in columns if column.page is not None}
    question = board.question
    types = {field.name: field.type for field in question.phase.challenge.declared_fields}
    declared = {name: str(text) for name, text in row.declared.items() if str(text).strip()}
    link = next(filter(None, map(safe_link, declared.values())), "")
    method = choose_method(question.phase.challenge, declared, row.algorithm)
    return {
        "row": row,
        "texts": texts,
        "own_cells": [texts[column.name] for column in columns if column.heading],
        "about": [
            (label(name), text, safe_link(text))
            for name, text in row.declared.items()
            if text.strip() and " ".join(text.split()) not in (method, link)
        ],
        "kinds": list(_list_kinds(declared, types)),
        "method": method if len(method) <= _LONGEST_METHOD else f"{method[: _LONGEST_METHOD - 1]}…",
        "link": link,
        "host": _parse_host(link),
        "cells": [_build_cell(row, column.label, question.sorted_column) for column in question.columns],
        "strip": _build_strip(row, question.sorted_column, low, high),
    }


def _list_kinds(declared: Mapping[str, str], types: Mapping[str, str]) -> Iterator[str]:
    """Yield the chosen values of a row, and the labels of fields that are answered with yes."""
    for name, text in declared.items():
        if types.get(name) == "choice":
            yield text
        elif types.get(name) == "boolean" and text == "yes":
            yield label(name)


def _build_reported_row(entry: ReportedEntry, board: Leaderboard) -> dict[str, Any]:
    labels = [column.label for column in _list_reported_columns(board)] + board.reported_only
    cells = [
        _build_score(
            entry.scores[label],
            None,
            chosen=label == board.question.sorted_column,
            digits=_DIGITS.get(label, 3),
        )
        for label in labels
    ]
    types = {field.name: field.type for field in board.question.phase.challenge.declared_fields}
    kinds = list(_list_kinds(entry.declared, types))
    return {"entry": entry, "host": _parse_host(entry.url), "kinds": kinds, "cells": cells}


def _parse_host(link: str) -> str:
    return (urlsplit(link).hostname or "").removeprefix("www.")


def _build_cell(row: LeaderboardEntry, name: str, sort_by: str) -> dict[str, Any]:
    cell = _build_score(
        row.scores[name],
        row.intervals[name],
        chosen=name == sort_by,
        failed=name in row.failed,
        digits=_DIGITS.get(name, 3),
    )
    return {**cell, "judged": row.judgments.get(name)}


def _build_score(
    value: float | None, interval: Interval | None, *, chosen: bool, failed: bool = False, digits: int = 3
) -> dict[str, Any]:
    return {
        "text": "" if value is None else f"{value:.{digits}f}",
        "full": "" if value is None else repr(value),
        "low": "" if interval is None else f"{interval[0]:.3f}",
        "high": "" if interval is None else f"{interval[1]:.3f}",
        "sorted": chosen,
        "failed": failed,
    }


def _build_strip(row: LeaderboardEntry, name: str, low: float, high: float) -> dict[str, str] | None:
    score, interval = row.scores[name], row.intervals[name]
    if score is None or interval is None or high <= low:
        return None

    def place(value: float) -> str:
        return f"{6 + (_STRIP_WIDTH - 12) * (value - low) / (high - low):.1f}"

    return {"low": place(interval[0]), "score": place(score), "high": place(interval[1])}
