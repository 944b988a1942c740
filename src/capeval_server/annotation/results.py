"""Counted answers as the files that the library's studies read, and what they say of systems.

What is written is what counts: answers that fill a slot. Checks, trials, skips and excluded answers are in no
file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import MismatchError, OptionError
from capeval.files import written_whole
from capeval.formats.human_scores import HumanScore, write_human_scores
from capeval.formats.judgements import Pair, Plan, Triplet, plan_files, write_plan
from capeval.formats.ratings import Ratings
from capeval.spreadsheets import plain
from capeval.studies.judging import human_scores, judge, thumb_score
from capeval.types import FloatArray
from capeval_server.annotation.models import Campaign, Item, Response
from capeval_server.annotation.options import options_of
from capeval_server.errors import CampaignError

__all__ = ["JUDGED", "RATED", "human_columns", "plan_items", "ratings_of", "write_results"]

RATED = ("m1", "m2", "m3", "m4", "m5", "rating")
"""The kinds of task whose answers are values of systems."""

JUDGED = ("triplet", "pairwise", *RATED)
"""The kinds of task whose answers are choices."""

_NUMBERS: Mapping[str, Mapping[str, float]] = {
    "m1": {"better": 1.0, "equal": 0.0, "worse": -1.0},
    "m2": {"person": 1.0, "machine": 0.0},
    "m5": {"yes": 1.0, "no": 0.0},
}
_PENALTIES = ("fluency", "conciseness", "inclusive")
_NO_SYSTEM = "unknown"


def plan_items(plan: Plan, kind: str) -> Iterator[dict[str, Any]]:
    """The items of a campaign that asks the questions of a plan, as lines of its file have them.

    Args:
        plan: The plan, as `capeval study plan` writes it.
        kind: `triplet`, or `pairwise` for its pairs with their images, which are named by their ids.

    Raises:
        OptionError: The kind is another.
    """
    if kind not in ("triplet", "pairwise"):
        raise OptionError(f"'kind' must be one of triplet, pairwise (got {kind!r})")
    if kind == "pairwise":
        for number, pair in enumerate(plan.pairs):
            yield {"key": str(number), "group": str(number), "image": str(pair.image), **_of_pair(pair)}
        return
    for number, triplet in enumerate(plan.triplets):
        pair = plan.pairs[triplet.pair]
        yield {
            "key": str(number),
            "group": str(triplet.pair),
            "reference": triplet.reference,
            "image_id": str(pair.image),
            "on_the_left": triplet.on_the_left,
            **_of_pair(pair),
        }


def _of_pair(pair: Pair) -> dict[str, str]:
    found = {
        "first": pair.first,
        "second": pair.second,
        "category": pair.kind or "",
        "first_by": pair.first_by or "",
        "second_by": pair.second_by or "",
    }
    return {name: text for name, text in found.items() if text}


def write_results(
    campaign: Campaign, folder: Path, *, release: str = "", complete_only: bool = False
) -> list[Path]:
    """Writes the counted answers of a campaign of judgements.

    Triplets: pairs.csv, triplets.csv and votes.csv; pairs: pairs.csv and pair_votes.csv; M1 to M5:
    ratings-m1.csv and so on; ratings: one file a question. All but the first two come with human.csv.

    Args:
        campaign: The campaign.
        folder: Where to write; it is made if it isn't there.
        release: The name of these judgements, for human.csv.
        complete_only: Whether items that lack answers are left out.

    Returns:
        The files.

    Raises:
        CampaignError: The campaign is of another kind, or no answer counts.
        OSError: A file can't be written.
    """
    if campaign.kind not in JUDGED:
        raise CampaignError(f"results must be of {', '.join(JUDGED)} (got {campaign.kind!r})")
    folder.mkdir(parents=True, exist_ok=True)
    if campaign.kind not in RATED:
        return _write_votes(campaign, folder, complete_only=complete_only)
    paths = []
    for question, ratings in ratings_of(campaign, complete_only=complete_only).items():
        paths.append(folder / f"ratings-{question.lower()}.csv")
        _write(paths[-1], *_rating_rows(ratings))
    write_human_scores(_scores_of(campaign, release, complete_only=complete_only), folder / "human.csv")
    return [*paths, folder / "human.csv"]


def _items(campaign: Campaign) -> list[Item]:
    """The items that are no checks, by number where their keys are numbers."""
    items = list(campaign.items.filter(is_check=False).select_related("image"))
    return sorted(items, key=lambda item: _by_number(item.key))


def _by_number(name: str) -> tuple[int, int, str]:
    """Sorts numbers as numbers, and before other names."""
    return (0, int(name), "") if name.isdecimal() else (1, 0, name)


def _counted(campaign: Campaign, *, complete_only: bool = False) -> dict[int, list[Response]]:
    """The answers that count, by item and in the order of their slots.

    Raises:
        CampaignError: There is none.
    """
    rows = Response.objects.filter(item__campaign=campaign, item__is_check=False, filled_slot__isnull=False)
    found: dict[int, list[Response]] = {}
    for row in rows.select_related("participation__worker", "assignment").order_by("filled_slot__number"):
        found.setdefault(row.item_id, []).append(row)
    if complete_only:
        wanted = options_of(campaign).answers
        found = {item: answers for item, answers in found.items() if len(answers) >= wanted}
    if not found:
        raise CampaignError(f"no answer of {campaign.slug} counts yet")
    return found


def _write_votes(campaign: Campaign, folder: Path, *, complete_only: bool) -> list[Path]:
    items, counted = _items(campaign), _counted(campaign, complete_only=complete_only)
    answers = options_of(campaign).answers
    pairs: dict[str, Pair] = {}
    for item in sorted(items, key=lambda item: _by_number(item.group or item.key)):
        pairs.setdefault(item.group or item.key, _pair(item))
    numbers = {group: number for number, group in enumerate(pairs)}
    triplets = []
    if campaign.kind == "triplet":
        triplets = [_triplet(item, numbers[item.group or item.key], answers) for item in items]
    write_plan(Plan(pairs=tuple(pairs.values()), triplets=tuple(triplets)), folder)
    pairs_path, triplets_path = plan_files(folder)
    if campaign.kind == "triplet":
        rows = [
            (number, _side(triplet, response), *_about(response))
            for number, (item, triplet) in enumerate(zip(items, triplets, strict=True))
            for response in counted.get(item.pk, [])
        ]
        _write(folder / "votes.csv", ("triplet", "choice", *_ABOUT), rows)
        return [pairs_path, triplets_path, folder / "votes.csv"]
    triplets_path.unlink()
    rows = [
        (numbers[item.group or item.key], response.answer["choice"], *_about(response))
        for item in items
        for response in counted.get(item.pk, [])
    ]
    _write(folder / "pair_votes.csv", ("pair", "choice", *_ABOUT), rows)
    return [pairs_path, folder / "pair_votes.csv"]


_ABOUT = ("worker", "mirrored", "seconds", "received")


def _about(response: Response) -> tuple[object, ...]:
    return (
        response.participation.worker.pseudonym,
        int(response.assignment.mirrored),
        response.events.get("seconds", ""),
        response.received.isoformat(),
    )


def _pair(item: Item) -> Pair:
    payload = item.payload
    return Pair(
        image=payload.get("image_id") or (item.image.name if item.image else item.group or item.key),
        kind=item.category or "unknown",
        first=payload["first"],
        second=payload["second"],
        first_by=payload.get("first_by", _NO_SYSTEM),
        second_by=payload.get("second_by", _NO_SYSTEM),
    )


def _triplet(item: Item, pair: int, judgements: int) -> Triplet:
    first_left = item.payload.get("on_the_left", "first") == "first"
    texts = (item.payload["first"], item.payload["second"])
    return Triplet(
        pair=pair,
        reference=item.payload["reference"],
        left=texts[not first_left],
        right=texts[first_left],
        on_the_left="first" if first_left else "second",
        judgements=judgements,
    )


def _side(triplet: Triplet, response: Response) -> str:
    """Where the chosen candidate stands in triplets.csv, wherever the worker saw it."""
    return "left" if response.answer["choice"] == triplet.on_the_left else "right"


def ratings_of(campaign: Campaign, *, complete_only: bool = False) -> dict[str, Ratings]:
    """The counted answers of a campaign of M1 to M5 or of ratings, by the library's name of the question.

    Raises:
        CampaignError: The campaign is of another kind, or no answer counts.
    """
    if campaign.kind not in RATED:
        raise CampaignError(f"ratings must be of {', '.join(RATED)} (got {campaign.kind!r})")
    counted = _counted(campaign, complete_only=complete_only)
    items = [item for item in _items(campaign) if item.pk in counted]
    return {
        name: Ratings(
            image_ids=tuple(item.image.name if item.image else item.group or item.key for item in items),
            captions=tuple(item.payload.get("caption") or item.payload["first"] for item in items),
            values=_rows([[number(one.answer) for one in counted[item.pk]] for item in items]),
            systems=tuple(item.payload["system"] for item in items),
        )
        for name, number in _numbers_of(campaign.kind).items()
    }


def _numbers_of(kind: str) -> dict[str, Callable[[Mapping[str, str]], float]]:
    """How an answer becomes a number, by the question's name."""
    if kind == "rating":
        return {
            "P": lambda answer: float(answer["precision"]),
            "R": lambda answer: float(answer["recall"]),
            "THumB": _thumb,
        }
    if kind in _NUMBERS:
        return {kind.upper(): lambda answer: _NUMBERS[kind][answer["choice"]]}
    return {kind.upper(): lambda answer: float(answer["choice"])}


def _thumb(answer: Mapping[str, str]) -> float:
    precision, recall = (np.array([float(answer[name])]) for name in ("precision", "recall"))
    penalties = (-np.array([float(answer[name])]) for name in _PENALTIES)
    return float(thumb_score(precision, recall, *penalties)[0])


def _rows(rows: Sequence[Sequence[float]]) -> FloatArray:
    """Rows of equal length, with NaN where an item has fewer answers."""
    most = max(map(len, rows))
    return np.array([[*row, *[np.nan] * (most - len(row))] for row in rows])


def human_columns(
    campaigns: Sequence[Campaign], *, release: str = "", samples: int = 1000
) -> tuple[HumanScore, ...]:
    """What people think of systems, by the counted answers of campaigns of M1 to M5 and of ratings.

    Args:
        campaigns: The campaigns; M4 needs M3 beside it.
        release: The name of these judgements.
        samples: The number of resamples of the images.

    Raises:
        CampaignError: M4 is without M3, or no answer counts.
    """
    kinds = [campaign.kind for campaign in campaigns]
    if "m4" in kinds and "m3" not in kinds:
        raise CampaignError(
            "M4 must stand beside M3: captions of other images have more detail than those of most systems"
        )
    return tuple(score for campaign in campaigns for score in _scores_of(campaign, release, samples))


def _scores_of(
    campaign: Campaign, release: str, samples: int = 1000, *, complete_only: bool = False
) -> list[HumanScore]:
    """The rows of human.csv of a campaign, with how many people answered about each system."""
    workers: dict[str, set[int]] = {}
    of_systems = {item.pk: item.payload["system"] for item in _items(campaign)}
    for item, answers in _counted(campaign, complete_only=complete_only).items():
        workers.setdefault(of_systems[item], set()).update(one.participation_id for one in answers)
    try:
        columns = [
            judge(ratings, question, samples=samples)
            for question, ratings in ratings_of(campaign, complete_only=complete_only).items()
        ]
    except MismatchError as error:
        raise CampaignError(f"{campaign.slug}: {error}") from None
    return [
        replace(score, workers=len(workers[score.system])) for score in human_scores(columns, release=release)
    ]


def _rating_rows(ratings: Ratings) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    raters = tuple(f"rating_{number + 1}" for number in range(ratings.values.shape[1]))
    rows: list[tuple[object, ...]] = [
        (image, caption, *("" if np.isnan(value) else f"{value:g}" for value in values), system)
        for image, caption, values, system in zip(
            ratings.image_ids, ratings.captions, ratings.values, ratings.systems, strict=True
        )
    ]
    return ("image_id", "caption", *raters, "system"), rows


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([plain(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    with written_whole(path) as file:
        file.write(text.getvalue().encode())
