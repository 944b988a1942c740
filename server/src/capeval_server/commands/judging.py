"""Command that creates judgment campaigns of a leaderboard's submissions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import UUID

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Option
from capeval_server.commands.annotation_common import parse_setting
from capeval_server.commands.common import set_up

__all__ = ["leaderboard"]


def leaderboard(
    place: Annotated[str, Argument(metavar="CHALLENGE/PHASE", help="Phase of the submissions.")],
    kinds: Annotated[list[str], Argument(metavar="KIND", help="Task types, such as m1 m2 pairwise.")],
    name: Annotated[
        str, Option(help="Beginning of the names of the campaigns.", show_default="CHALLENGE-judged")
    ] = "",
    references: Annotated[
        str, Option(help="SPLIT/REFERENCES with the human captions.", show_default="the main leaderboard")
    ] = "",
    submission: Annotated[
        list[str] | None, Option(help="Id of a judged submission; repeatable.", show_default="all")
    ] = None,
    images: Annotated[int, Option(min=1, help="Number of images, drawn at random.")] = 100,
    answers: Annotated[
        int | None, Option(min=1, help="Answers per item.", show_default="of the task type")
    ] = None,
    check_every: Annotated[
        int | None,
        Option(
            min=0,
            help="One answer in this number is to an attention check; 0 for none.",
            show_default="as in other campaigns",
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        Option(
            help="Folder or zip of the images. File names end in the image id, such as 42.jpg.",
            show_default="the challenge's images",
        ),
    ] = None,
    hourly: Annotated[float, Option(help="Pay per hour, for the forecast.")] = 12.0,
    workers: Annotated[int, Option(min=0, help="Number of links to create, each for all campaigns.")] = 0,
    forecast: Annotated[bool, Option(help="Show the forecast without creating campaigns.")] = False,
    seed: Annotated[int, Option(min=0, help="Seed of random draws.")] = 0,
    setting: Annotated[
        list[str] | None,
        Option(help="SETTING=VALUE of all campaigns, such as contact=lab@example.org; repeatable."),
    ] = None,
) -> None:
    """Create campaigns in which people judge the submissions of a leaderboard.

    Items have the submissions, the human baseline (Human) and captions of other images (Random).
    """
    set_up()
    from django.conf import settings

    from capeval_server.annotation.campaigns import leaderboard_judging as judging
    from capeval_server.annotation.campaigns.judging_forecast import forecast_judging
    from capeval_server.annotation.workers.enrollment import invite_to_all
    from capeval_server.challenges.selectors.access import get_phase
    from capeval_server.core.errors import NotFoundError
    from capeval_server.leaderboards.query import build_query

    slug, _, phase_name = place.partition("/")
    split, _, reference_set = references.partition("/")
    try:
        phase = get_phase(slug, phase_name)
        chosen = build_query(phase, split=split, references=reference_set).reference_set
    except NotFoundError:
        raise OptionError(
            f"'CHALLENGE/PHASE' and '--references' must exist (got {place!r}, {references!r})"
        ) from None
    wanted = judging.JudgingRequest(
        phase=phase,
        references=chosen,
        submissions=list(map(_parse_id, submission))
        if submission
        else [one.pk for one in judging.list_judgeable(phase)],
        kinds=judging.check_kinds(kinds),
        name=name or judging.default_name(phase),
        title=judging.default_title(phase),
        images=images,
        answers=answers,
        check_every=judging.DEFAULT_CHECK_EVERY if check_every is None else check_every,
        seed=seed,
        options=dict(map(parse_setting, setting or ())),
    )
    files = _list_pictures(pictures, settings.UNPACKED_BYTES) if pictures else {}
    judged = judging.collect_captions(wanted, list(files), is_forecast=forecast)
    for each in forecast_judging(wanted, judged, hourly=hourly, fee=0.0):
        smallest = f"{100 * each.difference:.2g} points" if each.is_share else f"{each.difference:.2g}"
        if each.is_share and each.difference > 1:
            smallest = "none (too few images)"
        print(
            f"{each.kind}: {each.items:,} items, {each.answers:,} answers, {each.check_answers:,} answers to"
            f" attention checks, {each.hours:.1f} hours, cost {each.cost:,.2f}, smallest visible difference"
            f" {smallest}"
        )
        if each.no_checks:
            print(f"{each.kind}: {each.no_checks}")
    if forecast:
        return
    read = {name: files[name]() for name in judged.pictures.values() if name in files}
    made = judging.create_judging(None, wanted, read)
    for campaign in made:
        print(f"{campaign.slug}: created as a draft; items: {campaign.items.filter(is_check=False).count()}")
    if workers:
        for token in invite_to_all(None, made, workers):
            print(f"{settings.ADDRESS}/annotate/{made[0].slug}/enter/{token}/")


def _list_pictures(path: Path, limit: int) -> dict[str, Callable[[], bytes]]:
    """Return functions that read the files of a folder or zip, by name."""
    from capeval_server.annotation.campaigns.form_files import unzip_images

    if path.is_dir():
        return {each.name: each.read_bytes for each in sorted(path.iterdir()) if each.is_file()}
    unpacked = unzip_images(path.read_bytes(), limit=limit)
    return {name: partial(unpacked.__getitem__, name) for name in sorted(unpacked)}


def _parse_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise OptionError(f"'--submission' must be the id of a submission (got {text!r})") from None
