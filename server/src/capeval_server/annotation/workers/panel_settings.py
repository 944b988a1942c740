"""Settings of panels: their parameters, conditions for workers, signature and end codes."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from capeval_server.annotation.core.option_texts import format_count
from capeval_server.annotation.models import Session
from capeval_server.annotation.workers import external_questions
from capeval_server.annotation.workers.external_questions import ExternalQuestion
from capeval_server.core.validation_problems import COUNTRY, END_CODE, PANEL, PARAMETER

__all__ = ["PanelSettings", "Signature", "describe_conditions"]

_Outcome = Session.Outcome

_Parameter = Annotated[str, Field(pattern=PARAMETER)]
_Id = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,200}$")]
# ISO 3166-1 alpha-2, as Mechanical Turk names countries.
_Country = Annotated[str, Field(pattern=COUNTRY)]
_Code = Annotated[str, Field(pattern=END_CODE)]


class Signature(BaseModel):
    """A panel's signature of its workers' ids: a JSON Web Token signed with RS256.

    Prolific's secured external URLs have this form.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # The query parameter with the token, and the claim of the token with the ids.
    parameter: _Parameter = "prolific_token"
    claim: Annotated[str, Field(min_length=1, max_length=200)] = "prolific"
    # The name of this server in the token.
    audience: Annotated[str, Field(min_length=1, max_length=500)]
    # The panel's published keys as a JSON Web Key Set; the server doesn't download any.
    keys: dict[str, Any]

    @field_validator("keys")
    @classmethod
    def _readable(cls, keys: dict[str, Any]) -> dict[str, Any]:
        # Imported only for signatures, because it takes a tenth of the start of each command.
        import jwt

        try:
            found = jwt.PyJWKSet.from_dict(keys)
        except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"must be a JSON Web Key Set ({error})") from None
        if any(not key.key_id or key.key_type != "RSA" for key in found.keys):
            raise ValueError("each key must be an RSA key with a 'kid'")
        return keys


def _make_name_optional(schema: dict[str, Any]) -> None:
    """Change the JSON schema of a panel: its name has a default if the panel is Mechanical Turk."""
    schema["required"].remove("name")
    schema["properties"]["name"]["description"] = "Required without `external_question`; else “mturk”."


class PanelSettings(BaseModel):
    """Settings of a panel: parameters of its links, and end codes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, json_schema_extra=_make_name_optional)

    # With `external_question`, the default is "mturk".
    name: Annotated[str, Field(pattern=PANEL)]
    # Names of the query parameters with the ids.
    participant: _Parameter = "PROLIFIC_PID"
    study: _Parameter = "STUDY_ID"
    session: _Parameter = "SESSION_ID"
    # Ids of the accepted studies; if empty, all studies are accepted.
    studies: Annotated[list[_Id], Field(max_length=1000)] = []
    # Conditions for workers, which the panel enforces: the minimum approval rate in percent (0 for none), the
    # minimum number of approved earlier tasks, and the countries of residence (empty for all).
    approval_rate: Annotated[int, Field(ge=0, le=100)] = 0
    approved_tasks: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    countries: Annotated[list[_Country], Field(max_length=250)] = []
    # Number of answers that completes a session.
    answers: Annotated[int, Field(ge=1, le=100_000)]
    # URL to which workers return at the end, with {code}; empty if the panel has no such URL.
    redirect: Annotated[str, Field(max_length=500)] = ""
    # Set for a panel of Mechanical Turk, which shows the campaign in a frame.
    external_question: ExternalQuestion | None = None
    signed: Signature | None = None
    # The end code of each outcome; missing ones are generated.
    codes: dict[str, _Code] = {}

    @model_validator(mode="before")
    @classmethod
    def _with_parameters(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("external_question") is not None:
            return {"name": "mturk", **external_questions.PARAMETERS, **content}
        return content

    @model_validator(mode="after")
    def _as_external_question(self) -> Self:
        if self.external_question is None:
            return self
        for name, parameter in external_questions.PARAMETERS.items():
            if getattr(self, name) != parameter:
                raise ValueError(f"{name} must be {parameter!r}, as in Mechanical Turk")
        if self.redirect:
            raise ValueError("redirect must be empty: the frame of Mechanical Turk submits a form instead")
        if self.signed is not None:
            raise ValueError("signed must be omitted: Mechanical Turk does not sign its links")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        secure = self.redirect.startswith("https://") and self.redirect.count("{code}") == 1
        if self.redirect and not secure:
            raise ValueError("redirect must begin with https:// and contain {code} once")
        unknown = sorted(set(self.codes) - set(_Outcome.values))
        if unknown:
            raise ValueError(f"codes: unknown outcome {unknown[0]!r} (known: {', '.join(_Outcome.values)})")
        if len(set(self.codes.values())) != len(self.codes):
            raise ValueError("codes must be unique")
        if len({self.participant, self.study, self.session}) != 3:
            raise ValueError("participant, study and session must be different parameters")
        return self


def describe_conditions(settings: PanelSettings) -> str:
    """Return the conditions for a panel's workers as a phrase, or "" if there are none.

    >>> describe_conditions(PanelSettings(name="x", answers=1, approval_rate=95, countries=["US", "GB"]))
    'an approval rate of at least 95 %, residence in US or GB'
    """
    found = []
    if settings.approval_rate:
        found.append(f"an approval rate of at least {settings.approval_rate} %")
    if settings.approved_tasks:
        found.append(f"at least {format_count(settings.approved_tasks, 'approved earlier task')}")
    if settings.countries:
        found.append(f"residence in {' or '.join(settings.countries)}")
    return ", ".join(found)
