"""Commands for the workers of a campaign: invitations, blocks and payments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Option
from capeval_server.commands.annotation_common import Pseudonym, Slug, get_campaign, get_worker
from capeval_server.commands.common import UserName, set_up, user_named

__all__ = ["block", "invite", "lift", "link", "payments", "resume", "revoke", "withdraw"]


def invite(
    slug: Slug,
    number: Annotated[int, Option(help="Number of tokens.", min=1, max=10000)] = 1,
) -> None:
    """Create invite tokens, one per person, and print them once."""
    set_up()
    from capeval_server.annotation.workers import enrollment

    for token in enrollment.invite(None, get_campaign(slug), number):
        print(token)


def link(
    slug: Slug,
    worker: Pseudonym,
    user: UserName,
) -> None:
    """Link a worker from a link or panel to an account; competitors are blocked."""
    set_up()
    from capeval_server.annotation.review import moderation

    effect = moderation.link_account(None, get_worker(slug, worker), user_named(user))
    print(f"{worker}: " + ("linked" if effect is None else f"blocked; answers not counted: {effect.answers}"))


def block(
    slug: Slug,
    worker: Pseudonym,
    reason: Annotated[str, Option(help="Finding that justifies the block, such as copied captions.")] = "",
    effect: Annotated[bool, Option(help="Show the effect without blocking the worker.")] = False,
) -> None:
    """Block a worker; their answers no longer count, and their items are reopened."""
    set_up()
    from capeval_server.annotation.review import moderation

    found = get_worker(slug, worker)
    if bool(reason) == effect:
        raise OptionError("either '--reason' or '--effect' must be given")
    done = moderation.effect_of_blocking(found) if effect else moderation.block(None, found, reason)[1]
    print(
        f"{worker}: {'would be blocked' if effect else 'blocked'}; answers excluded: {done.answers:,};"
        f" items reopened: {done.items:,}; releases: {', '.join(done.releases) or 'none'}"
    )


def lift(
    slug: Slug,
    worker: Pseudonym,
    reason: Annotated[str, Option(help="Reason for lifting the block.")],
) -> None:
    """Lift the block of a worker; answers count again if their items need them."""
    set_up()
    from capeval_server.annotation.review import moderation

    found = moderation.get_block(get_worker(slug, worker))
    print(f"{worker}: block lifted; answers restored: {moderation.unblock(None, found, reason):,}")


def revoke(slug: Slug, worker: Pseudonym) -> None:
    """Revoke the invite link of a worker; their answers are kept."""
    set_up()
    from capeval_server.annotation.workers import enrollment

    enrollment.revoke(None, get_worker(slug, worker))
    print(f"{worker}: link revoked")


def resume(
    slug: Slug,
    worker: Pseudonym,
    reason: Annotated[str, Option(help="Finding that justifies it.")],
) -> None:
    """Resume a worker after a pause for failed checks."""
    set_up()
    from capeval_server.annotation.workers import training

    print(f"{worker}: {training.resume(None, get_worker(slug, worker), reason).stage}")


def payments(
    slug: Slug,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
    bonuses: Annotated[bool, Option(help="Write the bonuses for Mechanical Turk instead.")] = False,
) -> None:
    """Write the payments of all workers as CSV."""
    set_up()
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.workers.bonuses import bonuses_csv
    from capeval_server.annotation.workers.payments import payments_csv

    render = bonuses_csv if bonuses else payments_csv
    deliver(render(None, get_campaign(slug)), output)


def withdraw(
    slug: Slug,
    worker: Pseudonym,
) -> None:
    """Withdraw a worker at their request, permanently.

    Texts that are in no frozen release are removed.
    """
    set_up()
    from capeval_server.annotation.review import withdrawal

    done = withdrawal.withdraw(None, get_worker(slug, worker))
    print(f"{slug}: {worker} withdrew; answers removed: {done.removed}; in frozen releases: {done.frozen}")
