"""The table `judgments` of a release: all answers of a campaign, one row per answer and question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple, get_args, get_type_hints

from capeval.toolkit import atomic_write
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign, Exclusion, Item, Participation, Response, Review
from capeval_server.annotation.releases.judgments import get_image_id, list_judged_items, number_pairs
from capeval_server.annotation.releases.result_files import render_csv
from capeval_server.annotation.review.answer_explorer import annotate_responses
from capeval_server.annotation.task_types import PairVotes, RatingResult, TaskType, task_named, task_of
from capeval_server.annotation.task_types.base import ITEMS
from capeval_server.annotation.task_types.results import JudgedQuestion, TaskResult
from capeval_server.annotation.text_rules.invisible_characters import find_invisible, remove_invisible

__all__ = [
    "JudgmentRow",
    "UncountedReasons",
    "explain_missing_parquet",
    "list_judgments",
    "render_judgments",
    "write_judgments",
    "write_parquet",
]

_FIRST, _SECOND = ITEMS
_CAPTIONS = ("system", "second_system", "caption", "second_caption", "reference")


class JudgmentRow(NamedTuple):
    """An answer to a question, in the order of the columns.

    Attributes:
        response: Number of the answer.
        item: Key of the item.
        image_id: The image.
        group: Group of the item; None without one.
        category: Class of the item; None without one.
        system: The system of `caption`; None if unknown.
        second_system: The system of `second_caption`; None if unknown.
        caption: The judged caption, the first of a pair, or the written one.
        second_caption: The caption that `caption` is compared with; None without one.
        reference: The sentence that both captions of a triplet are compared with; None without one.
        pair: Number of the pair in pairs.csv; None without one.
        triplet: Number of the triplet in triplets.csv; None without one.
        question: Name of the question.
        choice: The stored choice; None if the answer is a caption, or its content was removed.
        value: The number of the choice; None if it has none.
        worker: Pseudonym of the worker.
        batch: Number of the worker's batch, from 1.
        place: Position of the item in the batch, from 1.
        mirrored: Whether the second caption was shown first.
        seconds: Server-measured time in seconds since the worker's previous answer, or since the item was
            assigned, if that was later.
        browser_seconds: The time in seconds that the worker's browser or program reported; None without one.
        received: Time at which the server received the answer.
        revision: Number of the revision, from 1.
        texts: Version of the texts that were in force.
        counted: Whether the release counts the answer.
        reason: Reason why it does not; None if it does.
        rejection: The reviewer's reason if the latest verdict rejects the answer; None without one.
    """

    response: int
    item: str
    image_id: str
    group: str | None
    category: str | None
    system: str | None
    second_system: str | None
    caption: str | None
    second_caption: str | None
    reference: str | None
    pair: int | None
    triplet: int | None
    question: str
    choice: str | None
    value: float | None
    worker: str
    batch: int
    place: int
    mirrored: bool
    seconds: float
    browser_seconds: float | None
    received: datetime
    revision: int
    texts: int
    counted: bool
    reason: str | None
    rejection: str | None


def explain_missing_parquet() -> str:
    """Return why new releases have no `judgments.parquet`; empty if they have it."""
    if find_spec("pyarrow"):
        return ""
    return 'Without pyarrow, releases have no judgments.parquet: pip install "capeval-server[parquet]"'


def write_judgments(campaign: Campaign, counted: Collection[int], folder: Path) -> list[Path]:
    """Write `judgments.csv` and, if pyarrow is installed, the same table as `judgments.parquet`.

    Args:
        campaign: The campaign.
        counted: The primary keys of the answers that the release counts.
        folder: Output folder.

    Returns:
        The paths of the files.

    Raises:
        OSError: A file can't be written.
    """
    rows = list(list_judgments(campaign, counted))
    paths = [folder / "judgments.csv"]
    with atomic_write(paths[0]) as file:
        file.write(render_judgments(rows).encode())
    if not explain_missing_parquet():
        paths.append(folder / "judgments.parquet")
        with atomic_write(paths[1]) as file:
            write_parquet(file, rows)
    return paths


def render_judgments(rows: Iterable[JudgmentRow]) -> str:
    """Return the table as CSV."""
    return render_csv(JudgmentRow._fields, ([*map(_format_value, row)] for row in rows))


def _format_value(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat(timespec="microseconds") if isinstance(value, datetime) else value


def write_parquet(file: IO[bytes], rows: Iterable[JudgmentRow]) -> None:
    """Write the table as Parquet to an open file. This requires pyarrow."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {
        int: pa.int64(),
        str: pa.string(),
        float: pa.float64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
    }
    schema = pa.schema(
        [
            # The hint of a column with missing values is `type | None`.
            pa.field(name, types[(get_args(hint) or (hint,))[0]], nullable=bool(get_args(hint)))
            for name, hint in get_type_hints(JudgmentRow).items()
        ]
    )
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    parquet.write_table(pa.table(arrays, schema), file)


def list_judgments(
    campaign: Campaign, counted: Collection[int], chosen: Collection[int] | None = None
) -> Iterator[JudgmentRow]:
    """Yield the rows of answers: by item, the counted answers in the order of their slots first.

    Args:
        campaign: The campaign.
        counted: The primary keys of the counted answers.
        chosen: The primary keys of the answers of the table, also with sentences that do not count. By
            default, the table has all answers, without such sentences.
    """
    context = _Context(campaign, counted)
    for row in context.responses:
        if chosen is None or row.pk in chosen:
            for judged in _split_answer(row, campaign):
                yield context.build_row(row, judged, shows_all=chosen is not None)


class _Context:
    """The answers of a campaign in the order of the table, with all that determines their rows."""

    def __init__(self, campaign: Campaign, counted: Collection[int]) -> None:
        self._task, self._counted = task_named(campaign.kind), counted
        items = list_judged_items(campaign)
        self._pairs, self._triplets = _number_questions(campaign, items)
        self._reasons = UncountedReasons(campaign)
        order = {item.pk: number for number, item in enumerate(items)}
        self.responses = _load_responses(campaign)
        self._seconds = _measure_seconds(self.responses)
        self.responses.sort(
            key=lambda row: (
                order.get(row.item_id, len(order)),
                row.item.key,
                row.pk not in counted,
                row.slot_number or 0,
                row.pk,
            )
        )

    def build_row(self, row: Any, judged: JudgedQuestion, *, shows_all: bool) -> JudgmentRow:
        """Return the row of an answer and a question."""
        item, counts = row.item, row.pk in self._counted
        reason = None if counts else self._reasons.find(row)
        kept = reason not in _REMOVED
        return JudgmentRow(
            response=row.pk,
            item=item.key,
            image_id=get_image_id(item) if self._task.result.judges_systems else item.key,
            group=item.group or None,
            category=item.category or None,
            **_describe_captions(row, self._task, shown=counts or (shows_all and kept)),
            pair=self._pairs.get(item.pk),
            triplet=self._triplets.get(item.pk),
            question=judged.question,
            choice=judged.choice if kept else None,
            value=judged.value if kept else None,
            worker=row.participation.worker.pseudonym,
            batch=row.assignment.batch,
            place=row.assignment.place,
            mirrored=row.assignment.mirrored,
            seconds=self._seconds[row.pk],
            browser_seconds=_get_browser_seconds(row) if kept else None,
            received=row.received.astimezone(UTC),
            revision=row.revision,
            texts=row.texts.number,
            counted=counts,
            reason=reason,
            rejection=row.verdict_reason if kept and row.verdict == Review.Verdict.REJECTED else None,
        )


class UncountedReasons:
    """The reasons why answers of a campaign do not count.

    Args:
        campaign: The campaign.
    """

    def __init__(self, campaign: Campaign) -> None:
        excluded = Exclusion.objects.filter(campaign=campaign, lifted=None)
        self._blocked = set(excluded.values_list("participation", flat=True))
        self._excluded = set(excluded.values_list("response", flat=True))

    def find(self, row: Any) -> str:
        """Return the first reason, in the order of the documentation, why an answer is not counted.

        Args:
            row: The answer, annotated by `annotate_responses`.
        """
        reasons = {
            "withdrawn": row.participation.stage == Participation.Stage.WITHDREW,
            "redacted": bool(row.redacted),
            "training": row.item.is_training,
            "repeated": row.item.repeats_id is not None,
            "check": row.item.is_check,
            "preview": not row.may_count,
            "revised": row.is_revised,
            "blocked": row.participation_id in self._blocked,
            "excluded": row.pk in self._excluded,
            _REJECTED: row.verdict == Review.Verdict.REJECTED,
            "left out": row.slot_number is not None,
        }
        return next((reason for reason, holds in reasons.items() if holds), "surplus")


def _number_questions(campaign: Campaign, items: Sequence[Item]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the numbers of pairs and of triplets in the files of votes, by item; empty for other results."""
    result, answers = task_named(campaign.kind).result, get_options(campaign).answers
    if not isinstance(result, PairVotes):
        return {}, {}
    pairs = number_pairs(items)
    triplets = {
        item.pk: number
        for number, item in enumerate(items)
        if result.triplet(item.payload, pairs[item.pk], answers)
    }
    return pairs, triplets


# Reasons for which an answer has no content in later releases.
_REMOVED = ("withdrawn", "redacted")
_REJECTED = "rejected"


def _load_responses(campaign: Campaign) -> list[Any]:
    rows = annotate_responses(Response.objects.filter(item__campaign=campaign))
    return list(rows.select_related("item__image", "assignment", "participation__worker", "texts"))


def _get_browser_seconds(row: Response) -> float | None:
    seconds = row.events.get("seconds")
    return None if seconds is None else float(seconds)


def _measure_seconds(responses: Iterable[Response]) -> dict[int, float]:
    """Return the time in seconds of each answer, measured by the server."""
    seconds: dict[int, float] = {}
    latest: dict[int, datetime] = {}
    for row in sorted(responses, key=lambda row: (row.received, row.pk)):
        opened = row.assignment.opened
        begun = max(opened, latest.get(row.participation_id, opened))
        seconds[row.pk] = (row.received - begun).total_seconds()
        latest[row.participation_id] = row.received
    return seconds


def _split_answer(row: Response, campaign: Campaign) -> Iterator[JudgedQuestion]:
    """Yield the questions of an answer, also if its content was removed."""
    task = task_of(row.item, campaign)
    result = TaskResult() if row.item.is_quiz else task.result
    answer = row.answer or task.answer(row.item.payload, task.example_answer(), mirrored=False)
    return result.split_answer(task.name, answer)


def _describe_captions(row: Response, task: TaskType, *, shown: bool) -> dict[str, Any]:
    """Return the captions of an item and their systems, or the caption that the worker wrote."""
    payload: Mapping[str, str] = row.item.payload
    if task.written and not row.item.is_quiz:
        # Sentences that don't count, such as rejected ones, must not be in a file that never changes.
        text = row.answer[task.written] if shown else None
        caption = remove_invisible(text) if text and find_invisible(text) else text
        return {**dict.fromkeys(_CAPTIONS), "caption": caption}
    caption = task.result.caption if isinstance(task.result, RatingResult) else _FIRST
    return {
        "system": payload.get("system", payload.get("first_by")),
        "second_system": payload.get("second_by"),
        "caption": payload.get("caption" if row.item.is_quiz else caption),
        "second_caption": payload.get(_SECOND),
        "reference": payload.get("reference"),
    }
