"""Campaigns of the tests, and robots that work on them."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from django.db import connection

from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.definition import ItemDefinition
from capeval_server.annotation.campaigns.items import add_items
from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import Assignment, Campaign, Item, Participation, Response, TextVersion
from capeval_server.annotation.responses import assignment, submit
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers import enrollment

__all__ = [
    "STUDY",
    "STUDY_LINES",
    "answer",
    "at_once",
    "compare_systems",
    "given",
    "hold",
    "join",
    "make",
    "raw_answer",
]


# The information about a study that a campaign needs to open.
STUDY: dict[str, Any] = {
    "run_by": "Vision Lab",
    "contact": "lab@example.org",
    "license": "CC BY 4.0",
    "pay_terms": "Nobody is paid.",
}
# The same in a campaign file.
STUDY_LINES = "".join(f'{name} = "{value}"\n' for name, value in STUDY.items())

# Sentences of tests may be short, and of any language.
LENIENT = dict.fromkeys(("short", "too-few-words", "language"), "off")


def new_items(kind: str, number: int, checks: int = 0) -> Iterable[ItemDefinition]:
    """Items of a kind, in groups of four, and after them checks."""
    payloads: dict[str, dict[str, Any]] = {
        "write": {"keywords": ["cart"]},
        "triplet": {"reference": "a dog", "first": "a hound", "second": "a cat"},
        "pairwise": {"first": "a hound", "second": "a cat"},
    }
    for index in range(number + checks):
        yield ItemDefinition(
            key=str(index),
            image="",
            group=str(index // 4),
            category="HC",
            payload=payloads[kind],
            expected={"choice": "first"} if index >= number else {},
        )


def make(
    kind: str = "triplet", *, items: int = 3, checks: int = 0, state: str = "open", **options: Any
) -> Campaign:
    """Create a campaign, by default without reviews, attention checks and repeated items."""
    chosen = {"review_first": 0, "review_every": 0, "check_every": 0, "repeat_every": 0, **STUDY, **options}
    if task_named(kind).choices:
        # One item at a time, so that tests control the assignment of items.
        chosen.setdefault("batch", 1)
    settings = CampaignOptions.of_kind(kind, **chosen)
    made = Campaign.objects.create(
        slug=f"campaign-{uuid4().hex[:12]}", title="A campaign", kind=kind, settings=settings.model_dump()
    )
    TextVersion.objects.create(
        campaign=made, number=1, instructions="# Work", rules=LENIENT if task_named(kind).written else {}
    )
    add_items(made, new_items(kind, items, checks), settings.answers)
    return lifecycle.change_state(None, made, state) if state != "draft" else made


def compare_systems(campaign: Campaign, items: int) -> None:
    """Add pairs of captions of three systems to a campaign."""
    names = [("a", "b"), ("b", "c"), ("c", "a")]
    lines = (
        ItemDefinition(
            key=str(index),
            image="",
            group=str(index),
            category="MM",
            payload={
                "first": "a hound",
                "second": "a cat",
                "first_by": names[index % 3][0],
                "second_by": names[index % 3][1],
            },
            expected={},
        )
        for index in range(items)
    )
    add_items(campaign, lines, campaign.settings["answers"])


def join(campaign: Campaign, number: int = 1) -> list[Participation]:
    """Create workers with consent."""
    tokens = enrollment.invite(None, campaign, number)
    number = enrollment.latest_texts(campaign).number
    return [enrollment.agree(enrollment.get_invited(campaign, token), number) for token in tokens]


def hold(worker: Participation) -> Assignment:
    """Assign work to a worker and return the first assignment."""
    found = assignment.assign_work(worker)
    assert found.assignments, found.why
    return found.assignments[0]


def raw_answer(campaign: Campaign, text: str = "a cart in a street") -> dict[str, Any]:
    """An answer as a browser sends it."""
    return {"caption": text} if task_named(campaign.kind).name == "write" else {"choice": "left"}


def given(
    raw: dict[str, Any], *, revision: int = 1, key: str | None = None, **events: Any
) -> submit.SubmittedAnswer:
    """Return an answer in the form that a browser submits."""
    return submit.SubmittedAnswer(answer=raw, revision=revision, key=key or uuid4().hex, events=events)


def answer(held: Assignment, text: str = "a cart in a street", **more: Any) -> submit.AnswerOutcome:
    """Answer an assignment and return the outcome."""
    return submit.submit(held, given(raw_answer(held.item.campaign, text), **more))


def counted(campaign: Campaign) -> int:
    """How many answers count."""
    return Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False).count()


def free(campaign: Campaign) -> list[int]:
    """Return the number of slots of each item that are free for any worker."""
    return list(Item.objects.filter(campaign=campaign).order_by("pk").values_list("free", flat=True))


def at_once(*works: Callable[[], object]) -> list[str]:
    """Run functions in threads that start at the same moment; return the tracebacks of failures."""
    begun = threading.Barrier(len(works))
    wrong: list[str] = []

    def run(work: Callable[[], object]) -> None:
        begun.wait()
        try:
            work()
        except Exception:
            wrong.append(traceback.format_exc())
        finally:
            connection.close()

    crowd = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return wrong
