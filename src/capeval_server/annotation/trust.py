"""Which workers are trusted: those of whom enough answers were judged, and nearly all were fine."""

from __future__ import annotations

from django.db.models import OuterRef, Subquery

from capeval_server.annotation.models import CheckResult, Participation, Response, Review
from capeval_server.annotation.options import Options

__all__ = ["is_trusted", "judge_again", "judged"]


def is_trusted(participation: Participation, options: Options) -> bool:
    """Whether a worker may fill slots that were emptied by an exclusion or a rejection."""
    if options.reopened_for == "everybody":
        return True
    enough = participation.judged >= options.trust_answers
    return enough and participation.fine >= options.trust_share * participation.judged


def judged(participation: Participation) -> tuple[int, int]:
    """How many answers of a worker were judged by a person or a check, and how many of those were fine."""
    verdicts = Review.objects.filter(response=OuterRef("pk")).order_by("-pk").values("verdict")[:1]
    reviewed = Response.objects.filter(participation=participation).annotate(verdict=Subquery(verdicts))
    found = reviewed.exclude(verdict=None)
    checks = CheckResult.objects.filter(
        response__participation=participation, response__item__is_training=False
    )
    fine = found.filter(verdict=Review.Verdict.FINE).count() + checks.filter(passed=True).count()
    return found.count() + checks.count(), fine


def judge_again(participation: Participation) -> None:
    """Counts anew what was judged of a worker, whose participation is locked."""
    participation.judged, participation.fine = judged(participation)
    participation.save(update_fields=["judged", "fine"])
