"""What everybody sees: challenges, leaderboards, jobs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from capeval_server.challenges.models import Challenge

__all__ = ["urlpatterns"]


def home(request: HttpRequest) -> HttpResponse:
    """All challenges."""
    return render(request, "pages/public/home.html", {"challenges": Challenge.objects.order_by("title")})


urlpatterns = [
    path("", home, name="home"),
]
