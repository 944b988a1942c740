"""The forms of those who take part."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User

from capeval_server.challenges.models import Challenge
from capeval_server.submissions.services.submit import LONGEST_FIELD
from capeval_server.teams.models import Team
from capeval_server.teams.services import enrollment
from capeval_server.web.presenters import label

__all__ = ["InvitationForm", "JoinForm", "SubmitForm"]

_DECLARED = "declared-"
_LONG = ("description", "training-data", "training_data", "abstract", "notes")


class JoinForm(forms.Form):
    """Says how somebody takes part."""

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
        label="Name of the new team", max_length=60, required=False, help_text="It is shown on leaderboards."
    )
    code = forms.CharField(
        label="Code of the team",
        max_length=32,
        required=False,
        help_text="Members find it on the team's page.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    accept = forms.BooleanField(label="I have read the rules and accept them.")

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.label_suffix = ""
        self._challenge = challenge
        if not challenge.rules.strip():
            del self.fields["accept"]

    def clean(self) -> dict[str, Any]:
        """Checks that the field is filled in that the chosen way needs."""
        given = self.cleaned_data
        needed = {"team": "name", "code": "code"}.get(given.get("how", ""))
        if needed and not given.get(needed) and needed not in self.errors:
            self.add_error(
                needed, "Enter a team name." if needed == "name" else "Enter the code of the team."
            )
        return given

    def join(self, user: User) -> Team:
        """Has a user take part as the form says.

        Raises:
            TeamError: The user can't join in this way.
        """
        given = self.cleaned_data
        if given["how"] == "code":
            return enrollment.join(user, self._challenge, given["code"])
        return enrollment.make_team(user, self._challenge, given["name"] if given["how"] == "team" else "")

    def refuse(self, message: str) -> None:
        """Shows why the user can't join, at the field that it is about."""
        field = {"team": "name", "code": "code"}.get(self.cleaned_data["how"])
        self.add_error(field, message)


class InvitationForm(forms.Form):
    """Says how long a new code is valid."""

    days = forms.IntegerField(
        label="Valid for (days)", min_value=1, max_value=enrollment.LONGEST_INVITATION, initial=7
    )


class SubmitForm(forms.Form):
    """An upload, and what is declared of it."""

    # An empty file gets the same checks, and messages, as any other.
    file = forms.FileField(
        label="File", allow_empty_file=True, widget=forms.ClearableFileInput({"accept": ".json,.zip"})
    )

    def __init__(
        self, challenge: Challenge, data: Any = None, files: Any = None, *, declared: Mapping[str, str]
    ) -> None:
        given = {f"{_DECLARED}{name}": value for name, value in declared.items()}
        super().__init__(data, files, initial=given, label_suffix="")
        # The same for the same form, however often it is sent: it makes one submission. It is part of the
        # form's address, which is read before the file.
        self.key = f"page-{uuid.uuid4()}"
        for field in challenge.fields:
            name = field["name"]
            widget = forms.Textarea({"rows": 3}) if name.lower() in _LONG else forms.TextInput()
            self.fields[f"{_DECLARED}{name}"] = forms.CharField(
                label=label(name),
                required=field["required"],
                max_length=LONGEST_FIELD,
                widget=widget,
                help_text="" if field.get("shown", True) else "Only the organizers see it.",
            )

    def about(self) -> Iterator[forms.BoundField]:
        """The fields of what is declared."""
        return (self[name] for name in self.fields if name.startswith(_DECLARED))

    def declared(self) -> dict[str, str]:
        """What is declared, by the names of the challenge's fields; nothing is left out but the empty."""
        given = self.cleaned_data
        names = [name for name in self.fields if name.startswith(_DECLARED) and given[name]]
        # A browser ends the lines of a text with two characters, a program with one.
        return {name.removeprefix(_DECLARED): given[name].replace("\r\n", "\n") for name in names}
