"""Commands for annotation campaigns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Argument, Command, Group, Option
from capeval_server.commands.common import UserName, set_up, user_named
from capeval_server.commands.judging import leaderboard
from capeval_server.commands.reconciliation import reconcile

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign, Participation, Release

__all__ = ["group"]

Slug = Annotated[str, Argument(metavar="CAMPAIGN", help="Name of the campaign.")]


def _get_campaign(slug: str) -> Campaign:
    from capeval_server.annotation.models import Campaign as Campaigns

    found = Campaigns.objects.filter(slug=slug).first()
    if found is None:
        raise OptionError(f"'CAMPAIGN' must be the name of a campaign (got {slug!r})")
    return found


def _get_worker(slug: str, pseudonym: str) -> Participation:
    rows = _get_campaign(slug).participations.select_related("worker", "campaign")
    found = rows.filter(worker__pseudonym=pseudonym).first()
    if found is None:
        raise OptionError(f"'WORKER' must be the pseudonym of a worker of {slug!r} (got {pseudonym!r})")
    return found


def create(
    path: Annotated[Path, Argument(metavar="FILE", help="The campaign.toml.")],
    manager: Annotated[
        str, Option(help="User who manages it, together with the challenge's organizers.")
    ] = "",
) -> None:
    """Create a campaign as a draft, from its file and items."""
    set_up()
    from capeval_server.annotation.campaigns.creation import make_campaign

    made = make_campaign(user_named(manager) if manager else None, path)
    print(f"{made.slug}: created as a draft; items: {made.items.count()}")
    _warn(made)


def _warn(campaign: Campaign) -> None:
    from capeval_server.annotation.workers.trust import trust_warnings

    for text in trust_warnings(campaign):
        print(f"capeval: warning: {text}", file=sys.stderr)


def fetch(
    path: Annotated[Path, Argument(metavar="FILE", help="CSV of image and address, or image_info.json.")],
    folder: Annotated[Path, Argument(help="Folder for the images; created if missing.")],
) -> None:
    """Download images into a folder, from hosts that the settings allow.

    Existing files are not fetched again. Exits with 1 if a download failed.
    """
    set_up(database=False)
    from capeval_server.annotation.campaigns import image_downloads

    found = []
    for one in image_downloads.fetch_images(
        image_downloads.read_addresses(path.name, path.read_bytes()), folder
    ):
        found.append(one)
        if one.outcome == "failed":
            print(f"{one.name}: failed: {one.reason}", flush=True)
    print(image_downloads.summary(found))
    sys.exit(1 if any(one.outcome == "failed" for one in found) else 0)


def state(
    slug: Slug,
    to: Annotated[str, Argument(metavar="STATE", help="pilot, open, paused, closing, closed or draft.")],
    reason: Annotated[str, Option(help="Reason; required to reopen a closed campaign.")] = "",
) -> None:
    """Open, pause or close a campaign."""
    set_up()
    from capeval_server.annotation.campaigns.lifecycle import change_state

    print(f"{slug}: {change_state(None, _get_campaign(slug), to, reason=reason).state}")


def quality(
    slug: Slug,
    changes: Annotated[
        list[str] | None,
        Argument(
            metavar="SETTING=VALUE",
            help="New values, such as reopened_for=everybody; by default, show all settings.",
        ),
    ] = None,
) -> None:
    """Show or change the quality settings of a campaign, even while it is open."""
    set_up()
    from capeval_server.annotation.campaigns import lifecycle

    campaign = _get_campaign(slug)
    if changes:
        campaign = lifecycle.set_quality(None, campaign, dict(map(_parse_setting, changes)))
    for name, value in lifecycle.quality_settings(campaign).items():
        print(f"{name}: {value}")
    _warn(campaign)


def _parse_setting(text: str) -> tuple[str, object]:
    """Return the name and the value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise OptionError(f"a change must be SETTING=VALUE, such as review_first=5 (got {text!r})")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def quiz(
    text: Annotated[str, Argument(help="Task text whose rules the quiz covers.")] = "write-coco",
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Write the bundled quiz of a task text as lines of an items file, to edit them."""
    set_up(database=False)
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.task_types.quiz import quiz_lines

    deliver(b"\n".join((*quiz_lines(text), b"")).decode(), output)


def rules(
    slug: Slug,
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="TOML with a [rules] table; by default, show the rules.")
    ] = None,
) -> None:
    """Show the caption rules, or set them with a new version of the campaign's texts."""
    set_up()
    from capeval_server.annotation.campaigns.definition import read_rules
    from capeval_server.annotation.campaigns.lifecycle import set_rules
    from capeval_server.annotation.text_rules.rules import RULES
    from capeval_server.annotation.text_rules.validation import settings_of
    from capeval_server.annotation.workers.enrollment import latest_texts

    campaign = _get_campaign(slug)
    if path is not None:
        set_rules(None, campaign, read_rules(path.name, path.read_bytes()))
    texts = latest_texts(campaign)
    print(f"{slug}: version {texts.number}")
    settings = settings_of(texts)
    for rule in RULES.values():
        print(f"{rule.name}: {settings.level(rule)}")


def known(
    slug: Slug,
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="Captions, in a format for references.")
    ] = None,
    any_image: Annotated[bool, Option(help="Match the captions for every image.")] = False,
    submissions: Annotated[bool, Option(help="Add the captions submitted to the challenge.")] = False,
) -> None:
    """Add hashes of known captions; answers with the same caption go to review."""
    set_up()
    from capeval.formats import load_references
    from capeval_server.annotation.responses import text_flags

    campaign = _get_campaign(slug)
    if (path is None) != submissions:
        raise OptionError("either 'FILE' or '--submissions' must be given")
    if path is None:
        number = text_flags.add_submissions(campaign)
    else:
        captions = (
            ("" if any_image else str(image), text)
            for image, texts in load_references(path).items()
            for text in texts
        )
        number = text_flags.add_known(campaign, captions)
    print(f"{slug}: {number:,} captions added")


def compare(slug: Slug) -> None:
    """Send captions that differ from the others of their image to review."""
    set_up()
    from capeval_server.annotation.responses import text_flags

    print(f"{slug}: {text_flags.request_agreement_reviews(_get_campaign(slug))} captions to review")


def invite(
    slug: Slug,
    number: Annotated[int, Option(help="Number of tokens.", min=1, max=10000)] = 1,
) -> None:
    """Create invite tokens, one per person, and print them once."""
    set_up()
    from capeval_server.annotation.workers import enrollment

    for token in enrollment.invite(None, _get_campaign(slug), number):
        print(token)


def texts(
    slug: Slug,
    instructions: Annotated[Path | None, Option(help="Markdown file of the instructions.")] = None,
    consent: Annotated[Path | None, Option(help="Markdown file of the consent.")] = None,
) -> None:
    """Publish new instructions or a new consent text; workers must agree again."""
    set_up()
    from capeval_server.annotation.campaigns.consent import change_texts
    from capeval_server.annotation.campaigns.definition import read_markdown

    found = {
        name: None if path is None else read_markdown(path.name, path.read_bytes())
        for name, path in (("instructions", instructions), ("consent", consent))
    }
    print(f"{slug}: version {change_texts(None, _get_campaign(slug), **found).number} of the texts")


def panel(
    slug: Slug,
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="The panel.toml; by default, show the panel.")
    ] = None,
) -> None:
    """Show the panel of a campaign with its completion codes, or set the panel."""
    set_up()
    from capeval_server.annotation.campaigns.definition import read_panel
    from capeval_server.annotation.workers import panels

    campaign = _get_campaign(slug)
    if path is not None:
        panels.set_panel(
            None, campaign, read_panel(path.name, lambda name: (path.parent / name).read_bytes())
        )
    found = panels.panel_settings(campaign)
    print(f"{slug}: {found.name}; identities: {'signed' if found.signed else 'unverified'}")
    for outcome, code in found.codes.items():
        print(f"{outcome}: {code}")


def link(
    slug: Slug,
    worker: Annotated[str, Argument(help="The worker's pseudonym.")],
    user: UserName,
) -> None:
    """Link a worker from a link or panel to an account; competitors are blocked."""
    set_up()
    from capeval_server.annotation.review import moderation

    effect = moderation.link_account(None, _get_worker(slug, worker), user_named(user))
    print(f"{worker}: " + ("linked" if effect is None else f"blocked; answers not counted: {effect.answers}"))


def warn(
    slug: Slug,
    image: Annotated[str, Argument(help="Name of the image.")],
    text: Annotated[str, Argument(help="Warning, such as blood; empty to remove it.")],
) -> None:
    """Hide an image behind a content warning."""
    set_up()
    from capeval_server.annotation.responses.content_warnings import set_warning

    print(f"{image}: {set_warning(None, _get_campaign(slug), image, text).warning or 'no warning'}")


def hold(
    slug: Slug,
    key: Annotated[
        str,
        Argument(metavar="ITEM", help="Key of the item; by default, list the items on hold."),
    ] = "",
    reason: Annotated[str, Option(help="Reason for the hold.")] = "",
    give: Annotated[bool, Option(help="Release the item.")] = False,
) -> None:
    """Put an item on hold or release it, and list the releases with its answers."""
    set_up()
    from capeval_server.annotation.review import moderation

    items = _get_campaign(slug).items.filter(repeats=None)
    if (give or reason) and not key:
        raise OptionError("'--give' and '--reason' require an ITEM")
    if give and reason:
        raise OptionError("'--reason' and '--give' exclude each other: a release has no reason")
    if not key:
        for item in items.filter(held=True).order_by("pk"):
            names = ", ".join(moderation.releases_of(item)) or "none"
            print(f"{item.key}: {item.held_reason or 'on hold'}; releases: {names}")
        return
    found = items.filter(key=key).first()
    if found is None:
        raise OptionError(f"'ITEM' must be the key of an item of {slug!r} (got {key!r})")
    found_in = moderation.set_hold(None, found, held=not give, reason=reason)
    print(f"{key}: {'released' if give else 'on hold'}; releases: {', '.join(found_in) or 'none'}")


def resume(
    slug: Slug,
    worker: Annotated[str, Argument(help="The worker's pseudonym.")],
    reason: Annotated[str, Option(help="Finding that justifies it.")],
) -> None:
    """Resume a worker after a pause for failed checks."""
    set_up()
    from capeval_server.annotation.workers import training

    print(f"{worker}: {training.resume(None, _get_worker(slug, worker), reason).stage}")


def rate(
    slug: Slug,
    amount: Annotated[str, Argument(help="Payment per answer, such as 0.12.")],
    currency: Annotated[str, Argument(help="Currency, such as EUR.")],
) -> None:
    """Set the payment per answer."""
    set_up()
    from capeval_server.annotation.workers.payments import set_rate

    set_rate(None, _get_campaign(slug), amount, currency)
    print(f"{slug}: {amount} {currency} per answer")


def payments(
    slug: Slug,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Write the payments of all workers as CSV."""
    set_up()
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.workers.payments import payments_csv

    deliver(payments_csv(None, _get_campaign(slug)), output)


def withdraw(
    slug: Slug,
    worker: Annotated[str, Argument(help="The worker's pseudonym.")],
) -> None:
    """Withdraw a worker at their request, permanently.

    Texts that are in no frozen release are removed.
    """
    set_up()
    from capeval_server.annotation.review import withdrawal

    done = withdrawal.withdraw(None, _get_worker(slug, worker))
    print(f"{slug}: {worker} withdrew; answers removed: {done.removed}; in frozen releases: {done.frozen}")


def status(slug: Slug) -> None:
    """Show the progress of a campaign, and the reasons if it is waiting."""
    set_up()
    from dataclasses import asdict

    from capeval_server.annotation.campaigns.progress import get_progress

    for name, value in asdict(get_progress(_get_campaign(slug))).items():
        if name != "waiting":
            print(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
            continue
        for reason in value:
            print(f"waiting: {reason}")


def audit(
    slug: Annotated[
        str, Argument(metavar="CAMPAIGN", help="Name of the campaign; by default, all campaigns.")
    ] = "",
) -> None:
    """Check the integrity of campaigns from the database; exit with 1 on a violation."""
    set_up()
    from capeval_server.annotation.core.locks import held
    from capeval_server.annotation.models import Campaign as Campaigns
    from capeval_server.annotation.releases.integrity import audit as findings

    wrong = 0
    for campaign in [_get_campaign(slug)] if slug else Campaigns.objects.order_by("slug"):
        with held(campaign) as now:
            found = list(findings(now))
        for finding in found:
            print(f"{campaign.slug}: {finding}")
        if not found:
            print(f"{campaign.slug}: no problems found")
        wrong += len(found)
    sys.exit(1 if wrong else 0)


def replay(slug: Slug) -> None:
    """Recompute the adaptive choices of items from the answers.

    Exits with 1 if a choice differs.
    """
    set_up()
    from capeval_server.annotation.core.locks import held
    from capeval_server.annotation.responses.adaptive_sampling import replay as replayed

    with held(_get_campaign(slug)) as now:
        found = list(replayed(now))
    for each in found:
        said = "; ".join(each.differs) or "unchanged"
        if each.removed:
            said += f" (wins could not be recounted; answers removed since: {each.removed:,})"
        print(f"choice {each.choice.number}, {each.choice.time:%Y-%m-%d %H:%M}: {said}")
    print(f"choices: {len(found)}")
    sys.exit(1 if any(each.differs for each in found) else 0)


def items(
    plan: Annotated[Path, Argument(help="Output folder of 'capeval study plan'.")],
    kind: Annotated[
        str,
        Option(
            help="Task type of the items, such as triplet or pairwise.",
            show_default="the first that fits the plan",
        ),
    ] = "",
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Create the items of a campaign from a plan of 'capeval study plan'.

    The output has one JSON object per line.
    """
    set_up()
    import json

    from capeval.formats.judgments.plans import get_plan_paths, load_plan
    from capeval.toolkit.command_line import deliver
    from capeval_server.annotation.releases.result_files import plan_items

    lines = [
        json.dumps(item, ensure_ascii=False) for item in plan_items(load_plan(*get_plan_paths(plan)), kind)
    ]
    deliver("".join(f"{line}\n" for line in lines), output)


def results(
    slug: Slug,
    folder: Annotated[Path, Argument(help="Output folder.")],
    release: Annotated[str, Option(help="Name of these judgments in human.csv.")] = "",
) -> None:
    """Write the counted answers of a judgment campaign in 'capeval study' format."""
    set_up()
    from capeval_server.annotation.releases.result_files import write_results

    for path in write_results(_get_campaign(slug), folder, release=release):
        print(path)


Name = Annotated[str, Argument(metavar="NAME", help="Name of the release, such as 1.0.")]


def _get_release(slug: str, name: str) -> Release:
    found = _get_campaign(slug).releases.filter(name=name).first()
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
        _get_campaign(slug),
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
    """Check that a release is unchanged, and report its captions excluded since."""
    set_up()
    from capeval_server.annotation.releases import release_files

    found = _get_release(slug, name)
    number = release_files.verify(found)
    since = release_files.count_outdated_answers(found)
    print(f"{slug} {name}: {number} files unchanged; captions that no longer count: {since}")


def challenge(
    slug: Slug,
    name: Name,
    folder: Annotated[Path, Argument(help="Output folder; created if missing.")],
    subsets: Annotated[
        Path | None,
        Option(help="JSON file of images by subset, such as of 'capeval study domains --subsets'."),
    ] = None,
) -> None:
    """Write the files of a new challenge from a release, for review and import."""
    set_up()
    from capeval.formats import load_subsets
    from capeval_server.annotation.releases.challenge_files import write_challenge

    images = None if subsets is None else load_subsets(subsets)
    print(write_challenge(_get_release(slug, name), folder, images))


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


def agreement(slug: Slug) -> None:
    """Show the agreement of annotators: by class for choices, by caption for texts."""
    set_up()
    from capeval_server.annotation.core.agreement import measure_caption_agreement, measure_question_agreement
    from capeval_server.annotation.task_types import task_named

    campaign = _get_campaign(slug)
    if task_named(campaign.kind).choices:
        notes: dict[str, None] = {}
        for one in measure_question_agreement(campaign):
            name = " ".join(filter(None, (one.category or "none", one.question)))
            alpha = "undefined"
            if one.alpha is not None:
                found = one.alpha.interval
                alpha = f"{found.score:.3f} [{found.low:.3f}, {found.high:.3f}]"
                notes[one.alpha.note] = None
            print(f"{name}: alpha {alpha}; items: {one.items:,}; answers: {one.answers:,}")
        for note in notes:
            print(note)
        return
    captions = measure_caption_agreement(campaign)
    number, unlike = len(captions.scores), len(captions.unlike)
    print(f"images compared: {captions.compared:,}; with too few captions: {captions.waiting:,}")
    print(f"captions that differ from the others of their image: {unlike:,} of {number:,}")


def group() -> Group:
    """Return the command group `capeval server annotate`."""
    commands = (
        *(fetch, quiz, create, items, state, quality, texts, rules, invite, panel, reconcile, link, status),
        *(resume, withdraw),
        *(rate, payments, warn, hold, known, compare, agreement, results, audit, replay),
        *(freeze, verify, challenge, publish, leaderboard),
    )
    return Group(
        name="annotate",
        help="Manage campaigns in which people write, compare, rate and check captions.",
        no_args_is_help=True,
        commands=[Command(run, run.__name__) for run in commands],
    )
