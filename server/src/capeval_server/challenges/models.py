"""Challenges with splits, reference sets and submission phases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval.formats.declared_fields import DeclaredField, parse_fields
from capeval.formats.result_files import find_algorithm
from capeval_server.core.row_version import RowVersionedModel

__all__ = [
    "IMAGE_ID",
    "LEAST_SUBSET",
    "MOST_DAYS",
    "MOST_FINAL",
    "MOST_IN_ALL",
    "MOST_MEMBERS",
    "MOST_PER_DAY",
    "Challenge",
    "ImageArchive",
    "ImageList",
    "Phase",
    "Picture",
    "ReferenceSet",
    "ReferenceVersion",
    "Reported",
    "Split",
    "SplitConstraints",
    "Subset",
]

# Maximum number of submissions that a quota, or the extra quota of a team, may allow.
MOST_PER_DAY, MOST_IN_ALL = 10_000, 1_000_000
# Maximum number of submissions that a team may choose in a blind phase.
MOST_FINAL = 100
# Limits of the size of teams, and of the days of a window of submissions.
MOST_MEMBERS, MOST_DAYS = 1_000, 366
LEAST_SUBSET = 100
IMAGE_ID = re.compile(r"\{id(?::0?([0-9]{1,2}))?\}")


class Challenge(models.Model):
    """Captioning challenge."""

    class Visibility(models.TextChoices):
        """Visitors of a challenge."""

        DRAFT = "draft", "draft: only organizers"
        UNLISTED = "unlisted", "unlisted: everybody with its secret link"
        PUBLIC = "public", "public: everybody"
        ARCHIVED = "archived", "archived: everybody, without new teams and submissions"

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    rules = models.TextField(blank=True)
    data = models.TextField(blank=True)
    faq = models.TextField(blank=True)
    contact = models.TextField(blank=True)
    # Additional pages of text, in the order of their tabs: a list of {"name", "title", "text"}.
    pages = models.JSONField(default=list, blank=True)
    # Fields that submitters fill in: a list of objects with the attributes of `DeclaredField`.
    fields = models.JSONField(default=list)
    # Whether an organizer approves each participant before they can submit.
    approval = models.BooleanField(default=False)
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    # Whether only people with the challenge's link, or with the code of a team, can join.
    invitation_only = models.BooleanField(default=False)
    # Domains of email addresses, one of which participants must have; empty for all.
    email_domains = models.JSONField(default=list, blank=True)
    # Maximum number of members of a team; None for no limit.
    team_size = models.PositiveIntegerField(null=True, blank=True)
    # The secret of the link to the challenge; empty if none was created.
    link_key = models.CharField(max_length=32, blank=True)
    # The time from which everybody can see images; None if there is none.
    data_released = models.DateTimeField(null=True)
    # Users who manage the challenge; staff manage all challenges.
    organizers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="challenges", blank=True)

    def __str__(self) -> str:
        return self.slug

    @property
    def is_listed(self) -> bool:
        """Whether everybody can find and see the challenge."""
        return self.visibility in (self.Visibility.PUBLIC, self.Visibility.ARCHIVED)

    @property
    def is_archived(self) -> bool:
        """Whether nobody can join or submit any more."""
        return self.visibility == self.Visibility.ARCHIVED

    def get_state(self, now: datetime) -> str:
        """Return the state of the challenge: its visibility or, if it is public, the state of its phases."""
        if self.visibility != self.Visibility.PUBLIC:
            return self.visibility
        states = {"final" if phase.final else phase.get_state(now) for phase in self.phases.all()}
        if states <= {"final"}:
            return "final" if states else "announced"
        if "open" in states:
            return "open"
        return "announced" if states == {"upcoming"} else "closed"

    @property
    def has_participation_rules(self) -> bool:
        """Whether not everybody can join and submit."""
        limits = (self.team_size, self.email_domains, self.invitation_only, self.approval)
        return any(limits)

    @property
    def has_link(self) -> bool:
        """Whether a secret link leads to the challenge."""
        return self.invitation_only or self.visibility == self.Visibility.UNLISTED

    def has_released_data(self, now: datetime) -> bool:
        """Return whether all visitors of the challenge can see its images."""
        return self.data_released is None or self.data_released <= now

    @property
    def declared_fields(self) -> list[DeclaredField]:
        """Fields that submitters fill in."""
        return parse_fields(self.fields)

    @property
    def shown_fields(self) -> list[str]:
        """Names of the public declared fields, in order."""
        return [field.name for field in self.declared_fields if field.shown]

    def shown(self, declared: Mapping[str, str]) -> dict[str, str]:
        """Return the public declared fields of a submission, in the order of the fields."""
        return {name: declared[name] for name in self.shown_fields if name in declared}


class Picture(models.Model):
    """Picture in the texts of a challenge."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="pictures")
    # The name by which texts refer to it.
    name = models.CharField(max_length=100)
    file = models.FileField(upload_to="pictures", max_length=300)
    # The media type of the responses, detected from the content.
    media_type = models.CharField(max_length=20)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="picture_once")]


class Split(models.Model):
    """Image set to caption, with its metrics."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="splits")
    name = models.SlugField()
    results = models.CharField(max_length=200)
    image_ids = models.JSONField()
    metrics = models.JSONField()
    sort_by = models.CharField(max_length=50)
    # Minimum number of images of a subset that is scored with private references: scores of few images
    # reveal the references of single images.
    least_subset = models.PositiveIntegerField(default=LEAST_SUBSET)
    # URL of an image, with the placeholder {id}, or {id:012} for an id of 12 digits.
    image_url = models.CharField(max_length=500, blank=True)
    # Download links of the images and other data: a list of {"text", "url"}.
    links = models.JSONField(default=list)
    # The columns of its leaderboards, in the format of `ColumnsDefinition`; empty if none were chosen.
    columns = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="split_once")]

    @property
    def has_public_subsets(self) -> bool:
        """Whether the images of its subsets are public, as they are if all references are."""
        # In Python: no query if the reference sets were prefetched.
        return all(references.public for references in self.reference_sets.all())

    def get_subset_images(self) -> dict[str, list[int | str]]:
        """Return the images of each subset, in order."""
        # Sorted in Python: no query if the subsets were prefetched.
        subsets = sorted(self.subsets.all(), key=lambda subset: subset.pk)
        return {subset.name: subset.image_ids for subset in subsets}

    def get_image_url(self, image: int | str) -> str:
        """Return the URL of an image, or "" if it is unknown."""
        # The id is quoted, so that it cannot end the path or start a query.
        text = quote(str(image), safe="")
        return IMAGE_ID.sub(lambda found: text.zfill(int(found[1] or 0)), self.image_url)

    def algorithm(self, filename: str) -> str | None:
        """Return the algorithm in a result file's name, or None if it does not match.

        If results may have any name, other characters than those of algorithms are replaced.
        """
        return find_algorithm(self.results, filename)


class ImageList(models.Model):
    """Image metadata of a split: file names, URLs, sizes, licenses."""

    split = models.OneToOneField(Split, on_delete=models.CASCADE, related_name="image_list")
    # Output of `image_info` of capeval.formats, compressed: the list of COCO's test images has 9 MB.
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)


class ImageArchive(models.Model):
    """Zip of the image files of a split, for participants."""

    split = models.OneToOneField(Split, on_delete=models.CASCADE, related_name="image_archive")
    file = models.FileField(upload_to="image_archives", max_length=300)
    sha256 = models.CharField(max_length=64)
    # Size of the zip in bytes, and its number of images.
    size = models.PositiveBigIntegerField()
    number = models.PositiveIntegerField()


class SplitConstraints(models.Model):
    """Names that captions of a split's images must mention.

    The page of captions marks them.
    """

    split = models.OneToOneField(Split, on_delete=models.CASCADE, related_name="constraints")
    # Output of `write_constraints` of capeval.formats, compressed.
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)


class ReferenceSet(models.Model):
    """Named reference set of a split, such as c5; the highest version counts.

    A set may cover only some of the split's images, as COCO's c40 covers 5,000 test images.
    """

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="reference_sets")
    name = models.SlugField()
    public = models.BooleanField()
    version = models.PositiveIntegerField(default=0)
    # The covered images, in the split's order; None if all are covered.
    part = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["split", "name"], name="reference_set_once")]

    @property
    def image_ids(self) -> list[int] | list[str]:
        """Covered images, in the split's order."""
        found: list[int] | list[str] = self.split.image_ids if self.part is None else self.part
        return found

    def scored_subsets(
        self, subsets: Mapping[str, list[int | str]] | None = None
    ) -> dict[str, list[int | str]]:
        """Return the subsets with their own scores, as lists of covered images.

        They are in the split's order. With private references, subsets of fewer than `least_subset` images
        are not scored.

        Args:
            subsets: The split's `get_subset_images`, if already known.
        """
        subsets = self.split.get_subset_images() if subsets is None else subsets
        if self.part is not None:
            covered = set(self.part)
            subsets = {name: [one for one in images if one in covered] for name, images in subsets.items()}
        least = 1 if self.public else self.split.least_subset
        return {name: images for name, images in subsets.items() if len(images) >= least}


class Reported(RowVersionedModel):
    """Scores reported elsewhere, such as in a paper or on an older leaderboard.

    They are computed with references of this set, and shown with the leaderboard. They are not submissions
    and never part of the ranking.
    """

    reference_set = models.ForeignKey(ReferenceSet, on_delete=models.CASCADE, related_name="reported")
    name = models.SlugField()
    # A title for the rows, and the URL of their source.
    title = models.CharField(max_length=200)
    url = models.CharField(max_length=500, blank=True)
    # Whether to show the hypothetical rank of each row.
    ranked = models.BooleanField(default=False)
    # A list of objects with the fields of `ReportedRow`.
    rows = models.JSONField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference_set", "name"], name="reported_once")]


class ReferenceVersion(models.Model):
    """Immutable file of references; changed references become a new version."""

    reference_set = models.ForeignKey(ReferenceSet, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    file = models.FileField(upload_to="references", max_length=300)
    sha256 = models.CharField(max_length=64)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reference_set", "number"], name="reference_version_once")
        ]


class Subset(models.Model):
    """Subset of a split's images with its own scores, such as a domain."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="subsets")
    name = models.CharField(max_length=100)
    image_ids = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["split", "name"], name="subset_once")]


class Phase(models.Model):
    """Submission period of some splits, with quotas."""

    class Leaderboard(models.TextChoices):
        """Visibility of the leaderboard."""

        PUBLIC = "public", "everybody"
        AFTER = "after", "everybody, once the phase is over"
        HIDDEN = "hidden", "nobody"

    class CaptionsBy(models.TextChoices):
        """Selection of the teams with public captions on the leaderboard."""

        AGREED = "agreed", "those of teams that agreed"
        STANDING = "standing", "those of all teams on the leaderboard"

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="phases")
    name = models.SlugField()
    opens = models.DateTimeField()
    closes = models.DateTimeField()
    splits = models.ManyToManyField(Split, related_name="phases")
    # The leaderboard that links to the phase open; None for the default.
    main = models.ForeignKey(ReferenceSet, on_delete=models.SET_NULL, null=True, related_name="+")
    quota_per_day = models.PositiveIntegerField()
    quota_total = models.PositiveIntegerField()
    # Limits in addition to the quota: per calendar month, and within any number of days; None for no limit.
    quota_per_month = models.PositiveIntegerField(null=True)
    quota_per_window = models.PositiveIntegerField(null=True)
    quota_window_days = models.PositiveIntegerField(null=True)
    leaderboard = models.CharField(max_length=10, choices=Leaderboard)
    # The names of the splits with public captions, provided that the leaderboard is public.
    captions = models.JSONField(default=list, blank=True)
    captions_by = models.CharField(max_length=10, choices=CaptionsBy, default=CaptionsBy.AGREED)
    # Whether teams see no scores before the organizers publish the results.
    blind = models.BooleanField(default=False)
    # The time when the results of a blind phase were published; None before.
    published = models.DateTimeField(null=True)
    # Maximum number of submissions that a team chooses in a blind phase; the best one is on the leaderboard.
    final_submissions = models.PositiveIntegerField(default=1)
    # Whether submissions are on the leaderboard only if their team chose them.
    requires_choice = models.BooleanField(default=False)
    # The time when the results became final; None before.
    final = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="phase_once")]

    def __str__(self) -> str:
        return self.name

    def get_state(self, now: datetime) -> Literal["upcoming", "open", "closed"]:
        """Return the state of the phase at a time; it accepts submissions while open."""
        if now < self.opens:
            return "upcoming"
        return "open" if now < self.closes else "closed"

    @property
    def withholds_scores(self) -> bool:
        """Whether only organizers see scores."""
        return self.blind and self.published is None

    def shows_leaderboard(self, now: datetime) -> bool:
        """Return whether the leaderboard is public."""
        if self.withholds_scores:
            return False
        public, after = self.Leaderboard.PUBLIC, self.Leaderboard.AFTER
        return self.leaderboard == public or (self.leaderboard == after and self.get_state(now) == "closed")

    @classmethod
    def filter_public(cls, now: datetime) -> models.QuerySet[Phase]:
        """Return the phases with a public leaderboard; a query for `shows_leaderboard`."""
        after = models.Q(leaderboard=cls.Leaderboard.AFTER, closes__lte=now)
        found = cls.objects.filter(models.Q(leaderboard=cls.Leaderboard.PUBLIC) | after)
        return found.exclude(blind=True, published=None)
