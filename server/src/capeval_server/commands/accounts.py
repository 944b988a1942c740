"""Commands for accounts and their tokens."""

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
    email: Annotated[str, Option(help="An email address, which counts as verified.")] = "",
    staff: Annotated[bool, Option(help="Let the user administer the site.")] = False,
    password_stdin: Annotated[bool, Option(help="Read a password from standard input.")] = False,
) -> None:
    """Creates a user, who without a password can set one by "Forgot your password?" or use only tokens."""
    set_up()
    from django.core.exceptions import ValidationError
    from django.db import transaction

    from capeval_server.accounts.services.users import make_user
    from capeval_server.audit.models import record

    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    try:
        with transaction.atomic():
            make_user(name, email=email, password=password, staff=staff)
            record(None, None, f"made the user {name}{', who is staff' if staff else ''}")
    except ValidationError as error:
        # No message quotes a password.
        raise OptionError(f"'name', 'email' or password: {' '.join(error.messages)} (got {name!r})") from None
    print(f"{name}: made")


def token(
    user: UserName,
    name: Annotated[str, Argument(help="A name to recognize the token.")],
    scope: Annotated[Scope, Option(help="What it allows.")] = "submit",
    days: Annotated[int, Option(help="How many days it is valid.", min=1, max=3650)] = 365,
    revoke: Annotated[bool, Option(help="Revoke the token of that name instead.")] = False,
) -> None:
    """Creates a token for the API and shows it once, or revokes one."""
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
                f"'name' must not be the name of another token of {user} (got {name!r})"
            ) from None
        print(text)
        return
    found = owner.tokens.filter(name=name, revoked=None).first()
    if found is None:
        raise OptionError(f"'name' must be the name of one of {user}'s tokens (got {name!r})")
    with transaction.atomic():
        found.revoke()
        record(None, None, f"revoked the token {name} of {user}")
    print(f"{name}: revoked")
