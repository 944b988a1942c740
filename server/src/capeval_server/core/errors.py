"""Errors in requests and uploads. Their messages are shown to users."""

from __future__ import annotations

from datetime import datetime

from capeval.errors import CapevalError

__all__ = [
    "AnswerError",
    "AssignmentError",
    "BusyError",
    "CampaignError",
    "ChallengeError",
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


class AnswerError(CapevalError, ValueError):
    """A worker's answer is not valid; the message is for the worker."""


class SentenceError(AnswerError):
    """Rules refuse a worker's sentence, or ask why it is kept.

    Attributes:
        findings: What the rules say: of each the rule, its level and its message.
    """

    def __init__(self, message: str, findings: list[dict[str, str]]) -> None:
        super().__init__(message)
        self.findings = findings


class AssignmentError(CapevalError, ValueError):
    """A worker can't do that with what they were given, or not yet; the message is for the worker."""


class BusyError(CapevalError, RuntimeError):
    """The server does too much else at the moment."""

    def __init__(self) -> None:
        super().__init__("too many uploads are being checked")


class CampaignError(CapevalError, ValueError):
    """A campaign's file is not valid, or the campaign can't do that in its state."""


class ChallengeError(CapevalError, ValueError):
    """A challenge's definition or files are not valid."""


class ConflictError(CapevalError, ValueError):
    """Somebody else changed it meanwhile."""


class EntryError(CapevalError, ValueError):
    """Who follows a panel's link is not let in; the message is for them."""


class NotFoundError(CapevalError, LookupError):
    """It does not exist, or the user may not see it; the message does not say which."""

    def __init__(self) -> None:
        super().__init__("not found")


class OverloadError(CapevalError, RuntimeError):
    """Too many requests of the same process compute leaderboards at the moment."""

    def __init__(self) -> None:
        super().__init__("too many leaderboards are being computed")


class SuccessorError(CapevalError, ValueError):
    """The last organizer of a challenge can't go without a successor.

    Attributes:
        challenges: The challenges that would have no organizer.
    """

    def __init__(self, challenges: list[str]) -> None:
        named = " and ".join(map(repr, challenges))
        super().__init__(f"the last organizer of {named} can't go: make another user an organizer first")
        self.challenges = challenges


class UploadError(CapevalError, ValueError):
    """An upload is not a valid submission.

    Attributes:
        entry: The file in the upload that is wrong, if one is.
    """

    def __init__(self, message: str, *, entry: str | None = None) -> None:
        super().__init__(message if entry is None else f"{entry!r}: {message}")
        self.entry = entry


class PhaseError(CapevalError, ValueError):
    """A phase takes no submissions now."""


class LeaderboardQueryError(CapevalError, ValueError):
    """A leaderboard can't be shown as asked for."""


class QuotaError(CapevalError, ValueError):
    """A quota is used up.

    Attributes:
        allowed_from: When the next submission is allowed; none if never.
    """

    def __init__(self, message: str, *, allowed_from: datetime | None) -> None:
        super().__init__(message)
        self.allowed_from = allowed_from

    def seconds_left(self, now: datetime) -> int | None:
        """For how many seconds to wait before trying again; none if no more are allowed."""
        if self.allowed_from is None:
            return None
        return max(int((self.allowed_from - now).total_seconds()) + 1, 1)


class RateLimitError(QuotaError):
    """A user sends uploads too fast."""


class RepeatedKeyError(CapevalError, ValueError):
    """An idempotency key was already used for another upload."""


class TeamError(CapevalError, ValueError):
    """A user can't join or leave, or must join first."""


class SubmissionStateError(CapevalError, ValueError):
    """A submission can't be put on the leaderboard, withdrawn, marked or scored again."""
