"""The settings of a campaign, as its file has them and as they are stored."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from capeval.errors import OptionError
from capeval.studies.votes import LEVELS
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.task_types import TASKS, task_named

__all__ = ["MOST_ANSWERS", "QUALITY_SETTINGS", "CampaignOptions", "options_of"]

MOST_ANSWERS = 200

# The settings that can change in every state of a campaign. Each is read when work is given out, or when an
# answer, a check or a report is stored, so a change applies from then on: no stored answer, verdict or result
# depends on it. The others stay: results depend on early ends and on the choice of pairs, the order of items
# follows from the seed, and a worker may be in the middle of a batch, a lease or a training.
QUALITY_SETTINGS = (
    "reopened_for",
    "trust_answers",
    "trust_share",
    "review_first",
    "review_every",
    "check_every",
    "check_pass_answers",
    "check_pass_share",
    "pause_failed",
    "pause_of",
    "repeat_every",
    "reports_to_hold",
)


class CampaignOptions(BaseModel):
    """Settings of a campaign. Once it is open, only `answers`, the pay and `QUALITY_SETTINGS` can change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # How many answers each item needs; by default, as the kind of task says.
    answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS)]
    # Whether an item ends when further answers can't change which of its texts most choose. The winner is the
    # same; shares of answers are biased, so only kinds with a winner have it.
    curtail: bool = False
    # All items of a pair end when its winner is that likely, such as 0.95, by so many votes at least; 0 for
    # never. Only kinds with a winner have it, too.
    confidence: Annotated[float, Field(ge=0, le=LEVELS[1])] = 0.0
    confidence_votes: Annotated[int, Field(ge=1, le=10_000)] = 5
    # So many items at a time are chosen to be given out next: those about the systems of which it is least
    # certain which is the better, and a part of them evenly from all; 0 for the drawn order of all items.
    next_pairs: Annotated[int, Field(ge=0, le=100_000)] = 0
    next_pairs_floor: Annotated[float, Field(ge=0.01, le=1)] = 0.2
    # How many items a worker gets at once.
    batch: Annotated[int, Field(ge=1, le=50)]
    # How long an item is kept for a worker who shows no activity, and how long at most for one who does.
    lease_seconds: Annotated[int, Field(ge=30, le=86_400)]
    longest_lease_seconds: Annotated[int, Field(ge=30, le=86_400)] = 1800
    # The order in which items are given out, and which answers are drawn for a review, follow from it.
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    # How many reports take an item out of work.
    reports_to_hold: Annotated[int, Field(ge=1, le=100)] = 2
    # A check after so many answers; 0 for none.
    check_every: Annotated[int, Field(ge=0, le=1000)] = 15
    # A check is taken out of work when so many good workers answered it, and a smaller share than this
    # passed; 0 for never.
    check_pass_answers: Annotated[int, Field(ge=1, le=10_000)] = 10
    check_pass_share: Annotated[float, Field(ge=0, le=1)] = 0.9
    # After so many answers, an item that the worker answered is shown again, mirrored; 0 for never.
    repeat_every: Annotated[int, Field(ge=0, le=10_000)] = 50
    # How many items a try of the training has, how many of them must be right, and how many tries there are.
    training_items: Annotated[int, Field(ge=1, le=50)] = 10
    training_right: Annotated[int, Field(ge=1, le=50)] = 8
    training_tries: Annotated[int, Field(ge=1, le=10)] = 2
    # A worker is paused who failed so many of so many latest checks; 0 for never.
    pause_failed: Annotated[int, Field(ge=0, le=100)] = 3
    pause_of: Annotated[int, Field(ge=1, le=100)] = 10
    # The first answers of each worker are reviewed, and then one in so many; 0 for none.
    review_first: Annotated[int, Field(ge=0, le=1000)] = 10
    review_every: Annotated[int, Field(ge=0, le=10_000)] = 20
    # The workers who can fill slots that an exclusion or a rejection has emptied: everybody, or only trusted
    # workers, who have at least `trust_answers` judged answers, `trust_share` of them fine.
    reopened_for: Literal["trusted", "everybody"] = "everybody"
    trust_answers: Annotated[int, Field(ge=1, le=10_000)] = 20
    trust_share: Annotated[float, Field(gt=0, le=1)] = 0.95

    # What an answer is paid, as a decimal number, and the currency; empty for nothing.
    pay_per_answer: Annotated[str, Field(pattern=r"^(\d{1,6}(\.\d{1,4})?)?$")] = ""
    currency: Annotated[str, Field(pattern=r"^([A-Z]{3})?$")] = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.training_right > self.training_items:
            raise ValueError("training_right must be at most training_items")
        if bool(self.pay_per_answer) != bool(self.currency):
            raise ValueError("pay_per_answer and currency must be given together")
        if 0 < self.confidence < LEVELS[0]:
            raise ValueError(f"confidence must be 0 or from {LEVELS[0]:g} to {LEVELS[1]:g}")
        return self

    @classmethod
    def of_kind(cls, kind: str, /, **given: object) -> CampaignOptions:
        """The options with the defaults of a kind of task.

        Raises:
            pydantic.ValidationError: One is not what it must be.
            OptionError: The kind is not known, or has no winner and is to end before all have answered.
        """
        task = task_named(kind)
        defaults = {
            "answers": task.answers,
            "batch": task.batch,
            "lease_seconds": task.lease_seconds,
            "curtail": bool(task.curtailed),
        }
        found = cls.model_validate({**defaults, **given})
        if task.curtailed is None:
            kinds = ", ".join(name for name, each in TASKS.items() if each.curtailed is not None)
            if found.curtail:
                raise OptionError(f"'curtail' must be false but for the kinds {kinds} (got true for {kind})")
            if found.confidence:
                raise OptionError(
                    f"'confidence' must be 0 but for the kinds {kinds} (got {found.confidence:g} for {kind}):"
                    " it would bias the share of answers that is the result"
                )
            if found.next_pairs:
                raise OptionError(
                    f"'next_pairs' must be 0 but for the kinds {kinds} (got {found.next_pairs} for {kind})"
                )
        return found


def options_of(campaign: Campaign) -> CampaignOptions:
    """The options of a campaign."""
    return CampaignOptions.model_validate(campaign.settings)
