"""Automatic review flags of captions; never verdicts, never shown to workers.

A caption is flagged if it is similar to one that its worker wrote about another image, the same as a known
caption, or different from the others of its image. Equal captions of an image by two people are not flagged:
people agree, especially on simple images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from capeval.formats import load_candidates
from capeval.tokenizers import tokenize
from capeval_server.annotation.core.agreement import measure_caption_agreement
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

__all__ = [
    "KNOWN",
    "REPEATED",
    "UNLIKE",
    "add_known",
    "add_submissions",
    "find_flags",
    "request_agreement_reviews",
]

REPEATED = "like another caption of the same worker"
KNOWN = "the same as a caption known elsewhere"
UNLIKE = "unlike the other captions of its image"

# Random captions of different images in COCO hardly ever share this proportion of their words.
_SIMILAR = 0.8
# Maximum number of the worker's latest captions to compare with, so that the response time stays bounded.
_MOST_EARLIER = 500
_AT_ONCE = 5000


def find_flags(context: AnswerContext, response: Response) -> set[str]:
    """Return the flags of a new caption; empty if the task type has no caption."""
    part = context.task.written
    if not part:
        return set()
    (words,) = tokenize([response.answer[part]])
    found = {REPEATED} if _is_repeated(context, part, words) else set()
    known = KnownCaption.objects.filter(campaign=context.campaign, digest=_hash_words(words))
    return found | ({KNOWN} if known.filter(key__in=("", context.item.key)).exists() else set())


def _is_repeated(context: AnswerContext, part: str, words: Sequence[str]) -> bool:
    worker = context.participation
    of_worker = Response.objects.filter(participation=worker, redacted="", item__is_training=False)
    rows = of_worker.exclude(item=context.item)
    earlier = [
        answer[part] for answer in rows.order_by("-pk").values_list("answer", flat=True)[:_MOST_EARLIER]
    ]
    mine = set(words)
    # Texts of only punctuation are not similar to anything.
    return bool(mine) and any(
        len(mine & other) >= _SIMILAR * len(mine | other) for other in map(set, tokenize(earlier))
    )


def _hash_words(words: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def add_known(campaign: Campaign, captions: Iterable[tuple[str, str]]) -> int:
    """Add known captions by the hashes of their tokens; return the number of new ones.

    Args:
        campaign: The campaign.
        captions: Pairs of an item's key, or "" for a caption of any image, and the text.

    Raises:
        CampaignError: The campaign does not collect captions.
    """
    if not task_named(campaign.kind).written:
        raise CampaignError("known captions require a campaign that collects captions")
    before = campaign.known.count()
    pairs = list(captions)
    for start in range(0, len(pairs), _AT_ONCE):
        some = pairs[start : start + _AT_ONCE]
        tokens = tokenize([text for _, text in some])
        rows = {(key, _hash_words(words)) for (key, _), words in zip(some, tokens, strict=True) if words}
        made = (KnownCaption(campaign=campaign, key=key, digest=digest) for key, digest in sorted(rows))
        KnownCaption.objects.bulk_create(made, ignore_conflicts=True)
    return campaign.known.count() - before


def add_submissions(campaign: Campaign) -> int:
    """Add the captions of the challenge's submissions as known captions, by image id.

    An item describes the image whose id is its key.

    Returns:
        The number of new captions.

    Raises:
        CampaignError: The campaign has no challenge, or does not collect captions.
    """
    if campaign.challenge is None:
        raise CampaignError("'submissions' requires a campaign that belongs to a challenge")
    files = SubmissionFile.objects.filter(submission__phase__challenge=campaign.challenge)
    number = 0
    for row in files.order_by("pk"):
        with row.file.open("rb") as file:
            found = load_candidates(file.read(), name=str(row.file.name))
        number += add_known(
            campaign, ((str(image), text) for image, texts in found.items() for text in texts)
        )
    return number


def request_agreement_reviews(campaign: Campaign) -> int:
    """Request a review of captions that differ too much from others of their image.

    Returns:
        The number of new requests.

    Raises:
        CampaignError: The campaign does not collect captions.
    """
    if not task_named(campaign.kind).written:
        raise CampaignError("the comparison requires a campaign that collects captions")
    unlike = measure_caption_agreement(campaign).unlike
    asked = ReviewRequest.objects.filter(reason=UNLIKE, response__item__campaign=campaign)
    before = asked.count()
    now = database_time()
    ReviewRequest.objects.bulk_create(
        (ReviewRequest(response_id=key, reason=UNLIKE, time=now) for key in unlike),
        ignore_conflicts=True,
    )
    return asked.count() - before
