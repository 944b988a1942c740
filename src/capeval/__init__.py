"""Image caption metrics, exact and fast."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capeval._native import __version__
    from capeval.evaluation import Evaluator, Report, evaluate
    from capeval.formats import load_candidates, load_references
    from capeval.metrics import Bleu, Cider, CiderD, Meteor, RougeL, RougeN, RougeS, align
    from capeval.resources import DocumentFrequencies
    from capeval.tokenization import Tokenizer, tokenize
    from capeval.types import Candidates, References, Scores, Signature

__all__ = [
    "Bleu",
    "Candidates",
    "Cider",
    "CiderD",
    "DocumentFrequencies",
    "Evaluator",
    "Meteor",
    "References",
    "Report",
    "RougeL",
    "RougeN",
    "RougeS",
    "Scores",
    "Signature",
    "Tokenizer",
    "__version__",
    "align",
    "evaluate",
    "load_candidates",
    "load_references",
    "tokenize",
]

# The module of each name, which is imported when the name is first used: numpy alone takes longer to
# import than `capeval --help` may take in all.
_MODULES = {
    "_native": ("__version__",),
    "evaluation": ("Evaluator", "Report", "evaluate"),
    "formats": ("load_candidates", "load_references"),
    "metrics": ("Bleu", "Cider", "CiderD", "Meteor", "RougeL", "RougeN", "RougeS", "align"),
    "resources": ("DocumentFrequencies",),
    "tokenization": ("Tokenizer", "tokenize"),
    "types": ("Candidates", "References", "Scores", "Signature"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take any name at all for one of ours.
    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module 'capeval' has no attribute {name!r}")
        value = getattr(import_module(f"capeval.{_PLACES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
