"""Forms of the recruiting pages: the panel's settings, and its export of submissions."""

from __future__ import annotations

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from pydantic import ValidationError as SettingsError

from capeval_server.annotation.workers.external_questions import PARAMETERS
from capeval_server.annotation.workers.panels import PanelSettings, Signature

__all__ = ["PROLIFIC_RETURN", "ExportForm", "PanelForm"]

PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc={code}"
"""The URL to which Prolific's participants return."""

_IDS = ("participant", "study", "session")
_CONDITIONS = ("approval_rate", "approved_tasks", "countries")
_EXTERNAL_QUESTION = ("reward", "frame_height")
_SIGNATURE = ("audience", "keys", "parameter", "claim")
_parameter = RegexValidator(
    r"^[A-Za-z0-9_.-]{1,50}$", "Enter the name of a query parameter: letters, digits, “_”, “.” and “-”."
)
_name = RegexValidator(
    r"^[a-z0-9][a-z0-9_-]{0,49}$", "Enter lower-case letters, digits, “-” and “_”, for example prolific."
)
_COUNTRY = re.compile(r"[A-Z]{2}")
_id = RegexValidator(r"^[\x21-\x7e]{1,200}$")


class PanelForm(forms.Form):
    """Form with the settings of a campaign's panel."""

    platform = forms.ChoiceField(
        label="Platform",
        choices=[
            ("link", "Prolific, or another panel that sends workers by a link"),
            ("external_question", "Mechanical Turk (ExternalQuestion)"),
        ],
        initial="link",
        help_text="Mechanical Turk shows the campaign in its own page, and has no return address.",
    )
    studies = forms.CharField(
        label="Study ids",
        required=False,
        max_length=100_000,
        widget=forms.Textarea({"rows": 2}),
        help_text="One per line. Prolific shows the id in the address of the study; for Mechanical Turk,"
        " these are HIT ids. If empty, every study is"
        " accepted.",
    )
    answers = forms.IntegerField(
        label="Answers per session",
        min_value=1,
        max_value=100_000,
        initial=20,
        help_text="Number of answers that completes a session. Attention checks count; training does not.",
    )
    redirect = forms.CharField(
        label="Return address",
        required=False,
        max_length=500,
        initial=PROLIFIC_RETURN,
        help_text="Workers return to this address at the end; {code} becomes the completion code. If empty,"
        " workers enter the code on the panel's page.",
    )
    reward = forms.DecimalField(
        label="Reward of the HIT (USD)",
        min_value=0,
        max_digits=6,
        decimal_places=2,
        initial="0.00",
        help_text="An approved assignment pays this amount. Bonuses pay the rest of the pay per answer.",
    )
    frame_height = forms.IntegerField(
        label="Height of the frame (pixels)",
        min_value=0,
        max_value=10_000,
        initial=0,
        help_text="0 adjusts the frame to the browser window.",
    )
    approval_rate = forms.IntegerField(
        label="Minimum approval rate (percent)",
        min_value=0,
        max_value=100,
        initial=0,
        help_text="Share of a worker's earlier tasks that were approved. 0 is no condition; nocaps used 95.",
    )
    approved_tasks = forms.IntegerField(
        label="Minimum number of approved tasks",
        min_value=0,
        max_value=1_000_000,
        initial=0,
        help_text="0 is no condition; nocaps used 5,000.",
    )
    countries = forms.CharField(
        label="Countries",
        required=False,
        max_length=1000,
        help_text="Countries of residence as codes of two letters, for example US, GB. If empty, all are"
        " accepted; nocaps used US.",
    )
    name = forms.CharField(
        label="Name of the panel",
        max_length=50,
        initial="prolific",
        validators=[_name],
        help_text="Under a new name, the same people count as new workers.",
    )
    participant = forms.CharField(label="Parameter with the participant's id", validators=[_parameter])
    study = forms.CharField(label="Parameter with the study's id", validators=[_parameter])
    session = forms.CharField(label="Parameter with the session's id", validators=[_parameter])
    keys = forms.CharField(
        label="Key set (JSON)",
        required=False,
        max_length=100_000,
        widget=forms.Textarea({"rows": 4, "class": "code", "spellcheck": "false"}),
        help_text="The public keys of the panel as a JSON Web Key Set; Prolific publishes it at"
        " https://api.prolific.com/.well-known/study/jwks.json. With keys, only signed links are accepted.",
    )
    audience = forms.CharField(
        label="Audience", required=False, max_length=500, help_text="Name of this server in the signature."
    )
    parameter = forms.CharField(label="Parameter with the signature", validators=[_parameter])
    claim = forms.CharField(label="Claim with the ids", max_length=200)

    def __init__(self, *arguments: Any, origin: str, saved: PanelSettings | None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial = _list_values(saved, origin)

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that every panel needs."""
        return [self[name] for name in ("platform", "studies", "answers", "redirect")]

    @property
    def groups(self) -> dict[str, list[forms.BoundField]]:
        """The fields that usually keep their defaults, by group."""
        return {
            "Mechanical Turk": [self[name] for name in _EXTERNAL_QUESTION],
            "Conditions for workers": [self[name] for name in _CONDITIONS],
            "Other panels": [self["name"], *(self[name] for name in _IDS)],
            "Signed links": [self[name] for name in ("keys", "audience", "parameter", "claim")],
        }

    @property
    def more_is_wrong(self) -> bool:
        """Whether a field of the groups has an error."""
        return any(field.errors for fields in self.groups.values() for field in fields)

    def clean_studies(self) -> list[str]:
        """Return the ids of the studies."""
        found = list(dict.fromkeys(self.cleaned_data["studies"].replace(",", " ").split()))
        for one in found:
            try:
                _id(one)
            except ValidationError:
                raise ValidationError(f"“{one[:50]}” is not an id of a study.") from None
        return found

    def clean_countries(self) -> list[str]:
        """Return the codes of the countries."""
        found = list(dict.fromkeys(self.cleaned_data["countries"].upper().replace(",", " ").split()))
        for one in found:
            if not _COUNTRY.fullmatch(one):
                raise ValidationError(f"“{one[:50]}” is not the code of a country, such as US.")
        return found

    def clean_redirect(self) -> str:
        """Return the URL to which workers return."""
        address: str = self.cleaned_data["redirect"]
        if address and not (address.startswith("https://") and address.count("{code}") == 1):
            raise ValidationError(
                f"The address must begin with https:// and contain {{code}} once: {PROLIFIC_RETURN}"
            )
        return address

    def clean_keys(self) -> dict[str, Any] | None:
        """Return the key set; None if links are not signed."""
        text = self.cleaned_data["keys"].strip()
        if not text:
            return None
        try:
            found = Signature.model_validate({"audience": "any", "keys": json.loads(text)})
        except SettingsError as error:
            problems = [one["msg"].removeprefix("Value error, ") for one in error.errors()]
            raise ValidationError([f"The keys {problem}." for problem in problems]) from None
        except (ValueError, RecursionError):
            raise ValidationError("The keys must be JSON: copy the whole file.") from None
        return found.keys

    def clean(self) -> dict[str, Any]:
        """Check the fields that depend on each other."""
        found = super().clean() or {}
        if found.get("keys") and found.get("platform") == "external_question":
            self.add_error("keys", "Mechanical Turk does not sign its links.")
        if found.get("keys") and not found.get("audience"):
            self.add_error("audience", "Signed links need an audience, such as the address of this server.")
        names = [found[name] for name in _IDS if name in found]
        if len(set(names)) != len(names):
            self.add_error("session", "The three parameters must have different names.")
        return found

    @property
    def content(self) -> dict[str, Any]:
        """The settings for `panels.set_panel`."""
        given = self.cleaned_data
        special = {"platform", *_EXTERNAL_QUESTION, *_SIGNATURE}
        found = {name: value for name, value in given.items() if name not in special}
        if given["platform"] == "external_question":
            question = {"frame_height": given["frame_height"], "reward": f"{given['reward']:.2f}"}
            fixed = {"redirect": "", "external_question": question, **PARAMETERS}
            # The name of a new form is Prolific's.
            name = "mturk" if given["name"] == self.fields["name"].initial else given["name"]
            return {**found, **fixed, "name": name}
        if given["keys"]:
            found["signed"] = {name: given[name] for name in _SIGNATURE}
        return found


def _list_values(saved: PanelSettings | None, origin: str) -> dict[str, Any]:
    """Return the values of the form for a panel, or the defaults of a new one."""
    defaults = Signature.model_fields
    values: dict[str, Any] = {name: PanelSettings.model_fields[name].default for name in _IDS}
    values |= {name: defaults[name].default for name in ("parameter", "claim")}
    values["audience"] = origin
    if saved is None:
        return values
    values |= saved.model_dump(exclude={"codes", "signed", "external_question"})
    if saved.external_question is not None:
        values |= {"platform": "external_question", **saved.external_question.model_dump()}
    values["studies"] = "\n".join(saved.studies)
    values["countries"] = ", ".join(saved.countries)
    if saved.signed is not None:
        values |= saved.signed.model_dump() | {"keys": json.dumps(saved.signed.keys, indent=2)}
    return values


class ExportForm(forms.Form):
    """Form to upload a panel's export of submissions."""

    export = forms.FileField(
        label="Export of submissions (CSV)",
        max_length=200,
        widget=forms.ClearableFileInput({"accept": ".csv,text/csv"}),
        help_text="In Prolific, open the study and download its submissions as CSV; in Mechanical Turk,"
        " download the results. The file is compared and not stored.",
    )
