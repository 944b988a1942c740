"""Root URL configuration."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from capeval_server.api.root import api
from capeval_server.ops.self_request import PATH, echo_request
from capeval_server.web.accounts.views import urlpatterns as accounts

__all__ = ["handler500", "urlpatterns"]

handler500 = "capeval_server.http.error_pages.server_error"

urlpatterns = [
    path(PATH, echo_request),
    path("", include(accounts)),
    path("accounts/", include("allauth.urls")),
    # Staff sign in like all users, with the same rate limits and second factors.
    path("admin/login/", secure_admin_login(admin.site.login)),
    path("admin/", admin.site.urls),
    path("api/", api.urls),
    # Last, because these URLs begin with the name of a challenge.
    path("", include("capeval_server.web.urls")),
]
