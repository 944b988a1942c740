"""Making the rows of a challenge what its files say: the same files again change nothing."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet

import capeval
from capeval.formats import load_subsets
from capeval.formats.constraints import ImageConstraints, load_constraints
from capeval.formats.images import ImageInfo, load_images
from capeval.messages import first_few, id_types, images_problem
from capeval.metrics import METRICS
from capeval.types import ImageId
from capeval_server.challenges import constraints, definition, image_lists
from capeval_server.challenges.locking import lock_references, put
from capeval_server.challenges.models import (
    Challenge,
    Phase,
    ReferenceSet,
    ReferenceVersion,
    Reported,
    Split,
    Subset,
)
from capeval_server.challenges.reported import ReportedRow, read_reported
from capeval_server.errors import ChallengeError, UploadError
from capeval_server.submissions import lifecycle
from capeval_server.submissions.models import ImageScores, Score, Submission, SubmissionFile
from capeval_server.submissions.uploads import check_results
from capeval_server.teams.joining import approve_all

__all__ = [
    "Files",
    "change_challenge",
    "check_images",
    "keep_reported",
    "publish",
    "read_files",
    "taking_back",
]

Read = Callable[[str], tuple[str, bytes]]


@dataclass(frozen=True, kw_only=True)
class Files:
    """What the files of a split hold.

    Attributes:
        image_ids: The images of the split.
        images: What is known of them, in their order; nothing where no file says it.
        constraints: What captions of each image shall mention; nothing where no file says it.
        references: The bytes of each file of references, by its name.
        parts: The images of the references that are of a part of the split, by their name.
        humans: The bytes of the human captions, by the name of the references.
        reported: What was reported elsewhere: its rows, by the name of the references and its own.
        subsets: The images of each subset.
    """

    image_ids: list[int] | list[str]
    images: list[ImageInfo]
    constraints: dict[ImageId, ImageConstraints]
    references: dict[str, bytes]
    parts: dict[str, list[ImageId]]
    humans: dict[str, bytes]
    reported: dict[tuple[str, str], list[ReportedRow]]
    subsets: dict[str, list[int | str]]


@contextmanager
def taking_back() -> Iterator[list[str]]:
    """A list for the names of files that are stored: if an error ends it, they are deleted."""
    stored: list[str] = []
    try:
        yield stored
    except BaseException:
        for name in stored:
            default_storage.delete(name)
        raise


def read_files(read: Read, wanted: definition.Definition) -> dict[str, Files]:
    """The files of each split of a definition.

    Args:
        read: Gives a file that the definition names: what errors call it, and its bytes.
        wanted: The definition.

    Raises:
        ChallengeError: Files do not go together.
        FormatError: A file of references or subsets is wrong.
        OSError: A file can't be read.
    """
    return {split.name: _read(read, split) for split in wanted.splits}


def _read(read: Read, split: definition.Split) -> Files:
    _check_resources(split)
    references = {}
    parts: dict[str, list[ImageId]] = {}
    ids: list[ImageId] = []
    # Those of all images first: they say what the split's images are.
    for entry in sorted(split.references, key=lambda entry: entry.partial):
        name, data = read(entry.file)
        found = capeval.load_references(data, name=name)
        ids = ids or list(found.image_ids)
        if entry.partial:
            parts[entry.name] = _part(name, found.image_ids, ids, split.name)
        else:
            check_images(name, found.image_ids, ids, f"split {split.name!r}")
        references[entry.name] = data
    images = _read_images(read, split, ids)
    humans = {
        entry.name: _read_human(read, entry.human, split, parts.get(entry.name, ids))
        for entry in split.references
        if entry.human
    }
    reported = {
        (entry.name, found.name): read_reported(*read(found.file), split.score_names)[0]
        for entry in split.references
        for found in entry.reported
    }
    subsets: dict[str, list[ImageId]] = {}
    if split.subsets:
        name, data = read(split.subsets)
        subsets = load_subsets(data, name=name)
    for subset, members in subsets.items():
        unknown = set(members) - set(ids)
        if unknown:
            named = sorted(unknown, key=str)[0]
            raise ChallengeError(
                f"{split.subsets}: subset {subset!r} must have images of split {split.name!r} (got {named!r})"
            )
    return Files(
        image_ids=ids,  # type: ignore[arg-type]
        images=images,
        constraints=_read_constraints(read, split, ids),
        references=references,
        parts=parts,
        humans=humans,
        reported=reported,
        subsets=subsets,
    )


def _read_images(read: Read, split: definition.Split, ids: Sequence[ImageId]) -> list[ImageInfo]:
    """What is known of the images of a split, in their order; nothing where no file says it."""
    if split.images is None:
        return []
    name, data = read(split.images)
    found = {image.id: image for image in load_images(data, name=name)}
    problem = images_problem(found, ids, f"split {split.name!r}", "an entry in the list")
    if problem:
        raise ChallengeError(f"{name}: {problem}")
    return [found[image] for image in ids]


def _read_constraints(
    read: Read, split: definition.Split, ids: Sequence[ImageId]
) -> dict[ImageId, ImageConstraints]:
    """What captions of images of a split shall mention; nothing where no file says it."""
    if split.constraints is None:
        return {}
    name, data = read(split.constraints)
    found = load_constraints(data, name=name)
    if unknown := sorted(set(found) - set(ids), key=str):
        types = id_types(unknown[0], ids[0])
        raise ChallengeError(f"{name}: {first_few(unknown)} not of split {split.name!r}{types}")
    return found


def _part(name: str, found: Sequence[ImageId], images: Sequence[ImageId], split: str) -> list[ImageId]:
    """The images of references that are of a part of a split, in the order of the split's."""
    covered = set(found)
    if unknown := sorted(covered - set(images), key=str):
        types = id_types(unknown[0], images[0])
        raise ChallengeError(f"{name}: {first_few(unknown)} not of split {split!r}{types}")
    return [image for image in images if image in covered]


def _check_resources(split: definition.Split) -> None:
    """Refuses a metric that could not score here."""
    for metric in split.metrics:
        for resource in METRICS[metric]().needs:
            if resource.by_command and resource.found() is None:
                raise ChallengeError(
                    f"metric {metric!r} of split {split.name!r} needs {resource.name}, which is missing on"
                    f" this server: {resource.install}"
                )


def check_images(name: str, found: Sequence[ImageId], images: Sequence[ImageId], whose: str) -> None:
    """Checks that references are of the images of a split, or of those of an earlier version.

    Args:
        name: What errors call the file of references.
        found: Its images.
        images: The images that it must have references of.
        whose: What errors call those images.

    Raises:
        ChallengeError: They are not.
    """
    problem = images_problem(found, images, whose, "references")
    if problem:
        raise ChallengeError(f"{name}: {problem}")


def _read_human(read: Read, name: str, split: definition.Split, images: Sequence[ImageId]) -> bytes:
    _, data = read(name)
    try:
        check_results(name, data, split.name, images)
    except UploadError as error:
        raise ChallengeError(str(error)) from None
    return data


def change_challenge(wanted: definition.Definition, files: dict[str, Files], stored: list[str]) -> Challenge:
    """Makes a challenge what its definition and files say, in a transaction of the caller's.

    Args:
        wanted: The definition.
        files: The files of its splits.
        stored: Gets the names of the files that are stored, which the caller takes back if all is undone.

    Raises:
        ChallengeError: They remove what submissions depend on.
        OSError: A file can't be stored.
    """
    about = wanted.challenge
    # Before anything else, as workers do.
    lock_references(ReferenceSet.objects.filter(split__challenge__slug=about.slug))
    challenge = put(
        Challenge.objects,
        {
            "title": about.title,
            "description": about.description,
            "rules": about.rules,
            "data": about.data,
            "faq": about.faq,
            "contact": about.contact,
            "fields": [field.model_dump() for field in about.fields],
            "approval": about.approval,
        },
        slug=about.slug,
    )
    if not about.approval:
        approve_all(challenge)
    _refuse_removal("splits", challenge.splits, {split.name for split in wanted.splits})
    _refuse_removal("phases", challenge.phases, {phase.name for phase in wanted.phases})
    for split in wanted.splits:
        _import_split(challenge, split, files[split.name], stored)
    for phase in wanted.phases:
        values = phase.model_dump(exclude={"name", "splits"})
        _check_final(challenge, phase)
        made = put(Phase.objects, values, challenge=challenge, name=phase.name)
        names = set(made.splits.values_list("name", flat=True))
        if names != set(phase.splits) and made.submissions.exists():
            raise ChallengeError(f"splits of phase {phase.name!r} can't change: it has submissions")
        made.splits.set(challenge.splits.filter(name__in=phase.splits))
    return challenge


def _check_final(challenge: Challenge, wanted: definition.Phase) -> None:
    final = challenge.phases.filter(name=wanted.name, final__isnull=False).first()
    if final is not None and (final.opens, final.closes) != (wanted.opens, wanted.closes):
        raise ChallengeError(f"the times of phase {wanted.name!r} can't change: its results are final")


def _refuse_removal(what: str, there: object, wanted: set[str]) -> None:
    gone = set(there.values_list("name", flat=True)) - wanted  # type: ignore[attr-defined]
    if gone:
        raise ChallengeError(f"{what} can't be removed from a challenge (missing: {', '.join(sorted(gone))})")


def _import_split(challenge: Challenge, wanted: definition.Split, files: Files, stored: list[str]) -> None:
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
            if entry.part != files.parts.get(entry.name) and entry.name in files.references
        ]
        if changed and Submission.objects.filter(phase__splits=old).exists():
            raise ChallengeError(
                f"{' and '.join(changed)} of split {wanted.name!r} can't change: there are submissions to it"
            )
        if changed:
            # They are made again below, and scored with the new settings.
            _delete(Submission.objects.filter(baseline_of__split=old))
    links = [link.model_dump() for link in wanted.links]
    values = {**scoring, "sort_by": wanted.sort_by, "image_url": wanted.image_url, "links": links}
    split = put(Split.objects, values, challenge=challenge, name=wanted.name)
    image_lists.keep(split, files.images)
    constraints.keep(split, files.constraints)
    split.subsets.exclude(name__in=files.subsets).delete()
    for name, members in files.subsets.items():
        Subset.objects.update_or_create(split=split, name=name, defaults={"image_ids": members})
    _refuse_removal("references", split.reference_sets, {entry.name for entry in wanted.references})
    for entry in wanted.references:
        about = {"public": entry.public, "part": files.parts.get(entry.name)}
        reference_set = put(ReferenceSet.objects, about, split=split, name=entry.name)
        if not entry.public:
            _delete_what_is_public_only(reference_set)
        _import_references(reference_set, entry.file, files.references[entry.name], stored)
        _import_human(reference_set, files.humans.get(entry.name), stored)
        reference_set.reported.exclude(name__in=[found.name for found in entry.reported]).delete()
        for found in entry.reported:
            keep_reported(
                reference_set,
                found.name,
                files.reported[entry.name, found.name],
                title=found.title,
                url=found.url,
                ranked=found.ranked,
            )


def keep_reported(
    reference_set: ReferenceSet, name: str, rows: Sequence[ReportedRow], *, title: str, url: str, ranked: bool
) -> None:
    """Makes what was reported elsewhere under a name what is given; the same again changes nothing."""
    about = {"title": title, "url": url, "ranked": ranked, "rows": [asdict(row) for row in rows]}
    put(Reported.objects, about, reference_set=reference_set, name=name)


def _delete_what_is_public_only(reference_set: ReferenceSet) -> None:
    """Deletes the scores that private references don't give: of images, and of small subsets."""
    ImageScores.objects.filter(result__reference_version__reference_set=reference_set).delete()
    scores = Score.objects.filter(result__reference_version__reference_set=reference_set)
    small = scores.exclude(subset__in=["", *reference_set.scored_subsets()])
    found = Submission.objects.filter(pk__in=small.values("result__submission"))
    # In the common order of locks.
    list(found.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk"))
    # With new stamps: processes of the server know scores by the stamps of their submissions.
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
    # Noted first, so that a file half written is taken away too.
    stored.append(f"references/{file_name}")
    version.file.save(file_name, ContentFile(data), save=False)
    version.save()
    reference_set.save(update_fields=["version"])
    lifecycle.rescore(Submission.objects.filter(phase__splits=reference_set.split))
    lifecycle.rescore(reference_set.baselines.all())


def _import_human(reference_set: ReferenceSet, data: bytes | None, stored: list[str]) -> None:
    """Makes the human baseline what the file says now; no file, no baseline."""
    if data is None:
        _delete(reference_set.baselines.all())
        return
    digest = hashlib.sha256(data).hexdigest()
    if reference_set.baselines.filter(sha256=digest).exists():
        return
    _delete(reference_set.baselines.all())
    made = Submission(baseline_of=reference_set, algorithm="human", sha256=digest)
    lifecycle.add(made)
    part = SubmissionFile(submission=made, split=reference_set.split)
    file_name = f"{made.pk}-{reference_set.split.name}.json"
    stored.append(f"submissions/{file_name}")
    part.file.save(file_name, ContentFile(data), save=False)
    part.save()


def _delete(baselines: QuerySet[Submission]) -> None:
    """Deletes human baselines. A worker that scores one finds it gone, and writes nothing."""
    for baseline in baselines.select_for_update(of=("self",), no_key=True).order_by("pk"):
        for part in baseline.files.all():
            transaction.on_commit(partial(default_storage.delete, str(part.file)))
        lifecycle.delete_baseline(baseline)


def publish(reference_set: ReferenceSet, name: str, data: bytes) -> None:
    """Makes references the version of their set that counts, and has what was submitted scored again.

    That they are of the split's images is the caller's to check, and to lock what there is.

    Raises:
        OSError: The file can't be stored.
    """
    with taking_back() as stored, transaction.atomic():
        _import_references(reference_set, name, data, stored)
