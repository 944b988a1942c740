"""Exports a challenge as one zip, without references, email addresses and secrets."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from django.db.models import Prefetch, QuerySet
from django.utils import timezone

import capeval
from capeval.toolkit import plain_row
from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge, ReferenceVersion, Reported
from capeval_server.hosting.services.description import to_toml
from capeval_server.hosting.services.moderation import of_challenge
from capeval_server.submissions.models import FinalBoard, Result, Score, Submission, SubmissionFile
from capeval_server.submissions.scoring.score_arrays import finite
from capeval_server.teams.models import Raise

__all__ = ["FORMAT", "export"]

FORMAT = 1
_README = """\
Everything of the challenge {slug}, as it was at {time}, written by capeval {version} (format {format}).

challenge.toml            the definition; the references and people's captions that it names are not here
references.csv, .json     each version of each reference set: its number, date and SHA-256
reported.csv, .json       scores that were reported elsewhere, which are in none of the other files
teams.csv, .json          teams, members, who owns them or waits for approval, and their extra quota
blocks.csv, .json         who can't take part, and why
announcements.csv, .json  what was announced
webhooks.csv, .json       addresses that are told what happens, without their secrets
pictures/NAME             pictures in the challenge's texts
submissions.csv, .json    submissions: state, what was declared, mark and reason
results.csv, .json        of each metric and version of references its signature, or its failure
scores.csv, .json         the numbers, of all images where no subset is named, with 95% intervals
actions.csv, .json        what organisers did
final/PHASE/SPLIT_REFERENCES_vVERSION.json   leaderboards whose results are final, as they were then
files/SUBMISSION/SPLIT.json   the results that were submitted

A CSV and a JSON with the same name have the same rows. Times are UTC; numbers have full precision; an empty
cell or null is a missing number. In CSV, text that a spreadsheet would run as a formula has an apostrophe
before it. `stale` rows are scores by earlier versions of the references.
"""
Row = dict[str, Any]


def export(challenge: Challenge, target: IO[bytes]) -> None:
    """Writes everything of a challenge to a file, as a zip; nothing of it is held in memory as a whole.

    Args:
        challenge: The challenge.
        target: A file to write to.

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
        for name, (columns, rows) in _TABLES.items():
            _write_csv(archive, f"{name}.csv", columns, rows(challenge))
            _write_json(archive, f"{name}.json", rows(challenge))
        _write_final(archive, challenge)
        _write_pictures(archive, challenge)
        _write_files(archive, challenge)


def _write_csv(archive: zipfile.ZipFile, name: str, columns: list[str], rows: Iterable[Row]) -> None:
    with archive.open(name, "w", force_zip64=True) as raw, io.TextIOWrapper(raw, "utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(plain_row(_cell(row[column]) for column in columns) for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return _json(value) if isinstance(value, dict | list | bool) else str(value)


def _write_json(archive: zipfile.ZipFile, name: str, rows: Iterable[Row]) -> None:
    with archive.open(name, "w", force_zip64=True) as out:
        before = b"[\n"
        for row in rows:
            out.write(before + _json(row).encode())
            before = b",\n"
        out.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _json(value: Any) -> str:
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
    # Not what people wrote for a human baseline: it may be among the references of another set.
    files = SubmissionFile.objects.filter(submission__phase__challenge=challenge)
    files = files.select_related("split").defer("split__image_ids")
    for part in files.order_by("submission_id", "split__name").iterator(500):
        name = f"files/{part.submission_id}/{part.split.name}.json"
        with part.file.open("rb") as source, archive.open(name, "w", force_zip64=True) as out:
            shutil.copyfileobj(source, out)


def _time(value: Any) -> str | None:
    return value.isoformat() if value else None


def _references(challenge: Challenge) -> Iterator[Row]:
    versions = ReferenceVersion.objects.filter(reference_set__split__challenge=challenge)
    versions = versions.select_related("reference_set__split").defer("reference_set__split__image_ids")
    for version in versions.order_by("reference_set__split__name", "reference_set__name", "number"):
        yield {
            **_version(version),
            "public": version.reference_set.public,
            "created": _time(version.created),
            "sha256": version.sha256,
        }


def _version(version: ReferenceVersion) -> Row:
    entry = version.reference_set
    return {
        "split": entry.split.name,
        "references": entry.name,
        "version": version.number,
        "stale": version.number != entry.version,
    }


def _reported(challenge: Challenge) -> Iterator[Row]:
    found = Reported.objects.filter(reference_set__split__challenge=challenge)
    found = found.select_related("reference_set__split").defer("reference_set__split__image_ids")
    for source in found.order_by("reference_set__split__name", "reference_set__name", "name"):
        for row in source.rows:
            yield {
                "split": source.reference_set.split.name,
                "references": source.reference_set.name,
                "name": source.name,
                "title": source.title,
                "source_url": source.url,
                "ranked": source.ranked,
                "imported": _time(source.created),
                **row,
            }


def _teams(challenge: Challenge) -> Iterator[Row]:
    raises = Prefetch("raises", Raise.objects.select_related("phase").order_by("phase__name"))
    teams = challenge.teams.prefetch_related("memberships__user", raises)
    for team in teams.order_by("pk").iterator(500):
        yield {
            "team": team.pk,
            "name": team.name,
            "created": _time(team.created),
            "members": sorted(membership.user.username for membership in team.memberships.all()),
            "owner": next((one.user.username for one in team.memberships.all() if one.owner), None),
            "waiting": sorted(one.user.username for one in team.memberships.all() if not one.approved),
            "shows_captions": team.shows_captions,
            "raises": [_raise(found) for found in team.raises.all()],
        }


def _announcements(challenge: Challenge) -> Iterator[Row]:
    for one in challenge.announcements.order_by("pk"):
        yield {"title": one.title, "text": one.text, "created": _time(one.created)}


def _webhooks(challenge: Challenge) -> Iterator[Row]:
    for one in challenge.webhooks.order_by("pk"):
        yield {"url": one.url, "created": _time(one.created)}


def _blocks(challenge: Challenge) -> Iterator[Row]:
    for block in challenge.blocks.order_by("pk"):
        yield {"who": block.who, "reason": block.reason, "created": _time(block.created)}


def _raise(found: Raise) -> Row:
    return {"phase": found.phase.name, "per_day": found.per_day, "total": found.total}


def _submissions(challenge: Challenge) -> Iterator[Row]:
    for submission in _all(challenge).iterator(500):
        baseline = submission.baseline_of
        yield {
            "submission": str(submission.pk),
            "team": submission.team_id,
            "entrant": submission.entrant,
            "user": submission.user.username if submission.user else None,
            "phase": submission.phase.name if submission.phase else None,
            "baseline_of": f"{baseline.split.name}/{baseline.name}" if baseline else None,
            "created": _time(submission.created),
            "finished": _time(submission.finished),
            "algorithm": submission.algorithm,
            "declared": submission.declared,
            "state": submission.state,
            "reason": submission.reason,
            "counts_for_quota": submission.counts_for_quota,
            "stands": submission.stands,
            "mark": submission.mark,
            "mark_reason": submission.mark_reason,
        }


def _all(challenge: Challenge) -> QuerySet[Submission]:
    return of_challenge(challenge).order_by("created", "pk")


def _of_result(result: Result) -> Row:
    return {
        "submission": str(result.submission_id),
        **_version(result.reference_version),
        "metric": result.metric,
    }


_SPLIT = "reference_version__reference_set__split"


def _results(challenge: Challenge) -> Iterator[Row]:
    results = Result.objects.filter(submission__in=of_challenge(challenge).values("pk"))
    results = results.select_related(_SPLIT).defer("log", f"{_SPLIT}__image_ids")
    for result in results.order_by("submission_id", "pk").iterator(500):
        yield {
            **_of_result(result),
            "signature": result.signature,
            "failure": result.failure,
            "by_content": result.by_content,
        }


def _scores(challenge: Challenge) -> Iterator[Row]:
    scores = Score.objects.filter(result__submission__in=of_challenge(challenge).values("pk"))
    unread = ("samples", "result__log", f"result__{_SPLIT}__image_ids")
    scores = scores.select_related(f"result__{_SPLIT}").defer(*unread)
    for score in scores.order_by("result__submission_id", "pk").iterator(2000):
        yield {
            **_of_result(score.result),
            "subset": score.subset,
            "score": score.name,
            "value": finite(score.value),
            "low": finite(score.low),
            "high": finite(score.high),
        }


def _actions(challenge: Challenge) -> Iterator[Row]:
    for action in Action.objects.filter(challenge=challenge).order_by("time", "pk").iterator(500):
        yield {
            "time": _time(action.time),
            "who": action.who,
            "what": action.what,
            "submission": str(action.submission_id) if action.submission_id else None,
            "team": action.team_id,
        }


_RESULT = ["submission", "split", "references", "version", "stale", "metric"]
_TABLES: dict[str, tuple[list[str], Callable[[Challenge], Iterator[Row]]]] = {
    "references": (["split", "references", "version", "stale", "public", "created", "sha256"], _references),
    "reported": (
        [
            *("split", "references", "name", "title", "source_url", "ranked", "imported"),
            *("team", "method", "date", "url", "publication", "scores"),
        ],
        _reported,
    ),
    "teams": (["team", "name", "created", "members", "owner", "waiting", "shows_captions", "raises"], _teams),
    "announcements": (["title", "text", "created"], _announcements),
    "webhooks": (["url", "created"], _webhooks),
    "blocks": (["who", "reason", "created"], _blocks),
    "submissions": (
        [
            "submission",
            "team",
            "entrant",
            "user",
            "phase",
            "baseline_of",
            "created",
            "finished",
            "algorithm",
            "declared",
            "state",
            "reason",
            "counts_for_quota",
            "stands",
            "mark",
            "mark_reason",
        ],
        _submissions,
    ),
    "results": ([*_RESULT, "signature", "failure", "by_content"], _results),
    "scores": ([*_RESULT, "subset", "score", "value", "low", "high"], _scores),
    "actions": (["time", "who", "what", "submission", "team"], _actions),
}
