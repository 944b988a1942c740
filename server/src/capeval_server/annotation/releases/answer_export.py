"""Tables of the answers that a filter chooses, in the form of the table `judgments` of a release."""

from __future__ import annotations

import io
from collections.abc import Mapping

from django.contrib.auth.models import User

from capeval_server.annotation.models import Campaign, Response
from capeval_server.annotation.releases.judgment_table import (
    explain_missing_parquet,
    list_judgments,
    render_judgments,
    write_parquet,
)
from capeval_server.annotation.review.answer_explorer import AnswerFilter, list_answers
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError

__all__ = ["EXPORTS", "export_answers"]

EXPORTS: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""The media type of each form of the table."""


def export_answers(user: User | None, campaign: Campaign, asked: AnswerFilter, form: str) -> bytes:
    """Return the table of the chosen answers. The download is recorded in the audit log.

    Without a user, as for the command line, answers that wait for a review are those of all workers.

    The columns are those of `judgments.csv`. `counted` is whether an answer counts now. Unlike in a release,
    sentences that do not count are in the table.

    Raises:
        CampaignError: The form or the state is unknown, or Parquet requires a package.
    """
    if form not in EXPORTS:
        raise CampaignError(f"'format' must be one of {', '.join(EXPORTS)} (got {form!r})")
    if form == "parquet" and explain_missing_parquet():
        raise CampaignError('Parquet requires pyarrow: pip install "capeval-server[parquet]"')
    chosen = set(list_answers(campaign, asked, user).values_list("pk", flat=True))
    counted = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False)
    rows = list_judgments(campaign, set(counted.values_list("pk", flat=True)), chosen)
    if form == "csv":
        data = render_judgments(rows).encode()
    else:
        file = io.BytesIO()
        write_parquet(file, rows)
        data = file.getvalue()
    record(user, campaign.challenge, f"downloaded {len(chosen):,} answers of the campaign {campaign.slug}")
    return data
