"""Schema and validation of `challenge.toml`, the definition of a challenge."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from capeval.errors import CapevalWarning, OptionError
from capeval.formats.declared_fields import FieldType
from capeval.formats.result_files import ALGORITHM, ANY_NAME
from capeval.metrics import DEFAULT, METRICS
from capeval.metrics.registry import get_metric, normalize_name, normalize_score
from capeval.toolkit import validate_choice
from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import (
    IMAGE_ID,
    LEAST_SUBSET,
    MOST_DAYS,
    MOST_FINAL,
    MOST_IN_ALL,
    MOST_MEMBERS,
    MOST_PER_DAY,
)
from capeval_server.challenges.reserved_names import NOT_CHALLENGES, NOT_PHASES
from capeval_server.core.errors import ChallengeError
from capeval_server.core.validation_problems import DOMAIN, NAME, list_problems

__all__ = [
    "ChallengeDefinition",
    "ColumnsDefinition",
    "read_definition",
]


MOST_PAGES = 10
# The database column with the metric of a result has this length.
_LONGEST_METRIC = 50

# Rendering a longer text would take seconds.
Markdown = Annotated[str, Field(max_length=50_000)]
Name = Annotated[str, Field(pattern=NAME, max_length=50)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FieldDefinition(_Part):
    """Field that a submitter fills in."""

    name: Name
    type: FieldType = "text"
    # The possible values of the type `choice`.
    choices: list[Annotated[str, Field(min_length=1, max_length=100)]] = []
    # The choices that a phase accepts, by its name; other phases accept all.
    phase_choices: dict[str, list[str]] = {}
    required: bool = False
    # Whether it is shown on leaderboards and to other teams.
    shown: bool = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.type == "choice" and len(self.choices) < 2:
            raise ValueError(
                f"choices must list at least 2 values for the type choice (got {len(self.choices)})"
            )
        if self.type != "choice" and self.choices:
            raise ValueError(f"choices must be empty for the type {self.type}")
        for choice in self.choices:
            if choice != choice.strip() or not choice.isprintable():
                raise ValueError(
                    "choices must have only printable characters and no spaces at their ends"
                    f" (got {choice!r})"
                )
        _check_unique("choices", self.choices)
        for phase, accepted in self.phase_choices.items():
            if not accepted:
                raise ValueError(
                    f"phase_choices of phase {phase} must list at least 1 of the choices (got 0)"
                )
            for choice in accepted:
                validate_choice(f"phase_choices of phase {phase}", choice, self.choices, error=ValueError)
        if self.type in ("choice", "boolean") and self.name.isdecimal():
            raise ValueError(f"name must contain a letter for the type {self.type} (got {self.name!r})")
        return self


class PageDefinition(_Part):
    """Additional page of text."""

    name: Name
    title: Annotated[str, Field(min_length=1, max_length=50)]
    text: Annotated[Markdown, Field(min_length=1)]


class ChallengeSettings(_Part):
    """Settings and texts of a challenge."""

    slug: Name
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Markdown = ""
    rules: Markdown = ""
    data: Markdown = ""
    faq: Markdown = ""
    contact: Markdown = ""
    pages: Annotated[list[PageDefinition], Field(max_length=MOST_PAGES)] = []
    fields: list[FieldDefinition] = []
    approval: bool = False
    visibility: Literal["draft", "unlisted", "public", "archived"] = "public"
    # Conditions of joining: the secret link or a team's code, and an email address of one of the domains.
    invitation_only: bool = False
    email_domains: list[Annotated[str, Field(pattern=DOMAIN, max_length=253)]] = []
    team_size: Annotated[int, Field(ge=1, le=MOST_MEMBERS)] | None = None
    # The time from which everybody who can see the challenge can see its images.
    data_released: AwareDatetime | None = None

    @field_validator("slug")
    @classmethod
    def _check_slug(cls, slug: str) -> str:
        _check_not_reserved("slug", slug, NOT_CHALLENGES)
        return slug

    @field_validator("pages")
    @classmethod
    def _check_pages(cls, pages: list[PageDefinition]) -> list[PageDefinition]:
        _check_unique("pages", [page.name for page in pages])
        return pages

    @field_validator("email_domains")
    @classmethod
    def _check_domains(cls, domains: list[str]) -> list[str]:
        _check_unique("email_domains", domains)
        return domains


class ReportedScoresDefinition(_Part):
    """File of externally reported scores for a reference set."""

    name: Name
    title: Annotated[str, Field(min_length=1, max_length=200)]
    # Without a file, the existing rows are kept. The same applies to the other files.
    file: str | None = None
    url: Annotated[str, Field(max_length=500)] = ""
    # Whether to show the hypothetical rank of each row.
    ranked: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.url and not safe_link(self.url):
            raise ValueError(
                f"url must be the address of a page, with http:// or https:// (got {self.url!r})"
            )
        return self


class ReferenceSetDefinition(_Part):
    """File of references."""

    name: Name
    file: str | None = None
    public: bool
    # Whether they cover only some of the split's images.
    partial: bool = False
    # Captions by people for the human baseline, which are not among these references.
    human: str | None = None
    reported: list[ReportedScoresDefinition] = []

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_unique("reported", [reported.name for reported in self.reported])
        return self


class LinkDefinition(_Part):
    """Download link of a split."""

    text: Annotated[str, Field(min_length=1, max_length=200)]
    url: Annotated[str, Field(max_length=500)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not safe_link(self.url):
            raise ValueError(
                f"url must be the address of a page, with http:// or https:// (got {self.url!r})"
            )
        return self


def _list_default_metrics() -> list[str]:
    """Return the default metrics that this server can compute; a warning names the others."""
    for name, command in DEFAULT.omitted.items():
        # The split keeps these metrics until its definition names others.
        warnings.warn(
            f"{name} is left out, because its data is not installed; to add it, run {command}, then import"
            f" the challenge with metrics = {json.dumps(DEFAULT)}",
            CapevalWarning,
            stacklevel=1,
        )
    return list(DEFAULT.available)


def _list_scores(metrics: Iterable[str]) -> list[str]:
    return [name for metric in metrics for name in METRICS[metric]().names]


class ColumnsDefinition(_Part):
    """Columns of a split's leaderboards.

    Each list has a default: all reference sets, all scores, only all images, all judgments, no mean ranks.
    """

    references: Annotated[list[str], Field(min_length=1)] | None = None
    scores: Annotated[list[str], Field(min_length=1)] | None = None
    # The subsets with columns of their own, in addition to all images.
    subsets: list[str] | None = None
    # The questions of human judgments, such as M1.
    judgments: list[str] | None = None
    # The scores for mean ranks, by which leaderboards of all images are then sorted.
    mean_rank: list[str] | None = None

    @field_validator("mean_rank")
    @classmethod
    def _check_mean_rank(cls, scores: list[str] | None) -> list[str] | None:
        if scores is not None and len(scores) < 2:
            raise ValueError(f"must list at least 2 scores (got {len(scores)})")
        return scores

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, values in self:
            _check_unique(f"columns.{name}", values or [])
        return self


class SplitDefinition(_Part):
    """Image set of a challenge."""

    name: Name
    results: Annotated[str, Field(max_length=200)]
    references: Annotated[list[ReferenceSetDefinition], Field(min_length=1)]
    subsets: str | None = None
    # Image metadata, in the format of COCO's image_info files.
    images: str | None = None
    # A zip of the image files, for participants.
    image_archive: str | None = None
    # Names that captions must mention, in the format of `capeval baselines constraints --output`.
    constraints: str | None = None
    image_url: Annotated[str, Field(max_length=500)] = ""
    links: list[LinkDefinition] = []
    # Minimum number of images of a subset that is scored with private references.
    least_subset: Annotated[int, Field(ge=1, le=1_000_000)] = LEAST_SUBSET
    metrics: Annotated[list[str], Field(min_length=1, default_factory=_list_default_metrics)]
    sort_by: str
    columns: ColumnsDefinition | None = None

    @field_validator("results")
    @classmethod
    def _check_results(cls, results: str) -> str:
        if results.count(ALGORITHM) != 1 or not results.endswith(".json") or "/" in results:
            raise ValueError(f"results must be a file name with one {ALGORITHM}, ending in .json")
        if not results.isprintable():
            raise ValueError(f"results must contain only printable characters (got {results!r})")
        return results

    @field_validator("image_url")
    @classmethod
    def _check_image_url(cls, url: str) -> str:
        if url and not IMAGE_ID.search(url):
            raise ValueError(f"image_url must contain {{id}} or {{id:012}} (got {url!r})")
        if url and urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"image_url must begin with http:// or https:// (got {url!r})")
        return url

    @field_validator("metrics")
    @classmethod
    def _check_metrics(cls, metrics: list[str]) -> list[str]:
        try:
            names = [normalize_name(metric) for metric in metrics]
            for metric in map(get_metric, names):
                if metric.missing_options:
                    raise ValueError(f"{metric.family} needs files of its user, so a challenge can't have it")
        except OptionError as error:
            raise ValueError(str(error)) from None
        for name in names:
            if len(name) > _LONGEST_METRIC:
                raise ValueError(
                    f"a metric with its options must have at most {_LONGEST_METRIC} characters (got {name!r})"
                )
        _check_unique("metrics", _list_scores(names))
        return names

    @field_validator("sort_by")
    @classmethod
    def _normalize_sort_by(cls, sort_by: str, found: ValidationInfo) -> str:
        # Invalid metrics are a problem of their own.
        if "metrics" not in found.data:
            return sort_by
        names = _list_scores(found.data["metrics"])
        sort_by = normalize_score(sort_by, names)
        validate_choice("sort_by", sort_by, names, error=ValueError)
        return sort_by

    @field_validator("columns")
    @classmethod
    def _normalize_scores(
        cls, columns: ColumnsDefinition | None, found: ValidationInfo
    ) -> ColumnsDefinition | None:
        if columns is None:
            return columns
        known = _list_scores(found.data.get("metrics", ()))
        lists = {"scores": columns.scores, "mean_rank": columns.mean_rank}
        update = {
            name: [normalize_score(one, known) for one in names] for name, names in lists.items() if names
        }
        return columns.model_copy(update=update)

    @property
    def score_names(self) -> list[str]:
        """Names of the scores of its metrics, in order."""
        return _list_scores(self.metrics)

    @model_validator(mode="after")
    def _check(self) -> Self:
        sets = [references.name for references in self.references]
        _check_unique("references", sets)
        if self.columns is not None:
            _check_chosen("columns.references", self.columns.references, sets)
            _check_chosen("columns.scores", self.columns.scores, self.score_names)
            _check_chosen("columns.mean_rank", self.columns.mean_rank, self.score_names)
        if all(references.partial for references in self.references):
            raise ValueError("at least one reference set must cover all images (got partial = true for each)")
        return self


class PhaseDefinition(_Part):
    """Submission period."""

    name: Name
    opens: AwareDatetime
    closes: AwareDatetime
    splits: Annotated[list[str], Field(min_length=1)]
    quota_per_day: Annotated[int, Field(ge=1, le=MOST_PER_DAY)]
    quota_total: Annotated[int, Field(ge=1, le=MOST_IN_ALL)]
    # Limits per calendar month, and within any number of days.
    quota_per_month: Annotated[int, Field(ge=1, le=MOST_IN_ALL)] | None = None
    quota_per_window: Annotated[int, Field(ge=1, le=MOST_IN_ALL)] | None = None
    quota_window_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | None = Field(None, validate_default=True)
    leaderboard: Literal["public", "after", "hidden"] = "public"
    # The split and the reference set of the leaderboard that opens first, such as test/c5.
    main: str = ""
    # The splits with public captions, and the teams whose captions are public.
    captions: list[str] = []
    captions_by: Literal["agreed", "standing"] = "agreed"
    # Whether teams see no scores before the organizers publish the results.
    blind: bool = False
    # The number of submissions that a team may choose in a blind phase.
    final_submissions: Annotated[int, Field(ge=1, le=MOST_FINAL)] = 1
    # Whether submissions are on the leaderboard only if their team chose them.
    requires_choice: bool = False

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        _check_not_reserved("name", name, NOT_PHASES)
        return name

    @field_validator("closes")
    @classmethod
    def _check_closes(cls, closes: datetime, found: ValidationInfo) -> datetime:
        opens = found.data.get("opens")
        if opens is not None and closes <= opens:
            raise ValueError(
                f"closes must be after opens, {_format_time(opens)} (got {_format_time(closes)})"
            )
        return closes

    @field_validator("splits")
    @classmethod
    def _check_splits(cls, splits: list[str]) -> list[str]:
        _check_unique("splits", splits)
        return splits

    @field_validator("quota_window_days")
    @classmethod
    def _check_window(cls, days: int | None, found: ValidationInfo) -> int | None:
        if "quota_per_window" in found.data and (found.data["quota_per_window"] is None) != (days is None):
            raise ValueError("quota_per_window and quota_window_days must be given together")
        return days

    @field_validator("captions")
    @classmethod
    def _check_captions(cls, captions: list[str], found: ValidationInfo) -> list[str]:
        _check_unique("captions", captions)
        _check_chosen("captions", captions, found.data.get("splits", captions))
        return captions

    @field_validator("final_submissions")
    @classmethod
    def _check_final_submissions(cls, number: int, found: ValidationInfo) -> int:
        if number > 1 and not found.data.get("blind", True):
            raise ValueError(f"final_submissions must be 1 in a phase that is not blind (got {number})")
        return number


class ChallengeDefinition(_Part):
    """Complete definition of a challenge."""

    challenge: ChallengeSettings
    splits: Annotated[list[SplitDefinition], Field(min_length=1)]
    phases: Annotated[list[PhaseDefinition], Field(min_length=1)]
    # Paths of entries to delete; all other entries that are not in the file are kept.
    delete: list[str] = []

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [split.name for split in self.splits]
        _check_unique("splits", names)
        _check_unique("phases", [phase.name for phase in self.phases])
        _check_unique("fields", [field.name for field in self.challenge.fields])
        for field in self.challenge.fields:
            for name in field.phase_choices:
                phases = [phase.name for phase in self.phases]
                validate_choice(f"phase_choices of field {field.name}", name, phases, error=ValueError)
        for phase in self.phases:
            for name in phase.splits:
                validate_choice(f"splits of phase {phase.name}", name, names, error=ValueError)
            results = [split.results for split in self.splits if split.name in phase.splits]
            _check_unique(f"results of the splits of phase {phase.name}", results)
            if len(results) > 1 and ANY_NAME in results:
                raise ValueError(
                    f"results must not be {ANY_NAME!r} in phase {phase.name}, which has several splits"
                )
            boards = [
                f"{split.name}/{references.name}"
                for split in self.splits
                if split.name in phase.splits
                for references in split.references
            ]
            if phase.main:
                validate_choice(f"main of phase {phase.name}", phase.main, boards, error=ValueError)
        return self


def read_definition(
    name: str,
    data: bytes,
    complete: Callable[[dict[str, Any]], dict[str, Any]] = lambda content: content,
) -> ChallengeDefinition:
    """Read and validate a challenge definition.

    Args:
        name: The name of the file in error messages.
        data: The content of the file.
        complete: Adds fields that are not in the file, before the validation.

    Raises:
        ChallengeError: The file is not TOML, or entries are invalid; the message lists all problems.
    """
    try:
        content = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ChallengeError(f"{name} must be TOML in UTF-8 ({error})") from None
    try:
        return ChallengeDefinition.model_validate(complete(content))
    except ChallengeError as error:
        raise ChallengeError(f"{name}: {error}") from None
    except ValidationError as error:
        raise ChallengeError(f"{name}: {'; '.join(list_problems(error))}") from None
    except OptionError as error:
        raise ChallengeError(f"{name}: {error}") from None


def _check_unique(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what} must have unique names (got {name!r} twice)")


def _check_chosen(what: str, names: list[str] | None, known: list[str]) -> None:
    for name in names or ():
        validate_choice(what, name, known, error=ValueError)


def _check_not_reserved(what: str, name: str, pages: frozenset[str]) -> None:
    if name in pages:
        raise ValueError(f"{what} must not be any of {', '.join(sorted(pages))} (got {name!r})")


def _format_time(time: datetime) -> str:
    return time.isoformat()
