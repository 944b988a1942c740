"""Page to choose the columns of a split's leaderboards."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.releases.human_columns import list_questions
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.services import settings
from capeval_server.hosting.services.description import fingerprint
from capeval_server.web.hosting.common import add_success_message, for_organizers, form_status, show
from capeval_server.web.hosting.forms import show_problems
from capeval_server.web.hosting.leaderboard_forms import ColumnsForm

__all__ = ["columns"]


@for_organizers
def columns(request: HttpRequest, challenge: Challenge, split: str) -> HttpResponse:
    """Choose the columns of a split's leaderboards."""
    found = get_object_or_404(challenge.splits, name=split)
    questions = {"judgments": list_questions()}
    initial = {**questions, **settings.columns_of(found), "seen": fingerprint(found.columns)}
    form = ColumnsForm(found, request.POST or None, initial=initial)
    status = form_status(form)
    if request.method == "POST" and form.is_valid():
        # Without chosen scores, there is no column of mean ranks.
        omitted = {"seen"} if form.cleaned_data["mean_rank"] else {"seen", "mean_rank"}
        wanted = {name: values for name, values in form.cleaned_data.items() if name not in omitted}
        chosen = None if "reset" in request.POST else wanted
        seen = form.cleaned_data["seen"]
        try:
            changed = settings.edit_columns(get_user(request), challenge, split, chosen, seen=seen)
        except settings.FieldsError as error:
            show_problems(form, error)
            status = 422
        except ConflictError as error:
            form.add_error(None, str(error))
            status = 409
        else:
            add_success_message(request, "Saved the columns." if changed else "Nothing changed.")
            return redirect("organizer_columns", challenge.slug, split)
    phase = challenge.phases.filter(splits=found).order_by("opens", "pk").last()
    context = {"form": form, "split": found, "phase": phase}
    return show(request, challenge, "columns", tab="edit", **context, status=status)
