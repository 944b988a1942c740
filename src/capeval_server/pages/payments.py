"""The payment lines of a campaign, for who manages it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from capeval_server.annotation.campaigns import managed
from capeval_server.annotation.payments import payments_csv
from capeval_server.errors import NotFoundError

__all__ = ["urlpatterns"]


@never_cache
@require_GET
def payments(request: HttpRequest, slug: str) -> HttpResponse:
    """The lines as a file."""
    if not isinstance(request.user, User):
        raise NotFoundError
    text = payments_csv(request.user, managed(request.user, slug))
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="payments-{slug}.csv"'
    return answer


urlpatterns = [path("campaigns/<slug:slug>/payments.csv", payments, name="campaign_payments")]
