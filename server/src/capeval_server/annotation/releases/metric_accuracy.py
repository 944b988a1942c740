"""Accuracy of metrics on the preferences of a campaign's workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capeval.data.captions import ImageId
from capeval.errors import MismatchError
from capeval.formats.judgments.plans import Pair
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import CiderD
from capeval.metrics.rouge import RougeL
from capeval.studies.consensus import with_references
from capeval.studies.consensus.curves import compute_accuracies
from capeval.studies.consensus.judged_pairs import judge_pairs
from capeval.studies.shared.accuracy import Accuracy
from capeval.studies.shared.pair_scores import PairScorer
from capeval.studies.shared.ties import TieRules
from capeval.studies.shared.words import ComparedMetric
from capeval.studies.votes import PlanVotes
from capeval.tokenizers import Tokenizer
from capeval_server.annotation.models import Campaign
from capeval_server.challenges.models import ReferenceSet
from capeval_server.submissions.selectors.image_browser import references_in

__all__ = ["MetricAccuracy", "find_references", "measure_accuracy"]

# Metrics that need no resources and score a pair in less than a millisecond.
_METRICS = tuple(
    ComparedMetric(metric=metric) for metric in (Bleu(orders=(1, 4), level="sentence"), RougeL(), CiderD())
)


@dataclass(frozen=True, kw_only=True)
class MetricAccuracy:
    """Accuracy of metrics on the winners of pairs.

    Attributes:
        accuracies: The accuracy by metric and class of the pairs, with `all`; empty if it can't be computed.
        note: The references and the rules for ties, or the reason why there is no accuracy.
    """

    accuracies: Mapping[str, Mapping[str, Accuracy]]
    note: str


def find_references(campaign: Campaign, images: Sequence[str]) -> ReferenceSet | None:
    """Return the reference set of a campaign's challenge that covers some images.

    Of several sets, it is the one with the most images; None without a challenge or a set.
    """
    if campaign.challenge is None:
        return None
    wanted = set(images)
    sets = ReferenceSet.objects.filter(split__challenge=campaign.challenge, version__gt=0)
    found = [
        each
        for each in sets.select_related("split").order_by("pk")
        if wanted <= set(map(str, each.image_ids))
    ]
    return max(found, key=lambda each: len(each.image_ids), default=None)


def measure_accuracy(campaign: Campaign, votes: PlanVotes) -> MetricAccuracy:
    """Return how often metrics prefer the captions that workers prefer.

    The references are those of triplets. For pairs, they are a reference set of the challenge, without the
    compared captions.
    """
    pairs, source = votes.pairs, "The references are those of the triplets."
    if not all(pair.references for pair in pairs):
        entry = find_references(campaign, [str(pair.image) for pair in pairs])
        if entry is None:
            reason = "no reference set of the campaign's challenge covers the images of its pairs"
            return MetricAccuracy(accuracies={}, note=f"Metrics are not compared with people: {reason}.")
        try:
            pairs = with_references(pairs, _load_references(entry, pairs))
        except MismatchError as error:
            return MetricAccuracy(accuracies={}, note=f"Metrics are not compared with people: {error}.")
        source = (
            f"The references are {entry.split.name} {entry.name}, version {entry.version}, without the"
            " compared captions."
        )
    scored = judge_pairs(PairScorer(pairs, _METRICS, tokenizer=Tokenizer()), {"votes": pairs})
    rules = TieRules()
    accuracies = compute_accuracies(scored.differences, scored.truth, scored.kinds, rules)
    return MetricAccuracy(accuracies=accuracies, note=" ".join([source, *rules.notes]))


def _load_references(entry: ReferenceSet, pairs: Sequence[Pair]) -> dict[ImageId, Sequence[str]]:
    """Return the references of the pairs' images, which are texts in a campaign."""
    version = entry.versions.get(number=entry.version)
    references = references_in(str(version.file.name))
    by_name = {str(image): image for image in references.image_ids}
    return {pair.image: references[by_name[str(pair.image)]] for pair in pairs}
