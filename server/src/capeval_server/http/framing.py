"""Pages in a frame of another site: framing policy, and cookies that work there."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from http.cookies import Morsel

from django.http import HttpRequest, HttpResponse

__all__ = ["FramingMiddleware", "allow_frames"]

_ATTRIBUTE = "_frame_policy"


@dataclass(frozen=True)
class _FramePolicy:
    ancestors: Sequence[str]
    form_targets: Sequence[str]


class _PartitionedMorsel(Morsel[str]):
    """A cookie with the attribute `Partitioned`, which `http.cookies` knows from Python 3.14 on."""

    def OutputString(self, attrs: Container[str] | None = None) -> str:  # noqa: N802
        """Return the cookie as in a header."""
        return f"{super().OutputString(attrs)}; Partitioned"


def allow_frames(request: HttpRequest, ancestors: Sequence[str], form_targets: Sequence[str] = ()) -> None:
    """Let the response to a request, whatever it is, appear in a frame of some sites.

    Its cookies then belong to the frame: the browser sends them only there, and only by HTTPS.

    Args:
        request: The request.
        ancestors: Origins of the sites.
        form_targets: Origins of other sites to which a form of the page is sent.
    """
    setattr(request, _ATTRIBUTE, _FramePolicy(ancestors, form_targets))


class FramingMiddleware:
    """Middleware that applies `allow_frames`. It runs outside of the middleware that sets cookies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response with the policy of the request."""
        answer = self._get_response(request)
        policy: _FramePolicy | None = getattr(request, _ATTRIBUTE, None)
        if policy is not None:
            del answer["X-Frame-Options"]
            answer._csp_replace = {  # type: ignore[attr-defined]
                "frame-ancestors": list(policy.ancestors),
                "form-action": ["'self'", *policy.form_targets],
            }
            for name, cookie in answer.cookies.items():
                answer.cookies[name] = _partition(cookie)
        return answer


def _partition(cookie: Morsel[str]) -> _PartitionedMorsel:
    """Return a cookie that a browser stores for the frame alone.

    Browsers send no other cookie to a frame of another site:
    https://developer.mozilla.org/en-US/docs/Web/Privacy/Guides/Third-party_cookies/Partitioned_cookies
    """
    made = _PartitionedMorsel()
    made.update(cookie)
    made.set(cookie.key, cookie.value, cookie.coded_value)
    made["samesite"], made["secure"] = "None", True
    return made
