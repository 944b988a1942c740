"""Campaigns of the demo: one per task type and writing task, and finished ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from capeval.data.captions import ImageId
from capeval.formats.judgments.plans import Plan
from capeval.studies.judging import RANDOM
from capeval.studies.plan import PlanOptions, plan_study
from capeval.toolkit.random import make_python_random
from capeval_server.annotation.campaigns.creation import make_from_files
from capeval_server.annotation.campaigns.form_files import build_campaign_files
from capeval_server.annotation.campaigns.leaderboard_judging import normalize_caption
from capeval_server.annotation.campaigns.lifecycle import change_state
from capeval_server.annotation.models import Assignment, Campaign, Participation, Worker
from capeval_server.annotation.releases import release_files
from capeval_server.annotation.releases.result_files import plan_items
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.task_types import TASKS, TaskType, task_named
from capeval_server.annotation.task_types.base import template_text
from capeval_server.annotation.task_types.judged_captions import JudgedCaptions
from capeval_server.annotation.task_types.judgments import M1, M2, M3, M4, M5, RatingTask
from capeval_server.annotation.task_types.pairwise import PairwiseTask
from capeval_server.annotation.task_types.triplet import TripletTask
from capeval_server.annotation.task_types.write import WriteTask
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge
from examples.demo_server.cards import draw_card
from examples.demo_server.material import Material
from examples.demo_server.opinions import SeenItem, make_answer, make_careless_answer

__all__ = [
    "CARELESS",
    "DEMOS",
    "FINISHED",
    "FIRST",
    "ROBOTS",
    "Demo",
    "all_exist",
    "create_missing",
    "get_image_id",
]

CARELESS = "robot-careless"
ROBOTS = ("robot-1", "robot-2", "robot-3", "robot-4", "robot-5", CARELESS)
"""User names of the robots, also used as their pseudonyms as workers."""

_CONSENT = Path(__file__).with_name("consent.md")
# The campaigns are small, so checks are frequent, and two failed checks pause a worker.
_JUDGING = {"batch": 5, "check_every": 5, "pause_failed": 2}
_CLASSES = ("HC", "HI", "HM", "MM")
_TRAINING = {"training_items": 5, "training_right": 4, "training_tries": 2}

_Line = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A campaign of the demo.

    Attributes:
        slug: Name in URLs.
        title: Title.
        kind: Name of the task type.
        items: Returns the items, one dictionary per line of the items file.
        text: Name of the template of the instructions; by default, the first one of the task type.
        options: Settings that differ from the defaults of the task type.
    """

    slug: str
    title: str
    kind: str
    items: Callable[[Material], Iterator[_Line]]
    text: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def _get_file_name(image: ImageId) -> str:
    return f"{image}.png"


def get_image_id(picture: str) -> str:
    """Return the image id of a campaign's picture."""
    return picture.removesuffix(".png")


def _list_writing_items(material: Material) -> Iterator[_Line]:
    for image in material.images:
        yield {"key": str(image), "image": _get_file_name(image)}


def _list_keyword_items(material: Material) -> Iterator[_Line]:
    for line, named in zip(_list_writing_items(material), material.things.values(), strict=True):
        yield {**line, "keywords": list(named)}


def _make_plan(material: Material) -> Plan:
    people = {
        image: [normalize_caption(text) for text in texts] for image, texts in material.captions.items()
    }
    machines = {
        name: {image: normalize_caption(text) for image, text in texts.items()}
        for name, texts in material.machines.items()
    }
    # One pair per image and class: few enough, but confidence intervals of wins need each system on many
    # images.
    counts = dict.fromkeys(_CLASSES, len(people))
    return plan_study(people, machines, counts, PlanOptions(held_out=2, per_pair=1))


def _list_plain_cases(material: Material) -> Iterator[tuple[ImageId, str, str, str]]:
    """Yield image, its two most descriptive captions, and one of another image."""
    for image, texts in material.captions.items():
        things = set(material.things[image])
        naming = sorted(map(normalize_caption, texts), key=lambda text: -len(things & set(text.split())))
        yield image, naming[0], naming[1], normalize_caption(material.elsewhere(image))


def _list_checks(material: Material) -> Iterator[tuple[str, ImageId, str, str]]:
    """Yield key, image, right and wrong caption of checks, for half of the images."""
    cases = islice(_list_plain_cases(material), len(material.captions) // 2)
    for number, (image, _, right, wrong) in enumerate(cases):
        yield f"check-{number}", image, right, wrong


def _list_triplets(material: Material) -> Iterator[_Line]:
    yield from plan_items(_make_plan(material), TripletTask.name)
    for number, (_, reference, right, wrong) in enumerate(_list_plain_cases(material)):
        line = {"reference": reference, "first": right, "second": wrong, "expected": {"choice": "first"}}
        if number < len(material.captions) // 2:
            yield {"key": f"check-{number}", **line}
        else:
            why = "The other sentence describes a different picture."
            yield {"key": f"training-{number}", **line, "training": True, "explanation": why}


def _list_pairs(material: Material) -> Iterator[_Line]:
    for line in plan_items(_make_plan(material), PairwiseTask.name):
        yield {**line, "image": _get_file_name(line["image"])}
    for key, image, right, wrong in _list_checks(material):
        line = {
            "image": _get_file_name(image),
            "first": right,
            "second": wrong,
            "expected": {"choice": "first"},
        }
        yield {"key": key, **line}


def _judge(
    task: TaskType, checks: Callable[[Material], Iterator[_Line]]
) -> Callable[[Material], Iterator[_Line]]:
    """Return the item generator of a task type that judges systems, with attention checks."""

    def items(material: Material) -> Iterator[_Line]:
        judged = JudgedCaptions(
            systems=material.systems(),
            references={
                image: [normalize_caption(text) for text in texts[1:]]
                for image, texts in material.captions.items()
            },
            pictures={image: _get_file_name(image) for image in material.images},
        )
        yield from task.list_judging_items(judged, answers=task.answers)
        yield from checks(material)

    return items


def _compare_with_humans(task: TaskType, expected: str) -> Callable[[Material], Iterator[_Line]]:
    """Return the item generator of task types with a candidate and a human caption."""

    def checks(material: Material) -> Iterator[_Line]:
        for key, image, human, wrong in _list_checks(material):
            line = {"candidate": wrong, "human": human, "system": RANDOM}
            picture = {"image": _get_file_name(image)} if task.needs_image else {}
            yield {"key": key, **picture, **line, "expected": {"choice": expected}}

    return _judge(task, checks)


def _show_caption(
    task: TaskType, expected: Mapping[str, str], check: str = ""
) -> Callable[[Material], Iterator[_Line]]:
    """Return the item generator of task types with one caption.

    Args:
        task: The task type.
        expected: Expected answer of a check.
        check: Caption of all checks; by default, each check shows a caption of another image.
    """

    def checks(material: Material) -> Iterator[_Line]:
        for key, image, _, wrong in _list_checks(material):
            line = {"image": _get_file_name(image), "caption": check or wrong, "system": RANDOM}
            yield {"key": key, **line, "expected": dict(expected)}

    return _judge(task, checks)


def _repeat_example(task: TaskType) -> Callable[[Material], Iterator[_Line]]:
    """Return the item generator of a task type without a dedicated demo."""

    def items(material: Material) -> Iterator[_Line]:
        for image in material.images:
            picture = {"image": _get_file_name(image)} if task.needs_image else {}
            yield {**task.example, "key": str(image), "group": str(image), **picture}

    return items


_HUMAN_COMPARISONS = _compare_with_humans(M1(), "worse")

_DEMOS = (
    Demo(
        slug="robots-write-coco",
        title="Robots write captions (COCO)",
        kind=WriteTask.name,
        text="write-coco",
        items=_list_writing_items,
    ),
    Demo(
        slug="robots-write-nocaps",
        title="Robots write captions with keywords (nocaps)",
        kind=WriteTask.name,
        text="write-nocaps",
        items=_list_keyword_items,
    ),
    Demo(
        slug="robots-write-pascal",
        title="Robots describe what is going on (PASCAL-50S)",
        kind=WriteTask.name,
        text="write-pascal",
        items=_list_writing_items,
    ),
    Demo(
        slug="robots-triplet",
        title="Robots compare sentences (triplets)",
        kind=TripletTask.name,
        items=_list_triplets,
        options={**_JUDGING, **_TRAINING},
    ),
    Demo(
        slug="robots-pairwise",
        title="Robots choose the better caption (pairs)",
        kind=PairwiseTask.name,
        items=_list_pairs,
        options={**_JUDGING, "answers": 5},
    ),
    Demo(
        slug="robots-m1",
        title="Robots compare with a human caption (M1)",
        kind=M1.name,
        items=_HUMAN_COMPARISONS,
        options=_JUDGING,
    ),
    Demo(
        slug="robots-m2",
        title="Robots distinguish human and machine captions (M2)",
        kind=M2.name,
        items=_show_caption(M2(), {"choice": "machine"}, "a of on the a with in a"),
        options=_JUDGING,
    ),
    Demo(
        slug="robots-m3",
        title="Robots rate correctness (M3)",
        kind=M3.name,
        items=_show_caption(M3(), {"choice": "1"}),
        options=_JUDGING,
    ),
    Demo(
        slug="robots-m4",
        title="Robots rate the amount of detail (M4)",
        kind=M4.name,
        items=_show_caption(M4(), {"choice": "1"}, "something"),
        options=_JUDGING,
    ),
    Demo(
        slug="robots-m5",
        title="Robots compare the meaning of sentences (M5)",
        kind=M5.name,
        items=_compare_with_humans(M5(), "no"),
        options=_JUDGING,
    ),
    Demo(
        slug="robots-rating",
        title="Robots rate precision and recall (THumB)",
        kind=RatingTask.name,
        items=_show_caption(RatingTask(), {"precision": "1"}),
        options=_JUDGING,
    ),
)

DEMOS = (
    *_DEMOS,
    *(
        Demo(slug=f"robots-{name}", title=f"Robots: {task.title}", kind=name, items=_repeat_example(task))
        for name, task in TASKS.items()
        if name not in {demo.kind for demo in _DEMOS}
    ),
)
"""Campaigns for robots: the ones above, and one for each other task type."""

FIRST = DEMOS[0].slug
"""Campaign to which visitors are invited."""

FINISHED = (
    Demo(
        slug="robots-m1-finished",
        title="Robots compared with a human caption (M1, finished)",
        kind=M1.name,
        items=_HUMAN_COMPARISONS,
        options=_JUDGING,
    ),
    Demo(
        slug="robots-pairwise-finished",
        title="Robots chose the better caption (pairs, finished)",
        kind=PairwiseTask.name,
        items=_list_pairs,
        options={**_JUDGING, "answers": 3},
    ),
)
"""Campaigns that are finished and frozen when the demo starts."""

# The name also appears in the leaderboard columns, so that robot answers are not mistaken for human
# judgments.
_RELEASE = "by-robots"


def all_exist() -> bool:
    """Return whether all campaigns exist."""
    wanted = [demo.slug for demo in (*DEMOS, *FINISHED)]
    return Campaign.objects.filter(slug__in=wanted).count() == len(wanted)


def create_missing(user: User, challenge: Challenge, material: Material) -> None:
    """Create and open missing campaigns; answer, close and freeze those in `FINISHED`.

    Args:
        user: An organizer of the challenge.
        challenge: Challenge of the campaigns.
        material: Images and captions for the items.
    """
    cards = {_get_file_name(image): draw_card(image, material.things[image]) for image in material.images}
    for name in ROBOTS:
        _make_robot(name)
    # Reversed, since lists show the newest campaign first.
    for demo in reversed((*DEMOS, *FINISHED)):
        if Campaign.objects.filter(slug=demo.slug).exists():
            continue
        # In a transaction, so that a restart after an interruption creates the same campaign again.
        with transaction.atomic():
            made = make_from_files(user, _make_files(demo, challenge, material, cards))
            opened = change_state(user, made, Campaign.State.OPEN)
            if demo in FINISHED:
                _finish(user, opened, material)


def _make_files(
    demo: Demo, challenge: Challenge, material: Material, cards: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the files of a campaign, as built by the organizer's form."""
    task = task_named(demo.kind)
    about = {"slug": demo.slug, "title": demo.title, "kind": demo.kind, "challenge": challenge.slug}
    texts = {
        "instructions": template_text(demo.text or task.texts[0]),
        "consent": _CONSENT.read_text(encoding="utf-8"),
    }
    lines = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in demo.items(material))
    pictures = cards if task.needs_image else None
    return build_campaign_files(
        {**about, **texts},
        {**_describe_study(), **demo.options},
        items=lines.encode(),
        pictures=pictures,
        systems=material.submissions if task.result.judges_systems else None,
    )


def _describe_study() -> dict[str, str]:
    """Return the information about the study that workers read before they agree."""
    return {
        "run_by": "The person who started this demo",
        "contact": settings.ADDRESS,
        "license": "The answers are not published.",
        "pay_terms": "The answers are not paid.",
    }


def _make_robot(name: str) -> None:
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save()
    # Other workers get random pseudonyms; robots are recognizable by name.
    Worker.objects.get_or_create(user=user, defaults={"pseudonym": name})


def _finish(user: User, campaign: Campaign, material: Material) -> None:
    """Answer all items of a choice campaign as robots, then close and freeze it."""
    number = enrollment.latest_texts(campaign).number
    robots = [
        enrollment.agree(enrollment.enter_as_user(User.objects.get(username=name), campaign), number)
        for name in ROBOTS
    ]
    # Rounds in random order until no robot gets an item, because the mirroring depends on the order of
    # requests.
    order = make_python_random(0, campaign.slug)
    while sum(_answer_all(robot, material) for robot in order.sample(robots, len(robots))):
        pass
    change_state(user, campaign, Campaign.State.CLOSED)
    release_files.freeze(user, campaign, _RELEASE)


def _answer_all(robot: Participation, material: Material) -> int:
    """Answer the held or newly assigned items of a robot; return their number."""
    given = assignment.assign_work(robot).assignments
    for held in given:
        answer = _choose_answer(robot, held, material)
        sent = submit.SubmittedAnswer(answer=answer, revision=1, key=uuid4().hex, events={})
        submit.submit(held, sent)
    return len(given)


def _choose_answer(robot: Participation, held: Assignment, material: Material) -> dict[str, str]:
    kind, name = robot.campaign.kind, robot.worker.pseudonym
    if name == CARELESS:
        return make_careless_answer(kind)
    captions = {_get_file_name(image): texts for image, texts in material.captions.items()}
    return make_answer(
        kind,
        SeenItem(
            shown=task_named(kind).shown(held.item.payload, mirrored=held.mirrored),
            captions=captions[held.item.image.name] if held.item.image else (),
            rng=make_python_random(held.item_id, name),
        ),
    )
