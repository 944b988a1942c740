"""Changes of a challenge on its settings pages, validated like its definition.

They cover texts, fields, phases and references.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from pydantic import ValidationError

import capeval
from capeval.errors import FormatError, OptionError
from capeval_server.audit.models import record
from capeval_server.challenges.definition import ChallengeDefinition
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Split
from capeval_server.challenges.services.links import create_link, renew_link
from capeval_server.challenges.services.locks import lock_challenge, upsert
from capeval_server.core.errors import ChallengeError, ConflictError
from capeval_server.core.validation_problems import describe_problem
from capeval_server.hosting.services.challenge_import import (
    CHANGEABLE_WHEN_FINAL,
    check_images,
    check_order,
    get_reference_set,
    publish,
)
from capeval_server.hosting.services.description import (
    CHALLENGE_DEFAULTS,
    PHASE_DEFAULTS,
    describe,
    fingerprint,
)
from capeval_server.submissions.models import Submission
from capeval_server.submissions.quotas.upload_locks import acquire_unpacking_slot
from capeval_server.submissions.selectors.scores import score_names
from capeval_server.submissions.services.standing import RANKING_RULES, update_standings
from capeval_server.teams.services.enrollment import approve_all

__all__ = [
    "FieldsError",
    "Publication",
    "about_of",
    "check_references",
    "columns_of",
    "edit_about",
    "edit_columns",
    "edit_phase",
    "publish_references",
    "renew_secret_link",
]


class FieldsError(ChallengeError):
    """Invalid fields of a form.

    Attributes:
        problems: The problems as pairs of field and text; the field is empty if the problem is not about one
            field.
    """

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {text}" if field else text for field, text in problems))
        self.problems = problems


def about_of(challenge: Challenge) -> dict[str, Any]:
    """Return the editable texts and fields of a challenge."""
    about: dict[str, Any] = describe(challenge)["challenge"]
    return about


def edit_about(user: User, challenge: Challenge, wanted: Mapping[str, Any], *, seen: str) -> list[str]:
    """Change the texts, declared fields and approval of a challenge.

    Args:
        user: The actor.
        challenge: The challenge.
        wanted: The new values, such as of `title`, `description`, `rules`, `fields` and `approval`.
        seen: The fingerprint of the content that the user edited.

    Returns:
        The names of the changed fields.

    Raises:
        FieldsError: A value is invalid.
        ConflictError: The content changed since the user loaded it.
    """
    with lock_challenge(challenge) as now:
        before = describe(now)
        _check_seen(before["challenge"], seen)
        # Left out of definitions if they have their default values.
        before["challenge"] = {**CHALLENGE_DEFAULTS, **before["challenge"]}
        after = {**before["challenge"], **wanted}
        _check({**before, "challenge": after}, ("challenge",))
        changed = [name for name in wanted if before["challenge"][name] != after[name]]
        if changed:
            for name in changed:
                setattr(now, name, after[name])
            now.save(update_fields=changed)
            create_link(now)
            if not now.approval:
                approve_all(now)
            record(user, now, f"changed {_join_names(changed)} of the challenge")
    return changed


def columns_of(split: Split) -> dict[str, list[str]]:
    """Return the chosen columns of a split's leaderboards, with the defaults of lists without a choice."""
    defaults: dict[str, list[str]] = {
        "references": list(split.reference_sets.order_by("pk").values_list("name", flat=True)),
        "scores": score_names(split),
        "subsets": [],
    }
    return {**defaults, **split.columns}


def edit_columns(
    user: User, challenge: Challenge, name: str, wanted: Mapping[str, list[str]] | None, *, seen: str
) -> bool:
    """Choose the columns of a split's leaderboards.

    Args:
        user: The actor.
        challenge: The challenge.
        name: The name of the split.
        wanted: The columns, in the format of `ColumnsDefinition`; None to remove the choice.
        seen: The fingerprint of the content that the user edited.

    Returns:
        Whether anything changed.

    Raises:
        FieldsError: A value is invalid.
        ConflictError: The content changed since the user loaded it.
    """
    with lock_challenge(challenge) as now:
        before = describe(now)
        split = now.splits.get(name=name)
        _check_seen(split.columns, seen)
        index = next(i for i, each in enumerate(before["splits"]) if each["name"] == name)
        after = {**before["splits"][index], "columns": wanted}
        splits = [*before["splits"]]
        splits[index] = after
        _check({**before, "splits": splits}, ("splits", index, "columns"))
        columns = dict(wanted or {})
        if columns == split.columns:
            return False
        try:
            check_order(split, split.sort_by, columns)
        except ChallengeError as error:
            raise FieldsError([("mean_rank", str(error))]) from None
        split.columns = columns
        split.save(update_fields=["columns"])
        record(user, now, f"changed the leaderboard columns of split {name}")
    return True


def renew_secret_link(user: User, challenge: Challenge) -> None:
    """Replace the secret link of a challenge. The earlier link stops working."""
    with lock_challenge(challenge) as now:
        renew_link(now)
        record(user, now, "created a new link to the challenge")


def edit_phase(user: User, challenge: Challenge, wanted: Mapping[str, Any], *, seen: str | None) -> list[str]:
    """Change or add a phase.

    Args:
        user: The actor.
        challenge: The challenge.
        wanted: The phase, as in a definition.
        seen: The fingerprint of the content that the user edited; None for a new phase.

    Returns:
        The names of the changed fields.

    Raises:
        FieldsError: A value is invalid.
        ConflictError: The content changed since the user loaded it.
    """
    name = wanted["name"]
    with lock_challenge(challenge) as now:
        before = describe(now)
        place = next((i for i, phase in enumerate(before["phases"]) if phase["name"] == name), None)
        if seen is None:
            if place is not None:
                raise FieldsError([("name", f"phase {name!r} already exists")])
            before["phases"].append({})
        elif place is None:
            raise ConflictError(f"phase {name!r} no longer exists")
        else:
            _check_seen(before["phases"][place], seen)
        index = len(before["phases"]) - 1 if place is None else place
        old = {**PHASE_DEFAULTS, **before["phases"][index]} if before["phases"][index] else {}
        before["phases"][index] = new = {**wanted, "splits": sorted(wanted["splits"])}
        new["captions"] = sorted(new["captions"])
        _check(before, ("phases", index))
        changed = [field for field in new if old.get(field) != new[field]]
        if changed:
            final = place is not None and now.phases.filter(name=name, final__isnull=False).exists()
            if final and set(changed) - CHANGEABLE_WHEN_FINAL:
                text = "the results are final: only leaderboard settings and public captions can change"
                raise FieldsError([("", text)])
            _save_phase(now, new, changed)
            done = f"changed {_join_names(changed)} of phase {name}" if seen else f"added phase {name}"
            record(user, now, done)
    if not RANKING_RULES.isdisjoint(changed):
        # Afterwards, because teams are locked before phases.
        update_standings(challenge.phases.get(name=name))
    return changed


def _save_phase(challenge: Challenge, wanted: Mapping[str, Any], changed: list[str]) -> None:
    values = {name: value for name, value in wanted.items() if name not in ("name", "splits")}
    values["main"] = get_reference_set(challenge, wanted["main"])
    phase = upsert(Phase.objects, values, challenge=challenge, name=wanted["name"])
    if "splits" in changed:
        if phase.submissions.exists():
            raise FieldsError([("splits", "can't change: the phase has submissions")])
        phase.splits.set(challenge.splits.filter(name__in=wanted["splits"]))


def _check_seen(there: object, seen: str) -> None:
    if fingerprint(there) != seen:
        raise ConflictError(
            "nothing was saved: this was changed in the meantime; reload the page and try again"
        )


def _check(wanted: Mapping[str, Any], place: tuple[str | int, ...]) -> None:
    """Validate the edited definition, and assign problems to the fields of one place."""
    try:
        ChallengeDefinition.model_validate(wanted)
    except ValidationError as error:
        problems = [_locate_problem(found, place) for found in error.errors()]
        raise FieldsError(problems) from None
    except OptionError as error:
        raise FieldsError([("", str(error))]) from None


def _locate_problem(problem: Mapping[str, Any], place: tuple[str | int, ...]) -> tuple[str, str]:
    found, message = problem["loc"], describe_problem(problem)
    if found[: len(place)] != place or len(found) == len(place):
        return "", message
    field, *within = found[len(place) :]
    where = ", ".join(f"no. {part + 1}" if isinstance(part, int) else part for part in within)
    return str(field), f"{where}: {message}" if where else message


def _join_names(names: list[str]) -> str:
    shown = [name.replace("_", " ") for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Preview of a new reference version.

    Attributes:
        images: The number of images.
        captions: The number of captions.
        sha256: The SHA-256 of the file.
        rescored: The number of submissions that would be scored again.
        same: Whether it equals the current version.
    """

    images: int
    captions: int
    sha256: str
    rescored: int
    same: bool


def check_references(entry: ReferenceSet, name: str, data: bytes) -> Publication:
    """Validate a file of references and return a preview of the new version.

    Args:
        entry: The reference set.
        name: The name of the file.
        data: The content of the file.

    Raises:
        ChallengeError: The file is invalid, or covers other images than the reference set.
        BusyError: Too many uploads are being checked.
    """
    if len(data) > settings.UPLOAD_BYTES:
        raise ChallengeError(f"{name}: the file must have at most {settings.UPLOAD_BYTES:,} bytes (got more)")
    try:
        with acquire_unpacking_slot():
            found = capeval.load_references(data, name=name, limit=settings.UNPACKED_BYTES)
    except FormatError as error:
        raise ChallengeError(f"{name}: {error.message}") from None
    whose = f"split {entry.split.name!r}" if entry.part is None else f"references {entry.name!r}"
    check_images(name, found.image_ids, entry.image_ids, whose)
    sha256 = hashlib.sha256(data).hexdigest()
    current = entry.versions.filter(number=entry.version, sha256=sha256)
    return Publication(
        images=len(found.image_ids),
        captions=sum(len(captions) for captions in found.values()),
        sha256=sha256,
        rescored=_filter_rescored(entry).count(),
        same=current.exists(),
    )


def _get_extension(name: str) -> str:
    """Return the extensions that determine a file's format: `.jsonl` or `.json.gz`."""
    found = "".join(PurePosixPath(name).suffixes[-2:]).lower()
    return found if re.fullmatch(r"(\.[a-z0-9]{1,10}){1,2}", found) else ""


def _filter_rescored(entry: ReferenceSet) -> Any:
    states = [Submission.State.SCORED, Submission.State.WAITING, Submission.State.RUNNING]
    return Submission.objects.filter(phase__splits=entry.split, state__in=states)


def publish_references(user: User, entry: ReferenceSet, name: str, data: bytes, *, seen: int) -> int:
    """Publish a new version of references and score all submissions again.

    Scores by older versions become stale.

    Args:
        user: The actor.
        entry: The reference set.
        name: The name of the file.
        data: The content of the file.
        seen: The version that the user saw.

    Returns:
        The number of the current version.

    Raises:
        ChallengeError: The file is invalid, or covers other images than the reference set.
        BusyError: Too many uploads are being checked.
        ConflictError: Another version was published since.
        OSError: The file can't be stored.
    """
    challenge = entry.split.challenge
    with lock_challenge(challenge):
        now = ReferenceSet.objects.select_related("split").get(pk=entry.pk)
        if now.version != seen:
            raise ConflictError(f"version {now.version} was published in the meantime")
        found = check_references(now, name, data)
        if found.same:
            raise ChallengeError(f"{name}: the references are identical to version {now.version}")
        publish(now, f"references{_get_extension(name)}", data)
        what = f"published version {now.version} of references {now.name} of split {now.split.name}"
        record(user, challenge, f"{what} (sha256 {found.sha256[:12]})")
    return seen + 1
