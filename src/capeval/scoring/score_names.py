"""Values by the name of a score, in any spelling of the name."""

from __future__ import annotations

from typing import Any, TypeVar

from capeval.metrics.registry import normalize_score

__all__ = ["ScoresByName"]

_Value = TypeVar("_Value")


class ScoresByName(dict[str, _Value]):
    """Values by the name of the score, also found by other spellings and by the names of pycocoevalcap.

    Example:
        >>> from capeval.scoring.score_names import ScoresByName
        >>> scores = ScoresByName({"CIDEr-D": 1.2, "BLEU-4": 0.3})
        >>> scores["Bleu_4"], scores.get("cider"), "ROUGE_L" in scores
        (0.3, 1.2, False)
    """

    def __missing__(self, name: str) -> _Value:
        spelling = normalize_score(name, self)
        if not super().__contains__(spelling):
            raise KeyError(f"no score {name!r}; there are {', '.join(self)}")
        return self[spelling]

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        return isinstance(name, str) and super().__contains__(normalize_score(name, self))

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default if there is no such score."""
        # The base class's method does not call `__missing__`.
        return self[name] if name in self else default  # noqa: SIM401
