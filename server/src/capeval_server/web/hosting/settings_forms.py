"""Forms of the settings of a challenge and its phases."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.db.models import QuerySet

from capeval_server.challenges.definition import MOST_PAGES
from capeval_server.challenges.models import (
    MOST_DAYS,
    MOST_FINAL,
    MOST_MEMBERS,
    Challenge,
    Phase,
    ReferenceSet,
)

__all__ = [
    "AboutForm",
    "FieldSet",
    "PageSet",
    "PhaseForm",
    "create_time_input",
    "declared",
    "list_choices",
    "list_pages",
]


def create_time_input() -> forms.DateTimeInput:
    """Return a field for a date and a time with seconds."""
    # The step keeps seconds, which browsers hide if they are zero.
    return forms.DateTimeInput({"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")


def list_choices(sets: QuerySet[ReferenceSet]) -> list[tuple[str, str]]:
    """Return reference sets as choices of a form. A value is split and set, such as `test/c5`."""
    rows = sets.order_by("split__name", "pk").values_list("split__name", "name")
    return [(f"{split}/{name}", f"{split}, references {name}") for split, name in rows]


class AboutForm(forms.Form):
    """Form to edit a challenge's texts."""

    title = forms.CharField(max_length=200)
    description = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 8}), help_text="Markdown. Describes the challenge."
    )
    rules = forms.CharField(
        required=False,
        widget=forms.Textarea({"rows": 12}),
        help_text="Markdown. Participants must accept the rules.",
    )
    # Does not clash with the form's attribute `data`: Django removes fields from the class.
    data = forms.CharField(  # type: ignore[assignment]
        required=False,
        widget=forms.Textarea({"rows": 6}),
        help_text="Markdown. Location and use of the data.",
    )
    faq = forms.CharField(label="FAQ", required=False, widget=forms.Textarea({"rows": 6}))
    contact = forms.CharField(required=False, widget=forms.Textarea({"rows": 3}))
    approval = forms.BooleanField(
        label="Participants must be approved",
        required=False,
        help_text="Participants cannot submit before an organizer approves them.",
    )
    visibility = forms.ChoiceField(
        choices=Challenge.Visibility.choices,
        initial=Challenge.Visibility.PUBLIC,
        required=False,
        help_text="For other visitors, the pages and files of a draft or unlisted challenge do not exist.",
    )
    data_released = forms.DateTimeField(
        label="Data released (UTC)",
        required=False,
        help_text="Until then, only organizers can see images and the starting kit. Empty for no limit.",
    )
    invitation_only = forms.BooleanField(
        label="Only invited people can join",
        required=False,
        help_text="With the secret link, which this page then shows, or with the code of a team.",
    )
    email_domains = forms.CharField(
        label="Email domains",
        required=False,
        help_text="Participants need a verified address of one of these, such as example.edu. Separate with"
        " spaces. Empty for all.",
    )
    team_size = forms.IntegerField(
        label="Members per team",
        required=False,
        min_value=1,
        max_value=MOST_MEMBERS,
        help_text="Maximum number of members. Empty for no limit.",
    )
    seen = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def clean_email_domains(self) -> list[str]:
        """Return the domains in lower case."""
        text: str = self.cleaned_data["email_domains"]
        return text.replace(",", " ").lower().split()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial["email_domains"] = " ".join(self.initial.get("email_domains", ()))
        self.fields["data_released"].widget = create_time_input()


class _DeclaredField(forms.Form):
    """A field that submitters declare."""

    name = forms.CharField(label="Name", max_length=50, required=False)
    type = forms.ChoiceField(
        label="Type",
        required=False,
        choices=[
            ("text", "Text"),
            ("choice", "Choice"),
            ("boolean", "Yes or no"),
            ("number", "Number"),
            ("url", "URL"),
        ],
    )
    choices = forms.CharField(label="Choices", required=False, widget=forms.Textarea({"rows": 2}))
    # One line per phase that does not accept all choices.
    phase_choices = forms.CharField(
        label="Choices of single phases",
        required=False,
        widget=forms.Textarea({"rows": 1, "placeholder": "phase: choice | choice"}),
    )
    required = forms.BooleanField(label="Required", required=False)
    shown = forms.BooleanField(label="Shown", required=False, initial=True)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if "choices" in self.initial:
            self.initial = {**self.initial, "choices": "\n".join(self.initial["choices"])}
        if "phase_choices" in self.initial:
            lines = (
                f"{phase}: {' | '.join(accepted)}"
                for phase, accepted in self.initial["phase_choices"].items()
            )
            self.initial = {**self.initial, "phase_choices": "\n".join(lines)}

    def clean_phase_choices(self) -> dict[str, list[str]]:
        """Return the choices that single phases accept, by the name of the phase.

        Raises:
            ValidationError: A line has another format.
        """
        found = {}
        for line in filter(str.strip, self.cleaned_data["phase_choices"].splitlines()):
            phase, colon, accepted = line.partition(":")
            if not colon:
                raise forms.ValidationError(
                    f"must be lines such as 'test: first choice | second choice' (got {line!r})"
                )
            found[phase.strip()] = [choice.strip() for choice in accepted.split("|") if choice.strip()]
        return found

    def describe(self) -> dict[str, Any]:
        """Return the field in the format of a definition."""
        given = self.cleaned_data
        found = {name: given[name] for name in ("name", "required", "shown")}
        if given["type"] not in ("", "text"):
            found["type"] = given["type"]
        if choices := [line.strip() for line in given["choices"].splitlines() if line.strip()]:
            found["choices"] = choices
        if given["phase_choices"]:
            found["phase_choices"] = given["phase_choices"]
        return found


FieldSet = forms.formset_factory(_DeclaredField, extra=2, max_num=50, absolute_max=60)


def declared(fields: forms.BaseFormSet[_DeclaredField]) -> list[dict[str, Any]]:
    """Return the named fields, in the format of a definition."""
    return [form.describe() for form in fields.forms if form.cleaned_data.get("name")]


class _Page(forms.Form):
    """An additional page of text."""

    name = forms.CharField(label="Name in the URL", max_length=50, required=False)
    title = forms.CharField(label="Title", max_length=50, required=False)
    text = forms.CharField(label="Text", required=False, widget=forms.Textarea({"rows": 6}))

    def clean(self) -> dict[str, Any]:
        """Require the name of a page with other content, which would be lost without it."""
        given = super().clean() or self.cleaned_data
        name, title, text = (given.get(field, "") for field in ("name", "title", "text"))
        if title and not name:
            self.add_error("name", "Enter a name. To remove the page, clear its title, too.")
        for field, value in (("title", title), ("text", text)):
            if name and not value:
                self.add_error(field, "Required. To remove the page, clear its name and its title.")
        return given

    def describe(self) -> dict[str, str]:
        """Return the page in the format of a definition."""
        given = self.cleaned_data
        return {**given, "text": given["text"].replace("\r\n", "\n")}


PageSet = forms.formset_factory(_Page, extra=1, max_num=MOST_PAGES, absolute_max=2 * MOST_PAGES)


def list_pages(pages: forms.BaseFormSet[_Page]) -> list[dict[str, str]]:
    """Return the named pages, in the format of a definition."""
    return [form.describe() for form in pages.forms if form.cleaned_data.get("name")]


class PhaseForm(forms.Form):
    """Form to add or change a phase."""

    name = forms.CharField(
        max_length=50, help_text="Part of the URL: letters, digits, - and _. Cannot be changed later."
    )
    opens = forms.DateTimeField(label="Opens (UTC)")
    closes = forms.DateTimeField(label="Closes (UTC)")
    splits = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="A submission must contain results for each selected split.",
    )
    quota_per_day = forms.IntegerField(
        label="Submissions per day", help_text="Per team. Days end at midnight UTC.", min_value=1
    )
    quota_total = forms.IntegerField(label="Submissions in total", help_text="Per team.", min_value=1)
    quota_per_month = forms.IntegerField(
        label="Submissions per month",
        help_text="Per team and calendar month, UTC. Empty for no limit.",
        min_value=1,
        required=False,
    )
    quota_per_window = forms.IntegerField(
        label="Submissions within the days below",
        help_text="Per team, in addition to the other limits. Empty for no limit.",
        min_value=1,
        required=False,
    )
    quota_window_days = forms.IntegerField(
        label="Days of that limit", min_value=1, max_value=MOST_DAYS, required=False
    )
    leaderboard = forms.ChoiceField(label="Leaderboard visibility", choices=Phase.Leaderboard.choices)
    main = forms.ChoiceField(
        label="Main leaderboard",
        required=False,
        help_text="Opens first. By default, it is the split with the phase's name, or else the first one"
        " with private references.",
    )
    requires_choice = forms.BooleanField(
        label="Teams choose the submission on the leaderboard",
        required=False,
        help_text="By default, a team's best submission is on the leaderboard until the team chooses one.",
    )
    blind = forms.BooleanField(
        label="Withhold scores from teams",
        required=False,
        help_text="Until you publish the results, only organizers see scores and the leaderboard.",
    )
    final_submissions = forms.IntegerField(
        label="Final submissions per team",
        min_value=1,
        max_value=MOST_FINAL,
        initial=1,
        required=False,
        help_text="If scores are withheld, a team may choose this many submissions. The best one counts.",
    )
    captions = forms.MultipleChoiceField(
        label="Splits with public captions",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="While the leaderboard is public, a page shows the captions of its submissions for these"
        " splits side by side. References and per-image scores are shown only if the references are public.",
    )
    captions_by = forms.ChoiceField(
        label="Teams with public captions",
        choices=Phase.CaptionsBy.choices,
        help_text="Teams agree on their team's page. Inform participants before you select all teams.",
    )
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def clean_final_submissions(self) -> int:
        """Return the number, by default 1."""
        number: int | None = self.cleaned_data["final_submissions"]
        return number or 1

    def __init__(self, challenge: Challenge, phase: Phase | None, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in ("opens", "closes"):
            self.fields[name].widget = create_time_input()
        splits = cast(forms.MultipleChoiceField, self.fields["splits"])
        splits.choices = [
            (name, name) for name in challenge.splits.order_by("name").values_list("name", flat=True)
        ]
        cast(forms.MultipleChoiceField, self.fields["captions"]).choices = splits.choices
        sets = ReferenceSet.objects.filter(split__challenge=challenge)
        cast(forms.ChoiceField, self.fields["main"]).choices = [("", "Automatic"), *list_choices(sets)]
        if phase is not None:
            # A disabled field keeps its initial value, whatever is submitted.
            self.fields["name"].disabled = True
            self.fields["name"].help_text = ""
            if phase.submissions.exists():
                splits.disabled = True
                splits.help_text = "Cannot be changed, because there are submissions."
