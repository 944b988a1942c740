"""Page that compares a panel's export of submissions with the sessions of a campaign."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers.panels import find_settings
from capeval_server.annotation.workers.reconciliation import (
    MOST_BYTES,
    Reconciliation,
    reconciliation_csv,
)
from capeval_server.annotation.workers.reconciliation import reconcile as compare_export
from capeval_server.http.request_limits import accepts_uploads
from capeval_server.web.campaigns.common import for_managers, show
from capeval_server.web.campaigns.recruiting_forms import ExportForm
from capeval_server.web.hosting.common import errors_in_form, form_status

__all__ = ["MOST_ROWS", "reconcile"]

MOST_ROWS = 500
"""Maximum number of rows on the page; the download contains all."""
_FOUND = {"both": "In both", "export": "Only in the export", "here": "Only here"}
_LABELS = {
    "look at it": ("Look at it", "warn"),
    "ask for return": ("Ask for return", ""),
    "approve": ("Approve", "ok"),
    "nothing": ("Nothing to do", "quiet"),
}


@accepts_uploads
@for_managers
@require_http_methods(["GET", "HEAD", "POST"])
def reconcile(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Compare an uploaded export, which is not stored."""
    form = ExportForm(request.POST, request.FILES) if request.method == "POST" else ExportForm()
    result: Reconciliation | None = None
    if form.is_valid():
        with errors_in_form(form, "export"):
            data = form.cleaned_data["export"].read(MOST_BYTES + 1)
            result = compare_export(get_user(request), campaign, data)
    context: dict[str, Any] = {
        "form": form,
        "panel": find_settings(campaign),
        "result": result,
        "most": MOST_ROWS,
    }
    if result is not None:
        context |= {
            "rows": [
                (row, _FOUND[row.found], _in_words(row.outcome), *_LABELS[row.suggestion])
                for row in result.rows[:MOST_ROWS]
            ],
            "totals": [(*_LABELS[name], number) for name, number in result.suggestions.items()],
            "places": [(_FOUND[name], number) for name, number in result.found.items()],
            # The download is a part of the page, so that the server stores nothing.
            "download": "data:text/csv;charset=utf-8," + quote(reconciliation_csv(result.rows)),
        }
    return show(request, campaign, "reconciliation", tab="recruiting", **context, status=form_status(form))


def _in_words(outcome: str) -> str:
    return outcome.replace("_", " ").capitalize()
