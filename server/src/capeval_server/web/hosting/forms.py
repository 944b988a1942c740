"""Forms of the organizer pages."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User

from capeval.metrics import DEFAULT
from capeval_server.challenges.models import MOST_IN_ALL, MOST_PER_DAY, Challenge, Phase
from capeval_server.hosting.services.settings import FieldsError
from capeval_server.notifications.services import LONGEST_TEXT, LONGEST_TITLE
from capeval_server.submissions.models import LONGEST_REASON, Submission
from capeval_server.web.hosting.metric_choice import MetricsField, list_scores
from capeval_server.web.hosting.settings_forms import create_time_input

__all__ = [
    "AnnouncementForm",
    "BlockForm",
    "ConfirmUploadForm",
    "FilesForm",
    "FilterForm",
    "MarkForm",
    "NewChallengeForm",
    "OrganizerForm",
    "ParticipantForm",
    "PictureForm",
    "QuotaIncreaseForm",
    "ReferencesForm",
    "ReportedForm",
    "RerunForm",
    "WebhookForm",
    "show_new_problem",
    "show_problems",
]


class FilesForm(forms.Form):
    """Form to upload a zip of a challenge's files."""

    file = forms.FileField(
        label="Zip of challenge.toml and its files",
        help_text="Files in no folder, or all in one. You can check the changes before you apply them.",
        widget=forms.ClearableFileInput({"accept": ".zip,application/zip"}),
    )


class NewChallengeForm(forms.Form):
    """Form to create a challenge with one split and one phase.

    More splits and phases are added with files or on other pages.
    """

    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Name in URLs",
        max_length=50,
        help_text="Letters, digits, - and _. Cannot be changed later.",
    )
    description = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 4}), help_text="Markdown. Describes the challenge."
    )
    rules = forms.CharField(
        required=False,
        widget=forms.Textarea({"rows": 4}),
        help_text="Markdown. Participants must accept the rules.",
    )
    visibility = forms.ChoiceField(
        choices=[
            (value, text)
            for value, text in Challenge.Visibility.choices
            if value != Challenge.Visibility.ARCHIVED
        ],
        initial=Challenge.Visibility.DRAFT,
        help_text="Only organizers see a draft, so that you can check its pages before you publish it.",
    )
    split = forms.CharField(
        label="Split",
        max_length=50,
        initial="test",
        help_text="Name of the set of images to caption, such as test.",
    )
    references = forms.FileField(
        label="Reference file",
        help_text="JSON: COCO annotations, or captions by image id. Defines the split's images.",
        max_length=100,
    )
    reference_set = forms.CharField(
        label="Name of the references",
        max_length=50,
        initial="c5",
        help_text="For example c5, for five per image.",
    )
    public = forms.BooleanField(
        label="The references are public",
        required=False,
        help_text="If they are public, per-image scores and full precision are shown.",
    )
    human = forms.FileField(
        label="Human captions",
        required=False,
        help_text="Results file for the human baseline, with captions that are not references.",
        max_length=100,
    )
    subsets = forms.FileField(
        label="Subsets",
        required=False,
        help_text="JSON with the image ids of each subset. Subsets are scored separately.",
        max_length=100,
    )
    metrics = MetricsField(help_text="Each submission is scored with all selected metrics.")
    sort_by = forms.CharField(
        label="Ranking score",
        max_length=50,
        initial=DEFAULT[-1],
        help_text="Name of a score of one of the metrics.",
        widget=forms.TextInput({"list": "scores", "autocomplete": "off"}),
    )
    phase = forms.CharField(
        label="Phase", max_length=50, initial="open", help_text="Name of the submission period."
    )
    opens = forms.DateTimeField(label="Opens (UTC)")
    closes = forms.DateTimeField(label="Closes (UTC)")
    quota_per_day = forms.IntegerField(
        label="Submissions per day", help_text="Per team. Days end at midnight UTC.", min_value=1, initial=5
    )
    quota_total = forms.IntegerField(
        label="Submissions in total", help_text="Per team.", min_value=1, initial=100
    )
    leaderboard = forms.ChoiceField(label="Leaderboard visibility", choices=Phase.Leaderboard.choices)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in ("opens", "closes"):
            self.fields[name].widget = create_time_input()

    def scores(self) -> list[str]:
        """Return the score names that the page suggests."""
        return list_scores()


# Form fields by the path of a problem in the definition.
_FIELD_BY_PATH = {
    "challenge.slug": "slug",
    "challenge.title": "title",
    "challenge.visibility": "visibility",
    "splits[0].name": "split",
    "splits[0].sort_by": "sort_by",
    "splits[0].metrics": "metrics",
    "splits[0].references[0].name": "reference_set",
    "phases[0].name": "phase",
    "phases[0].closes": "closes",
    "phases[0].quota_per_day": "quota_per_day",
    "phases[0].quota_total": "quota_total",
    **{f"{name}.json": name for name in ("references", "human", "subsets")},
    **{f"{name}.jsonl": name for name in ("references", "human", "subsets")},
}


def show_new_problem(form: NewChallengeForm, text: str) -> None:
    """Add the validation errors of a new challenge to the fields that they concern."""
    for part in text.removeprefix("challenge.toml: ").split("; "):
        place, _, message = part.partition(": ")
        field = _FIELD_BY_PATH.get(place.strip("'"))
        form.add_error(field, message if field else part)


class ReferencesForm(forms.Form):
    """Form to upload a reference file."""

    file = forms.FileField(
        label="Reference file",
        help_text="Captions for exactly the images of the split. You confirm on the next page.",
        max_length=100,
    )


class ReportedForm(forms.Form):
    """Form to import a file of scores that were reported elsewhere."""

    name = forms.CharField(
        max_length=50,
        help_text="Letters, digits, - and _, for example coco-2015. Replaces rows of the same name.",
    )
    title = forms.CharField(
        max_length=200, label="Title", help_text="For example: COCO leaderboard of 2015, c5."
    )
    url = forms.CharField(
        max_length=500, required=False, label="Source URL", help_text="Page that reports the scores."
    )
    ranked = forms.BooleanField(
        required=False,
        label="Show the rank that each row would have",
        help_text="Ranks of teams do not change.",
    )
    file = forms.FileField(
        help_text="CSV with a column team, optional columns method, date, url, publication and declared"
        " fields, and one column per score; or JSON in the format of the COCO leaderboards.",
        max_length=100,
    )


class ConfirmUploadForm(forms.Form):
    """Form that confirms a previewed upload."""

    sha256 = forms.RegexField("^[0-9a-f]{64}$", widget=forms.HiddenInput)
    seen = forms.RegexField("^[0-9a-f]{1,64}$", widget=forms.HiddenInput)
    name = forms.CharField(max_length=100, required=False, widget=forms.HiddenInput)


class MarkForm(forms.Form):
    """Form to flag or hide a submission."""

    mark = forms.ChoiceField(
        label="Mark",
        required=False,
        choices=[
            ("", "None"),
            (Submission.Mark.FLAGGED, "Flagged: shown on the leaderboard with the reason"),
            (Submission.Mark.HIDDEN, "Hidden: removed from the leaderboard"),
        ],
    )
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        required=False,
        widget=forms.Textarea({"rows": 3}),
        help_text="Visible to the team.",
    )


class QuotaIncreaseForm(forms.Form):
    """Form to increase a team's quota in a phase."""

    phase = forms.ChoiceField(widget=forms.HiddenInput)
    per_day = forms.IntegerField(label="Extra per day", min_value=0, max_value=MOST_PER_DAY)
    total = forms.IntegerField(label="Extra in total", min_value=0, max_value=MOST_IN_ALL)

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _offer_phases(self.fields["phase"], challenge, all_phases=False)


class OrganizerForm(forms.Form):
    """Form to add an organizer."""

    username = forms.CharField(
        label="Username", max_length=User._meta.get_field("username").max_length, strip=True
    )


class ParticipantForm(forms.Form):
    """Form of an action on a participant."""

    act = forms.ChoiceField(
        choices=[(act, act) for act in ("approve", "approve_all", "remove", "block", "unblock")]
    )
    username = forms.CharField(max_length=150, required=False, strip=True)
    reason = forms.CharField(max_length=LONGEST_REASON, required=False)


class AnnouncementForm(forms.Form):
    """Form to publish an announcement."""

    title = forms.CharField(max_length=LONGEST_TITLE)
    text = forms.CharField(
        max_length=LONGEST_TEXT,
        widget=forms.Textarea({"rows": 6}),
        help_text="Markdown. Shown on the challenge's page and mailed to participants.",
    )


class WebhookForm(forms.Form):
    """Form to add a webhook."""

    url = forms.CharField(label="URL", max_length=500, widget=forms.URLInput)


class PictureForm(forms.Form):
    """Form to upload an image."""

    file = forms.FileField(
        label="Image",
        help_text="PNG, JPEG, WebP or GIF, at most 2 MiB. Replaces an image of the same name.",
        max_length=100,
        widget=forms.ClearableFileInput({"accept": ".png,.jpg,.jpeg,.webp,.gif"}),
    )


class BlockForm(forms.Form):
    """Form to block a user."""

    username = forms.CharField(label="Username", max_length=150, strip=True)
    reason = forms.CharField(
        label="Reason", max_length=LONGEST_REASON, help_text="Shown to the user when they try to join."
    )


class RerunForm(forms.Form):
    """Form that selects submissions to score again."""

    phase = forms.ChoiceField(required=False)
    which = forms.ChoiceField(
        label="Submissions", choices=[("failed", "Submissions with failures"), ("all", "All submissions")]
    )

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _offer_phases(self.fields["phase"], challenge)


class FilterForm(forms.Form):
    """Form that filters submissions."""

    state = forms.ChoiceField(
        required=False, choices=[("", "Any state"), *((state, state) for state in Submission.State.values)]
    )
    phase = forms.ChoiceField(required=False)
    mark = forms.ChoiceField(
        required=False,
        choices=[("", "Any mark"), ("none", "not marked"), ("flagged", "flagged"), ("hidden", "hidden")],
    )
    failures = forms.BooleanField(label="with failed metrics", required=False)
    team = forms.CharField(max_length=60, required=False, widget=forms.TextInput({"type": "search"}))

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "label_suffix": ""})
        _offer_phases(self.fields["phase"], challenge)


def _offer_phases(field: forms.Field, challenge: Challenge, *, all_phases: bool = True) -> None:
    names = challenge.phases.order_by("opens", "name").values_list("name", flat=True)
    first = [("", "All phases")] if all_phases else []
    cast(forms.ChoiceField, field).choices = [*first, *((name, name) for name in names)]


def show_problems(form: forms.Form, error: FieldsError) -> None:
    """Add validation errors to the fields that they concern."""
    for name, text in error.problems:
        if name in form.fields:
            form.add_error(name, text)
        else:
            form.add_error(None, f"{name}: {text}" if name else text)
