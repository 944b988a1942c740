"""What the API takes and gives."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from ninja import Schema

__all__ = [
    "ChallengeAnswer",
    "ChallengeList",
    "ChallengeName",
    "DeclaredField",
    "ImageScoresAnswer",
    "LeaderboardAnswer",
    "LeaderboardRow",
    "PhaseAnswer",
    "Problem",
    "QuotaAnswer",
    "ReferenceSetAnswer",
    "ResultAnswer",
    "ScoreAnswer",
    "SplitAnswer",
    "Standing",
    "SubmissionAnswer",
    "SubmissionList",
    "SubmissionWithResults",
    "TeamAnswer",
    "TeamChoice",
]


class Problem(Schema):
    """What is wrong."""

    detail: str
    entry: str | None = None
    allowed_from: datetime | None = None


class ReferenceSetAnswer(Schema):
    """References: of private ones the name alone."""

    name: str
    public: bool
    version: int


class SplitAnswer(Schema):
    """Images to caption."""

    name: str
    results: str
    images: int
    metrics: list[str]
    sort_by: str
    references: list[ReferenceSetAnswer]
    subsets: list[str]


class PhaseAnswer(Schema):
    """A time in which to submit."""

    name: str
    opens: datetime
    closes: datetime
    splits: list[str]
    quota_per_day: int
    quota_total: int
    leaderboard: str


class DeclaredField(Schema):
    """What a submitter declares."""

    name: str
    required: bool


class ChallengeAnswer(Schema):
    """A challenge."""

    slug: str
    title: str
    description: str
    rules: str
    fields: list[DeclaredField]
    splits: list[SplitAnswer]
    phases: list[PhaseAnswer]


class ChallengeName(Schema):
    """A challenge in a list."""

    slug: str
    title: str


class ChallengeList(Schema):
    """All challenges."""

    challenges: list[ChallengeName]


class TeamChoice(Schema):
    """How to join: a new team's name, the code of a team, or neither to take part alone."""

    name: str | None = None
    code: str | None = None


class TeamAnswer(Schema):
    """One's own team; whoever has its code can join it."""

    name: str
    code: str
    members: list[str]


class QuotaAnswer(Schema):
    """What may still be submitted."""

    left_today: int
    left: int
    allowed_from: datetime | None


class ScoreAnswer(Schema):
    """A number: of all images where no subset is named, with its 95% bootstrap interval."""

    subset: str
    name: str
    value: float | None
    low: float | None
    high: float | None


class ResultAnswer(Schema):
    """What a metric gave with a version of references, or why it gave nothing."""

    split: str
    references: str
    version: int
    stale: bool
    metric: str
    signature: str
    failure: str
    scores: list[ScoreAnswer]


class SubmissionAnswer(Schema):
    """A submission."""

    id: UUID
    challenge: str
    phase: str
    created: datetime
    algorithm: str
    declared: dict[str, str]
    state: str
    reason: str
    counts_for_quota: bool
    stands: bool
    mark: str
    mark_reason: str


class SubmissionWithResults(SubmissionAnswer):
    """A submission and its scores."""

    results: list[ResultAnswer]


class SubmissionList(Schema):
    """Submissions of one's own teams, the latest first."""

    submissions: list[SubmissionAnswer]


class ImageScoresAnswer(Schema):
    """The scores of images, in the order of the split: a row for each image, a column for each name."""

    split: str
    references: str
    version: int
    images: int
    names: list[str]
    image_ids: list[int] | list[str]
    scores: list[list[float | None]]


class Standing(Schema):
    """Whether a submission stands on the leaderboard."""

    stands: bool


class LeaderboardRow(Schema):
    """A submission that stands."""

    rank: int | None
    team: str
    algorithm: str
    declared: dict[str, str]
    scores: dict[str, float | None]


class LeaderboardAnswer(Schema):
    """A leaderboard."""

    columns: list[str]
    sort_by: str
    rows: list[LeaderboardRow]
