"""Command that checks an installation."""

from __future__ import annotations

import sys
from typing import Annotated

from capeval.toolkit.command_line import Option
from capeval_server.commands.common import set_up

__all__ = ["check"]


def check(
    before_start: Annotated[bool, Option(help="Skip checks that need a running server and workers.")] = False,
) -> None:
    """Check settings, database, disk, mail, workers and proxy.

    Exits with 1 if there is a problem.
    """
    set_up(database=False)
    from capeval_server.ops.installation_checks import findings

    problems = 0
    for finding in findings(started=not before_start):
        print(f"{finding.level:<8} {finding.about}: {finding.text}", flush=True)
        problems += finding.level == "problem"
    sys.exit(1 if problems else 0)
