"""`capeval server`: the commands that run and manage a server."""

from __future__ import annotations

import os
from collections.abc import Callable

from capeval.errors import OptionError
from capeval.toolkit.command_line import Command, Group
from capeval_server.commands import accounts, annotation, challenges, check, operations

__all__ = ["app"]


def private() -> None:
    """Create all files of a command with access for its user only.

    Raises:
        OptionError: The operating system lacks the file modes, limits and processes that protect a server.
    """
    if not hasattr(os, "fork"):
        raise OptionError(
            "capeval server does not run on Windows, because it relies on POSIX file modes, memory limits and"
            " processes: run it in a container or in WSL"
        )
    os.umask(0o077)


_COMMANDS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("migrate", operations.migrate),
    ("start", operations.start),
    ("worker", operations.worker),
    ("check", check.check),
    ("rotate-key", operations.rotate_key),
    ("tidy", operations.tidy),
    ("import", challenges.import_files),
    ("example", challenges.example),
    ("export", challenges.export),
    ("reported", challenges.reported),
    ("organizer", challenges.organizer),
    ("participant", challenges.participant),
    ("final", challenges.final),
    ("publish", challenges.publish),
    ("delete", challenges.delete),
    ("announce", challenges.announce),
    ("rerun", challenges.rerun),
    ("user", accounts.user),
    ("token", accounts.token),
)

app = Group(
    name="server",
    callback=private,
    help="Run an evaluation server: challenges, submissions, leaderboards.",
    no_args_is_help=True,
    commands=[*(Command(run, name) for name, run in _COMMANDS), annotation.group()],
)
