"""Questions about captions: the measures of COCO's 2015 challenge, and THumB's ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from capeval.data.scores import FloatArray
from capeval.errors import MismatchError
from capeval.studies.shared.agreement import Scale

__all__ = ["QUESTIONS", "Question"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """Question about a caption of an image.

    Attributes:
        name: Its name.
        measures: The meaning of its value.
        answers: The label of each numeric answer; empty if every number from `least` to `most` is allowed.
        yes: The answers that count as yes: the value is the share of images for which most answers are yes.
            If empty, the value is the mean over images of the mean answer.
        least: The smallest number.
        most: The largest number.
        scale: The scale of Krippendorff's alpha; by default, `nominal` for questions with `answers`, and
            `interval` for others.

    Example:
        >>> import numpy as np
        >>> from capeval.formats.judgments.ratings import Ratings
        >>> from capeval.studies.judging import Question, judge
        >>> question = Question(name="fluency", measures="mean fluency, 1 to 4", most=4)
        >>> captions, values = ("A dog runs.", "Cats a bed."), np.array([[4.0, 4.0], [1.0, 3.0]])
        >>> ratings = Ratings(image_ids=(1, 2), captions=captions, values=values, systems=("lstm", "lstm"))
        >>> judge(ratings, question).rows["lstm"].interval.score
        3.0
    """

    name: str
    measures: str
    answers: Mapping[float, str] = field(default_factory=dict)
    yes: tuple[float, ...] = ()
    least: float = 1.0
    most: float = 5.0
    scale: Scale | None = None

    @property
    def alpha_scale(self) -> Scale:
        """The scale of Krippendorff's alpha."""
        return self.scale or ("nominal" if self.answers else "interval")

    def check(self, values: FloatArray) -> None:
        """Check that answers are allowed by the question.

        Raises:
            MismatchError: An answer is not allowed.
        """
        given = values[~np.isnan(values)]
        right = (
            np.isin(given, list(self.answers))
            if self.answers
            else (given >= self.least) & (given <= self.most)
        )
        if not right.all():
            wanted = (
                ", ".join(f"{number:g} ({text})" for number, text in self.answers.items())
                or f"from {self.least:g} to {self.most:g}"
            )
            raise MismatchError(f"answers to {self.name} must be {wanted} (got {given[~right][0]:g})")


QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        question.name: question
        for question in (
            Question(
                name="M1",
                measures="share of images with a majority for better than or equal to a person's caption",
                answers={1.0: "better", 0.0: "equal", -1.0: "worse"},
                yes=(1.0, 0.0),
                scale="ordinal",
            ),
            Question(
                name="M2",
                measures="share of images with a majority for a caption written by a person",
                answers={1.0: "a person", 0.0: "a machine"},
                yes=(1.0,),
            ),
            Question(name="M3", measures="mean correctness, 1 to 5"),
            Question(name="M4", measures="mean amount of detail, 1 to 5"),
            Question(
                name="M5",
                measures="share of images with a majority for the same meaning as a person's caption",
                answers={1.0: "the same", 0.0: "not the same"},
                yes=(1.0,),
            ),
            Question(name="P", measures="mean precision (THumB), 1 to 5"),
            Question(name="R", measures="mean recall (THumB), 1 to 5"),
            # Three penalties of 0.5 lower the score of a caption with P = R = 1 to -0.5.
            Question(name="THumB", measures="mean of (P + R) / 2 with penalties", least=-0.5),
        )
    }
)
"""M1 to M5 of COCO's challenge of 2015, and THumB's ratings (Kasai et al. 2022), by name."""
