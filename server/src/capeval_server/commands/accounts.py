"""Commands for accounts and API tokens."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.common import UserName, set_up, user_named

__all__ = ["token", "user"]


Scope = Literal["read", "submit", "organize"]


def user(
    name: UserName,
    email: Annotated[str, Option(help="Email address, which counts as verified.")] = "",
    staff: Annotated[bool, Option(help="Let the user administer the site.")] = False,
    password_stdin: Annotated[bool, Option(help="Read a password from standard input.")] = False,
) -> None:
    """Create a user.

    Without a password, the user can set one with "Forgot your password?" or use only tokens.
    """
    set_up()
    from django.core.exceptions import ValidationError
    from django.db import transaction

    from capeval_server.accounts.services.users import create_user
    from capeval_server.audit.models import record

    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    try:
        with transaction.atomic():
            create_user(name, email=email, password=password, staff=staff)
            record(None, None, f"made the user {name}{', who is staff' if staff else ''}")
    except ValidationError as error:
        # None of the messages contains the password.
        raise OptionError(f"'name', 'email' or password: {' '.join(error.messages)} (got {name!r})") from None
    print(f"{name}: created")


def token(
    user: UserName,
    name: Annotated[str, Argument(help="Name of the token.")],
    scope: Annotated[Scope, Option(help="Scope of the token.")] = "submit",
    days: Annotated[int, Option(help="Days until the token expires.", min=1, max=3650)] = 365,
    revoke: Annotated[bool, Option(help="Revoke the token of that name instead.")] = False,
) -> None:
    """Create an API token and print it once, or revoke one."""
    set_up()
    from django.db import IntegrityError, transaction

    from capeval_server.accounts.models import Token
    from capeval_server.audit.models import record

    owner = user_named(user)
    if not revoke:
        try:
            with transaction.atomic():
                text = Token.issue(owner.pk, name, scope, days=days)
                record(None, None, f"made the token {name} of {user}, which allows to {scope}")
        except IntegrityError:
            raise OptionError(
                f"{user} already has a token named {name!r}: choose another 'name' or revoke it first"
            ) from None
        print(text)
        return
    found = owner.tokens.filter(name=name, revoked=None).first()
    if found is None:
        raise OptionError(f"'name' must be the name of a valid token of {user} (got {name!r})")
    with transaction.atomic():
        found.revoke()
        record(None, None, f"revoked the token {name} of {user}")
    print(f"{name}: revoked")
