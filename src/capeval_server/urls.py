"""The addresses that the server answers."""

from django.urls import path
from django.views.generic import RedirectView

from capeval_server.api.views import api

__all__ = ["urlpatterns"]

urlpatterns = [
    path("", RedirectView.as_view(url="/api/docs")),
    path("api/", api.urls),
]
