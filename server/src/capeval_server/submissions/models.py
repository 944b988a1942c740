"""Submissions, their scores, and their use of quotas."""

from __future__ import annotations

import uuid
from typing import cast

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, ReferenceVersion, Split
from capeval_server.core.row_version import RowVersionedModel
from capeval_server.teams.models import Team

__all__ = [
    "LONGEST_REASON",
    "UNFINISHED",
    "FinalBoard",
    "FormerAddress",
    "FormerMember",
    "FormerUse",
    "ImageScores",
    "RefusedUpload",
    "Result",
    "Score",
    "Submission",
    "SubmissionFile",
    "SwappedStatistics",
]

# Maximum length of the reason for a mark.
LONGEST_REASON = 500


class Submission(RowVersionedModel):
    """Results of a team for a phase, or the human baseline of a reference set.

    `lifecycle.py` defines the transitions between states; no other module changes a state.
    """

    class State(models.TextChoices):
        """State of a submission."""

        WAITING = "waiting"
        RUNNING = "running"
        SCORED = "scored"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"

    class Choice(models.TextChoices):
        """Choice of a team whether a submission is on the leaderboard."""

        NONE = "", "not chosen"
        CHOSEN = "chosen", "chosen"
        DECLINED = "declined", "taken off"

    class Mark(models.TextChoices):
        """Mark of a submission by an organizer."""

        NONE = "", "nothing"
        FLAGGED = "flagged", "shown on the leaderboard with the reason"
        HIDDEN = "hidden", "not shown on the leaderboard"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="submissions")
    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, null=True, related_name="submissions")
    # The reference set of a human baseline, which has no team and no phase.
    baseline_of = models.ForeignKey(
        ReferenceSet, on_delete=models.PROTECT, null=True, related_name="baselines"
    )
    # The user who sent it; None after their account is deleted.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="submissions"
    )
    created = models.DateTimeField(default=timezone.now)
    declared = models.JSONField(default=dict)
    algorithm = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64)
    idempotency_key = models.CharField(max_length=100, null=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    finished = models.DateTimeField(null=True)
    # Reason of a failure for the team; never the text of an exception, which may quote references.
    reason = models.CharField(max_length=300, blank=True)
    # Full log of failures, for administrators of the server.
    log = models.TextField(blank=True)
    counts_for_quota = models.BooleanField(default=True)
    # Whether it is on the leaderboard; `standing.py` decides by the choice of the team.
    stands = models.BooleanField(default=False)
    choice = models.CharField(max_length=10, choices=Choice, blank=True, default=Choice.NONE)
    mark = models.CharField(max_length=10, choices=Mark, blank=True, default=Mark.NONE)
    mark_reason = models.CharField(max_length=LONGEST_REASON, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "idempotency_key"], name="idempotency_key_once"),
            models.UniqueConstraint(
                fields=["team", "phase"], condition=models.Q(stands=True), name="one_stands"
            ),
            models.CheckConstraint(
                condition=models.Q(team=None, phase=None, baseline_of__isnull=False)
                | models.Q(team__isnull=False, phase__isnull=False, baseline_of=None),
                name="of_a_team_or_a_baseline",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "created"], name="submission_queue"),
            # Covers the query that detects changes of a leaderboard.
            models.Index(
                fields=["phase", "team", "stamp"],
                condition=models.Q(stands=True),
                name="submissions_standing",
            ),
        ]

    @property
    def entrant(self) -> str:
        """Public name of the submitter: the team, or "human"."""
        return "human" if self.team is None else self.team.name

    @property
    def challenge(self) -> Challenge:
        """Challenge of the submission."""
        if self.phase is not None:
            return self.phase.challenge
        # A table constraint guarantees that a submission without a phase is a baseline.
        return cast(ReferenceSet, self.baseline_of).split.challenge

    def current_versions(self) -> list[ReferenceVersion]:
        """Return the current versions of all reference sets for the submission's files."""
        sets = ReferenceSet.objects.filter(split__submissionfile__submission=self)
        if self.baseline_of_id is not None:
            sets = sets.filter(pk=self.baseline_of_id)
        counts = models.Q(number=models.F("reference_set__version"))
        versions = ReferenceVersion.objects.filter(counts, reference_set__in=sets)
        return list(
            versions.select_related("reference_set").order_by(
                "reference_set__split__name", "reference_set_id"
            )
        )


UNFINISHED = (Submission.State.WAITING, Submission.State.RUNNING)


class SubmissionFile(models.Model):
    """Results file of one split."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="files")
    split = models.ForeignKey(Split, on_delete=models.PROTECT)
    file = models.FileField(upload_to="submissions", max_length=300)
    # The rule that matched the uploaded image ids to those of the split; empty if they were equal.
    id_rule = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "split"], name="file_once")]


class Result(models.Model):
    """Outcome of one metric with one version of references: scores or a failure."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="results")
    reference_version = models.ForeignKey(ReferenceVersion, on_delete=models.PROTECT)
    metric = models.CharField(max_length=50)
    signature = models.CharField(max_length=500, blank=True)
    failure = models.CharField(max_length=300, blank=True)
    # Whether the submission's content caused the failure, not the references or the system.
    by_content = models.BooleanField(default=False)
    log = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["submission", "reference_version", "metric"], name="result_once")
        ]


class Score(models.Model):
    """One score of a result, for all images (empty subset) or for a subset."""

    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="scores")
    subset = models.CharField(max_length=100, blank=True)
    name = models.CharField(max_length=50)
    # None if the metric's value is not finite.
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    # The bootstrap replicates, as float32. The resamples of the same images are the same for all submissions,
    # so the differences of two submissions' replicates are a paired bootstrap.
    samples = models.BinaryField(default=b"")
    # The number of images that were resampled; None for scores by versions that did not store it.
    images = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["result", "subset", "name"], name="score_once")]


class SwappedStatistics(models.Model):
    """Statistics of a result's metric, summed over swapped images, for all images or for a subset.

    The swaps are those of `capeval compare`, and the same for all submissions, so any two submissions are
    tested by randomization without their statistics of each image. Results by earlier versions have none.
    """

    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="swapped_statistics")
    subset = models.CharField(max_length=100, blank=True)
    images = models.PositiveIntegerField()
    # Compressed float64 array with one column per statistic: the sum over all images, then a row per swap
    # with its sum. With few images, of which all swaps are listed, a row per image instead.
    values = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["result", "subset"], name="swapped_statistics_once")]


class ImageScores(models.Model):
    """Scores of each image, stored only for public references so others can't leak."""

    result = models.OneToOneField(Result, on_delete=models.CASCADE, related_name="image_scores")
    names = models.JSONField()
    # Compressed float64 array: one row per image of the reference set in its order, one column per name.
    values = models.BinaryField()


class FinalBoard(models.Model):
    """Snapshot of a phase's leaderboard for one reference version, with final results."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="final_boards")
    version = models.ForeignKey(ReferenceVersion, on_delete=models.PROTECT, related_name="+")
    # Compressed rows and p-values of neighbors, in the format of `leaderboards/final_snapshot.py`.
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["phase", "version"], name="final_board_once")]


class RefusedUpload(models.Model):
    """Checked upload that created no submission, for the limit of such uploads per user and time."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    time = models.DateTimeField()


class FormerMember(models.Model):
    """Former member of a team that had submitted, possibly with a deleted account.

    The team's used quota also counts for the team that the user joins next. After an account is deleted, only
    keyed hashes of its addresses identify a new account of the same person.
    """

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="+")
    # None once the account is deleted.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # The team for which the usage counts now; None until the user participates again.
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="former_members")


class FormerAddress(models.Model):
    """Keyed hash of a challenge and an address of a former member."""

    member = models.ForeignKey(FormerMember, on_delete=models.CASCADE, related_name="addresses")
    digest = models.CharField(max_length=64, db_index=True)


class FormerUse(models.Model):
    """Quota of a phase that a former member's team had used when they left."""

    member = models.ForeignKey(FormerMember, on_delete=models.CASCADE, related_name="uses")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    # The team that used it. It counts once for all former members of that team, and not for the team itself.
    source = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="+")
    used = models.PositiveIntegerField()
    # The day on which they left, and the usage on that day, in that month, and in the phase's last days.
    day = models.DateField()
    today = models.PositiveIntegerField()
    month = models.PositiveIntegerField(default=0)
    window = models.PositiveIntegerField(default=0)
