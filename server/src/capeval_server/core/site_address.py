"""Address of the site for links in mail, also if its server started after this process."""

from __future__ import annotations

import os

from django.conf import settings

from capeval_server.config import environment

__all__ = ["get_site_address"]


def get_site_address() -> str:
    """Return the site's URL: the configured one, or the one where the server listens now.

    A worker may start before the server, which stores its address when it starts.
    """
    if settings.HTTPS or f"{environment.PREFIX}ADDRESS" in os.environ:
        return str(settings.ADDRESS)
    return environment.address(settings.DATA, settings.ALLOWED_HOSTS, https=False)
