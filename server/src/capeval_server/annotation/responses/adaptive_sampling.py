"""Adaptive sampling: assigns items about the least certain pairs of systems next.

A choice covers a fixed number of items. It is made in the request of a worker who has been assigned all items
chosen so far. Chosen items remain chosen until they are answered. Each choice is stored with all data that
determine it, so it can be replayed from the answers, which never change, and verified.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.db.models import Max, QuerySet
from django.db.models.fields.json import KT, KeyTextTransform

from capeval.formats.judgments.plans import PAIR_CHOICES
from capeval.studies.judging.next_pairs import compute_next_shares, draw_next_counts
from capeval_server.annotation.core.locks import lock_items
from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import EXCLUDED, Campaign, Item, NextPairs, Response, Review
from capeval_server.annotation.task_types import task_named
from capeval_server.jobs.leases import database_time

__all__ = ["ComparedSystems", "ReplayResult", "choose_items", "get_latest_choice", "replay"]

# Maximum difference between a share and its replay, for rounding errors.
_ROUNDING = 1e-9
_NO_EXCLUSIONS: Mapping[str, Sequence[int]] = {"participations": (), "responses": ()}


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """The verification of a choice by a replay.

    Attributes:
        choice: The choice.
        differs: Descriptions of the differences; empty if there are none.
        removed: Number of its answers whose texts were removed since and can't be counted again.
    """

    choice: NextPairs
    differs: tuple[str, ...]
    removed: int


@dataclass(frozen=True, kw_only=True)
class ComparedSystems:
    """The latest choice for a pair of systems.

    Attributes:
        first: First system.
        second: Second system; the same as the first for two captions of one system.
        first_wins: Wins of the first system against the second; a tie counts as half a win.
        second_wins: Wins of the second system against the first.
        left: Whether some items about them had not been chosen yet.
        percent: Share of the chosen items that compare them, in percent.
    """

    first: str
    second: str
    first_wins: float
    second_wins: float
    left: bool
    percent: float


def get_latest_choice(campaign: Campaign) -> list[ComparedSystems]:
    """Return the latest choice by pair of systems, the largest shares first."""
    choice = campaign.next_pairs.order_by("number").last()
    if choice is None:
        return []
    found = [
        ComparedSystems(
            first=choice.systems[one],
            second=choice.systems[other],
            first_wins=choice.wins[one][other],
            second_wins=choice.wins[other][one],
            left=pair["going_on"],
            percent=100 * pair["share"],
        )
        for pair in choice.pairs
        for one, other in [pair["systems"]]
    ]
    return sorted(found, key=lambda each: -each.percent)


def _list_items(campaign: Campaign) -> QuerySet[Item]:
    """Return the items that can be chosen: all except checks."""
    return campaign.items.filter(is_check=False)


def choose_items(campaign: Campaign) -> NextPairs | None:
    """Choose the next items; None if all were chosen. The caller holds the campaign."""
    left = _group_free_items(campaign)
    if not left:
        return None
    options = get_options(campaign)
    before = campaign.next_pairs.order_by("number").last()
    names = _list_compared(campaign) if before is None else {*_name_pairs(*_get_pairs(before)), *left}
    systems, pairs = _number_pairs(names)
    number = 1 if before is None else before.number + 1
    last, left_out = _read_exclusions(campaign)
    tally = _Tally(campaign, systems, left_out)
    for answer in _iterate_answers(campaign):
        tally.see(answer)
    going_on = [pair in left for pair in _name_pairs(systems, pairs)]
    shares = compute_next_shares(
        np.array(tally.wins), pairs, going_on=going_on, floor=options.next_pairs_floor
    )
    numbers = draw_next_counts(shares, options.next_pairs, seed=options.seed, choice=number)
    chosen = [
        left.get(pair, [])[:wanted] for pair, wanted in zip(_name_pairs(systems, pairs), numbers, strict=True)
    ]
    keys = [key for of_pair in chosen for key in of_pair]
    lock_items(keys)
    Item.objects.filter(pk__in=keys).update(up_next=True)
    columns = zip(pairs, going_on, shares.tolist(), numbers, chosen, strict=True)
    parts = ("systems", "going_on", "share", "number", "items")
    return NextPairs.objects.create(
        campaign=campaign,
        number=number,
        time=database_time(),
        seed=options.seed,
        last_response=last,
        left_out=left_out,
        systems=systems,
        wins=tally.wins,
        pairs=[dict(zip(parts, column, strict=True)) for column in columns],
    )


def _sort_names(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


# The systems that an item compares.
_COMPARED = (KT("payload__first_by"), KT("payload__second_by"))


def _group_free_items(campaign: Campaign) -> dict[tuple[str, str], list[int]]:
    """Return the free items that were not chosen yet, by the systems they compare."""
    found: dict[tuple[str, str], list[int]] = {}
    rows = _list_items(campaign).filter(free__gt=0, up_next=False).order_by("free", "rank")
    for key, one, other in rows.values_list("pk", *_COMPARED):
        found.setdefault(_sort_names(one, other), []).append(key)
    return found


def _list_compared(campaign: Campaign) -> set[tuple[str, str]]:
    """Return the compared pairs of systems of a campaign."""
    rows = _list_items(campaign).order_by().values_list(*_COMPARED).distinct()
    return {_sort_names(one, other) for one, other in rows}


def _number_pairs(names: Collection[tuple[str, str]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the systems of pairs, and the pairs by system numbers."""
    systems = sorted({name for pair in names for name in pair})
    place = {name: number for number, name in enumerate(systems)}
    return systems, [(place[one], place[other]) for one, other in sorted(names)]


def _get_pairs(choice: NextPairs) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the systems and pairs of an earlier choice. Items that were added since may have others."""
    return choice.systems, [(one, other) for one, other in (pair["systems"] for pair in choice.pairs)]


def _name_pairs(systems: Sequence[str], pairs: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(systems[one], systems[other]) for one, other in pairs]


def _read_exclusions(campaign: Campaign) -> tuple[int, dict[str, list[int]]]:
    """Return the newest answer's key, and the excluded participations and answers."""
    answers = Response.objects.filter(item__campaign=campaign)
    last = answers.aggregate(last=Max("pk"))["last"] or 0
    workers = campaign.participations.filter(stage__in=EXCLUDED).order_by("pk")
    excluded = answers.filter(exclusions__lifted=None, exclusions__isnull=False)
    rejected = answers.filter(pk__in=_list_rejected(answers))
    alone = {*excluded.values_list("pk", flat=True), *rejected.values_list("pk", flat=True)}
    alone |= set(answers.exclude(redacted="").values_list("pk", flat=True))
    return last, {"participations": list(workers.values_list("pk", flat=True)), "responses": sorted(alone)}


def _list_rejected(answers: QuerySet[Response]) -> list[int]:
    """Return the keys of the answers that are rejected by their latest review."""
    rows = Review.objects.filter(response__in=answers).order_by("pk").values_list("response", "verdict")
    latest = dict(rows)
    return [key for key, verdict in latest.items() if verdict == Review.Verdict.REJECTED]


class _Answer(NamedTuple):
    """An answer that may count, with the compared systems."""

    key: int
    assignment: int
    participation: int
    item: int
    group: str
    one: str
    other: str
    choice: str | None


def _iterate_answers(campaign: Campaign) -> Iterator[_Answer]:
    """Yield all revisions of the answers that may count, in order of arrival."""
    rows = Response.objects.filter(item__campaign=campaign, may_count=True).order_by("pk")
    columns = ("pk", "assignment", "participation", "item", "item__group")
    compared = (KeyTextTransform(name, "item__payload") for name in ("first_by", "second_by"))
    for row in rows.values_list(*columns, *compared, KT("answer__choice")).iterator(chunk_size=5000):
        yield _Answer(*row)


class _Tally:
    """Wins between systems: each pair of captions counts once, a tie as half a win.

    Attributes:
        wins: Wins of each system against each other system.
        removed: Number of answers whose texts were removed, so their choice is unknown.
    """

    def __init__(
        self, campaign: Campaign, systems: Sequence[str], left_out: Mapping[str, Sequence[int]]
    ) -> None:
        self.about = (list(systems), left_out)
        self.wins = [[0.0] * len(systems) for _ in systems]
        self.removed = 0
        self._place = {name: number for number, name in enumerate(systems)}
        self._workers, self._alone = set(left_out["participations"]), set(left_out["responses"])
        # The answers to a triplet are one vote.
        self._once = task_named(campaign.kind).votes_once
        self._newest: dict[int, _Answer] = {}
        # By pair of captions and item: the number of answers, and the sum of their signs (1 for the first
        # system).
        self._votes: dict[tuple[str | int, str, str], dict[int, list[int]]] = {}

    def see(self, answer: _Answer) -> None:
        """Count an answer, and remove an earlier revision of it from the count."""
        before = self._newest.get(answer.assignment)
        if before is not None:
            self._count(before, -1)
        self._newest[answer.assignment] = answer
        self._count(answer, 1)

    def _count(self, answer: _Answer, times: int) -> None:
        if answer.participation in self._workers or answer.key in self._alone:
            return
        if answer.choice not in PAIR_CHOICES:
            self.removed += times
            return
        pair = (answer.group or answer.item, *_sort_names(answer.one, answer.other))
        self._score(pair, -1)
        sign = PAIR_CHOICES[answer.choice] * (1 if answer.one <= answer.other else -1)
        votes = self._votes.setdefault(pair, {}).setdefault(answer.item, [0, 0])
        votes[0] += times
        votes[1] += times * sign
        self._score(pair, 1)

    def _score(self, pair: tuple[str | int, str, str], times: int) -> None:
        """Add or remove the point of a pair of captions."""
        of_items = [votes for votes in self._votes.get(pair, {}).values() if votes[0]]
        _, one, other = pair
        if not of_items or one == other:
            return
        winner = _get_sign(sum(_get_sign(total) if self._once else total for _, total in of_items))
        self.wins[self._place[one]][self._place[other]] += times * (1 + winner) / 2
        self.wins[self._place[other]][self._place[one]] += times * (1 - winner) / 2


def _get_sign(number: int) -> int:
    return (number > 0) - (number < 0)


def replay(campaign: Campaign) -> Iterator[ReplayResult]:
    """Replay all choices of a campaign, each from the answers at its time."""
    options = get_options(campaign)
    answers: list[_Answer] = []
    chosen: set[int] = set()
    tally, position = _Tally(campaign, (), _NO_EXCLUSIONS), 0
    for number, choice in enumerate(campaign.next_pairs.order_by("number"), 1):
        answers = answers or list(_iterate_answers(campaign))
        if tally.about != (choice.systems, choice.left_out):
            tally, position = _Tally(campaign, choice.systems, choice.left_out), 0
        while position < len(answers) and answers[position].key <= choice.last_response:
            tally.see(answers[position])
            position += 1
        differs = [] if choice.number == number else [f"its number must be {number}"]
        if not tally.removed and tally.wins != choice.wins:
            differs.append("the wins differ")
        differs += _compare_numbers(choice, options)
        differs += _compare_items(campaign, choice, chosen)
        yield ReplayResult(choice=choice, differs=tuple(differs), removed=tally.removed)


def _compare_numbers(choice: NextPairs, options: CampaignOptions) -> Iterator[str]:
    """Yield the differences between a choice and the numbers computed from its wins."""
    _, pairs = _get_pairs(choice)
    going_on = [pair["going_on"] for pair in choice.pairs]
    stored = np.array([pair["share"] for pair in choice.pairs])
    shares = compute_next_shares(
        np.array(choice.wins), pairs, going_on=going_on, floor=options.next_pairs_floor
    )
    if np.abs(shares - stored).max() > _ROUNDING:
        yield "the shares differ"
    numbers = draw_next_counts(stored, options.next_pairs, seed=choice.seed, choice=choice.number)
    if numbers != [pair["number"] for pair in choice.pairs]:
        yield "the numbers of items differ"


def _compare_items(campaign: Campaign, choice: NextPairs, chosen: set[int]) -> Iterator[str]:
    """Yield the problems of the items of a choice, and add the items to `chosen`."""
    for pair in choice.pairs:
        first, second = (choice.systems[number] for number in pair["systems"])
        keys = pair["items"]
        rows = _list_items(campaign).filter(pk__in=keys).values_list(*_COMPARED)
        if len(keys) > pair["number"] or len(set(keys) - chosen) < len(keys):
            yield f"too many items of {first} and {second}, or items chosen before"
        if [_sort_names(one, other) for one, other in rows] != [_sort_names(first, second)] * len(keys):
            yield f"items of {first} and {second} compare different systems"
        chosen.update(keys)
