"""Forms of the participant pages."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User

from capeval.errors import FormatError
from capeval.formats.declared_fields import DeclaredField
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.submissions.services.submit import LONGEST_FIELD
from capeval_server.teams.models import Team
from capeval_server.teams.services import enrollment
from capeval_server.web.presenters import label

__all__ = ["InvitationForm", "JoinForm", "SubmitForm"]

_DECLARED_PREFIX = "declared-"
_TEXTAREA_FIELDS = ("description", "training-data", "training_data", "abstract", "notes")


class _ValueField(forms.CharField):
    """Field for a value that a submission declares, checked by its type."""

    def __init__(self, field: DeclaredField, phase: str) -> None:
        self._field, self._phase = field, phase
        declared = field.in_phase(phase)
        super().__init__(
            label=label(declared.name),
            required=declared.required,
            max_length=None if declared.values else LONGEST_FIELD,
            widget=self._create_widget(declared),
            help_text="" if declared.shown else "Visible only to organizers.",
        )

    @staticmethod
    def _create_widget(declared: DeclaredField) -> forms.Widget:
        if declared.values:
            values = [
                (value, value.capitalize() if declared.type == "boolean" else value)
                for value in declared.values
            ]
            return forms.Select(choices=[("", "Select a value"), *values])
        if declared.type == "number":
            return forms.TextInput({"inputmode": "decimal"})
        if declared.type == "url":
            return forms.URLInput({"placeholder": "https://"})
        return forms.Textarea({"rows": 3}) if declared.name.lower() in _TEXTAREA_FIELDS else forms.TextInput()

    def validate(self, value: str) -> None:
        """Validate the value by the type of the declared field.

        Raises:
            ValidationError: The value does not have that type.
        """
        super().validate(value)
        if value:
            try:
                self._field.check(value, self._phase)
            except FormatError as error:
                raise forms.ValidationError(str(error)) from None


class JoinForm(forms.Form):
    """Form to join a challenge."""

    how = forms.ChoiceField(
        label="How do you want to take part?",
        choices=[
            ("alone", "Alone"),
            ("team", "In a new team, which others can join"),
            ("code", "In an existing team, with its code"),
        ],
        initial="alone",
        widget=forms.RadioSelect,
    )
    name = forms.CharField(
        label="Name of the new team", max_length=60, required=False, help_text="Shown on leaderboards."
    )
    code = forms.CharField(
        label="Code of the team",
        max_length=32,
        required=False,
        help_text="Members can find it on the team's page.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    accept = forms.BooleanField(label="I have read and accept the rules.")

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.label_suffix = ""
        self._challenge = challenge
        if not challenge.rules.strip():
            del self.fields["accept"]

    def clean(self) -> dict[str, Any]:
        """Validate that the field required by the chosen way to join is not empty."""
        given = self.cleaned_data
        needed = {"team": "name", "code": "code"}.get(given.get("how", ""))
        if needed and not given.get(needed) and needed not in self.errors:
            self.add_error(
                needed, "Enter a team name." if needed == "name" else "Enter the code of the team."
            )
        return given

    def join(self, user: User, *, invited: bool) -> Team:
        """Join the challenge in the chosen way.

        Args:
            user: The user.
            invited: Whether the user opened the challenge's secret link.

        Raises:
            TeamError: The user cannot join in this way.
        """
        given = self.cleaned_data
        if given["how"] == "code":
            return enrollment.join(user, self._challenge, given["code"])
        name = given["name"] if given["how"] == "team" else ""
        return enrollment.make_team(user, self._challenge, name, invited=invited)

    def refuse(self, message: str) -> None:
        """Add an error that prevents joining to the field that it concerns."""
        field = {"team": "name", "code": "code"}.get(self.cleaned_data["how"])
        self.add_error(field, message)


class InvitationForm(forms.Form):
    """Form that sets the validity of a new invitation code."""

    days = forms.IntegerField(
        label="Valid for (days)", min_value=1, max_value=enrollment.LONGEST_INVITATION, initial=7
    )


class SubmitForm(forms.Form):
    """Form to upload a submission and fill in its declared fields."""

    # Empty files get the same checks and messages as other files.
    file = forms.FileField(
        label="File", allow_empty_file=True, widget=forms.ClearableFileInput({"accept": ".json,.zip"})
    )

    def __init__(
        self, phase: Phase, data: Any = None, files: Any = None, *, declared: Mapping[str, str]
    ) -> None:
        given = {f"{_DECLARED_PREFIX}{name}": value for name, value in declared.items()}
        super().__init__(data, files, initial=given, label_suffix="")
        # The idempotency key: sending a form repeatedly creates one submission. It is part of the form's URL,
        # which is read before the file.
        self.key = f"page-{uuid.uuid4()}"
        for field in phase.challenge.declared_fields:
            self.fields[f"{_DECLARED_PREFIX}{field.name}"] = _ValueField(field, phase.name)

    def about(self) -> Iterator[forms.BoundField]:
        """Return the declared fields."""
        return (self[name] for name in self.fields if name.startswith(_DECLARED_PREFIX))

    def declared(self) -> dict[str, str]:
        """Return the non-empty declared values, by field name."""
        given = self.cleaned_data
        names = [name for name in self.fields if name.startswith(_DECLARED_PREFIX) and given[name]]
        # Browsers end lines with CRLF, programs with LF.
        return {name.removeprefix(_DECLARED_PREFIX): given[name].replace("\r\n", "\n") for name in names}
