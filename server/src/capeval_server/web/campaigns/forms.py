"""Forms of the campaign pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.utils.text import slugify

from capeval_server.annotation.campaigns.creation_drafts import NewCampaign, Uploads
from capeval_server.annotation.core.options import QUALITY_SETTINGS, CampaignOptions
from capeval_server.annotation.core.study_information import STUDY_SETTINGS
from capeval_server.annotation.models import LONGEST_NOTE, Campaign, Review
from capeval_server.annotation.review.answer_explorer import STATES, AnswerFilter, list_signals
from capeval_server.annotation.review.worker_signals import SIGNALS
from capeval_server.annotation.task_types import TaskType, task_named
from capeval_server.annotation.task_types.quiz import quizzes
from capeval_server.annotation.text_rules.rules import LEVELS, RULES
from capeval_server.annotation.workers.enrollment import MOST_INVITES
from capeval_server.challenges.models import ReferenceSet
from capeval_server.challenges.selectors.access import list_organized_challenges, may_create_challenges
from capeval_server.web.campaigns.upload_forms import UploadsForm
from capeval_server.web.option_fields import OptionsForm

__all__ = [
    "AnswerFilterForm",
    "AnswersForm",
    "FreezeForm",
    "InviteForm",
    "NewCampaignForm",
    "PlanForm",
    "QualityForm",
    "ReasonForm",
    "ReviewForm",
    "UseForm",
    "show_new_problem",
]


class NewCampaignForm(UploadsForm, OptionsForm):
    """Form that creates a campaign of a task type."""

    title = forms.CharField(max_length=200)
    slug = forms.SlugField(
        label="Name in URLs",
        max_length=50,
        required=False,
        help_text="Letters, digits, - and _. Cannot be changed later. Visible to workers. By default, the"
        " title in this form.",
    )
    challenge = forms.ChoiceField(
        required=False,
        help_text="Its organizers manage the campaign. Its participants cannot judge its captions.",
    )
    instructions = forms.CharField(
        widget=forms.Textarea({"rows": 12}),
        help_text="Markdown. A heading on the first line becomes the title of the workers' page.",
    )
    consent = forms.CharField(
        widget=forms.Textarea({"rows": 4}),
        help_text="Markdown. Workers must agree to this text before they start. Describe the recorded data,"
        " publication and its license, the deadline for withdrawing, payment, and a contact.",
    )
    quiz = forms.ChoiceField(
        label="Training: quiz on the rules",
        required=False,
        help_text="Included sentences; workers decide whether they break a rule of the instructions. They are"
        " shown below, so that you can adapt them as your own items. Select none if your instructions or item"
        " file contain different ones.",
    )

    field_order = ("title", "items", "pictures", "challenge")

    def __init__(
        self,
        user: User,
        task: TaskType,
        *arguments: Any,
        kept: Uploads | None = None,
        draft: NewCampaign | None = None,
        **options: Any,
    ) -> None:
        super().__init__(CampaignOptions.described(task), *arguments, **options)
        self._kind = task.name
        self._require_files(task, kept or Uploads())
        if draft is not None and draft.origin and "pictures" in self.fields:
            self.fields["pictures"].required = False
        if draft is not None and draft.replaced:
            self.fields["slug"].disabled = True
            self.fields["slug"].help_text = "Cannot be changed."
        challenges = list_organized_challenges(user).order_by("title").values_list("slug", "title")
        none = [("", "None")] if may_create_challenges(user) else []
        self.fields["challenge"].required = not none
        cast(forms.ChoiceField, self.fields["challenge"]).choices = [*none, *challenges]
        defaults = CampaignOptions.of_kind(task.name)
        for name in self._group_of:
            self.fields[name].initial = getattr(defaults, name)
        # Shown with the fields that every campaign needs.
        for name in ("answers", *STUDY_SETTINGS):
            del self._group_of[name]
        if task.written:
            cast(forms.ChoiceField, self.fields["quiz"]).choices = [
                ("", "None"),
                *((name, name) for name in quizzes()),
            ]
        else:
            del self.fields["quiz"]
        for rule in RULES.values() if task.written else ():
            self.fields[f"rule-{rule.name}"] = forms.ChoiceField(
                label=f"Rule {rule.name}",
                choices=[(level, level) for level in LEVELS],
                initial=rule.level,
                help_text=rule.why,
            )
            self._group_of[f"rule-{rule.name}"] = "Rules for captions"

    def _require_files(self, task: TaskType, kept: Uploads) -> None:
        """Require the files that the task type needs and that are not kept."""
        self.fields["items"].required = not (kept.table_name or task.needs_image)
        self.fields["pictures"].required = not kept.pictures_name
        self.describe_files(task)

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that every campaign needs. The others usually keep their defaults."""
        names = ("title", "items", "pictures", "answers", "challenge")
        return [self[name] for name in names if name in self.fields]

    @property
    def study(self) -> dict[str, list[forms.BoundField]]:
        """The information about the study, which every campaign needs to open, below its heading."""
        group = CampaignOptions.described()[STUDY_SETTINGS[0]]["group"]
        return {group: [self[name] for name in STUDY_SETTINGS]}

    @property
    def texts(self) -> list[forms.BoundField]:
        """The name in URLs, and the texts for workers."""
        names = ("slug", "instructions", "consent", "quiz")
        return [self[name] for name in names if name in self.fields]

    @property
    def more_is_wrong(self) -> bool:
        """Whether one of the other fields has an error."""
        return any(self[name].errors for name in self._group_of) or any(each.errors for each in self.texts)

    def fill(self, draft: NewCampaign, uploads: str) -> NewCampaign:
        """Return a draft with the submitted values.

        Args:
            draft: The earlier draft, whose columns are kept.
            uploads: SHA-256 of the uploaded files.
        """
        values = {
            name: value
            for name, value in self.cleaned_data.items()
            if not isinstance(self.fields[name], forms.FileField)
        }
        draft = replace(draft, uploads=uploads, values=values)
        if not self.is_valid():
            return draft
        about = {name: values[name] for name in ("title", "challenge", "instructions", "consent")}
        about |= {"slug": values["slug"] or _create_slug(values["title"])}
        about |= {"kind": self._kind, "quiz": values.get("quiz", "")}
        return replace(draft, about=about, options=self.options(), rules=self.rules())

    def options(self) -> dict[str, Any]:
        """Return the submitted options."""
        return {
            name: value for name, value in self.cleaned_data.items() if name in CampaignOptions.model_fields
        }

    def rules(self) -> dict[str, str]:
        """Return the levels of caption rules that differ from the defaults."""
        levels = {
            rule.name: self.cleaned_data.get(f"rule-{rule.name}", rule.level) for rule in RULES.values()
        }
        return {name: level for name, level in levels.items() if level != RULES[name].level}


def _create_slug(title: str) -> str:
    """Return a name in URLs for a title; with a number if it is taken."""
    begin = slugify(title)[:40].strip("-_") or "campaign"
    taken = set(Campaign.objects.filter(slug__startswith=begin).values_list("slug", flat=True))
    names = (begin, *(f"{begin}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def show_new_problem(form: NewCampaignForm, text: str, table: str = "") -> None:
    """Add the validation errors of a new campaign to the fields that they concern.

    Args:
        form: The form.
        text: The errors.
        table: Name of the uploaded file of items.
    """
    place, _, message = text.partition(": ")
    if place in ("campaign.items", table) or place.startswith("items."):
        form.add_error("items", message)
    elif text.startswith("campaign.slug"):
        form.add_error("slug", text.removeprefix("campaign.slug "))
    elif not text.startswith("campaign.toml: "):
        form.add_error("pictures" if "pictures" in form.fields else None, text)
    else:
        for part in text.removeprefix("campaign.toml: ").split("; "):
            place, _, message = part.partition(": ")
            field = place.rpartition(".")[2]
            form.add_error(field if field in form.fields else None, message if field in form.fields else part)


class AnswersForm(OptionsForm):
    """Form that changes the number of answers per item."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__({"answers": CampaignOptions.described()["answers"]}, *arguments, **options)


class QualityForm(OptionsForm):
    """Form that changes the quality settings of a campaign."""

    def __init__(self, task: TaskType, *arguments: Any, **options: Any) -> None:
        described = CampaignOptions.described(task)
        quality = {name: described[name] for name in QUALITY_SETTINGS if name in described}
        super().__init__(quality, *arguments, **options)


class ReasonForm(forms.Form):
    """Form that asks for a reason."""

    reason = forms.CharField(max_length=LONGEST_NOTE, widget=forms.Textarea({"rows": 2}))


class InviteForm(forms.Form):
    """Form to create invite links."""

    number = forms.IntegerField(
        label="Number of links",
        min_value=1,
        max_value=min(MOST_INVITES, 1000),
        initial=1,
        help_text="One link per person.",
    )


class ReviewForm(forms.Form):
    """Form to review an answer."""

    verdict = forms.ChoiceField(choices=[(one, one) for one in ("fine", "rejected")])
    reason = forms.ChoiceField(
        required=False,
        label="Reason to reject",
        choices=[("", "Select a reason"), *((one, one) for one in Review.Reason.values[1:])],
        help_text="A rejected item goes to another worker.",
    )
    note = forms.CharField(required=False, max_length=LONGEST_NOTE)


class AnswerFilterForm(forms.Form):
    """Form that chooses answers of a campaign."""

    state = forms.ChoiceField(required=False, choices=list(STATES.items()))
    signal = forms.ChoiceField(required=False, label="Reason for review")
    category = forms.ChoiceField(required=False, label="Class")
    worker = forms.CharField(required=False, max_length=16)
    search = forms.CharField(required=False, max_length=200, label="Text")
    worker_signal = forms.ChoiceField(
        required=False,
        label="Worker signal",
        choices=[("", "Any or none"), ("any", "Any signal"), *SIGNALS.items()],
    )
    disagreement = forms.BooleanField(required=False, label="Answers differ")

    def __init__(self, campaign: Campaign, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        classes = campaign.items.exclude(category="").order_by("category").values_list("category", flat=True)
        for name, values in (("signal", list_signals(campaign)), ("category", list(classes.distinct()))):
            choices = [("", "Any"), *((value, value) for value in values)]
            cast(forms.ChoiceField, self.fields[name]).choices = choices
            if not values:
                del self.fields[name]
        task = task_named(campaign.kind)
        if not task.reviewed:
            names = ("all", "counted", "uncounted", "training")
            states = [(name, STATES[name]) for name in names]
            cast(forms.ChoiceField, self.fields["state"]).choices = states
        if task.written:
            # Captions always differ: a signal finds those that are too different.
            del self.fields["disagreement"]

    def get_filter(self) -> AnswerFilter:
        """Return the valid choice."""
        given = {name: value for name, value in self.cleaned_data.items() if value}
        return AnswerFilter(**given)


class FreezeForm(forms.Form):
    """Form to freeze a release."""

    name = forms.CharField(max_length=50, help_text="Letters, digits, . and -, for example 1.0.")
    plans = forms.FileField(
        label="Plan file",
        required=False,
        max_length=100,
        help_text="JSON that defines the splits, the references per image and the held-out captions."
        " Without a plan file, a split “all” contains all captions of all images.",
    )
    seed = forms.IntegerField(min_value=0, initial=0, help_text="Seed of random selections.")
    leave_out = forms.BooleanField(
        label="Leave out incomplete items", required=False, help_text="Otherwise freezing is refused."
    )
    without_invisible = forms.BooleanField(
        label="Remove invisible characters from captions",
        required=False,
        help_text="The manifest lists removed characters. Otherwise, freezing is refused.",
    )

    def __init__(self, *arguments: Any, judged: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if judged:
            del self.fields["plans"], self.fields["without_invisible"]


class UseForm(forms.Form):
    """Form that selects the reference set for a split of a release."""

    split = forms.ChoiceField(label="Split of the release")
    references = forms.ChoiceField(help_text="The release must contain captions for exactly their images.")

    def __init__(self, user: User, splits: list[str], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        cast(forms.ChoiceField, self.fields["split"]).choices = [(name, name) for name in splits]
        sets = ReferenceSet.objects.filter(split__challenge__in=list_organized_challenges(user).values("pk"))
        cast(forms.ChoiceField, self.fields["references"]).choices = [
            (str(one.pk), f"{one.split.challenge.title}: {one.split.name}, {one.name}")
            for one in sets.select_related("split__challenge").order_by("split__challenge__title", "pk")
        ]


class PlanForm(forms.Form):
    """Form with the assumptions of the time and cost estimate."""

    seconds = forms.FloatField(label="Time per answer (seconds)", min_value=0.1, max_value=86_400)
    hourly = forms.FloatField(label="Hourly pay", min_value=0.01, max_value=1e6, help_text="In any currency.")
    fee = forms.FloatField(label="Panel fee (%)", min_value=0, max_value=1000)
    workers = forms.IntegerField(label="Concurrent workers", min_value=1, max_value=1_000_000)
    hours = forms.FloatField(label="Hours per worker per day", min_value=0.01, max_value=24)
    yes = forms.FloatField(
        label="Share of answers that are yes or for the first choice (%)", min_value=0.1, max_value=99.9
    )
    concentration = forms.ChoiceField(
        label="Disagreement between workers",
        choices=[("0.2", "Low"), ("1", "Medium"), ("5", "High (near chance)")],
    )

    def __init__(self, *arguments: Any, shares: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if not shares:
            del self.fields["yes"], self.fields["concentration"]
