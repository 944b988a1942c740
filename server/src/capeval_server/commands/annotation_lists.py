"""Command that lists campaigns, and the items, workers, images and releases of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import get_campaign
from capeval_server.commands.common import set_up

if TYPE_CHECKING:
    from capeval_server.annotation.campaigns.progress import ItemFilter
    from capeval_server.annotation.models import Campaign, Item
    from capeval_server.annotation.review.worker_summaries import WorkerSummary

__all__ = ["print_list"]


def print_list(
    slug: Annotated[
        str, Argument(metavar="CAMPAIGN", help="Name of a campaign; by default, list all campaigns.")
    ] = "",
    what: Annotated[
        Literal["items", "workers", "images", "releases", "reviews"],
        Argument(metavar="LIST", help="items, workers, images, releases, or reviews (answers to review)."),
    ] = "items",
    which: Annotated[
        Literal["unfinished", "reported", "checks", "training", "repeats"] | None,
        Option(help="Items to list; reported items are on hold.", show_default="all except repeated ones"),
    ] = None,
) -> None:
    """List all campaigns, or the items, workers, images, releases or reviews of one."""
    set_up()
    if which and (not slug or what != "items"):
        raise OptionError("'--which' requires a campaign and its items")
    if not slug:
        lines = _list_campaigns()
    elif what == "items":
        lines = _list_items(get_campaign(slug), which)
    else:
        lines = _LISTS[what](get_campaign(slug))
    for line in lines:
        print(line)


def _list_campaigns() -> Iterator[str]:
    from capeval_server.annotation.campaigns.progress import with_counts
    from capeval_server.annotation.models import Campaign as Campaigns

    rows: Any = with_counts(Campaigns.objects.all())
    for one in rows:
        place = f"; challenge: {one.challenge.slug}" if one.challenge else ""
        yield f"{one.slug}: {one.state}; {one.kind}; answers: {one.counted:,} of {one.wanted:,}{place}"


def _list_items(campaign: Campaign, which: ItemFilter | None) -> Iterator[str]:
    from capeval_server.annotation.campaigns.progress import filter_items

    for item in filter_items(campaign, which or "").select_related("image").iterator():
        yield f"{item.key}: {'; '.join(_describe_item(item))}"


def _describe_item(item: Item) -> Iterator[str]:
    if item.is_training:
        yield "quiz" if item.is_quiz else "training"
    elif item.repeats_id:
        yield "repeated"
    elif item.is_check:
        yield "attention check"
    else:
        yield f"answers: {item.counted:,} of {item.wanted:,}"  # type: ignore[attr-defined]
    if item.category:
        yield f"class: {item.category}"
    if item.image:
        yield f"image: {item.image.name}"
    if item.held:
        yield f"on hold: {item.held_reason}" if item.held_reason else "on hold"


def _list_workers(campaign: Campaign) -> Iterator[str]:
    from capeval_server.annotation.core.options import get_options
    from capeval_server.annotation.review.worker_summaries import summarize_workers
    from capeval_server.annotation.workers.trust import is_trusted

    options = get_options(campaign)
    summaries = {one.participation.pk: one for one in summarize_workers(campaign)}
    for one in campaign.participations.select_related("worker").order_by("pk"):
        parts = [
            one.stage,
            f"answers: {one.answered:,}",
            f"judged: {one.judged:,}",
            f"accepted: {one.fine:,}",
        ]
        parts += ["trusted"] if is_trusted(one, options) else []
        parts += _describe_statistics(summaries[one.pk]) if one.pk in summaries else []
        yield f"{one.worker.pseudonym}: {'; '.join(parts)}"


def _describe_statistics(summary: WorkerSummary) -> Iterator[str]:
    shares = {
        "checks passed": summary.checks,
        "agrees with majority": summary.agreement,
        "left side": summary.left,
        "self-consistency": summary.repeats,
    }
    for name, share in shares.items():
        if share.of:
            yield f"{name}: {share.number:,} of {share.of:,}"
    if summary.likeness:
        yield f"similarity to others (CIDEr-D): {summary.likeness[0]:.3f}"
    if summary.seconds:
        yield f"median time: {summary.seconds[0]:.1f} s"
    if summary.skill and summary.competence:
        yield f"correct (Dawid-Skene): {summary.skill[0]:.3f}"
        yield f"competence (MACE): {summary.competence[0]:.3f}"
    for signal in summary.signals:
        yield f"signal: {signal.name}: {signal.evidence.removesuffix('.')}"


def _list_images(campaign: Campaign) -> Iterator[str]:
    for image in campaign.images.order_by("pk").iterator():
        parts = [f"{image.width} x {image.height} pixels"]
        parts += [f"license: {image.license}"] if image.license else []
        parts += [f"author: {image.author}"] if image.author else []
        parts += [f"source: {image.source}"] if image.source else []
        parts += [f"warning: {image.warning}"] if image.warning else []
        yield f"{image.name}: {'; '.join(parts)}"


def _list_releases(campaign: Campaign) -> Iterator[str]:
    from capeval_server.annotation.releases.release_files import count_outdated_answers

    for one in campaign.releases.order_by("-time", "-pk"):
        number, outdated = one.responses.count(), count_outdated_answers(one)
        yield (
            f"{one.name}: frozen {one.time:%Y-%m-%d %H:%M} UTC by {one.who}; answers: {number:,};"
            f" no longer counted: {outdated:,}"
        )


def _list_reviews(campaign: Campaign) -> Iterator[str]:
    from capeval_server.annotation.review.moderation import list_review_queue

    for row in list_review_queue(campaign).select_related("item").prefetch_related("review_requests"):
        reasons = ", ".join(request.reason for request in row.review_requests.all())
        # Control characters in captions are escaped.
        answer = json.dumps(row.answer, ensure_ascii=False)
        yield f"{row.pk}: item: {row.item.key}; answer: {answer}; reasons: {reasons}"


_LISTS: dict[str, Callable[[Campaign], Iterator[str]]] = {
    "workers": _list_workers,
    "images": _list_images,
    "releases": _list_releases,
    "reviews": _list_reviews,
}
