"""Comparison of a panel's export of submissions with the sessions of a campaign.

Nothing of the export is stored. A suggestion is never a rejection, because only a person can judge work.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

from django.contrib.auth.models import User

from capeval.errors import FormatError
from capeval.formats.io.rows import parse_rows
from capeval.toolkit import escape_row
from capeval_server.annotation.core.option_texts import format_count
from capeval_server.annotation.models import Campaign, Participation, Session
from capeval_server.annotation.workers import payments
from capeval_server.annotation.workers.panels import PanelSettings, panel_settings
from capeval_server.annotation.workers.payments import PaymentRow
from capeval_server.audit.models import record
from capeval_server.core.errors import CampaignError, NotFoundError

__all__ = [
    "MOST_BYTES",
    "SUGGESTIONS",
    "ExportedSubmission",
    "PanelExport",
    "ReconciledRow",
    "Reconciliation",
    "read_export",
    "reconcile",
    "reconciliation_csv",
]

MOST_BYTES = 20_000_000
"""Maximum size of an export, in bytes."""
SUGGESTIONS = ("look at it", "ask for return", "approve", "nothing")
"""The suggestions, with those that need the most attention first."""
_LOOK, _RETURN, _APPROVE, _NOTHING = SUGGESTIONS
_Outcome = Session.Outcome

# Known names of each column, in lower case and without punctuation.
_COLUMNS = {
    "submission": ("submissionid", "sessionid", "assignmentid"),
    "participant": ("participantid", "prolificpid", "prolificid", "workerid"),
    "status": ("status", "submissionstatus", "assignmentstatus"),
    "entered": ("completioncode", "enteredcode", "studycode", "answercompletioncode"),
    "seconds": ("timetaken", "timetakenseconds", "worktimeinseconds"),
}
_TITLES = {
    "submission": "Submission id",
    "participant": "Participant id",
    "status": "Status",
    "entered": "Completion code",
    "seconds": "Time taken",
}
_NO_CODES = ("", "nocode")
_LEFT = ("returned", "timedout")
_DECIDED = ("approved", "partiallyapproved", "rejected", "screenedout")
_RUNNING = ("active", "reserved")


@dataclass(frozen=True, kw_only=True)
class ExportedSubmission:
    """A submission in a panel's export.

    Attributes:
        submission: The panel's id of the submission, which is that of the session.
        participant: The panel's id of the participant.
        status: Status of the submission.
        entered: Completion code that the participant entered.
        seconds: Time according to the panel, as in the file.
    """

    submission: str
    participant: str
    status: str
    entered: str
    seconds: str


@dataclass(frozen=True, kw_only=True)
class PanelExport:
    """A panel's export of submissions.

    Attributes:
        submissions: The submissions, in the order of the file.
        missing: Titles of optional columns that the file lacks.
    """

    submissions: list[ExportedSubmission]
    missing: list[str]


@dataclass(frozen=True, kw_only=True)
class ReconciledRow:
    """A submission of the panel or a session of the campaign, with a suggestion.

    Attributes:
        submission: The panel's id of the submission.
        participant: The panel's id of the participant.
        found: `both`, `export` (only in the panel's export) or `here` (only in the campaign).
        status: Status in the export.
        worker: Pseudonym in the campaign.
        outcome: Outcome of the session.
        code: Completion code of this outcome.
        entered: Completion code in the export.
        answers: Number of answers in the session, as in the payments.
        rejected: Number of these answers that a reviewer rejected.
        seconds: Time according to the panel, as in the file.
        suggestion: One of `SUGGESTIONS`.
        reason: Reason for the suggestion.
    """

    submission: str
    participant: str
    found: str
    status: str
    worker: str
    outcome: str
    code: str
    entered: str
    answers: int
    rejected: int
    seconds: str
    suggestion: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """Result of the comparison.

    Attributes:
        rows: One row per submission or session, those that need attention first.
        suggestions: Number of rows by suggestion.
        found: Number of rows by place: `both`, `export` and `here`.
        missing: Titles of optional columns that the export lacks.
        other_studies: Number of sessions that are not listed, because the export has no submission of their
            studies.
        withdrawn: Number of sessions that can't be compared, because the worker withdrew and the panel's ids
            were removed.
    """

    rows: list[ReconciledRow]
    suggestions: dict[str, int]
    found: dict[str, int]
    missing: list[str]
    other_studies: int
    withdrawn: int


def read_export(data: bytes, settings: PanelSettings) -> PanelExport:
    """Parse a panel's export of submissions.

    Names of columns are compared without case and punctuation. The names of the panel's parameters are also
    accepted.

    Args:
        data: CSV in UTF-8, separated by commas, semicolons or tabs.
        settings: Settings of the panel.

    Raises:
        CampaignError: The file is too large or no CSV file, lacks the columns with the ids, or has a
            submission twice.
    """
    rows = _parse_rows(data)
    places = _find_columns(rows[0][1] if rows else [], settings)
    found: list[ExportedSubmission] = []
    lines: dict[str, int] = {}
    for line, row in rows[1:]:
        if not any(cell.strip() for cell in row):
            continue
        given = ExportedSubmission(
            **{
                name: row[place].strip() if place is not None and place < len(row) else ""
                for name, place in places.items()
            }
        )
        before = lines.setdefault(given.submission, line)
        if given.submission and before != line:
            where = f"lines {before} and {line}"
            raise CampaignError(f"the export has the submission {given.submission!r} twice ({where})")
        found.append(given)
    missing = [_TITLES[name] for name, place in places.items() if place is None]
    return PanelExport(submissions=found, missing=missing)


def _parse_rows(data: bytes) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, with their line numbers."""
    if len(data) > MOST_BYTES:
        raise CampaignError(f"the export must have at most {MOST_BYTES:,} bytes")
    data = data.removeprefix(codecs.BOM_UTF8)
    delimiter = max(b",;\t", key=data.partition(b"\n")[0].count)
    try:
        return list(parse_rows(data, chr(delimiter)))
    except FormatError as error:
        raise CampaignError(f"the export must be a CSV file in UTF-8, as downloaded: {error}") from None


def _find_columns(head: list[str], settings: PanelSettings) -> dict[str, int | None]:
    """Return the place of each column; None if the file lacks it."""
    names = [_normalize(name) for name in head]
    own = {"submission": settings.session, "participant": settings.participant}
    places: dict[str, int | None] = {}
    for name, known in _COLUMNS.items():
        accepted = [*known, *filter(None, [_normalize(own.get(name, ""))])]
        places[name] = next((names.index(one) for one in accepted if one in names), None)
    absent = [_TITLES[name] for name in own if places[name] is None]
    if absent:
        columns = ", ".join(map(repr, head[:5])) or "none"
        more = f" and {len(head) - 5} more" if len(head) > 5 else ""
        raise CampaignError(
            f"the export lacks the column{'s' * (len(absent) > 1)} {' and '.join(map(repr, absent))}"
            f" (found: {columns}{more}); download the submissions as CSV from the panel, and don't edit them"
        )
    return places


def _normalize(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def reconcile(user: User | None, campaign: Campaign, data: bytes) -> Reconciliation:
    """Compare a panel's export with the sessions of a campaign, and log the comparison without its content.

    Raises:
        CampaignError: The campaign has no panel, or the export is invalid.
    """
    try:
        settings = panel_settings(campaign)
    except NotFoundError:
        raise CampaignError("the campaign has no panel: set it first") from None
    export = read_export(data, settings)
    sessions = [line for line in payments.lines(campaign) if line.session]
    stages = dict(campaign.participations.values_list("worker__pseudonym", "stage"))
    compared = _Comparison(settings, sessions, stages)
    rows = [compared.build_row(one) for one in export.submissions]
    studies = {compared.known[key].study for key in compared.matched}
    left = [line for key, line in compared.known.items() if key not in compared.matched]
    here = [line for line in left if not studies or line.study in studies]
    rows += [compared.build_row_without_submission(line) for line in here]
    rows.sort(key=lambda row: SUGGESTIONS.index(row.suggestion))
    number = format_count(len(export.submissions), "submission")
    what = f"compared {number} of a panel with the sessions of the campaign {campaign.slug}"
    record(user, campaign.challenge, what)
    suggestions, found = Counter(row.suggestion for row in rows), Counter(row.found for row in rows)
    return Reconciliation(
        rows=rows,
        suggestions={name: suggestions[name] for name in SUGGESTIONS},
        found={name: found[name] for name in ("both", "export", "here")},
        missing=export.missing,
        other_studies=len(left) - len(here),
        withdrawn=Session.objects.filter(participation__campaign=campaign, session=None).count(),
    )


def reconciliation_csv(rows: Iterable[ReconciledRow]) -> str:
    """Return the rows as CSV, with formulas escaped."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([field.name for field in fields(ReconciledRow)])
    for row in rows:
        writer.writerow(escape_row(asdict(row).values()))
    return out.getvalue()


class _Comparison:
    """The sessions of a campaign, by the panel's ids of session and participant."""

    def __init__(
        self, settings: PanelSettings, sessions: Iterable[PaymentRow], stages: Mapping[str, str]
    ) -> None:
        self._codes, self._stages = settings.codes, stages
        # Mechanical Turk has no returns after a submission.
        self._can_return = settings.external_question is None
        self._outcomes = {code.casefold(): outcome for outcome, code in settings.codes.items()}
        self.known = {(line.session, line.panel_id): line for line in sessions}
        self._known_sessions = {session for session, _ in self.known}
        self.matched: set[tuple[str, str]] = set()

    def build_row(self, given: ExportedSubmission) -> ReconciledRow:
        """Return the row of a submission in the export."""
        key = (given.submission, given.participant)
        line = self.known.get(key)
        if line is None:
            return _build_row(given, None, "", self._suggest_without_session(given))
        self.matched.add(key)
        return _build_row(given, line, self._codes.get(line.outcome, ""), self._suggest(given, line))

    def build_row_without_submission(self, line: PaymentRow) -> ReconciledRow:
        """Return the row of a session that the export doesn't contain."""
        advice = (_LOOK, "the panel's export does not contain this session: its link may be invented")
        if not line.answers:
            advice = (_NOTHING, "no answers, and no submission in the panel")
        return _build_row(None, line, self._codes.get(line.outcome, ""), advice)

    def _suggest_without_session(self, given: ExportedSubmission) -> tuple[str, str]:
        status, outcome = _normalize(given.status), self._outcomes.get(given.entered.casefold())
        if given.submission in self._known_sessions:
            return _LOOK, "another participant came with the id of this submission"
        if outcome == _Outcome.WITHDREW and status not in _DECIDED:
            return _LOOK, "withdrew here, so the ids were removed: pay for the work done"
        if status in _LEFT:
            return _NOTHING, "left before they came here"
        if status in _RUNNING:
            return _NOTHING, "has not finished in the panel"
        if status in ("rejected", "screenedout"):
            return _NOTHING, "decided in the panel"
        if outcome is not None:
            return _LOOK, f"never came here, but entered the code of {outcome!r}: it may have been shared"
        return _LOOK, "never came here: check that the study's link contains the ids"

    def _suggest(self, given: ExportedSubmission, line: PaymentRow) -> tuple[str, str]:
        status, done = _normalize(given.status), line.outcome == _Outcome.COMPLETED
        if done and (status in _LEFT or status == "rejected"):
            return _LOOK, f"completed here, but {given.status.lower()} in the panel"
        if status in _LEFT:
            reason = "left in the panel"
            return _NOTHING, f"{reason}; the answers can be paid as a bonus" if line.answers else reason
        if status in _DECIDED:
            return _NOTHING, "decided in the panel"
        if status in _RUNNING:
            return _NOTHING, "has not finished in the panel"
        if self._stages.get(line.worker) == Participation.Stage.BLOCKED:
            return _LOOK, "blocked here: read the answers before you decide"
        entered = self._outcomes.get(given.entered.casefold())
        if _normalize(given.entered) not in _NO_CODES and entered != line.outcome:
            other = "an unknown code" if entered is None else f"the code of {entered!r}"
            return _LOOK, f"{_describe(line)}, but entered {other}"
        if done and line.rejected:
            return _LOOK, f"completed, but {line.rejected} of {line.answers} answers were rejected in review"
        if done and _normalize(given.entered) in _NO_CODES:
            return _APPROVE, "completed here; the code was not entered"
        suggestion = _ADVICE.get(line.outcome, _LOOK)
        return (_LOOK if suggestion == _RETURN and not self._can_return else suggestion), _describe(line)


_ADVICE: dict[str, str] = {
    _Outcome.COMPLETED: _APPROVE,
    _Outcome.RETURNED: _RETURN,
    _Outcome.NO_CONSENT: _RETURN,
    _Outcome.UNSUITABLE: _RETURN,
}
_DESCRIPTIONS: dict[str, str] = {
    "": "the session has not ended here",
    _Outcome.COMPLETED: "completed here",
    _Outcome.NOTHING_LEFT: "found no work left: pay for the answers, or for the time",
    _Outcome.RETURNED: "stopped before the end",
    _Outcome.NO_CONSENT: "did not agree to take part",
    _Outcome.UNSUITABLE: "could not do the work with their device",
    _Outcome.SCREENED_OUT: "did not pass the training: pay for the time of the training",
    _Outcome.FAILED_CHECKS: "blocked here: read the answers before you decide",
}


def _describe(line: PaymentRow) -> str:
    text = _DESCRIPTIONS.get(line.outcome, line.outcome)
    if line.answers and line.outcome in ("", _Outcome.RETURNED):
        text += f" (answers: {line.answers})"
    return text


def _build_row(
    given: ExportedSubmission | None, line: PaymentRow | None, code: str, advice: tuple[str, str]
) -> ReconciledRow:
    found = "both" if given and line else "export" if given else "here"
    return ReconciledRow(
        submission=given.submission if given else line.session if line else "",
        participant=given.participant if given else line.panel_id if line else "",
        found=found,
        status=given.status if given else "",
        worker=line.worker if line else "",
        outcome=line.outcome if line else "",
        code=code,
        entered=given.entered if given else "",
        answers=line.answers if line else 0,
        rejected=line.rejected if line else 0,
        seconds=given.seconds if given else "",
        suggestion=advice[0],
        reason=advice[1],
    )
