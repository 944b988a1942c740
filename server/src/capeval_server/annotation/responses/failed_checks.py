"""Checks that good workers fail: they are taken out of work, until somebody has looked at them.

A worker is good here who passes other checks; a check says nothing of itself. Nothing else is changed: who
failed it failed it, and an organizer who sees why lets a paused worker go on.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Count, Q

from capeval_server.annotation.core.options import CampaignOptions
from capeval_server.annotation.models import (
    EXCLUDED,
    Assignment,
    Campaign,
    CheckResult,
    Item,
)
from capeval_server.annotation.responses.assignment import pull
from capeval_server.annotation.responses.context import AnswerContext
from capeval_server.audit.models import Action

__all__ = ["take_out_failed"]

# A good worker had so many other checks, and passed such a share of them: who passes fewer is soon paused.
_LEAST_OTHERS, _GOOD = 3, 0.8
_WHO = "the server"


def take_out_failed(context: AnswerContext) -> None:
    """Take checks out of work that too few good workers passed, after an answer to one.

    Checks that the worker failed before are considered too: by this answer the worker may have become a good
    one.
    """
    item, options, participation = context.item, context.options, context.participation
    if item.is_training or not options.check_pass_share:
        return
    failed = CheckResult.objects.filter(response__participation=participation, passed=False)
    rows = context.campaign.items.filter(held=False, is_training=False)
    # Another check that somebody has locked is looked at by them, or the next time: nobody waits for it here.
    before = rows.filter(pk__in=failed.values("response__item")).exclude(pk=item.pk)
    found = before.select_for_update(skip_locked=True, no_key=True).order_by("pk")
    for check in ([] if item.held else [item]) + list(found):
        _take_out_if_failed(context.campaign, check, options)


def _take_out_if_failed(campaign: Campaign, item: Item, options: CampaignOptions) -> None:
    """Takes a check out of work if too few good workers passed it. Its row is locked.

    Results that somebody has looked at, and gave the check out again, don't count again.
    """
    results = CheckResult.objects.filter(response__item=item).order_by("pk")
    passed = dict(results.values_list("response__participation", "passed")[item.checks_looked_at :])
    if len(passed) < options.check_pass_answers or all(passed.values()):
        return
    of_good = [passed[worker] for worker in _good_workers(item, passed)]
    number, failed = len(of_good), of_good.count(False)
    if number < options.check_pass_answers or number - failed >= options.check_pass_share * number:
        return
    item.held, item.held_reason = True, f"{failed} of {number} good workers failed this check"
    item.save(update_fields=["held", "held_reason"])
    pull(campaign, Assignment.objects.filter(item=item))
    what = f"took the check {item.key} of the campaign {campaign.slug} out of work: {item.held_reason}"
    Action.objects.create(challenge=campaign.challenge, who=_WHO, what=what)


def _good_workers(item: Item, workers: Iterable[int]) -> list[int]:
    """Those who pass other checks; checks that are out of work themselves say nothing of anybody."""
    others = CheckResult.objects.filter(
        response__participation__in=list(workers),
        response__item__is_training=False,
        response__item__held=False,
    )
    counted = others.exclude(response__item=item).exclude(response__participation__stage__in=EXCLUDED)
    rows = (
        counted.order_by()
        .values_list("response__participation")
        .annotate(passed=Count("pk", filter=Q(passed=True)), of=Count("pk"))
    )
    return [worker for worker, passed, of in rows if of >= _LEAST_OTHERS and passed >= _GOOD * of]
