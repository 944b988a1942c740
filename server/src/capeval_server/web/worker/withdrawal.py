"""Page on which workers see their stored data, and can withdraw."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from capeval_server.annotation.core.options import get_options
from capeval_server.annotation.models import Participation
from capeval_server.annotation.review import withdrawal
from capeval_server.annotation.task_types import task_named
from capeval_server.annotation.workers import panels
from capeval_server.web.markdown import to_html
from capeval_server.web.worker.enrollment import find_frame, for_leaving_workers
from capeval_server.web.worker.frames import get_submission

__all__ = ["leave"]


@require_http_methods(["GET", "POST"])
@for_leaving_workers
def leave(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Show the effect of withdrawing, and withdraw the worker."""
    campaign = participation.campaign
    if request.method == "POST":
        if request.POST.get("sure") != "yes":
            messages.error(request, gettext("Please confirm that you want to withdraw permanently."))
            return redirect("annotate_leave", campaign.slug)
        effect = withdrawal.withdraw(None, participation, by_worker=True)
        frame = find_frame(request, campaign)
        end = panels.get_session_end(participation, frame)
        shown = {
            "campaign": campaign,
            "effect": effect,
            "end": end,
            "framed": frame is not None,
            "submission": get_submission(request, frame, end),
        }
        return render(request, "web/worker/left.html", shown)
    texts = participation.consented_to
    shown = {
        "campaign": campaign,
        "participation": participation,
        "texts": texts,
        "images": texts is not None and task_named(campaign.kind).needs_image,
        "consent": to_html(texts.consent) if texts else "",
        "study": get_options(campaign),
        "effect": withdrawal.effect_of_withdrawing(participation),
    }
    return render(request, "web/worker/leave.html", shown)
