"""Workers whom a panel sends: who they are by its parameters, signed or not, and how their sessions end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import jwt
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from capeval_server.annotation.core.departures import check_here, check_not_left
from capeval_server.annotation.core.locks import held
from capeval_server.annotation.models import Campaign, Identity, Panel, Participation, Session, Worker
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError, EntryError, NotFoundError
from capeval_server.jobs.leases import database_time

__all__ = [
    "PREFIX",
    "PanelSettings",
    "SessionEnd",
    "Signature",
    "end",
    "end_of",
    "enter",
    "entered",
    "open_session",
    "panel_settings",
    "remaining_answers",
    "set_panel",
    "token_of",
]

# The first letters of what a panel's worker shows in place of an invite token.
PREFIX = "panel_"
_TOKEN_SECONDS = 180 * 86_400
_LONGEST_ID = 200
_LONGEST_TOKEN = 8000
_ALGORITHM = "RS256"
_Outcome = Session.Outcome

_Parameter = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,50}$")]
_Id = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,200}$")]
_Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{4,50}$")]


class Signature(BaseModel):
    """How a panel signs who it sends: by a JSON Web Token of RS256, as Prolific's secured external URL."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # The query parameter of the token, and its claim that has the ids.
    parameter: _Parameter = "prolific_token"
    claim: Annotated[str, Field(min_length=1, max_length=200)] = "prolific"
    # This server, as the token names it.
    audience: Annotated[str, Field(min_length=1, max_length=500)]
    # The panel's published keys, a JSON Web Key Set; this server fetches none.
    keys: dict[str, Any]

    @field_validator("keys")
    @classmethod
    def _readable(cls, keys: dict[str, Any]) -> dict[str, Any]:
        try:
            found = jwt.PyJWKSet.from_dict(keys)
        except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"must be a JSON Web Key Set ({error})") from None
        if any(not key.key_id or key.key_type != "RSA" for key in found.keys):
            raise ValueError("each key must be an RSA key with a 'kid'")
        return keys


class PanelSettings(BaseModel):
    """How a panel names who it sends, and what it is told at the end."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$")]
    # The query parameters with the ids.
    participant: _Parameter = "PROLIFIC_PID"
    study: _Parameter = "STUDY_ID"
    session: _Parameter = "SESSION_ID"
    # The studies whose workers may come; all, if it is empty.
    studies: Annotated[list[_Id], Field(max_length=1000)] = []
    # After how many answers a session is completed.
    answers: Annotated[int, Field(ge=1, le=100_000)]
    # Where a worker goes at the end, with {code}; empty where the panel has no such address.
    redirect: Annotated[str, Field(max_length=500)] = ""
    signed: Signature | None = None
    # The end code of each outcome; those that are not given are drawn.
    codes: dict[str, _Code] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        secure = self.redirect.startswith("https://") and self.redirect.count("{code}") == 1
        if self.redirect and not secure:
            raise ValueError("redirect must begin with https:// and have {code} once")
        unknown = sorted(set(self.codes) - set(_Outcome.values))
        if unknown:
            raise ValueError(f"codes must be of {', '.join(_Outcome.values)} (got {unknown[0]!r})")
        if len(set(self.codes.values())) != len(self.codes):
            raise ValueError("each code must differ from the others")
        if len({self.participant, self.study, self.session}) != 3:
            raise ValueError("participant, study and session must be three parameters")
        return self


@dataclass(frozen=True, kw_only=True)
class SessionEnd:
    """The end of a worker's session.

    Attributes:
        outcome: Outcome of the session.
        text: Description of the outcome for the worker.
        code: End code, which the worker enters on the panel's page.
        address: URL of the panel to which the worker returns; empty if it has none.
    """

    outcome: str
    text: str
    code: str
    address: str


def set_panel(user: User | None, campaign: Campaign, content: Mapping[str, Any]) -> PanelSettings:
    """Sets the panel of a campaign; codes that were drawn before stay, where no others are given.

    Raises:
        CampaignError: Something in it is not what it must be.
    """
    with held(campaign) as now:
        before = Panel.objects.filter(campaign=now).first()
        try:
            wanted = PanelSettings.model_validate(content)
            kept = before.settings["codes"] if before else {}
            drawn = {name: _new_code() for name in _Outcome.values}
            codes = {**drawn, **kept, **wanted.codes}
            made = PanelSettings.model_validate({**wanted.model_dump(), "codes": codes})
        except ValidationError as error:
            problems = [
                ".".join(("panel", *map(str, one["loc"]))) + f": {one['msg']}" for one in error.errors()
            ]
            raise CampaignError("; ".join(problems)) from None
        Panel.objects.update_or_create(campaign=now, defaults={"settings": made.model_dump()})
        signed = "signed" if made.signed else "unverified"
        record(user, now.challenge, f"set the panel {made.name} ({signed}) of the campaign {now.slug}")
    return made


def _new_code() -> str:
    # Without letters and digits that look alike.
    return "C" + "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(9))


def panel_settings(campaign: Campaign) -> PanelSettings:
    """The panel of a campaign.

    Raises:
        NotFoundError: It has none.
    """
    found = Panel.objects.filter(campaign=campaign).first()
    if found is None:
        raise NotFoundError
    return PanelSettings.model_validate(found.settings)


def enter(campaign: Campaign, query: Mapping[str, str]) -> Participation:
    """Lets in whom a panel sends: the same panel id is always the same worker.

    Args:
        campaign: The campaign.
        query: The parameters of the address.

    Raises:
        NotFoundError: The campaign has no panel, or is not open yet.
        EntryError: The parameters are not those of the panel, or are not signed as they must be.
        AssignmentError: The worker has left the campaign.
    """
    settings = panel_settings(campaign)
    if campaign.state == Campaign.State.DRAFT:
        raise NotFoundError
    participant, study, session = _ids(settings, query)
    if settings.studies and study not in settings.studies:
        raise EntryError("this link is of a study that does not belong to this campaign")
    check_not_left(campaign, f"panel {settings.name} {participant}")
    with transaction.atomic():
        # Two windows that come in at once wait here for each other.
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        identity = Identity.objects.filter(panel=settings.name, panel_id=participant).first()
        if identity is None:
            worker = Worker.objects.create()
            identity = Identity.objects.create(worker=worker, panel=settings.name, panel_id=participant)
        found, _ = Participation.objects.get_or_create(worker=identity.worker, campaign=campaign)
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


def _ids(settings: PanelSettings, query: Mapping[str, str]) -> tuple[str, str, str]:
    names = (settings.participant, settings.study, settings.session)
    given: Mapping[str, Any] = query
    if settings.signed is not None:
        given = _claims(settings.signed, query.get(settings.signed.parameter, ""))
        if any(name in query and query[name] != given.get(name) for name in names):
            raise EntryError("the link's parameters are not those that are signed")
    for name in names:
        if not _is_id(given.get(name)):
            raise EntryError(f"the link must have {name!r}: please come in from the panel's own page")
    first, second, third = (str(given[name]) for name in names)
    return first, second, third


def _is_id(value: object) -> bool:
    """Whether a value can be an id; what has braces is the placeholder of one."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID:
        return False
    return value.isascii() and value.isprintable() and not set(value) & set(" {}")


def _claims(signature: Signature, token: str) -> Mapping[str, Any]:
    """The ids that a token has.

    Raises:
        EntryError: It is not signed by the panel, has expired, or is for another server.
    """
    wrong = "the link is not valid any more, or not for this server: please come in from the panel's own page"
    if not token or len(token) > _LONGEST_TOKEN:
        raise EntryError(wrong)
    try:
        kid = jwt.get_unverified_header(token).get("kid")
        # By its own id alone: a key that the panel has withdrawn is not in the set.
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
    """What a panel's worker shows from then on, in a cookie or as a program's token."""
    return PREFIX + signing.dumps(participation.pk, salt="annotation.panels")


def entered(campaign: Campaign, token: str) -> Participation:
    """The participation of who has such a token.

    Raises:
        NotFoundError: It is not valid here.
        AssignmentError: They have left.
    """
    try:
        key = signing.loads(token.removeprefix(PREFIX), salt="annotation.panels", max_age=_TOKEN_SECONDS)
    except signing.BadSignature:
        raise NotFoundError from None
    rows = Participation.objects.filter(pk=key, campaign=campaign).select_related("worker", "campaign")
    found = rows.first()
    if found is None:
        raise NotFoundError
    check_here(found)
    return found


def open_session(participation: Participation) -> Session | None:
    """The latest session of a worker; none for who came from no panel."""
    return participation.sessions.order_by("pk").last()


def end(session: Session, outcome: str) -> None:
    """Ends a session, once. The caller has locked the participation."""
    if not session.outcome:
        session.outcome, session.ended = outcome, database_time()
        session.save(update_fields=["outcome", "ended"])


def remaining_answers(participation: Participation, session: Session) -> int:
    """Return the number of answers that a session still needs; answers to the training don't count."""
    given = participation.answered - session.answered_before
    trained = participation.responses.filter(item__is_training=True, revision=1)
    given -= trained.filter(received__gte=session.entered).count()
    return max(0, panel_settings(participation.campaign).answers - given)


def end_of(participation: Participation) -> SessionEnd | None:
    """How the worker's latest session ended; none while it goes on, and for who came from no panel."""
    session = open_session(participation)
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
