"""The command that checks an installation."""

from __future__ import annotations

from typing import Annotated

import typer

from capeval_server.commands.common import set_up

__all__ = ["check"]


def check(
    before_start: Annotated[
        bool,
        typer.Option("--before-start", help="Leave out what needs the server and its workers to run."),
    ] = False,
) -> None:
    """Checks settings, database, disk, mail, workers and proxy; exits with 1 if there is a problem."""
    set_up()
    from capeval_server.monitoring.checks import findings

    problems = 0
    for finding in findings(started=not before_start):
        print(f"{finding.level:<8} {finding.about}: {finding.text}", flush=True)
        problems += finding.level == "problem"
    raise typer.Exit(1 if problems else 0)
