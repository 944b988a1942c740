"""Scores that were reported elsewhere, which organizers show on a leaderboard beside what was scored here."""

from __future__ import annotations

import csv
import io

from django.contrib.auth.models import User
from pydantic import ValidationError

from capeval.errors import FormatError
from capeval.toolkit import plain_row
from capeval_server.audit.models import record
from capeval_server.challenges import definition
from capeval_server.challenges.models import Challenge, ReferenceSet, Reported
from capeval_server.challenges.reported_scores import COLUMNS, read_reported
from capeval_server.challenges.services.locks import held
from capeval_server.core.errors import ChallengeError, NotFoundError
from capeval_server.hosting.services.challenge_import import keep_reported
from capeval_server.submissions.selectors.scores import score_names

__all__ = ["add_reported", "reference_set", "remove_reported", "reported_csv"]


def reference_set(challenge: Challenge, split: str, references: str) -> ReferenceSet:
    """The reference set of a challenge with a name.

    Raises:
        NotFoundError: There is none.
    """
    sets = ReferenceSet.objects.select_related("split__challenge").filter(split__challenge=challenge)
    found = sets.filter(split__name=split, name=references).first()
    if found is None:
        raise NotFoundError
    return found


def add_reported(
    user: User | None,
    entry: ReferenceSet,
    name: str,
    file: str,
    data: bytes,
    *,
    title: str,
    url: str,
    ranked: bool,
) -> tuple[int, list[str]]:
    """Shows what was reported elsewhere on the leaderboards of a reference set, in place of an earlier file.

    Args:
        user: Who does it; none for the command line.
        entry: The reference set.
        name: What the rows are called, as in a definition.
        file: What errors call the file.
        data: Its bytes: CSV, or the JSON of COCO's leaderboards.
        title: What the rows are.
        url: An address with them; empty if there is none.
        ranked: Whether to show the rank that each would have.

    Returns:
        How many rows there are, and the names of scores that are left out since the split has no such metric.

    Raises:
        ChallengeError: Something is not what it must be.
    """
    try:
        wanted = definition.ReportedScoresDefinition(
            name=name, title=title, file=file, url=url, ranked=ranked
        )
        rows, left_out = read_reported(file, data, score_names(entry.split))
    except ValidationError as error:
        problem = error.errors()[0]
        where, message = problem["loc"], problem["msg"].removeprefix("Value error, ")
        raise ChallengeError(f"{where[0]}: {message}" if where else message) from None
    except FormatError as error:
        raise ChallengeError(str(error)) from None
    with held(entry.split.challenge) as challenge:
        keep_reported(entry, wanted.name, rows, title=wanted.title, url=wanted.url, ranked=wanted.ranked)
        what = (
            f"imported {len(rows)} rows reported elsewhere for {entry.split.name}/{entry.name}: {wanted.name}"
        )
        record(user, challenge, what)
    return len(rows), left_out


def remove_reported(user: User | None, entry: ReferenceSet, name: str) -> None:
    """Takes what was reported elsewhere off the leaderboards.

    Raises:
        NotFoundError: Nothing has the name.
    """
    with held(entry.split.challenge) as challenge:
        if not entry.reported.filter(name=name).delete()[0]:
            raise NotFoundError
        record(
            user,
            challenge,
            f"removed the rows reported elsewhere for {entry.split.name}/{entry.name}: {name}",
        )


def reported_csv(reported: Reported) -> str:
    """The rows as CSV, which can be imported again."""
    names = list(dict.fromkeys(name for row in reported.rows for name in row["scores"]))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(plain_row((*COLUMNS, *names)))
    for row in reported.rows:
        scores = [repr(row["scores"][name]) if name in row["scores"] else "" for name in names]
        writer.writerow(plain_row((*(row[name] for name in COLUMNS), *scores)))
    return out.getvalue()
