"""Commands that create, change and export challenges."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval.errors import OptionError
from capeval.toolkit import atomic_write
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.common import UserName, set_up, user_named

if TYPE_CHECKING:
    from capeval_server.challenges.models import Challenge, Phase
    from capeval_server.hosting.services.definition_files import DefinitionPreview

__all__ = [
    "announce",
    "delete",
    "example",
    "export",
    "final",
    "import_files",
    "organizer",
    "participant",
    "publish",
    "reported",
    "rerun",
]

# Longer values are cut in the list of changes.
_LONGEST = 80

Slug = Annotated[str, Argument(metavar="CHALLENGE", help="Name of the challenge, as in its URL.")]


def import_files(
    path: Annotated[Path, Argument(metavar="FILE", help="The challenge.toml.")],
    dry_run: Annotated[bool, Option(help="Show the changes without making them.")] = False,
    delete: Annotated[
        list[str] | None,
        Option(
            metavar="PLACE",
            help="Delete the entry, such as splits.val.references.c5.reported.coco-2015; repeatable.",
        ),
    ] = None,
) -> None:
    """Create a challenge from its files, or update it and list the changes.

    Fields and entries that are not in the file stay unchanged. Only --delete, and the list `delete` in the
    file, remove entries.
    """
    set_up()
    from capeval_server.hosting.selectors.score_disclosure import LEAST_IMAGES, small_groups, unscored_subsets
    from capeval_server.hosting.services.definition_files import import_files as import_from

    challenge, preview = import_from(path, delete=delete or (), dry_run=dry_run)
    for line in _format_changes(preview, dry_run=dry_run):
        print(line)
    if dry_run:
        print(f"{preview.slug}: dry run, nothing was changed")
        return
    splits, phases = challenge.splits.count(), challenge.phases.count()
    print(f"{challenge.slug}: imported; splits: {splits}, phases: {phases}")
    for name, images in small_groups(challenge):
        print(
            f"capeval: note: {name} has {images} images, fewer than {LEAST_IMAGES}: its scores can reveal"
            " private references of single images",
            file=sys.stderr,
        )
    for text in unscored_subsets(challenge):
        print(f"capeval: note: no scores of {text} (least_subset of the definition)", file=sys.stderr)


def _format_changes(preview: DefinitionPreview, *, dry_run: bool) -> Iterator[str]:
    """Yield one line per change: verb, place, old and new value."""
    verbs = ("add", "change", "delete", "keep") if dry_run else ("added", "changed", "deleted", "kept")
    added, changed, deleted, kept = (f"{verb:<7}" for verb in verbs)
    for place, before, after in preview.changes:
        if not before:
            yield f"{added} {place}: {_shorten(after)}"
        elif not after:
            yield f"{deleted} {place}: {_shorten(before)}"
        else:
            yield f"{changed} {place}: {_shorten(before)} -> {_shorten(after)}"
    if not preview.changes:
        yield "No changes"
    yield from (f"{kept} {place} (not in the file)" for place in preview.kept)
    if preview.rescored:
        yield f"Submissions to score again: {preview.rescored:,}"


def _shorten(text: str) -> str:
    from capeval.scoring.grid_formats import escape_controls

    line = escape_controls(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def example(
    name: Annotated[str, Argument(help="`small`, `domains`, `coco-2015` or `nocaps`.")],
    folder: Annotated[Path, Argument(help="Output folder; created if missing.")],
) -> None:
    """Write the files of an example challenge, ready to import."""
    from capeval_server.examples import write_example

    print(write_example(name, folder))


def export(
    slug: Slug,
    path: Annotated[Path, Argument(metavar="FILE", help="Zip file to write.")],
) -> None:
    """Export a challenge as a zip, without references, email addresses and secrets."""
    set_up()
    from capeval_server.audit.models import record
    from capeval_server.hosting.services.export_archive import export as write

    challenge = _get_challenge(slug)
    with atomic_write(path) as file:
        write(challenge, file)
        record(None, challenge, "wrote everything of the challenge to a file")
    print(path)


def delete(
    slug: Slug,
    path: Annotated[Path, Argument(metavar="FILE", help="Zip file to write before the deletion.")],
    confirm: Annotated[str, Option(metavar="NAME", help="Name of the challenge again, to confirm.")],
) -> None:
    """Export a challenge completely, with its references, and then delete it. This cannot be undone."""
    set_up()
    from django.utils import timezone

    from capeval_server.core.errors import ConflictError
    from capeval_server.hosting.services.deletion import delete_challenge, list_unclosed_campaigns
    from capeval_server.hosting.services.export_archive import export as write

    challenge = _get_challenge(slug)
    if confirm != slug:
        raise OptionError(f"'--confirm' must be {slug!r} (got {confirm!r})")
    if path.exists():
        raise OptionError(f"'FILE' must not exist (got {str(path)!r})")
    if obstacle := list_unclosed_campaigns(challenge):
        raise ConflictError(f"the challenge can't be deleted: {obstacle}")
    began = timezone.now()
    with atomic_write(path) as file:
        write(challenge, file, complete=True)
    delete_challenge(None, challenge, confirm, exported=began)
    print(f"{slug}: deleted; its content is in {path}")


def reported(
    slug: Slug,
    split: Annotated[str, Argument(help="Name of the split.")],
    references: Annotated[str, Argument(help="Name of its reference set.")],
    name: Annotated[str, Argument(help="Name for the rows, such as coco-2015.")],
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="CSV, or the JSON of COCO's leaderboards.")
    ] = None,
    title: Annotated[str, Option(help="Title of the rows on the page; by default NAME.")] = "",
    url: Annotated[str, Option(help="URL of the source.")] = "",
    ranked: Annotated[bool, Option(help="Show the hypothetical rank of each row.")] = False,
    remove: Annotated[bool, Option(help="Remove the rows from the leaderboards.")] = False,
) -> None:
    """Show externally reported scores with a leaderboard."""
    set_up()
    from capeval_server.core.errors import NotFoundError
    from capeval_server.hosting.services.reported_scores import add_reported, reference_set, remove_reported

    if remove == (path is not None):
        raise OptionError("give either 'FILE' or '--remove'")
    try:
        entry = reference_set(_get_challenge(slug), split, references)
        if path is None:
            remove_reported(None, entry, name)
            print(f"{slug}: {name} is removed from the leaderboards of {split}, references {references}")
            return
    except NotFoundError:
        raise OptionError(
            f"'SPLIT', 'REFERENCES' or 'NAME' does not exist (got {split!r}, {references!r}, {name!r})"
        ) from None
    about = {"title": title or name, "url": url}
    rows, left_out = add_reported(None, entry, name, str(path), path.read_bytes(), ranked=ranked, **about)
    print(f"{slug}: {rows} rows are shown with the leaderboards of {split}, references {references}")
    if left_out:
        print(
            f"capeval: note: ignored scores that the split does not have: {', '.join(left_out)}",
            file=sys.stderr,
        )


def organizer(
    slug: Slug,
    user: UserName,
    remove: Annotated[bool, Option(help="Remove the user from the organizers.")] = False,
) -> None:
    """Add or remove an organizer of a challenge."""
    set_up()
    from capeval_server.hosting.services import moderation

    challenge, found = _get_challenge(slug), user_named(user)
    if remove:
        moderation.remove_organizer(None, challenge, found)
    else:
        moderation.add_organizer(None, challenge, user)
    print(f"{user}: {'not an organizer' if remove else 'an organizer'} of {slug}")


ParticipantAction = Literal["approve", "remove", "block", "unblock"]


def participant(
    slug: Slug,
    user: UserName,
    act: Annotated[
        ParticipantAction, Argument(metavar="ACTION", help="`approve`, `remove`, `block` or `unblock`.")
    ],
    reason: Annotated[str, Option(metavar="TEXT", help="Reason for the block, shown to the user.")] = "",
) -> None:
    """Approve, remove, block or unblock a participant of a challenge."""
    set_up()
    from capeval_server.hosting.services import participants

    challenge = _get_challenge(slug)
    if reason and act != "block":
        raise OptionError("'--reason' requires the action block")
    if act == "block":
        participants.block(None, challenge, user, reason)
    elif act == "unblock":
        participants.unblock(None, challenge, user)
    elif act == "approve":
        participants.approve(None, challenge, user)
    else:
        participants.remove(None, challenge, user)
    done = {"approve": "approved", "remove": "removed", "block": "blocked", "unblock": "unblocked"}
    print(f"{user}: {done[act]} in {slug}")


def final(
    slug: Slug,
    phase: Annotated[str, Argument(help="Name of the phase.")],
) -> None:
    """Make the results of a closed phase final. This cannot be undone."""
    set_up()
    from capeval_server.hosting.services.final_results import make_final

    make_final(None, _get_phase(slug, phase))
    print(f"{phase}: the results are final")


def publish(
    slug: Slug,
    phase: Annotated[str, Argument(help="Name of the phase.")],
) -> None:
    """Publish the scores of a closed blind phase. This cannot be undone."""
    set_up()
    from capeval_server.hosting.services import final_results

    final_results.publish(None, _get_phase(slug, phase))
    print(f"{phase}: the results are published")


def announce(
    slug: Slug,
    title: Annotated[str, Argument(help="Title of the announcement.")],
) -> None:
    """Publish standard input as an announcement, and mail it to all participants."""
    set_up()
    from capeval_server.notifications import services

    made = services.announce(None, _get_challenge(slug), title, sys.stdin.read())
    print(f"{slug}: announced {made.title}")


def rerun(
    submission: Annotated[str, Argument(metavar="ID", help="Id of the submission.")],
) -> None:
    """Score a submission again."""
    set_up()
    from django.core.exceptions import ValidationError

    from capeval_server.hosting.services import moderation
    from capeval_server.submissions.models import Submission

    try:
        found = Submission.objects.get(pk=submission)
    except (Submission.DoesNotExist, ValidationError):
        raise OptionError(f"'ID' must be the id of a submission (got {submission!r})") from None
    moderation.rerun(None, found.challenge, found)
    print(f"{submission}: waiting to be scored again")


def _get_challenge(slug: str) -> Challenge:
    from capeval_server.challenges.models import Challenge as Challenges

    found = Challenges.objects.filter(slug=slug).first()
    if found is None:
        raise OptionError(f"'CHALLENGE' must be the name of a challenge (got {slug!r})")
    return found


def _get_phase(slug: str, name: str) -> Phase:
    found = _get_challenge(slug).phases.select_related("challenge").filter(name=name).first()
    if found is None:
        raise OptionError(f"'PHASE' must be a phase of {slug} (got {name!r})")
    return found
