"""pycocoevalcap's names, arguments and results over capeval's metrics: change one import.

Modules have the same paths below `capeval.compat` as below `pycocoevalcap`: `capeval.compat.bleu.bleu.Bleu`
for `pycocoevalcap.bleu.bleu.Bleu`.
"""

from capeval.compat.bleu.bleu import Bleu
from capeval.compat.cider.cider import Cider
from capeval.compat.eval import COCOEvalCap
from capeval.compat.installing import install
from capeval.compat.meteor.meteor import Meteor
from capeval.compat.rouge.rouge import Rouge
from capeval.compat.spice.spice import Spice
from capeval.compat.tokenizer.ptbtokenizer import PTBTokenizer

__all__ = ["Bleu", "COCOEvalCap", "Cider", "Meteor", "PTBTokenizer", "Rouge", "Spice", "install"]
