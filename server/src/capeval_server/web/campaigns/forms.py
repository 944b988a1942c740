"""What managers of campaigns fill in."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

from django import forms
from django.contrib.auth.models import User

from capeval_server.annotation.core.options import MOST_ANSWERS, QUALITY_SETTINGS, CampaignOptions
from capeval_server.annotation.models import LONGEST_NOTE, Review
from capeval_server.annotation.task_types import TaskType
from capeval_server.annotation.task_types.quiz import quizzes
from capeval_server.annotation.text_rules.rules import LEVELS, RULES
from capeval_server.annotation.workers.enrollment import MOST_INVITES
from capeval_server.challenges.models import ReferenceSet
from capeval_server.challenges.selectors.access import makes_challenges, organised_by

__all__ = [
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

_MAIN = ("title", "slug", "challenge", "items", "pictures", "instructions", "consent", "quiz", "answers")


def _settings_without_effect(task: TaskType) -> tuple[str, ...]:
    """Return the settings that a kind of task makes no use of."""
    pairs = ("curtail", "confidence", "confidence_votes", "next_pairs", "next_pairs_floor")
    return (
        *(() if task.has_sides else ("repeat_every",)),
        *(() if task.curtailed is not None else pairs),
        *(() if task.reviewed else ("review_first", "review_every")),
    )


class NewCampaignForm(forms.Form):
    """Makes a campaign of a kind of task."""

    title = forms.CharField(max_length=200)
    slug = forms.SlugField(
        label="Name in addresses",
        max_length=50,
        help_text="Letters, digits, - and _. It can't be changed later, and workers see it.",
    )
    challenge = forms.ChoiceField(
        required=False,
        help_text="Its organisers manage the campaign. Who takes part in it can't judge its captions.",
    )
    items = forms.FileField(
        label="File of items", help_text="One JSON object a line, as the command line takes.", max_length=100
    )
    pictures = forms.FileField(
        label="Zip of pictures",
        help_text="JPEG, PNG, WebP or GIF, by the names that the items call them. More than a server takes at"
        " once are added by the command line.",
        max_length=100,
        widget=forms.ClearableFileInput({"accept": ".zip,application/zip"}),
    )
    instructions = forms.CharField(
        widget=forms.Textarea({"rows": 12}),
        help_text="Markdown. A heading in the first line is the title of the page on which people work.",
    )
    consent = forms.CharField(
        widget=forms.Textarea({"rows": 4}),
        help_text="Markdown. What workers agree to before they begin: what is recorded, what is published and"
        " under which licence, until when they can withdraw, what they are paid, whom to ask.",
    )
    quiz = forms.ChoiceField(
        label="Training: quiz on the rules",
        required=False,
        help_text="Sentences that ship, of which workers say whether they break a rule of the instructions;"
        " below, to change them as items of your own. Choose none if your instructions or file of items have"
        " others.",
    )
    answers = forms.IntegerField(label="Answers of each item", help_text="Each by another person.")
    batch = forms.IntegerField(label="Items that a worker gets at once")
    lease_seconds = forms.IntegerField(
        label="Seconds for which an item is kept without activity",
        help_text="Then somebody else gets it. What the worker typed is kept all the same.",
    )
    longest_lease_seconds = forms.IntegerField(label="Seconds for which an item is kept at most")
    check_every = forms.IntegerField(
        label="One check in so many answers", help_text="An item with “expected” is a check. 0 for none."
    )
    check_pass_answers = forms.IntegerField(
        label="Answers of good workers to a check, after which it may be taken out",
        help_text="Good workers are those who pass other checks.",
    )
    check_pass_share = forms.FloatField(
        label="Part of them that must pass it",
        help_text="From 0 to 1; 0 for any. A check that is taken out says why, and can be given out again.",
    )
    repeat_every = forms.IntegerField(
        label="After so many answers, one of the worker's own items again, mirrored",
        help_text="It says how far they agree with themselves, and counts in nothing. 0 for none.",
    )
    training_items = forms.IntegerField(label="Items of a training", help_text="If there are such items.")
    training_right = forms.IntegerField(label="Items of a training that must be right")
    training_tries = forms.IntegerField(label="Times that a training can be tried")
    pause_failed = forms.IntegerField(
        label="Failed checks that pause a worker", help_text="Until a person has looked. 0 for never."
    )
    pause_of = forms.IntegerField(label="Of so many of the latest checks")
    review_first = forms.IntegerField(label="First answers of each worker that are reviewed")
    review_every = forms.IntegerField(
        label="After those, one review in so many answers", help_text="0 for none."
    )
    reports_to_hold = forms.IntegerField(label="Reports that take an item out of work")
    reopened_for = forms.ChoiceField(
        label="Workers who can replace rejected, excluded and withdrawn answers",
        choices=[("everybody", "Everybody"), ("trusted", "Only trusted workers")],
        help_text="Trust takes many judged answers. In a small campaign nobody may reach it.",
    )
    curtail = forms.BooleanField(
        label="End an item when its winner is certain",
        required=False,
        help_text="Further answers could not change it. Winners are the same; shares of answers are biased.",
    )
    confidence = forms.FloatField(
        label="End a pair when its winner is that likely",
        help_text="Such as 0.95; 0 for never. The items of a pair have the same group. Nearly all winners are"
        " those of all votes; shares of answers are biased.",
    )
    confidence_votes = forms.IntegerField(label="After so many votes on the pair at least")
    next_pairs = forms.IntegerField(
        label="Choose so many items at a time where it is least certain which of two systems is the better",
        help_text="0 for a drawn order of all items. Each item needs “first_by” and “second_by”. Compare"
        " strengths then: parts of wins are not comparable between systems.",
    )
    next_pairs_floor = forms.FloatField(
        label="Part of them that is chosen evenly", help_text="From 0.01 to 1."
    )
    trust_answers = forms.IntegerField(label="Reviewed answers and checks that trust needs")
    trust_share = forms.FloatField(label="Part of them that must be fine", help_text="From 0 to 1.")
    pay_per_answer = forms.CharField(
        label="Pay for an answer", required=False, max_length=12, help_text="Such as 0.25; empty for none."
    )
    currency = forms.CharField(required=False, max_length=3, help_text="Three letters, such as EUR.")
    seed = forms.IntegerField(
        label="Seed", help_text="The order of items, and what is drawn for review, follow from it."
    )

    def __init__(self, user: User, task: TaskType, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        challenges = organised_by(user).order_by("title").values_list("slug", "title")
        none = [("", "None")] if makes_challenges(user) else []
        self.fields["challenge"].required = not none
        cast(forms.ChoiceField, self.fields["challenge"]).choices = [*none, *challenges]
        for name, value in CampaignOptions.of_kind(task.name).model_dump().items():
            self.fields[name].initial = value
        if not task.needs_image:
            del self.fields["pictures"]
        if task.written:
            cast(forms.ChoiceField, self.fields["quiz"]).choices = [
                ("", "None"),
                *((name, name) for name in quizzes()),
            ]
        else:
            del self.fields["quiz"]
        for name in _settings_without_effect(task):
            del self.fields[name]
        for rule in RULES.values() if task.written else ():
            self.fields[f"rule-{rule.name}"] = forms.ChoiceField(
                label=f"Rule {rule.name}",
                choices=[(level, level) for level in LEVELS],
                initial=rule.level,
                help_text=rule.why,
            )

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that everybody looks at."""
        return [self[name] for name in _MAIN if name in self.fields]

    @property
    def more(self) -> list[forms.BoundField]:
        """The fields whose defaults are mostly right."""
        return [self[name] for name in self.fields if name not in _MAIN]

    @property
    def more_is_wrong(self) -> bool:
        """Whether one of these has an error."""
        return any(field.errors for field in self.more)

    def options(self) -> dict[str, Any]:
        """The settings that were filled in."""
        return {
            name: self.cleaned_data[name]
            for name in CampaignOptions.model_fields
            if name in self.cleaned_data
        }

    def rules(self) -> dict[str, str]:
        """The levels of rules for sentences, where they differ from the defaults."""
        levels = {
            rule.name: self.cleaned_data.get(f"rule-{rule.name}", rule.level) for rule in RULES.values()
        }
        return {name: level for name, level in levels.items() if level != RULES[name].level}


def show_new_problem(form: NewCampaignForm, text: str) -> None:
    """Puts what is wrong with a new campaign to the field that it is about."""
    if text.startswith("items.jsonl"):
        form.add_error("items", text.removeprefix("items.jsonl, "))
    elif text.startswith("campaign.slug"):
        form.add_error("slug", text.removeprefix("campaign.slug "))
    elif not text.startswith("campaign.toml: "):
        form.add_error("pictures" if "pictures" in form.fields else None, text)
    else:
        for part in text.removeprefix("campaign.toml: ").split("; "):
            place, _, message = part.partition(": ")
            field = place.rpartition(".")[2]
            form.add_error(field if field in form.fields else None, message if field in form.fields else part)


class AnswersForm(forms.Form):
    """Says how many answers each item needs."""

    answers = forms.IntegerField(
        label="Answers of each item",
        min_value=1,
        max_value=MOST_ANSWERS,
        help_text="With fewer, what is beyond stays stored and no longer counts.",
    )


class QualityForm(forms.Form):
    """Changes the quality settings of a campaign."""

    def __init__(self, task: TaskType, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in QUALITY_SETTINGS:
            if name not in _settings_without_effect(task):
                self.fields[name] = deepcopy(NewCampaignForm.base_fields[name])


class ReasonForm(forms.Form):
    """Says why."""

    reason = forms.CharField(max_length=LONGEST_NOTE, widget=forms.Textarea({"rows": 2}))


class InviteForm(forms.Form):
    """Says how many invite links to make."""

    number = forms.IntegerField(
        label="Links", min_value=1, max_value=min(MOST_INVITES, 1000), initial=1, help_text="One a person."
    )


class ReviewForm(forms.Form):
    """Says what a reviewer decided."""

    verdict = forms.ChoiceField(choices=[(one, one) for one in Review.Verdict.values])
    reason = forms.ChoiceField(
        required=False,
        choices=[("", "Choose why"), *((one, one) for one in Review.Reason.values[1:])],
        help_text="To reject it. Somebody else gets the item then.",
    )
    note = forms.CharField(required=False, max_length=LONGEST_NOTE)


class FreezeForm(forms.Form):
    """Names a release, and says what it is made of."""

    name = forms.CharField(max_length=50, help_text="Letters, digits, . and -, such as 1.0.")
    plans = forms.FileField(
        label="File of plans",
        required=False,
        max_length=100,
        help_text="JSON that says which splits to make, with how many references each image has and which"
        " caption is held out. Without one, a split “all” has all captions of all images.",
    )
    seed = forms.IntegerField(min_value=0, initial=0, help_text="What is drawn follows from it.")
    leave_out = forms.BooleanField(
        label="Leave out what lacks answers", required=False, help_text="Otherwise nothing is frozen then."
    )
    without_invisible = forms.BooleanField(
        label="Remove invisible characters from captions",
        required=False,
        help_text="Removed characters are listed in the manifest. Otherwise, such captions are refused.",
    )

    def __init__(self, *arguments: Any, judged: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if judged:
            del self.fields["plans"], self.fields["without_invisible"]


class UseForm(forms.Form):
    """Says which references get the captions of which split."""

    split = forms.ChoiceField(label="Split of the release")
    references = forms.ChoiceField(help_text="The captions must be of exactly their images.")

    def __init__(self, user: User, splits: list[str], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        cast(forms.ChoiceField, self.fields["split"]).choices = [(name, name) for name in splits]
        sets = ReferenceSet.objects.filter(split__challenge__in=organised_by(user).values("pk"))
        cast(forms.ChoiceField, self.fields["references"]).choices = [
            (str(one.pk), f"{one.split.challenge.title}: {one.split.name}, {one.name}")
            for one in sets.select_related("split__challenge").order_by("split__challenge__title", "pk")
        ]


class PlanForm(forms.Form):
    """Says what answers take, and how much people agree."""

    seconds = forms.FloatField(label="Seconds that an answer takes", min_value=0.1, max_value=86_400)
    hourly = forms.FloatField(
        label="Pay for an hour", min_value=0.01, max_value=1e6, help_text="In any currency."
    )
    fee = forms.FloatField(label="What a panel adds, in percent", min_value=0, max_value=1000)
    workers = forms.IntegerField(label="People who work at a time", min_value=1, max_value=1_000_000)
    hours = forms.FloatField(label="Hours a day that each works", min_value=0.01, max_value=24)
    yes = forms.FloatField(
        label="Part of the answers that are yes, or for the first, in percent", min_value=0.1, max_value=99.9
    )
    concentration = forms.ChoiceField(
        label="How much people differ on an item",
        choices=[("0.2", "Hardly"), ("1", "Much"), ("5", "As if by chance")],
    )

    def __init__(self, *arguments: Any, shares: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if not shares:
            del self.fields["yes"], self.fields["concentration"]
