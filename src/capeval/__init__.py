"""Fast image caption metrics with the scores of the reference code.

Each metric of the registry (`capeval.metrics.CLASSES`) is available under the name of its class.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    # For type checkers, which do not run `__getattr__`.
    from capeval._native import __version__ as __version__
    from capeval.data.captions import Candidates as Candidates
    from capeval.data.captions import References as References
    from capeval.data.scores import Scores as Scores
    from capeval.data.scores import Signature as Signature
    from capeval.formats import load_candidates as load_candidates
    from capeval.formats import load_references as load_references
    from capeval.metrics import Metric
    from capeval.metrics.bleu import Bleu as Bleu
    from capeval.metrics.chair import Chair as Chair
    from capeval.metrics.cider import Cider2015 as Cider2015
    from capeval.metrics.cider import CiderD as CiderD
    from capeval.metrics.cider_r import CiderR as CiderR
    from capeval.metrics.clip_score import ClipScore as ClipScore
    from capeval.metrics.length import Length as Length
    from capeval.metrics.meteor import Meteor as Meteor
    from capeval.metrics.meteor import align as align
    from capeval.metrics.open_objects import OpenObjects as OpenObjects
    from capeval.metrics.rouge import RougeL as RougeL
    from capeval.metrics.rouge import RougeN as RougeN
    from capeval.metrics.rouge import RougeS as RougeS
    from capeval.metrics.spice import Spice as Spice
    from capeval.metrics.spider import Spider as Spider
    from capeval.resources import DocumentFrequencies as DocumentFrequencies
    from capeval.scoring.evaluator import Evaluator as Evaluator
    from capeval.scoring.evaluator import evaluate as evaluate
    from capeval.scoring.report import Report as Report
    from capeval.tokenizers import Tokenizer as Tokenizer
    from capeval.tokenizers import set_threads as set_threads
    from capeval.tokenizers import tokenize as tokenize

    __all__: list[str]

# The names of each module, which is imported when a name is first used: importing numpy takes longer than
# `capeval --help` may take in total.
_MODULES = {
    "_native": ("__version__",),
    "data.captions": ("Candidates", "References"),
    "data.scores": ("Scores", "Signature"),
    "formats": ("load_candidates", "load_references"),
    "metrics.meteor": ("align",),
    "resources": ("DocumentFrequencies",),
    "scoring.evaluator": ("Evaluator", "evaluate"),
    "scoring.report": ("Report",),
    "tokenizers": ("Tokenizer", "set_threads", "tokenize"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:
    # Hidden from type checkers: with `__getattr__` they would accept any name.
    def __getattr__(name: str) -> object:
        if name in _MODULE_OF:
            value = getattr(import_module(f"capeval.{_MODULE_OF[name]}"), name)
        elif name == "__all__":
            return sorted({*_MODULE_OF, *_load_metrics()}, key=lambda each: (each[0].islower(), each))
        elif name[0].isupper() and name in _load_metrics():
            value = _load_metrics()[name]
        else:
            raise AttributeError(f"module 'capeval' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_load_metrics()})


def _load_metrics() -> "Mapping[str, type[Metric]]":
    from capeval.metrics import CLASSES

    return CLASSES
