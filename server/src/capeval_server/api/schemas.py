"""Request and response schemas of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Field, Schema
from pydantic import AwareDatetime, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue

from capeval.formats.declared_fields import FieldType
from capeval.formats.images import ImageInfo
from capeval_server.api.derived_schemas import derived_from
from capeval_server.challenges.models import Phase, ReferenceSet, Split
from capeval_server.leaderboards.columns import stored_columns
from capeval_server.leaderboards.comparison import ScoreComparison
from capeval_server.leaderboards.entries import (
    JudgmentSource,
    Leaderboard,
    LeaderboardEntry,
    MetricAgreement,
)
from capeval_server.leaderboards.judgments import JudgmentDetails
from capeval_server.leaderboards.reported_entries import ReportedEntry
from capeval_server.submissions.models import Result
from capeval_server.submissions.quotas.limits import Quota
from capeval_server.submissions.selectors.precision import shown
from capeval_server.submissions.selectors.queue import (
    QueueStatus,
    ScoredHour,
    ScoringProgress,
    SeenWorker,
)

__all__ = [
    "ChallengeAnswer",
    "ChallengeList",
    "ChallengeName",
    "ComparedScore",
    "ComparisonAnswer",
    "DeclaredFieldAnswer",
    "HourAnswer",
    "ImageAnswer",
    "ImageScoresAnswer",
    "ImagesAnswer",
    "Invitation",
    "JobsAnswer",
    "LeaderboardAnswer",
    "LeaderboardParameters",
    "LeaderboardRow",
    "LinkAnswer",
    "Owner",
    "PageAnswer",
    "PhaseAnswer",
    "Problem",
    "QuotaAnswer",
    "ReferenceSetAnswer",
    "ReportedAnswer",
    "RequestBody",
    "ResultAnswer",
    "ScoreAnswer",
    "ScoringAnswer",
    "SplitAnswer",
    "Standing",
    "SubmissionAnswer",
    "SubmissionList",
    "SubmissionWithResults",
    "TeamAnswer",
    "TeamChoice",
    "WaitAnswer",
    "WorkerAnswer",
]


class RequestBody(Schema):
    """Content of a request. Unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Problem(Schema):
    """An error.

    `detail` is the message, `entry` the file of an upload that contains the error, and `allowed_from` the
    time at which the quota allows the next submission. `findings` lists the rules that a caption breaks.
    """

    detail: str
    entry: str | None = None
    allowed_from: datetime | None = None
    findings: list[dict[str, str]] | None = None


class ReferenceSetAnswer(Schema):
    """A reference set and its number of images. Only public references can be downloaded."""

    name: str
    public: bool
    images: int
    version: int

    @staticmethod
    def resolve_images(references: ReferenceSet) -> int:
        """Return the number of images with references."""
        return len(references.image_ids)


@derived_from(ImageInfo)
class ImageAnswer(Schema):
    """An image to caption. Unknown values are empty or null."""


class ImagesAnswer(Schema):
    """A range of the images of a split, and the total number of images."""

    total: int
    images: list[ImageAnswer]


class LinkAnswer(Schema):
    """A link to data."""

    text: str
    url: str


class SplitAnswer(Schema):
    """A set of images to caption, with the metrics and references that score it."""

    name: str
    results: str
    images: int
    links: list[LinkAnswer]
    metrics: list[str]
    sort_by: str
    references: list[ReferenceSetAnswer] = Field(validation_alias="reference_sets")
    subsets: list[str]

    @staticmethod
    def resolve_images(split: Split) -> int:
        """Return the number of images."""
        return len(split.image_ids)

    @staticmethod
    def resolve_subsets(split: Split) -> list[str]:
        """Return the names of the subsets."""
        return [subset.name for subset in split.subsets.all()]


class PhaseAnswer(Schema):
    """A submission period.

    `captions` lists the splits with public captions. `captions_by` selects the teams that they come from:
    teams that agreed (`agreed`), or all teams on the leaderboard (`standing`). In a `blind` phase, teams see
    no scores before the organizers publish them, and choose up to `final_submissions` submissions.
    """

    name: str
    opens: datetime
    closes: datetime
    splits: list[str]
    quota_per_day: int
    quota_total: int
    quota_per_month: int | None
    quota_per_window: int | None
    quota_window_days: int | None
    leaderboard: str
    captions: list[str]
    captions_by: str
    blind: bool
    published: datetime | None
    final_submissions: int
    requires_choice: bool
    final: datetime | None

    @staticmethod
    def resolve_splits(phase: Phase) -> list[str]:
        """Return the names of the splits."""
        return sorted(split.name for split in phase.splits.all())


class DeclaredFieldAnswer(Schema):
    """A field that submitters fill in. If `shown` is true, leaderboards show it.

    `choices` lists the possible values of the type `choice`, and `phase_choices` those of phases that do not
    accept all of them. Values of the type `boolean` are `yes` and `no`.
    """

    name: str
    required: bool = False
    shown: bool = True
    type: FieldType = "text"
    choices: list[str] = Field(default_factory=list)
    phase_choices: dict[str, list[str]] = Field(default_factory=dict)


class PageAnswer(Schema):
    """An additional page of text, in Markdown."""

    name: str
    title: str
    text: str


class ChallengeName(Schema):
    """A challenge in a list.

    `state` is `draft`, `unlisted`, `announced`, `open`, `closed`, `final` or `archived`.
    """

    slug: str
    title: str
    state: str


class ChallengeAnswer(ChallengeName):
    """A challenge. Everybody can see its images from `data_released`."""

    description: str
    rules: str
    data: str
    faq: str
    contact: str
    pages: list[PageAnswer]
    fields: list[DeclaredFieldAnswer]
    approval: bool
    data_released: datetime | None
    invitation_only: bool
    email_domains: list[str]
    team_size: int | None
    splits: list[SplitAnswer]
    phases: list[PhaseAnswer]


class ChallengeList(Schema):
    """All challenges."""

    challenges: list[ChallengeName]


class TeamChoice(RequestBody):
    """How to join: by the name of a new team, by a team's code, or alone with neither.

    `accept_rules` must be true if the challenge has rules.
    """

    name: str | None = None
    code: str | None = None
    accept_rules: bool = False


class TeamAnswer(Schema):
    """Your team.

    Anyone with `code` can join the team, so it is null for tokens of scope `read`. It is also null if there
    is no code. `waiting` lists the members that no organizer has approved yet.
    """

    name: str
    code: str | None
    code_expires: datetime | None
    members: list[str]
    owner: str | None
    waiting: list[str]
    shows_captions: bool


class Invitation(RequestBody):
    """Validity of a new invitation code, in days."""

    days: int = 7


class Agreement(RequestBody):
    """Whether the captions of a team's leaderboard submissions are public."""

    shows_captions: bool


class Owner(RequestBody):
    """The new owner of a team, by user name."""

    name: str


@derived_from(Quota, without=("windows",))
class QuotaAnswer(Schema):
    """Remaining submissions of a team in a phase."""


class ScoreAnswer(Schema):
    """A score with its 95% bootstrap interval. An empty `subset` means all images."""

    subset: str
    name: str
    value: float | None
    low: float | None
    high: float | None


class ResultAnswer(Schema):
    """The scores of a metric by a reference version, or the reason why it failed."""

    split: str = Field(validation_alias="reference_version.reference_set.split.name")
    references: str = Field(validation_alias="reference_version.reference_set.name")
    version: int = Field(validation_alias="reference_version.number")
    stale: bool
    metric: str
    signature: str
    failure: str
    scores: list[ScoreAnswer]

    @staticmethod
    def resolve_stale(result: Result) -> bool:
        """Return whether a newer reference version exists."""
        return result.reference_version.number != result.reference_version.reference_set.version

    @staticmethod
    def resolve_scores(result: Result) -> list[dict[str, Any]]:
        """Return the scores, rounded if the references are private."""
        full = result.reference_version.reference_set.public
        return [
            {
                "subset": score.subset,
                "name": score.name,
                **{name: shown(getattr(score, name), full=full) for name in ("value", "low", "high")},
            }
            for score in result.scores.all()
        ]


class SubmissionAnswer(Schema):
    """A submission.

    `stands` is whether it is on the leaderboard, and `chosen` whether its team chose it. `stands` is false
    while the scores of a blind phase are withheld.
    """

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
    chosen: bool
    mark: str
    mark_reason: str


class WaitAnswer(Schema):
    """The queue position of a submission, and its expected wait in seconds if known."""

    ahead: int
    expected_wait: float | None


@derived_from(ScoringProgress)
class ScoringAnswer(Schema):
    """Scoring progress: metric `number` of `total`, after `elapsed` seconds in all.

    `work` names long work of the metric, such as parsing captions: `work_done` of `work_total` are done.
    """


class SubmissionWithResults(SubmissionAnswer):
    """A submission and its scores.

    `wait` is set while the submission waits, `scoring` while it is scored. `results` is empty while the
    scores of a blind phase are withheld.
    """

    wait: WaitAnswer | None
    scoring: ScoringAnswer | None
    scores_withheld: bool
    results: list[ResultAnswer]


class SubmissionList(Schema):
    """Submissions of your teams, latest first."""

    submissions: list[SubmissionAnswer]


class ImageScoresAnswer(Schema):
    """Per-image scores: one row per image and one column per name.

    The rows are in the order of the split.
    """

    split: str
    references: str
    version: int
    images: int
    names: list[str]
    image_ids: list[int] | list[str]
    scores: list[list[float | None]]


@derived_from(ScoreComparison)
class ComparedScore(Schema):
    """A score of two submissions, and their difference with its 95% interval.

    The difference is the score of the first submission minus the score of the second.
    """


class ComparisonAnswer(Schema):
    """Comparison of two submissions by the current references."""

    scores: list[ComparedScore]


class Standing(RequestBody):
    """Whether a submission is on the leaderboard; null to drop all choices of the team in the phase."""

    stands: bool | None


class LeaderboardParameters(Schema):
    """Query of a leaderboard; without `split` and `references`, of the main one of the phase.

    `layout` selects the columns: all scores on `subset` (`scores`), the score `sort_by` on all images and on
    each subset (`subsets`), all scores on all images and on each subset (`both`), or the columns that the
    organizers chose (`chosen`, the default if they did): scores by several reference sets, of subsets, and
    human judgments. The names of columns contain the reference set and the subset if these vary, such as
    `CIDEr-D (all)` or `CIDEr-D (c40)`. `sort_by` is the name of a score or of another column, such as
    `Mean rank`. `declared` selects the rows of submissions that declared a value, as
    NAME:VALUE; it may be repeated.
    """

    split: str = ""
    references: str = ""
    version: int | None = None
    subset: str = ""
    sort_by: str = ""
    order: Literal["best", "worst"] = "best"
    as_of: AwareDatetime | None = None
    declared: list[str] = Field(default_factory=list)
    layout: Literal["", "scores", "subsets", "both", "chosen"] = ""
    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    form: Annotated[Literal["json", "csv"], Field(alias="format")] = "json"


@derived_from(JudgmentDetails)
class JudgmentDetailsAnswer(Schema):
    """Number of answers behind a human judgment, and their agreement."""


@derived_from(LeaderboardEntry, without=("extra",))
class LeaderboardRow(Schema):
    """A submission on the leaderboard, or the human baseline, which has no rank.

    `intervals` are 95% bootstrap intervals. `p_value` tests the difference to the next row in the score that
    the rows are sorted by, and `test` is its test. A difference is significant if `p_value` is at most 0.05.
    `note` reports changes to the submission after the results became final.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON schema, with the registered columns that are not fields."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        for column in stored_columns():
            if column.name not in cls.model_fields:
                schema["properties"][column.name] = column.json_schema()
                schema["required"].append(column.name)
        return schema


@derived_from(ReportedEntry)
class ReportedAnswer(Schema):
    """Scores that were reported elsewhere, such as in a paper.

    Significance tests exclude them. `rank` is the rank that the scores would have among the teams' rows, if
    the organizers show it.
    """


@derived_from(JudgmentSource)
class JudgmentSourceAnswer(Schema):
    """Source of a column with human judgments."""


@derived_from(MetricAgreement)
class MetricAgreementAnswer(Schema):
    """Correlation of a metric with human judgments, over at least five systems."""


@derived_from(Leaderboard, without=("question",))
class LeaderboardAnswer(Schema):
    """A leaderboard, or one page of it.

    `current` is whether `version` is the current reference version. `reported` contains scores that were
    reported elsewhere, separate from the rows and only on the first page. `agreement` is the same on all
    pages. `final` is the time at which the results became final, or null.
    """

    model_config = ConfigDict(validate_by_name=True)

    challenge: str = Field(validation_alias="question.phase.challenge.slug")
    phase: str = Field(validation_alias="question.phase.name")
    split: str = Field(validation_alias="question.split.name")
    references: str = Field(validation_alias="question.reference_set.name")
    version: int = Field(validation_alias="question.version.number")
    current: bool = Field(validation_alias="question.current")
    subset: str = Field(validation_alias="question.subset")
    as_of: datetime | None = Field(validation_alias="question.as_of")
    final: datetime | None
    sort_by: str = Field(validation_alias="question.sort_by")
    order: str = Field(validation_alias="question.order")
    layout: str = Field(validation_alias="question.layout")
    declared: dict[str, str] = Field(validation_alias="question.declared_values")


@derived_from(ScoredHour)
class HourAnswer(Schema):
    """Number of submissions that were scored in an hour."""


@derived_from(SeenWorker)
class WorkerAnswer(Schema):
    """A worker seen within the last minute."""


@derived_from(QueueStatus)
class JobsAnswer(Schema):
    """State of the scoring queue. `expected_wait` is in seconds, or null if unknown."""
