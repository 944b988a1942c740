"""Submissions and their scores."""

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
]

# The most characters of the reason for a mark.
LONGEST_REASON = 500


class Submission(RowVersionedModel):
    """Results that a team submitted to a phase, or the human baseline of a reference set.

    `lifecycle.py` has the ways from one state to another, and no other module changes a state.
    """

    class State(models.TextChoices):
        """What happens with a submission."""

        WAITING = "waiting"
        RUNNING = "running"
        SCORED = "scored"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"

    class Mark(models.TextChoices):
        """What an organizer marked a submission as."""

        NONE = "", "nothing"
        FLAGGED = "flagged", "shown on the leaderboard with the reason"
        HIDDEN = "hidden", "not shown on the leaderboard"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="submissions")
    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, null=True, related_name="submissions")
    # The reference set that a human baseline is of: such a submission has no team and no phase.
    baseline_of = models.ForeignKey(
        ReferenceSet, on_delete=models.PROTECT, null=True, related_name="baselines"
    )
    # Who sent it, as long as they have an account.
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
    # What went wrong, for its team; never an error's text, which may quote references.
    reason = models.CharField(max_length=300, blank=True)
    # What went wrong, in full, for those who run the server.
    log = models.TextField(blank=True)
    counts_for_quota = models.BooleanField(default=True)
    stands = models.BooleanField(default=False)
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
            # All that is asked of what stands to know whether a leaderboard changed.
            models.Index(
                fields=["phase", "team", "stamp"],
                condition=models.Q(stands=True),
                name="submissions_standing",
            ),
        ]

    @property
    def entrant(self) -> str:
        """Whose captions they are, as people see it."""
        return "human" if self.team is None else self.team.name

    @property
    def challenge(self) -> Challenge:
        """The challenge that it is part of."""
        if self.phase is not None:
            return self.phase.challenge
        # The table's own constraint: what has no phase is a baseline.
        return cast(ReferenceSet, self.baseline_of).split.challenge

    def current_versions(self) -> list[ReferenceVersion]:
        """The current versions of references, of all sets that its files are scored by."""
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
    """The results of one split."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="files")
    split = models.ForeignKey(Split, on_delete=models.PROTECT)
    file = models.FileField(upload_to="submissions", max_length=300)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "split"], name="file_once")]


class Result(models.Model):
    """What one metric gave with one version of references: scores, or a failure of its own."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="results")
    reference_version = models.ForeignKey(ReferenceVersion, on_delete=models.PROTECT)
    metric = models.CharField(max_length=50)
    signature = models.CharField(max_length=500, blank=True)
    failure = models.CharField(max_length=300, blank=True)
    # Whether the submission's own content is why, not the references or the system.
    by_content = models.BooleanField(default=False)
    log = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["submission", "reference_version", "metric"], name="result_once")
        ]


class Score(models.Model):
    """One number of a result: of all images (no subset named) or of a subset."""

    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="scores")
    subset = models.CharField(max_length=100, blank=True)
    name = models.CharField(max_length=50)
    # None where a metric gave no finite number.
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    # The score of each bootstrap resample, as float32. The resamples of the same images are the same for
    # all submissions: the differences of two submissions' samples are a paired bootstrap.
    samples = models.BinaryField(default=b"")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["result", "subset", "name"], name="score_once")]


class ImageScores(models.Model):
    """The scores of each image, stored only if the references are public, so that others can't leak."""

    result = models.OneToOneField(Result, on_delete=models.CASCADE, related_name="image_scores")
    names = models.JSONField()
    # Float64, a row for each image of the reference set in its order, a column for each name; deflated.
    values = models.BinaryField()


class FinalBoard(models.Model):
    """A leaderboard of a phase by one version of references, as it was when its results became final."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="final_boards")
    version = models.ForeignKey(ReferenceVersion, on_delete=models.PROTECT, related_name="+")
    # Rows, and p-values of pairs of neighbors, as `leaderboards/final_snapshot.py` writes them, deflated.
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["phase", "version"], name="final_board_once")]


class RefusedUpload(models.Model):
    """An upload that made no submission. A user may send only some within a time."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    time = models.DateTimeField()


class FormerMember(models.Model):
    """Somebody who left a team that had submitted, or whose account was deleted.

    What the team used counts for the team that they join next. Of a deleted account, only keyed hashes of its
    addresses tell that a new account is of the same person.
    """

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="+")
    # None once the account is deleted.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    # For which it counts now; none until its owner takes part again.
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="former_members")


class FormerAddress(models.Model):
    """A keyed hash of a challenge and an address of a former member."""

    member = models.ForeignKey(FormerMember, on_delete=models.CASCADE, related_name="addresses")
    digest = models.CharField(max_length=64, db_index=True)


class FormerUse(models.Model):
    """What a team of a former member had used of a phase's quota when they left it."""

    member = models.ForeignKey(FormerMember, on_delete=models.CASCADE, related_name="uses")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="+")
    # The team that used it: it counts once for all who left that team, and not for the team itself.
    source = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="+")
    used = models.PositiveIntegerField()
    # The day on which they left, and what was used on it.
    day = models.DateField()
    today = models.PositiveIntegerField()
