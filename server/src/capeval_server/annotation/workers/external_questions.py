"""External questions of Mechanical Turk, which shows a page of this server in a frame.

Formats and parameters are those of the API Reference (https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMturkAPI/):
ExternalQuestion (`ApiReference_ExternalQuestionArticle.html`) and QualificationRequirement
(`ApiReference_QualificationRequirementDataStructureArticle.html`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from xml.sax.saxutils import escape

from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict, Field

from capeval_server.core.errors import EntryError
from capeval_server.core.validation_problems import REWARD

__all__ = [
    "FRAME_ANCESTORS",
    "PARAMETERS",
    "PREVIEW",
    "ExternalQuestion",
    "check_submit_origin",
    "list_requirements",
    "question_xml",
    "submit_address",
]

PARAMETERS = {"participant": "workerId", "study": "hitId", "session": "assignmentId"}
"""The parameters that Mechanical Turk appends to the address, by their meaning for a panel."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""The `assignmentId` of a preview, before a worker accepts the HIT."""
FRAME_ANCESTORS = ("https://worker.mturk.com", "https://www.mturk.com", "https://workersandbox.mturk.com")
"""The sites on which workers see HITs."""
_SUBMIT_ORIGINS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
_SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
# System qualification types.
_APPROVAL_RATE = "000000000000000000L0"
_APPROVED_TASKS = "00000000000000000040"
_LOCALE = "00000000000000000071"


class ExternalQuestion(BaseModel):
    """A HIT of Mechanical Turk that contains a campaign in a frame."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # Height of the frame in pixels; 0 adjusts it to the browser window.
    frame_height: Annotated[int, Field(ge=0, le=10_000)] = 0
    # The reward of the HIT in US dollars, which an approved assignment pays.
    reward: Annotated[str, Field(pattern=REWARD)] = "0.00"


def check_submit_origin(origin: str) -> None:
    """Reject any `turkSubmitTo` except those of Mechanical Turk and its sandbox.

    Raises:
        EntryError: The origin is a different one.
    """
    if origin not in _SUBMIT_ORIGINS:
        text = gettext("the link must come from Mechanical Turk: 'turkSubmitTo' must be {one} or {other}")
        one, other = _SUBMIT_ORIGINS
        raise EntryError(text.format(one=one, other=other))


def submit_address(origin: str) -> str:
    """Return the address to which the form of a finished assignment is sent."""
    return f"{origin}/mturk/externalSubmit"


def question_xml(address: str, question: ExternalQuestion) -> str:
    """Return the `Question` parameter of CreateHIT.

    Args:
        address: Address of the page in the frame, with HTTPS.
        question: Settings of the frame.
    """
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<ExternalQuestion xmlns="{_SCHEMA}">\n'
        f"  <ExternalURL>{escape(address)}</ExternalURL>\n"
        f"  <FrameHeight>{question.frame_height}</FrameHeight>\n"
        "</ExternalQuestion>\n"
    )


def list_requirements(
    *, approval_rate: int, approved_tasks: int, countries: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the `QualificationRequirements` parameter of CreateHIT for the conditions of a panel.

    Only workers that meet the requirements can accept the HIT; everybody can preview it.
    """
    found: list[dict[str, Any]] = [
        {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [least]}
        for kind, least in ((_APPROVAL_RATE, approval_rate), (_APPROVED_TASKS, approved_tasks))
        if least
    ]
    if countries:
        values = [{"Country": country} for country in countries]
        found.append({"QualificationTypeId": _LOCALE, "Comparator": "In", "LocaleValues": values})
    return [{**one, "ActionsGuarded": "Accept"} for one in found]
