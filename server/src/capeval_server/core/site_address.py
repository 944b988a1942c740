"""Address of the site for links in mail, also if its server started after this process."""

from __future__ import annotations

from django.conf import settings

__all__ = ["get_site_address"]


def get_site_address() -> str:
    """Return the site's URL: the configured one, or the one where the server listens now.

    A worker may start before the server, which stores its address when it starts.
    """
    found: str = settings.READ_ADDRESS(settings.DATA, settings.ALLOWED_HOSTS, https=settings.HTTPS)
    return found
