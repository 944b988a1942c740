"""Image caption metrics, exact and fast."""

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
