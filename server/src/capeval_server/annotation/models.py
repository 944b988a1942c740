"""Campaigns, their items, and the answers of people.

What people answered is only ever added: the database itself refuses to change or delete it (`triggers.py`).
Which answers count is said by slots: an item has n slots, and a slot is filled by at most one answer.
"""

from __future__ import annotations

import secrets
import uuid
from functools import partial

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.challenges.models import Challenge

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

# The most characters of a note or reason that somebody typed.
LONGEST_NOTE = 500


def _person() -> models.ForeignKey[int | None, int | None]:
    """Who did something, in a row that never changes: deleting the account leaves the number and the name."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        related_name="+",
    )


class Campaign(models.Model):
    """Items of one kind of task, and how many answers each needs.

    `campaigns.py` has the ways from one state to another.
    """

    class State(models.TextChoices):
        """What a campaign gives out."""

        DRAFT = "draft", "not open yet"
        PILOT = "pilot", "open for a trial, of which no answer counts"
        OPEN = "open"
        PAUSED = "paused", "gives out no new work for now"
        CLOSING = "closing", "gives out no new work; what is held may end"
        CLOSED = "closed"

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    # The name of a kind of task.
    kind = models.CharField(max_length=30)
    # The challenge whose submissions are judged, if it is of one: its organizers manage the campaign.
    challenge = models.ForeignKey(Challenge, on_delete=models.PROTECT, null=True, related_name="campaigns")
    # Who else manages it; staff manage all.
    organizers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="campaigns", blank=True)
    # As `definition.py` reads them.
    settings = models.JSONField()
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.slug


class TextVersion(models.Model):
    """What workers of a campaign read and agree to, and the rules for texts; the highest number counts.

    It never changes: other texts are another version.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="texts")
    number = models.PositiveIntegerField()
    # Markdown.
    instructions = models.TextField()
    consent = models.TextField(blank=True)
    # The level of each rule for sentences, where it differs from the default; `known_words`, `blocked_words`.
    rules = models.JSONField(default=dict)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="text_version_once")]


class Image(models.Model):
    """A picture of a campaign: its content, never its name, is what a worker's browser gets."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="images")
    # The SHA-256 of the file as it came.
    digest = models.CharField(max_length=64)
    # The name that the campaign's items call it by.
    name = models.CharField(max_length=200)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    # Without metadata, at most 480 and 1600 pixels wide or high.
    small = models.CharField(max_length=100)
    large = models.CharField(max_length=100)
    license = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=500, blank=True)
    # Why it is shown only when asked for; empty if it isn't.
    warning = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest"], name="image_digest_once"),
            models.UniqueConstraint(fields=["campaign", "name"], name="image_name_once"),
        ]


class Item(models.Model):
    """One thing to answer n times by n people.

    Only whether it is held, with why and what was looked at, whether it was chosen to come next, and the two
    counts of free slots ever change.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="items")
    # What the campaign's file calls it, such as the image's id or the triplet's number.
    key = models.CharField(max_length=100)
    # What belongs together, such as the triplets of a pair.
    group = models.CharField(max_length=100, blank=True)
    # The class of a pair, such as HC. No worker's browser gets it.
    category = models.CharField(max_length=50, blank=True)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, related_name="items")
    payload = models.JSONField()
    # Whether its answer is known: a check has no slots, and no answer to it counts.
    is_check = models.BooleanField(default=False)
    # Whether it is a check of the training, before the work; and why its answer is the expected one.
    is_training = models.BooleanField(default=False)
    explanation = models.TextField(blank=True)
    # Whether it asks about the rules, in a training before sentences are written.
    is_quiz = models.BooleanField(default=False)
    # The answer that passes a check; the organizers' own sentence where one is written as practice; empty
    # for others.
    expected = models.JSONField(default=dict)
    # A seeded shuffle: items are given out in its order.
    rank = models.PositiveIntegerField()
    # Whether its odd slots show the sides mirrored, or its even ones: it alternates within a group.
    mirrors_odd = models.BooleanField(default=False)
    # The item that this one is again, for workers who answered it: they see it mirrored. No such answer
    # counts. It is an item of its own, as nobody gets an item twice.
    repeats = models.OneToOneField("self", on_delete=models.CASCADE, null=True, related_name="repeat")
    # Taken out of work, by reports, by good workers who failed it or by an organizer; and why.
    held = models.BooleanField(default=False)
    held_reason = models.CharField(max_length=LONGEST_NOTE, blank=True)
    # How many results of a check, the first ones, somebody has looked at after it was taken out.
    checks_looked_at = models.PositiveIntegerField(default=0)
    # Whether it was chosen to be given out, where items are chosen by what they compare.
    up_next = models.BooleanField(default=False)
    # How many of its slots can be given out now: to anybody, and to trusted workers alone. Derived.
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
    """A choice of the items that are given out next, with all that it follows from. It is never changed."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="next_pairs")
    # 1, 2 and so on.
    number = models.PositiveIntegerField()
    time = models.DateTimeField()
    seed = models.PositiveIntegerField()
    # What it was computed from: the answers that may count up to this one, in their newest revisions, but for
    # those that were left out then: of these participations, and these answers.
    last_response = models.BigIntegerField()
    left_out = models.JSONField()
    # The systems, and how often each row's wins against each column's by these answers.
    systems = models.JSONField()
    wins = models.JSONField()
    # Each two systems that are compared: `systems` by their numbers, whether items were left (`going_on`),
    # its `share`, the `number` of items that is, and the keys of the `items` that were chosen.
    pairs = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "number"], name="next_pairs_once")]


class KnownCaption(models.Model):
    """A caption that is known elsewhere, by the hash of its tokens: who sends the same may have copied it."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="known")
    # The item that it is of; empty for a caption of any image.
    key = models.CharField(max_length=100, blank=True)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest", "key"], name="known_caption_once")
        ]


class Slot(models.Model):
    """The place of one counted answer of an item."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="slots")
    number = models.PositiveSmallIntegerField()
    # The answer that counts.
    filled_by = models.OneToOneField(
        "Response", on_delete=models.PROTECT, null=True, related_name="filled_slot"
    )
    # Whether it was emptied while only trusted workers could fill emptied slots. It is open to everybody
    # while `reopened_for` is "everybody".
    trusted_only = models.BooleanField(default=False)
    # Whether it is not wanted: the number of answers was lowered, or the item has ended without it.
    closed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="slot_once"),
            models.CheckConstraint(
                condition=models.Q(closed=False) | models.Q(filled_by=None), name="closed_slot_is_empty"
            ),
        ]


class Worker(models.Model):
    """Somebody who works on campaigns, called by a random pseudonym alone."""

    pseudonym = models.CharField(max_length=16, unique=True, default=partial(secrets.token_hex, 8))
    # The account, for users of the server; none for who came by a link.
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="annotation_worker"
    )
    # The account of the same person, where that is known of who came by a link or from a panel.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="linked_workers",
    )
    # The hash of the token in an invite link; none for users of the server, and once it is revoked.
    digest = models.CharField(max_length=64, unique=True, null=True)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.pseudonym


class Participation(models.Model):
    """A worker in a campaign. Its row is locked by all that the worker does: one thing after the other."""

    class Stage(models.TextChoices):
        """How far a worker came."""

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
    # The texts that the worker agreed to, and when.
    consented_to = models.ForeignKey(TextVersion, on_delete=models.PROTECT, null=True, related_name="+")
    consented = models.DateTimeField(null=True)
    # The number of the latest batch.
    batch = models.PositiveIntegerField(default=0)
    # Derived: assignments answered; newest answers judged by a person or a check, and how many were fine.
    answered = models.PositiveIntegerField(default=0)
    judged = models.PositiveIntegerField(default=0)
    fine = models.PositiveIntegerField(default=0)
    # How many of their checks, the first ones, somebody has looked at after the worker was paused.
    checks_looked_at = models.PositiveIntegerField(default=0)
    # Whether they are given no picture that has a warning.
    avoids_warnings = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["worker", "campaign"], name="participation_once")]

    def unwarned(self, items: models.QuerySet[Item]) -> models.QuerySet[Item]:
        """Of some items those that the worker may be given: without a warning, if they want no others."""
        if not self.avoids_warnings:
            return items
        warned = Image.objects.filter(pk=models.OuterRef("image")).exclude(warning="")
        return items.filter(~models.Exists(warned))


class Panel(models.Model):
    """The panel that sends workers to a campaign."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="panel")
    # As `panels.py` reads them, with the end codes.
    settings = models.JSONField()


class Identity(models.Model):
    """What a panel calls a worker. It can be deleted, and then nothing names the worker but the pseudonym."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="identities")
    panel = models.CharField(max_length=50)
    panel_id = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["panel", "panel_id"], name="panel_id_once")]


class Session(models.Model):
    """A time that a worker came from a panel, and how it ended. The latest of a worker counts."""

    class Outcome(models.TextChoices):
        """How it ended: each has an end code of its own."""

        COMPLETED = "completed", "You are done: all that was asked for is answered. Thank you."
        NOTHING_LEFT = "nothing_left", "There is nothing left to do. Thank you."
        RETURNED = "returned", "You have stopped. Thank you for what you did."
        NO_CONSENT = "no_consent", "You did not agree to take part, and nothing is stored of you."
        UNSUITABLE = "unsuitable", "This work can't be done with what you have. Thank you all the same."
        SCREENED_OUT = "screened_out", "Thank you for the training. You get no more work in this campaign."
        FAILED_CHECKS = "failed_checks", "You get no more work in this campaign."
        WITHDREW = "withdrew", "You have withdrawn, and your answers are removed."

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="sessions")
    # What the panel calls the study and the session; none once the worker has withdrawn.
    study = models.CharField(max_length=200, null=True)
    session = models.CharField(max_length=200, null=True)
    # Whether the panel signed who it is.
    verified = models.BooleanField()
    entered = models.DateTimeField()
    # How many items the worker had answered before.
    answered_before = models.PositiveIntegerField()
    outcome = models.CharField(max_length=20, choices=Outcome, blank=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "session"], name="panel_session_once")
        ]


# The stages of who gets no more work, and of whom no answer counts.
EXCLUDED = (Participation.Stage.BLOCKED, Participation.Stage.WITHDREW)


class Departure(models.Model):
    """That somebody has left a campaign for good, by a keyed hash: no row says under which pseudonym."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="departures")
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "digest"], name="departure_once")]


class Assignment(models.Model):
    """An item given to a worker, once and for all: nobody gets an item twice."""

    class State(models.TextChoices):
        """What became of it."""

        HELD = "held"
        SUBMITTED = "submitted"
        EXPIRED = "expired"
        RETURNED = "returned"
        SKIPPED = "skipped"
        REPORTED = "reported"
        PULLED = "pulled", "taken back: the item is held, the campaign closed or the worker blocked"

    participation = models.ForeignKey(Participation, on_delete=models.PROTECT, related_name="assignments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    # The slot that it holds or held last; none for checks and in a pilot, which fill none.
    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, null=True, related_name="assignments")
    # Its name in addresses. Who knows it and is the worker may answer, however late.
    lease = models.UUIDField(unique=True, default=uuid.uuid4)
    lease_until = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State, default=State.HELD)
    # Whether the sides are shown mirrored.
    mirrored = models.BooleanField(default=False)
    batch = models.PositiveIntegerField()
    place = models.PositiveSmallIntegerField()
    opened = models.DateTimeField()
    # Why it was skipped or returned.
    reason = models.CharField(max_length=LONGEST_NOTE, blank=True)
    # When its picture was first sent although it had a warning, as the worker asked for it.
    warned_shown = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "item"], name="assignment_once"),
            models.UniqueConstraint(fields=["slot"], condition=models.Q(state="held"), name="slot_held_once"),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="assignment_leases")]


class Draft(models.Model):
    """What a worker has typed and not sent. It is deleted with the answer, and never exported."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="draft")
    content = models.JSONField()
    saved = models.DateTimeField()


class Response(models.Model):
    """An answer. It is never changed or deleted; only a redaction empties it, and leaves its hash."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="responses")
    participation = models.ForeignKey(Participation, on_delete=models.PROTECT, related_name="responses")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="responses")
    # 1, and one more each time that the worker revises it.
    revision = models.PositiveSmallIntegerField()
    # In terms of the item, as its kind of task stores it.
    answer = models.JSONField()
    # The SHA-256 of the answer, as `digests.py` makes it.
    digest = models.CharField(max_length=64)
    # Whether it may count: false for checks and in a pilot.
    may_count = models.BooleanField(default=True)
    texts = models.ForeignKey(TextVersion, on_delete=models.PROTECT, related_name="+")
    # What the rules said of its sentence, and their version; empty where none was written.
    rules = models.JSONField(default=dict)
    # What the worker's browser counted: seconds, keys, pastes.
    events = models.JSONField(default=dict)
    # The same key again is the same answer sent again.
    key = models.CharField(max_length=100)
    received = models.DateTimeField()
    # Why its text was removed; empty if it is there.
    redacted = models.CharField(max_length=LONGEST_NOTE, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "revision"], name="revision_once"),
            models.UniqueConstraint(fields=["participation", "key"], name="response_key_once"),
        ]


class ReviewRequest(models.Model):
    """Why a person shall look at an answer. It is never changed."""

    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="review_requests")
    reason = models.CharField(max_length=50)
    time = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "reason"], name="review_request_once")]


class Review(models.Model):
    """What a person said of an answer. It is never changed; the latest of an answer counts."""

    class Verdict(models.TextChoices):
        """What a reviewer decided."""

        FINE = "fine"
        REJECTED = "rejected"

    class Reason(models.TextChoices):
        """Why an answer is rejected."""

        NONE = "", "nothing"
        WRONG_IMAGE = "wrong image"
        RULE_BROKEN = "rule broken"
        NONSENSE = "nonsense"
        COPIED = "copied"
        LANGUAGE = "other language"
        OFFENSIVE = "offensive"

    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="reviews")
    reviewer = _person()
    # The reviewer's name at that time.
    who = models.CharField(max_length=150)
    verdict = models.CharField(max_length=10, choices=Verdict)
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    note = models.CharField(max_length=LONGEST_NOTE, blank=True)
    time = models.DateTimeField()


class Exclusion(models.Model):
    """Takes answers out of what counts: all of a worker in a campaign, or one. Only lifting it changes it."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="exclusions")
    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, null=True, related_name="exclusions"
    )
    response = models.ForeignKey(Response, on_delete=models.PROTECT, null=True, related_name="exclusions")
    reason = models.CharField(max_length=LONGEST_NOTE)
    person = _person()
    who = models.CharField(max_length=150)
    time = models.DateTimeField()
    lifted_person = _person()
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
    """Whether an answer to a check was the expected one. It is never changed, and in no result."""

    response = models.OneToOneField(Response, on_delete=models.PROTECT, related_name="check_result")
    passed = models.BooleanField()
    expected = models.JSONField()


class Report(models.Model):
    """What a worker reported of an item, in place of an answer. Only its note may be removed."""

    class Reason(models.TextChoices):
        """What is wrong with it."""

        NOT_LOADING = "not loading", "The image doesn't load"
        OFFENSIVE = "offensive", "It is offensive or disturbing"
        FACE = "face", "It shows the face of somebody who should not be shown"
        PLATE = "number plate", "It shows a number plate"
        PERSONAL = "personal data", "It tells other private things of somebody"
        LANGUAGE = "other language", "It is in another language"
        OTHER = "other", "Something else"

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="report")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="reports")
    reason = models.CharField(max_length=20, choices=Reason)
    note = models.CharField(max_length=LONGEST_NOTE, blank=True)
    time = models.DateTimeField()


class Release(models.Model):
    """The frozen captions or judgments of a campaign. Neither its row nor its files ever change."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="releases")
    name = models.CharField(max_length=50)
    # Its folder among the stored files, with a manifest of checksums in it.
    folder = models.CharField(max_length=200)
    # The checksums of the manifest and of what is beside it, the seed, the versions of texts and of capeval.
    manifest = models.JSONField()
    who = models.CharField(max_length=150)
    time = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="release_once")]

    def __str__(self) -> str:
        return self.name


class ReleasedResponse(models.Model):
    """An answer that a release was made of. It never changes."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="responses")
    response = models.ForeignKey(Response, on_delete=models.PROTECT, related_name="releases")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "response"], name="released_once")]
