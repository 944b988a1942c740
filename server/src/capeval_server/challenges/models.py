"""Challenges: splits with reference sets, and phases in which to submit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from django.conf import settings
from django.db import models
from django.utils import timezone

from capeval_server.core.row_version import RowVersionedModel

__all__ = [
    "ALGORITHM",
    "IMAGE_ID",
    "LEAST_SUBSET",
    "MOST_IN_ALL",
    "MOST_PER_DAY",
    "Challenge",
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

# The most submissions that a quota may allow, and that a team may be given beyond it.
MOST_PER_DAY, MOST_IN_ALL = 10_000, 1_000_000
LEAST_SUBSET = 100
ALGORITHM = "<alg>"
IMAGE_ID = re.compile(r"\{id(?::0?([0-9]{1,2}))?\}")


class Challenge(models.Model):
    """A captioning challenge."""

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    rules = models.TextField(blank=True)
    data = models.TextField(blank=True)
    faq = models.TextField(blank=True)
    contact = models.TextField(blank=True)
    # What a submitter declares: a list of {"name", "required", "shown"}; it is shown unless that says no.
    fields = models.JSONField(default=list)
    # Whether an organizer approves each participant before they can submit.
    approval = models.BooleanField(default=False)
    # Who manages it; staff manage all.
    organizers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="challenges", blank=True)

    def __str__(self) -> str:
        return self.slug

    def shown(self, declared: Mapping[str, str]) -> dict[str, str]:
        """What of a submission everybody may see that was declared, in the order of the fields."""
        names = [field["name"] for field in self.fields if field.get("shown", True)]
        return {name: declared[name] for name in names if name in declared}


class Picture(models.Model):
    """A picture in the texts of a challenge."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="pictures")
    # By which texts name it.
    name = models.CharField(max_length=100)
    file = models.FileField(upload_to="pictures", max_length=300)
    # Of its content, as what it is served.
    media_type = models.CharField(max_length=20)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="picture_once")]


class Split(models.Model):
    """A set of images to caption, and how captions of it are scored."""

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="splits")
    name = models.SlugField()
    results = models.CharField(max_length=200)
    image_ids = models.JSONField()
    metrics = models.JSONField()
    sort_by = models.CharField(max_length=50)
    # The fewest images of a subset that private references score: scores of few tell much of single images.
    least_subset = models.PositiveIntegerField(default=LEAST_SUBSET)
    # Where an image can be seen: an address with {id} in it, or {id:012} for an id of 12 digits.
    image_url = models.CharField(max_length=500, blank=True)
    # Where to get the images and other data: a list of {"text", "url"}.
    links = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="split_once")]

    def images_of_subsets(self) -> dict[str, list[int | str]]:
        """The images of each subset, in order."""
        # No question to the database where the subsets were fetched before.
        subsets = sorted(self.subsets.all(), key=lambda subset: subset.pk)
        return {subset.name: subset.image_ids for subset in subsets}

    def address_of(self, image: int | str) -> str:
        """Where an image can be seen; nothing if that is not known."""
        # An id in an address is data: it can't end the path or begin a query.
        text = quote(str(image), safe="")
        return IMAGE_ID.sub(lambda found: text.zfill(int(found[1] or 0)), self.image_url)

    def algorithm(self, filename: str) -> str | None:
        """The algorithm in the name of a result file; none if it is not a result file of this split."""
        pattern = re.escape(self.results).replace(re.escape(ALGORITHM), r"([A-Za-z0-9._-]{1,64})")
        match = re.fullmatch(pattern, filename, re.ASCII)
        return match[1] if match else None


class ImageList(models.Model):
    """What is known of a split's images besides their ids: names of files, addresses, sizes, licenses."""

    split = models.OneToOneField(Split, on_delete=models.CASCADE, related_name="image_list")
    # As `image_info` of capeval's formats writes it, deflated: that of COCO's test images has 9 MB.
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)


class SplitConstraints(models.Model):
    """What captions of a split's images shall mention, which the page of captions marks."""

    split = models.OneToOneField(Split, on_delete=models.CASCADE, related_name="constraints")
    # As `write_constraints` of capeval's formats writes it, deflated.
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)


class ReferenceSet(models.Model):
    """References of a split, such as c5; the highest version counts.

    A set may have references of a part of the split's images alone, as COCO's c40 has of 5,000 test images.
    """

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="reference_sets")
    name = models.SlugField()
    public = models.BooleanField()
    version = models.PositiveIntegerField(default=0)
    # Of which images, in the order of the split's; none where it has references of all of them.
    part = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["split", "name"], name="reference_set_once")]

    @property
    def image_ids(self) -> list[int] | list[str]:
        """The images that it has references of, in the order of the split's."""
        found: list[int] | list[str] = self.split.image_ids if self.part is None else self.part
        return found

    def scored_subsets(
        self, subsets: Mapping[str, list[int | str]] | None = None
    ) -> dict[str, list[int | str]]:
        """The subsets of the split that get scores of their own, of the images that it has references of.

        They are in the split's order. Private references score none of fewer than `least_subset` images.

        Args:
            subsets: The split's `images_of_subsets`, where they are at hand.
        """
        subsets = self.split.images_of_subsets() if subsets is None else subsets
        if self.part is not None:
            covered = set(self.part)
            subsets = {name: [one for one in images if one in covered] for name, images in subsets.items()}
        least = 1 if self.public else self.split.least_subset
        return {name: images for name, images in subsets.items() if len(images) >= least}


class Reported(RowVersionedModel):
    """Scores by references of a set that were reported elsewhere, as in a paper or on an older leaderboard.

    They are shown beside what was scored here, and are never part of it: they are no submissions.
    """

    reference_set = models.ForeignKey(ReferenceSet, on_delete=models.CASCADE, related_name="reported")
    name = models.SlugField()
    # What they are, and an address with them.
    title = models.CharField(max_length=200)
    url = models.CharField(max_length=500, blank=True)
    # Whether the rank that each row would have is shown.
    ranked = models.BooleanField(default=False)
    # A list of what `ReportedRow` of reported.py has.
    rows = models.JSONField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference_set", "name"], name="reported_once")]


class ReferenceVersion(models.Model):
    """A file of references. It never changes: other references are another version."""

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
    """Some images of a split that also get scores of their own, such as a domain."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="subsets")
    name = models.CharField(max_length=100)
    image_ids = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["split", "name"], name="subset_once")]


class Phase(models.Model):
    """A time in which results of some splits can be submitted, up to a quota."""

    class Leaderboard(models.TextChoices):
        """Who sees the leaderboard, and when."""

        PUBLIC = "public", "everybody"
        AFTER = "after", "everybody, once the phase is over"
        HIDDEN = "hidden", "nobody"

    class CaptionsBy(models.TextChoices):
        """Whose captions everybody may read, of the submissions on the leaderboard."""

        AGREED = "agreed", "those of teams that agreed"
        STANDING = "standing", "those of all teams on the leaderboard"

    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, related_name="phases")
    name = models.SlugField()
    opens = models.DateTimeField()
    closes = models.DateTimeField()
    splits = models.ManyToManyField(Split, related_name="phases")
    quota_per_day = models.PositiveIntegerField()
    quota_total = models.PositiveIntegerField()
    leaderboard = models.CharField(max_length=10, choices=Leaderboard)
    # The names of the splits whose captions everybody may read, as far as the leaderboard is public.
    captions = models.JSONField(default=list, blank=True)
    captions_by = models.CharField(max_length=10, choices=CaptionsBy, default=CaptionsBy.AGREED)
    # Since when its results are final; none while they are not.
    final = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["challenge", "name"], name="phase_once")]

    def __str__(self) -> str:
        return self.name

    def when(self, now: datetime) -> Literal["upcoming", "open", "closed"]:
        """Where a time is: it takes submissions while it is open."""
        if now < self.opens:
            return "upcoming"
        return "open" if now < self.closes else "closed"

    def shows_leaderboard(self, now: datetime) -> bool:
        """Whether everybody may see the leaderboard."""
        public, after = self.Leaderboard.PUBLIC, self.Leaderboard.AFTER
        return self.leaderboard == public or (self.leaderboard == after and self.when(now) == "closed")

    @classmethod
    def showing(cls, now: datetime) -> models.QuerySet[Phase]:
        """The phases whose leaderboard everybody may see, as `shows_leaderboard` says."""
        after = models.Q(leaderboard=cls.Leaderboard.AFTER, closes__lte=now)
        return cls.objects.filter(models.Q(leaderboard=cls.Leaderboard.PUBLIC) | after)
