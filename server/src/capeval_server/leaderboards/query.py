"""Leaderboard queries, and their access check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal, TypeVar, cast, get_args

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import prefetch_related_objects
from django.utils import timezone

from capeval.metrics.registry import normalize_score
from capeval.toolkit import validate_choice
from capeval_server.challenges.models import Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.challenges.selectors.access import is_organizer
from capeval_server.core.errors import LeaderboardQueryError, NotFoundError
from capeval_server.submissions.selectors.scores import higher_is_better, score_names

__all__ = ["LAYOUTS", "Layout", "LeaderboardColumn", "LeaderboardQuery", "build_query", "may_see"]

# Columns of a leaderboard: all scores of one subset (or of all images), one score of all images and of each
# subset, or all scores of all images and of each subset.
Layout = Literal["scores", "subsets", "both"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

Row = TypeVar("Row", Split, ReferenceSet)


@dataclass(frozen=True)
class LeaderboardColumn:
    """Score column of a leaderboard.

    Attributes:
        name: The name of the score.
        subset: The subset; empty for all images.
        label: The name of the column in JSON and CSV.
    """

    name: str
    subset: str
    label: str


@dataclass(frozen=True, kw_only=True)
class LeaderboardQuery:
    """Selection and order of a leaderboard.

    Attributes:
        phase: The phase.
        split: One of its splits.
        reference_set: One of the split's reference sets.
        version: The version of the references for the scores.
        subset: One of the split's subsets; empty for all images.
        sort_by: The name of a score.
        best_first: Whether the best score comes first.
        as_of: Only submissions up to this time count; None for no limit.
        layout: The selection of columns.
        split_names: The names of the phase's splits in order; empty in queries without a choice.
        declared: Names and values of declared fields that select rows.
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

    @cached_property
    def columns(self) -> list[LeaderboardColumn]:
        """Columns in the order of the split's metrics, with all images before subsets."""
        if self.layout == "scores":
            return [LeaderboardColumn(name, self.subset, name) for name in score_names(self.split)]
        names = [self.sort_by] if self.layout == "subsets" else score_names(self.split)
        subsets = ["", *self.reference_set.scored_subsets()]
        return [
            LeaderboardColumn(name, subset, f"{name} ({subset or 'all'})")
            for name in names
            for subset in subsets
        ]

    @property
    def sorted_column(self) -> str:
        """Label of the column by which the rows are sorted."""
        return next(
            one.label for one in self.columns if (one.name, one.subset) == (self.sort_by, self.subset)
        )

    @property
    def order(self) -> str:
        """Order of the rows: `best` or `worst` first."""
        return "best" if self.best_first else "worst"

    @cached_property
    def higher_is_better(self) -> bool:
        """Whether a higher value of the score that ranks is better."""
        return higher_is_better(self.split, self.sort_by)

    @property
    def descending(self) -> bool:
        """Whether higher scores come first."""
        return self.best_first == self.higher_is_better

    @property
    def plain(self) -> bool:
        """Whether the query selects only a phase, a split and a reference set."""
        chosen = (self.as_of, self.subset, self.sort_by, self.best_first, self.layout, self.declared)
        return self.current and chosen == (None, "", self.split.sort_by, True, "scores", ())

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
    if not split and not references:
        prefetch_related_objects(splits, "reference_sets")
        split, references = _get_main(phase, splits)
    chosen = _get_named_or_first(splits, split)
    # All sets are fetched at once, because a leaderboard also lists the others.
    prefetch_related_objects([chosen], "reference_sets")
    counted = _get_version(phase, chosen, references, version)
    if subset:
        prefetch_related_objects([chosen], "subsets")
        if subset not in counted.reference_set.scored_subsets():
            raise NotFoundError
    names = score_names(chosen)
    if sort_by:
        sort_by = normalize_score(sort_by, names)
        validate_choice("sort_by", sort_by, names, error=LeaderboardQueryError)
    if order:
        validate_choice("order", order, ("best", "worst"), error=LeaderboardQueryError)
    if layout:
        validate_choice("layout", layout, LAYOUTS, error=LeaderboardQueryError)
    return LeaderboardQuery(
        phase=phase,
        split=chosen,
        reference_set=counted.reference_set,
        version=counted,
        subset=subset,
        sort_by=sort_by or chosen.sort_by,
        best_first=order != "worst",
        as_of=as_of,
        layout=cast(Layout, layout or "scores"),
        split_names=tuple(one.name for one in splits),
        declared=_parse_declared(phase, declared),
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


def _get_main(phase: Phase, splits: Iterable[Split]) -> tuple[str, str]:
    """Return the split and the reference set of the main leaderboard, or "" for the first ones.

    Without a setting, it is the split with the name of the phase, or else the first private references:
    those of the images that teams are ranked by, and not those for development.
    """
    sets = [(split, references) for split in splits for references in _sort_sets(split)]
    rules: tuple[Callable[[Split, ReferenceSet], bool], ...] = (
        lambda _, references: references.pk == phase.main_id,
        lambda split, _: split.name == phase.name,
        lambda _, references: not references.public,
    )
    for rule in rules:
        for split, references in sets:
            if rule(split, references):
                return split.name, references.name
    return "", ""


def _sort_sets(split: Split) -> list[ReferenceSet]:
    return sorted(split.reference_sets.all(), key=lambda one: one.pk)


def _get_version(phase: Phase, split: Split, references: str, version: int | None) -> ReferenceVersion:
    """Return the requested version of a split's references."""
    reference_set = _get_named_or_first(_sort_sets(split), references)
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
