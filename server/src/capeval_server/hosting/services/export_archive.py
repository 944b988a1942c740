"""Export of a challenge as a zip, without references, email addresses and secrets."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import IO, Any
from uuid import UUID

from django.db.models import Prefetch
from django.utils import timezone

import capeval
from capeval.toolkit import escape_row
from capeval_server.challenges.models import Challenge, ReferenceVersion, Reported
from capeval_server.hosting.services.definition_archive import list_definition_files
from capeval_server.hosting.services.description import to_toml
from capeval_server.hosting.services.moderation import of_challenge
from capeval_server.submissions.models import FinalBoard, Result, Score, Submission, SubmissionFile
from capeval_server.submissions.scoring.score_arrays import finite
from capeval_server.teams.models import Raise, Team

__all__ = ["FORMAT", "export"]

FORMAT = 1
_README = """\
Export of the challenge {slug} at {time}, written by capeval {version} (format {format}).

challenge.toml            definition; files of references, human captions and images are not included
references.csv, .json     versions of each reference set: number, date and SHA-256
reported.csv, .json       scores reported elsewhere, which are in no other file
teams.csv, .json          teams: members, owner, users waiting for approval, extra quota
blocks.csv, .json         blocked users, with the reason
announcements.csv, .json  announcements
webhooks.csv, .json       URLs of webhooks, without their secrets
pictures/NAME             pictures in the challenge's texts
submissions.csv, .json    submissions: state, declared fields, mark and reason
results.csv, .json        signature or failure of each metric and reference version
scores.csv, .json         scores with 95% intervals; an empty subset means all images
actions.csv, .json        audit log
final/PHASE/SPLIT_REFERENCES_vVERSION.json   leaderboards with final results, at the time they became final
files/SUBMISSION/SPLIT.json   submitted results

CSV and JSON files with the same name contain the same rows. Times are UTC. Numbers have full precision; an
empty cell or null is a missing number. In CSV, text that a spreadsheet would run as a formula starts with an
apostrophe. `stale` rows are scores by earlier versions of the references.
"""
Row = dict[str, Any]
Columns = dict[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class ExportTable:
    """Table of the export.

    Attributes:
        records: Returns the records of a challenge, one per row.
        columns: A function for each column, which returns its value for a record.
    """

    records: Callable[[Challenge], Iterable[Any]]
    columns: Columns

    def rows(self, challenge: Challenge) -> Iterator[Row]:
        """Yield the rows, with times and ids as texts."""
        for record in self.records(challenge):
            yield {name: _to_plain(read(record)) for name, read in self.columns.items()}


def _to_plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def export(challenge: Challenge, target: IO[bytes], *, complete: bool = False) -> None:
    """Write the export of a challenge as a zip, in bounded memory.

    Args:
        challenge: The challenge.
        target: A file to write to.
        complete: Whether to include private references, human captions and image files.

    Raises:
        OSError: A file can't be read or written.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        archive.writestr(
            "README.txt",
            _README.format(
                slug=challenge.slug,
                time=timezone.now().isoformat(timespec="seconds"),
                version=capeval.__version__,
                format=FORMAT,
            ),
        )
        archive.writestr("challenge.toml", to_toml(challenge))
        for name, table in _TABLES.items():
            _write_csv(archive, f"{name}.csv", [*table.columns], table.rows(challenge))
            _write_json(archive, f"{name}.json", table.rows(challenge))
        if complete:
            for name, content in list_definition_files(challenge):
                archive.writestr(name, content)
        _write_final(archive, challenge)
        _write_pictures(archive, challenge)
        _write_files(archive, challenge)


def _write_csv(archive: zipfile.ZipFile, name: str, columns: list[str], rows: Iterable[Row]) -> None:
    with archive.open(name, "w", force_zip64=True) as raw, io.TextIOWrapper(raw, "utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(escape_row(map(_format_cell, row.values())) for row in rows)


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return _dump_json(value) if isinstance(value, dict | list | bool) else str(value)


def _write_json(archive: zipfile.ZipFile, name: str, rows: Iterable[Row]) -> None:
    with archive.open(name, "w", force_zip64=True) as out:
        before = b"[\n"
        for row in rows:
            out.write(before + _dump_json(row).encode())
            before = b",\n"
        out.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _write_final(archive: zipfile.ZipFile, challenge: Challenge) -> None:
    boards = FinalBoard.objects.filter(phase__challenge=challenge)
    for board in boards.select_related("phase", "version__reference_set__split").order_by("pk").iterator(10):
        references = board.version.reference_set
        place = f"{board.phase.name}/{references.split.name}_{references.name}_v{board.version.number}"
        archive.writestr(f"final/{place}.json", zlib.decompress(bytes(board.content)))


def _write_pictures(archive: zipfile.ZipFile, challenge: Challenge) -> None:
    for picture in challenge.pictures.order_by("name"):
        with picture.file.open("rb") as source, archive.open(f"pictures/{picture.name}", "w") as out:
            shutil.copyfileobj(source, out)


def _write_files(archive: zipfile.ZipFile, challenge: Challenge) -> None:
    # Human baselines are left out: their captions may be references of a different set.
    files = SubmissionFile.objects.filter(submission__phase__challenge=challenge)
    files = files.select_related("split").defer("split__image_ids")
    for part in files.order_by("submission_id", "split__name").iterator(500):
        name = f"files/{part.submission_id}/{part.split.name}.json"
        with part.file.open("rb") as source, archive.open(name, "w", force_zip64=True) as out:
            shutil.copyfileobj(source, out)


def _list_references(challenge: Challenge) -> Iterable[ReferenceVersion]:
    versions = ReferenceVersion.objects.filter(reference_set__split__challenge=challenge)
    versions = versions.select_related("reference_set__split").defer("reference_set__split__image_ids")
    return versions.order_by("reference_set__split__name", "reference_set__name", "number")


def _list_reported(challenge: Challenge) -> Iterator[tuple[Reported, Row]]:
    found = Reported.objects.filter(reference_set__split__challenge=challenge)
    found = found.select_related("reference_set__split").defer("reference_set__split__image_ids")
    for source in found.order_by("reference_set__split__name", "reference_set__name", "name"):
        yield from ((source, row) for row in source.rows)


def _list_teams(challenge: Challenge) -> Iterable[Team]:
    raises = Prefetch("raises", Raise.objects.select_related("phase").order_by("phase__name"))
    teams = challenge.teams.prefetch_related("memberships__user", raises)
    return teams.order_by("pk").iterator(500)


def _get_owner(team: Team) -> str | None:
    return next((one.user.username for one in team.memberships.all() if one.owner), None)


def _list_waiting(team: Team) -> list[str]:
    return sorted(one.user.username for one in team.memberships.all() if not one.approved)


def _list_raises(team: Team) -> list[Row]:
    return [
        {"phase": found.phase.name, "per_day": found.per_day, "total": found.total}
        for found in team.raises.all()
    ]


def _describe_baseline(submission: Submission) -> str | None:
    baseline = submission.baseline_of
    return f"{baseline.split.name}/{baseline.name}" if baseline else None


_SPLIT = "reference_version__reference_set__split"


def _list_results(challenge: Challenge) -> Iterable[Result]:
    results = Result.objects.filter(submission__in=of_challenge(challenge).values("pk"))
    results = results.select_related(_SPLIT).defer("log", f"{_SPLIT}__image_ids")
    return results.order_by("submission_id", "pk").iterator(500)


def _list_scores(challenge: Challenge) -> Iterable[Score]:
    scores = Score.objects.filter(result__submission__in=of_challenge(challenge).values("pk"))
    unread = ("samples", "result__log", f"result__{_SPLIT}__image_ids")
    scores = scores.select_related(f"result__{_SPLIT}").defer(*unread)
    return scores.order_by("result__submission_id", "pk").iterator(2000)


def _attribute_columns(*names: str) -> Columns:
    """Return columns that are attributes of a record."""
    return {name: attrgetter(name) for name in names}


def _related_columns(relation: Callable[[Any], Any], columns: Columns) -> Columns:
    """Return columns of a related record."""

    def follow(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda record: read(relation(record))

    return {name: follow(read) for name, read in columns.items()}


_OF_SET: Columns = {"split": attrgetter("split.name"), "references": attrgetter("name")}
_OF_VERSION: Columns = {
    **_related_columns(attrgetter("reference_set"), _OF_SET),
    "version": attrgetter("number"),
    "stale": lambda version: version.number != version.reference_set.version,
}
_OF_RESULT: Columns = {
    "submission": attrgetter("submission_id"),
    **_related_columns(attrgetter("reference_version"), _OF_VERSION),
    "metric": attrgetter("metric"),
}
_TABLES = {
    "references": ExportTable(
        _list_references,
        {
            **_OF_VERSION,
            "public": attrgetter("reference_set.public"),
            **_attribute_columns("created", "sha256"),
        },
    ),
    "reported": ExportTable(
        _list_reported,
        {
            **_related_columns(lambda found: found[0].reference_set, _OF_SET),
            **_related_columns(itemgetter(0), _attribute_columns("name", "title")),
            "source_url": lambda found: found[0].url,
            "ranked": lambda found: found[0].ranked,
            "imported": lambda found: found[0].created,
            **_related_columns(
                itemgetter(1),
                {
                    name: itemgetter(name)
                    for name in ("team", "method", "date", "url", "publication", "scores")
                },
            ),
            **_related_columns(itemgetter(1), {"declared": lambda row: row.get("declared", {})}),
        },
    ),
    "teams": ExportTable(
        _list_teams,
        {
            "team": attrgetter("pk"),
            **_attribute_columns("name", "created"),
            "members": lambda team: sorted(one.user.username for one in team.memberships.all()),
            "owner": _get_owner,
            "waiting": _list_waiting,
            "shows_captions": attrgetter("shows_captions"),
            "raises": _list_raises,
        },
    ),
    "announcements": ExportTable(
        lambda challenge: challenge.announcements.order_by("pk"),
        _attribute_columns("title", "text", "created"),
    ),
    "webhooks": ExportTable(
        lambda challenge: challenge.webhooks.order_by("pk"), _attribute_columns("url", "created")
    ),
    "blocks": ExportTable(
        lambda challenge: challenge.blocks.order_by("pk"), _attribute_columns("who", "reason", "created")
    ),
    "submissions": ExportTable(
        lambda challenge: of_challenge(challenge).order_by("created", "pk").iterator(500),
        {
            "submission": attrgetter("pk"),
            "team": attrgetter("team_id"),
            "entrant": attrgetter("entrant"),
            "user": lambda submission: submission.user.username if submission.user else None,
            "phase": lambda submission: submission.phase.name if submission.phase else None,
            "baseline_of": _describe_baseline,
            **_attribute_columns(
                "created", "finished", "algorithm", "declared", "state", "reason", "counts_for_quota"
            ),
            **_attribute_columns("stands", "choice", "mark", "mark_reason"),
        },
    ),
    "results": ExportTable(
        _list_results, {**_OF_RESULT, **_attribute_columns("signature", "failure", "by_content")}
    ),
    "scores": ExportTable(
        _list_scores,
        {
            **_related_columns(attrgetter("result"), _OF_RESULT),
            "subset": attrgetter("subset"),
            "score": attrgetter("name"),
            "value": lambda score: finite(score.value),
            "low": lambda score: finite(score.low),
            "high": lambda score: finite(score.high),
        },
    ),
    "actions": ExportTable(
        lambda challenge: challenge.actions.order_by("time", "pk").iterator(500),
        {
            **_attribute_columns("time", "who", "what"),
            "submission": attrgetter("submission_id"),
            "team": attrgetter("team_id"),
        },
    ),
}
