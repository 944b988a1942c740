"""Citations of leaderboards: a URL with a time, and a fingerprint of the content.

A citation does not freeze a leaderboard: teams may still replace or withdraw a submission, and organizers may
hide one. Therefore the URL contains the query and a fingerprint of its result. The page compares it with the
current result.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime

from capeval_server.leaderboards.entries import Leaderboard
from capeval_server.leaderboards.query import LeaderboardQuery

__all__ = ["bibtex", "fingerprint"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "{}$&#%_"},
}


def fingerprint(board: Leaderboard) -> str:
    """Return a fingerprint of the submissions on a leaderboard with all their scores.

    The order of the rows does not matter.

    Args:
        board: The leaderboard, with all rows.
    """
    rows = {str(row.submission): dict(row.scores) for row in board.rows}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def bibtex(question: LeaderboardQuery, *, rows: int, address: str, at: datetime, mark: str) -> str:
    """Return a BibTeX entry.

    Args:
        question: The query of the leaderboard.
        rows: The number of its rows.
        address: Its URL.
        at: The time of access.
        mark: Its fingerprint.
    """
    phase = question.phase
    key = re.sub(r"[^A-Za-z0-9]+", "-", f"{phase.challenge.slug}-{phase.name}-{at:%Y-%m-%d}")
    what = f"split {question.split.name}, references {question.reference_set.name}"
    what += f" (version {question.version.number})"
    what += f", subset {question.subset}" if question.subset else ""
    what += "".join(f", {name} {value}" for name, value in question.declared)
    title = f"{phase.challenge.title}: leaderboard of phase {phase.name}, {what}"
    note = f"As of {question.as_of or at:%Y-%m-%d %H:%M:%S} UTC; {rows} rows; fingerprint {mark}"
    return (
        f"@misc{{{key},\n"
        f"  title        = {{{{{_escape(title)}}}}},\n"
        f"  year         = {{{at:%Y}}},\n"
        f"  howpublished = {{\\url{{{address}}}}},\n"
        f"  note         = {{{_escape(note)}. Accessed {at:%Y-%m-%d}}},\n"
        "}\n"
    )


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
