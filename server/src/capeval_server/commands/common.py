"""Helpers shared by commands."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["UserName", "check_database", "migrate_database", "set_up", "user_named"]

UserName = Annotated[str, Argument(metavar="USER", help="Username.")]


def set_up(*, database: bool = True) -> None:
    """Start Django and check the database.

    Args:
        database: Whether the command needs the tables of this version of the server.

    Raises:
        OptionError: Settings are invalid, all of which the message names, or the database can't be used.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "capeval_server.config.settings")
    import django
    from django.apps import apps

    if problems := _find_invalid_settings():
        raise OptionError("; ".join(problems))
    # Repeated, it would configure logging for the current standard error, which can be closed later.
    if not apps.ready:
        django.setup()
    if database:
        check_database()


def _find_invalid_settings() -> list[str]:
    """Load the settings, and return the problems of all invalid variables."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    problems: list[str] = []
    removed: dict[str, str] = {}
    while not settings.configured:
        try:
            settings.INSTALLED_APPS  # noqa: B018
        except ImproperlyConfigured as error:
            problems.append(str(error))
            # Without the variable, loading continues. Only the data folder has no harmless default.
            name = problems[-1].partition(" ")[0]
            if name not in os.environ or name == "CAPEVAL_SERVER_DATA":
                break
            removed[name] = os.environ.pop(name)
    os.environ.update(removed)
    return problems


def check_database(*, must_answer: bool = True, upgradable: bool = False) -> None:
    """Check that the database has the tables of this version of the server.

    Args:
        must_answer: Whether an unreachable database is an error. Otherwise it is only a warning.
        upgradable: Whether to accept tables that `migrate` creates or upgrades.

    Raises:
        OptionError: The tables are missing or of a different version, or the database is unreachable.
    """
    from django.db import DatabaseError, InterfaceError, OperationalError

    from capeval_server.core.transient_errors import cause_of
    from capeval_server.ops.migration_history import schema_problem

    try:
        problem = schema_problem(upgradable=upgradable)
    except (DatabaseError, InterfaceError) as error:
        if isinstance(error, OperationalError) and not must_answer:
            text = f"the database can't be used{cause_of(error)}; waiting for it"
            print(f"capeval: warning: {text}", file=sys.stderr, flush=True)
            return
        raise OptionError(f"the database can't be used{cause_of(error)}") from None
    if problem:
        raise OptionError(problem)


def migrate_database() -> Literal["current", "outdated", "missing"]:
    """Start Django, and create the database or upgrade it to this server version.

    Returns:
        The state of the tables before.

    Raises:
        OptionError: A setting is invalid, or the database can't be used or upgraded.
    """
    set_up(database=False)
    check_database(upgradable=True)
    from django.core.management import call_command

    from capeval_server.ops.migration_history import get_schema_state

    before = get_schema_state()
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    return before


def user_named(name: str) -> User:
    """Return a user by name.

    Raises:
        OptionError: There is no such user.
    """
    from django.contrib.auth.models import User as Users

    found = Users.objects.filter(username=name).first()
    if found is None:
        raise OptionError(f"'user' must be the name of a user (got {name!r})")
    return found
