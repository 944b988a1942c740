"""What organizers fill in."""

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

__all__ = [
    "AboutForm",
    "AnnouncementForm",
    "BlockForm",
    "ConfirmUploadForm",
    "FieldSet",
    "FilesForm",
    "FilterForm",
    "MarkForm",
    "NewChallengeForm",
    "OrganizerForm",
    "ParticipantForm",
    "PhaseForm",
    "PictureForm",
    "QuotaIncreaseForm",
    "ReferencesForm",
    "ReportedForm",
    "RerunForm",
    "WebhookForm",
    "declared",
    "show_new_problem",
    "show_problems",
]


class FilesForm(forms.Form):
    """Takes a zip of a challenge's files."""

    file = forms.FileField(
        label="Zip of challenge.toml and its files",
        help_text="In no folder, or all in one. You see what would change before anything is changed.",
        widget=forms.ClearableFileInput({"accept": ".zip,application/zip"}),
    )


class NewChallengeForm(forms.Form):
    """Makes a challenge of one split and one phase; files, or other pages, add more."""

    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Name in addresses",
        max_length=50,
        help_text="Letters, digits, - and _. It can't be changed later.",
    )
    description = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 4}), help_text="Markdown. What the challenge is about."
    )
    rules = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 4}), help_text="Markdown. What participants agree to."
    )
    split = forms.CharField(
        label="Split",
        max_length=50,
        initial="test",
        help_text="The name of the images to caption, such as test.",
    )
    references = forms.FileField(
        label="File of references",
        help_text="JSON: COCO's annotations, or captions by image id. Its images are those to caption.",
        max_length=100,
    )
    reference_set = forms.CharField(
        label="Name of the references", max_length=50, initial="c5", help_text="Such as c5 for five an image."
    )
    public = forms.BooleanField(
        label="The references are public",
        required=False,
        help_text="Scores of single images are shown then, and all digits.",
    )
    human = forms.FileField(
        label="Captions by people",
        required=False,
        help_text="A file of results, which are not among the references: the human baseline.",
        max_length=100,
    )
    subsets = forms.FileField(
        label="Subsets",
        required=False,
        help_text="JSON with the image ids of each subset, which gets scores of its own.",
        max_length=100,
    )
    metrics = MetricsField(help_text="Each submission is scored with all of these.")
    sort_by = forms.CharField(
        label="Score that ranks",
        max_length=50,
        initial=DEFAULT[-1],
        help_text="The name of a score of one of the metrics.",
        widget=forms.TextInput({"list": "scores", "autocomplete": "off"}),
    )
    phase = forms.CharField(
        label="Phase", max_length=50, initial="open", help_text="The name of the time in which to submit."
    )
    opens = forms.DateTimeField(label="Opens (UTC)")
    closes = forms.DateTimeField(label="Closes (UTC)")
    quota_per_day = forms.IntegerField(
        label="Submissions a day", help_text="Of a team; days end at midnight, UTC.", min_value=1, initial=5
    )
    quota_total = forms.IntegerField(
        label="Submissions in all", help_text="Of a team.", min_value=1, initial=100
    )
    leaderboard = forms.ChoiceField(label="Who sees the leaderboard", choices=Phase.Leaderboard.choices)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in ("opens", "closes"):
            self.fields[name].widget = _time_input()

    def scores(self) -> list[str]:
        """Return the names of scores that the page suggests."""
        return list_scores()


# What a problem's place in a definition is called, by the fields that it is about.
_PLACES = {
    "challenge.slug": "slug",
    "challenge.title": "title",
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
    """Puts what is wrong with a new challenge to the field that it is about."""
    for part in text.removeprefix("challenge.toml: ").split("; "):
        place, _, message = part.partition(": ")
        field = _PLACES.get(place.strip("'"))
        if field is None:
            # Models check one field against another, and name the field in their message.
            first = message.partition(" ")[0].strip("'")
            field = first if first in ("closes", "sort_by") else None
        form.add_error(field, message if field else part)


def _time_input() -> forms.DateTimeInput:
    # Seconds are kept, which a browser leaves out of what it shows when they are none.
    return forms.DateTimeInput({"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")


class ReferencesForm(forms.Form):
    """Takes a file of references."""

    file = forms.FileField(
        label="File of references",
        help_text="One file with captions of exactly the split's images. You confirm it on the next page.",
        max_length=100,
    )


class ReportedForm(forms.Form):
    """Takes a file of scores that were reported elsewhere."""

    name = forms.CharField(
        max_length=50,
        help_text="Letters, digits, - and _, such as coco-2015. The same name replaces the rows.",
    )
    title = forms.CharField(
        max_length=200, label="What they are", help_text="Such as: COCO's leaderboard of 2015, c5."
    )
    url = forms.CharField(
        max_length=500, required=False, label="Where they were reported", help_text="An address."
    )
    ranked = forms.BooleanField(
        required=False, label="Show the rank that each row would have", help_text="Teams keep their ranks."
    )
    file = forms.FileField(
        help_text="CSV with a column team, optional columns method, date, url and publication, and a column"
        " for each score; or the JSON of COCO's leaderboards.",
        max_length=100,
    )


class ConfirmUploadForm(forms.Form):
    """Confirms a file that was sent before."""

    sha256 = forms.RegexField("^[0-9a-f]{64}$", widget=forms.HiddenInput)
    seen = forms.RegexField("^[0-9a-f]{1,64}$", widget=forms.HiddenInput)
    name = forms.CharField(max_length=100, required=False, widget=forms.HiddenInput)


class AboutForm(forms.Form):
    """A challenge's texts."""

    title = forms.CharField(max_length=200)
    description = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 8}), help_text="Markdown. What the challenge is about."
    )
    rules = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 12}), help_text="Markdown. What participants agree to."
    )
    # The form's own data has another place: Django takes fields off the class.
    data = forms.CharField(  # type: ignore[assignment]
        required=False,
        widget=forms.Textarea({"rows": 6}),
        help_text="Markdown. Where the data is, and how to use it.",
    )
    faq = forms.CharField(label="FAQ", required=False, widget=forms.Textarea({"rows": 6}))
    contact = forms.CharField(required=False, widget=forms.Textarea({"rows": 3}))
    approval = forms.BooleanField(
        label="Participants must be approved",
        required=False,
        help_text="An organizer approves each of them before they can submit.",
    )
    seen = forms.CharField(max_length=64, widget=forms.HiddenInput)


class _DeclaredField(forms.Form):
    """A field that submitters declare."""

    name = forms.CharField(label="Name", max_length=50, required=False)
    required = forms.BooleanField(label="Required", required=False)
    shown = forms.BooleanField(label="Shown", required=False, initial=True)


FieldSet = forms.formset_factory(_DeclaredField, extra=2, max_num=50, absolute_max=60)


def declared(fields: forms.BaseFormSet[_DeclaredField]) -> list[dict[str, Any]]:
    """The fields as a definition says them; those without a name are left out."""
    filled = [form.cleaned_data for form in fields.forms if form.cleaned_data.get("name")]
    return [{name: found[name] for name in ("name", "required", "shown")} for found in filled]


class PhaseForm(forms.Form):
    """A phase."""

    name = forms.CharField(
        max_length=50, help_text="Part of its address: letters, digits, - and _. It can't be changed later."
    )
    opens = forms.DateTimeField(label="Opens (UTC)")
    closes = forms.DateTimeField(label="Closes (UTC)")
    splits = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, help_text="A submission must have results of each."
    )
    quota_per_day = forms.IntegerField(
        label="Submissions a day", help_text="Of a team; days end at midnight, UTC.", min_value=1
    )
    quota_total = forms.IntegerField(label="Submissions in all", help_text="Of a team.", min_value=1)
    leaderboard = forms.ChoiceField(label="Who sees the leaderboard", choices=Phase.Leaderboard.choices)
    captions = forms.MultipleChoiceField(
        label="Captions that everybody may read",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Of these splits, a page shows the captions of submissions on the leaderboard side by side,"
        " while everybody may see the leaderboard. References and scores of single images are shown only"
        " where the references are public.",
    )
    captions_by = forms.ChoiceField(
        label="Whose captions",
        choices=Phase.CaptionsBy.choices,
        help_text="Teams agree on the page of their team. Tell participants before you choose all.",
    )
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, challenge: Challenge, phase: Phase | None, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in ("opens", "closes"):
            self.fields[name].widget = _time_input()
        splits = cast(forms.MultipleChoiceField, self.fields["splits"])
        splits.choices = [
            (name, name) for name in challenge.splits.order_by("name").values_list("name", flat=True)
        ]
        cast(forms.MultipleChoiceField, self.fields["captions"]).choices = splits.choices
        if phase is not None:
            # Disabled: its value is the initial one, whatever is sent.
            self.fields["name"].disabled = True
            self.fields["name"].help_text = ""
            if phase.submissions.exists():
                splits.disabled = True
                splits.help_text = "They can't be changed: there are submissions."


class MarkForm(forms.Form):
    """Says what an organizer thinks of a submission."""

    mark = forms.ChoiceField(
        label="Mark",
        required=False,
        choices=[
            ("", "None"),
            (Submission.Mark.FLAGGED, "Flagged: on the leaderboard, with the reason"),
            (Submission.Mark.HIDDEN, "Hidden: not on the leaderboard"),
        ],
    )
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        required=False,
        widget=forms.Textarea({"rows": 3}),
        help_text="The team sees it.",
    )


class QuotaIncreaseForm(forms.Form):
    """Gives a team more of a phase's quota."""

    phase = forms.ChoiceField(widget=forms.HiddenInput)
    per_day = forms.IntegerField(label="Extra per day", min_value=0, max_value=MOST_PER_DAY)
    total = forms.IntegerField(label="Extra in total", min_value=0, max_value=MOST_IN_ALL)

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _offer_phases(self.fields["phase"], challenge, all_phases=False)


class OrganizerForm(forms.Form):
    """Names a user."""

    username = forms.CharField(
        label="Username", max_length=User._meta.get_field("username").max_length, strip=True
    )


class ParticipantForm(forms.Form):
    """Says what is done with a participant."""

    act = forms.ChoiceField(
        choices=[(act, act) for act in ("approve", "approve_all", "remove", "block", "unblock")]
    )
    username = forms.CharField(max_length=150, required=False, strip=True)
    reason = forms.CharField(max_length=LONGEST_REASON, required=False)


class AnnouncementForm(forms.Form):
    """Says what is announced."""

    title = forms.CharField(max_length=LONGEST_TITLE)
    text = forms.CharField(
        max_length=LONGEST_TEXT,
        widget=forms.Textarea({"rows": 6}),
        help_text="Markdown. It is on the challenge's page, and is mailed to all who take part.",
    )


class WebhookForm(forms.Form):
    """Names an address that is told what happens."""

    url = forms.CharField(label="Address", max_length=500, widget=forms.URLInput)


class PictureForm(forms.Form):
    """Takes a picture."""

    file = forms.FileField(
        label="Picture",
        help_text="PNG, JPEG, WebP or GIF, of at most 2 MiB. One of the same name is replaced.",
        max_length=100,
        widget=forms.ClearableFileInput({"accept": ".png,.jpg,.jpeg,.webp,.gif"}),
    )


class BlockForm(forms.Form):
    """Names a user to block, and says why."""

    username = forms.CharField(label="Username", max_length=150, strip=True)
    reason = forms.CharField(
        label="Reason", max_length=LONGEST_REASON, help_text="The user sees it when they try to join."
    )


class RerunForm(forms.Form):
    """Says which submissions are to be scored again."""

    phase = forms.ChoiceField(required=False)
    which = forms.ChoiceField(
        label="Which", choices=[("failed", "Those that failed, or that a metric failed on"), ("all", "All")]
    )

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _offer_phases(self.fields["phase"], challenge)


class FilterForm(forms.Form):
    """Says which submissions to list."""

    state = forms.ChoiceField(
        required=False, choices=[("", "Any state"), *((state, state) for state in Submission.State.values)]
    )
    phase = forms.ChoiceField(required=False)
    mark = forms.ChoiceField(
        required=False,
        choices=[("", "Any mark"), ("none", "not marked"), ("flagged", "flagged"), ("hidden", "hidden")],
    )
    failures = forms.BooleanField(label="a metric failed", required=False)
    team = forms.CharField(max_length=60, required=False, widget=forms.TextInput({"type": "search"}))

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "label_suffix": ""})
        _offer_phases(self.fields["phase"], challenge)


def _offer_phases(field: forms.Field, challenge: Challenge, *, all_phases: bool = True) -> None:
    names = challenge.phases.order_by("opens", "name").values_list("name", flat=True)
    first = [("", "All phases")] if all_phases else []
    cast(forms.ChoiceField, field).choices = [*first, *((name, name) for name in names)]


def show_problems(form: forms.Form, error: FieldsError) -> None:
    """Puts what is wrong to the fields it is about."""
    for name, text in error.problems:
        form.add_error(name if name in form.fields else None, text)
