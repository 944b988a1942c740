"""Operation that compares a panel's export with a campaign. It returns 404 to everyone but managers."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import File, Schema
from ninja.files import UploadedFile

from capeval_server.annotation.workers import reconciliation
from capeval_server.api.annotation_common import create_router, get_campaign
from capeval_server.api.authentication import token_of
from capeval_server.api.derived_schemas import derived_from
from capeval_server.api.path_parameters import Slug
from capeval_server.api.schemas import Problem
from capeval_server.http.request_limits import accepts_uploads

__all__ = ["router"]

router = create_router()


@derived_from(reconciliation.ReconciledRow)
class ReconciledRowAnswer(Schema):
    """A submission of the panel or a session of the campaign, with a suggestion."""


@derived_from(reconciliation.Reconciliation)
class ReconciliationAnswer(Schema):
    """Comparison of a panel's export with the sessions of a campaign."""


@router.post("/{slug}/panel/reconciliation", response={200: ReconciliationAnswer, (403, 404, 422): Problem})
@accepts_uploads
def reconcile(request: HttpRequest, slug: Slug, export: Annotated[UploadedFile, File()]) -> Any:
    """Compare a panel's export of submissions, a CSV file, with the sessions.

    The file is not stored. The history records the comparison.
    """
    data = export.read(reconciliation.MOST_BYTES + 1)
    return reconciliation.reconcile(token_of(request).user, get_campaign(request, slug), data)
