"""Form fields of the options of campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from capeval_server.annotation.core.study_information import STUDY_SETTINGS

__all__ = ["OptionsForm", "create_option_field"]

# The words next to the labels of fields that may be empty until the campaign opens.
_CONDITIONS = {
    **dict.fromkeys(STUDY_SETTINGS, "required to open"),
    "pay_terms": "required to open without a pay per answer",
}
_NUMBER_FIELDS = {"integer": forms.IntegerField, "number": forms.FloatField}


def create_option_field(name: str, about: Mapping[str, Any]) -> forms.Field:
    """Return the form field of an option, with its description from `CampaignOptions.described`."""
    made = _create_field(about)
    if name in _CONDITIONS:
        # For field.html.
        made.condition = _CONDITIONS[name]  # type: ignore[attr-defined]
    return made


def _create_field(about: Mapping[str, Any]) -> forms.Field:
    texts = {"label": about["title"], "help_text": about["description"]}
    if "enum" in about:
        choices = [(value, value.capitalize()) for value in about["enum"]]
        return forms.ChoiceField(choices=choices, **texts)
    if about["type"] in _NUMBER_FIELDS:
        least = about.get("minimum", about.get("exclusiveMinimum"))
        return _NUMBER_FIELDS[about["type"]](min_value=least, max_value=about["maximum"], **texts)
    kind = forms.BooleanField if about["type"] == "boolean" else forms.CharField
    return kind(required=False, **texts)


class OptionsForm(forms.Form):
    """Form with a field for each of some options, in a fieldset for each group."""

    def __init__(self, described: Mapping[str, Mapping[str, Any]], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields |= {name: create_option_field(name, about) for name, about in described.items()}
        self._group_of = {name: about["group"] for name, about in described.items()}

    @property
    def groups(self) -> dict[str, list[forms.BoundField]]:
        """The fields of each group."""
        found: dict[str, list[forms.BoundField]] = {}
        for name, group in self._group_of.items():
            found.setdefault(group, []).append(self[name])
        return found
