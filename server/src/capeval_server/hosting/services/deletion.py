"""Deletion of a challenge with everything in it but its campaigns, after an export."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet

from capeval_server.audit.models import Action, Export, record
from capeval_server.challenges.models import Challenge, ImageArchive, ReferenceVersion
from capeval_server.challenges.services.locks import lock_challenge
from capeval_server.core.errors import ConflictError
from capeval_server.hosting.jobs import DOWNLOADED, REQUESTED
from capeval_server.jobs import leases
from capeval_server.submissions.models import UNFINISHED, FinalBoard, Submission, SubmissionFile
from capeval_server.submissions.services.lifecycle import SCORING

__all__ = ["delete_challenge", "find_obstacles", "list_unclosed_campaigns"]


def find_obstacles(challenge: Challenge, export: Export | None) -> list[str]:
    """Return the reasons why organizers can't delete a challenge now.

    They must have downloaded an export, and nothing may have changed since it was requested.

    Args:
        challenge: The challenge.
        export: Its export, if there is one.
    """
    # In the order in which they are resolved: an export is prepared last.
    unfinished = _filter_submissions(challenge).filter(state__in=UNFINISHED).exists()
    found = [
        list_unclosed_campaigns(challenge),
        "submissions are not scored yet: wait for their scores" if unfinished else "",
        _find_export_obstacle(challenge, export),
    ]
    return [obstacle for obstacle in found if obstacle]


def _find_export_obstacle(challenge: Challenge, export: Export | None) -> str:
    if export is not None and export.state == Export.State.WAITING:
        return "the export is being prepared: download it once it is ready"
    if export is None or export.state != Export.State.READY:
        return "there is no export: prepare one and download it"
    if _has_changed(challenge, export.created):
        return "the challenge changed after the export was prepared: prepare and download another one"
    if not Action.objects.filter(challenge=challenge, time__gt=export.created, what=DOWNLOADED).exists():
        return "nobody has downloaded the export"
    return ""


def list_unclosed_campaigns(challenge: Challenge) -> str:
    """Return the campaigns with possible work as the reason why a challenge can't be deleted, or ""."""
    states = challenge.campaigns.model.State
    campaigns = challenge.campaigns.exclude(state__in=(states.DRAFT, states.CLOSED)).order_by("slug")
    names = ", ".join(campaigns.values_list("slug", flat=True))
    return f"close these campaigns first: {names}" if names else ""


def _has_changed(challenge: Challenge, since: datetime) -> bool:
    """Return whether a submission was sent or scored, or an organizer changed anything."""
    sent = _filter_submissions(challenge).filter(Q(created__gt=since) | Q(finished__gt=since))
    done = Action.objects.filter(challenge=challenge, time__gt=since)
    return (
        sent.exclude(state=Submission.State.WITHDRAWN).exists()
        or done.exclude(what__in=(DOWNLOADED, REQUESTED)).exists()
    )


def delete_challenge(
    user: User | None, challenge: Challenge, name: str, *, exported: datetime | None = None
) -> None:
    """Delete a challenge with its teams, submissions, scores and files. This can't be undone.

    Its campaigns are kept with their answers and releases, and its organizers still manage them.

    Args:
        user: The actor; None for the command line.
        challenge: The challenge.
        name: The name of the challenge, as a confirmation.
        exported: The time when the caller began to write an export; None if organizers downloaded one.

    Raises:
        ConflictError: The name is wrong, or the challenge can't be deleted; the message lists all reasons.
    """
    if name != challenge.slug:
        raise ConflictError(f"to confirm, enter the name of the challenge, {challenge.slug!r} (got {name!r})")
    with lock_challenge(challenge) as now:
        if exported is None:
            obstacles = find_obstacles(now, Export.objects.filter(challenge=now).first())
        else:
            changed = "it changed during the export" if _has_changed(now, exported) else ""
            obstacles = [obstacle for obstacle in (list_unclosed_campaigns(now), changed) if obstacle]
        if obstacles:
            raise ConflictError(f"the challenge can't be deleted: {'; '.join(obstacles)}")
        _detach_campaigns(now)
        for file in _list_stored(now):
            transaction.on_commit(partial(default_storage.delete, file))
        submissions = _filter_submissions(now)
        for key in submissions.values_list("pk", flat=True):
            leases.cancel(SCORING, str(key))
        # In this order, because submissions protect what they refer to.
        FinalBoard.objects.filter(phase__challenge=now).delete()
        submissions.delete()
        record(user, None, f"deleted the challenge {now.slug}")
        now.delete()


def _detach_campaigns(challenge: Challenge) -> None:
    organizers = list(challenge.organizers.all())
    for campaign in challenge.campaigns.all():
        campaign.organizers.add(*organizers)
    challenge.campaigns.update(challenge=None)


def _filter_submissions(challenge: Challenge) -> QuerySet[Submission]:
    return Submission.objects.filter(
        Q(phase__challenge=challenge) | Q(baseline_of__split__challenge=challenge)
    )


def _list_stored(challenge: Challenge) -> list[str]:
    files = SubmissionFile.objects.filter(submission__in=_filter_submissions(challenge).values("pk"))
    versions = ReferenceVersion.objects.filter(reference_set__split__challenge=challenge)
    found = [*files.values_list("file", flat=True), *versions.values_list("file", flat=True)]
    found += challenge.pictures.values_list("file", flat=True)
    archives = ImageArchive.objects.filter(split__challenge=challenge)
    found += archives.values_list("file", flat=True)
    found += [export.file for export in Export.objects.filter(challenge=challenge)]
    return [str(name) for name in found]
