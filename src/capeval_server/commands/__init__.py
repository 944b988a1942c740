"""`capeval server`: the commands that run and manage a server."""

from __future__ import annotations

import os
from collections.abc import Callable

from capeval.cli.commands import Command, Group
from capeval_server.commands import accounts, annotation, challenges, checking, running

__all__ = ["app"]


def private() -> None:
    """Has all that a command writes belong to its user alone."""
    os.umask(0o077)


_COMMANDS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("migrate", running.migrate),
    ("start", running.start),
    ("worker", running.worker),
    ("demo", running.demo),
    ("check", checking.check),
    ("rotate-key", running.rotate_key),
    ("tidy", running.tidy),
    ("import", challenges.import_files),
    ("example", challenges.example),
    ("export", challenges.export),
    ("reported", challenges.reported),
    ("organiser", challenges.organiser),
    ("participant", challenges.participant),
    ("final", challenges.final),
    ("announce", challenges.announce),
    ("rerun", challenges.rerun),
    ("user", accounts.user),
    ("token", accounts.token),
)

app = Group(
    name="server",
    callback=private,
    help="Runs an evaluation server: challenges, submissions, leaderboards.",
    no_args_is_help=True,
    commands=[*(Command(run, name) for name, run in _COMMANDS), annotation.group()],
)
