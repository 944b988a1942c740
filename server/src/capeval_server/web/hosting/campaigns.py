"""Organizer page of a challenge's campaigns."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from capeval.errors import CapevalError
from capeval_server.accounts.services.users import get_user
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.campaigns.progress import with_counts
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge
from capeval_server.web.hosting.common import add_success_message, for_organizers, form_status, show
from capeval_server.web.hosting.leaderboard_forms import CampaignsForm

__all__ = ["act", "campaigns", "redirect_to_campaigns"]


@for_organizers
def campaigns(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """List the campaigns of the challenge."""
    return _show_campaigns(request, challenge, _choose_again(challenge, request.GET.getlist("campaigns")))


def _choose_again(challenge: Challenge, slugs: list[str]) -> CampaignsForm:
    """Return an empty form in which the campaigns of the previous step are chosen."""
    return CampaignsForm(challenge, initial={"campaigns": slugs})


def _show_campaigns(
    request: HttpRequest, challenge: Challenge, form: CampaignsForm, links: list[str] | None = None
) -> HttpResponse:
    found = with_counts(challenge.campaigns.all())
    drafts = [campaign for campaign in found if campaign.state == Campaign.State.DRAFT]
    incomplete = [(draft, lacking) for draft in drafts if (lacking := lifecycle.name_missing(draft.settings))]
    context = {"campaigns": found, "incomplete": incomplete, "form": form, "links": links or []}
    return show(request, challenge, "campaigns", tab="campaigns", **context, status=form_status(form))


@for_organizers
@require_POST
def act(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Open several campaigns, or create links that are each for all of them."""
    form, user = CampaignsForm(challenge, request.POST), get_user(request)
    if not form.is_valid():
        return _show_campaigns(request, challenge, form)
    chosen = list(challenge.campaigns.filter(slug__in=form.cleaned_data["campaigns"]).order_by("pk"))
    try:
        if form.cleaned_data["act"] == "open":
            opened = lifecycle.open_drafts(user, chosen)
            add_success_message(request, f"Opened {opened} campaign{'' if opened == 1 else 's'}.")
            return redirect_to_campaigns(challenge, chosen)
        tokens = enrollment.invite_to_all(user, chosen, form.cleaned_data["number"])
    except CapevalError as error:
        form.add_error(None, f"{error}.")
        return _show_campaigns(request, challenge, form)
    links = [
        request.build_absolute_uri(reverse("annotate_enter", args=(chosen[0].slug, token)))
        for token in tokens
    ]
    again = _choose_again(challenge, [campaign.slug for campaign in chosen])
    return _show_campaigns(request, challenge, again, links)


def redirect_to_campaigns(challenge: Challenge, chosen: Iterable[Campaign]) -> HttpResponseRedirect:
    """Redirect to the list of campaigns, with some of them chosen for the next step."""
    query = urlencode({"campaigns": [campaign.slug for campaign in chosen]}, doseq=True)
    return HttpResponseRedirect(f"{reverse('organizer_campaigns', args=(challenge.slug,))}?{query}")
