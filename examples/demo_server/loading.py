"""Loading of the demo: challenge, account, submissions, campaigns."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from django.contrib.auth.models import User
from django.db.models import F

import capeval
from capeval.data.held_out import hold_out
from capeval.formats.caption_files import coco_results
from capeval.formats.io.json import to_json_bytes
from capeval.toolkit import atomic_write
from capeval.toolkit.random import make_python_random
from capeval_server.accounts.services.users import create_user
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.workers import enrollment
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs import worker
from capeval_server.submissions.models import UNFINISHED, Submission
from capeval_server.submissions.services import leaderboard_selection, submit
from capeval_server.teams.services.enrollment import make_team
from examples.demo_server import campaigns
from examples.demo_server.material import draw_material, save_captions

__all__ = ["ACCOUNT", "BOARD", "get_captions_path", "get_entry_path", "get_password", "load"]

ACCOUNT = "demo"
_CHALLENGE, _PHASE, _SPLIT = "coco-captions", "validation", "val2014"
BOARD = f"/{_CHALLENGE}/{_PHASE}/"
# The methods in campaigns. "shuffled-words" is excluded: robots count words, and do not notice word order.
_JUDGED = ("first-six-words", "one-sentence", "vocabulary-200")


def load(folder: Path, said: Callable[[str], None]) -> None:
    """Load the COCO challenge, score captions of simple methods, create campaigns.

    Existing data is not changed, so that an interrupted load can be resumed.

    Args:
        folder: Folder of the demo.
        said: Called with a line about each step.

    Raises:
        ResourceError: `pycocoevalcap`, which contains the captions, is not installed.
    """
    files = folder / _CHALLENGE
    path = files / "challenge.toml"
    if not path.exists():
        said("1 of 5: writing the files of the COCO challenge (40,504 images of val2014, 5,174 of train2014)")
        write_example(_CHALLENGE, files)
    said("2 of 5: importing the challenge")
    challenge = import_challenge(path)
    phase = challenge.phases.get(name=_PHASE)
    # Only the demo's own submissions are scored and published below: users may have submitted others, and
    # changed scored ones.
    own = Submission.objects.filter(phase=phase, idempotency_key=F("team__name"))
    said("3 of 5: submitting captions of simple methods")
    if own.count() < _METHODS:
        _submit_methods(challenge, phase, files)
    said("4 of 5: scoring submissions")
    waiting = list(own.filter(state__in=UNFINISHED).values_list("pk", flat=True))
    worker.run(until_empty=True)
    for submission in own.filter(pk__in=waiting, state=Submission.State.SCORED):
        leaderboard_selection.set_standing(submission, True)
    if not get_captions_path(folder).exists() or not campaigns.all_exist():
        said("5 of 5: creating campaigns for robots")
        material = draw_material(files, _SPLIT, phase, _JUDGED)
        save_captions(material, get_captions_path(folder))
        campaigns.create_missing(_get_organizer(), challenge, material)


def get_captions_path(folder: Path) -> Path:
    """Return the path of the file with the human captions of the campaigns' images."""
    return folder / "robots.json"


def _submit_methods(challenge: Challenge, phase: Phase, files: Path) -> None:
    """Submit the captions of methods without a submission."""
    # The captions of the human baseline, which are not part of the references c4.
    _, human = hold_out(capeval.load_references(files / f"{_SPLIT}.json"), seed=0)
    captions = {image: human[image][0] for image in human.image_ids}
    for name, about, made in _list_methods(captions):
        if not Submission.objects.filter(phase=phase, team__name=name).exists():
            _submit(challenge, phase, name, about, made)


# Number of methods that `_list_methods` yields.
_METHODS = 7


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


def _submit(
    challenge: Challenge, phase: Phase, name: str, about: str, captions: dict[int | str, str]
) -> None:
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save()
        make_team(user, challenge)
    results = to_json_bytes(coco_results(capeval.Candidates(captions)))
    declared = {"method": about.rstrip("."), "training-data": "none"}
    split = challenge.splits.get(name=_SPLIT)
    file = split.results.replace("<alg>", name)
    submit.submit(user, phase, file, [results], declared=declared, key=name)


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
