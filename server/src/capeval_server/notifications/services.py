"""Notifications by mail and webhook, written in the transaction of the event."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from capeval_server.audit.models import record
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import ChallengeError
from capeval_server.core.site_address import get_site_address
from capeval_server.notifications.models import (
    Announcement,
    CampaignTold,
    Delivery,
    Mail,
    PhaseTold,
    Preferences,
    Told,
    Webhook,
)
from capeval_server.submissions.models import Submission
from capeval_server.submissions.selectors.method_names import name_method
from capeval_server.submissions.services.standing import is_automatic, is_settled
from capeval_server.teams.models import Membership

__all__ = [
    "LONGEST_TEXT",
    "LONGEST_TITLE",
    "CampaignAlert",
    "announce",
    "delete_announcement",
    "notify_approval",
    "notify_campaign",
    "notify_outcome",
    "notify_phases",
]

LONGEST_TITLE, LONGEST_TEXT = 200, 10_000
# A phase is about to close this long before its end. Openings and publications are notified for as long.
_SOON = timedelta(days=1)
_PUBLIC, _UNLISTED = Challenge.Visibility.PUBLIC, Challenge.Visibility.UNLISTED
_Kind = Literal["submissions", "phases", "announcements", "campaigns"]


@dataclass(frozen=True, kw_only=True)
class CampaignAlert:
    """Current condition of an annotation campaign, for its managers.

    Attributes:
        slug: Name of the campaign.
        title: Its title.
        challenge: Its challenge, if any. The webhooks of both receive the event.
        managers: The users who receive mail.
        condition: Condition, such as paused; empty if there is nothing to notify.
        text: Description of the condition.
        about: Further fields of the event.
    """

    slug: str
    title: str
    challenge: Challenge | None
    managers: Iterable[User]
    condition: str
    text: str
    about: Mapping[str, Any]


def announce(user: User | None, challenge: Challenge, title: str, text: str) -> Announcement:
    """Publish an announcement on a challenge's page, and mail it to all participants.

    Participants can't see a draft, so nothing is mailed about it.

    Raises:
        ChallengeError: The title or the text is missing or too long.
    """
    title, text = " ".join(title.split()), text.strip().replace("\r\n", "\n")
    for name, given, longest in (("title", title, LONGEST_TITLE), ("text", text, LONGEST_TEXT)):
        if not 0 < len(given) <= longest or "\0" in given:
            raise ChallengeError(f"{name!r} must be a text of 1 to {longest:,} characters")
    with transaction.atomic():
        made = Announcement.objects.create(challenge=challenge, title=title, text=text)
        place = get_site_address() + reverse("announcements", args=[challenge.slug])
        _queue_mail(
            _list_participants(challenge),
            "announcements",
            f"{challenge.title}: {title}",
            f"{text}\n\n{place}",
        )
        _queue_deliveries(challenge, "announcement", {"title": title, "text": text})
        record(user, challenge, f"announced: {title}")
    return made


def delete_announcement(user: User, announcement: Announcement) -> None:
    """Remove an announcement from the challenge's page. Sent mail is not recalled."""
    with transaction.atomic():
        record(user, announcement.challenge, f"took back the announcement: {announcement.title}")
        announcement.delete()


def notify_approval(*, membership: Membership, **_: object) -> None:
    """Notify a user that an organizer approved them."""
    challenge = membership.challenge
    if challenge.visibility == Challenge.Visibility.DRAFT:
        return
    place = get_site_address() + reverse("team", args=[challenge.slug])
    text = f"The organizers of {challenge.title} approved you. You can submit from the page below."
    subject = f"{challenge.title}: you are approved"
    _queue_mail([membership.user], None, subject, f"{text}\n\n{place}")


def notify_outcome(*, submission: Submission, **_: object) -> None:
    """Notify a user that their submission was scored or failed, unless already done."""
    phase, user = submission.phase, submission.user
    before = Told.objects.filter(submission=submission).first()
    if phase is None or (before is not None and before.state == submission.state):
        return
    Told.objects.update_or_create(submission=submission, defaults={"state": submission.state})
    place = get_site_address() + reverse("submission", args=[submission.pk])
    title = phase.challenge.title
    ends = _ENDS[submission.state]
    members = _list_participants(phase.challenge).filter(memberships__team=submission.team_id)
    if user is not None and members.filter(pk=user.pk).exists():
        why = f": {submission.reason}" if submission.reason else ""
        method = name_method(submission, phase.challenge)
        text = f"Your submission {method} to phase {phase.name} {ends}{why}."
        text += _describe_next_step(phase, submission)
        _queue_mail([user], "submissions", f"{title}: {method} {ends}", f"{text}\n\n{place}")
    about = {
        "id": str(submission.pk),
        "phase": phase.name,
        "team": submission.entrant,
        "algorithm": submission.algorithm,
        "state": submission.state,
        "url": place,
    }
    _queue_deliveries(phase.challenge, f"submission.{submission.state}", {"submission": about})


def _describe_next_step(phase: Phase, submission: Submission) -> str:
    """Return the next step of a team with a submission that was scored or failed."""
    if submission.state != Submission.State.SCORED:
        return (
            " It is not on the leaderboard. Correct the file and submit it again."
            if submission.reason
            else ""
        )
    siblings = Submission.objects.filter(team=submission.team_id, phase=phase)
    automatic = is_automatic(phase, siblings)
    if phase.withholds_scores:
        most = phase.final_submissions
        latest = f"{most} submissions count" if most > 1 else "one counts"
        default = f" Until your team chooses, its latest {latest}." if automatic else ""
        return (
            f" The organizers publish the scores later. {_describe_choice(phase)} on the page below.{default}"
        )
    if submission.stands:
        return " It is on the leaderboard."
    if is_settled(phase):
        return " It is not on the leaderboard, which can't change any more."
    if automatic:
        return " Another submission of your team has a better score and stays on the leaderboard."
    return " It is not on the leaderboard. To put it there, choose it on the page below."


def _describe_choice(phase: Phase) -> str:
    """Return the beginning of a sentence on the choice of final submissions."""
    most = phase.final_submissions
    return f"Your team may choose {most} submission{'' if most == 1 else 's'} for the final results"


_ENDS: dict[str, str] = {Submission.State.SCORED: "was scored", Submission.State.FAILED: "failed"}


def notify_phases() -> None:
    """Notify participants of phases that opened, are about to close, or have published results."""
    now = timezone.now()
    opened = Phase.objects.filter(opens__lte=now, opens__gt=now - _SOON, closes__gt=now)
    closing = Phase.objects.filter(closes__gt=now, closes__lte=now + _SOON, opens__lte=now)
    published = Phase.objects.filter(blind=True, published__gt=now - _SOON)
    for what, phases in (("opened", opened), ("closing", closing), ("published", published)):
        # Nobody takes part in drafts and archived challenges.
        phases = phases.filter(challenge__visibility__in=(_PUBLIC, _UNLISTED))
        for phase in phases.select_related("challenge").order_by("pk"):
            _notify_phase(phase, what)


def _notify_phase(phase: Phase, what: str) -> None:
    time = {"opened": phase.opens, "published": phase.published}.get(what) or phase.closes
    with transaction.atomic():
        _, new = PhaseTold.objects.get_or_create(phase=phase, what=what, time=time)
        if not new:
            return
        said = {"opened": "is open", "closing": "closes soon", "published": "has published results"}[what]
        slug, text = phase.challenge.slug, f"Phase {phase.name} of {phase.challenge.title} {said}:"
        if what == "published":
            text += " the scores of your team's submissions are on the page below."
            page = f"{reverse('submissions', args=[slug])}?phase={phase.name}"
        else:
            text += f" it accepts submissions until {_format_utc(phase)}."
            if what == "closing" and phase.withholds_scores:
                text += f" {_describe_choice(phase)}."
            page = reverse("submit", args=[slug, phase.name])
        place = get_site_address() + page
        subject = f"{phase.challenge.title}: phase {phase.name} {said}"
        _queue_mail(_list_participants(phase.challenge), "phases", subject, f"{text}\n\n{place}")
        times = {"opens": phase.opens.isoformat(), "closes": phase.closes.isoformat()}
        _queue_deliveries(phase.challenge, f"phase.{what}", {"phase": {"name": phase.name, **times}})


def notify_campaign(alert: CampaignAlert) -> bool:
    """Notify the managers of a campaign of its condition, unless it is the one that was notified last.

    Returns:
        Whether a notification was queued.
    """
    with transaction.atomic():
        told = CampaignTold.objects.select_for_update().filter(slug=alert.slug).first()
        if alert.condition == (told.condition if told else ""):
            return False
        CampaignTold.objects.update_or_create(slug=alert.slug, defaults={"condition": alert.condition})
        if not alert.condition:
            return False
        place = get_site_address() + reverse("campaign", args=[alert.slug])
        subject = f"{alert.title}: the campaign is {alert.condition}"
        _queue_mail(alert.managers, "campaigns", subject, f"{alert.text}\n\n{place}")
        about = {"name": alert.slug, "title": alert.title, **alert.about, "url": place}
        content = {"campaign": about}
        _queue_deliveries(alert.challenge, f"campaign.{alert.condition}", content, campaign=alert.slug)
    return True


def _format_utc(phase: Phase) -> str:
    return f"{phase.closes:%Y-%m-%d %H:%M} UTC"


def _list_participants(challenge: Challenge) -> QuerySet[User]:
    """Return the participants with access to a challenge: none for a draft."""
    if challenge.visibility == Challenge.Visibility.DRAFT:
        return User.objects.none()
    return User.objects.filter(memberships__challenge=challenge)


def _queue_mail(users: Iterable[User], kind: _Kind | None, subject: str, text: str) -> None:
    """Queue a mail to users with a verified address, by their preferences if they can choose its kind."""
    keys = [user.pk for user in users if user.is_active]
    unwanted: Iterable[int] = ()
    if kind is not None:
        unwanted = Preferences.objects.filter(user__in=keys, **{kind: False}).values_list("user", flat=True)
    known = EmailAddress.objects.filter(user__in=keys, primary=True, verified=True)
    wanted = sorted(set(known.values_list("user", flat=True)) - set(unwanted))
    Mail.objects.bulk_create(Mail(user_id=pk, subject=subject[:300], text=text) for pk in wanted)


def _queue_deliveries(
    challenge: Challenge | None, event: str, content: dict[str, Any], *, campaign: str = ""
) -> None:
    """Queue an event for all webhooks of a challenge, and those of a campaign.

    The event has no challenge if the campaign has none.
    """
    about = {"event": event, "challenge": challenge.slug if challenge else None}
    body = json.dumps({**about, "time": timezone.now().isoformat(), **content}, ensure_ascii=False)
    hooks = list(Webhook.objects.filter(challenge=challenge)) if challenge else []
    hooks += Webhook.objects.filter(campaign=campaign) if campaign else []
    Delivery.objects.bulk_create(Delivery(webhook=hook, event=event, body=body) for hook in hooks)
