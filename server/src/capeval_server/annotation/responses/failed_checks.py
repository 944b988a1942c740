"""Attention checks that reliable workers fail: on hold until they are reviewed.

A worker is reliable if they pass other checks; the check itself does not count. No results change: failures
remain failures, and an organizer who sees the reason can let a paused worker continue.
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
from capeval_server.annotation.responses.assignment import take_back
from capeval_server.annotation.responses.context import AnswerContext
from capeval_server.audit.models import Action

__all__ = ["hold_failed_checks"]

# Minimum number of other checks, and minimum share of passed ones, of a reliable worker. Workers with a
# smaller share are soon paused.
_LEAST_OTHERS, _RELIABLE_SHARE = 3, 0.8
_WHO = "the server"


def hold_failed_checks(context: AnswerContext) -> None:
    """Put checks on hold that too few reliable workers passed, after an answer to one.

    This includes checks that the worker failed before, because this answer may have made the worker reliable.
    """
    item, options, participation = context.item, context.options, context.participation
    if item.is_training or not options.check_pass_share:
        return
    failed = CheckResult.objects.filter(response__participation=participation, passed=False)
    rows = context.campaign.items.filter(held=False, is_training=False)
    # Other checks that are locked are skipped: the transaction that locked them, or the next answer, tests
    # them.
    before = rows.filter(pk__in=failed.values("response__item")).exclude(pk=item.pk)
    found = before.select_for_update(skip_locked=True, no_key=True).order_by("pk")
    for check in ([] if item.held else [item]) + list(found):
        _hold_if_failed(context.campaign, check, options)


def _hold_if_failed(campaign: Campaign, item: Item, options: CampaignOptions) -> None:
    """Put a check on hold if too few reliable workers passed it. Its row is locked.

    Results from before a review that released the check don't count again.
    """
    results = CheckResult.objects.filter(response__item=item).order_by("pk")
    passed = dict(results.values_list("response__participation", "passed")[item.checks_looked_at :])
    if len(passed) < options.check_pass_answers or all(passed.values()):
        return
    of_good = [passed[worker] for worker in _list_reliable_workers(item, passed)]
    number, failed = len(of_good), of_good.count(False)
    if number < options.check_pass_answers or number - failed >= options.check_pass_share * number:
        return
    item.held, item.held_reason = True, f"{failed} of {number} reliable workers failed this check"
    item.save(update_fields=["held", "held_reason"])
    take_back(campaign, Assignment.objects.filter(item=item))
    what = f"put the check {item.key} of the campaign {campaign.slug} on hold: {item.held_reason}"
    Action.objects.create(challenge=campaign.challenge, who=_WHO, what=what)


def _list_reliable_workers(item: Item, workers: Iterable[int]) -> list[int]:
    """Return the reliable workers: those with enough passes among their other checks.

    Checks on hold are ignored.
    """
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
    return [worker for worker, passed, of in rows if of >= _LEAST_OTHERS and passed >= _RELIABLE_SHARE * of]
