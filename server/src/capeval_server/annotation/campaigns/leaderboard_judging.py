"""Judgment campaigns of a leaderboard's submissions, created in one step.

A bundle is one campaign per chosen task type, about the same images and systems: the submissions, the human
baseline and captions of other images.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from pydantic import ValidationError

from capeval.data.captions import ImageId
from capeval.errors.messages import format_names
from capeval.studies.judging import HUMAN, RANDOM
from capeval.toolkit import validate_choice
from capeval.toolkit.random import make_python_random
from capeval_server.annotation.campaigns.creation import make_from_files
from capeval_server.annotation.campaigns.form_files import build_campaign_files
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TASKS, TaskType, task_named
from capeval_server.annotation.task_types.base import template_consent, template_text
from capeval_server.annotation.task_types.judged_captions import JudgedCaptions
from capeval_server.challenges.models import Phase, ReferenceSet
from capeval_server.challenges.services.image_archives import list_archived_images, read_archived_images
from capeval_server.challenges.services.image_lists import get_images
from capeval_server.core.errors import CampaignError
from capeval_server.core.validation_problems import list_problems
from capeval_server.submissions.models import Submission, SubmissionFile
from capeval_server.submissions.selectors.image_browser import candidates_in, references_in

__all__ = [
    "DEFAULT_CHECK_EVERY",
    "LONGEST_NAME",
    "LONGEST_TITLE",
    "JudgingRequest",
    "check_kinds",
    "collect_captions",
    "collect_items",
    "create_judging",
    "default_name",
    "default_title",
    "find_free_name",
    "find_taken_names",
    "judging_kinds",
    "list_judgeable",
    "normalize_caption",
]

DEFAULT_CHECK_EVERY: int = CampaignOptions.model_fields["check_every"].default
"""Default interval of attention checks, in answers: that of all campaigns."""
LONGEST_NAME, LONGEST_TITLE = 30, 120
"""Maximum lengths of the beginnings of names in URLs and of titles."""

_JUDGED = "-judged"
_NUMBER = re.compile(r"(\d+)$")


@dataclass(frozen=True, kw_only=True)
class JudgingRequest:
    """Choices of an organizer for a bundle of judgment campaigns.

    Attributes:
        phase: The phase of the submissions.
        references: The reference set, which has the human captions.
        submissions: Ids of the judged submissions, all on the leaderboard.
        kinds: The task types, such as `m1`.
        name: Beginning of the campaigns' names in URLs.
        title: Beginning of the campaigns' titles.
        images: Number of images, drawn at random.
        answers: Number of answers per item; None for the default of each task type.
        check_every: Interval of attention checks in answers, as in `CampaignOptions`.
        seed: Seed of random draws.
        options: Further settings of the campaigns.
    """

    phase: Phase
    references: ReferenceSet
    submissions: Sequence[UUID]
    kinds: Sequence[str]
    name: str
    title: str
    images: int = 100
    answers: int | None = None
    check_every: int = DEFAULT_CHECK_EVERY
    seed: int = 0
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def tasks(self) -> list[TaskType]:
        """The task types."""
        return [task_named(kind) for kind in self.kinds]

    def get_options(self, task: TaskType) -> CampaignOptions:
        """Return the settings of the campaign of a task type.

        Raises:
            CampaignError: A setting is invalid.
        """
        given = {"check_every": self.check_every, "seed": self.seed, **self.options}
        if self.answers is not None:
            given["answers"] = self.answers
        try:
            return CampaignOptions.of_kind(task.name, **given)
        except ValidationError as error:
            raise CampaignError("; ".join(list_problems(error))) from None


def default_name(phase: Phase) -> str:
    """Return the default beginning of the names of a phase's judgment campaigns in URLs."""
    return f"{phase.challenge.slug[: LONGEST_NAME - len(_JUDGED)]}{_JUDGED}"


def find_taken_names(name: str, kinds: Sequence[str]) -> list[str]:
    """Return the names of a bundle's campaigns in URLs that existing campaigns have."""
    names = [f"{name}-{kind}" for kind in kinds]
    return sorted(Campaign.objects.filter(slug__in=names).values_list("slug", flat=True))


def find_free_name(phase: Phase) -> str:
    """Return the default name of a phase's next bundle: with a number if there is a bundle already."""
    name = default_name(phase)
    numbered = (f"{name[: LONGEST_NAME - 4]}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if not find_taken_names(each, judging_kinds()))


def default_title(phase: Phase) -> str:
    """Return the default beginning of the titles of a phase's judgment campaigns."""
    return f"{phase.challenge.title}, {phase.name}"[:LONGEST_TITLE]


def judging_kinds() -> list[str]:
    """Return the names of the task types that can judge a leaderboard, in alphabetical order."""
    return sorted(
        name
        for name, task in TASKS.items()
        if task.result.judges_systems and type(task).list_judging_items is not TaskType.list_judging_items
    )


def check_kinds(kinds: Sequence[str]) -> list[str]:
    """Return task types without repetitions.

    Raises:
        CampaignError: A task type can't judge a leaderboard, or there is none.
    """
    for kind in kinds:
        validate_choice("kind", kind, judging_kinds(), error=CampaignError)
    if not kinds:
        raise CampaignError(f"'kinds' must have at least one of {', '.join(judging_kinds())}")
    return list(dict.fromkeys(kinds))


def list_judgeable(phase: Phase) -> list[Submission]:
    """Return the submissions on a phase's leaderboard, without hidden ones, ordered by team."""
    found = Submission.objects.filter(phase=phase, stands=True, state=Submission.State.SCORED)
    return list(found.exclude(mark=Submission.Mark.HIDDEN).select_related("team").order_by("team__name"))


def normalize_caption(text: str) -> str:
    """Return a caption in lower case on one line without a final period, to hide its author."""
    return " ".join(text.split()).lower().rstrip(" .")


def collect_captions(
    wanted: JudgingRequest, pictures: Sequence[str] = (), *, is_forecast: bool = False
) -> JudgedCaptions:
    """Return the captions of the chosen submissions, of people, and of other images.

    The row Human is the human baseline of the references or, without one, their first caption. The images
    are drawn from those with captions by all systems and, if a task type shows images, with a picture.

    Args:
        wanted: The choices.
        pictures: The names of the image files: those in the split's image list, or names that end in the id
            of the image, such as `42.png` or `COCO_val2014_000000000042.jpg`. By default, the files that the
            challenge has of the split's images.
        is_forecast: Whether task types that show images may be without any.

    Raises:
        CampaignError: A submission is not on the leaderboard, or there are too few images.
        OSError: The challenge's files can't be read.
    """
    systems, references = _load_systems(wanted), _load_references(wanted.references)
    baseline = wanted.references.baselines.first()
    human = _load_captions(baseline, wanted.references) if baseline is not None else {}
    if not human:
        human = {image: captions[0] for image, captions in references.items()}
        references = {image: captions[1:] for image, captions in references.items()}
    systems = {HUMAN: human, **systems}
    showing = [task.name for task in wanted.tasks if task.needs_image]
    shows_images = bool(showing)
    if shows_images and not pictures:
        pictures = list_archived_images(wanted.references.split)
    named = _match_pictures(wanted.references, pictures)
    if is_forecast and not pictures:
        named = dict.fromkeys(references, "")
    if shows_images and not named:
        got = "none" if not pictures else format_names(pictures)
        raise CampaignError(
            f"'pictures' must have files with an image id at the end of their names, such as 42.jpg, for the"
            f" task types {', '.join(showing)} (got {got})"
        )
    complete = [
        image
        for image in wanted.references.image_ids
        if references[image]
        and all(captions.get(image) for captions in systems.values())
        and (image in named or not shows_images)
    ]
    if len(complete) < wanted.images:
        pictured = " and a picture" if shows_images else ""
        raise CampaignError(
            f"'images' must be at most {len(complete):,}, the number of images with two human captions,"
            f" a caption by each system{pictured} (got {wanted.images:,})"
        )
    rng = make_python_random(wanted.seed, "images")
    images = rng.sample(complete, wanted.images)
    others = [*images[1:], *images[:1]]
    systems = {name: {image: captions[image] for image in images} for name, captions in systems.items()}
    systems[RANDOM] = {image: human[other] for image, other in zip(images, others, strict=True)}
    return JudgedCaptions(
        systems=systems,
        references={image: references[image] for image in images},
        pictures={image: named[image] for image in images} if shows_images else {},
        seed=wanted.seed,
    )


def _load_systems(wanted: JudgingRequest) -> dict[str, Mapping[ImageId, str]]:
    known = {submission.pk: submission for submission in list_judgeable(wanted.phase)}
    unknown = [str(pk) for pk in wanted.submissions if pk not in known]
    if unknown or not wanted.submissions:
        got = format_names(unknown) if unknown else "none"
        raise CampaignError(f"'submissions' must be submissions on the leaderboard (got {got})")
    found: dict[str, Mapping[ImageId, str]] = {
        known[pk].entrant: _load_captions(known[pk], wanted.references) for pk in wanted.submissions
    }
    if taken := {HUMAN, RANDOM} & found.keys():
        raise CampaignError(f"a judged team can't have the name {taken.pop()}, which is a row of its own")
    return found


def _load_captions(submission: Submission, references: ReferenceSet) -> dict[ImageId, str]:
    file = SubmissionFile.objects.filter(submission=submission, split=references.split).first()
    if file is None:
        return {}
    candidates = candidates_in(str(file.file.name))
    return {image: normalize_caption(candidates[image][0]) for image in candidates.image_ids}


def _load_references(references: ReferenceSet) -> dict[ImageId, list[str]]:
    version = references.versions.get(number=references.version)
    found = references_in(str(version.file.name))
    return {
        image: [text for text in map(normalize_caption, found[image]) if text] for image in found.image_ids
    }


def _match_pictures(references: ReferenceSet, pictures: Sequence[str]) -> dict[ImageId, str]:
    """Return the picture of each image, by the image list or by the number at the end of its name."""
    infos = [info for info in get_images(references.split) if info.file_name]
    by_name = {PurePosixPath(info.file_name).name: info.id for info in infos}
    by_id = {str(image): image for image in references.image_ids}
    found: dict[ImageId, str] = {}
    for name in pictures:
        path = PurePosixPath(name)
        stem = path.stem
        number = _NUMBER.search(stem)
        keys = (stem, str(int(number[1]))) if number else (stem,)
        image = by_name.get(path.name) or next((by_id[key] for key in keys if key in by_id), None)
        if image is not None:
            found.setdefault(image, name)
    return found


def collect_items(
    task: TaskType, judged: JudgedCaptions, options: CampaignOptions
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the items and the attention checks of a campaign, as lines of its file.

    There are as many checks as a worker who answers all items receives, but at most one per image.
    """
    items = list(task.list_judging_items(judged, answers=options.answers))
    if not options.check_every:
        return items, []
    # All answers of these batches but one are to items. The first batch never has a check.
    interval = options.batch * options.count_batches_of(options.check_every) - 1
    number, left = divmod(len(items), interval)
    return items, list(islice(task.list_judging_checks(judged), number + (left > options.batch)))


def create_judging(
    user: User | None, wanted: JudgingRequest, pictures: Mapping[str, bytes] | None = None
) -> list[Campaign]:
    """Create the campaigns of a bundle as drafts, all or none.

    Args:
        user: An organizer of the challenge; None for the command line.
        wanted: The choices.
        pictures: The images by name, if a task type shows images; by default, those of the challenge.

    Raises:
        CampaignError: The choices are invalid, or the name of a campaign is taken.
        NotFoundError: The user does not organize the challenge.
        OSError: An image can't be read or stored.
    """
    judged = collect_captions(wanted, list(pictures or {}))
    names = judged.pictures.values()
    if pictures or not names:
        shown = {name: (pictures or {})[name] for name in names}
    else:
        shown = read_archived_images(wanted.references.split, names)
    systems = {
        one.entrant: str(one.pk) for one in list_judgeable(wanted.phase) if one.pk in wanted.submissions
    }
    made = []
    with transaction.atomic():
        for task in wanted.tasks:
            options = wanted.get_options(task)
            items, checks = collect_items(task, judged, options)
            about = {
                "slug": f"{wanted.name}-{task.name}",
                "title": f"{wanted.title}: {task.title}"[:200],
                "kind": task.name,
                "challenge": wanted.phase.challenge.slug,
                "instructions": template_text(task.texts[0]),
                "consent": template_consent(task),
            }
            files = build_campaign_files(
                about,
                # A campaign without checks has no interval either.
                {**options.model_dump(), "check_every": options.check_every if checks else 0},
                items="".join(
                    f"{json.dumps(line, ensure_ascii=False)}\n" for line in [*items, *checks]
                ).encode(),
                pictures=shown if task.needs_image else None,
                systems=systems,
            )
            made.append(make_from_files(user, files))
    return made
