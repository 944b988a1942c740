"""Forms of the columns and the judging of leaderboards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from capeval_server.annotation.campaigns.leaderboard_judging import (
    DEFAULT_CHECK_EVERY,
    LONGEST_NAME,
    LONGEST_TITLE,
    default_title,
    find_free_name,
    find_taken_names,
)
from capeval_server.annotation.core.options import MOST_ANSWERS, CampaignOptions
from capeval_server.annotation.core.study_information import STUDY_SETTINGS
from capeval_server.annotation.releases.human_columns import list_questions
from capeval_server.annotation.task_types import task_named
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Split
from capeval_server.leaderboards.query import build_query
from capeval_server.submissions.models import Submission
from capeval_server.submissions.selectors.method_names import name_method
from capeval_server.submissions.selectors.scores import score_names
from capeval_server.web.hosting.settings_forms import list_choices
from capeval_server.web.option_fields import create_option_field

__all__ = ["CampaignsForm", "ColumnsForm", "JudgingForm"]


class ColumnsForm(forms.Form):
    """Form to choose the columns of a split's leaderboards."""

    references = forms.MultipleChoiceField(
        label="Reference sets",
        widget=forms.CheckboxSelectMultiple,
        help_text="Each set has its own group of columns.",
    )
    scores = forms.MultipleChoiceField(label="Scores", widget=forms.CheckboxSelectMultiple)
    subsets = forms.MultipleChoiceField(
        label="Subsets",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Columns of each score in addition to all images.",
    )
    judgments = forms.MultipleChoiceField(
        label="Human judgments",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Shown once a campaign of this challenge has a release with these judgments, or reported"
        " scores contain them.",
    )
    mean_rank = forms.MultipleChoiceField(
        label="Mean rank",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="With two or more scores, leaderboards have a column with the mean of each row's ranks by"
        " these scores, and open in its order.",
    )
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, split: Split, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        choices = {
            "references": split.reference_sets.order_by("pk").values_list("name", flat=True),
            "scores": score_names(split),
            "subsets": split.subsets.order_by("pk").values_list("name", flat=True),
            "judgments": list_questions(),
            "mean_rank": score_names(split),
        }
        for name, values in choices.items():
            field = cast(forms.MultipleChoiceField, self.fields[name])
            field.choices = [(value, value) for value in values]
        if not choices["subsets"]:
            del self.fields["subsets"]


class CampaignsForm(forms.Form):
    """Form of an action on several campaigns."""

    campaigns = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    number = forms.IntegerField(
        label="Number of links",
        min_value=1,
        max_value=10_000,
        initial=1,
        required=False,
        help_text="One link per person, for all chosen campaigns.",
    )
    act = forms.ChoiceField(choices=[(act, act) for act in ("links", "open")], widget=forms.HiddenInput)

    def __init__(self, challenge: Challenge, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        rows = challenge.campaigns.order_by("-pk").values_list("slug", "title")
        cast(forms.MultipleChoiceField, self.fields["campaigns"]).choices = [
            (slug, f"{title} ({slug})") for slug, title in rows
        ]
        # The buttons send it.
        self.fields["act"].widget.attrs["disabled"] = True

    def clean_number(self) -> int:
        """Return the number of links, by default one."""
        return self.cleaned_data["number"] or 1


class JudgingForm(forms.Form):
    """Form with the choices for judging a leaderboard."""

    submissions = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    kinds = forms.MultipleChoiceField(
        label="Task types",
        widget=forms.CheckboxSelectMultiple,
        help_text="M1 to M5 are the measures of COCO's challenge of 2015. M4 is shown only together with M3.",
    )
    references = forms.ChoiceField(
        label="References", help_text="Source of the human captions that workers see."
    )
    images = forms.IntegerField(label="Images", min_value=2, max_value=100_000, initial=100)
    answers = forms.IntegerField(
        label="Answers per item",
        min_value=1,
        max_value=MOST_ANSWERS,
        required=False,
        help_text="By default, the number of the task type.",
    )
    check_every = forms.IntegerField(
        label="Attention check interval (answers)",
        min_value=0,
        max_value=1000,
        initial=DEFAULT_CHECK_EVERY,
        help_text="About one answer in this number is to an item with a known answer, such as a caption of a"
        " different image. These answers are not counted. 0 turns checks off.",
    )
    pictures = forms.FileField(
        label="Zip of the images",
        required=False,
        help_text="By default, the images that the challenge has. File names end in the image id, such as"
        " 42.jpg. A forecast needs none.",
        max_length=100,
        widget=forms.ClearableFileInput({"accept": ".zip,application/zip"}),
    )
    # The SHA-256 of a zip that was sent before and is kept.
    kept = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    name = forms.SlugField(
        label="Name in URLs",
        max_length=LONGEST_NAME,
        help_text="The task type is added to it, such as judged-m1.",
    )
    title = forms.CharField(max_length=LONGEST_TITLE)
    hourly = forms.FloatField(
        label="Hourly pay",
        min_value=0.01,
        max_value=1e6,
        initial=12,
        help_text="Only for the forecast, in any currency.",
    )
    fee = forms.FloatField(
        label="Panel fee (%)", min_value=0, max_value=1000, initial=0, help_text="Only for the forecast."
    )

    def __init__(
        self,
        phase: Phase,
        submissions: Sequence[Submission],
        kinds: Sequence[str],
        *arguments: Any,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        described = CampaignOptions.described()
        self.fields |= {name: create_option_field(name, described[name]) for name in STUDY_SETTINGS}
        choices = {
            "submissions": [
                (str(one.pk), f"{one.entrant} ({name_method(one, phase.challenge)})") for one in submissions
            ],
            "kinds": [(kind, _label_kind(kind)) for kind in kinds],
            "references": list_choices(ReferenceSet.objects.filter(split__phases=phase)),
        }
        for name, values in choices.items():
            cast(forms.ChoiceField, self.fields[name]).choices = values
        self.fields["submissions"].initial = [key for key, _ in choices["submissions"]]
        question = build_query(phase)
        self.fields["references"].initial = f"{question.split.name}/{question.reference_set.name}"
        self.fields["images"].initial = min(100, len(question.reference_set.image_ids))
        self.fields["name"].initial = find_free_name(phase)
        self.fields["title"].initial = default_title(phase)

    @property
    def has_kept_pictures(self) -> bool:
        """Whether the zip of the images was sent before and is kept."""
        return self.is_bound and bool(self.data.get("kept"))

    def clean(self) -> dict[str, Any]:
        """Require names of campaigns that are not taken."""
        given = super().clean() or self.cleaned_data
        if "name" in given and (taken := find_taken_names(given["name"], given.get("kinds", []))):
            self.add_error("name", f"Choose a different name: there is already a campaign {taken[0]}.")
        return given


def _label_kind(kind: str) -> str:
    task = task_named(kind)
    return task.title if task.needs_image else f"{task.title}, without images"
