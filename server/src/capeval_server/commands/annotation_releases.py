"""Commands for the results and releases of a campaign."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import (
    Slug,
    get_campaign,
)
from capeval_server.commands.common import UserName, set_up, user_named

if TYPE_CHECKING:
    from capeval_server.annotation.models import Release

__all__ = ["challenge", "download", "freeze", "judgments", "publish", "results", "verify"]


def results(
    slug: Slug,
    folder: Annotated[
        Path | None,
        Argument(help="Output folder of the judgments, for 'capeval study'; by default, print the results."),
    ] = None,
    release: Annotated[str, Option(help="Name of these judgments in human.csv.")] = "",
) -> None:
    """Print the results of a campaign as CSV, or write its counted judgments to a folder."""
    set_up()
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.releases.current_results import get_results, render_results
    from capeval_server.annotation.releases.result_files import write_results

    if folder is None:
        if release:
            raise OptionError("'--release' requires a folder")
        deliver(render_results(get_results(get_campaign(slug))), None)
        return
    for path in write_results(get_campaign(slug), folder, release=release):
        print(path)


def judgments(
    slug: Slug,
    state: Annotated[
        Literal["all", "waiting", "accepted", "rejected", "counted", "uncounted", "training"],
        Option(help="Answers by state; waiting ones are to be reviewed."),
    ] = "all",
    signal: Annotated[str, Option(help="Reason for a review, as the list of reviews shows it.")] = "",
    category: Annotated[str, Option(help="Class of the items.")] = "",
    worker: Annotated[str, Option(help="Pseudonym of the worker.")] = "",
    worker_signal: Annotated[str, Option(help="Signal of the workers, such as fast; or any.")] = "",
    search: Annotated[str, Option(help="Part of a caption, or of a text or the key of the item.")] = "",
    disagreement: Annotated[bool, Option(help="Only items with differing counted answers.")] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write to this file, .csv or .parquet.")
    ] = None,
) -> None:
    """Write the answers of a campaign as a table, one row per answer and question."""
    set_up()
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.releases.answer_export import export_answers
    from capeval_server.annotation.review.answer_explorer import AnswerFilter

    asked = AnswerFilter(
        state=state,
        signal=signal,
        category=category,
        worker=worker,
        worker_signal=worker_signal,
        search=search,
        disagreement=disagreement,
    )
    form = "parquet" if output is not None and output.suffix == ".parquet" else "csv"
    deliver(export_answers(None, get_campaign(slug), asked, form), output)


Name = Annotated[str, Argument(metavar="NAME", help="Name of the release, such as 1.0.")]


def _get_release(slug: str, name: str) -> Release:
    found = get_campaign(slug).releases.filter(name=name).first()
    if found is None:
        raise OptionError(f"'NAME' must be the name of a release of {slug!r} (got {name!r})")
    return found


def freeze(
    slug: Slug,
    name: Name,
    plans: Annotated[Path | None, Option(help="JSON file of the splits to create.")] = None,
    seed: Annotated[int, Option(help="Seed of the random split.", min=0)] = 0,
    leave_out: Annotated[
        bool, Option(help="Leave out images with too few captions instead of failing.")
    ] = False,
    without_invisible: Annotated[
        bool, Option(help="Remove invisible characters from captions, and record it in the manifest.")
    ] = False,
) -> None:
    """Freeze the counted captions or judgments into a release, which never changes."""
    set_up()
    from capeval_server.annotation.releases import judgment_table, release_files

    made = release_files.freeze(
        None,
        get_campaign(slug),
        name,
        plans=plans,
        seed=seed,
        leave_out=leave_out,
        without_invisible=without_invisible,
    )
    print(f"{slug} {name}: frozen; answers: {made.responses.count()}; files: {release_files.folder_of(made)}")
    if missing := judgment_table.explain_missing_parquet():
        print(f"capeval: warning: {missing}", file=sys.stderr)


def verify(slug: Slug, name: Name) -> None:
    """Check that a release is unchanged, and report its answers that no longer count."""
    set_up()
    from capeval_server.annotation.releases import release_files

    found = _get_release(slug, name)
    number = release_files.verify(found)
    since = release_files.count_outdated_answers(found)
    print(f"{slug} {name}: {number} files unchanged; answers that no longer count: {since}")


def download(
    slug: Slug,
    name: Name,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Path of the zip.", show_default="CAMPAIGN-NAME.zip")
    ] = None,
) -> None:
    """Write a zip of the files of a release, as its page sends it."""
    set_up()
    from capeval.toolkit import atomic_write
    from capeval_server.annotation.releases.archives import zip_release

    path = output or Path(f"{slug}-{name}.zip")
    data = zip_release(None, _get_release(slug, name))
    with atomic_write(path) as file:
        file.write(data)
    print(path)


def challenge(
    slug: Slug,
    name: Name,
    folder: Annotated[Path, Argument(help="Output folder; created if missing.")],
    subsets: Annotated[
        Path | None,
        Option(
            help="JSON file of images by subset, such as of 'capeval study domains --subsets'.",
            show_default="the classes of the items",
        ),
    ] = None,
) -> None:
    """Write the files of a new challenge from a release, for review and import."""
    set_up()
    from capeval.datasets.challenge_pages import PAGES, TO_FILL_IN
    from capeval.formats import load_subsets
    from capeval_server.annotation.releases.challenge_files import write_challenge

    images = None if subsets is None else load_subsets(subsets)
    path = write_challenge(_get_release(slug, name), folder, images)
    print(path)
    for marked in sorted(path.parent / page for page in PAGES if _is_marked(path.parent / page)):
        print(f'{marked}: complete the places with "{TO_FILL_IN}"')


def _is_marked(path: Path) -> bool:
    from capeval.datasets.challenge_pages import TO_FILL_IN

    return path.exists() and TO_FILL_IN in path.read_text(encoding="utf-8")


def publish(
    slug: Slug,
    name: Name,
    user: UserName,
    to: Annotated[
        str, Argument(metavar="CHALLENGE/SPLIT/REFERENCES", help="Reference set that gets a new version.")
    ],
    split: Annotated[str, Option(help="Split of the release, if its name is different.")] = "",
    many: Annotated[bool, Option(help="Use the larger reference set, such as c40.")] = False,
) -> None:
    """Publish a release as the next version of a challenge's references.

    All submissions are scored again.
    """
    set_up()
    from capeval_server.annotation.releases import release_files
    from capeval_server.challenges.models import ReferenceSet

    parts = to.split("/")
    names = dict(zip(("split__challenge__slug", "split__name", "name"), parts, strict=False))
    entry = ReferenceSet.objects.filter(**names).first() if len(parts) == 3 else None
    if entry is None:
        raise OptionError(f"'CHALLENGE/SPLIT/REFERENCES' must name a reference set (got {to!r})")
    release, who = _get_release(slug, name), user_named(user)
    version = release_files.publish(who, release, split or parts[1], entry, many=many)
    print(f"{to}: version {version}")
