"""Flags of captions that a person reviews. None is a verdict, and no worker is told which there was.

A caption can be like one that its worker wrote of another image, the same as one that is known elsewhere, or
unlike the others of its image. The same caption by two people of one image is no signal: people agree, the
more so on simple images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from capeval.formats import load_candidates
from capeval.tokenizers import tokenize
from capeval_server.annotation.core.agreement import captions_of
from capeval_server.annotation.models import (
    Campaign,
    KnownCaption,
    Response,
    ReviewRequest,
)
from capeval_server.annotation.responses.context import AnswerContext
from capeval_server.annotation.task_types import task_named
from capeval_server.core.errors import CampaignError
from capeval_server.jobs.leases import database_time
from capeval_server.submissions.models import SubmissionFile

__all__ = ["KNOWN", "REPEATED", "UNLIKE", "add_known", "add_submissions", "compare", "find_flags"]

REPEATED = "like another caption of the same worker"
KNOWN = "the same as a caption known elsewhere"
UNLIKE = "unlike the other captions of its image"

# Of random captions of different images in COCO, hardly any two share so much of their words.
_ALIKE = 0.8
# With how many of the worker's latest captions one is compared: an answer must not take longer and longer.
_MOST_EARLIER = 500
_AT_ONCE = 5000


def find_flags(context: AnswerContext, response: Response) -> set[str]:
    """Return the flags of a new caption; none if nothing is written in the task."""
    part = context.task.written
    if not part:
        return set()
    (words,) = tokenize([response.answer[part]])
    found = {REPEATED} if _is_repeated(context, part, words) else set()
    known = KnownCaption.objects.filter(campaign=context.campaign, digest=_digest(words))
    return found | ({KNOWN} if known.filter(key__in=("", context.item.key)).exists() else set())


def _is_repeated(context: AnswerContext, part: str, words: Sequence[str]) -> bool:
    worker = context.participation
    of_worker = Response.objects.filter(participation=worker, redacted="", item__is_training=False)
    rows = of_worker.exclude(item=context.item)
    earlier = [
        answer[part] for answer in rows.order_by("-pk").values_list("answer", flat=True)[:_MOST_EARLIER]
    ]
    mine = set(words)
    # Where nothing but punctuation was written, nothing is alike.
    return bool(mine) and any(
        len(mine & other) >= _ALIKE * len(mine | other) for other in map(set, tokenize(earlier))
    )


def _digest(words: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def add_known(campaign: Campaign, captions: Iterable[tuple[str, str]]) -> int:
    """Adds captions that are known elsewhere, by the hashes of their tokens alone; says how many are new.

    Args:
        campaign: The campaign.
        captions: The key of the item that each is of, empty for a caption of any image; and its text.

    Raises:
        CampaignError: No sentences are written in the campaign.
    """
    if not task_named(campaign.kind).written:
        raise CampaignError("known captions are for campaigns in which sentences are written")
    before = campaign.known.count()
    pairs = list(captions)
    for start in range(0, len(pairs), _AT_ONCE):
        some = pairs[start : start + _AT_ONCE]
        tokens = tokenize([text for _, text in some])
        rows = {(key, _digest(words)) for (key, _), words in zip(some, tokens, strict=True) if words}
        made = (KnownCaption(campaign=campaign, key=key, digest=digest) for key, digest in sorted(rows))
        KnownCaption.objects.bulk_create(made, ignore_conflicts=True)
    return campaign.known.count() - before


def add_submissions(campaign: Campaign) -> int:
    """Adds the captions of the systems that were submitted to the campaign's challenge, by the images' ids.

    An item is of the image whose id is its key.

    Returns:
        How many are new.

    Raises:
        CampaignError: The campaign is of no challenge, or no sentences are written in it.
    """
    if campaign.challenge is None:
        raise CampaignError("'submissions' need a campaign of a challenge")
    files = SubmissionFile.objects.filter(submission__phase__challenge=campaign.challenge)
    number = 0
    for row in files.order_by("pk"):
        with row.file.open("rb") as file:
            found = load_candidates(file.read(), name=str(row.file.name))
        number += add_known(
            campaign, ((str(image), text) for image, texts in found.items() for text in texts)
        )
    return number


def compare(campaign: Campaign) -> int:
    """Asks for a review of captions that agree too little with the others of their image.

    Raises:
        CampaignError: No sentences are written in the campaign.
    """
    if not task_named(campaign.kind).written:
        raise CampaignError("captions are compared in campaigns in which sentences are written")
    unlike = captions_of(campaign).unlike
    asked = ReviewRequest.objects.filter(reason=UNLIKE, response__item__campaign=campaign)
    before = asked.count()
    now = database_time()
    ReviewRequest.objects.bulk_create(
        (ReviewRequest(response_id=key, reason=UNLIKE, time=now) for key in unlike),
        ignore_conflicts=True,
    )
    return asked.count() - before
