"""Models of annotation campaigns: items, assignments and answers.

Answers are append-only: database triggers reject updates and deletions (`core/triggers.py`).
Slots determine which answers count: an item has n slots, and each slot is filled by at most one answer.
"""

from __future__ import annotations

import secrets
import uuid
from functools import partial

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge
from capeval_server.core.translatable_texts import gettext_noop

__all__ = [
    "EXCLUDED",
    "LONGEST_NOTE",
    "Assignment",
    "Campaign",
    "CheckResult",
    "Departure",
    "Draft",
    "Exclusion",
    "Identity",
    "Image",
    "Item",
    "KnownCaption",
    "NextPairs",
    "Panel",
    "Participation",
    "Release",
    "ReleasedResponse",
    "Report",
    "Response",
    "Review",
    "ReviewRequest",
    "Session",
    "Slot",
    "TextVersion",
    "Worker",
]

# Maximum length in characters of a note or reason.
LONGEST_NOTE = 500


def _account_key() -> models.ForeignKey[int | None, int | None]:
    """Return a reference to an account that survives the deletion of the account.

    The rows never change, so a deleted account leaves its number and its name.
    """
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        related_name="+",
    )


class Campaign(models.Model):
    """A campaign: items of one task type, each with a required number of answers.

    `campaigns/lifecycle.py` defines the transitions between states.
    """

    class State(models.TextChoices):
        """State of a campaign, which determines the work that it assigns."""

        DRAFT = "draft", "not open yet"
        PILOT = "pilot", "in preview (answers do not count)"
        OPEN = "open"
        PAUSED = "paused", "paused (no items are assigned)"
        CLOSING = "closing", "closing (workers finish the items that they hold)"
        CLOSED = "closed"

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    # Name of the task type.
    kind = models.CharField(max_length=30)
    # The challenge of the judged submissions, if any: its organizers manage the campaign.
    challenge = models.ForeignKey(Challenge, on_delete=models.PROTECT, null=True, related_name="campaigns")
    # Further users who manage the campaign; staff manage all campaigns.
    organizers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="campaigns", blank=True)
    # The ids of the judged submissions, by the names of their systems in the items.
    systems = models.JSONField(default=dict, blank=True)
    # In the format of `core/options.py`.
    settings = models.JSONField()
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.slug


class TextVersion(models.Model):
    """A version of the instructions, the consent text and the caption rules.

    The highest number is in force. A version never changes: new texts are stored as a new version.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="texts")
    number = models.PositiveIntegerField()
    # Markdown.
    instructions = models.TextField()
    consent = models.TextField(blank=True)
    # The level of each caption rule that differs from the default; also `known_words` and `blocked_words`.
    rules = models.JSONField(default=dict)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="text_version_once")]


class Image(models.Model):
    """An image of a campaign. Browsers receive its content, but never its name."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="images")
    # SHA-256 of the uploaded file.
    digest = models.CharField(max_length=64)
    # Name by which the campaign's items refer to it.
    name = models.CharField(max_length=200)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    # Paths of the copies without metadata, at most 480 and 1600 pixels wide or high.
    small = models.CharField(max_length=100)
    large = models.CharField(max_length=100)
    license = models.CharField(max_length=200, blank=True)
    author = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=500, blank=True)
    # Content warning: the image is shown only on request. Empty if there is none.
    warning = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest"], name="image_digest_once"),
            models.UniqueConstraint(fields=["campaign", "name"], name="image_name_once"),
        ]
        indexes = [models.Index(fields=["digest"], name="image_of_all_campaigns")]


class Item(models.Model):
    """A question that n different people answer.

    Only these fields change: whether the item is on hold, and why; the number of reviewed check results;
    whether adaptive sampling chose it; and the two counts of free slots.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="items")
    # Identifier in the campaign's file, such as the image's id or the triplet's number.
    key = models.CharField(max_length=100)
    # Shared by related items, such as the triplets of a pair.
    group = models.CharField(max_length=100, blank=True)
    # Class of a pair, such as HC. Never sent to workers' browsers.
    category = models.CharField(max_length=50, blank=True)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, related_name="items")
    payload = models.JSONField()
    # Whether it is an attention check, with a known answer: a check has no slots, and no answer to it counts.
    is_check = models.BooleanField(default=False)
    # Whether it is a training item; and the explanation of its expected answer.
    is_training = models.BooleanField(default=False)
    explanation = models.TextField(blank=True)
    # Whether it is a quiz question about the caption rules, in the training of a writing campaign.
    is_quiz = models.BooleanField(default=False)
    # The answer that passes a check; for writing practice, the organizers' own sentence; empty for other
    # items.
    expected = models.JSONField(default=dict)
    # Position in a seeded shuffle: items are assigned in this order.
    rank = models.PositiveIntegerField()
    # Whether its odd slots show the sides mirrored, or its even ones. The value alternates within a group.
    mirrors_odd = models.BooleanField(default=False)
    # The original of a repeated item, which workers who answered the original see mirrored. Answers to it
    # never count. It is a separate item because no worker is assigned an item twice.
    repeats = models.OneToOneField("self", on_delete=models.CASCADE, null=True, related_name="repeat")
    # Whether it is on hold, because of reports, failures of reliable workers or an organizer's decision; and
    # why.
    held = models.BooleanField(default=False)
    held_reason = models.CharField(max_length=LONGEST_NOTE, blank=True)
    # Number of results of a check, from the first, that were reviewed after the check was put on hold.
    checks_looked_at = models.PositiveIntegerField(default=0)
    # Whether adaptive sampling chose it to be assigned.
    up_next = models.BooleanField(default=False)
    # Derived: number of free slots that can be assigned to anybody, and only to trusted workers.
    free = models.PositiveSmallIntegerField(default=0)
    free_trusted = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "key"], condition=models.Q(repeats=None), name="item_key_once"
            )
        ]
        indexes = [
            models.Index(fields=["campaign", "free", "rank"], name="item_choice"),
            models.Index(fields=["campaign", "free_trusted", "rank"], name="item_choice_trusted"),
            models.Index(
                fields=["campaign", "free", "rank"], condition=models.Q(up_next=True), name="item_up_next"
            ),
            models.Index(fields=["campaign", "group"], name="item_group"),
        ]


class NextPairs(models.Model):
    """A choice of adaptive sampling, with all data that determine it. Never changed."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="next_pairs")
    # Counts from 1.
    number = models.PositiveIntegerField()
    time = models.DateTimeField()
    seed = models.PositiveIntegerField()
    # The input: the newest revisions of the answers that may count, up to this one, without the answers that
    # were excluded at that time, which are listed by participation and by answer.
    last_response = models.BigIntegerField()
    left_out = models.JSONField()
    # The systems, and the matrix of wins: how often the system of each row won against the system of each
    # column.
    systems = models.JSONField()
    wins = models.JSONField()
    # The compared pairs of systems: `systems` by their numbers, whether items were left (`going_on`), the
    # pair's `share`, the `number` of items that it corresponds to, and the keys of the `items` that were
    # chosen.
    pairs = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="next_pairs_once")]


class KnownCaption(models.Model):
    """The hash of a known caption's tokens, by which copied answers are detected."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="known")
    # Key of the item that it describes; empty for a caption of any image.
    key = models.CharField(max_length=100, blank=True)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest", "key"], name="known_caption_once")
        ]


class Slot(models.Model):
    """The place for one counted answer of an item."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="slots")
    number = models.PositiveSmallIntegerField()
    filled_by = models.OneToOneField(
        "Response", on_delete=models.PROTECT, null=True, related_name="filled_slot"
    )
    # Whether it was emptied while only trusted workers could fill emptied slots. While `reopened_for` is
    # "everybody", everybody can fill it.
    trusted_only = models.BooleanField(default=False)
    # Whether it is no longer needed: the number of answers was lowered, or the item ended early.
    closed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="slot_once"),
            models.CheckConstraint(
                condition=models.Q(closed=False) | models.Q(filled_by=None), name="closed_slot_is_empty"
            ),
        ]


class Worker(models.Model):
    """An annotator, identified only by a random pseudonym."""

    pseudonym = models.CharField(max_length=16, unique=True, default=partial(secrets.token_hex, 8))
    # The account of a worker who works as a user of the server; none for workers with an invite link.
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="annotation_worker"
    )
    # The account of the same person, if known, for workers who came by an invite link or from a panel.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="linked_workers",
    )
    # Hash of the token in an invite link; none for users of the server and for revoked links.
    digest = models.CharField(max_length=64, unique=True, null=True)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.pseudonym


class Participation(models.Model):
    """A worker in a campaign.

    Each request of the worker locks the row, so a worker's requests are processed one after the other.
    """

    class Stage(models.TextChoices):
        """Stage that a worker has reached in a campaign."""

        INVITED = "invited"
        TRAINING = "training"
        SCREENED_OUT = "screened out", "Did not pass the training"
        WORKING = "working"
        PAUSED = "paused", "Paused by a check or an organizer until reviewed"
        BLOCKED = "blocked"
        WITHDREW = "withdrew"

    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="participations")
    stage = models.CharField(max_length=15, choices=Stage, default=Stage.INVITED)
    # The version of the texts that the worker agreed to, and the time of consent.
    consented_to = models.ForeignKey(TextVersion, on_delete=models.PROTECT, null=True, related_name="+")
    consented = models.DateTimeField(null=True)
    # Number of the latest batch.
    batch = models.PositiveIntegerField(default=0)
    # Derived: number of answered assignments; of newest answers judged by a reviewer or a check; and of
    # accepted ones among these.
    answered = models.PositiveIntegerField(default=0)
    judged = models.PositiveIntegerField(default=0)
    fine = models.PositiveIntegerField(default=0)
    # Number of the worker's checks, from the first, that were reviewed after the worker was paused.
    checks_looked_at = models.PositiveIntegerField(default=0)
    # Whether the worker is never assigned images with a content warning.
    avoids_warnings = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["worker", "campaign"], name="participation_once")]

    def unwarned(self, items: models.QuerySet[Item]) -> models.QuerySet[Item]:
        """Exclude items with a content warning if the worker avoids warnings."""
        if not self.avoids_warnings:
            return items
        warned = Image.objects.filter(pk=models.OuterRef("image")).exclude(warning="")
        return items.filter(~models.Exists(warned))


class Panel(models.Model):
    """The panel that sends workers to a campaign."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="panel")
    # In the format of `workers/panels.py`, with the end codes.
    settings = models.JSONField()


class Identity(models.Model):
    """A panel's id of a worker. Without it, only the pseudonym identifies the worker.

    It can be deleted.
    """

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="identities")
    panel = models.CharField(max_length=50)
    panel_id = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["panel", "panel_id"], name="panel_id_once")]


class Session(models.Model):
    """A worker's visit from a panel, and its outcome. The latest of a worker counts."""

    class Outcome(models.TextChoices):
        """Outcome of a session. Each has an end code of its own."""

        COMPLETED = "completed", gettext_noop("You are done: all that was asked for is answered. Thank you.")
        NOTHING_LEFT = "nothing_left", gettext_noop("There is nothing left to do. Thank you.")
        RETURNED = "returned", gettext_noop("You have stopped. Thank you for your answers.")
        NO_CONSENT = (
            "no_consent",
            gettext_noop("You did not agree to take part. No data about you is stored."),
        )
        UNSUITABLE = (
            "unsuitable",
            gettext_noop("This study does not work on your device. Thank you for your interest."),
        )
        SCREENED_OUT = (
            "screened_out",
            gettext_noop(
                "Thank you for completing the training. Unfortunately you did not qualify for the main study."
            ),
        )
        FAILED_CHECKS = "failed_checks", gettext_noop("You can no longer take part in this study.")
        WITHDREW = "withdrew", gettext_noop("You have withdrawn, and your answers are removed.")

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="sessions")
    # The panel's ids of the study and of the session; none once the worker has withdrawn.
    study = models.CharField(max_length=200, null=True)
    session = models.CharField(max_length=200, null=True)
    # Whether the panel signed the worker's identity.
    verified = models.BooleanField()
    entered = models.DateTimeField()
    # Number of items that the worker had answered before.
    answered_before = models.PositiveIntegerField()
    outcome = models.CharField(max_length=20, choices=Outcome, blank=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "session"], name="panel_session_once")
        ]


# The stages in which a worker receives no more work, and none of their answers counts.
EXCLUDED = (Participation.Stage.BLOCKED, Participation.Stage.WITHDREW)


class Departure(models.Model):
    """A keyed hash that marks a withdrawal from a campaign, without the pseudonym."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="departures")
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "digest"], name="departure_once")]


class Assignment(models.Model):
    """An item assigned to a worker. No worker is assigned an item twice."""

    class State(models.TextChoices):
        """State of an assignment."""

        HELD = "held"
        SUBMITTED = "submitted"
        EXPIRED = "expired"
        RETURNED = "returned"
        SKIPPED = "skipped"
        REPORTED = "reported"
        PULLED = "pulled", "taken back: the item is held, the campaign closed or the worker blocked"

    participation = models.ForeignKey(Participation, on_delete=models.PROTECT, related_name="assignments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    # The slot that it holds or held last; none for checks and in a preview, which fill no slots.
    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, null=True, related_name="assignments")
    # Identifier in URLs. The worker who knows it may answer, however late.
    lease = models.UUIDField(unique=True, default=uuid.uuid4)
    lease_until = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State, default=State.HELD)
    # Whether the sides are shown mirrored.
    mirrored = models.BooleanField(default=False)
    batch = models.PositiveIntegerField()
    place = models.PositiveSmallIntegerField()
    opened = models.DateTimeField()
    # Reason why it was skipped or returned.
    reason = models.CharField(max_length=LONGEST_NOTE, blank=True)
    # Time at which its image was first sent in spite of a content warning, on the worker's request.
    warned_shown = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "item"], name="assignment_once"),
            models.UniqueConstraint(fields=["slot"], condition=models.Q(state="held"), name="slot_held_once"),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="assignment_leases")]


class Draft(models.Model):
    """An unsent draft of an answer. Deleted with the answer, and never exported."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="draft")
    content = models.JSONField()
    saved = models.DateTimeField()


class Response(models.Model):
    """An answer. Never changed or deleted; a redaction empties it but keeps its hash."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="responses")
    participation = models.ForeignKey(Participation, on_delete=models.PROTECT, related_name="responses")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="responses")
    # Counts from 1; each revision by the worker adds one.
    revision = models.PositiveSmallIntegerField()
    # In terms of the item, in the format of its task type.
    answer = models.JSONField()
    # SHA-256 of the answer, as computed in `core/digests.py`.
    digest = models.CharField(max_length=64)
    # Whether it may count: false for checks and in a preview.
    may_count = models.BooleanField(default=True)
    texts = models.ForeignKey(TextVersion, on_delete=models.PROTECT, related_name="+")
    # Findings of the caption rules, and the version of the rules; empty if the answer has no caption.
    rules = models.JSONField(default=dict)
    # Counts reported by the worker's browser: seconds, keys, pastes.
    events = models.JSONField(default=dict)
    # Idempotency key: a repeated key marks a repeated request.
    key = models.CharField(max_length=100)
    received = models.DateTimeField()
    # Reason for the redaction; empty if the answer is not redacted.
    redacted = models.CharField(max_length=LONGEST_NOTE, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "revision"], name="revision_once"),
            models.UniqueConstraint(fields=["participation", "key"], name="response_key_once"),
        ]


class ReviewRequest(models.Model):
    """A reason for which a person must review an answer. Never changed."""

    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="review_requests")
    reason = models.CharField(max_length=50)
    time = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "reason"], name="review_request_once")]


class Review(models.Model):
    """A reviewer's verdict on an answer. Never changed; the latest verdict counts."""

    class Verdict(models.TextChoices):
        """Decision of a reviewer. An undone review leaves the answer without a verdict."""

        FINE = "fine"
        REJECTED = "rejected"
        UNDONE = "undone"

    class Reason(models.TextChoices):
        """Reason for a rejection."""

        NONE = "", "nothing"
        WRONG_IMAGE = "wrong image"
        RULE_BROKEN = "rule broken"
        NONSENSE = "nonsense"
        COPIED = "copied"
        LANGUAGE = "other language"
        OFFENSIVE = "offensive"

    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="reviews")
    reviewer = _account_key()
    # Name of the reviewer at that time.
    who = models.CharField(max_length=150)
    verdict = models.CharField(max_length=10, choices=Verdict)
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    note = models.CharField(max_length=LONGEST_NOTE, blank=True)
    time = models.DateTimeField()


class Exclusion(models.Model):
    """The exclusion of an answer, or of all answers of a worker in a campaign.

    It only changes when it is lifted.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="exclusions")
    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, null=True, related_name="exclusions"
    )
    response = models.ForeignKey(Response, on_delete=models.PROTECT, null=True, related_name="exclusions")
    reason = models.CharField(max_length=LONGEST_NOTE)
    person = _account_key()
    who = models.CharField(max_length=150)
    time = models.DateTimeField()
    lifted_person = _account_key()
    lifted_who = models.CharField(max_length=150, blank=True)
    lifted_reason = models.CharField(max_length=LONGEST_NOTE, blank=True)
    lifted = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(participation=None, response__isnull=False)
                | models.Q(participation__isnull=False, response=None),
                name="excludes_a_worker_or_an_answer",
            ),
            models.UniqueConstraint(
                fields=["participation"], condition=models.Q(lifted=None), name="worker_excluded_once"
            ),
            models.UniqueConstraint(
                fields=["response"], condition=models.Q(lifted=None), name="response_excluded_once"
            ),
        ]


class CheckResult(models.Model):
    """Whether an answer to a check was the expected one. Never changed or released."""

    response = models.OneToOneField(Response, on_delete=models.PROTECT, related_name="check_result")
    passed = models.BooleanField()
    expected = models.JSONField()


class Report(models.Model):
    """A worker's report about an item, instead of an answer.

    Only its note can be removed.
    """

    class Reason(models.TextChoices):
        """Problem of an item."""

        NOT_LOADING = "not loading", gettext_noop("The image doesn't load")
        OFFENSIVE = "offensive", gettext_noop("It is offensive or disturbing")
        FACE = "face", gettext_noop("It shows the face of somebody who should not be shown")
        PLATE = "number plate", gettext_noop("It shows a number plate")
        PERSONAL = "personal data", gettext_noop("It tells other private things of somebody")
        LANGUAGE = "other language", gettext_noop("It is in another language")
        OTHER = "other", gettext_noop("Something else")

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="report")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="reports")
    reason = models.CharField(max_length=20, choices=Reason)
    note = models.CharField(max_length=LONGEST_NOTE, blank=True)
    time = models.DateTimeField()


class Release(models.Model):
    """Frozen captions or judgments of a campaign. Its row and its files never change."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="releases")
    name = models.CharField(max_length=50)
    # Its folder among the stored files, which contains a manifest of checksums.
    folder = models.CharField(max_length=200)
    # The checksums of the manifest and of the other files, the seed, the versions of the texts and of
    # capeval.
    manifest = models.JSONField()
    who = models.CharField(max_length=150)
    time = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="release_once")]

    def __str__(self) -> str:
        return self.name


class ReleasedResponse(models.Model):
    """An answer that a release contains. Never changed."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="responses")
    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="releases")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "response"], name="released_once")]
