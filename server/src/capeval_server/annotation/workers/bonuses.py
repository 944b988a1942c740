"""Bonuses that are due to workers of Mechanical Turk, as CSV. The server transfers no money."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from django.contrib.auth.models import User

from capeval.toolkit import escape_row
from capeval_server.annotation.core.option_texts import format_count
from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers import payments
from capeval_server.annotation.workers.panels import find_settings, is_submitted
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError

__all__ = ["bonuses_csv"]

# The parameters of SendBonus:
# https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMturkAPI/ApiReference_SendBonusOperation.html
_COLUMNS = ("WorkerId", "AssignmentId", "BonusAmount", "Reason")
_CURRENCY = "USD"
_CENT = Decimal("0.01")


def bonuses_csv(user: User | None, campaign: Campaign) -> str:
    """Return the bonus of each assignment as CSV, and log the download.

    A bonus is the pay for the answers, less the reward of the HIT if the worker could submit the assignment.
    Assignments without a bonus are omitted.

    Raises:
        CampaignError: The campaign has no panel of Mechanical Turk, or no pay per answer in US dollars.
    """
    settings = find_settings(campaign)
    if settings is None or settings.external_question is None:
        raise CampaignError("the campaign has no panel of Mechanical Turk: set it on the page 'Recruiting'")
    options = get_options(campaign)
    if not options.pay_per_answer:
        raise CampaignError("the campaign has no pay per answer: set it, for example 0.10 USD")
    if options.currency != _CURRENCY:
        raise CampaignError(f"Mechanical Turk pays in {_CURRENCY}: set the pay per answer in this currency")
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for row in _list_bonuses(campaign, settings.name, settings.external_question.reward):
        # The ids come from URLs that anybody can write, so formulas are escaped.
        writer.writerow(escape_row(row))
    record(user, campaign.challenge, f"downloaded the bonuses of the campaign {campaign.slug}")
    return out.getvalue()


def _list_bonuses(campaign: Campaign, panel: str, reward: str) -> Iterator[tuple[str, str, str, str]]:
    rate = get_options(campaign).pay_per_answer
    for line in payments.lines(campaign):
        if line.panel != panel or not line.session:
            continue
        amount, reason = Decimal(line.amount), f"{format_count(line.answers, 'answer')} at {rate} {_CURRENCY}"
        if is_submitted(line.outcome) and Decimal(reward):
            amount -= Decimal(reward)
            reason += f", less the reward of {reward} {_CURRENCY}"
        amount = amount.quantize(_CENT, ROUND_HALF_UP)
        if amount > 0:
            yield line.panel_id, line.session, str(amount), reason
