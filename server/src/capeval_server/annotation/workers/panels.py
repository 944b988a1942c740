"""Panels that send workers: signed or unsigned ids, sessions, and end codes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.utils.translation import gettext
from pydantic import ValidationError

from capeval_server.annotation.core.departures import check_may_enroll, check_not_withdrawn
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.models import Campaign, Identity, Panel, Participation, Session, Worker
from capeval_server.annotation.workers import external_questions
from capeval_server.annotation.workers.admission import check_admission
from capeval_server.annotation.workers.panel_settings import PanelSettings, Signature, describe_conditions
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError, EntryError, NotFoundError
from capeval_server.core.validation_problems import list_problems
from capeval_server.jobs.leases import database_time

__all__ = [
    "PREFIX",
    "Frame",
    "PanelSettings",
    "SessionEnd",
    "Signature",
    "describe_conditions",
    "end",
    "enter",
    "find_frame",
    "find_settings",
    "frame_token_of",
    "get_entered",
    "get_session_end",
    "is_submitted",
    "open_session",
    "panel_settings",
    "remaining_answers",
    "set_panel",
    "token_of",
]

# Prefix of the tokens that identify panel workers, instead of invite tokens.
PREFIX = "panel_"
_SALT = "annotation.panels"
_TOKEN_SECONDS = 180 * 86_400
_LONGEST_ID = 200
_LONGEST_TOKEN = 8000
_ALGORITHM = "RS256"
_Outcome = Session.Outcome


@dataclass(frozen=True, kw_only=True)
class SessionEnd:
    """The end of a worker's session.

    Attributes:
        outcome: Outcome of the session.
        text: Description of the outcome for the worker; untranslated.
        code: End code, which the worker enters on the panel's page.
        address: URL of the panel to which the worker returns; empty if it has none.
    """

    outcome: str
    text: str
    code: str
    address: str


def set_panel(user: User | None, campaign: Campaign, content: Mapping[str, Any]) -> PanelSettings:
    """Set the panel of a campaign.

    End codes that were generated before are kept unless the settings contain others.

    Raises:
        CampaignError: The settings are invalid.
    """
    with held(campaign) as now:
        before = Panel.objects.filter(campaign=now).first()
        try:
            wanted = PanelSettings.model_validate(content)
            kept = before.settings["codes"] if before else {}
            drawn = {name: _generate_code() for name in _Outcome.values}
            codes = {**drawn, **kept, **wanted.codes}
            made = PanelSettings.model_validate({**wanted.model_dump(), "codes": codes})
        except ValidationError as error:
            raise CampaignError("; ".join(list_problems(error, "panel"))) from None
        Panel.objects.update_or_create(campaign=now, defaults={"settings": made.model_dump()})
        signed = "signed" if made.signed else "unverified"
        record(user, now.challenge, f"set the panel {made.name} ({signed}) of the campaign {now.slug}")
    return made


def _generate_code() -> str:
    # Letters and digits that look alike are omitted.
    return "C" + "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(9))


def panel_settings(campaign: Campaign) -> PanelSettings:
    """Return the settings of the panel of a campaign.

    Raises:
        NotFoundError: The campaign has no panel.
    """
    found = find_settings(campaign)
    if found is None:
        raise NotFoundError("the campaign has no panel")
    return found


def find_settings(campaign: Campaign) -> PanelSettings | None:
    """Return the settings of the panel of a campaign; None if it has no panel."""
    found = Panel.objects.filter(campaign=campaign).first()
    return PanelSettings.model_validate(found.settings) if found else None


def enter(campaign: Campaign, query: Mapping[str, str]) -> Participation:
    """Return the participation of a worker from a panel; create it if needed.

    The same panel id always belongs to the same worker.

    Args:
        campaign: The campaign.
        query: The query parameters of the URL.

    Raises:
        NotFoundError: The campaign has no panel, or is not open yet.
        EntryError: Parameters of the panel are missing or invalid, or lack the required signature.
        AssignmentError: The worker has withdrawn from the campaign, or it is only open to others.
    """
    settings = panel_settings(campaign)
    if campaign.state == Campaign.State.DRAFT:
        raise NotFoundError
    if settings.external_question is not None:
        if query.get(settings.session) == external_questions.PREVIEW:
            raise EntryError(gettext("this is a preview: accept the HIT to work on it"))
        external_questions.check_submit_origin(query.get("turkSubmitTo", ""))
    participant, study, session = _read_ids(settings, query)
    if settings.studies and study not in settings.studies:
        raise EntryError(gettext("this link belongs to a study that is not part of this campaign"))
    check_may_enroll(campaign, f"panel {settings.name} {participant}")
    whose = {"worker__identities__panel": settings.name, "worker__identities__panel_id": participant}
    check_admission(campaign, "panel", campaign.participations.filter(**whose).first())
    with transaction.atomic():
        # The lock serializes simultaneous requests of the same worker.
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        identity = Identity.objects.filter(panel=settings.name, panel_id=participant).first()
        if identity is None:
            worker = Worker.objects.create()
            identity = Identity.objects.create(worker=worker, panel=settings.name, panel_id=participant)
        found, _ = Participation.objects.get_or_create(worker=identity.worker, campaign=campaign)
        if settings.external_question is not None:
            _reopen(found, session)
        found.sessions.get_or_create(
            session=session,
            defaults={
                "study": study,
                "verified": settings.signed is not None,
                "entered": database_time(),
                "answered_before": found.answered,
            },
        )
    found.worker, found.campaign = identity.worker, campaign
    return found


def _reopen(participation: Participation, session: str) -> None:
    """Prepare a worker's session that a later one interrupted, so that it can become the latest.

    Workers can accept several assignments, and open them in any order.

    Raises:
        EntryError: The session has answers. They stay in it, but it can't be completed.
    """
    known = participation.sessions.filter(session=session, outcome="").first()
    later = participation.sessions.filter(pk__gt=known.pk).order_by("pk").first() if known else None
    if known is None or later is None:
        return
    if number := later.answered_before - known.answered_before:
        text = gettext(
            "you opened another assignment of this task before you completed this one: please return this"
            " HIT; your answers ({number}) are stored, and the requester can pay them as a bonus"
        )
        raise EntryError(text.format(number=number))
    known.delete()


def _read_ids(settings: PanelSettings, query: Mapping[str, str]) -> tuple[str, str, str]:
    names = (settings.participant, settings.study, settings.session)
    given: Mapping[str, Any] = query
    if settings.signed is not None:
        given = _decode_claims(settings.signed, query.get(settings.signed.parameter, ""))
        if any(name in query and query[name] != given.get(name) for name in names):
            raise EntryError(gettext("the parameters of the link don't match its signature"))
    for name in names:
        if not _is_id(given.get(name)):
            text = gettext("the link must have a valid {name}: please start again from the panel's page")
            raise EntryError(text.format(name=repr(name)))
    first, second, third = (str(given[name]) for name in names)
    return first, second, third


def _is_id(value: object) -> bool:
    """Return whether a value can be an id; unfilled placeholders have braces."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID:
        return False
    return value.isascii() and value.isprintable() and not set(value) & set(" {}")


def _decode_claims(signature: Signature, token: str) -> Mapping[str, Any]:
    """Validate a token, and return the ids in it.

    Raises:
        EntryError: The token is not signed by the panel, has expired, or is for another server.
    """
    wrong = gettext(
        "this link has expired or is not for this server: please start again from the panel's page"
    )
    if not token or len(token) > _LONGEST_TOKEN:
        raise EntryError(wrong)
    # As in `Signature`.
    import jwt

    try:
        kid = jwt.get_unverified_header(token).get("kid")
        # Only the key with this id is accepted, so a key that the panel has withdrawn is not.
        key = next(key for key in jwt.PyJWKSet.from_dict(signature.keys).keys if key.key_id == kid)
        claims = jwt.decode(
            token,
            key,
            algorithms=[_ALGORITHM],
            audience=signature.audience,
            options={"require": ["exp", "aud"], "strict_aud": False},
        )
    except (jwt.PyJWTError, StopIteration, ValueError):
        raise EntryError(wrong) from None
    found = claims.get(signature.claim)
    if not isinstance(found, dict):
        raise EntryError(wrong)
    return found


def token_of(participation: Participation) -> str:
    """Return the token that identifies a panel worker, in a cookie or in API requests."""
    return PREFIX + signing.dumps(participation.pk, salt=_SALT)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """An assignment of Mechanical Turk in the frame that shows it.

    Attributes:
        session: Key of the session.
        assignment: Mechanical Turk's id of the assignment.
        origin: Origin of the site to which the assignment is submitted.
    """

    session: int
    assignment: str
    origin: str


def frame_token_of(participation: Participation, query: Mapping[str, str]) -> str:
    """Return the token that identifies a worker and an assignment in a frame.

    Args:
        participation: The participation, from `enter`.
        query: The query parameters with which it was entered.
    """
    assignment = query[external_questions.PARAMETERS["session"]]
    session = participation.sessions.get(session=assignment)
    content = [participation.pk, session.pk, assignment, query["turkSubmitTo"]]
    return PREFIX + signing.dumps(content, salt=_SALT)


def find_frame(token: str) -> Frame | None:
    """Return the assignment that a token identifies; None for other tokens, and for invalid ones."""
    try:
        content = signing.loads(token.removeprefix(PREFIX), salt=_SALT, max_age=_TOKEN_SECONDS)
    except signing.BadSignature:
        return None
    if not isinstance(content, list):
        return None
    _, session, assignment, origin = content
    return Frame(session=session, assignment=assignment, origin=origin)


def get_entered(campaign: Campaign, token: str) -> Participation:
    """Return the participation that a panel worker's token identifies.

    Raises:
        NotFoundError: The token is not valid in this campaign.
        AssignmentError: The worker has withdrawn, or the campaign is only open to others.
    """
    try:
        key = signing.loads(token.removeprefix(PREFIX), salt=_SALT, max_age=_TOKEN_SECONDS)
    except signing.BadSignature:
        raise NotFoundError from None
    if isinstance(key, list):
        key = key[0]
    rows = Participation.objects.filter(pk=key, campaign=campaign).select_related("worker", "campaign")
    found = rows.first()
    if found is None:
        raise NotFoundError
    check_not_withdrawn(found)
    check_admission(campaign, "panel", found)
    return found


def open_session(participation: Participation) -> Session | None:
    """Return the latest session of a worker; None for workers without a panel."""
    return participation.sessions.order_by("pk").last()


def end(session: Session, outcome: str) -> None:
    """End a session, unless it has ended. The caller has locked the participation."""
    if not session.outcome:
        session.outcome, session.ended = outcome, database_time()
        session.save(update_fields=["outcome", "ended"])


def remaining_answers(participation: Participation, session: Session) -> int:
    """Return the number of answers that a session still needs.

    Answers to training items don't count.
    """
    given = participation.answered - session.answered_before
    trained = participation.responses.filter(item__is_training=True, revision=1)
    given -= trained.filter(received__gte=session.entered).count()
    return max(0, panel_settings(participation.campaign).answers - given)


def is_submitted(outcome: str) -> bool:
    """Return whether workers submit an assignment with this outcome to Mechanical Turk.

    Others return the HIT.
    """
    return outcome not in ("", _Outcome.NO_CONSENT, _Outcome.UNSUITABLE)


def get_session_end(participation: Participation, frame: Frame | None = None) -> SessionEnd | None:
    """Return the end of a worker's session: that of the frame, or else the latest.

    None if it has not ended, or if the worker did not come from a panel.
    """
    if frame is None:
        session = open_session(participation)
    else:
        session = participation.sessions.filter(pk=frame.session).first()
    if session is None or not session.outcome:
        return None
    settings = panel_settings(participation.campaign)
    code = settings.codes[session.outcome]
    return SessionEnd(
        outcome=session.outcome,
        text=_Outcome(session.outcome).label,
        code=code,
        address=settings.redirect.replace("{code}", code),
    )
