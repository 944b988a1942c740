"""Idempotent import of challenge files into the database."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet

import capeval
from capeval.data.captions import ImageId
from capeval.errors.messages import describe_id_types, describe_image_mismatch, format_images
from capeval.formats import load_subsets
from capeval.formats.caption_files import coco_results
from capeval.formats.constraints import ImageConstraints, load_constraints
from capeval.formats.declared_fields import DeclaredField, parse_fields
from capeval.formats.images import ImageInfo, load_images
from capeval.formats.io.json import to_json_bytes
from capeval.metrics import METRICS
from capeval.toolkit import validate_choice
from capeval_server.challenges import definition
from capeval_server.challenges.models import (
    Challenge,
    Phase,
    ReferenceSet,
    ReferenceVersion,
    Reported,
    Split,
    Subset,
)
from capeval_server.challenges.reported_scores import ReportedRow, read_reported
from capeval_server.challenges.services import constraints, image_archives, image_lists
from capeval_server.challenges.services.links import create_link
from capeval_server.challenges.services.locks import lock_references, upsert
from capeval_server.core.errors import ChallengeError, UploadError
from capeval_server.submissions.models import (
    ImageScores,
    Score,
    Submission,
    SubmissionFile,
    SwappedStatistics,
)
from capeval_server.submissions.services import lifecycle
from capeval_server.submissions.services.upload_files import check_results
from capeval_server.teams.services.enrollment import approve_all

__all__ = [
    "CHANGEABLE_WHEN_FINAL",
    "Read",
    "SplitFiles",
    "change_challenge",
    "check_images",
    "check_order",
    "delete_files_on_error",
    "get_reference_set",
    "keep_reported",
    "publish",
    "read_files",
]

Read = Callable[[str], tuple[str, bytes]]

CHANGEABLE_WHEN_FINAL = frozenset({"leaderboard", "main", "captions", "captions_by"})
"""Settings of a phase that can change after its results are final: they affect only the display."""


@dataclass(frozen=True, kw_only=True)
class SplitFiles:
    """Contents of the files of a split.

    Attributes:
        image_ids: The images of the split.
        images: Their metadata, in their order; None if no file describes them.
        image_archive: The zip of the image files; None if there is none in the files.
        constraints: The names that captions of each image must mention; None if no file lists them.
        references: The content of each references file, by the name of the references.
        parts: The images of references that cover only a part of the split, by the name of the references.
        humans: The content of the files of human captions, by the name of the references.
        reported: The rows reported elsewhere, by the name of the references and their own name.
        subsets: The images of each subset, including subsets that are kept.
    """

    image_ids: list[int] | list[str]
    images: list[ImageInfo] | None
    image_archive: bytes | None
    constraints: dict[ImageId, ImageConstraints] | None
    references: dict[str, bytes]
    parts: dict[str, list[ImageId]]
    humans: dict[str, bytes]
    reported: dict[tuple[str, str], list[ReportedRow]]
    subsets: dict[str, list[int | str]]


@contextmanager
def delete_files_on_error() -> Iterator[list[str]]:
    """Yield a list for the names of stored files, which are deleted after an error."""
    stored: list[str] = []
    try:
        yield stored
    except BaseException:
        for name in stored:
            default_storage.delete(name)
        raise


def read_files(
    read: Read,
    wanted: definition.ChallengeDefinition,
    challenge: Challenge | None = None,
    deleted: Collection[str] = (),
) -> dict[str, SplitFiles]:
    """Return the contents of the files of each split of a definition.

    Args:
        read: Returns the name in error messages and the content of a file that the definition names.
        wanted: The definition.
        challenge: The challenge to change; its content is kept if the definition names no file for it.
        deleted: The places to delete.

    Raises:
        ChallengeError: The files are inconsistent.
        FormatError: A file of references or subsets is invalid.
        OSError: A file can't be read.
    """
    there = {split.name: split for split in challenge.splits.all()} if challenge else {}
    fields = parse_fields([field.model_dump() for field in wanted.challenge.fields])
    return {split.name: _read(read, split, there.get(split.name), fields, deleted) for split in wanted.splits}


def _read(
    read: Read,
    split: definition.SplitDefinition,
    old: Split | None,
    fields: Sequence[DeclaredField],
    deleted: Collection[str],
) -> SplitFiles:
    _check_resources(split)
    _check_given(split, old)
    references = {}
    parts: dict[str, list[ImageId]] = {}
    ids: list[ImageId] = []
    # Complete references first, because they define the split's images.
    for entry in sorted(split.references, key=lambda entry: entry.partial):
        if entry.file is None:
            continue
        name, data = read(entry.file)
        found = capeval.load_references(data, name=name)
        if not ids:
            ids = list(old.image_ids) if entry.partial and old else list(found.image_ids)
        if entry.partial:
            parts[entry.name] = _select_part(name, found.image_ids, ids, split.name)
        else:
            check_images(name, found.image_ids, ids, f"split {split.name!r}")
        references[entry.name] = data
    ids = ids or list(old.image_ids if old else ())
    if old is not None:
        parts |= _list_kept_parts(split, old)
        _check_kept(split, old, ids, parts, deleted)
    humans = {
        entry.name: _read_human(read, entry.human, split.name, ids, parts.get(entry.name))
        for entry in split.references
        if entry.human
    }
    reported = {
        (entry.name, found.name): read_reported(*read(found.file), split.score_names, fields)[0]
        for entry in split.references
        for found in entry.reported
        if found.file is not None
    }
    subsets = _merge_subsets(read, split, old, deleted)
    for subset, members in subsets.items():
        unknown = set(members) - set(ids)
        if unknown:
            named = sorted(unknown, key=str)[0]
            raise ChallengeError(
                f"{split.subsets or 'subsets'}: subset {subset!r} must contain only images of split"
                f" {split.name!r} (got {named!r})"
            )
    images = _read_images(read, split, ids)
    return SplitFiles(
        image_ids=ids,  # type: ignore[arg-type]
        images=images,
        image_archive=_read_image_archive(read, split, old, images),
        constraints=_read_constraints(read, split, ids),
        references=references,
        parts=parts,
        humans=humans,
        reported=reported,
        subsets=subsets,
    )


def _check_given(split: definition.SplitDefinition, old: Split | None) -> None:
    """Check that new references and reported scores come with their files."""
    sets = {entry.name: entry for entry in old.reference_sets.all()} if old else {}
    for entry in split.references:
        there = sets.get(entry.name)
        place = f"splits.{split.name}.references.{entry.name}"
        if entry.file is None and there is None:
            raise ChallengeError(f"{place}.file must be given: these references are new")
        if entry.file is None and there is not None and entry.partial != (there.part is not None):
            raise ChallengeError(f"{place}.file must be given: partial differs from the existing references")
        rows = set(there.reported.values_list("name", flat=True)) if there else set()
        for reported in entry.reported:
            if reported.file is None and reported.name not in rows:
                raise ChallengeError(f"{place}.reported.{reported.name}.file must be given: it is new")


def _list_kept_parts(split: definition.SplitDefinition, old: Split) -> dict[str, list[ImageId]]:
    """Return the covered images of partial references that are kept."""
    names = [entry.name for entry in split.references if entry.file is None]
    kept = old.reference_sets.filter(name__in=names, part__isnull=False)
    return {entry.name: list(entry.part or ()) for entry in kept}


def _check_kept(
    split: definition.SplitDefinition,
    old: Split,
    ids: Sequence[ImageId],
    parts: Mapping[str, Sequence[ImageId]],
    deleted: Collection[str],
) -> None:
    """Check that kept content matches the images of the split, which files may change.

    Raises:
        ChallengeError: Kept content has other images.
    """
    place = f"splits.{split.name}"
    kept = []
    if set(ids) != set(old.image_ids):
        kept += [f"{place}.references.{entry.name}" for entry in split.references if entry.file is None]
        kept += [
            f"{place}.{name}"
            for name, given, there in (
                ("subsets", split.subsets, old.subsets.exists()),
                ("images", split.images, hasattr(old, "image_list")),
                ("image_archive", split.image_archive, hasattr(old, "image_archive")),
                ("constraints", split.constraints, hasattr(old, "constraints")),
            )
            if given is None and there
        ]
    given_human = {entry.name for entry in split.references if entry.human is not None}
    for entry in old.reference_sets.exclude(name__in=given_human).filter(baselines__isnull=False):
        if set(parts.get(entry.name, ids)) != set(entry.part or old.image_ids):
            kept.append(f"{place}.references.{entry.name}.human")
    if kept := [each for each in kept if each not in deleted]:
        raise ChallengeError(
            f"the images of split {split.name!r} change: add files for the following entries, or delete them:"
            f" {', '.join(kept)}"
        )


def _merge_subsets(
    read: Read, split: definition.SplitDefinition, old: Split | None, deleted: Collection[str]
) -> dict[str, list[ImageId]]:
    """Return the subsets of a split: those in its file, and other existing ones."""
    given: dict[str, list[ImageId]] = {}
    if split.subsets:
        name, data = read(split.subsets)
        given = load_subsets(data, name=name)
    there = dict(old.subsets.values_list("name", "image_ids")) if old else {}
    gone = {name for name in there if f"splits.{split.name}.subsets.{name}" in deleted}
    if again := sorted(gone & set(given)):
        raise ChallengeError(f"delete: subset {again[0]!r} is also in {split.subsets}")
    return {name: members for name, members in {**there, **given}.items() if name not in gone}


def _read_images(
    read: Read, split: definition.SplitDefinition, ids: Sequence[ImageId]
) -> list[ImageInfo] | None:
    """Return the metadata of a split's images, in order, or None if no file has it."""
    if split.images is None:
        return None
    name, data = read(split.images)
    found = {image.id: image for image in load_images(data, name=name)}
    problem = describe_image_mismatch(found, ids, f"split {split.name!r}", "an entry in the list")
    if problem:
        raise ChallengeError(f"{name}: {problem}")
    return [found[image] for image in ids]


def _read_image_archive(
    read: Read, split: definition.SplitDefinition, old: Split | None, images: Sequence[ImageInfo] | None
) -> bytes | None:
    """Return the zip of a split's image files, or None if not given."""
    if split.image_archive is None:
        return None
    name, data = read(split.image_archive)
    if images is None and old is not None:
        images = image_lists.get_images(old)
    image_archives.check_image_archive(
        name, data, [image.file_name for image in images or () if image.file_name]
    )
    return data


def _read_constraints(
    read: Read, split: definition.SplitDefinition, ids: Sequence[ImageId]
) -> dict[ImageId, ImageConstraints] | None:
    """Return the names that captions of each image must mention, or None if not given."""
    if split.constraints is None:
        return None
    name, data = read(split.constraints)
    found = load_constraints(data, name=name)
    if unknown := sorted(set(found) - set(ids), key=str):
        types = describe_id_types(unknown[0], ids[0])
        raise ChallengeError(f"{name}: {format_images(unknown)} not in split {split.name!r}{types}")
    return found


def _select_part(name: str, found: Sequence[ImageId], images: Sequence[ImageId], split: str) -> list[ImageId]:
    """Return the images that partial references cover, in the split's order."""
    covered = set(found)
    if unknown := sorted(covered - set(images), key=str):
        types = describe_id_types(unknown[0], images[0])
        raise ChallengeError(f"{name}: {format_images(unknown)} not in split {split!r}{types}")
    return [image for image in images if image in covered]


def _check_resources(split: definition.SplitDefinition) -> None:
    """Reject metrics with missing resources on this server."""
    for metric in split.metrics:
        for resource in METRICS[metric]().resources:
            if not resource.is_available:
                raise ChallengeError(
                    f"metric {metric!r} of split {split.name!r} needs {resource.name}, not installed on this"
                    f" server: {resource.install}"
                )


def check_order(split: Split, sort_by: str, columns: Mapping[str, Any]) -> None:
    """Check that the default order of leaderboards does not change after results are final.

    Final results keep their own scores for mean ranks, so these may change.

    Args:
        split: The split as it is.
        sort_by: The score to sort by.
        columns: The chosen columns, in the format of `ColumnsDefinition`.

    Raises:
        ChallengeError: The order changes, and the results of a phase with this split are final.
    """
    changed = ["sort_by"] if split.sort_by != sort_by else []
    if bool(split.columns.get("mean_rank")) != bool(columns.get("mean_rank")):
        changed.append("columns.mean_rank")
    final = split.phases.filter(final__isnull=False).order_by("name").first() if changed else None
    if final is not None:
        raise ChallengeError(
            f"{' and '.join(changed)} of split {split.name!r} can't change: the results of phase"
            f" {final.name!r} are final"
        )


def check_images(name: str, found: Sequence[ImageId], images: Sequence[ImageId], whose: str) -> None:
    """Check that references cover exactly the expected images.

    Args:
        name: The name of the references file in error messages.
        found: Its images.
        images: The expected images.
        whose: The name of the expected images in error messages.

    Raises:
        ChallengeError: The images differ.
    """
    problem = describe_image_mismatch(found, images, whose, "references")
    if problem:
        raise ChallengeError(f"{name}: {problem}")


def _read_human(
    read: Read, name: str, split: str, images: Sequence[ImageId], part: Sequence[ImageId] | None
) -> bytes:
    """Return the human captions of a reference set.

    The file of partial references may contain captions of exactly their images or of all images of the split.
    """
    _, data = read(name)
    try:
        if part is None or len(capeval.load_candidates(data, name=name)) <= len(part):
            return check_results(name, data, split, images if part is None else part)[0]
        matched, _ = check_results(name, data, split, images)
    except UploadError as error:
        raise ChallengeError(str(error)) from None
    captions = capeval.load_candidates(matched, name=name)
    return to_json_bytes(coco_results(capeval.Candidates({image: captions[image] for image in part})))


def change_challenge(
    wanted: definition.ChallengeDefinition,
    files: dict[str, SplitFiles],
    stored: list[str],
    deleted: Collection[str] = (),
) -> Challenge:
    """Change a challenge by its definition and files, in the caller's transaction.

    Args:
        wanted: The complete definition, including everything that is kept.
        files: The contents of the files of its splits; content without a file is kept.
        stored: Receives the names of stored files, which the caller deletes after a rollback.
        deleted: The places to delete.

    Raises:
        ChallengeError: The change affects content that submissions depend on.
        OSError: A file can't be stored.
    """
    about = wanted.challenge
    # References are locked first, as in workers.
    lock_references(ReferenceSet.objects.filter(split__challenge__slug=about.slug))
    challenge = upsert(
        Challenge.objects,
        {
            "title": about.title,
            "description": about.description,
            "rules": about.rules,
            "data": about.data,
            "faq": about.faq,
            "contact": about.contact,
            "pages": [page.model_dump() for page in about.pages],
            "fields": [field.model_dump(exclude_defaults=True) for field in about.fields],
            "approval": about.approval,
            "visibility": about.visibility,
            "data_released": about.data_released,
            "invitation_only": about.invitation_only,
            "email_domains": about.email_domains,
            "team_size": about.team_size,
        },
        slug=about.slug,
    )
    create_link(challenge)
    if not about.approval:
        approve_all(challenge)
    for split in wanted.splits:
        _import_split(challenge, split, files[split.name], stored, deleted)
    for phase in wanted.phases:
        values = {
            **phase.model_dump(exclude={"name", "splits"}),
            "main": get_reference_set(challenge, phase.main),
        }
        _check_final(challenge, phase)
        made = upsert(Phase.objects, values, challenge=challenge, name=phase.name)
        names = set(made.splits.values_list("name", flat=True))
        if names != set(phase.splits) and made.submissions.exists():
            raise ChallengeError(f"splits of phase {phase.name!r} can't change: it has submissions")
        made.splits.set(challenge.splits.filter(name__in=phase.splits))
    return challenge


def get_reference_set(challenge: Challenge, place: str) -> ReferenceSet | None:
    """Return a reference set by split and name, such as `test/c5`, or None for ""."""
    split, _, name = place.partition("/")
    found = ReferenceSet.objects.filter(split__challenge=challenge, split__name=split, name=name)
    return found.get() if place else None


def _check_subsets(
    wanted: definition.SplitDefinition, chosen: Collection[str], subsets: Collection[str]
) -> None:
    for name in chosen:
        validate_choice(f"splits.{wanted.name}.columns.subsets", name, sorted(subsets), error=ChallengeError)


def _check_final(challenge: Challenge, wanted: definition.PhaseDefinition) -> None:
    final = challenge.phases.filter(name=wanted.name, final__isnull=False).first()
    if final is None:
        return
    fixed = wanted.model_dump(exclude={"name", "splits", *CHANGEABLE_WHEN_FINAL})
    changed = [name for name, value in fixed.items() if getattr(final, name) != value]
    changed += ["splits"] if set(final.splits.values_list("name", flat=True)) != set(wanted.splits) else []
    if changed:
        raise ChallengeError(
            f"{' and '.join(changed)} of phase {wanted.name!r} can't change: its results are final"
        )


def _import_split(
    challenge: Challenge,
    wanted: definition.SplitDefinition,
    files: SplitFiles,
    stored: list[str],
    deleted: Collection[str],
) -> None:
    place = f"splits.{wanted.name}"
    humans = dict(files.humans)
    old = challenge.splits.filter(name=wanted.name).first()
    scoring = {
        "metrics": wanted.metrics,
        "results": wanted.results,
        "image_ids": files.image_ids,
        "least_subset": wanted.least_subset,
    }
    if old is not None:
        changed = [name for name, value in scoring.items() if getattr(old, name) != value]
        subsets = dict(old.subsets.values_list("name", "image_ids"))
        changed += ["subsets"] if subsets != files.subsets else []
        changed += [
            f"images of references {entry.name}"
            for entry in old.reference_sets.order_by("name")
            if entry.part != files.parts.get(entry.name)
        ]
        if changed and Submission.objects.filter(phase__splits=old).exists():
            raise ChallengeError(
                f"{' and '.join(changed)} of split {wanted.name!r} can't change: there are submissions to it"
            )
        if changed:
            # Created again below, and scored with the new settings.
            humans = {**_read_stored_humans(old), **humans}
            _delete_baselines(Submission.objects.filter(baseline_of__split=old))
    links = [link.model_dump() for link in wanted.links]
    columns = wanted.columns.model_dump(exclude_none=True) if wanted.columns else {}
    if old is not None:
        check_order(old, wanted.sort_by, columns)
    _check_subsets(wanted, columns.get("subsets", ()), files.subsets)
    values = {
        **scoring,
        "sort_by": wanted.sort_by,
        "image_url": wanted.image_url,
        "links": links,
        "columns": columns,
    }
    split = upsert(Split.objects, values, challenge=challenge, name=wanted.name)
    if files.images is not None or f"{place}.images" in deleted:
        image_lists.store_images(split, files.images or ())
    if files.image_archive is not None:
        image_archives.store_image_archive(split, files.image_archive, stored)
    elif f"{place}.image_archive" in deleted:
        image_archives.delete_image_archive(split)
    if files.constraints is not None or f"{place}.constraints" in deleted:
        constraints.store_constraints(split, files.constraints or {})
    split.subsets.exclude(name__in=files.subsets).delete()
    for name, members in files.subsets.items():
        Subset.objects.update_or_create(split=split, name=name, defaults={"image_ids": members})
    for entry in wanted.references:
        about = {"public": entry.public, "part": files.parts.get(entry.name)}
        reference_set = upsert(ReferenceSet.objects, about, split=split, name=entry.name)
        if not entry.public:
            _delete_public_only_scores(reference_set)
        if entry.file is not None:
            _import_references(reference_set, entry.file, files.references[entry.name], stored)
        if f"{place}.references.{entry.name}.human" in deleted:
            _delete_baselines(reference_set.baselines.all())
        elif entry.name in humans:
            _import_human(reference_set, humans[entry.name], stored)
        _import_reported(reference_set, entry, files, f"{place}.references.{entry.name}.reported", deleted)


def _import_reported(
    reference_set: ReferenceSet,
    wanted: definition.ReferenceSetDefinition,
    files: SplitFiles,
    place: str,
    deleted: Collection[str],
) -> None:
    """Change the reported scores of a reference set; rows without a file are kept."""
    for reported in reference_set.reported.all():
        if f"{place}.{reported.name}" in deleted:
            reported.delete()
    for found in wanted.reported:
        values: dict[str, Any] = {"title": found.title, "url": found.url, "ranked": found.ranked}
        rows = files.reported.get((wanted.name, found.name))
        if rows is not None:
            values["rows"] = [row.to_stored() for row in rows]
        upsert(Reported.objects, values, reference_set=reference_set, name=found.name)


def _read_stored_humans(split: Split) -> dict[str, bytes]:
    """Return the files of human captions of a split, by the name of their references."""
    found = {}
    baselines = Submission.objects.filter(baseline_of__split=split).select_related("baseline_of")
    for baseline in baselines.prefetch_related("files"):
        for part in baseline.files.all():
            with part.file.open("rb") as file:
                found[baseline.baseline_of.name] = file.read()  # type: ignore[union-attr]
    return found


def keep_reported(
    reference_set: ReferenceSet, name: str, rows: Sequence[ReportedRow], *, title: str, url: str, ranked: bool
) -> None:
    """Upsert externally reported scores; repeating it changes nothing."""
    about = {"title": title, "url": url, "ranked": ranked, "rows": [row.to_stored() for row in rows]}
    upsert(Reported.objects, about, reference_set=reference_set, name=name)


def _delete_public_only_scores(reference_set: ReferenceSet) -> None:
    """Delete scores that only public references have: of images and of small subsets."""
    of_it = Q(result__reference_version__reference_set=reference_set)
    ImageScores.objects.filter(of_it).delete()
    is_small = of_it & ~Q(subset__in=["", *reference_set.scored_subsets()])
    SwappedStatistics.objects.filter(is_small).delete()
    small = Score.objects.filter(is_small)
    found = Submission.objects.filter(pk__in=small.values("result__submission"))
    # Locked in the common order.
    list(found.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk"))
    # New stamps: server processes cache scores by the stamps of their submissions.
    found.update()
    small.delete()


def _import_references(reference_set: ReferenceSet, name: str, data: bytes, stored: list[str]) -> None:
    digest = hashlib.sha256(data).hexdigest()
    current = reference_set.versions.filter(number=reference_set.version).first()
    if current is not None and current.sha256 == digest:
        return
    reference_set.version += 1
    version = ReferenceVersion(reference_set=reference_set, number=reference_set.version, sha256=digest)
    file_name = f"{uuid.uuid4()}{''.join(Path(name).suffixes)}"
    # Noted first, so that a partially written file is also deleted.
    stored.append(f"references/{file_name}")
    version.file.save(file_name, ContentFile(data), save=False)
    version.save()
    reference_set.save(update_fields=["version"])
    lifecycle.rescore(Submission.objects.filter(phase__splits=reference_set.split))
    lifecycle.rescore(reference_set.baselines.all())


def _import_human(reference_set: ReferenceSet, data: bytes, stored: list[str]) -> None:
    """Replace the human baseline, unless it is unchanged."""
    digest = hashlib.sha256(data).hexdigest()
    if reference_set.baselines.filter(sha256=digest).exists():
        return
    _delete_baselines(reference_set.baselines.all())
    made = Submission(baseline_of=reference_set, algorithm="human", sha256=digest)
    lifecycle.add(made)
    part = SubmissionFile(submission=made, split=reference_set.split)
    file_name = f"{made.pk}-{reference_set.split.name}.json"
    stored.append(f"submissions/{file_name}")
    part.file.save(file_name, ContentFile(data), save=False)
    part.save()


def _delete_baselines(baselines: QuerySet[Submission]) -> None:
    """Delete human baselines.

    A worker that scores one of them finds it missing and writes nothing.
    """
    for baseline in baselines.select_for_update(of=("self",), no_key=True).order_by("pk"):
        for part in baseline.files.all():
            transaction.on_commit(partial(default_storage.delete, str(part.file)))
        lifecycle.delete_baseline(baseline)


def publish(reference_set: ReferenceSet, name: str, data: bytes) -> None:
    """Publish a file as the current version of its reference set, and score again.

    The caller checks that the references cover the split's images, and locks the rows.

    Raises:
        OSError: The file can't be stored.
    """
    with delete_files_on_error() as stored, transaction.atomic():
        _import_references(reference_set, name, data, stored)
