"""Externally reported scores that organizers show on leaderboards."""

from __future__ import annotations

import csv
import io

from django.contrib.auth.models import User
from pydantic import ValidationError

from capeval.errors import FormatError
from capeval.toolkit import escape_row
from capeval_server.audit.models import record
from capeval_server.challenges import definition
from capeval_server.challenges.models import Challenge, ReferenceSet, Reported
from capeval_server.challenges.reported_scores import COLUMNS, read_reported
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import ChallengeError, NotFoundError
from capeval_server.core.validation_problems import list_problems
from capeval_server.hosting.services.challenge_import import keep_reported
from capeval_server.submissions.selectors.scores import score_names

__all__ = ["add_reported", "reference_set", "remove_reported", "reported_csv"]


def reference_set(challenge: Challenge, split: str, references: str) -> ReferenceSet:
    """Return the reference set of a challenge by its split and name.

    Raises:
        NotFoundError: There is no such reference set.
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
    """Show externally reported scores on the leaderboards of a reference set.

    They replace earlier rows with the same name.

    Args:
        user: The actor; None for the command line.
        entry: The reference set.
        name: The name of the rows, as in a definition.
        file: The name of the file in error messages.
        data: The content of the file: CSV, or the JSON of COCO's leaderboards.
        title: The title of the rows.
        url: The URL of the source; empty if there is none.
        ranked: Whether to show the hypothetical rank of each row.

    Returns:
        The number of rows, and the names of ignored scores, which the split does not have.

    Raises:
        ChallengeError: An argument or the file is invalid.
    """
    try:
        wanted = definition.ReportedScoresDefinition(
            name=name, title=title, file=file, url=url, ranked=ranked
        )
        rows, left_out = read_reported(
            file, data, score_names(entry.split), entry.split.challenge.declared_fields
        )
    except ValidationError as error:
        raise ChallengeError("; ".join(list_problems(error))) from None
    except FormatError as error:
        raise ChallengeError(str(error)) from None
    with lock_challenge(entry.split.challenge) as challenge:
        keep_reported(entry, wanted.name, rows, title=wanted.title, url=wanted.url, ranked=wanted.ranked)
        imported = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
        what = f"imported {imported} reported elsewhere for {entry.split.name}/{entry.name}: {wanted.name}"
        record(user, challenge, what)
    return len(rows), left_out


def remove_reported(user: User | None, entry: ReferenceSet, name: str) -> None:
    """Remove externally reported scores from the leaderboards.

    Raises:
        NotFoundError: There are no rows with this name.
    """
    with lock_challenge(entry.split.challenge) as challenge:
        if not entry.reported.filter(name=name).delete()[0]:
            raise NotFoundError
        record(
            user,
            challenge,
            f"removed the rows reported elsewhere for {entry.split.name}/{entry.name}: {name}",
        )


def reported_csv(reported: Reported) -> str:
    """Return the rows as CSV, which can be imported again."""
    names = list(dict.fromkeys(name for row in reported.rows for name in row["scores"]))
    given = {name for row in reported.rows for name in row.get("declared", ())}
    # The values of a field that was deleted could not be imported again.
    fields = reported.reference_set.split.challenge.declared_fields
    declared = [field.name for field in fields if field.name in given]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(escape_row((*COLUMNS, *declared, *names)))
    for row in reported.rows:
        scores = [repr(row["scores"][name]) if name in row["scores"] else "" for name in names]
        values = [row.get("declared", {}).get(name, "") for name in declared]
        writer.writerow(escape_row((*(row[name] for name in COLUMNS), *values, *scores)))
    return out.getvalue()
