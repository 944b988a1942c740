"""Mirror of `evaluation.cider`."""

from capeval.compat.evaluation.cider.cider import Cider

__all__ = ["Cider"]
