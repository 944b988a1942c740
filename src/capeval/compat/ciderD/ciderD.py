"""CIDEr-D of CIDEr forks for self-critical training."""

from __future__ import annotations

from capeval.compat.pyciderevalcap.ciderD.ciderD import CiderD

__all__ = ["CiderD"]
