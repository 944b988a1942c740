"""Trusted workers: enough judged answers, nearly all of them accepted."""

from __future__ import annotations

from django.db.models import Count, OuterRef, Q, Subquery

from capeval_server.annotation.core.options import CampaignOptions, get_options
from capeval_server.annotation.models import Campaign, CheckResult, Participation, Response, Review
from capeval_server.annotation.task_types import task_named

__all__ = ["is_trusted", "judge_again", "judged", "may_replace", "trust_warnings"]


def is_trusted(participation: Participation, options: CampaignOptions) -> bool:
    """Return whether enough answers of a worker were judged, and nearly all of them accepted."""
    enough = participation.judged >= options.trust_answers
    return enough and participation.fine >= options.trust_share * participation.judged


def may_replace(participation: Participation, options: CampaignOptions) -> bool:
    """Return whether a worker may fill slots emptied by an exclusion or a rejection."""
    return options.reopened_for == "everybody" or is_trusted(participation, options)


def judged(participation: Participation) -> tuple[int, int]:
    """Return the numbers of judged and of accepted answers of a worker.

    Answers are judged by a reviewer or a check.
    """
    verdicts = Review.objects.filter(response=OuterRef("pk")).order_by("-pk").values("verdict")[:1]
    reviewed = Response.objects.filter(participation=participation).annotate(verdict=Subquery(verdicts))
    reviews = reviewed.aggregate(
        judged=Count("pk", filter=Q(verdict__in=(Review.Verdict.FINE, Review.Verdict.REJECTED))),
        fine=Count("pk", filter=Q(verdict=Review.Verdict.FINE)),
    )
    checks = CheckResult.objects.filter(
        response__participation=participation, response__item__is_training=False
    ).aggregate(judged=Count("pk"), fine=Count("pk", filter=Q(passed=True)))
    return reviews["judged"] + checks["judged"], reviews["fine"] + checks["fine"]


def judge_again(participation: Participation) -> None:
    """Update the counts of judged and accepted answers. The participation is locked."""
    participation.judged, participation.fine = judged(participation)
    participation.save(update_fields=["judged", "fine"])


def trust_warnings(campaign: Campaign) -> list[str]:
    """Return a warning if replacing answers needs trust that no worker can earn.

    A worker becomes trusted in time if, with one item left, enough of their answers have been judged.
    """
    options = get_options(campaign)
    if options.reopened_for == "everybody":
        return []
    items = campaign.items.filter(is_check=False).count()
    checks = campaign.items.filter(is_check=True, is_training=False, repeats=None).count()
    reviewed = task_named(campaign.kind).reviewed
    judged = _estimate_judged(options, max(items - 1, 0), checks, reviewed=reviewed)
    if judged >= options.trust_answers:
        return []
    reviews = (
        f"review_first {options.review_first}, review_every {options.review_every}, " if reviewed else ""
    )
    lower = f", or trust_answers to at most {judged}" if judged else ""
    return [
        f"No worker can become trusted, and reopened_for is 'trusted': trust_answers is"
        f" {options.trust_answers}, but a worker who has answered all but one of the {items:,} items has only"
        f" {judged} judged answers ({reviews}check_every {options.check_every}, {checks:,} checks). Rejected,"
        f" excluded and withdrawn answers will not be replaced. Set reopened_for to 'everybody'{lower}."
    ]


def _estimate_judged(options: CampaignOptions, answers: int, checks: int, *, reviewed: bool) -> int:
    """Return the expected number of judged answers among N answers.

    These are the expected number of reviews and the maximum number of checks.
    """
    found = 0
    if reviewed:
        found = min(answers, options.review_first)
        found += (answers - found) // options.review_every if options.review_every else 0
    if options.check_every:
        batches = -(-(answers + checks) // options.batch)
        found += min(checks, -(-batches // options.count_batches_of(options.check_every)))
    return found
