"""Command that compares a panel's export with a campaign."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import Slug, get_campaign
from capeval_server.commands.common import set_up

__all__ = ["reconcile"]


def reconcile(
    slug: Slug,
    path: Annotated[Path, Argument(metavar="EXPORT", help="The panel's submissions as CSV.")],
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Compare a panel's export with the sessions, and write a suggestion per submission as CSV."""
    set_up()
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.workers import reconciliation

    result = reconciliation.reconcile(None, get_campaign(slug), path.read_bytes())
    deliver(reconciliation.reconciliation_csv(result.rows), output)
    print("; ".join(f"{name}: {number}" for name, number in result.suggestions.items()), file=sys.stderr)
    places = {"both": "in both", "export": "only in the export", "here": "only here"}
    print("; ".join(f"{places[name]}: {number}" for name, number in result.found.items()), file=sys.stderr)
    if result.other_studies:
        print(f"sessions of other studies, not listed: {result.other_studies}", file=sys.stderr)
    if result.withdrawn:
        print(f"sessions of workers who withdrew, not comparable: {result.withdrawn}", file=sys.stderr)
    if result.missing:
        missing = ", ".join(result.missing)
        print(f"capeval: warning: the export lacks the columns: {missing}", file=sys.stderr)
