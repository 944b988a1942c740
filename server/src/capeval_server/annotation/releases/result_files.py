"""Files of counted answers for `capeval study`.

The files contain only counted answers, which fill a slot. Checks, preview answers, skipped items and excluded
answers are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import OptionError
from capeval.formats.io.json import write_json
from capeval.formats.judgments.human_scores import write_human_scores
from capeval.formats.judgments.plans import Plan, get_plan_paths, write_plan
from capeval.formats.judgments.ratings import Ratings
from capeval.toolkit import atomic_write, escape_row
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.releases.item_winners import ItemWinner, JudgedWinners
from capeval_server.annotation.releases.judgments import CountedJudgments
from capeval_server.annotation.task_types import TASKS, PairVotes

__all__ = ["plan_items", "render_csv", "write_choices", "write_csv", "write_results"]


def plan_items(plan: Plan, kind: str = "") -> Iterator[dict[str, Any]]:
    """Yield the items that ask the questions of a plan, as lines of a campaign's file.

    Args:
        plan: The plan, as written by `capeval study plan`.
        kind: A task type with votes as its result; by default, the first one that asks questions of the plan.

    Raises:
        OptionError: The results of the task type are not votes.
    """
    votes = {name: task.result for name, task in TASKS.items() if isinstance(task.result, PairVotes)}
    if kind and kind not in votes:
        raise OptionError(f"'kind' must be one of {', '.join(votes)} (got {kind!r})")
    for name in [kind] if kind else votes:
        lines = list(votes[name].plan_items(plan, "image" if TASKS[name].needs_image else "image_id"))
        if lines:
            yield from lines
            return


def write_results(
    campaign: Campaign, folder: Path, *, release: str = "", complete_only: bool = False
) -> list[Path]:
    """Write the counted answers of a judgment campaign.

    Triplets: pairs.csv, triplets.csv and votes.csv. Pairs: pairs.csv and pair_votes.csv. Ratings: one file
    per question, such as ratings-m1.csv. Additionally winners.csv, and human.csv and differences.csv; for
    triplets and pairs, the latter two only if they compare several systems on enough images.

    Args:
        campaign: The campaign.
        folder: Output folder; created if it does not exist.
        release: Name of the judgments, for human.csv.
        complete_only: Whether to omit items that lack answers.

    Returns:
        The paths of the files.

    Raises:
        CampaignError: The task type does not judge captions, or no answer counts.
        OSError: A file can't be written.
    """
    judged = CountedJudgments(campaign, complete_only=complete_only)
    folder.mkdir(parents=True, exist_ok=True)
    paths = (_write_votes if isinstance(judged.result, PairVotes) else _write_ratings)(judged, folder)
    paths.append(folder / "winners.csv")
    write_csv(paths[-1], ItemWinner._fields, JudgedWinners(campaign, judged).list_winners())
    columns = judged.columns()
    if columns:
        differences = [each for column in columns for each in column.differences()]
        paths += write_human_scores(judged.scores(columns, release=release), differences, folder)
    return paths


def _write_ratings(judged: CountedJudgments, folder: Path) -> list[Path]:
    paths = []
    for question, ratings in judged.ratings().items():
        paths.append(folder / f"ratings-{question.lower()}.csv")
        write_csv(paths[-1], *_build_rating_rows(ratings))
    return paths


def _write_votes(judged: CountedJudgments, folder: Path) -> list[Path]:
    plan, votes = judged.plan, judged.votes
    write_plan(plan, folder)
    pairs_path, triplets_path = get_plan_paths(folder)
    rows = [
        (
            *votes.row(plan, number, judged.pair_of(item), response.answer["choice"]),
            *_get_vote_columns(response),
        )
        for number, item in enumerate(judged.items)
        for response in judged.counted.get(item.pk, [])
    ]
    write_csv(folder / votes.file, (votes.numbered, "choice", *_VOTE_COLUMNS), rows)
    if not plan.triplets:
        triplets_path.unlink()
    return [path for path in (pairs_path, triplets_path, folder / votes.file) if path.exists()]


_VOTE_COLUMNS = ("worker", "mirrored", "seconds", "received")


def _get_vote_columns(response: Response) -> tuple[object, ...]:
    return (
        response.participation.worker.pseudonym,
        int(response.assignment.mirrored),
        response.events.get("seconds", ""),
        response.received.isoformat(),
    )


def _build_rating_rows(ratings: Ratings) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    raters = tuple(f"rating_{number + 1}" for number in range(ratings.values.shape[1]))
    rows: list[tuple[object, ...]] = [
        (image, caption, *("" if np.isnan(value) else f"{value:g}" for value in values), system)
        for image, caption, values, system in zip(
            ratings.image_ids, ratings.captions, ratings.values, ratings.systems, strict=True
        )
    ]
    return ("image_id", "caption", *raters, "system"), rows


def write_choices(campaign: Campaign, path: Path) -> Path:
    """Write all choices of adaptive sampling, with the data that determine them.

    Returns:
        The path.

    Raises:
        OSError: The file can't be written.
    """
    names = ("number", "seed", "last_response", "left_out", "systems", "wins", "pairs")
    choices = campaign.next_pairs.order_by("number")
    rows = [
        {"time": choice.time.isoformat(), **{name: getattr(choice, name) for name in names}}
        for choice in choices
    ]
    write_json({"floor": get_options(campaign).next_pairs_floor, "choices": rows}, path)
    return path


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV, in the form of `render_csv`.

    Raises:
        OSError: The file can't be written.
    """
    with atomic_write(path) as file:
        file.write(render_csv(names, rows).encode())


def render_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV, with text escaped against spreadsheet formulas.

    Missing cells (None) are empty.
    """
    lines = [",".join(names), *(",".join(map(_format_cell, escape_row(row))) for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def _format_cell(cell: object) -> str:
    text = "" if cell is None else str(cell)
    # Before Python 3.13, csv does not quote a carriage return if lines end with a line feed.
    return '"{}"'.format(text.replace('"', '""')) if any(each in text for each in ',"\r\n') else text
