"""Drop-in replacement for pycocoevalcap: the same names, arguments and results.

To migrate, change one import. Module paths in `capeval.compat` mirror those in `pycocoevalcap`:
`capeval.compat.bleu.bleu.Bleu` replaces `pycocoevalcap.bleu.bleu.Bleu`.
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
