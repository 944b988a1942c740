"""Options of campaigns, with one declaration per option.

The fields of forms, the summary of a campaign, the schema of the API and the tables in the documentation are
generated from the declarations. The text below a declaration is its help.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from capeval.errors import OptionError
from capeval.studies.votes import LEVELS
from capeval_server.annotation.core.languages import BUILT_IN, validate_language
from capeval_server.annotation.core.option_texts import OptionGroup
from capeval_server.annotation.core.study_information import validate_contact, validate_line
from capeval_server.annotation.task_types import TASKS, TaskType, task_named
from capeval_server.core.validation_problems import AMOUNT, CURRENCY

if TYPE_CHECKING:
    from capeval_server.annotation.models import Campaign

__all__ = ["MOST_ANSWERS", "QUALITY_SETTINGS", "CampaignOptions", "get_options"]

MOST_ANSWERS = 200

# Quality settings are read when a person enters, when an item is assigned, or when an answer, a check or a
# report is stored, so a change applies from then on: no stored answer, verdict or result depends on it. The
# options of other groups are fixed: results depend on early stopping and on adaptive sampling, the order of
# items depends on the seed, and a worker may be in the middle of a batch, a lease or a training attempt.
_ASSIGNMENT = OptionGroup("Assignment of items")
_STOPPING = OptionGroup("Early stopping", applies_to=lambda task: task.curtailed is not None)
_SAMPLING = OptionGroup("Adaptive sampling", applies_to=lambda task: task.curtailed is not None)
_CHECKS = OptionGroup("Reports and attention checks", is_quality=True)
_REPEATS = OptionGroup("Repeated items", is_quality=True, applies_to=lambda task: task.has_sides)
_TRAINING = OptionGroup("Training")
_REVIEWS = OptionGroup("Reviews", is_quality=True, applies_to=lambda task: task.reviewed)
_REPLACEMENT = OptionGroup("Replacement of answers", is_quality=True)
_ADMISSION = OptionGroup("Admission", is_quality=True)
_STUDY = OptionGroup("Study information for workers", is_quality=True)
_PAY = OptionGroup("Pay")
_LANGUAGE = OptionGroup("Language")
_GROUPS = (
    _ASSIGNMENT,
    _STOPPING,
    _SAMPLING,
    _CHECKS,
    _REPEATS,
    _TRAINING,
    _REVIEWS,
    _REPLACEMENT,
    _ADMISSION,
    _STUDY,
    _PAY,
    _LANGUAGE,
)


class CampaignOptions(BaseModel):
    """Settings of a campaign.

    Once the campaign is open, only `answers`, the pay and `QUALITY_SETTINGS` can change.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    answers: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] = _ASSIGNMENT.option(
        "Answers per item", sentence="Each item needs {answers:answer}, each from a different person."
    )
    """Each answer is from a different person. If you lower the number later, surplus answers are kept but not
    counted."""
    batch: Annotated[int, Field(ge=1, le=50)] = _ASSIGNMENT.option(
        "Batch size (items)", sentence="A worker receives {batch:item} at once."
    )
    """Number of items that a worker receives at once."""
    lease_seconds: Annotated[int, Field(ge=30, le=86_400)] = _ASSIGNMENT.option(
        "Lease without activity (seconds)",
        sentence="An item is released after {lease_seconds:time} without activity. Activity keeps it for at"
        " most {longest_lease_seconds:time}.",
    )
    """After this time without activity, another worker can receive the item. The draft of the first worker is
    kept."""
    longest_lease_seconds: Annotated[int, Field(ge=30, le=86_400)] = _ASSIGNMENT.option(
        "Longest lease (seconds)", 1800
    )
    """Activity keeps an item for at most this time, counted from its assignment."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = _ASSIGNMENT.option(
        "Random seed", 0, "The order of items is drawn with the seed {seed}."
    )
    """Determines the order of items, and which answers are drawn for review."""

    curtail: bool = _STOPPING.option(
        "End an item when its winner is certain",
        False,
        "An item ends early when further answers cannot change its winner.",
    )
    """Further answers cannot change the winner. Winners stay the same, but shares of answers are biased."""
    confidence: Annotated[float, Field(ge=0, le=LEVELS[1])] = _STOPPING.option(
        "Confidence that ends a pair (probability)",
        0.0,
        "All items of a pair end when its winner has a probability of {confidence:.4g}, after at least"
        " {confidence_votes:vote}.",
    )
    """All items of a pair (one group) end when its winner is this likely, for example 0.95. The minimum is
    0.55; 0 turns this off. A few winners differ from those of all votes, and shares of answers are biased."""
    confidence_votes: Annotated[int, Field(ge=1, le=10_000)] = _STOPPING.option("Minimum votes on a pair", 5)
    """A pair cannot end with fewer votes. For triplets, a vote is the majority of a triplet's answers."""

    next_pairs: Annotated[int, Field(ge=0, le=100_000)] = _SAMPLING.option(
        "Items per choice",
        0,
        "Adaptive sampling chooses {next_pairs:item} at a time: {next_pairs_floor:.0%} of them evenly from"
        " all systems that are compared, the others for the least certain pairs of systems.",
    )
    """Chooses this number of items at a time, for the least certain pairs of systems. 0 assigns all items in
    random order. Each item needs “first_by” and “second_by”. Compare strengths afterward: shares of wins are
    not comparable between systems."""
    next_pairs_floor: Annotated[float, Field(ge=0.01, le=1)] = _SAMPLING.option(
        "Share of evenly chosen items (0.01 to 1)", 0.2
    )
    """This share of the items is chosen evenly from all systems that are compared."""

    reports_to_hold: Annotated[int, Field(ge=1, le=100)] = _CHECKS.option(
        "Reports that put an item on hold", 2, "An item is put on hold after {reports_to_hold:report}."
    )
    """Items on hold are not assigned to anyone."""
    check_every: Annotated[int, Field(ge=0, le=1000)] = _CHECKS.option(
        "Attention check interval (answers)",
        15,
        "One answer in {check_every:,} is to an attention check, never two in a row, if the campaign has"
        " checks.",
        off="No attention checks are assigned.",
    )
    """One answer in this number is to an attention check: an item with “expected”. 0 turns checks off."""
    check_pass_answers: Annotated[int, Field(ge=1, le=10_000)] = _CHECKS.option(
        "Minimum answers to a check", 10
    )
    """A check with fewer answers of reliable workers is not put on hold. Reliable workers are those who pass
    other checks."""
    check_pass_share: Annotated[float, Field(ge=0, le=1)] = _CHECKS.option(
        "Minimum share of workers who pass a check (0 to 1)",
        0.9,
        "A check is put on hold if fewer than {check_pass_share:.0%} of at least"
        " {check_pass_answers:reliable worker} pass it.",
        needs="check_every",
    )
    """If a smaller share of the reliable workers passes a check, it is put on hold, with the reason. You can
    release it. 0 turns this off."""
    pause_failed: Annotated[int, Field(ge=0, le=100)] = _CHECKS.option(
        "Failed checks that pause a worker",
        3,
        "A worker is paused after {pause_failed:failed check} among the latest {pause_of}.",
        needs="check_every",
    )
    """The worker is paused until you have looked at the answers. 0 turns this off."""
    pause_of: Annotated[int, Field(ge=1, le=100)] = _CHECKS.option("Latest checks considered for a pause", 10)
    """Only the failures among this number of a worker's latest checks pause the worker."""

    repeat_every: Annotated[int, Field(ge=0, le=10_000)] = _REPEATS.option(
        "Repetition interval (answers)",
        50,
        "After {repeat_every:answer}, a worker receives one of their own items again, mirrored. That answer"
        " is not counted.",
    )
    """After this number of answers, a worker receives one of their own items again, mirrored. The answer
    measures self-consistency and is not counted. 0 turns this off."""

    training_items: Annotated[int, Field(ge=1, le=50)] = _TRAINING.option(
        "Items per training attempt",
        10,
        "If the campaign has training items, a worker must answer {training_right} of {training_items:item}"
        " correctly, in at most {training_tries:attempt}.",
    )
    """Applies only to campaigns with training items. Each attempt needs different items."""
    training_right: Annotated[int, Field(ge=1, le=50)] = _TRAINING.option(
        "Correct answers to pass the training", 8
    )
    """At most the number of items per attempt."""
    training_tries: Annotated[int, Field(ge=1, le=10)] = _TRAINING.option("Training attempts", 2)
    """A worker who fails the last attempt cannot take part."""

    review_first: Annotated[int, Field(ge=0, le=1000)] = _REVIEWS.option(
        "First answers reviewed per worker",
        10,
        "A person reviews the first {review_first:answer} of each worker.",
    )
    """This number of each worker's first answers waits for a person on the page Answers. The answers count
    meanwhile; a rejected one is replaced. More reviews find a careless worker earlier, and cost more of your
    time. 0 turns this off."""
    review_every: Annotated[int, Field(ge=0, le=10_000)] = _REVIEWS.option(
        "Review interval (answers)",
        20,
        "A person reviews one answer in {review_every:,}, drawn at random.",
        off="No answers are drawn at random for review.",
    )
    """After the first answers, one answer in this number is drawn at random for review, so that a worker who
    becomes careless later is also found. A smaller number means more reviews. 0 turns this off."""

    reopened_for: Literal["trusted", "everybody"] = _REPLACEMENT.option(
        "Workers who may replace answers",
        "everybody",
        {
            "everybody": "All workers may replace rejected, excluded and withdrawn answers.",
            "trusted": "Only trusted workers may replace rejected, excluded and withdrawn answers. A trusted"
            " worker has at least {trust_answers:judged answer}, {trust_share:.0%} of them accepted.",
        },
    )
    """Concerns answers that were rejected, excluded or withdrawn. “trusted” keeps careless workers from
    replacing them, but the items wait until a trusted worker arrives. In a small campaign, perhaps no worker
    can become trusted."""
    trust_answers: Annotated[int, Field(ge=1, le=10_000)] = _REPLACEMENT.option(
        "Minimum reviewed answers and checks for trust", 20
    )
    """A worker with fewer reviewed answers and checks is not trusted. A larger number makes trust more
    certain, but later. Trust only decides who may replace answers: the answers of all workers count."""
    trust_share: Annotated[float, Field(gt=0, le=1)] = _REPLACEMENT.option(
        "Minimum accepted share for trust (0 to 1)", 0.95
    )
    """A worker with a smaller share of accepted answers and passed checks is not trusted. With 0.95 and 20
    judged answers, one of them may be rejected or failed. A worker can lose trust again."""

    open_to: Literal["everybody", "invited", "panel"] = _ADMISSION.option(
        "People who may take part",
        "everybody",
        {
            "everybody": "Everybody with an account or a link may take part.",
            "invited": "Only people with an invite link may take part.",
            "panel": "Only workers of the panel may take part.",
        },
    )
    """Everybody with an account or a link, only people with an invite link, or only workers of the panel.
    People who already take part continue."""

    run_by: Annotated[str, AfterValidator(validate_line)] = _STUDY.option(
        "Who runs the study", "", "The study is run by {run_by}."
    )
    """Name of the people or the institution, for example Vision Lab, Example University. Required
    before the campaign opens; the page with the consent text shows it."""
    contact: Annotated[str, AfterValidator(validate_contact)] = _STUDY.option(
        "Contact (email address or URL)", "", "The contact is {contact}."
    )
    """For questions and complaints of workers. Required before the campaign opens; the page with the consent
    text shows it."""
    license: Annotated[str, AfterValidator(validate_line)] = _STUDY.option(
        "License of the answers", "", "License of the answers: {license}."
    )
    """Under which license answers are published, for example CC BY 4.0, or that they are not published.
    Required before the campaign opens; the page with the consent text shows it."""
    pay_terms: Annotated[str, AfterValidator(validate_line)] = _STUDY.option(
        "Pay in words", "", "Workers read about their pay: “{pay_terms}”."
    )
    """How workers are paid, for example £12 per hour through Prolific; or that they are not paid. Required
    before the campaign opens, unless there is a pay per answer; the page with the consent text shows both."""

    pay_per_answer: Annotated[str, Field(pattern=AMOUNT)] = _PAY.option(
        "Pay per answer (amount)", "", "Each answer is paid {pay_per_answer} {currency}."
    )
    """A decimal number, for example 0.25. Leave it empty if answers are not paid."""
    currency: Annotated[str, Field(pattern=CURRENCY)] = _PAY.option("Currency", "")
    """Three letters, for example EUR."""

    language: Annotated[str, AfterValidator(validate_language)] = _LANGUAGE.option(
        "Language (code)", BUILT_IN, "The language of the campaign is {language:language}."
    )
    """Language of the instructions and captions, for example de or pt-BR. The pages of workers are translated
    into English (en) and German (de, not reviewed). For other languages, they are in English."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.training_right > self.training_items:
            raise ValueError("training_right must be at most training_items")
        if bool(self.pay_per_answer) != bool(self.currency):
            raise ValueError("pay_per_answer and currency must be given together")
        if 0 < self.confidence < LEVELS[0]:
            raise ValueError(f"confidence must be 0 or from {LEVELS[0]:g} to {LEVELS[1]:g}")
        return self

    def count_batches_of(self, interval: int) -> int:
        """Return the number of batches in which one check or repetition is assigned.

        Args:
            interval: The number of answers, such as `check_every`.
        """
        return max(interval // self.batch, 2)

    @classmethod
    @cache
    def described(cls, task: TaskType | None = None) -> dict[str, dict[str, Any]]:
        """Return the description of each option.

        It contains the JSON schema of the option, and the arguments of `OptionGroup.option`.

        Args:
            task: If given, options that have no effect on campaigns of this task type are omitted.
        """
        without = [group.title for group in _GROUPS if task and not group.applies_to(task)]
        found = cls.model_json_schema()["properties"]
        texts: dict[str, str] = {}
        for model in reversed(cls.__mro__[: cls.__mro__.index(BaseModel)]):
            texts |= _read_attribute_docstrings(model)
        return {
            name: {**about, "description": " ".join(texts[name].split())}
            for name, about in found.items()
            if about["group"] not in without
        }

    @classmethod
    def of_kind(cls, kind: str, /, **given: object) -> Self:
        """Validate the options, with the defaults of a task type.

        Raises:
            pydantic.ValidationError: A value is invalid.
            OptionError: The task type is unknown, or its items have no winner and the options include early
                stopping or adaptive sampling.
        """
        task = task_named(kind)
        defaults = {
            "answers": task.answers,
            "batch": task.batch,
            "lease_seconds": task.lease_seconds,
            "curtail": bool(task.curtailed),
        }
        found = cls.model_validate({**defaults, **given})
        for name in ("curtail", "confidence", "next_pairs") if task.curtailed is None else ():
            if value := getattr(found, name):
                off, got = ("false", "true") if value is True else ("0", f"{value:g}")
                kinds = ", ".join(each for each, other in TASKS.items() if other.curtailed is not None)
                raise OptionError(
                    f"{name!r} must be {off} but for the kinds {kinds} (got {got} for {kind}):"
                    " it would bias the share of answers that is the result"
                )
        return found


def get_options(campaign: Campaign) -> CampaignOptions:
    """Return the options of a campaign."""
    return CampaignOptions.model_validate(campaign.settings)


def _read_attribute_docstrings(cls: type) -> dict[str, str]:
    """Return the docstrings of attributes in the source of a class, by the attribute's name.

    Pydantic can read them as well (`use_attribute_docstrings`), but would do so at the start of each command.
    """
    (definition,) = ast.parse(inspect.getsource(cls)).body
    return {
        attribute.target.id: text.value.value
        for attribute, text in pairwise(ast.iter_child_nodes(definition))
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


_QUALITY = {group.title for group in _GROUPS if group.is_quality}
QUALITY_SETTINGS = tuple(
    name
    for name, field in CampaignOptions.model_fields.items()
    if isinstance(field.json_schema_extra, dict) and field.json_schema_extra["group"] in _QUALITY
)
"""The settings that can change in every state of a campaign."""
