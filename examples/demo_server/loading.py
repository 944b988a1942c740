"""Loading of the demo: challenge, account, submissions, campaigns."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from django.contrib.auth.models import User
from django.db.models import F

import capeval
from capeval.formats.caption_files import coco_results
from capeval.formats.io.json import to_json_bytes
from capeval.toolkit import atomic_write
from capeval.toolkit.random import make_python_random
from capeval_server.accounts.services.users import create_user
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge, Phase, Split
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.new_challenge import zipped
from capeval_server.jobs import worker
from capeval_server.submissions.models import UNFINISHED, Submission
from capeval_server.submissions.services import leaderboard_selection, submit
from capeval_server.teams.services.enrollment import make_team, team_of
from examples.demo_server import campaigns
from examples.demo_server.material import draw_material, save_captions

__all__ = ["ACCOUNT", "BOARDS", "get_captions_path", "get_entry_path", "get_password", "load"]

ACCOUNT = "demo"
_CHALLENGE, _PHASE, _SPLIT = "coco-2015", "validation", "val2014"
BOARDS = (f"/{_CHALLENGE}/{_PHASE}/", f"/{_CHALLENGE}/test/", "/nocaps/nocaps-val/")
# The methods in campaigns. "shuffled-words" is excluded: robots count words, and do not notice word order.
_JUDGED = ("first-six-words", "one-sentence", "vocabulary-200")
# The training data that submissions declare, by challenge and method; other methods declare the first.
_DECLARED = {
    _CHALLENGE: {"": "none"},
    "nocaps": {"": "COCO only", "another-image": "extra pairs", "vocabulary-1000": "extra pairs"},
}
# The phases of each challenge with the methods that are submitted to it; None for all methods.
_ENTRIES: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    (_CHALLENGE, _PHASE, None),
    (_CHALLENGE, "test", ("vocabulary-1000", "first-six-words", "another-image")),
    ("nocaps", "nocaps-val", None),
    ("nocaps", "nocaps-test", ("vocabulary-1000", "first-six-words", "another-image")),
)


def load(folder: Path, said: Callable[[str], None]) -> None:
    """Load the challenges, score captions of simple methods, create campaigns.

    Existing data is not changed, so that an interrupted load can be resumed.

    Args:
        folder: Folder of the demo.
        said: Called with a line about each step.

    Raises:
        ResourceError: `pycocoevalcap`, which contains the captions, is not installed.
    """
    for number, name in enumerate((_CHALLENGE, "nocaps"), start=1):
        path = folder / name / "challenge.toml"
        if not path.exists():
            said(f"{number} of 5: writing and importing the challenge {name}")
            write_example(name, folder / name)
        import_challenge(path)
    said("3 of 5: submitting captions of simple methods")
    for slug, name, methods in _ENTRIES:
        _submit_methods(Phase.objects.get(challenge__slug=slug, name=name), methods, folder / slug)
    said("4 of 5: scoring submissions")
    # Only the demo's own submissions are published: users may have submitted others, and changed scored ones.
    own = Submission.objects.filter(user__username=F("team__name"), user__username__in=_METHODS)
    waiting = list(own.filter(state__in=UNFINISHED).values_list("pk", flat=True))
    worker.run(until_empty=True)
    for submission in own.filter(pk__in=waiting, state=Submission.State.SCORED):
        leaderboard_selection.set_standing(submission, True)
    if not get_captions_path(folder).exists() or not campaigns.all_exist():
        said("5 of 5: creating campaigns for robots")
        phase = Phase.objects.get(challenge__slug=_CHALLENGE, name=_PHASE)
        material = draw_material(folder / _CHALLENGE, _SPLIT, phase, _JUDGED)
        save_captions(material, get_captions_path(folder))
        campaigns.create_missing(_get_organizer(), phase.challenge, material)


def get_captions_path(folder: Path) -> Path:
    """Return the path of the file with the human captions of the campaigns' images."""
    return folder / "robots.json"


_METHODS = (
    "vocabulary-1000",
    "vocabulary-200",
    "vocabulary-50",
    "first-six-words",
    "shuffled-words",
    "another-image",
    "one-sentence",
)


def _submit_methods(phase: Phase, methods: Sequence[str] | None, files: Path) -> None:
    """Submit the captions of methods without a submission to a phase."""
    there = set(phase.submissions.values_list("team__name", flat=True))
    missing = [name for name in methods or _METHODS if name not in there]
    if not missing:
        return
    results: dict[str, dict[str, bytes]] = {name: {} for name in missing}
    about = {}
    for split in phase.splits.order_by("name"):
        # The captions of the human baseline, which are not among the references.
        human = capeval.load_candidates(files / _name_human(phase, split))
        for name, text, made in _list_methods({image: human[image][0] for image in human}):
            if name in results:
                about[name] = text
                file = split.results.replace("<alg>", name)
                results[name][file] = to_json_bytes(coco_results(capeval.Candidates(made)))
    for name in missing:
        _submit(phase, name, about[name], results[name])


def _name_human(phase: Phase, split: Split) -> str:
    """Return the name of an example's file with human captions of a split."""
    return f"human_{split.name}.json" if phase.challenge.slug == "nocaps" else f"{split.name}_human.json"


def _list_methods(human: dict[int | str, str]) -> Iterator[tuple[str, str, dict[int | str, str]]]:
    """Yield name, description and captions of each simple method.

    Args:
        human: A human caption of each image.
    """
    chance = make_python_random(0)
    words = {image: caption.lower().rstrip(".").split() for image, caption in human.items()}
    counts = Counter(word for parts in words.values() for word in parts)
    for size in (1000, 200, 50):
        known = {word for word, _ in counts.most_common(size)}
        kept = {image: " ".join(filter(known.__contains__, parts)) for image, parts in words.items()}
        about = f"A human caption, reduced to the {size:,} most frequent words."
        yield f"vocabulary-{size}", about, {image: text or "a" for image, text in kept.items()}
    first = {image: " ".join(parts[:6]) for image, parts in words.items()}
    yield "first-six-words", "The first six words of a human caption.", first
    mixed = {image: " ".join(chance.sample(parts, len(parts))) for image, parts in words.items()}
    yield "shuffled-words", "The words of a human caption, in random order.", mixed
    others = list(human.values())
    chance.shuffle(others)
    yield "another-image", "A human caption of another image.", dict(zip(human, others, strict=True))
    yield "one-sentence", "The same caption for every image.", dict.fromkeys(human, "A man on a street.")


def _submit(phase: Phase, name: str, about: str, files: Mapping[str, bytes]) -> None:
    """Submit results as a team that consists of a user with the method's name."""
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save()
    if team_of(user, phase.challenge) is None:
        make_team(user, phase.challenge)
    (first, data), *others = files.items()
    upload, content = (f"{name}.zip", zipped(files)) if others else (first, data)
    kinds = _DECLARED[phase.challenge.slug]
    declared = {"method": about.rstrip("."), "training-data": kinds.get(name, kinds[""])}
    submit.submit(
        user, phase, upload, [content], declared=declared, key=f"{phase.challenge.slug} {phase.name}"
    )


def _get_organizer() -> User:
    """Return the demo's account, an organizer of its challenge; create it if missing."""
    user = User.objects.filter(username=ACCOUNT).first()
    if user is None:
        user = create_user(ACCOUNT, email=f"{ACCOUNT}@example.org", staff=True)
    Challenge.objects.get(slug=_CHALLENGE).organizers.add(user)
    return user


def get_password(kept: Path) -> str | None:
    """Return the password of the demo's account; create both if missing.

    Args:
        kept: File that stores the password between starts.

    Returns:
        The password, or None if the user changed it.
    """
    user = _get_organizer()
    if kept.exists():
        known = kept.read_text(encoding="ascii").strip()
        return known if user.check_password(known) else None
    made = secrets.token_urlsafe(9)
    _write_secret(kept, made)
    user.set_password(made)
    user.save()
    return made


def get_entry_path(kept: Path) -> str:
    """Return the URL path where visitors work in a campaign without an account.

    Args:
        kept: File that stores the token of the path between starts.
    """
    campaign = Campaign.objects.get(slug=campaigns.FIRST)
    if not kept.exists():
        (made,) = enrollment.invite(_get_organizer(), campaign, 1)
        _write_secret(kept, made)
    return f"/annotate/{campaign.slug}/enter/{kept.read_text(encoding='ascii').strip()}/"


def _write_secret(path: Path, secret: str) -> None:
    with atomic_write(path) as file:
        file.write(f"{secret}\n".encode())
    path.chmod(0o600)
