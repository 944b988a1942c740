"""Errors of requests and uploads. Users see their messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from capeval.errors import CapevalError

__all__ = [
    "AnswerError",
    "AssignmentError",
    "BusyError",
    "CampaignError",
    "CampaignFilesError",
    "ChallengeError",
    "ColumnsError",
    "ConflictError",
    "EntryError",
    "LeaderboardQueryError",
    "NotFoundError",
    "OverloadError",
    "PhaseError",
    "QuotaError",
    "RateLimitError",
    "RepeatedKeyError",
    "SentenceError",
    "SubmissionStateError",
    "SuccessorError",
    "TeamError",
    "UploadError",
]


# Number of problems in the message of an error that has several.
_SHOWN_PROBLEMS = 5


class AnswerError(CapevalError, ValueError):
    """Invalid answer of an annotator; the message is shown to them."""


class SentenceError(AnswerError):
    """Sentence of an annotator that rules reject or want confirmed.

    Attributes:
        findings: The results of the rules, each with `rule`, `level` and `message`.
    """

    def __init__(self, message: str, findings: list[dict[str, str]]) -> None:
        super().__init__(message)
        self.findings = findings


class AssignmentError(CapevalError, ValueError):
    """Action that the annotator's assignment does not allow, at least not yet.

    The message is shown to the annotator.
    """


class BusyError(CapevalError, RuntimeError):
    """Too many uploads are being checked at the moment."""

    def __init__(self) -> None:
        super().__init__("too many uploads are being checked")


class CampaignError(CapevalError, ValueError):
    """Invalid campaign file, or an action that the campaign's state does not allow."""


class CampaignFilesError(CampaignError):
    """Invalid items or images of a campaign, all in one error.

    Attributes:
        problems: Each problem with its place, such as `line 3: missing part 'caption'`.
    """

    def __init__(self, file: str, problems: Sequence[str]) -> None:
        shown, more = problems[:_SHOWN_PROBLEMS], len(problems) - _SHOWN_PROBLEMS
        text = "; ".join(shown) + (f"; and {more:,} more problems" if more > 0 else "")
        super().__init__(f"{file}, {text}" if file else text)
        self.problems = tuple(problems)


class ChallengeError(CapevalError, ValueError):
    """Invalid challenge definition or challenge files."""


class ColumnsError(CampaignError):
    """Unknown or missing column of a table of items."""


class ConflictError(CapevalError, ValueError):
    """Concurrent change by another user."""


class EntryError(CapevalError, ValueError):
    """Rejected entry by a panel's link; the message is shown to the person."""


class NotFoundError(CapevalError, LookupError):
    """Missing object, or one that the user may not see; the message is the same."""

    def __init__(self, message: str = "not found") -> None:
        super().__init__(message)


class OverloadError(CapevalError, RuntimeError):
    """Too many requests of the same process compute leaderboards at the moment."""

    def __init__(self) -> None:
        super().__init__("too many leaderboards are being computed")


class SuccessorError(CapevalError, ValueError):
    """Removal of a challenge's last organizer.

    Attributes:
        challenges: The challenges that would be left without an organizer.
    """

    def __init__(self, challenges: list[str]) -> None:
        named = " and ".join(map(repr, challenges))
        super().__init__(f"{named} would have no organizer: add another organizer first")
        self.challenges = challenges


class UploadError(CapevalError, ValueError):
    """Upload that is not a valid submission.

    Attributes:
        entry: The invalid file in the upload, if the error is about one file.
    """

    def __init__(self, message: str, *, entry: str | None = None) -> None:
        super().__init__(message if entry is None else f"{entry!r}: {message}")
        self.entry = entry


class PhaseError(CapevalError, ValueError):
    """Submission to a phase that is closed."""


class LeaderboardQueryError(CapevalError, ValueError):
    """Invalid query of a leaderboard."""


class QuotaError(CapevalError, ValueError):
    """Used-up quota.

    Attributes:
        allowed_from: The time of the next allowed submission; None if no more are allowed.
    """

    def __init__(self, message: str, *, allowed_from: datetime | None) -> None:
        super().__init__(message)
        self.allowed_from = allowed_from

    def seconds_left(self, now: datetime) -> int | None:
        """Return the seconds until the next attempt is allowed, or None if never."""
        if self.allowed_from is None:
            return None
        return max(int((self.allowed_from - now).total_seconds()) + 1, 1)


class RateLimitError(QuotaError):
    """Too many uploads of a user in a short time."""


class RepeatedKeyError(CapevalError, ValueError):
    """Idempotency key that was already used for a different upload."""


class TeamError(CapevalError, ValueError):
    """Rejected change of a team membership, or an action that needs a team."""


class SubmissionStateError(CapevalError, ValueError):
    """Action that the submission's state does not allow.

    Actions are: show on the leaderboard, withdraw, mark, score again.
    """
