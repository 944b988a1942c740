"""Tie rules for comparisons of a metric's choices with human choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from capeval._internal.validation import validate_choice, validate_integer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from capeval.data.scores import FloatArray

__all__ = ["HumanTies", "TieRules", "Ties"]

# A metric's tie is an incorrect choice, half a correct one, a choice of the first candidate, or a coin toss.
Ties = Literal["wrong", "half", "first", "random"]
# A pair without a human winner is excluded, or any choice on it counts half.
HumanTies = Literal["exclude", "half"]

_NOTES: dict[Ties, str] = {
    "wrong": "Ties (wrong): a metric's tie counts as incorrect.",
    "half": "Ties (half): a metric's tie counts as half correct.",
    "first": "Ties (first): a metric's tie counts as a choice of the first candidate.",
    "random": "Ties (random): a coin toss decides a metric's tie (seed {seed}).",
}
_HUMAN_NOTES: dict[HumanTies, str] = {
    "exclude": "Human ties (exclude): pairs without a human winner are excluded.",
    "half": "Human ties (half): any choice on a pair without a human winner counts as half correct.",
}


@dataclass(frozen=True, kw_only=True)
class TieRules:
    """Rules for ties of a metric, and for pairs without a human winner.

    Attributes:
        ties: The rule for pairs whose candidates have equal scores: `wrong` counts them as incorrect, `half`
            as half correct, `first` as a choice of the first candidate, and `random` tosses a coin for each.
        human_ties: The rule for pairs without a human winner: `exclude` excludes them, and `half` counts any
            choice as half correct.
        seed: The seed of the coin tosses. All metrics have the same tosses.

    Raises:
        OptionError: A rule or the seed is invalid.

    Example:
        The metric decides the first pair, and the second is a tie. The third has no human winner:

        >>> import numpy as np
        >>> from capeval.studies.shared.ties import TieRules
        >>> metric, people = np.array([0.2, 0.0, -0.1]), np.array([1, -1, 0])
        >>> for ties in ("wrong", "half", "first"):
        ...     print(ties, TieRules(ties=ties).credits(metric, people))
        wrong [ 1.  0. nan]
        half [1.  0.5 nan]
        first [ 1.  0. nan]
    """

    ties: Ties = "wrong"
    human_ties: HumanTies = "exclude"
    seed: int = 0

    def __post_init__(self) -> None:
        validate_choice("ties", self.ties, get_args(Ties))
        validate_choice("human_ties", self.human_ties, get_args(HumanTies))
        validate_integer("seed", self.seed, 0)

    @property
    def notes(self) -> tuple[str, str]:
        """Footnotes for tables: the rule for metrics and the rule for people."""
        return _NOTES[self.ties].format(seed=self.seed), _HUMAN_NOTES[self.human_ties]

    def credits(self, predicted: NDArray[np.generic], truth: NDArray[np.generic]) -> FloatArray:
        """Return 1 for each correct choice, 0 for each incorrect one, and NaN for excluded pairs.

        Args:
            predicted: A number for each pair, above 0 for the first candidate, and 0 for a tie.
            truth: The human choices, in the same form.
        """
        # The help of the command imports this module, but not NumPy.
        import numpy as np

        from capeval._internal.random import make_generator

        signs, wanted = np.sign(predicted.astype(float)), np.sign(truth.astype(float))
        credit = np.where(wanted == 0, 0.5, signs == wanted)
        tied = signs == 0
        if self.ties == "half":
            credit[tied] = 0.5
        elif self.ties == "wrong":
            credit[tied] = 0.0
        else:
            decided = tied & (wanted != 0)
            first = np.ones(len(signs), dtype=bool)
            if self.ties == "random":
                first = make_generator(self.seed).integers(0, 2, len(signs), dtype=bool)
            credit[decided] = (first == (wanted > 0))[decided]
        return np.where(wanted == 0, np.nan, credit) if self.human_ties == "exclude" else credit
