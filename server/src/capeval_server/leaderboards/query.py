"""Leaderboard queries, and their access check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeVar, cast

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import prefetch_related_objects
from django.utils import timezone

from capeval.metrics.registry import normalize_score
from capeval.studies.judging import QUESTIONS
from capeval.toolkit import validate_choice
from capeval_server.challenges.models import Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.challenges.selectors.main_leaderboard import get_main, sort_sets
from capeval_server.core.errors import LeaderboardQueryError, NotFoundError
from capeval_server.leaderboards.judgments import list_judgments
from capeval_server.leaderboards.layouts import (
    LAYOUTS,
    MEAN_RANK,
    Layout,
    LeaderboardColumn,
    default_layout,
    default_sort,
    list_mean_rank_scores,
    shows_all_images,
)
from capeval_server.submissions.selectors.scores import higher_is_better, score_names

__all__ = [
    "LeaderboardQuery",
    "build_query",
    "may_see",
]

Row = TypeVar("Row", Split, ReferenceSet)


@dataclass(frozen=True, kw_only=True)
class LeaderboardQuery:
    """Selection and order of a leaderboard.

    Attributes:
        phase: The phase.
        split: One of its splits.
        reference_set: One of the split's reference sets.
        version: The version of the references for the scores.
        subset: One of the split's subsets; empty for all images.
        sort_by: The name of a score, the label of a column with judgments, or `MEAN_RANK`.
        best_first: Whether the best score comes first.
        as_of: Only submissions up to this time count; None for no limit.
        layout: The selection of columns.
        split_names: The names of the phase's splits in order; empty in queries without a choice.
        declared: Names and values of declared fields that select rows.
        other_versions: Versions of other reference sets of the split, for more columns of scores.
    """

    phase: Phase
    split: Split
    reference_set: ReferenceSet
    version: ReferenceVersion
    subset: str
    sort_by: str
    best_first: bool
    as_of: datetime | None
    layout: Layout = "scores"
    split_names: tuple[str, ...] = ()
    declared: tuple[tuple[str, str], ...] = ()
    other_versions: tuple[ReferenceVersion, ...] = ()

    @property
    def shown_versions(self) -> tuple[ReferenceVersion, ...]:
        """Versions of the references of all columns, beginning with the ones of the order."""
        return (self.version, *(self.other_versions if self.layout == "chosen" else ()))

    @cached_property
    def columns(self) -> list[LeaderboardColumn]:
        """All columns, with judgments last. Mean ranks come before the scores by the same references."""
        found, own = [*self.score_columns], self.reference_set
        if self.mean_rank_scores:
            place = next((place for place, one in enumerate(found) if one.references == own.name), 0)
            column = LeaderboardColumn(MEAN_RANK, "", MEAN_RANK, own.name, own.public, is_mean_rank=True)
            found.insert(place, column)
        return [*found, *self.judgment_columns]

    @cached_property
    def mean_rank_scores(self) -> list[str]:
        """Names of the scores for mean ranks; empty without a column of mean ranks."""
        return list_mean_rank_scores(self.split, self.subset, self.layout)

    @cached_property
    def score_columns(self) -> list[LeaderboardColumn]:
        """Columns with scores of metrics, in the order of the metrics or of the organizers' choice."""
        own, names = self.reference_set, score_names(self.split)
        if self.layout == "chosen":
            return self._choose_columns(names)
        if self.layout == "scores":
            return [LeaderboardColumn(name, self.subset, name, own.name, own.public) for name in names]
        names = [self.sort_by] if self.layout == "subsets" else names
        subsets = ["", *own.scored_subsets()]
        return [
            LeaderboardColumn(name, subset, f"{name} ({subset or 'all'})", own.name, own.public)
            for name in names
            for subset in subsets
        ]

    def _choose_columns(self, names: list[str]) -> list[LeaderboardColumn]:
        chosen, own = self.split.columns, self.reference_set
        by_name = {version.reference_set.name: version.reference_set for version in self.shown_versions}
        order = chosen.get("references", [one.name for one in sort_sets(self.split)])
        listed = [by_name[name] for name in order if name in by_name]
        sets = listed if own in listed else [own]
        wanted = chosen.get("subsets", ())
        scored = {one.pk: {"", *(one.scored_subsets() if wanted else ())} for one in sets}
        found = [
            (one, name, subset)
            for one in sets
            for name in chosen.get("scores", names)
            for subset in ("", *wanted)
            if name in names and subset in scored[one.pk]
        ]
        if self.is_sorted_by_score and (own, self.sort_by, self.subset) not in found:
            found.insert(0, (own, self.sort_by, self.subset))
        has_subsets = any(subset for _, _, subset in found)
        columns = []
        for one, name, subset in found:
            about = [one.name] if len(sets) > 1 else []
            about += [subset or "all"] if has_subsets else []
            label = f"{name} ({', '.join(about)})" if about else name
            columns.append(LeaderboardColumn(name, subset, label, one.name, one.public))
        return columns

    @cached_property
    def judgment_columns(self) -> list[LeaderboardColumn]:
        """Columns with people's judgments, which are of all images."""
        if not shows_all_images(self.subset, self.layout):
            return []
        listed = list_judgments(self.split, self.as_of)
        chosen = self.split.columns.get("judgments") if self.layout == "chosen" else None
        questions = [column.question for column in listed]
        names = score_names(self.split)
        found = []
        for column in listed:
            repeated = questions.count(column.question) > 1 or column.question in names
            label = f"{column.question} ({column.source})" if repeated else column.question
            if chosen is None or column.question in chosen or label == self.sort_by:
                found.append(LeaderboardColumn(column.question, "", label, judgment=column))
        if chosen is not None:
            found.sort(
                key=lambda column: (column.name not in chosen, (*chosen, column.name).index(column.name))
            )
        if self.is_sorted_by_judgment and self.sort_by not in {column.label for column in found}:
            # Judged rows can also be reported elsewhere.
            found.append(LeaderboardColumn(self.sort_by, "", self.sort_by))
        return found

    @cached_property
    def is_sorted_by_score(self) -> bool:
        """Whether a score of the split's metrics ranks the rows."""
        return self.sort_by in score_names(self.split)

    @property
    def is_sorted_by_mean_rank(self) -> bool:
        """Whether mean ranks rank the rows."""
        return self.sort_by == MEAN_RANK and not self.is_sorted_by_score

    @property
    def is_sorted_by_judgment(self) -> bool:
        """Whether people's judgments rank the rows."""
        return not (self.is_sorted_by_score or self.is_sorted_by_mean_rank)

    @property
    def default_sort(self) -> str:
        """The value of `sort_by` without a choice in the query."""
        return default_sort(self.split, self.subset, self.layout)

    @property
    def sorting_column(self) -> LeaderboardColumn:
        """Column by which the rows are sorted."""
        if self.is_sorted_by_judgment:
            return next(one for one in self.judgment_columns if one.label == self.sort_by)
        key = (self.reference_set.name, self.sort_by, self.subset)
        return next(one for one in self.columns if (one.references, one.name, one.subset) == key)

    @property
    def sorted_column(self) -> str:
        """Label of the column by which the rows are sorted."""
        return self.sorting_column.label

    @property
    def order(self) -> str:
        """Order of the rows: `best` or `worst` first."""
        return "best" if self.best_first else "worst"

    @cached_property
    def higher_is_better(self) -> bool:
        """Whether a higher value of the score that ranks is better."""
        if self.is_sorted_by_score:
            return higher_is_better(self.split, self.sort_by)
        return self.is_sorted_by_judgment

    @property
    def descending(self) -> bool:
        """Whether higher scores come first."""
        return self.best_first == self.higher_is_better

    @property
    def plain(self) -> bool:
        """Whether the query selects only a phase, a split and a reference set."""
        chosen = (self.as_of, self.subset, self.sort_by, self.best_first, self.layout, self.declared)
        default = (None, "", self.default_sort, True, default_layout(self.split, ""), ())
        return self.current and chosen == default

    @property
    def declared_values(self) -> dict[str, str]:
        """Values of declared fields that select rows, by field name."""
        return dict(self.declared)

    def selects(self, declared: Mapping[str, str]) -> bool:
        """Return whether a submission with some declared values is on the leaderboard."""
        return all(declared.get(name) == value for name, value in self.declared)

    @property
    def current(self) -> bool:
        """Whether the version of the references is the current one."""
        return self.version.number == self.reference_set.version


def may_see(user: User | AnonymousUser, phase: Phase) -> bool:
    """Return whether a user may see the leaderboard of a phase.

    Everybody may if it is public, otherwise only the organizers.
    """
    return phase.shows_leaderboard(timezone.now()) or is_organizer(user, phase.challenge)


def build_query(
    phase: Phase,
    *,
    split: str = "",
    references: str = "",
    version: int | None = None,
    subset: str = "",
    sort_by: str = "",
    order: str = "",
    as_of: datetime | None = None,
    layout: str = "",
    declared: Iterable[str] = (),
) -> LeaderboardQuery:
    """Return a query from names.

    By default, it uses the main leaderboard of the phase, and the current version of the references or that
    of the final results.

    Raises:
        NotFoundError: A name does not exist.
        LeaderboardQueryError: The score, the order, the layout or a declared value is invalid.
    """
    try:
        as_of = as_of and as_of.astimezone(UTC)
    except OverflowError:
        raise NotFoundError from None
    splits = sorted(phase.splits.defer("image_ids"), key=lambda one: one.pk)
    for one in splits:
        # The challenge is loaded already.
        one.challenge = phase.challenge
    if not split and not references:
        prefetch_related_objects(splits, "reference_sets")
        main = get_main(phase, splits)
        split, references = (main[0].name, main[1].name) if main else ("", "")
    chosen = _get_named_or_first(splits, split)
    # All sets are fetched at once, because a leaderboard also lists the others.
    prefetch_related_objects([chosen], "reference_sets")
    counted = _get_version(phase, chosen, references, version)
    if subset:
        prefetch_related_objects([chosen], "subsets")
        if subset not in counted.reference_set.scored_subsets():
            raise NotFoundError
    if layout:
        validate_choice("layout", layout, LAYOUTS, error=LeaderboardQueryError)
    layout = layout or default_layout(chosen, subset)
    if sort_by:
        sort_by = _check_sort(chosen, sort_by, as_of, subset, cast(Layout, layout))
    if order:
        validate_choice("order", order, ("best", "worst"), error=LeaderboardQueryError)
    return LeaderboardQuery(
        phase=phase,
        split=chosen,
        reference_set=counted.reference_set,
        version=counted,
        subset=subset,
        sort_by=sort_by or default_sort(chosen, subset, cast(Layout, layout)),
        best_first=order != "worst",
        as_of=as_of,
        layout=cast(Layout, layout),
        split_names=tuple(one.name for one in splits),
        declared=_parse_declared(phase, declared),
        other_versions=_list_other_versions(phase, chosen, counted) if layout == "chosen" else (),
    )


def _parse_declared(phase: Phase, declared: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values in texts of the form NAME:VALUE."""
    fields = {field.name: field for field in phase.challenge.declared_fields if field.shown and field.values}
    found: dict[str, str] = {}
    for text in declared:
        name, _, value = text.partition(":")
        if name not in fields or value not in fields[name].values:
            known = ", ".join(f"{field.name}:{value}" for field in fields.values() for value in field.values)
            raise LeaderboardQueryError(f"'declared' must be one of {known or 'no values'} (got {text!r})")
        found[name] = value
    return tuple(sorted(found.items()))


def _check_sort(split: Split, sort_by: str, as_of: datetime | None, subset: str, layout: Layout) -> str:
    """Return the name of the score or the question to sort by, or `MEAN_RANK`."""
    names = score_names(split)
    found: str = normalize_score(sort_by, names)
    is_whole = not subset and shows_all_images(subset, layout)
    names += [MEAN_RANK] if is_whole and list_mean_rank_scores(split, subset, layout) else []
    if found in names:
        return found
    # Only now, because it reads the releases.
    columns = list_judgments(split, as_of) if is_whole else ()
    judged = [
        name for column in columns for name in (column.question, f"{column.question} ({column.source})")
    ]
    judged += QUESTIONS if is_whole else ()
    validate_choice("sort_by", found, [*names, *dict.fromkeys(judged)], error=LeaderboardQueryError)
    return found


def _list_other_versions(
    phase: Phase, split: Split, counted: ReferenceVersion
) -> tuple[ReferenceVersion, ...]:
    """Return the versions of the split's other reference sets that are shown with the requested one.

    An earlier version is shown without others.
    """
    if counted.number != _get_default_version(phase, counted.reference_set):
        return ()
    chosen = split.columns.get("references")
    others = [one for one in sort_sets(split) if one != counted.reference_set]
    found = [
        one.versions.filter(number=_get_default_version(phase, one)).first()
        for one in others
        if chosen is None or one.name in chosen
    ]
    return tuple(version for version in found if version is not None)


def _get_version(phase: Phase, split: Split, references: str, version: int | None) -> ReferenceVersion:
    """Return the requested version of a split's references."""
    reference_set = _get_named_or_first(sort_sets(split), references)
    number = _get_default_version(phase, reference_set) if version is None else version
    if not 0 <= number < 2**31:
        raise NotFoundError
    found = reference_set.versions.filter(number=number).first()
    if found is None:
        raise NotFoundError
    return found


def _get_default_version(phase: Phase, reference_set: ReferenceSet) -> int:
    """Return the version of the final results, if any, or else the current version."""
    boards = phase.final_boards.filter(version__reference_set=reference_set) if phase.final else None
    final = boards.values_list("version__number", flat=True).first() if boards is not None else None
    return reference_set.version if final is None else final


def _get_named_or_first(rows: Iterable[Row], name: str) -> Row:
    row = next((row for row in rows if not name or row.name == name), None)
    if row is None:
        raise NotFoundError
    return row
