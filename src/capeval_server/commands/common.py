"""What several commands need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from capeval.cli.commands import Argument
from capeval.errors import OptionError

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["UserName", "set_up", "user_named"]

UserName = Annotated[str, Argument(metavar="USER", help="The user's name.", show_default=False)]


def set_up() -> None:
    """Starts Django, which only a command that runs needs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capeval_server.settings")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise OptionError(str(error)) from None


def user_named(name: str) -> User:
    """The user with a name.

    Raises:
        OptionError: There is none.
    """
    from django.contrib.auth.models import User as Users

    found = Users.objects.filter(username=name).first()
    if found is None:
        raise OptionError(f"'user' must be the name of a user (got {name!r})")
    return found
