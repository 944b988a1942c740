"""The JSON API: routers, error handlers and the OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI, Status
from ninja.openapi.docs import Swagger
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import PathView

from capeval import __version__
from capeval_server.api import (
    annotation_answers,
    annotation_campaigns,
    annotation_items,
    annotation_releases,
    annotation_reviews,
    annotation_settings,
    annotation_statistics,
    annotation_webhooks,
    annotation_work,
    annotation_workers,
    challenges,
    hosting,
    judging,
    leaderboards,
    notifications,
    panel_reconciliation,
    participants,
    public_data,
    submissions,
)
from capeval_server.api.authentication import READ, token_of
from capeval_server.api.error_responses import register_error_handlers
from capeval_server.api.json_parser import TextParser
from capeval_server.http.read_limits import without_read_limit
from capeval_server.http.request_limits import accepts_uploads

__all__ = ["api"]

_DESCRIPTION = """All features of the web pages, for programs. Public data needs no token. For everything
else, create a token on the [API tokens](/tokens/) page and send it as `Authorization: Bearer TOKEN`. Times
are in UTC."""


def _allow_head(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Return a view that handles HEAD like GET; the server drops the body."""

    @wraps(view)
    def wrapper(request: HttpRequest, *parameters: Any, **named: Any) -> HttpResponseBase:
        method = request.method
        request.method = "GET" if method == "HEAD" else method
        try:
            found = view(request, *parameters, **named)
        finally:
            request.method = method
        allowed = found.headers.get("Allow", "").split(", ")
        if "GET" in allowed:
            found["Allow"] = ", ".join([*allowed, "HEAD"])
        return found

    return wrapper


class Documentation(Swagger):
    """The page of all operations. Ninja's own loads scripts from other servers unless Ninja is an app."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **parameters: Any) -> HttpResponse:
        """Return the page."""
        options = {**self.settings, "url": self.get_openapi_url(api, parameters)}
        return render(request, "api/documentation.html", {"options": json.dumps(options, indent=1)})


class Api(NinjaAPI):
    """The API, with a cached OpenAPI document, which takes half a second to build."""

    _description: OpenAPISchema | None = None

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        found = super()._get_urls()
        for pattern in found:
            if isinstance(pattern, URLPattern):
                pattern.callback = _allow_head(pattern.callback)
        # Ninja puts the URLs of the OpenAPI document first and the URL of the API root last.
        views = [view for view in self._list_views() for _ in view.operations]
        for pattern, view in zip(found[-1 - len(views) : -1], views, strict=True):
            accepts = any(hasattr(operation.view_func, "accepts_uploads") for operation in view.operations)
            if pattern.callback is None:
                continue
            if accepts:
                accepts_uploads(pattern.callback)
            # Without valid credentials, these operations end before any work is done.
            if all(operation.auth_callbacks for operation in view.operations):
                without_read_limit(pattern.callback)
        return found

    def _list_views(self) -> Iterator[PathView]:
        for router in self._get_bound_routers():
            yield from router.path_operations.values()

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """Return the OpenAPI document, with the paths of this deployment."""
        if path_prefix is None and self._description is not None:
            return self._description
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        found = super().get_openapi_schema(path_prefix=prefix, path_params=path_params)
        for path, operations in found["paths"].items():
            for method, operation in operations.items():
                # Ninja's ids contain module names, which would make them change with the code layout.
                operation["operationId"] = "_".join([method, *re.findall(r"\w+", path.removeprefix(prefix))])
        if path_prefix is None:
            self._description = found
        return found


api = Api(
    title="capeval server",
    version=__version__,
    description=_DESCRIPTION,
    urls_namespace="api",
    docs=Documentation(),
    parser=TextParser(),
)
api.add_router("", challenges.router)
api.add_router("", public_data.router)
api.add_router("", submissions.router)
api.add_router("", leaderboards.router)
api.add_router("/challenges/{slug}/organize", hosting.router)
api.add_router("/challenges/{slug}/organize", judging.router)
api.add_router("/challenges/{slug}/organize", participants.router)
api.add_router("", notifications.router)
api.add_router("/challenges/{slug}/organize", notifications.organizing)
api.add_router("/annotate/{slug}", annotation_work.router)
for module in (
    annotation_campaigns,
    annotation_settings,
    annotation_webhooks,
    annotation_items,
    annotation_workers,
    annotation_reviews,
    annotation_answers,
    annotation_statistics,
    annotation_releases,
    panel_reconciliation,
):
    api.add_router("/campaigns", module.router)
register_error_handlers(api)


@api.delete("/token", response={204: None}, auth=READ, tags=["Tokens"])
def revoke(request: HttpRequest) -> Any:
    """Revoke the token that authenticates this request."""
    token_of(request).revoke()
    return Status(204, None)
