"""Account pages that allauth lacks: profile, API tokens and account deletion."""

from __future__ import annotations

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from capeval_server.accounts.models import Token
from capeval_server.accounts.services.users import get_user
from capeval_server.core.errors import SuccessorError
from capeval_server.web.accounts.forms import DeletionForm, TokenForm

__all__ = ["urlpatterns"]


@login_required
def profile(request: HttpRequest) -> HttpResponse:
    """Show the profile of the user."""
    return render(request, "account/profile.html")


@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
@never_cache
def tokens(request: HttpRequest) -> HttpResponse:
    """List the user's tokens; create one and show its text.

    The user must have entered their password recently. The response to the form contains the text, because
    showing it after a redirect would require storing it. Sending the form again creates nothing, because the
    name is then taken.
    """
    form = TokenForm(request.POST or None)
    made = None
    if form.is_valid():
        given = form.cleaned_data
        try:
            with transaction.atomic():
                made = Token.issue(get_user(request).pk, given["name"], given["scope"], days=given["days"])
        except IntegrityError:
            form.add_error("name", "You already have a token with this name.")
        else:
            form = TokenForm()
    shown = get_user(request).tokens.filter(revoked=None).order_by("-created", "-pk")
    context = {"form": form, "made": made, "tokens": shown, "now": timezone.now()}
    return render(request, "account/tokens.html", context)


@login_required
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke one of the user's tokens."""
    token = get_object_or_404(get_user(request).tokens, pk=pk, revoked=None)
    token.revoke()
    messages.success(request, f"Token {token.name} has been revoked.")
    return redirect("accounts_tokens")


@login_required
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the user's account. Data of teams is kept."""
    user = get_user(request)
    form = DeletionForm(user, request.POST or None)
    if form.is_valid():
        pk = user.pk
        try:
            with transaction.atomic():
                User.objects.get(pk=pk).delete()
        except SuccessorError as error:
            form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    if not form.is_valid():
        return render(request, "account/delete.html", {"form": form}, status=422 if form.errors else 200)
    logout(request)
    messages.success(request, "Your account has been deleted.")
    return redirect("home")


urlpatterns = [
    path("accounts/profile/", profile, name="accounts_profile"),
    path("accounts/delete/", reauthentication_required(delete), name="accounts_delete"),
    path("tokens/", tokens, name="accounts_tokens"),
    path("tokens/<int:pk>/revoke/", revoke_token, name="accounts_revoke_token"),
]
