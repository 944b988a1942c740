"""Commands for reviews, agreement, and the forecast of a campaign."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import Pseudonym, Slug, get_campaign, get_worker
from capeval_server.commands.common import UserName, set_up, user_named

__all__ = ["agreement", "compare", "plan", "recheck", "review"]


def compare(slug: Slug) -> None:
    """Send captions that differ from the others of their image to review."""
    set_up()
    from capeval_server.annotation.responses import text_flags

    print(f"{slug}: {text_flags.request_agreement_reviews(get_campaign(slug))} captions to review")


def agreement(slug: Slug) -> None:
    """Show the agreement of annotators: by class for choices, by caption for texts."""
    set_up()
    from capeval_server.annotation.core.agreement import measure_caption_agreement, measure_question_agreement
    from capeval_server.annotation.task_types import task_named

    campaign = get_campaign(slug)
    if task_named(campaign.kind).choices:
        notes: dict[str, None] = {}
        for one in measure_question_agreement(campaign):
            name = " ".join(filter(None, (one.category or "none", one.question)))
            alpha = "undefined"
            if one.alpha is not None:
                found = one.alpha.interval
                alpha = f"{found.score:.3f} [{found.low:.3f}, {found.high:.3f}]"
                notes[one.alpha.note] = None
            print(f"{name}: alpha {alpha}; items: {one.items:,}; answers: {one.answers:,}")
        for note in notes:
            print(note)
        return
    captions = measure_caption_agreement(campaign)
    number, unlike = len(captions.scores), len(captions.unlike)
    print(f"images compared: {captions.compared:,}; with too few captions: {captions.waiting:,}")
    print(f"captions that differ from the others of their image: {unlike:,} of {number:,}")


def recheck(slug: Slug, worker: Pseudonym) -> None:
    """Send the answers of a worker to review that have no verdict yet."""
    set_up()
    from capeval_server.annotation.review.review_requests import request_worker_reviews

    print(f"{worker}: {request_worker_reviews(None, get_worker(slug, worker))} answers to review")


def review(
    slug: Slug,
    number: Annotated[int, Argument(metavar="ANSWER", help="Number of the answer, as listed.")],
    verdict: Annotated[Literal["fine", "rejected"], Argument(help="fine or rejected.")],
    user: UserName,
    reason: Annotated[str, Option(help="Reason for a rejection, such as 'wrong image' or nonsense.")] = "",
    note: Annotated[str, Option(help="Note for other reviewers.")] = "",
) -> None:
    """Accept or reject an answer, as a review by a user; a rejection reopens the item.

    'capeval server annotate list CAMPAIGN reviews' lists the answers to review.
    """
    set_up()
    from capeval_server.annotation.models import Response
    from capeval_server.annotation.review import moderation

    campaign = get_campaign(slug)
    rows = Response.objects.filter(item__campaign=campaign).select_related("participation__worker")
    found = rows.filter(pk=number).first()
    if found is None:
        raise OptionError(f"'ANSWER' must be the number of an answer of {slug!r} (got {number})")
    moderation.review(user_named(user), found, verdict, reason=reason, note=note)
    waiting = moderation.list_review_queue(campaign).count()
    print(
        f"{slug}: answer {number} {'accepted' if verdict == 'fine' else 'rejected'}; to review: {waiting:,}"
    )


def plan(
    slug: Slug,
    seconds: Annotated[
        float | None, Option(help="Time per answer in seconds.", show_default="as measured")
    ] = None,
    hourly: Annotated[
        float | None, Option(help="Pay per hour, in any currency.", show_default="the campaign's pay, or 12")
    ] = None,
    fee: Annotated[float, Option(help="Fee of a panel, as a fraction of the pay.")] = 0.0,
    workers: Annotated[int, Option(min=1, help="Number of people working in parallel.")] = 10,
    hours: Annotated[float, Option(help="Working hours per person and day.")] = 2.0,
    yes: Annotated[float, Option(help="Share of answers that are yes, until it is measured.")] = 0.5,
    concentration: Annotated[
        float, Option(help="Disagreement until it is measured: 0.2 is low, 5 near chance.")
    ] = 1.0,
) -> None:
    """Forecast the answers, time and cost of a campaign, and its precision."""
    set_up()
    from dataclasses import replace

    from capeval.studies.effort import Agreement
    from capeval_server.annotation.campaigns.effort import (
        default_prices,
        estimate_effort,
        measured_agreement,
    )

    campaign = get_campaign(slug)
    given: dict[str, Any] = {
        "seconds": seconds,
        "hourly": hourly,
        "fee": fee,
        "workers": workers,
        "hours": hours,
    }
    known = {name: value for name, value in given.items() if value is not None}
    prices, measured = replace(default_prices(campaign), **known), measured_agreement(campaign)
    agreement = measured or Agreement(yes=yes, concentration=concentration)
    effort = estimate_effort(campaign, prices, agreement)
    print(f"time per answer: {prices.seconds:g} s; pay per hour: {prices.hourly:,.2f}")
    print(_describe_effort("all answers", effort.wanted, effort.days, effort.cost))
    print(_describe_effort("answers to go", effort.to_go, effort.days_to_go, effort.cost_to_go))
    print(f"answers so far: {effort.given:,}; cost {effort.cost_so_far:,.2f}")
    if effort.forecast is not None:
        basis = "measured" if measured else "assumed"
        print(f"agreement ({basis}): yes {agreement.yes:.3f}, concentration {agreement.concentration:.3f}")
        print(f"half-width of a share's interval: {100 * effort.forecast.width:.1f} points")
        print(f"smallest detectable difference: {100 * effort.forecast.difference:.1f} points")


def _describe_effort(name: str, answers: int, days: float, cost: float) -> str:
    return f"{name}: {answers:,}; {days:,.1f} days; cost {cost:,.2f}"
