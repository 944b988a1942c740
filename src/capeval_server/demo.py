"""The demo: the COCO challenge, an account, and a few simple methods on its leaderboard."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from django.contrib.auth.models import User
from django.db.models import F

import capeval
from capeval.formats.captions import coco_results
from capeval.formats.json import json_bytes
from capeval.sampling import python_random
from capeval_server.accounts.users import make_user
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.examples import write_example
from capeval_server.jobs import worker
from capeval_server.organising.definition_files import import_challenge
from capeval_server.submissions import intake, standing
from capeval_server.submissions.models import UNFINISHED, Submission
from capeval_server.teams.joining import make_team

__all__ = ["ACCOUNT", "load", "set_password"]

ACCOUNT = "demo"
_CHALLENGE, _PHASE, _SPLIT = "coco-captions", "validation", "val2014"
_COPIES, _COPIED = "copied-reference", "Its captions are copies of references."


def load(files: Path, said: Callable[[str], None]) -> None:
    """Loads the COCO challenge, and submits and scores what simple methods give.

    What is there already is left as it is, so a load that was stopped goes on.

    Args:
        files: A folder for the challenge's files.
        said: Takes a line about what is being done.

    Raises:
        ResourceError: `pycocoevalcap`, which carries the captions, is not installed.
    """
    path = files / "challenge.toml"
    if not path.exists():
        said("Writing the COCO challenge's files")
        write_example(_CHALLENGE, files)
    said("Importing the challenge")
    challenge = import_challenge(path)
    phase = challenge.phases.get(name=_PHASE)
    said("Submitting and scoring a few simple methods")
    references = capeval.load_references(files / f"{_SPLIT}.json")
    for name, about, captions in _methods(references):
        if not Submission.objects.filter(phase=phase, team__name=name).exists():
            _submit(challenge, phase, name, about, captions)
    # What is scored already is as people left it, and so is what they submitted themselves.
    own = Submission.objects.filter(phase=phase, idempotency_key=F("team__name"))
    waiting = list(own.filter(state__in=UNFINISHED).values_list("pk", flat=True))
    worker.run(until_empty=True)
    for submission in own.filter(pk__in=waiting, state=Submission.State.SCORED).select_related("team"):
        standing.set_standing(submission, True)
        if submission.entrant == _COPIES:
            standing.mark(submission, Submission.Mark.FLAGGED, _COPIED)


def _methods(references: capeval.References) -> Iterator[tuple[str, str, dict[int | str, str]]]:
    """Names of simple methods, what they do, and the captions that they give."""
    chance = python_random(0)
    images = references.image_ids
    one = {image: chance.choice(references[image]) for image in images}
    yield _COPIES, "Repeats one of the references.", one
    words = {image: caption.split() for image, caption in one.items()}
    cut = {image: " ".join(parts[:6]) for image, parts in words.items()}
    yield "first-six-words", "The first six words of a reference.", cut
    mixed = {image: " ".join(chance.sample(parts, len(parts))) for image, parts in words.items()}
    yield "shuffled-words", "The words of a reference, in any order.", mixed
    others = list(one.values())
    chance.shuffle(others)
    yield "another-image", "A person's caption of another image.", dict(zip(images, others, strict=True))
    yield "one-sentence", "The same caption for every image.", dict.fromkeys(images, "A man on a street.")


def _submit(
    challenge: Challenge, phase: Phase, name: str, about: str, captions: dict[int | str, str]
) -> None:
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save()
        make_team(user, challenge)
    results = json_bytes(coco_results(capeval.Candidates(captions)))
    declared = {"method": name.replace("-", " "), "description": about, "training-data": "none"}
    split = challenge.splits.get(name=_SPLIT)
    file = split.results.replace("<alg>", name)
    intake.submit(user, phase, file, [results], declared=declared, key=name)


def set_password() -> str:
    """Gives the demo's account, an organiser of its challenge, a new password.

    Returns:
        The password.
    """
    password = secrets.token_urlsafe(9)
    user = User.objects.filter(username=ACCOUNT).first()
    if user is None:
        user = make_user(ACCOUNT, email=f"{ACCOUNT}@example.org", staff=True)
    user.set_password(password)
    user.save()
    Challenge.objects.get(slug=_CHALLENGE).organisers.add(user)
    return password
