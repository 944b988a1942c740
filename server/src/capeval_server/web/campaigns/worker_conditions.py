"""Names of the conditions for workers on the sites of panels."""

from __future__ import annotations

from dataclasses import dataclass

from capeval_server.annotation.workers.panels import PanelSettings

__all__ = ["SetCondition", "list_conditions"]


@dataclass(frozen=True, kw_only=True)
class SetCondition:
    """A condition that organizers set in the panel.

    Attributes:
        text: Description.
        value: Value to set.
        prolific: Name of the screener in Prolific.
        turk: Name of the worker requirement in Mechanical Turk.
    """

    text: str
    value: str
    prolific: str
    turk: str


def list_conditions(settings: PanelSettings) -> list[SetCondition]:
    """Return the conditions of a panel with their names in Prolific and Mechanical Turk.

    Prolific has screeners (https://researcher-help.prolific.com), Mechanical Turk has system qualifications
    (https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMturkAPI/, QualificationRequirement).
    """
    rows = [
        SetCondition(
            text="Approval rate",
            value=f"at least {settings.approval_rate} %",
            prolific="Approval Rate",
            turk="HIT Approval Rate (%) for all Requesters' HITs",
        ),
        SetCondition(
            text="Approved tasks",
            value=f"at least {settings.approved_tasks:,}",
            prolific="Number of previous submissions",
            turk="Number of HITs Approved",
        ),
        SetCondition(
            text="Countries",
            value=", ".join(settings.countries),
            prolific="Current Country of Residence",
            turk="Location",
        ),
    ]
    chosen = (settings.approval_rate, settings.approved_tasks, settings.countries)
    return [row for row, value in zip(rows, chosen, strict=True) if value]
